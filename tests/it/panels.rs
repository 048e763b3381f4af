//! Panels, votes that confirm, and comparisons with a field or a recorded run: who is asked, how often, and what is
//! told of it.
#![expect(clippy::disallowed_methods, reason = "tests copy the record of a run themselves")]

use std::collections::BTreeMap;
use std::sync::Mutex;

use serde_json::{Value, json};

use crate::incremental::Loop;
use crate::judge::{Answer, Asked, Judge, Order};
use crate::space::{Space, lines};

/// A suite with one grader, `kind`, that has these further fields.
fn suite(fields: &str) -> String {
    format!(
        "name: panels\ndataset: data.jsonl\ngraders:\n  kind:\n    kind: rubric\n    \
         prompt: 'Is it kind?'\n    endpoint: test\n    max_retries: 0\n    {fields}\n\
         gate: {{metric_key: kind, metric: avg_score, op: gte, value: 0.0}}\n"
    )
}

/// A row whose output is `says` and whose other field is `before`.
fn row(id: &str, says: &str, before: &str) -> Value {
    json!({"id": id, "input": "q", "output": says, "before": before})
}

fn space(fields: &str, rows: &[Value]) -> Space {
    Space::new(&[("suite.yaml", &suite(fields)), ("data.jsonl", &lines(rows))])
}

/// The results of the last run by sample: the grade of `kind`.
fn grades(space: &Space) -> BTreeMap<String, Value> {
    let parsed = |line: &str| serde_json::from_str::<Value>(line).unwrap();
    let results = space.record("results.jsonl");
    let named = |line: Value| {
        let id = line["sample_id"].as_str().unwrap().to_owned();
        (id, line["grades"]["kind"].clone())
    };
    results.lines().map(parsed).map(named).collect()
}

/// Runs the suite and says what came of its actions: asked, cached, failed, pending.
fn run(space: &Space, judge: &Judge, flags: &[&str], code: i32) -> [u64; 4] {
    let ran = space.run_with(judge, &[&["run", "suite.yaml"], flags].concat());
    assert_eq!(ran.code(), code, "{}", ran.shown());
    space.actions("kind")
}

/// What the judge was asked of, by model, since `from`.
fn by_model(judge: &Judge, from: usize) -> BTreeMap<String, usize> {
    let mut models = BTreeMap::new();
    for asked in &judge.asked()[from..] {
        *models.entry(asked.body["model"].as_str().unwrap().to_owned()).or_insert(0) += 1;
    }
    models
}

fn counts(models: &[(&str, usize)]) -> BTreeMap<String, usize> {
    models.iter().map(|(model, count)| ((*model).to_owned(), *count)).collect()
}

#[test]
fn another_judge_of_a_panel_is_asked_alone() {
    let rows: Vec<Value> = (0..5).map(|at| row(&format!("s{at}"), &format!("{at}"), "")).collect();
    let space = space("panel: [{model: a}]", &rows);
    let judge = Judge::new(|_, asked: &Asked| match asked.body["model"].as_str() {
        Some("a") => Answer::score(0.2),
        Some("b") => Answer::score(0.4),
        _ => Answer::score(1.0),
    });
    let mut before = 0;
    for (fields, expected) in [
        ("panel: [{model: a}]", counts(&[("a", 5)])),
        ("panel: [{model: a}, {model: b}]", counts(&[("b", 5)])),
        ("panel: [{model: c}, {model: b}, {model: a}]", counts(&[("c", 5)])),
        ("panel: [{model: b}]", counts(&[])),
        ("votes: 3\n    panel: [{model: a}, {model: b}]", counts(&[("a", 10), ("b", 10)])),
        ("votes: 5\n    panel: [{model: a}, {model: b}]", counts(&[("a", 10), ("b", 10)])),
        ("votes: {n: 2, combine: majority}\n    panel: [{model: a}, {model: b}]", counts(&[])),
    ] {
        space.write("suite.yaml", suite(fields));
        run(&space, &judge, &[], 0);
        assert_eq!(by_model(&judge, before), expected, "{fields}");
        before = judge.count();
    }
    let grade = &grades(&space)["s0"];
    // Two modes: their mean.
    assert!((grade["score"].as_f64().unwrap() - 0.3).abs() < 1e-12, "{grade}");
    assert_eq!(grade["metadata"]["votes"], json!([0.2, 0.2, 0.4, 0.4]));
    assert_eq!(grade["metadata"]["usage"], json!({"input_tokens": 40, "output_tokens": 8}));
    assert_eq!(grade["metadata"]["models"][1]["scores"], json!([0.4, 0.4]));
    run(&space, &judge, &["--frozen"], 0);
    assert_eq!(judge.count(), before);
}

#[test]
fn each_judge_of_a_panel_is_asked_where_it_is() {
    let rows = [row("s", "hello", "")];
    let (one, other) = (Judge::by_length(), Judge::by_length());
    let panel = format!("panel: [{{model: a}}, {{model: b, base_url: {}}}]", other.url());
    let space = space(&panel, &rows);
    assert_eq!(run(&space, &one, &[], 0), [2, 0, 0, 0]);
    assert_eq!(
        (by_model(&one, 0), by_model(&other, 0)),
        (counts(&[("a", 1)]), counts(&[("b", 1)]))
    );
}

/// What each prompt was answered before, so that a judge can change its mind.
fn changing(script: impl Fn(&str, usize) -> Answer + Send + Sync + 'static) -> Judge {
    let times: Mutex<BTreeMap<String, usize>> = Mutex::default();
    Judge::new(move |_, asked: &Asked| {
        let mut times = times.lock().unwrap();
        let time = times.entry(asked.prompt().to_owned()).or_default();
        *time += 1;
        script(asked.prompt(), *time - 1)
    })
}

/// A judge of kind, unkind and doubtful answers; the doubtful ones are kind at second sight.
fn moody() -> Judge {
    changing(|prompt, time| match prompt {
        prompt if prompt.contains("good") => Answer::score(0.9),
        prompt if prompt.contains("doubtful") && time > 0 => Answer::score(0.8),
        prompt if prompt.contains("broken") => Answer::error(400, "no"),
        _ => Answer::score(0.2),
    })
}

fn moods(samples: &[&str]) -> Vec<Value> {
    samples.iter().map(|says| row(says, says, "")).collect()
}

const CONFIRMING: &str = "model: m\n    pass_threshold: 0.5\n    confirm_fails: 2";

#[test]
fn only_bad_verdicts_are_confirmed() {
    let space = space(CONFIRMING, &moods(&["good", "bad", "doubtful", "broken"]));
    let judge = moody();
    // One ballot each, and two more of the bad and the doubtful one; an error is no verdict.
    assert_eq!(run(&space, &judge, &[], 0), [8, 0, 1, 0]);
    let told = grades(&space);
    let shown = |id: &str| {
        let grade = &told[id];
        (grade["score"].clone(), grade["pass"].clone(), grade["metadata"]["confirmed"].clone())
    };
    assert_eq!(shown("good"), (json!(0.9), json!(true), Value::Null));
    assert_eq!(shown("bad"), (json!(0.2), json!(false), json!(true)));
    assert_eq!(shown("doubtful"), (json!(0.8), json!(true), json!(false)));
    assert_eq!(shown("broken"), (json!(0.0), json!(false), Value::Null));
    assert_eq!(told["doubtful"]["metadata"]["votes"], json!([0.2, 0.8, 0.8]));
    let first = space.record("results.jsonl");
    assert_eq!(run(&space, &judge, &["--frozen"], 0), [0, 8, 0, 0]);
    assert_eq!(space.record("results.jsonl"), first);
    assert_eq!(run(&space, &judge, &[], 0), [0, 8, 0, 0]);
    assert_eq!(space.record("results.jsonl"), first);
    // By now the judge finds the doubtful one kind at once, and nothing is left to confirm of it.
    assert_eq!(run(&space, &judge, &["--refresh"], 0), [6, 0, 1, 0]);
    assert_eq!(run(&space, &judge, &[], 0), [0, 6, 0, 0]);
}

#[test]
fn the_threshold_decides_what_is_confirmed() {
    let space = space(CONFIRMING, &moods(&["good", "bad", "doubtful"]));
    let judge = moody();
    assert_eq!(run(&space, &judge, &[], 0), [7, 0, 0, 0]);
    let edit = |threshold: &str| {
        space.write("suite.yaml", suite(CONFIRMING).replace("threshold: 0.5", threshold));
    };
    let export = |code: i32| {
        let ran = space.run(&["cache", "export", "suite.yaml", "--output", "out.jsonl"]);
        assert_eq!(ran.code(), code, "{}", ran.shown());
        space.read("out.jsonl").lines().filter(|line| line.contains("outcome")).count()
    };
    assert_eq!(export(0), 7);
    edit("threshold: 0.0");
    assert_eq!(run(&space, &judge, &["--frozen"], 0), [0, 3, 0, 0]);
    assert_eq!(grades(&space)["doubtful"]["score"], 0.2, "the first verdict stands alone");
    assert_eq!(export(0), 3);
    edit("threshold: 0.95");
    assert_eq!(export(3), 7, "two judgments more are wanted, and missing");
    assert_eq!(run(&space, &judge, &["--frozen"], 3), [0, 7, 0, 2]);
    assert_eq!(grades(&space)["good"]["error"]["kind"], "not_stored");
    assert_eq!(run(&space, &judge, &[], 0), [2, 7, 0, 0]);
    assert_eq!(export(0), 9);
    edit("threshold: 0.5");
    assert_eq!(run(&space, &judge, &[], 0), [0, 7, 0, 0]);
}

#[test]
fn a_budget_gives_every_sample_a_verdict_before_any_is_confirmed() {
    let space = space(CONFIRMING, &moods(&["bad 1", "bad 2", "bad 3"]));
    let judge = moody();
    assert_eq!(run(&space, &judge, &["--max-calls", "4"], 3), [4, 0, 0, 5]);
    let errors = grades(&space).into_values().filter(|grade| grade["error"].is_object()).count();
    assert_eq!(errors, 2, "two ballots of three are enough, one is not");
    assert_eq!(run(&space, &judge, &["--frozen"], 3), [0, 4, 0, 5]);
    assert_eq!(run(&space, &judge, &["--max-calls", "5"], 0), [5, 4, 0, 0]);
    assert_eq!(judge.count(), 9);
}

#[test]
fn a_verdict_is_confirmed_while_another_grader_still_waits() {
    let (slow, fast) = (Judge::by_length().in_order(Order::UpTo(0)), moody());
    let other = format!(
        "  other: {{kind: rubric, prompt: 'Is {{submission}} good?', model: m, endpoint: slow, base_url: '{}'}}\n",
        slow.url()
    );
    let space = space(CONFIRMING, &moods(&["bad 1", "bad 2"]));
    let both = suite(CONFIRMING).replace("graders:\n", &format!("graders:\n{other}"));
    space.write("suite.yaml", both);
    let running = space.start(&fast, &["run", "suite.yaml"]);
    fast.wait_given(6);
    assert_eq!(slow.asked().len(), 2);
    slow.order(Order::AtOnce);
    assert_eq!(running.finish().code(), 0);
    assert_eq!(space.actions("kind"), [6, 0, 0, 0]);
}

#[test]
fn what_was_finished_before_an_interruption_is_not_asked_again_to_be_confirmed() {
    let says: Vec<String> = (0..6).map(|at| format!("bad {at}")).collect();
    let space = space(CONFIRMING, &moods(&says.iter().map(String::as_str).collect::<Vec<_>>()));
    let judge = moody().in_order(Order::UpTo(4));
    let running = space.start(&judge, &["run", "suite.yaml"]);
    judge.wait_given(4);
    judge.wait_asked(6);
    space.wait_stored(4);
    running.interrupt();
    assert_eq!(running.finish().code(), 130);
    // What confirms the four is wanted by now, and waits.
    assert_eq!(space.actions("kind"), [4, 0, 0, 10]);
    judge.order(Order::AtOnce);
    assert_eq!(run(&space, &judge, &[], 0), [14, 4, 0, 0]);
    assert_eq!(run(&space, &judge, &[], 0), [0, 18, 0, 0]);
}

#[test]
fn keys_of_judges_that_may_have_to_confirm_are_needed_from_the_start() {
    let fields = format!("{CONFIRMING}\n    api_key_env: NOT_SET").replace("model: m\n    ", "");
    let panel = "panel: [{model: a, base_url: 'https://api.openai.com/v1'}]\n    ";
    let space = space(&format!("{panel}{fields}"), &moods(&["bad"]));
    let ran = space.run(&["run", "suite.yaml"]);
    assert_eq!(ran.code(), 2, "{}", ran.shown());
    assert!(ran.stderr().contains("`NOT_SET` is not set"), "{}", ran.stderr());
}

#[test]
fn turns_are_confirmed_one_by_one() {
    let talk = json!({
        "id": "talk", "input": ["hello", "and then?"], "ground_truth": ["a", "b"],
        "messages": [
            {"role": "user", "content": "hello"}, {"role": "assistant", "content": "good"},
            {"role": "user", "content": "and then?"}, {"role": "assistant", "content": "doubtful"},
        ],
    });
    let space = space(CONFIRMING, &[talk]);
    assert_eq!(run(&space, &moody(), &[], 0), [4, 0, 0, 0]);
    let turns = grades(&space)["talk"]["per_turn"].clone();
    assert_eq!([&turns[0]["score"], &turns[1]["score"]], [0.9, 0.8]);
}

/// A session that lives through edits: with a threshold that most of its scores are above or below.
fn session(threshold: &str) -> (Loop, impl Fn(&str) -> String) {
    let text = |threshold: &str| {
        suite(&format!("model: m\n    confirm_fails: 1\n    pass_threshold: {threshold}"))
    };
    let rows = (0..300).map(|at| row(&format!("s{at}"), &"x".repeat(at), ""));
    let looped = Loop::with(&[("suite.yaml", &text(threshold)), ("data.jsonl", &lines(rows))]);
    (looped, text)
}

#[test]
fn a_threshold_edit_plans_nothing_and_asks_what_is_now_to_be_confirmed() {
    let (mut session, text) = session("0.0");
    assert_eq!(session.evaluate().asked.len(), 299, "an empty submission needs no judge");
    session.set("suite.yaml", &text("0.45"));
    let did = session.evaluate();
    // The scores are 0.0 to 1.0 in tenths, in turn; 0.0 to 0.4 are below.
    assert!((130..=140).contains(&did.asked.len()), "{}", did.asked.len());
    assert_eq!((did.ran("plans"), did.ran("submissions")), (0, 0), "{:?}", did.ran);
    assert_eq!(session.evaluate().asked.len(), 0);
    session.set("suite.yaml", &text("0.0"));
    let back = session.evaluate();
    assert_eq!((back.asked.len(), back.ran("plans")), (0, 0), "{:?}", back.ran);
    session.set("suite.yaml", &text("0.45"));
    assert_eq!(session.evaluate().asked.len(), 0);
    let did = session.evaluate();
    assert_eq!((did.ran.len(), did.asked.len()), (0, 0), "{:?}", did.ran);
}

/// The submissions that a prompt shows, in its order.
fn shown(prompt: &str) -> [String; 2] {
    ["Submission A:\n\n", "Submission B:\n\n"].map(|head| {
        let (_, rest) = prompt.split_once(head).unwrap();
        rest.split("\n\n").next().unwrap().to_owned()
    })
}

/// Prefers the longer text; of two equally long ones the first.
fn prefers_long() -> Judge {
    Judge::new(|_, asked: &Asked| {
        let [a, b] = shown(asked.prompt());
        let winner = if b.len() > a.len() { "B" } else { "A" };
        Answer::text(&json!({"rationale": format!("{a} or {b}"), "winner": winner}).to_string())
    })
}

#[test]
fn a_submission_is_compared_with_a_field_in_both_orders() {
    let rows = [
        row("wins", "much longer", "short"),
        row("loses", "short", "much longer"),
        row("draws", "first", "other"),
        row("same", "same", "same"),
        row("empty", "x", ""),
        json!({"id": "missing", "input": "q", "output": "x"}),
    ];
    let space = space("model: m\n    compare_to: before", &rows);
    let judge = prefers_long();
    // Two that mirror each other ask the same two questions, equal texts are one.
    assert_eq!(run(&space, &judge, &[], 0), [2 + 2 + 1, 0, 0, 0]);
    let told = grades(&space);
    for (id, score, forward, reversed, bias) in [
        ("wins", 1.0, "win", "win", Value::Null),
        ("loses", 0.0, "loss", "loss", Value::Null),
        ("draws", 0.5, "win", "loss", json!("first")),
        ("same", 0.5, "win", "loss", Value::Null),
    ] {
        let grade = &told[id];
        let orders = json!({"forward": forward, "reversed": reversed});
        assert_eq!(
            (&grade["score"], &grade["metadata"]["orders"]),
            (&json!(score), &orders),
            "{id}"
        );
        assert_eq!(grade["metadata"]["position_bias"], bias, "{id}");
    }
    for (id, message) in [
        ("empty", "`before` is empty: there is nothing to compare with"),
        ("missing", "the row has no `before` to compare with"),
    ] {
        let error = json!({"kind": "compare_to", "message": message});
        assert_eq!(told[id]["error"], error, "{id}");
    }
}

const AGAINST_RUN: &str = "model: m\n    compare_to: {run: base}";

/// A run of these rows, recorded in `base`, and the suite that compares with it.
fn recorded(rows: &[Value]) -> Space {
    let space = space("model: m", rows);
    assert_eq!(space.run_with(&Judge::by_length(), &["run", "suite.yaml"]).code(), 0);
    space.write("base/results.jsonl", space.record("results.jsonl"));
    space.write("suite.yaml", suite(AGAINST_RUN));
    space
}

#[test]
fn a_run_is_compared_with_a_recorded_one() {
    let mut rows: Vec<Value> =
        (0..4).map(|at| row(&format!("s{at}"), &format!("answer {at}"), "")).collect();
    // A row without an id is named by its content, also in the record.
    rows.push(json!({"input": "q", "output": "nameless"}));
    let space = recorded(&rows);
    let judge = prefers_long();
    assert_eq!(run(&space, &judge, &[], 0), [5, 0, 0, 0], "nothing is another than it was");
    rows[1] = row("s1", "a much longer answer", "");
    rows.push(row("new", "unheard of", ""));
    space.write("data.jsonl", lines(&rows));
    assert_eq!(run(&space, &judge, &[], 0), [2, 4, 0, 0]);
    let told = grades(&space);
    assert_eq!(told["s1"]["score"], 1.0);
    let message = "the recorded run has no submission of this sample";
    assert_eq!(told["new"]["error"], json!({"kind": "compare_to", "message": message}));
    let record = space.read("base/results.jsonl");
    space.write("base/results.jsonl", record.replace("answer 2", "another answer"));
    assert_eq!(run(&space, &judge, &[], 0), [2, 5, 0, 0], "one text of the record is another");
    let header: Value = serde_json::from_str(&space.record("header.json")).unwrap();
    assert!(header["inputs"]["base/results.jsonl"].is_string(), "{header}");
}

#[test]
fn a_record_that_cannot_be_read_is_said_before_anything_runs() {
    let space = recorded(&[row("s", "x", "")]);
    let validated = |code: i32, parts: &[&str]| {
        let ran = space.run(&["validate", "suite.yaml"]);
        let shown = ran.shown();
        assert_eq!(ran.code(), code, "{shown}");
        for part in parts {
            assert!(shown.contains(part), "no {part}: {shown}");
        }
    };
    validated(0, &[]);
    let record = space.read("base/results.jsonl");
    space.write("base/results.jsonl", format!("{record}{{\"format\": 1, \"sample_id\": 3}}\n"));
    validated(2, &["base/results.jsonl:2", "this is not a line of a recorded run"]);
    std::fs::remove_file(space.path("base/results.jsonl")).unwrap();
    validated(2, &["cannot read the recorded run", "there is no such file"]);
}

#[test]
fn the_record_of_a_run_may_be_larger_than_a_suite() {
    let space = recorded(&[row("s", "x", "")]);
    let record = space.read("base/results.jsonl");
    let long = format!(
        "{{\"format\":1,\"sample_id\":\"long\",\"submissions\":{{\"kind\":\"{}\"}}}}\n",
        "y".repeat(5 << 20)
    );
    space.write("base/results.jsonl", format!("{long}{record}"));
    assert_eq!(run(&space, &prefers_long(), &[], 0), [1, 0, 0, 0]);
}

#[test]
fn another_record_plans_the_chunks_it_changes_alone() {
    let rows: Vec<Value> =
        (0..1_000).map(|at| row(&format!("s{at}"), &format!("answer {at}"), "")).collect();
    let line = |at: usize, text: &str| json!({"format": 1, "sample_id": format!("s{at}"), "submissions": {"kind": text}});
    let record = |changed: Option<usize>| {
        lines((0..1_000).map(|at| {
            let old = if changed == Some(at) { "older" } else { "old" };
            line(at, &format!("{old} {at}"))
        }))
    };
    let mut session = Loop::with(&[
        ("suite.yaml", &suite(AGAINST_RUN)),
        ("data.jsonl", &lines(&rows)),
        ("base/results.jsonl", &record(None)),
    ]);
    session.answer(|_| "{\"rationale\": \"r\", \"winner\": \"tie\"}".to_owned());
    assert_eq!(session.evaluate().asked.len(), 2_000);
    session.set("base/results.jsonl", &record(Some(500)));
    let did = session.evaluate();
    assert_eq!((did.asked.len(), did.ran("plans")), (2, 1), "{:?}", did.ran);
    assert_eq!(session.evaluate().ran.len(), 0);
}

#[test]
fn the_report_of_panels_and_comparisons_does_not_depend_on_order() {
    let rows: Vec<Value> = (0..16)
        .map(|at| row(&format!("s{at}"), &"x".repeat(at + 1), &"y".repeat(16 - at)))
        .collect();
    let confirming = "votes: 2\n    confirm_fails: 1\n    pass_threshold: 0.5\n    panel: [{model: a}, {model: bb}]";
    let comparing = format!("{confirming}\n    compare_to: before");
    for fields in [confirming, &comparing] {
        let one = evaluated(fields, &rows, (1, Order::AtOnce, None));
        assert!(one.again > 0 && one.again < one.first, "{} then {}", one.first, one.again);
        for (at_once, seed) in [(5, 1), (64, 2)] {
            let shuffled = |seed, total| {
                let random = fastrand::Rng::with_seed(seed);
                Order::Shuffled { at_once, total, random }
            };
            let then = (one.first, shuffled(seed + 10, one.first + one.again));
            let many = evaluated(fields, &rows, (at_once, shuffled(seed, one.first), Some(then)));
            assert_eq!(many.files, one.files, "{at_once} at once");
            assert_ne!(many.landed, one.landed, "the replies came in another order");
        }
    }
}

struct Evaluated {
    files: [String; 3],
    landed: Vec<String>,
    /// Requests for the first ballots.
    first: usize,
    /// Requests that confirm.
    again: usize,
}

/// Verdicts and failures that are functions of the prompt and the model alone. What confirms is asked when the first
/// ballots have all landed: `then` says from how many requests on, and in which order.
fn evaluated(
    fields: &str,
    rows: &[Value],
    (at_once, order, then): (usize, Order, Option<(usize, Order)>),
) -> Evaluated {
    let space = space(fields, rows);
    let judge = Judge::new(|_, asked: &Asked| {
        let said = [asked.prompt(), asked.body["model"].as_str().unwrap()].concat();
        let sum = said.bytes().fold(7_usize, |sum, byte| (sum * 31 + usize::from(byte)) % 10_007);
        if sum % 13 == 0 {
            return Answer::error(400, "no");
        }
        let verdict = if asked.prompt().contains("Submission B:") {
            json!({"rationale": format!("r{sum}"), "winner": (["A", "B", "tie"][sum % 3])})
        } else {
            json!({"rationale": format!("r{sum}"), "score": (sum % 11) as f64 / 10.0})
        };
        Answer::text(&verdict.to_string())
    });
    judge.order(order);
    let at_once = at_once.to_string();
    let running = space
        .start(&judge, &["run", "suite.yaml", "--format", "json", "--max-concurrent", &at_once]);
    if let Some((first, order)) = then {
        judge.wait_given(first);
        judge.order(order);
    }
    let ran = running.finish();
    assert!(matches!(ran.code(), 0 | 3), "{}", ran.shown());
    let prompts: Vec<(String, String)> = judge
        .asked()
        .iter()
        .map(|asked| (asked.prompt().to_owned(), asked.body["model"].to_string()))
        .collect();
    // A prompt is asked twice of each model first; what confirms it is the third time.
    let again = {
        let mut times: BTreeMap<&(String, String), usize> = BTreeMap::new();
        let counted = prompts.iter().map(|prompt| {
            let time = times.entry(prompt).or_default();
            *time += 1;
            *time
        });
        counted.filter(|time| *time > 2).count()
    };
    Evaluated {
        files: ["header.json", "results.jsonl", "summary.json"].map(|name| space.record(name)),
        landed: space.stored_lines().into_iter().map(|line| line[6..70].to_owned()).collect(),
        first: prompts.len() - again,
        again,
    }
}

#[test]
fn votes_on_both_sides_of_the_threshold_are_told_of_where_there_are_trials() {
    let trial = |id: &str, trial: u32, says: &str| json!({"id": id, "trial": trial, "input": "q", "output": says, "before": ""});
    let rows = [
        trial("s0", 0, "split"),
        trial("s0", 1, "good"),
        trial("s1", 0, "bad"),
        trial("s1", 1, "split"),
    ];
    let space =
        space("pass_threshold: 0.5\n    panel: [{model: a}, {model: b}, {model: c}]", &rows);
    let judge = Judge::new(|_, asked: &Asked| {
        let text = asked.body.to_string();
        let is_strict = asked.body["model"] == "c";
        let is_good = text.contains("good") || (text.contains("split") && !is_strict);
        Answer::score(if is_good { 0.5 } else { 0.25 })
    });
    run(&space, &judge, &[], 0);
    let summary: Value = serde_json::from_str(&space.record("summary.json")).unwrap();
    let trials = &summary["trials"]["kind"];
    let split = |id: &str, trial: u32| json!({"sample_id": id, "model": null, "trial": trial, "passes": 2, "votes": 3});
    assert_eq!(trials["straddlers"], json!([split("s0", 0), split("s1", 1)]));
    assert_eq!(
        trials["flaky"],
        json!([{"sample_id": "s1", "model": null, "passes": 1, "trials": 2}])
    );
    let shown = space.run_with(&judge, &["run", "suite.yaml"]).stdout();
    assert!(
        shown.contains("kind, 2 trials of 2 samples: 1 flaky: s1 1/2;")
            && shown.contains(
                "votes on both sides of the threshold: s0 [trial 0] 2/3, s1 [trial 1] 2/3"
            ),
        "{shown}"
    );
    // A threshold that no vote straddles.
    space.write(
        "suite.yaml",
        suite("pass_threshold: 0.2\n    panel: [{model: a}, {model: b}, {model: c}]"),
    );
    assert_eq!(run(&space, &judge, &["--frozen"], 0), [0, 9, 0, 0]);
    let summary: Value = serde_json::from_str(&space.record("summary.json")).unwrap();
    assert_eq!(summary["trials"]["kind"]["straddlers"], json!([]));
    // Without trials nothing is told.
    space.write("data.jsonl", lines([row("s0", "split", "")]));
    run(&space, &judge, &[], 0);
    let summary: Value = serde_json::from_str(&space.record("summary.json")).unwrap();
    assert_eq!(summary.get("trials"), None);
}
