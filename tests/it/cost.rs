//! What judgments cost: reported by the prices in force, told apart into spent and saved as it was paid, and limited.

use serde_json::{Value, json};

use crate::judge::{Answer, Judge};
use crate::space::{Space, jsonl};

const SUITE: &str = "\
name: support
dataset: data.jsonl
graders:
  quality: {kind: rubric, prompt: 'Is {submission} polite?', model: judge-1, endpoint: test}
";

/// A dollar a judgment: 200 tokens of a reply.
const PRICES: &str = "[prices.\"judge-1\"]\ninput = 0.0\noutput = 5000.0\n";

fn space(prices: &str) -> Space {
    let rows = (0..6).map(|at| json!({"id": at, "input": "q", "output": format!("answer {at}")}));
    Space::new(&[("suite.yaml", SUITE), ("data.jsonl", &jsonl(rows)), ("evalrs.toml", prices)])
}

fn judge() -> Judge {
    Judge::new(|_, _| {
        let body = json!({
            "model": "judge-1-0613",
            "choices": [{"message": {"content": "{\"rationale\": \"r\", \"score\": 1}"}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 300, "completion_tokens": 200},
        });
        Answer::Http(200, Vec::new(), body.to_string())
    })
}

fn of(space: &Space, file: &str, pointer: &str) -> Value {
    let record: Value = serde_json::from_str(&space.record(file)).unwrap();
    record.pointer(pointer).unwrap().clone()
}

/// The cost of the first result's grade.
fn of_grade(space: &Space) -> Value {
    let results = space.record("results.jsonl");
    let line: Value = serde_json::from_str(results.lines().next().unwrap()).unwrap();
    line["grades"]["quality"]["metadata"]["cost"].clone()
}

#[test]
fn judgments_are_reported_with_what_they_cost_by_the_prices_in_force() {
    let (space, judge) = (space(PRICES), judge());
    let ran = space.run_with(&judge, &["run", "suite.yaml"]);
    assert!(ran.stdout().contains("\nspent $6.00, 3000 tokens\n"), "{}", ran.stdout());
    let by_grader = "/usage/quality/cost";
    assert_eq!(of(&space, "summary.json", by_grader), json!(6.0));
    assert_eq!(of(&space, "summary.json", "/cost"), json!(6.0));
    assert_eq!(of(&space, "run.json", "/spent/cost"), json!(6.0));
    assert_eq!(of_grade(&space), json!(1.0));
    let records = |space: &Space| [space.record("summary.json"), space.record("results.jsonl")];
    let before = records(&space);
    space.write("evalrs.toml", PRICES.replace("5000", "9000"));
    let ran = space.run(&["run", "suite.yaml", "--frozen"]);
    assert!(ran.stdout().contains("\nsaved $6.00, 3000 tokens\n"), "{}", ran.stdout());
    assert_eq!(of(&space, "summary.json", by_grader), json!(10.8));
    assert_eq!(of_grade(&space), json!(1.8));
    assert_eq!(of(&space, "run.json", "/saved/cost"), json!(6.0), "what was paid does not change");
    assert_eq!(of(&space, "run.json", "/spent"), json!({"input": 0, "output": 0}));
    let told = space.run(&["explain", "suite.yaml", "0"]).stdout();
    assert!(told.contains("; $1.80; $1.00 paid"), "{told}");
    space.write("evalrs.toml", PRICES);
    assert_eq!(space.run(&["run", "suite.yaml", "--frozen"]).code(), 0);
    assert_eq!(records(&space), before, "the same prices say the same");
}

#[test]
fn prices_that_are_given_later_reach_what_is_stored() {
    let (space, judge) = (space(""), judge());
    assert_eq!(space.run_with(&judge, &["run", "suite.yaml"]).code(), 0);
    assert_eq!((of(&space, "summary.json", "/cost"), of_grade(&space)), (Value::Null, Value::Null));
    space.write("evalrs.toml", PRICES);
    let ran = space.run(&["run", "suite.yaml", "--frozen"]);
    assert_eq!(of(&space, "summary.json", "/cost"), json!(6.0), "{}", ran.shown());
    let stored = [space.record("summary.json"), space.record("results.jsonl")];
    let fresh = ["run", "suite.yaml", "--cache-dir", "fresh"];
    assert_eq!((space.run_with(&judge, &fresh).code(), judge.count()), (0, 12));
    let asked = [space.record("summary.json"), space.record("results.jsonl")];
    assert_eq!(asked, stored, "an empty store says what a full one says");
}

#[test]
fn what_was_paid_stands_in_the_store_and_with_the_run() {
    let space = space(PRICES);
    let judge = Judge::new(|_, _| {
        let usage = json!({
            "prompt_tokens": 300, "completion_tokens": 200, "cost": 0.25,
            "prompt_tokens_details": {"cached_tokens": 256},
        });
        let message = json!({"content": "{\"rationale\": \"r\", \"score\": 1}"});
        let body = json!({
            "model": "judge-1", "choices": [{"message": message, "finish_reason": "stop"}],
            "usage": usage, "service_tier": "flex",
        });
        Answer::Http(200, Vec::new(), body.to_string())
    });
    assert_eq!(space.run_with(&judge, &["run", "suite.yaml"]).code(), 0);
    let paid = |requests: u64| {
        json!({
            "input": 300 * requests, "output": 200 * requests, "cache_read": 256 * requests,
            "cost": 0.25 * requests as f64, "told": true, "tier": "flex",
        })
    };
    assert_eq!(of(&space, "run.json", "/spent"), paid(6));
    for entry in space.stored_entries() {
        let body: Value = serde_json::from_str(&entry.body).unwrap();
        assert_eq!(body["outcome"]["reply"]["usage"], paid(1));
    }
    assert_eq!(of(&space, "summary.json", "/cost"), json!(6.0), "by the prices in force");
    assert_eq!(of_grade(&space), json!(1.0));
    let told = space.run(&["explain", "suite.yaml", "0"]).stdout();
    assert!(told.contains("; $1.00; $0.25 paid"), "{told}");
}

#[test]
fn a_model_without_a_price_costs_nobody_knows_what() {
    let (space, judge) = (space(""), judge());
    assert_eq!(space.run_with(&judge, &["run", "suite.yaml"]).code(), 0);
    assert_eq!(of(&space, "summary.json", "/cost"), Value::Null);
    assert_eq!(of(&space, "run.json", "/spent"), json!({"input": 1800, "output": 1200}));
}

#[test]
fn a_limit_on_the_cost_is_kept_whatever_is_under_way() {
    for concurrency in ["1", "5"] {
        let (space, judge) = (space(PRICES), judge());
        let run = ["run", "suite.yaml", "--max-concurrent", concurrency, "--max-cost", "$2.5"];
        let ran = space.run_with(&judge, &run);
        assert_eq!((ran.code(), judge.count()), (3, 2), "{}", ran.shown());
        assert!(ran.stderr().contains("stopped: the budget is used up"), "{}", ran.stderr());
        assert_eq!(space.actions("quality"), [2, 0, 0, 4]);
        assert_eq!(of(&space, "run.json", "/spent/cost"), json!(2.0));
        let ran = space.run_with(&judge, &run);
        assert_eq!((ran.code(), judge.count()), (3, 4), "what is stored costs nothing");
        assert_eq!(space.run_with(&judge, &run).code(), 0);
    }
}

#[test]
fn a_limit_of_the_workspace_is_overruled_by_the_command_line() {
    let (space, judge) = (space(&format!("{PRICES}[run]\nmax_cost = 1\n")), judge());
    assert_eq!(space.run_with(&judge, &["run", "suite.yaml"]).code(), 3);
    assert_eq!(judge.count(), 1);
    assert_eq!(space.run_with(&judge, &["run", "suite.yaml", "--max-cost", "100"]).code(), 0);
}

#[test]
fn a_limit_that_cannot_be_kept_stops_before_anything_is_asked() {
    let (space, judge) = (space(""), judge());
    let ran = space.run_with(&judge, &["run", "suite.yaml", "--max-cost", "5"]);
    insta::assert_snapshot!(ran.shown(), @r#"
    exit: 2
    --- stdout
    --- stderr
    6 judgments: 0 cached, 6 to ask
    error: the price of `judge-1` is not known, so `--max-cost` cannot be kept
      help: say it in evalrs.toml, in US dollars a million tokens: `[prices."judge-1"]` with `input = 0.0` and `output = 0.0`, or limit the calls: `--max-calls`
    "#);
    assert_eq!(judge.count(), 0);
    assert_eq!(space.run_with(&judge, &["run", "suite.yaml", "--max-cost", "-1"]).code(), 2);
}

#[test]
fn a_limit_holds_over_all_suites_of_a_command() {
    for limit in [["--max-calls", "3"], ["--max-cost", "3.5"]] {
        let (space, judge) = (space(PRICES), judge());
        space.write("other.yaml", SUITE.replace("polite", "kind"));
        let run = ["run", "suite.yaml", "other.yaml", limit[0], limit[1]];
        assert_eq!((space.run_with(&judge, &run).code(), judge.count()), (3, 3), "{limit:?}");
    }
}

#[test]
fn failures_that_nobody_is_paid_for_use_up_no_money() {
    let space = space(PRICES);
    let suite = SUITE.replace("endpoint: test", "endpoint: test, max_retries: 0");
    space.write("suite.yaml", suite);
    let judge = Judge::new(|_, _| Answer::error(500, "broken"));
    let run = ["run", "suite.yaml", "--max-concurrent", "1", "--max-cost", "2.5"];
    assert_eq!((space.run_with(&judge, &run).code(), judge.count()), (3, 6));
}

#[test]
fn graders_that_share_judgments_pay_for_them_once() {
    let (space, judge) = (space(PRICES), judge());
    let shared = "  again: {kind: rubric, prompt: 'Is {submission} polite?', model: judge-1, endpoint: test}\n";
    space.write("suite.yaml", SUITE.to_owned() + shared);
    assert_eq!(space.run_with(&judge, &["run", "suite.yaml"]).code(), 0);
    assert_eq!((judge.count(), of(&space, "summary.json", "/cost")), (6, json!(6.0)));
    let ran = space.run_with(&judge, &["run", "suite.yaml", "--refresh=again"]);
    assert_eq!((ran.code(), judge.count()), (0, 12), "what a grader rests on is asked anew");
}
