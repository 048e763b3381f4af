//! `evalrs plan`: it says what the next run asks, for every kind of edit, and does nothing.
#![expect(clippy::disallowed_methods, reason = "tests look at their own files")]

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};

use crate::judge::{Answer, Judge};
use crate::space::{Ran, Space, has, lines};

const SUITE: &str = "\
name: support
dataset: data.jsonl
graders:
  exact: {kind: tool, function: exact_match}
  quality:
    kind: rubric
    prompt_path: rubric.txt
    model: judge-1
    endpoint: test
    max_retries: 0
  tone: {kind: rubric, prompt: 'Is {submission} kind?', model: judge-2, endpoint: test, max_retries: 0}
gate: {metric_key: exact, metric: avg_score, op: gte, value: 0.0}
";

fn row(id: usize) -> Value {
    json!({"id": format!("s{id}"), "input": format!("q{id}"), "ground_truth": "a", "output": format!("answer {id}"), "rubric_vars": {"tone": "kind"}})
}

fn rows() -> Vec<Value> {
    (0..4).map(row).collect()
}

fn space() -> Space {
    let rubric = "{input}: is {submission} {tone}? Expected: {ground_truth}\n";
    Space::new(&[("suite.yaml", SUITE), ("data.jsonl", &lines(rows())), ("rubric.txt", rubric)])
}

/// A judge that fails for good where the prompt says so.
fn judge() -> Judge {
    Judge::new(|_, asked| match asked.prompt() {
        prompt if prompt.contains("answer 3: broken") => Answer::error(400, "no"),
        prompt if prompt.contains("answer 2: busy") => Answer::error(500, "busy"),
        _ => Answer::score(1.0),
    })
}

/// The plan as JSON.
fn planned(space: &Space, judge: &Judge, more: &[&str]) -> Value {
    let ran = space.run_with(judge, &[&["plan", "suite.yaml", "--json"], more].concat());
    assert_eq!((ran.code(), ran.stderr()), (0, String::new()), "{}", ran.shown());
    serde_json::from_str(&ran.stdout()).unwrap()
}

fn asked_by(space: &Space, judge: &Judge, more: &[&str]) -> u64 {
    let before = judge.count();
    space.run_with(judge, &[&["run", "suite.yaml", "--quiet"], more].concat());
    let ran: Value = serde_json::from_str(&space.record("run.json")).unwrap();
    let tallies = ran["actions"].as_object().unwrap();
    let asked: u64 = tallies.values().map(|tally| tally["asked"].as_u64().unwrap()).sum();
    assert_eq!(asked, (judge.count() - before) as u64);
    asked
}

/// After `edit` the plan says to ask `expected`, for each grader and reason, and the next run asks that many.
fn check(what: &str, edit: impl FnOnce(&Space), more: &[&str], expected: &[(&str, &str, u64)]) {
    let (space, judge) = (space(), judge());
    assert_eq!(asked_by(&space, &judge, &[]), 8);
    edit(&space);
    check_plan(what, (&space, &judge), more, expected);
}

fn check_plan(
    what: &str,
    (space, judge): (&Space, &Judge),
    more: &[&str],
    expected: &[(&str, &str, u64)],
) {
    let plan = planned(space, judge, more);
    let mut reasons: BTreeMap<(String, String), u64> = BTreeMap::new();
    for (grader, line) in plan["graders"].as_object().unwrap() {
        let own = line["reasons"].as_object().unwrap();
        let sum: u64 = own.values().map(|n| n.as_u64().unwrap()).sum();
        assert_eq!(Some(sum), line["to_ask"].as_u64(), "{what}: {plan}");
        for (reason, n) in own {
            reasons.insert((grader.clone(), reason.clone()), n.as_u64().unwrap());
        }
    }
    let expected: BTreeMap<(String, String), u64> = expected
        .iter()
        .map(|(grader, reason, n)| (((*grader).to_owned(), (*reason).to_owned()), *n))
        .collect();
    assert_eq!(reasons, expected, "{what}");
    let sum: u64 = expected.values().sum();
    assert_eq!(plan["totals"]["to_ask"], sum, "{what}");
    assert_eq!(asked_by(space, judge, more), sum, "{what}: the next run");
    let ran: Value = serde_json::from_str(&space.record("run.json")).unwrap();
    for (grader, line) in plan["graders"].as_object().unwrap() {
        let tally = &ran["actions"][grader];
        assert_eq!(
            (&line["total"], &line["cached"]),
            (&tally["total"], &tally["cached"]),
            "{what}"
        );
    }
}

fn replace(space: &Space, file: &str, from: &str, to: &str) {
    let text = space.read(file);
    assert!(text.contains(from), "{file} has no {from}");
    space.write(file, text.replace(from, to));
}

fn write_rows(space: &Space, rows: &[Value]) {
    space.write("data.jsonl", lines(rows));
}

#[test]
fn the_plan_says_what_the_next_run_asks() {
    check("nothing", |_| (), &[], &[]);
    check(
        "threshold",
        |space| {
            replace(
                space,
                "suite.yaml",
                "max_retries: 0\n",
                "max_retries: 1\n    pass_threshold: 0.1\n",
            );
        },
        &[],
        &[],
    );
    check("comment", |space| space.write("suite.yaml", format!("# why\n{SUITE}")), &[], &[]);
    check(
        "order",
        |space| write_rows(space, &rows().into_iter().rev().collect::<Vec<_>>()),
        &[],
        &[],
    );
    check(
        "new sample",
        |space| write_rows(space, &(0..5).map(row).collect::<Vec<_>>()),
        &[],
        &[("quality", "new sample", 1), ("tone", "new sample", 1)],
    );
    check(
        "input",
        |space| replace(space, "data.jsonl", "\"q1\"", "\"q one\""),
        &[],
        &[("quality", "sample edited", 1)],
    );
    check(
        "variable",
        |space| {
            let mut rows = rows();
            rows[2]["rubric_vars"] = json!({"tone": "polite"});
            write_rows(space, &rows);
        },
        &[],
        &[("quality", "sample edited", 1)],
    );
    check(
        "own rubric",
        |space| {
            let mut rows = rows();
            rows[2]["rubric"] = json!("Is {submission} short?");
            write_rows(space, &rows);
        },
        &[],
        &[("quality", "sample edited", 1), ("tone", "sample edited", 1)],
    );
    check(
        "output",
        |space| replace(space, "data.jsonl", "answer 1", "another answer"),
        &[],
        &[("quality", "submission changed", 1), ("tone", "submission changed", 1)],
    );
}

#[test]
fn an_edited_grader_has_its_reason() {
    let tone = |reason| [("tone", reason, 4)];
    for (what, from, to, reason) in [
        ("rubric", "kind?'", "nice?'", "rubric edited"),
        ("model", "judge-2", "judge-3", "model changed"),
        ("seed", "judge-2,", "judge-2, seed: 7,", "settings changed"),
        ("scale", "judge-2,", "judge-2, scale: {min: 1, max: 5},", "settings changed"),
        ("body", "judge-2,", "judge-2, extra_body: {top_k: 1},", "settings changed"),
        ("endpoint", "judge-2, endpoint: test", "judge-2, endpoint: other", "other endpoint"),
        ("format", "judge-2,", "judge-2, response_format: text,", "settings changed"),
        ("header", "judge-2,", "judge-2, headers: {x-a: b},", "settings changed"),
        ("panel", "model: judge-2,", "panel: [{model: judge-3}, {model: judge-2}],", "new vote"),
        ("votes", "judge-2,", "judge-2, votes: 2,", "new vote"),
        ("name", "  tone:", "  manners:", ""),
    ] {
        let edit = |space: &Space| replace(space, "suite.yaml", from, to);
        if what == "name" {
            // Another name is no other question.
            let (space, judge) = (space(), judge());
            assert_eq!(asked_by(&space, &judge, &[]), 8);
            edit(&space);
            assert_eq!(planned(&space, &judge, &[])["totals"]["to_ask"], 0);
        } else {
            check(what, edit, &[], &tone(reason));
        }
    }
    let file = |space: &Space| space.write("rubric.txt", "Is {submission} right, {input}?");
    check("rubric file", file, &[], &[("quality", "rubric edited", 4)]);
    let another = "  strict: {kind: rubric, prompt: 'Strictly: {submission}', model: judge-2, endpoint: test, max_retries: 0}\ngate:";
    let (space, judge) = (space(), judge());
    asked_by(&space, &judge, &[]);
    replace(&space, "suite.yaml", "gate:", another);
    let plan = planned(&space, &judge, &[]);
    assert_eq!(plan["graders"]["strict"]["reasons"], json!({"new grader": 4}));
}

#[test]
fn what_is_asked_anew_has_its_reason() {
    check(
        "refresh all",
        |_| (),
        &["--refresh"],
        &[("quality", "refreshed", 4), ("tone", "refreshed", 4)],
    );
    check("refresh one", |_| (), &["--refresh=tone"], &[("tone", "refreshed", 4)]);
    check(
        "one grader",
        |_| (),
        &["--grader", "quality", "--refresh"],
        &[("quality", "refreshed", 4)],
    );
    let lost = |space: &Space| std::fs::remove_dir_all(space.path("cache")).unwrap();
    check("lost", lost, &[], &[("quality", "not stored", 4), ("tone", "not stored", 4)]);
    let broken = |space: &Space| replace(space, "data.jsonl", "answer 3", "answer 3: broken");
    let both = |reason| [("quality", reason, 1), ("tone", reason, 1)];
    let (space, judge) = (space(), judge());
    check_plan(
        "first",
        (&space, &judge),
        &[],
        &[("quality", "first run", 4), ("tone", "first run", 4)],
    );
    broken(&space);
    check_plan("broken", (&space, &judge), &[], &both("submission changed"));
    check_plan("kept", (&space, &judge), &[], &[]);
    for (args, replayed) in [(&[][..], [1, 1, 2]), (&["--retry-errors"], [0, 0, 0])] {
        let plan = planned(&space, &judge, args);
        let lines = [&plan["graders"]["quality"], &plan["graders"]["tone"], &plan["totals"]];
        assert_eq!(lines.map(|line| line["failures"].as_u64()), replayed.map(Some), "{args:?}");
    }
    let told = space.run_with(&judge, &["plan", "suite.yaml"]).stdout();
    assert!(
        told.contains("\n2 stored failures are replayed; --retry-errors asks again\n"),
        "{told}"
    );
    check_plan("retried", (&space, &judge), &["--retry-errors"], &both("failed before"));
    replace(&space, "data.jsonl", "answer 2", "answer 2: busy");
    check_plan("busy", (&space, &judge), &[], &both("submission changed"));
    check_plan("busy again", (&space, &judge), &[], &both("not stored"));
}

#[test]
fn a_narrowed_run_is_no_other_previous_run() {
    let (space, judge) = (space(), judge());
    asked_by(&space, &judge, &[]);
    replace(&space, "suite.yaml", "kind?'", "nice?'");
    space.run_with(&judge, &["run", "suite.yaml", "--sample", "s1", "--grader", "tone"]);
    check_plan("the rest", (&space, &judge), &[], &[("tone", "rubric edited", 3)]);
}

/// Every file below the folder with its bytes, and when it was last written.
fn snapshot(folder: &Path) -> BTreeMap<String, (Vec<u8>, std::time::SystemTime)> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let written = path.metadata().unwrap().modified().unwrap();
        let name = path.to_string_lossy().into_owned();
        if path.is_dir() {
            found.extend(snapshot(&path));
            found.insert(name, (Vec::new(), written));
        } else {
            found.insert(name, (std::fs::read(&path).unwrap(), written));
        }
    }
    found
}

#[test]
fn a_plan_has_no_effect_and_needs_no_key() {
    let (space, judge) = (space(), judge());
    for _ in 0..2 {
        let before = snapshot(&space.path(""));
        for more in [&[][..], &["--json"], &["--refresh"], &["--retry-errors", "--sample", "s1"]] {
            let args = [&["plan", "suite.yaml"], more].concat();
            let ran = space.run_with(&judge, &args);
            assert_eq!((ran.code(), ran.stderr()), (0, String::new()), "{}", ran.shown());
            // Not even the address of a judge is needed.
            assert_eq!(space.run(&args).code(), 0);
        }
        assert_eq!(judge.count(), 0, "no request");
        assert_eq!(snapshot(&space.path("")), before, "nothing on the disk changes");
        if space.names(".evalrs").is_empty() {
            let other = self::judge();
            asked_by(&space, &other, &[]);
        }
    }
}

#[test]
fn damaged_and_foreign_records_are_passed_over() {
    let (space, judge) = (space(), judge());
    asked_by(&space, &judge, &[]);
    space.write(".evalrs/runs/99999999T000000-000000/header.json", "{\"format\": 1, \"sui");
    space.write(
        ".evalrs/runs/99999999T000000-000001/header.json",
        "{\"format\": 9, \"suite\": \"support\"}",
    );
    space.write(".evalrs/runs/notes", "mine");
    let results = space.latest().join("results.jsonl");
    let text = std::fs::read_to_string(&results).unwrap();
    let (first, rest) = text.split_once('\n').unwrap();
    std::fs::write(&results, format!("{{{first}\n\u{0}\n{rest}{{\"format\":1,\"sam")).unwrap();
    replace(&space, "suite.yaml", "kind?'", "nice?'");
    let expected = [("tone", "new sample", 1), ("tone", "rubric edited", 3)];
    check_plan("damaged", (&space, &judge), &[], &expected);
}

fn shown(ran: &Ran) -> String {
    ran.shown()
}

#[test]
fn a_first_plan_reads_well() {
    let (space, judge) = (space(), judge());
    insta::assert_snapshot!(shown(&space.run_with(&judge, &["plan", "suite.yaml"])), @"
    exit: 0
    --- stdout
    plan  support

    grader   actions  cached  to ask  because      tokens in    out  cost
    quality        4       0       4  first run 4        942    600     -
    tone           4       0       4  first run 4        635    600     -
    all            8       0       8  first run 8      1,580  1,200     -

    plan: 8 to ask of 8, about 1,580 tokens in and 1,200 out, cost not known: no price of `judge-1`,
    `judge-2`
    output tokens: 150 a judgment, since none is recorded; input tokens: estimated by a tokenizer
    reasons: there is no record of an earlier run
    --- stderr
    ");
    asked_by(&space, &judge, &[]);
    let ran = space.run_with(&judge, &["plan", "suite.yaml"]);
    assert!(ran.stdout().ends_with("\nplan: nothing to ask of 8\n"), "{}", ran.shown());
}

#[test]
fn a_plan_after_edits_reads_well() {
    let (space, judge) = (space(), judge());
    asked_by(&space, &judge, &[]);
    let prices =
        "[prices.judge-1]\ninput = 0.15\noutput = 0.6\n[prices.judge-2]\ninput = 1\noutput = 2\n";
    space.write("evalrs.toml", prices);
    replace(&space, "data.jsonl", "answer 1", "another answer");
    replace(&space, "suite.yaml", "kind?'", "nice?'");
    insta::assert_snapshot!(shown(&space.run_with(&judge, &["plan", "suite.yaml"])), @"
    exit: 0
    --- stdout
    plan  support

    grader   actions  cached  to ask  because                                tokens in  out        cost
    quality        4       3       1  submission changed 1                          10    2  $0.0000027
    tone           4       0       4  rubric edited 4                              636  600    $0.00184
    all            8       3       5  rubric edited 4, submission changed 1        646  602    $0.00184

    plan: 5 to ask of 8, about 646 tokens in and 602 out, about $0.00184
    output tokens: mean of 3 recorded judgments, and 150 where none is recorded; input tokens: estimated
    by a tokenizer
    prices: evalrs.toml, else list prices of 2026-11-12
    reasons: compared with run RUN
    --- stderr
    ");
    insta::assert_snapshot!(planned(&space, &judge, &[]), @r#"{"suite":"support","graders":{"exact":{"total":0,"cached":0,"failures":0,"to_ask":0,"at_least":false,"reasons":{},"tokens":{"input":0,"output":0},"cost":0.0},"quality":{"total":4,"cached":3,"failures":0,"to_ask":1,"at_least":false,"reasons":{"submission changed":1},"tokens":{"input":10,"output":2},"cost":2.7e-6},"tone":{"total":4,"cached":0,"failures":0,"to_ask":4,"at_least":false,"reasons":{"rubric edited":4},"tokens":{"input":636,"output":600},"cost":0.001836}},"totals":{"total":8,"cached":3,"failures":0,"to_ask":5,"at_least":false,"reasons":{"rubric edited":4,"submission changed":1},"tokens":{"input":646,"output":602},"cost":0.0018387}}"#);
}

#[test]
fn several_suites_are_planned_one_after_another() {
    let (space, judge) = (space(), judge());
    let other =
        "name: other\ndataset: data.jsonl\ngraders: {exact: {kind: tool, function: exact_match}}\n";
    space.write("other.yaml", other);
    let both = ["plan", "suite.yaml", "other.yaml", "--sample", "s1"];
    insta::assert_snapshot!(shown(&space.run_with(&judge, &both)), @"
    exit: 0
    --- stdout
    plan  support

    grader   actions  cached  to ask  because      tokens in  out  cost
    quality        1       0       1  first run 1        220  150     -
    tone           1       0       1  first run 1        156  150     -
    all            2       0       2  first run 2        376  300     -

    plan: 2 to ask of 2, about 376 tokens in and 300 out, cost not known: no price of `judge-1`,
    `judge-2`
    output tokens: 150 a judgment, since none is recorded; input tokens: estimated by a tokenizer
    reasons: there is no record of an earlier run

    plan  other

    plan: nothing to ask: no judge is needed
    --- stderr
    ");
    let ran = space.run_with(&judge, &[&both[..], &["--json"]].concat());
    let plans: Value = serde_json::from_str(&ran.stdout()).unwrap();
    let names: Vec<&Value> = plans.as_array().unwrap().iter().map(|plan| &plan["suite"]).collect();
    assert_eq!(names, ["support", "other"]);
}

#[test]
fn what_cannot_be_planned_is_an_error() {
    let space = space();
    insta::assert_snapshot!(shown(&space.run(&["plan", "suite.yaml", "--refresh=tune"])), @r#"
    exit: 2
    --- stdout
    --- stderr
    error: `--refresh=tune` names no grader
      help: there is `exact`, `quality`, `tone`
    "#);
    insta::assert_snapshot!(shown(&space.run(&["plan", "suite.yaml", "--sample", "s9"])), @"
    exit: 2
    --- stdout
    --- stderr
    error: suite.yaml: no sample has the id `s9`
      help: the ids are `s0`, `s1`, `s2`, `s3`
    ");
    assert_eq!(space.run(&["plan", "none.yaml"]).code(), 2);
}

#[test]
fn a_plan_that_leads_to_more_is_a_lower_bound() {
    if !has("python3") {
        return;
    }
    let extracted = "extractor: 'e.py:part'";
    let suite = format!(
        "name: s\ndataset: data.jsonl\ngraders:\n  judged: {{kind: rubric, prompt: good?, model: judge-1, endpoint: test, {extracted}}}\n  function: {{kind: tool, function: 'e.py:grade', {extracted}}}\n  exact: {{kind: tool, function: exact_match, {extracted}}}\nreward: {{kind: custom, function: 'e.py:compose'}}\n"
    );
    let program = "def part(trajectory, config):\n    return 'a'\n\n\ndef grade(sample, submission):\n    return 1.0\n\n\ndef compose(ctx):\n    return 1.0\n";
    let space = Space::new(&[
        ("suite.yaml", &suite),
        ("data.jsonl", &lines([row(0), row(1)])),
        ("e.py", program),
    ]);
    let judge = Judge::new(|_, _| Answer::score(1.0));
    let told = |plan: &Value| {
        let line = |line: &Value| (line["to_ask"].as_u64().unwrap(), line["at_least"] == true);
        let graders = ["judged", "function", "exact", "reward"];
        (graders.map(|name| line(&plan["graders"][name])), line(&plan["totals"]))
    };
    let before = planned(&space, &judge, &[]);
    assert_eq!(told(&before), ([(2, true), (0, true), (0, false), (0, true)], (2, true)));
    let shown = space.run_with(&judge, &["plan", "suite.yaml"]).stdout();
    assert!(
        shown.contains(
            "plan: at least 2 to run of 2; then `judged` asks up to 2 judgments of judge-1"
        ),
        "{shown}"
    );
    let ran = space.run_with(&judge, &["run", "suite.yaml", "--quiet"]);
    assert_eq!(ran.code(), 0, "{}", ran.shown());
    let after = planned(&space, &judge, &[]);
    assert_eq!(told(&after), ([(0, false); 4], (0, false)));
}

#[test]
fn judgments_that_follow_conversations_are_counted() {
    let suite = "\
name: s
dataset: data.jsonl
target: {kind: command, command: [sh, -c, 'cat >/dev/null; echo hello'], version: '1'}
graders:
  tone: {kind: rubric, prompt: 'Is it polite? {input} {submission}', model: gpt-4o-mini, pass_threshold: 0.5}
  own: {kind: rubric, prompt: x, model: judge-1, votes: 2, only: 'id == \"s1\"'}
  right: {kind: tool, function: contains, config: {value: hello}}
";
    let rows = (0..3).map(|id| json!({"id": format!("s{id}"), "input": format!("q{id}")}));
    let space = Space::new(&[("suite.yaml", suite), ("data.jsonl", &lines(rows))]);
    let judge = Judge::new(|_, _| Answer::score(1.0));
    insta::assert_snapshot!(shown(&space.run_with(&judge, &["plan", "suite.yaml"])), @"
    exit: 0
    --- stdout
    plan  s

    grader  actions  cached  to ask  because  tokens in  out  cost
    tone          0       0     ≥ 0
    own           0       0     ≥ 0
    all           0       0     ≥ 0

    target: 3 to run of 3 conversations; what they cost is not known: none is stored
    plan: 3 conversations; then `tone` asks up to 3 judgments of gpt-4o-mini, `own` asks up to 2
    judgments of judge-1, cost not known: no price of `judge-1`
    output tokens: 150 a judgment, since none is recorded; input tokens: estimated by a tokenizer
    what follows: a submission is taken to have 500 tokens
    at least: what rests on extracted submissions, on grades or on first verdicts is known once those
    are there
    --- stderr
    ");
    let tone = ["plan", "suite.yaml", "--grader", "tone"];
    insta::assert_snapshot!(shown(&space.run_with(&judge, &tone)), @"
    exit: 0
    --- stdout
    plan  s

    grader  actions  cached  to ask  because  tokens in  out  cost
    tone          0       0     ≥ 0

    target: 3 to run of 3 conversations; what they cost is not known: none is stored
    plan: 3 conversations; then `tone` asks up to 3 judgments of gpt-4o-mini, at most about $0.000581
    output tokens: 150 a judgment, since none is recorded; input tokens: estimated by a tokenizer
    what follows: a submission is taken to have 500 tokens
    prices: evalrs.toml, else list prices of 2026-11-12
    at least: what rests on extracted submissions, on grades or on first verdicts is known once those
    are there
    --- stderr
    ");
    let plan = planned(&space, &judge, &[]);
    assert_eq!(plan["graders"]["tone"]["following"]["at_most"], 3);
    assert_eq!(plan["graders"]["tone"]["following"]["models"], json!(["gpt-4o-mini"]));
    let price = |line: &Value| line["following"]["cost"].as_f64();
    assert!(price(&plan["graders"]["tone"]).unwrap() > 0.0, "{plan}");
    assert_eq!(price(&plan["totals"]), None, "no price of one of the models: {plan}");
    assert_eq!(
        (&plan["graders"]["tone"]["cost"], &plan["graders"]["right"]["cost"]),
        (&Value::Null, &json!(0.0))
    );
    let ran = space.run_with(&judge, &["run", "suite.yaml", "--quiet"]);
    assert_eq!((ran.code(), judge.count()), (0, 5), "{}", ran.shown());
    assert_eq!(planned(&space, &judge, &[])["totals"]["following"], Value::Null);
}

#[test]
fn a_frozen_miss_is_no_base() {
    let (space, judge) = (space(), judge());
    assert_eq!(asked_by(&space, &judge, &[]), 8);
    space.write("rubric.txt", "{input}: is {submission} rude?\n");
    let frozen = space.run_with(&judge, &["run", "suite.yaml", "--frozen", "--format", "github"]);
    let annotation = "::error file=rubric.txt,title=4 grades%3A could not be made::not_stored";
    assert!(frozen.stdout().contains(annotation), "{}", frozen.shown());
    check_plan("a frozen miss", (&space, &judge), &[], &[("quality", "rubric edited", 4)]);
    let diff = space.run_with(&judge, &["diff"]).stdout();
    assert!(!diff.contains("not every grade is known"), "{diff}");
}
