//! What is paid for is kept: through `kill -9`, Ctrl-C, two processes at once and files cut short.
//!
//! Promise 1, as far as it can be shown without pulling a plug. `EVALRS_SLOW=1` kills ten times as often.
#![expect(clippy::disallowed_methods, reason = "tests damage the files of the store themselves")]

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value, json};

use crate::judge::{Answer, Asked, Judge, Order};
use crate::space::{Ran, Space, is_slow, lines};

/// Requests under way at once.
const AT_ONCE: usize = 8;

/// Outcomes that may gather while the disk is busy, before nothing more is asked.
const UNWRITTEN: usize = 100;

const SUITE: &str = "\
name: durable
dataset: data.jsonl
graders:
  quality: {kind: rubric, prompt: 'Is «{submission}» polite?', model: judge-1, endpoint: test, max_retries: 0}
gate: {metric_key: quality, metric: avg_score, op: gte, value: 0.0}
max_concurrent: 8
";

/// What the agent said in row `at`; every row says something else.
fn said(at: usize) -> String {
    format!("answer {at}")
}

fn rows(ats: std::ops::Range<usize>) -> String {
    lines(ats.map(|at| json!({"id": format!("s{at}"), "input": "q", "output": said(at)})))
}

fn space(ats: std::ops::Range<usize>) -> Space {
    Space::new(&[("suite.yaml", SUITE), ("data.jsonl", &rows(ats))])
}

/// The submission inside a prompt of the suite.
fn judged(asked: &Asked) -> String {
    let prompt = asked.prompt();
    prompt
        .split(['«', '»'])
        .nth(1)
        .unwrap_or_else(|| panic!("no submission in {prompt}"))
        .to_owned()
}

/// A judge whose rationale is the submission, so that the store can be read without evalrs.
fn echo(order: Order) -> Judge {
    echo_with(0.0, order)
}

/// The same, but all its scores differ by so much from those of others.
fn echo_with(bias: f64, order: Order) -> Judge {
    let verdict = move |_: usize, asked: &Asked| {
        let submission = judged(asked);
        let score = submission.bytes().map(f64::from).sum::<f64>() % 50.0 / 100.0 + bias;
        Answer::text(&json!({"score": score, "rationale": submission}).to_string())
    };
    Judge::new(verdict).in_order(order)
}

fn names(asked: &[Asked]) -> BTreeSet<String> {
    let names: BTreeSet<String> = asked.iter().map(judged).collect();
    assert_eq!(names.len(), asked.len(), "one run asked the same twice");
    names
}

fn report(space: &Space) -> [String; 3] {
    ["header.json", "results.jsonl", "summary.json"].map(|name| space.record(name))
}

/// The store as `evalrs cache verify` sees it: so many entries, and nothing wrong.
fn verify(space: &Space, entries: usize) {
    let ran = space.run(&["cache", "verify", "suite.yaml"]);
    assert_eq!(ran.code(), 0, "{}", ran.shown());
    let found = ran.stdout();
    assert!(found.starts_with(&format!("cache: {entries} entries, ")), "{found}");
    assert!(found.ends_with(", 0 corrupt lines\n"), "{found}");
}

fn kills() -> usize {
    if is_slow() { 200 } else { 20 }
}

/// After each kill:
/// - the store holds every outcome it held before, every reply the judge had given by the last moment the store
///   was seen to have caught up, and nothing the judge did not say;
/// - where the judge then gave at most as many replies as can be under way, at most those are missing; where it went on
///   at full speed, at most what may be under way and on its way to the disk;
/// - no entry is there twice, and `cache verify` finds nothing wrong;
/// - the next run asks only for what is not stored, each once.
///
/// And when a dataset is through: the last run asked for exactly the rest, and its report has the bytes of a run
/// that nobody killed. Last: from the judge's reply to the outcome on disk it takes less than 50 ms beyond the six
/// syncs that a new segment and two batches need, at least in the fastest quarter of the measurements: the rest is
/// left to busy machines.
#[test]
fn a_kill_loses_only_what_was_in_flight() {
    const ROWS: usize = 240;
    let mut random = fastrand::Rng::with_seed(20);
    let (mut delays, mut syncs) = (Vec::new(), Vec::new());
    let (mut left, mut dataset) = (kills(), 0);
    let space = space(0..1);
    while left > 0 {
        let ats = dataset * ROWS..(dataset + 1) * ROWS;
        dataset += 1;
        space.write("data.jsonl", rows(ats.clone()));
        let mut rest: BTreeSet<String> = ats.clone().map(said).collect();
        while left > 0 && rest.len() > 5 * AT_ONCE {
            let killed = kill_once(&space, &rest, &mut random);
            delays.extend(killed.delay);
            syncs.push(space.sync_time());
            rest = killed.rest;
            left -= 1;
        }
        if left > 0 {
            kill_while_it_reports(&space, &rest);
            left -= 1;
            rest.clear();
        }
        let judge = echo(Order::AtOnce);
        let ran = space.run_with(&judge, &["run", "suite.yaml"]);
        assert_eq!((ran.code(), names(&judge.asked())), (0, rest), "{}", ran.shown());
        assert_eq!(report(&space), undisturbed(ats));
    }
    let quarter = |times: &mut Vec<Duration>| {
        times.sort();
        times[times.len() / 4]
    };
    let (delay, sync) = (quarter(&mut delays), quarter(&mut syncs));
    assert!(
        delay < Duration::from_millis(50) + 6 * sync,
        "durable after {delay:?}, a sync takes {sync:?}"
    );
}

/// The report of a run that nobody killed.
fn undisturbed(ats: std::ops::Range<usize>) -> [String; 3] {
    let space = space(ats);
    assert_eq!(space.run_with(&echo(Order::AtOnce), &["run", "suite.yaml"]).code(), 0);
    report(&space)
}

struct Killed {
    /// What is not stored yet.
    rest: BTreeSet<String>,
    /// From the last reply to the store that holds it, if there was one.
    delay: Option<Duration>,
}

/// Starts a run, kills it at a random moment and checks what is left.
fn kill_once(space: &Space, rest: &BTreeSet<String>, random: &mut fastrand::Rng) -> Killed {
    let before = space.stored();
    let (synced, more) = (random.usize(..4 * AT_ONCE), random.usize(..=AT_ONCE));
    let goes_on = random.bool();
    let judge = echo(Order::UpTo(synced));
    let running = space.start(&judge, &["run", "suite.yaml"]);
    judge.wait_given(synced);
    let delay = Some(space.wait_stored(before.len() + synced)).filter(|_| synced > 0);
    judge.order(if goes_on { Order::AtOnce } else { Order::UpTo(synced + more) });
    judge.wait_given(synced + more);
    running.kill();
    let (asked, given) = (names(&judge.asked()), judge.given());
    let kept = space.stored();
    let new: BTreeSet<String> = kept.difference(&before).cloned().collect();
    assert!(kept.is_superset(&before), "an outcome of an earlier run is gone");
    assert!(new.is_subset(&names(&given)), "the store holds what the judge did not say");
    assert!(new.is_superset(&names(&given[..synced])), "an outcome that was on disk is gone");
    // What was under way, a batch that was being written, and what had gathered into the next one.
    let most = if goes_on { AT_ONCE + 2 * (UNWRITTEN + AT_ONCE) } else { more };
    let lost = given.len() - new.len();
    assert!(lost <= most, "{lost} of {} replies were lost, not at most {most}", given.len());
    assert!(asked.is_subset(rest), "asked again for what was stored");
    verify(space, kept.len());
    Killed { rest: rest.difference(&new).cloned().collect(), delay }
}

/// Kills a run when everything is stored and it has only to seal the store and to write its record.
fn kill_while_it_reports(space: &Space, rest: &BTreeSet<String>) {
    let before = space.stored();
    let judge = echo(Order::AtOnce);
    let running = space.start(&judge, &["run", "suite.yaml"]);
    judge.wait_given(rest.len());
    space.wait_stored(before.len() + rest.len());
    running.kill();
    assert_eq!(&names(&judge.asked()), rest);
    assert_eq!(space.stored(), before.union(rest).cloned().collect());
    verify(space, before.len() + rest.len());
    for run in space.names(".evalrs/runs") {
        for file in space.names(&format!(".evalrs/runs/{run}")) {
            let text = space.read(&format!(".evalrs/runs/{run}/{file}"));
            let is_whole = match file.as_str() {
                "results.jsonl" => text.ends_with("}\n") && text.lines().all(is_json),
                "header.json" | "summary.json" | "run.json" => is_json(&text),
                // A temporary file that was never given its name.
                _ => true,
            };
            assert!(is_whole, "half of {run}/{file} was written");
        }
    }
}

fn is_json(text: &str) -> bool {
    serde_json::from_str::<Value>(text).is_ok()
}

#[test]
fn a_tail_that_a_power_cut_left_is_cut_off_and_asked_again() {
    let whole = {
        let space = space(0..5);
        space.run_with(&echo(Order::AtOnce), &["run", "suite.yaml", "--max-concurrent", "1"]);
        std::fs::read(&space.segments()[0]).unwrap()
    };
    let ends: Vec<usize> = whole
        .iter()
        .enumerate()
        .filter(|(_, byte)| **byte == b'\n')
        .map(|(at, _)| at + 1)
        .collect();
    assert_eq!(ends.len(), 5);
    for cut in [ends[3], ends[3] + 1, ends[3] + 70, ends[4] - 1, ends[2] - 1, 1, 0] {
        let space = space(0..5);
        space.write("cache/v1/seg/00000000001-1-0000000000000000.jsonl", &whole[..cut]);
        let kept = ends.iter().filter(|end| **end <= cut).count();
        verify(&space, kept);
        let judge = echo(Order::AtOnce);
        let ran = space.run_with(&judge, &["run", "suite.yaml"]);
        assert_eq!((ran.code(), judge.count()), (0, 5 - kept), "cut at {cut}: {}", ran.shown());
        assert!(!ran.stderr().contains("warning"), "cut at {cut}: {}", ran.shown());
        assert_eq!(space.stored().len(), 5);
        verify(&space, 5);
    }
}

#[test]
fn two_processes_at_once_make_each_call_once_and_report_the_same() {
    const ROWS: usize = 200;
    let space = space(0..ROWS);
    let judge = echo(Order::UpTo(0));
    let first = space.start(&judge, &["run", "suite.yaml", "--output", "first"]);
    let second = space.start(&judge, &["run", "suite.yaml", "--output", "second"]);
    // Both are past their look at the store before anything is answered.
    judge.wait_asked(2 * AT_ONCE);
    judge.order(Order::AtOnce);
    let (first, second) = (first.finish(), second.finish());
    assert_eq!((first.code(), second.code()), (0, 0), "{}{}", first.shown(), second.shown());
    assert_eq!(judge.count(), ROWS);
    assert_same_report(&space, "first", "second");
    let lines = space.stored_lines().len();
    verify(&space, lines);
    let third = space.run(&["run", "suite.yaml", "--frozen", "--output", "third"]);
    assert_eq!((third.code(), space.actions("quality")), (0, [0, ROWS as u64, 0, 0]));
    assert_same_report(&space, "first", "third");
}

fn assert_same_report(space: &Space, left: &str, right: &str) {
    for name in ["header.json", "results.jsonl", "summary.json"] {
        let of = |folder: &str| space.read(&format!("{folder}/{name}"));
        assert_eq!(of(left), of(right), "{name} of {left} and {right}");
    }
}

#[test]
fn what_a_killed_process_had_in_flight_is_called_by_the_one_that_waits_for_it() {
    const ROWS: usize = 40;
    let space = space(0..ROWS);
    let (held, judge) = (echo(Order::UpTo(0)), echo(Order::AtOnce));
    let killed = space.start(&held, &["run", "suite.yaml"]);
    held.wait_asked(AT_ONCE);
    let waiting = space.start(&judge, &["run", "suite.yaml"]);
    judge.wait_given(ROWS - AT_ONCE);
    space.wait_stored(ROWS - AT_ONCE);
    killed.kill();
    let ran = waiting.finish();
    assert_eq!((ran.code(), judge.count(), held.count()), (0, ROWS, AT_ONCE), "{}", ran.shown());
    assert!(ran.stderr().contains("another process makes some of these calls"), "{}", ran.shown());
    assert_eq!(space.actions("quality"), [ROWS as u64, 0, 0, 0]);
    assert_eq!(report(&space), undisturbed(0..ROWS));
    verify(&space, ROWS);
}

#[test]
fn a_run_beside_a_session_that_watches_makes_each_call_once() {
    let space = space(0..AT_ONCE);
    let judge = echo(Order::UpTo(0));
    let args = ["watch", "suite.yaml", "--json", "--preview", "4"];
    let watching = space.start(&judge, &args);
    judge.wait_asked(4);
    let running = space.start(&judge, &["run", "suite.yaml"]);
    judge.wait_asked(AT_ONCE);
    judge.order(Order::AtOnce);
    let ran = running.finish();
    assert_eq!((ran.code(), judge.count()), (0, AT_ONCE), "{}", ran.shown());
    assert_eq!(space.actions("quality"), [4, 4, 0, 0]);
    watching.kill();
}

#[test]
fn of_two_answers_to_one_question_the_first_that_is_durable_is_reported_by_both() {
    let space = space(0..AT_ONCE);
    let (early, late) = (echo_with(0.0, Order::UpTo(0)), echo_with(0.5, Order::UpTo(0)));
    // Who repeats calls leaves none to others.
    let first = space.start(&early, &["run", "suite.yaml", "--refresh", "--output", "first"]);
    let second = space.start(&late, &["run", "suite.yaml", "--refresh", "--output", "second"]);
    early.wait_asked(AT_ONCE);
    late.wait_asked(AT_ONCE);
    early.order(Order::AtOnce);
    assert_eq!(first.finish().code(), 0);
    late.order(Order::AtOnce);
    assert_eq!(second.finish().code(), 0);
    assert_eq!(late.given().len(), AT_ONCE, "the other judge answered in vain");
    assert_same_report(&space, "first", "second");
    assert_eq!(space.run(&["run", "suite.yaml", "--frozen", "--output", "third"]).code(), 0);
    assert_same_report(&space, "first", "third");
    verify(&space, AT_ONCE);
}

#[cfg(unix)]
#[test]
fn ctrl_c_keeps_what_is_finished_and_the_rerun_asks_for_the_rest() {
    const ROWS: usize = 60;
    const FINISHED: usize = 21;
    let space = space(0..ROWS);
    let judge = echo(Order::UpTo(FINISHED));
    let running = space.start(&judge, &["run", "suite.yaml"]);
    judge.wait_given(FINISHED);
    space.wait_stored(FINISHED);
    judge.wait_asked(FINISHED + AT_ONCE);
    running.interrupt();
    // The judge still holds its replies: whoever waited for them would never end.
    let ran = running.finish();
    assert_eq!(ran.code(), 130, "{}", ran.shown());
    let said = "interrupted: finished calls are cached; rerun to continue\n";
    assert!(ran.stderr().contains(said), "{}", ran.stderr());
    assert_interrupted_record(&space, [ROWS, FINISHED]);
    assert_eq!(judge.count(), FINISHED + AT_ONCE, "nothing is asked after Ctrl-C");
    assert_eq!(space.stored(), names(&judge.given()));
    verify(&space, FINISHED);
    let rest = echo(Order::AtOnce);
    assert_eq!(space.run_with(&rest, &["run", "suite.yaml"]).code(), 0);
    assert_eq!((rest.count(), space.stored().len()), (ROWS - FINISHED, ROWS));
    assert_eq!(report(&space), undisturbed(0..ROWS));
}

/// Every row is in the record: with its verdict, or as an error of kind `not_asked`.
#[cfg(unix)]
fn assert_interrupted_record(space: &Space, [rows, finished]: [usize; 2]) {
    let results = space.record("results.jsonl");
    let results: Vec<Value> =
        results.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let kinds = results.iter().map(|line| &line["grades"]["quality"]["error"]["kind"]);
    let not_asked = kinds.filter(|kind| **kind == "not_asked").count();
    assert_eq!((results.len(), not_asked), (rows, rows - finished));
    let stored = space.stored();
    for line in &results {
        let is_stored = stored.contains(line["submission"].as_str().unwrap());
        assert_eq!(line["grades"]["quality"]["error"].is_null(), is_stored, "{line}");
    }
    let summary: Value = serde_json::from_str(&space.record("summary.json")).unwrap();
    let metric = &summary["metrics"]["quality"];
    assert_eq!(
        [&metric["n"], &metric["attempted"], &metric["errors"]],
        [rows, finished, rows - finished],
        "{metric}"
    );
    let run: Value = serde_json::from_str(&space.record("run.json")).unwrap();
    assert_eq!((&run["interrupted"], &run["exit_code"]), (&json!(true), &json!(130)));
    let asked = finished as u64;
    assert_eq!(
        space.actions("quality"),
        [asked, 0, 0, rows as u64 - asked],
        "what was dropped is pending"
    );
}

#[cfg(unix)]
#[test]
fn ctrl_c_before_the_first_answer_loses_nothing() {
    let space = space(0..20);
    let judge = echo(Order::UpTo(0));
    let running = space.start(&judge, &["run", "suite.yaml", "--format", "json"]);
    judge.wait_asked(AT_ONCE);
    running.interrupt();
    let ran: Ran = running.finish();
    assert_eq!(ran.code(), 130, "{}", ran.shown());
    let shown: Value = serde_json::from_str(&ran.stdout()).unwrap();
    assert_eq!(shown["results"].as_array().unwrap().len(), 20);
    assert_interrupted_record(&space, [20, 0]);
}

#[test]
fn a_run_packs_what_many_runs_have_left_unless_it_is_frozen() {
    let space = space(0..3);
    assert_eq!(space.run_with(&echo(Order::AtOnce), &["run", "suite.yaml"]).code(), 0);
    let [written] = &space.segments()[..] else { panic!("not one segment") };
    for copy in 0..70 {
        std::fs::copy(written, written.with_file_name(format!("0-{copy}-0.jsonl"))).unwrap();
    }
    assert_eq!(space.run(&["run", "suite.yaml", "--frozen"]).code(), 0);
    assert_eq!(space.segments().len(), 71, "a frozen run changes nothing");
    let ran = space.run(&["run", "suite.yaml"]);
    assert_eq!((ran.code(), ran.stderr().contains("packed")), (0, false), "{}", ran.shown());
    assert_eq!(space.segments().len(), 1);
    verify(&space, 3);
    assert_eq!(space.run(&["run", "suite.yaml", "--frozen"]).code(), 0);
}
