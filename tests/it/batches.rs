//! Judgments in batches, at a provider of each kind: nothing is lost, and nothing is paid twice.

use std::process::Command;

use regex::Regex;
use serde_json::{Value, json};

use crate::batch_provider::{BatchProvider, Faults, Step};
use crate::events::Telling;
use crate::space::{Ran, Running, Space, jsonl};

const PROVIDERS: [&str; 3] = ["openai", "anthropic", "google"];
/// Enough for a batch.
const SAMPLES: usize = 30;
/// The file of the batches that are out.
const LEDGER: &str = "cache/s.batches.jsonl";

fn suite(provider: &str, settings: &str) -> String {
    format!(
        "name: s\ndataset: d.jsonl\ntarget: {{kind: recorded}}\ngraders:\n  good:\n    kind: rubric\n    \
         provider: {provider}\n    model: m\n    endpoint: e\n    batch: true\n{settings}    prompt: 'Good? {{submission}}'\n\
         gate: {{metric: avg_score, op: gte, value: 0}}\n"
    )
}

fn rows(from: usize, to: usize) -> String {
    jsonl((from..to).map(|at| {
        let output = format!("{at} {}", "x".repeat(at * 3));
        json!({"id": format!("r{at}"), "input": "i", "output": output})
    }))
}

fn space(provider: &str) -> Space {
    Space::new(&[
        ("suite.yaml", &suite(provider, "")),
        ("d.jsonl", &rows(0, SAMPLES)),
        ("evalrs.toml", "[prices.m]\ninput = 1.0\noutput = 1.0\n"),
    ])
}

fn command(space: &Space, provider: &BatchProvider, args: &[&str]) -> Command {
    let mut command = space.command(&[&["run", "suite.yaml"], args].concat());
    provider.reach(&mut command);
    command
}

fn run(space: &Space, provider: &BatchProvider, args: &[&str]) -> Ran {
    Ran(command(space, provider, args).output().unwrap())
}

/// What a run over the same rows says that sends every request alone.
fn live(provider: &'static str) -> String {
    let at = BatchProvider::new(provider);
    let space = space(provider);
    assert_eq!(run(&space, &at, &[]).code(), 0);
    space.record("results.jsonl")
}

fn has_ledger(space: &Space) -> bool {
    space.path(LEDGER).exists()
}

/// An hour passes for the batches that are out.
fn let_time_pass(space: &Space) {
    if has_ledger(space) {
        let years = Regex::new("\"at\":\"[0-9]{4}-").unwrap();
        let aged = years.replace_all(&space.read(LEDGER), "\"at\":\"2020-").into_owned();
        space.write(LEDGER, aged);
    }
}

fn facts(space: &Space) -> Value {
    serde_json::from_str(&space.record("run.json")).unwrap()
}

#[test]
fn a_batch_says_what_live_requests_say_at_half_the_price() {
    for name in PROVIDERS {
        let provider = BatchProvider::new(name);
        let space = space(name);
        let sent = run(&space, &provider, &["--batch"]);
        assert_eq!(sent.code(), 4, "{name}: {}", sent.shown());
        assert!(has_ledger(&space));
        // The first is called alone.
        assert_eq!(provider.paid(), [1, SAMPLES - 1, 0], "{name}");
        assert!(provider.state().ids.iter().all(|id| id.len() == 64));
        assert_eq!(facts(&space)["out"], SAMPLES - 1);
        // Nothing is sent a second time, however often it is asked for.
        for args in [&["--batch"][..], &[], &["--batch", "--finish"]] {
            provider.set(Faults { looks: 100, ..Faults::default() });
            let again = run(&space, &provider, args);
            assert_eq!(
                (again.code(), provider.paid()),
                (4, [1, SAMPLES - 1, 0]),
                "{name} {args:?}"
            );
        }
        provider.set(Faults { is_messy: true, empty_names: true, ..Faults::default() });
        let collected = run(&space, &provider, &[]);
        assert_eq!(collected.code(), 0, "{name}: {}", collected.shown());
        assert_eq!(provider.paid(), [1, SAMPLES - 1, 0], "{name}");
        assert_eq!(space.record("results.jsonl"), live(name), "{name}");
        // Twelve tokens each, at half of a millionth of a dollar.
        assert_eq!(facts(&space)["spent"]["cost"], json!(0.000_174), "{name}");
        assert!(!has_ledger(&space), "{name}");
        let asked = provider.judge.count();
        assert_eq!(run(&space, &provider, &["--frozen"]).code(), 0);
        assert_eq!(provider.judge.count(), asked, "{name}: nothing is out, so nobody is asked");
    }
}

#[test]
fn killed_at_any_step_nothing_is_lost_and_nothing_paid_twice() {
    let steps =
        [Step::Upload, Step::Uploaded, Step::Create, Step::Created, Step::Look, Step::Results];
    for name in PROVIDERS {
        let expected = live(name);
        for step in steps {
            let has_file = name != "anthropic";
            if !has_file && [Step::Upload, Step::Uploaded].contains(&step) {
                continue;
            }
            let provider = BatchProvider::new(name);
            let space = space(name);
            if [Step::Look, Step::Results].contains(&step) {
                assert_eq!(run(&space, &provider, &["--batch"]).code(), 4);
            }
            let asked = provider.judge.count();
            provider.set(Faults { silent: Some(step), ..Faults::default() });
            let running = Running::new(command(&space, &provider, &["--batch"]));
            // The first judgment, and what comes before it falls silent.
            let before = match (step, name) {
                (Step::Look, _) => 0,
                (Step::Results | Step::Upload, _)
                | (_, "anthropic")
                | (Step::Uploaded, "openai") => 1,
                (Step::Uploaded, _) | (_, "openai") => 2,
                _ => 3,
            };
            provider.judge.wait_asked(asked + before + 1);
            running.kill();
            provider.set(Faults::default());
            // Another clone goes on: it has what is committed, and not the local cache.
            let time_may_pass = [Step::Create, Step::Created].contains(&step);
            if time_may_pass {
                let early = run(&space, &provider, &["--batch"]);
                assert!([0, 4].contains(&early.code()), "{name} {step:?}: {}", early.shown());
                assert!(provider.paid()[2] == 0, "{name} {step:?}");
                let_time_pass(&space);
            }
            let mut ended = run(&space, &provider, &["--batch"]);
            for _ in 0..3 {
                if ended.code() == 4 {
                    ended = run(&space, &provider, &["--batch"]);
                }
            }
            assert_eq!(ended.code(), 0, "{name} {step:?}: {}", ended.shown());
            let [alone, batched, twice] = provider.paid();
            assert_eq!((alone + batched, twice), (SAMPLES, 0), "{name} {step:?}");
            assert_eq!(space.record("results.jsonl"), expected, "{name} {step:?}");
            assert!(!has_ledger(&space), "{name} {step:?}");
        }
    }
}

#[test]
fn what_was_not_answered_goes_into_the_next_batch_or_is_called_at_once() {
    for name in PROVIDERS {
        for faults in [
            Faults { expired: Some(4), ..Faults::default() },
            Faults { invalid: Some(5), ..Faults::default() },
            Faults { failed: Some((3, 503)), ..Faults::default() },
        ] {
            let provider = BatchProvider::new(name);
            let space = space(name);
            assert_eq!(run(&space, &provider, &["--batch"]).code(), 4);
            provider.set(faults.clone());
            let again = run(&space, &provider, &["--batch=always"]);
            assert_eq!(again.code(), 4, "{name} {faults:?}: {}", again.shown());
            assert_eq!(provider.made(), 2, "{name} {faults:?}");
            assert!(again.stderr().contains("to be sent again"), "{}", again.stderr());
            provider.set(Faults { expired: Some(2), ..Faults::default() });
            let ended = run(&space, &provider, &["--batch", "--finish"]);
            assert_eq!(ended.code(), 0, "{name} {faults:?}: {}", ended.shown());
            assert_eq!(provider.made(), 2, "{name} {faults:?}");
            assert_eq!(space.record("results.jsonl"), live(name), "{name} {faults:?}");
        }
    }
}

#[test]
fn results_that_break_off_are_read_again() {
    let provider = BatchProvider::new("openai");
    let space = space("openai");
    assert_eq!(run(&space, &provider, &["--batch"]).code(), 4);
    provider.set(Faults { broken: Some(7), ..Faults::default() });
    let broken = run(&space, &provider, &[]);
    assert_eq!(broken.code(), 4, "{}", broken.shown());
    assert!(
        broken.stderr().contains("is not collected: the results broke off"),
        "{}",
        broken.stderr()
    );
    provider.set(Faults::default());
    assert_eq!(run(&space, &provider, &[]).code(), 0);
    assert_eq!(provider.paid(), [1, SAMPLES - 1, 0]);
    assert_eq!(space.record("results.jsonl"), live("openai"));
}

#[test]
fn a_run_waits_for_its_batches_where_it_is_told_to() {
    let provider = BatchProvider::new("openai");
    let space = space("openai");
    provider.set(Faults { expired: Some(29), ..Faults::default() });
    let waited = run(&space, &provider, &["--batch", "--wait"]);
    assert_eq!(waited.code(), 0, "{}", waited.shown());
    assert_eq!(space.record("results.jsonl"), live("openai"));
    provider.set(Faults { looks: 100, ..Faults::default() });
    space.write("d.jsonl", rows(100, 100 + SAMPLES));
    assert_eq!(run(&space, &provider, &["--batch", "--wait=0s"]).code(), 4);
}

#[test]
fn a_provider_that_takes_no_batch_loses_nothing() {
    for status in [400, 401, 429] {
        let provider = BatchProvider::new("openai");
        let space = space("openai");
        provider.set(Faults { refused: Some(status), ..Faults::default() });
        let refused = run(&space, &provider, &["--batch"]);
        assert_eq!(refused.code(), 3, "{}", refused.shown());
        assert!(refused.stderr().contains("no batches today"), "{}", refused.stderr());
        assert!(!has_ledger(&space));
        provider.set(Faults::default());
        assert_eq!(run(&space, &provider, &[]).code(), 0);
        assert_eq!(provider.made(), 0);
    }
}

#[test]
fn few_judgments_are_called_at_once() {
    let provider = BatchProvider::new("openai");
    let space = space("openai");
    space.write("d.jsonl", rows(0, 20));
    assert_eq!(run(&space, &provider, &["--batch"]).code(), 0);
    assert_eq!(provider.paid(), [20, 0, 0]);
    space.write("d.jsonl", rows(0, 21));
    assert_eq!(run(&space, &provider, &["--batch=always"]).code(), 4);
    assert_eq!(provider.paid(), [20, 1, 0]);
    // A suite whose provider takes no batches is run as ever.
    space.write("suite.yaml", suite("openai", "").replace("batch: true", "batch: false"));
    space.write("d.jsonl", rows(30, 60));
    assert_eq!(run(&space, &provider, &["--batch"]).code(), 0);
    assert_eq!(provider.made(), 1);
}

#[test]
fn what_a_model_refuses_is_known_before_a_batch_is_sent() {
    let provider = BatchProvider::new("openai");
    let space = space("openai");
    provider.set(Faults { refuses: Some("temperature"), ..Faults::default() });
    assert_eq!(run(&space, &provider, &["--batch"]).code(), 4);
    let ended = run(&space, &provider, &[]);
    assert_eq!(ended.code(), 0, "{}", ended.shown());
    assert_eq!(provider.paid(), [1, SAMPLES - 1, 0]);
    let explained = space.run(&["explain", "suite.yaml", "r3", "--prompt"]);
    assert!(!explained.stdout().contains("temperature\": 0"), "{}", explained.stdout());
}

#[test]
fn what_is_edited_while_a_batch_is_out_is_kept() {
    let provider = BatchProvider::new("openai");
    let space = space("openai");
    assert_eq!(run(&space, &provider, &["--batch"]).code(), 4);
    let other = suite("openai", "").replace("Good?", "Kind?");
    space.write("suite.yaml", other);
    assert_eq!(run(&space, &provider, &[]).code(), 0);
    assert_eq!(provider.paid(), [1 + SAMPLES, SAMPLES - 1, 0]);
    // The edit is taken back, and nothing is paid for it.
    space.write("suite.yaml", suite("openai", ""));
    assert_eq!(run(&space, &provider, &[]).code(), 0);
    assert_eq!(provider.paid(), [1 + SAMPLES, SAMPLES - 1, 0]);
    assert_eq!(space.record("results.jsonl"), live("openai"));
    assert_eq!(space.run(&["cache", "verify", "suite.yaml"]).code(), 0);
}

#[test]
fn a_budget_counts_what_is_sent() {
    let provider = BatchProvider::new("openai");
    let space = space("openai");
    let ended = run(&space, &provider, &["--batch", "--max-calls", "11"]);
    assert_eq!(ended.code(), 4, "{}", ended.shown());
    assert_eq!(provider.paid(), [1, 10, 0]);
    assert!(ended.stderr().contains("the budget is used up"), "{}", ended.stderr());
}

/// Runs a command in this folder with the provider at hand.
fn command_of(space: &Space, provider: &BatchProvider, args: &[&str]) -> Ran {
    let mut command = space.command(args);
    Ran(provider.reach(&mut command).output().unwrap())
}

#[test]
fn batches_are_listed_collected_cancelled_and_forgotten() {
    for name in PROVIDERS {
        let provider = BatchProvider::new(name);
        let space = space(name);
        let said = |args: &[&str]| command_of(&space, &provider, args).stdout();
        assert_eq!(said(&["batch", "list"]), "no batch is out\n");
        let plan = said(&["plan", "suite.yaml"]);
        assert!(plan.contains("\n`run --batch`: about $"), "{plan}");
        provider.set(Faults { looks: 100, ..Faults::default() });
        assert_eq!(run(&space, &provider, &["--batch"]).code(), 4);
        let plan = said(&["plan", "suite.yaml"]);
        assert!(plan.starts_with("plan  s: no calls, 1 cached, 29 out in a batch\n"), "{plan}");
        let listed = said(&["batch", "list"]);
        let last = listed.lines().last().unwrap().to_owned();
        assert!(last.contains("suite.yaml") && last.ends_with("running"), "{listed}");
        let json: Value = serde_json::from_str(&said(&["batch", "list", "--json"])).unwrap();
        assert_eq!(json["batches"][0]["judgments"], SAMPLES - 1);
        assert_eq!(json["batches"][0]["state"], "running");
        let collected = command_of(&space, &provider, &["batch", "collect", "suite.yaml"]);
        assert_eq!(collected.code(), 4, "{}", collected.shown());
        assert_eq!(collected.stdout(), "suite.yaml: 0 judgments collected, 29 out\n");
        let unknown = command_of(&space, &provider, &["batch", "forget", "nothing"]);
        assert_eq!(unknown.code(), 2, "{}", unknown.shown());
        provider.set(Faults::default());
        let collected = command_of(&space, &provider, &["batch", "collect", "suite.yaml"]);
        assert_eq!(collected.code(), 0, "{}", collected.shown());
        assert_eq!(collected.stdout(), "suite.yaml: 29 judgments collected, 0 out\n");
        assert_eq!(run(&space, &provider, &["--frozen"]).code(), 0);
        assert_eq!(space.record("results.jsonl"), live(name), "{name}");
        // Of one that is cancelled nothing is answered, so all of it is called.
        space.write("d.jsonl", rows(100, 100 + SAMPLES));
        provider.set(Faults { looks: 100, ..Faults::default() });
        assert_eq!(run(&space, &provider, &["--batch"]).code(), 4);
        let cancelled = command_of(&space, &provider, &["batch", "cancel", "--all"]);
        assert_eq!(cancelled.code(), 0, "{}", cancelled.shown());
        assert_eq!(run(&space, &provider, &[]).code(), 0, "{name}");
        // One that is forgotten is paid for, and called again.
        space.write("d.jsonl", rows(200, 200 + SAMPLES));
        assert_eq!(run(&space, &provider, &["--batch"]).code(), 4);
        let listed: Value = serde_json::from_str(&said(&["batch", "list", "--json"])).unwrap();
        let id = listed["batches"][0]["id"].as_str().unwrap().to_owned();
        let forgotten = said(&["batch", "forget", &id]);
        assert!(forgotten.contains("29 judgments will be called again"), "{forgotten}");
        assert_eq!(run(&space, &provider, &[]).code(), 0, "{name}");
    }
}

#[test]
fn a_batch_whose_file_is_lost_is_found_at_its_provider() {
    for name in PROVIDERS {
        let provider = BatchProvider::new(name);
        let space = space(name);
        assert_eq!(run(&space, &provider, &["--batch"]).code(), 4);
        space.write(LEDGER, "");
        let args = ["batch", "collect", "suite.yaml", "--provider", name];
        let collected = command_of(&space, &provider, &args);
        assert_eq!(collected.stdout(), "suite.yaml: 29 judgments collected, 0 out\n", "{name}");
        assert_eq!(run(&space, &provider, &["--frozen"]).code(), 0);
        assert_eq!(space.record("results.jsonl"), live(name), "{name}");
    }
}

#[test]
fn another_clone_collects_what_was_sent_here() {
    for name in PROVIDERS {
        let provider = BatchProvider::new(name);
        let here = space(name);
        assert_eq!(run(&here, &provider, &["--batch"]).code(), 4);
        // It has what is committed, and nothing of the local cache.
        let there = space(name);
        there.write(LEDGER, here.read(LEDGER));
        let ended = run(&there, &provider, &["--batch"]);
        assert_eq!(ended.code(), 0, "{name}: {}", ended.shown());
        assert!(!has_ledger(&there), "{name}");
        // The first judgment was called alone here, and is in no batch.
        assert_eq!(provider.paid(), [2, SAMPLES - 1, 1], "{name}");
        assert_eq!(there.record("results.jsonl"), live(name), "{name}");
        // Here the batch is open still, and collected from the provider again.
        assert_eq!(run(&here, &provider, &[]).code(), 0, "{name}");
        assert_eq!(provider.paid(), [2, SAMPLES - 1, 1], "{name}");
        assert_eq!(here.record("results.jsonl"), live(name), "{name}");
    }
}

#[test]
fn criteria_votes_and_confirmations_go_into_batches() {
    let provider = BatchProvider::new("anthropic");
    let space = space("anthropic");
    let criteria = "    criteria: {kind: Is it kind?, short: Is it short?}\n";
    let prompt = "    prompt: 'Good? {submission}'\n";
    let plain = suite("anthropic", "    votes: 3\n    pass_threshold: 0.5\n    confirm_fails: 2\n");
    for (suite, batches) in [(suite("anthropic", "").replace(prompt, criteria), 1), (plain, 2)] {
        space.write("suite.yaml", &suite);
        let before = provider.made();
        let ended = run(&space, &provider, &["--batch=always", "--wait"]);
        assert_eq!(ended.code(), 0, "{}", ended.shown());
        assert_eq!(provider.made() - before, batches);
        let batched = space.record("results.jsonl");
        let at = BatchProvider::new("anthropic");
        let other = self::space("anthropic");
        other.write("suite.yaml", &suite);
        assert_eq!(run(&other, &at, &[]).code(), 0);
        assert_eq!(batched, other.record("results.jsonl"));
    }
}

#[test]
fn a_model_that_never_gives_a_verdict_is_not_paid_for_ever() {
    let provider = BatchProvider::new("openai");
    let space = space("openai");
    provider.set(Faults { invalid: Some(10), ..Faults::default() });
    let ended = run(&space, &provider, &["--batch=always", "--wait"]);
    assert_eq!(ended.code(), 0, "{}", ended.shown());
    assert_eq!(provider.made(), 2);
    assert_eq!(space.record("results.jsonl"), live("openai"));
}

#[test]
fn a_reply_of_a_batch_that_was_cut_is_called_alone() {
    for name in PROVIDERS {
        let provider = BatchProvider::new(name);
        let space = space(name);
        assert_eq!(run(&space, &provider, &["--batch"]).code(), 4);
        provider.set(Faults { cut: Some(10), ..Faults::default() });
        // Nothing is sent in a second batch: it would be cut there, too.
        let ended = run(&space, &provider, &["--batch=always"]);
        assert_eq!(ended.code(), 0, "{name}: {}", ended.shown());
        assert!(ended.stderr().contains("ended at its token limit"), "{}", ended.stderr());
        assert_eq!(provider.made(), 1, "{name}");
        assert_eq!(space.record("results.jsonl"), live(name), "{name}");
    }
}

#[test]
fn judgments_that_were_repeated_in_a_batch_replace_those_before() {
    let provider = BatchProvider::new("openai");
    let space = space("openai");
    assert_eq!(run(&space, &provider, &[]).code(), 0);
    provider.state().model = Some("m-2");
    assert_eq!(run(&space, &provider, &["--refresh", "--batch"]).code(), 4);
    // The next run brings in what is new, whatever is stored.
    assert_eq!(run(&space, &provider, &[]).code(), 0);
    assert!(!has_ledger(&space));
    let is_new = |space: &Space| space.record("results.jsonl").matches("m-2").count();
    assert_eq!(is_new(&space), SAMPLES);
    assert_eq!(run(&space, &provider, &["--frozen"]).code(), 0);
    assert_eq!(is_new(&space), SAMPLES);
    assert_eq!(facts(&space)["actions"]["good"]["asked"], 0);
}

#[test]
fn results_that_cannot_be_read_leave_a_batch_open() {
    let provider = BatchProvider::new("anthropic");
    let space = space("anthropic");
    assert_eq!(run(&space, &provider, &["--batch"]).code(), 4);
    provider.set(Faults { is_page: true, ..Faults::default() });
    let ended = run(&space, &provider, &["--batch"]);
    assert_eq!(ended.code(), 4, "{}", ended.shown());
    assert!(ended.stderr().contains("only 0 of 30 results can be read"), "{}", ended.stderr());
    provider.set(Faults::default());
    assert_eq!(run(&space, &provider, &["--batch"]).code(), 0);
    assert_eq!(provider.paid(), [1, SAMPLES - 1, 0]);
}

#[test]
fn a_live_run_does_not_call_what_another_sends_meanwhile() {
    let provider = BatchProvider::new("openai");
    let space = space("openai");
    provider.judge.hold();
    let mut slow = command(&space, &provider, &["--max-concurrent", "1"]);
    slow.arg("--quiet");
    let live = Running::new(slow);
    provider.judge.wait_asked(1);
    let batch = Running::new(command(&space, &provider, &["--batch=always"]));
    // All that the first run has not sent is in a batch.
    provider.judge.release("");
    let batch = batch.finish();
    assert!([0, 4].contains(&batch.code()), "{}", batch.shown());
    let live = live.finish();
    assert!([0, 4].contains(&live.code()), "{}", live.shown());
    assert_eq!(run(&space, &provider, &["--batch", "--wait"]).code(), 0);
    let [alone, batched, twice] = provider.paid();
    assert_eq!((alone + batched, twice), (SAMPLES, 0));
}

#[test]
fn a_suite_that_was_renamed_collects_its_batches() {
    let provider = BatchProvider::new("google");
    let space = space("google");
    assert_eq!(run(&space, &provider, &["--batch"]).code(), 4);
    let suite = space.read("suite.yaml");
    space.write("other.yaml", suite);
    space.write("suite.yaml", "name: gone");
    let ended = command_of(&space, &provider, &["run", "other.yaml"]);
    assert_eq!(ended.code(), 0, "{}", ended.shown());
    assert_eq!(provider.paid(), [1, SAMPLES - 1, 0]);
}

#[test]
fn a_session_collects_what_ends_and_shows_it() {
    let provider = BatchProvider::new("openai");
    let space = space("openai");
    assert_eq!(run(&space, &provider, &["--batch"]).code(), 4);
    let mut command = space.command(&["watch", "suite.yaml", "--json"]);
    provider.reach(&mut command);
    let mut session = Telling::new(command);
    let judged = |told: &Value| told["metrics"]["good"]["judged"].clone();
    assert_eq!(judged(&session.wait_event("evaluated")), 1);
    assert_eq!(judged(&session.wait_event("evaluated")), SAMPLES);
    assert_eq!(provider.paid(), [1, SAMPLES - 1, 0]);
    drop(session);
    assert!(!has_ledger(&space));
    assert_eq!(run(&space, &provider, &["--frozen"]).code(), 0);
    assert_eq!(space.record("results.jsonl"), live("openai"));
}

#[test]
fn two_runs_at_once_send_everything_once() {
    let provider = BatchProvider::new("openai");
    let space = space("openai");
    let both = [0, 1].map(|_| Running::new(command(&space, &provider, &["--batch"])));
    for one in both {
        let ended = one.finish();
        assert!([0, 4].contains(&ended.code()), "{}", ended.shown());
    }
    assert_eq!(run(&space, &provider, &["--batch", "--wait"]).code(), 0);
    let [live_requests, batched, twice] = provider.paid();
    assert_eq!((live_requests + batched, twice), (SAMPLES, 0));
    assert_eq!(space.record("results.jsonl"), live("openai"));
}
