//! Panels, votes that confirm, and comparisons with a field or a recorded run: who is asked, how often, and what is
//! told of it.

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

const AGAINST_RUN: &str = "model: m\n    compare_to: {run: base}";

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

struct EvaluatedPart {
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
) -> EvaluatedPart {
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
    EvaluatedPart {
        files: ["header.json", "results.jsonl", "summary.json"].map(|name| space.record(name)),
        landed: space.stored_lines().into_iter().map(|line| line[6..70].to_owned()).collect(),
        first: prompts.len() - again,
        again,
    }
}
