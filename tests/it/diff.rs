//! `evalrs diff`: what moved between two recorded runs, or two saves of a session.

use serde_json::{Value, json};

use crate::judge::{Answer, Judge};
use crate::space::{Ran, Space, lines};

const SUITE: &str = "\
name: support
dataset: data.jsonl
graders:
  exact: {kind: tool, function: exact_match}
  quality: {kind: rubric, prompt_path: rubric.txt, model: judge-1, endpoint: test, max_retries: 0, pass_threshold: 0.7}
gate: {metric_key: exact, metric: avg_score, op: gte, value: 0.5}
";

const RUBRIC: &str = "Is the reply polite, short and correct? {submission}\n";

fn rows(outputs: [&str; 4]) -> String {
    let row = |(id, output)| json!({"id": id, "input": "May I return it?", "ground_truth": "yes", "output": output});
    lines(["a", "b", "c", "d"].into_iter().zip(outputs).map(row))
}

/// What is shown, without times.
fn shown(ran: &Ran) -> String {
    let time = regex::Regex::new(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ").unwrap();
    time.replace_all(&ran.shown(), "TIME").into_owned()
}

/// Scores replies by what the rubric says of them.
fn judge() -> Judge {
    Judge::new(|_, asked| {
        let prompt = asked.prompt();
        let (score, why) = match (prompt.contains("friendly"), prompt.contains("thanks")) {
            (false, _) => (0.9, "The reply is short and correct."),
            (true, true) => (0.95, "The reply is short, correct and friendly."),
            (true, false) => (0.5, "The reply is correct but cold."),
        };
        Answer::text(&json!({"score": score, "rationale": why}).to_string())
    })
}

fn evaluate(space: &Space, judge: &Judge) {
    let ran = space.run_with(judge, &["run", "suite.yaml", "--quiet"]);
    assert!(ran.code() < 2, "{}", ran.shown());
}

fn ids(space: &Space) -> Vec<String> {
    space.names(".evalrs/runs")
}

/// A suite that was run, edited in its rubric, a threshold and its data, and run again.
fn edited() -> Space {
    let first = rows(["yes", "yes", "no", "yes, thanks"]);
    let space =
        Space::new(&[("suite.yaml", SUITE), ("data.jsonl", &first), ("rubric.txt", RUBRIC)]);
    let judge = judge();
    evaluate(&space, &judge);
    space.write("rubric.txt", RUBRIC.replace("polite", "polite, friendly"));
    space.write("suite.yaml", SUITE.replace("0.7}", "0.8}"));
    space.write("data.jsonl", rows(["yes", "no", "yes", "yes, thanks"]).replace("\"d\"", "\"e\""));
    evaluate(&space, &judge);
    space
}

#[test]
fn what_an_edit_moved() {
    let space = edited();
    let runs = ids(&space);
    insta::assert_snapshot!(shown(&space.run(&["diff", &runs[0], "latest"])), @r"
    exit: 0
    --- stdout
    diff  support

    old  RUN  TIME  passed; exact avg_score >= 0.5: 0.500
    new  RUN  TIME  passed; exact avg_score >= 0.5: 0.500

    quality.pass_threshold  0.7 → 0.8
    quality.prompt
      Is the reply polite, {+friendly, +}short and correct? {submission}
    files that differ: data.jsonl, rubric.txt, suite.yaml

    score    n      old → new  difference ± stderr     95 % interval  detects
    exact    3  0.667 → 0.667        0.000 ± 0.577  -0.519 to +0.530        -
    quality  3  0.900 → 0.500       -0.400 ± 0.000  -0.825 to +0.591        -
    95 % intervals: Clopper-Pearson and Bayesian

    passes       old → new  fixed  broken      p
    exact    66.7% → 66.7%      1       1  1.000
    quality  100.0% → 0.0%      0       3  0.250

    only in the old: 1 result: d
    only in the new: 1 result: e

    5 verdicts moved: 4 broken, 1 fixed
    broken    b  exact  1.000 → 0.000
      Exact match: [-True-]{+False+}
    broken    a  quality  0.900 → 0.500
      The reply is [-short and correct-]{+correct but cold+}.
    broken    b  quality  0.900 → 0.500
      The reply is [-short and correct-]{+correct but cold+}.
    broken    c  quality  0.900 → 0.500
      The reply is [-short and correct-]{+correct but cold+}.
    fixed     c  exact  0.000 → 1.000
      Exact match: [-False-]{+True+}
    --- stderr
    ");
}

#[test]
fn one_grader_and_few_verdicts_are_enough() {
    let space = edited();
    let runs = ids(&space);
    let ran = space.run(&["diff", &runs[0], "latest", "--grader", "exact", "--moved", "1"]);
    insta::assert_snapshot!(shown(&ran), @r"
    exit: 0
    --- stdout
    diff  support

    old  RUN  TIME  passed; exact avg_score >= 0.5: 0.500
    new  RUN  TIME  passed; exact avg_score >= 0.5: 0.500

    files that differ: data.jsonl, rubric.txt, suite.yaml

    score  n      old → new  difference ± stderr     95 % interval  detects
    exact  3  0.667 → 0.667        0.000 ± 0.577  -0.519 to +0.530        -
    95 % intervals: Bayesian

    passes      old → new  fixed  broken      p
    exact   66.7% → 66.7%      1       1  1.000

    only in the old: 1 result: d
    only in the new: 1 result: e

    2 verdicts moved: 1 broken, 1 fixed
    broken    b  exact  1.000 → 0.000
      Exact match: [-True-]{+False+}
    1 more: --moved 2, or --json
    --- stderr
    ");
}

#[test]
fn a_comment_says_the_same() {
    let space = edited();
    let runs = ids(&space);
    let ran = space.run(&["diff", &runs[0], "latest", "--format", "markdown"]);
    insta::assert_snapshot!(shown(&ran), @r"
    exit: 0
    --- stdout
    ### `support`: 5 verdicts moved: 4 broken, 1 fixed

    - old: `RUN`, passed: `exact avg_score >= 0.5: 0.500`
    - new: `RUN`, passed: `exact avg_score >= 0.5: 0.500`

    | grader | n | score | difference ± stderr | 95 % interval | detects | passes | fixed | broken | p |
    |:--|--:|--:|--:|--:|--:|--:|--:|--:|--:|
    | `exact` | 3 | 0.667 → 0.667 | 0.000 ± 0.577 | -0.519 to +0.530 | - | 66.7% → 66.7% | 1 | 1 | 1.000 |
    | `quality` | 3 | 0.900 → 0.500 | -0.400 ± 0.000 | -0.825 to +0.591 | - | 100.0% → 0.0% | 0 | 3 | 0.250 |

    95 % intervals: Clopper-Pearson and Bayesian

    - `quality.pass_threshold`: `0.7` → `0.8`
    - `quality.prompt`: `Is the reply polite, {+friendly, +}short and correct? {submission}`

    `files that differ: data.jsonl, rubric.txt, suite.yaml`

    `only in the old: 1 result: d`

    `only in the new: 1 result: e`

    <details><summary>5 verdicts moved: 4 broken, 1 fixed</summary>

    - broken `b` `exact` 1.000 → 0.000
      - `Exact match: [-True-]{+False+}`
    - broken `a` `quality` 0.900 → 0.500
      - `The reply is [-short and correct-]{+correct but cold+}.`
    - broken `b` `quality` 0.900 → 0.500
      - `The reply is [-short and correct-]{+correct but cold+}.`
    - broken `c` `quality` 0.900 → 0.500
      - `The reply is [-short and correct-]{+correct but cold+}.`
    - fixed `c` `exact` 0.000 → 1.000
      - `Exact match: [-False-]{+True+}`

    </details>
    --- stderr
    ");
}

#[test]
fn machines_read_the_same() {
    let space = edited();
    let runs = ids(&space);
    let ran = space.run(&["diff", &runs[0], &runs[1], "--json"]);
    assert_eq!((ran.code(), ran.stderr()), (0, String::new()));
    let diff: Value = serde_json::from_str(&ran.stdout()).unwrap();
    assert_eq!((&diff["before"]["run"], &diff["now"]["run"]), (&json!(runs[0]), &json!(runs[1])));
    let quality = &diff["graders"]["quality"];
    assert_eq!((&quality["paired"]["n"], &quality["paired"]["broken"]), (&json!(3), &json!(3)));
    assert_eq!(quality["counts"]["broken"], 3);
    let moved = diff["moved"].as_array().unwrap();
    assert_eq!(moved.len(), 5);
    let of_quality = moved.iter().find(|moved| moved["grader"] == "quality").unwrap();
    assert_eq!(of_quality["movement"], "broken");
    assert_eq!(of_quality["before"]["rationale"], "The reply is short and correct.");
    assert_eq!(of_quality["now"]["rationale"], "The reply is correct but cold.");
    assert_ne!(of_quality["before"]["key"], of_quality["now"]["key"]);
    let same = space.run(&["diff", &runs[0], &runs[1], "--format", "json"]);
    assert_eq!(same.stdout(), ran.stdout());
}

#[test]
fn a_run_does_not_differ_from_itself() {
    let space = edited();
    insta::assert_snapshot!(shown(&space.run(&["diff", "latest", "latest"])), @r"
    exit: 0
    --- stdout
    diff  support

    old  RUN  TIME  passed; exact avg_score >= 0.5: 0.500
    new  RUN  TIME  passed; exact avg_score >= 0.5: 0.500

    score    n      old → new  difference ± stderr     95 % interval  detects
    exact    4  0.500 → 0.500        0.000 ± 0.000  -0.355 to +0.355        -
    quality  4  0.613 → 0.613        0.000 ± 0.000  -0.602 to +0.602        -
    95 % intervals: Clopper-Pearson and Bayesian

    passes       old → new  fixed  broken  p
    exact    50.0% → 50.0%      0       0  -
    quality  25.0% → 25.0%      0       0  -

    no verdict moved
    --- stderr
    ");
}

#[test]
fn records_are_found_beside_a_suite_and_in_folders() {
    let space = edited();
    let runs = ids(&space);
    let folder = format!(".evalrs/runs/{}/", runs[0]);
    let expected = space.run(&["diff", &runs[0], "latest", "--json"]).stdout();
    let ran = space.run(&["diff", &folder, "latest", "--json"]).stdout();
    assert_eq!(ran.replace(folder.trim_end_matches('/'), &runs[0]), expected);
    std::fs::create_dir(space.path("elsewhere")).unwrap();
    let mut command =
        space.command(&["diff", &runs[0], "latest", "--suite", "../suite.yaml", "--json"]);
    let ran = Ran(command.current_dir(space.path("elsewhere")).output().unwrap());
    assert_eq!(ran.stdout(), expected);
}

fn record(space: &Space, id: &str, header: &Value, results: &[String]) {
    space.write(&format!(".evalrs/runs/{id}/header.json"), header.to_string());
    space.write(&format!(".evalrs/runs/{id}/results.jsonl"), results.join("\n"));
}

fn header(suite: &str, grader: &str) -> Value {
    json!({"format": 1, "suite": suite, "settings": {"graders": [{"name": grader}]}})
}

fn line(sample: &str, grader: &str, score: f64) -> String {
    let grade = json!({"score": score, "pass": score >= 1.0, "rationale": "r", "error": null});
    json!({"format": 1, "sample_id": sample, "grades": {grader: grade}}).to_string()
}

#[test]
fn what_is_not_alike_is_not_compared() {
    let space = Space::new(&[]);
    record(&space, "2026-a", &header("support", "g"), &[line("a", "g", 1.0)]);
    record(&space, "2026-b", &header("billing", "k"), &[line("b", "k", 1.0)]);
    record(&space, "2026-c", &header("support", "g"), &[line("a", "g", 0.0)]);
    let cases: [&[&str]; 7] = [
        &["2026-a", "2026-b"],
        &["2026-a", "2026-b", "--force"],
        &["2026-a", "2026-c", "--grader", "accuracy"],
        &["2026", "2026-a"],
        &["nowhere", "2026-a"],
        &["2026-c"],
        &["2026-a@1", "2026-c"],
    ];
    let ran: Vec<String> = cases
        .iter()
        .map(|args| {
            let ran = space.run(&[&["diff"], *args].concat());
            assert_eq!(ran.code(), if args.contains(&"--force") { 0 } else { 2 });
            format!("$ evalrs diff {}\n{}{}", args.join(" "), ran.stdout(), ran.stderr())
        })
        .collect();
    insta::assert_snapshot!(ran.join("\n"), @r#"
    $ evalrs diff 2026-a 2026-b
    error: the two are not alike: the suites are `support` and `billing`; no grader is in both: `g` against `k`; no sample, model and trial is in both
      help: `--force` compares them all the same

    $ evalrs diff 2026-a 2026-b --force
    diff  support and billing

    old  2026-a  -  no gate
    new  2026-b  -  no gate

    only in the old: 1 grader: g
    only in the new: 1 grader: k
    only in the old: 1 result: a
    only in the new: 1 result: b

    no verdict moved

    $ evalrs diff 2026-a 2026-c --grader accuracy
    error: `--grader accuracy` names no grader of the two
      help: there is `g`

    $ evalrs diff 2026 2026-a
    error: `2026` is the beginning of 3 runs
      help: there is `2026-a`, `2026-b`, `2026-c`

    $ evalrs diff nowhere 2026-a
    error: there is no record of a run at `nowhere`
      help: name a run of `.evalrs/runs`, `latest`, or the folder of a record; `--suite SUITE` looks beside a suite

    $ evalrs diff 2026-c
    error: nothing to compare `2026-c` with
      help: name two runs, as in `evalrs diff latest~1 latest`; `evalrs diff` alone compares the last two runs of a suite

    $ evalrs diff 2026-a@1 2026-c
    error: `2026-a` is not a session of `watch`: it has no saves
      help: name it without `@`
    "#);
}

#[test]
fn a_broken_record_is_read_as_far_as_it_goes() {
    let space = Space::new(&[]);
    let scores = [("a", 1.0), ("b", 0.0), ("c", 1.0)];
    let whole: Vec<String> = scores.iter().map(|(id, score)| line(id, "g", *score)).collect();
    let broken = [
        line("a", "g", 0.0),
        "{\"format\":1,\"sam".to_owned(),
        line("b", "g", 0.0),
        line("b", "g", 1.0),
    ];
    record(&space, "1", &header("support", "g"), &whole);
    record(&space, "2", &header("support", "g"), &broken);
    insta::assert_snapshot!(shown(&space.run(&["diff", "1", "2"])), @r"
    exit: 0
    --- stdout
    diff  support

    old  1  -  no gate
    new  2  -  no gate

    score  n      old → new  difference ± stderr     95 % interval  detects
    g      2  0.500 → 0.000       -0.500 ± 0.500  -0.651 to +0.365        -
    95 % intervals: Bayesian

    passes     old → new  fixed  broken      p
    g       50.0% → 0.0%      0       1  1.000

    only in the old: 1 result: c

    1 verdict moved: 1 broken
    broken    a  g  1.000 → 0.000
    --- stderr
    warning: 2: 1 line of results.jsonl cannot be read
    warning: 2: 1 line of results.jsonl left out: the result was there before
    ");
}

/// A save of a session: sample, score and key of each verdict that moved.
fn save(number: u32, verdicts: &[(&str, f64, u8)]) -> Value {
    let verdict = |(sample, score, digit): &(&str, f64, u8)| {
        let now = json!({"score": score, "pass": score >= &0.5, "error": false, "key": format!("{digit:064x}")});
        json!({"sample_id": sample, "model": null, "trial": 0, "grader": "g", "before": null, "now": now})
    };
    json!({"format": 1, "save": number, "at": "2026-01-01T00:00:00Z", "files": ["rubric.txt"],
        "rubrics": {"g": number.to_string().repeat(64)}, "complete": true,
        "verdicts": verdicts.iter().map(verdict).collect::<Vec<Value>>()})
}

/// A session of three evaluations, the last line of whose history is torn.
fn session() -> Space {
    let space = Space::new(&[]);
    let key = |digit: u8| json!(format!("{digit:064x}"));
    let last = |sample: &str, score: f64, digit: u8| {
        let mut line: Value = serde_json::from_str(&line(sample, "g", score)).unwrap();
        line["grades"]["g"]["key"] = key(digit);
        line["grades"]["g"]["rationale"] = json!(format!("because of {digit}"));
        line.to_string()
    };
    record(&space, "session", &header("support", "g"), &[last("a", 0.75, 3), last("b", 0.0, 4)]);
    let saves = [
        save(0, &[("a", 0.25, 1), ("b", 1.0, 2)]),
        save(1, &[("a", 0.75, 3)]),
        save(2, &[("b", 0.0, 4)]),
    ];
    space.write(".evalrs/runs/session/saves.jsonl", lines(saves) + "{\"format\":1,\"sa");
    space
}

#[test]
fn the_last_two_saves_are_what_a_session_is_about() {
    let space = session();
    insta::assert_snapshot!(shown(&space.run(&["diff", "session"])), @r"
    exit: 0
    --- stdout
    diff  support

    old  session@1  TIME  no gate; after an edit of rubric.txt
    new  session@2  TIME  no gate; after an edit of rubric.txt

    g.rubric.blake3  111111111111 → 222222222222

    score  n      old → new  difference ± stderr     95 % interval  detects
    g      2  0.875 → 0.375       -0.500 ± 0.500  -1.000 to +1.000        -
    95 % intervals: Student t

    passes       old → new  fixed  broken      p
    g       100.0% → 50.0%      0       1  1.000

    1 verdict moved: 1 broken
    broken    b  g  1.000 → 0.000
      new: because of 4
    --- stderr
    ");
}

#[test]
fn any_two_saves_are_compared_alike() {
    let space = session();
    let cases: [&[&str]; 5] = [
        &["session@start", "session@1"],
        &["session@start", "session@-1"],
        &["session@0", "session"],
        &["session@0", "session@3"],
        &["session@0"],
    ];
    let tail = |args: &&[&str]| {
        let ran = space.run(&[&["diff"], *args].concat());
        let text = ran.stdout() + &ran.stderr();
        let at = text.find("score ").or(text.find("error")).unwrap_or(0);
        format!("$ evalrs diff {}\n{}", args.join(" "), &text[at..])
    };
    insta::assert_snapshot!(cases.iter().map(tail).collect::<Vec<_>>().join("\n"), @r"
    $ evalrs diff session@start session@1
    score  n      old → new  difference ± stderr     95 % interval  detects
    g      2  0.625 → 0.875       +0.250 ± 0.250  -1.000 to +1.000        -
    95 % intervals: Student t

    passes       old → new  fixed  broken      p
    g       50.0% → 100.0%      1       0  1.000

    1 verdict moved: 1 fixed
    fixed     a  g  0.250 → 0.750
      new: because of 3

    $ evalrs diff session@start session@-1
    score  n      old → new  difference ± stderr     95 % interval  detects
    g      2  0.625 → 0.375       -0.250 ± 0.750  -1.000 to +1.000        -
    95 % intervals: Student t

    passes      old → new  fixed  broken      p
    g       50.0% → 50.0%      1       1  1.000

    2 verdicts moved: 1 broken, 1 fixed
    broken    b  g  1.000 → 0.000
      new: because of 4
    fixed     a  g  0.250 → 0.750
      new: because of 3

    $ evalrs diff session@0 session
    score  n      old → new  difference ± stderr     95 % interval  detects
    g      2  0.625 → 0.375       -0.250 ± 0.750  -1.000 to +1.000        -
    95 % intervals: Student t

    passes     old → new  fixed  broken      p
    g       50.0% → 0.0%      0       1  1.000

    2 verdicts moved: 1 broken, 1 raised
    broken    b  g  1.000 → 0.000
      new: because of 4
    raised    a  g  0.250 → 0.750
      new: because of 3

    $ evalrs diff session@0 session@3
    error: the session `session` has no such save
      help: there are 0 to 2; -1 is the last

    $ evalrs diff session@0
    error: nothing to compare `session@0` with
      help: name two runs, as in `evalrs diff latest~1 latest`; `evalrs diff` alone compares the last two runs of a suite
    ");
}

#[test]
fn without_names_the_last_two_runs_are_compared() {
    let judge = judge();
    let space = edited();
    let said = |args: &[&str]| shown(&space.run(&[&["diff"], args].concat()));
    assert_eq!(said(&[]), said(&["latest~1", "latest"]));
    assert_eq!(said(&["latest~1"]), said(&["latest~1", "latest"]));
    assert!(
        said(&["latest"]).contains("nothing to compare `latest` with"),
        "{}",
        said(&["latest"])
    );
    assert!(said(&["latest~9"]).contains("there is no record"), "{}", said(&["latest~9"]));
    drop(judge);
}

#[test]
fn runs_are_found_below_the_working_directory() {
    let space = Space::new(&[
        (
            "a/b/suite.yaml",
            "name: s\ndataset: d.jsonl\ngraders: {g: {kind: tool, function: contains}}\n",
        ),
        (
            "a/b/d.jsonl",
            "{\"id\": \"1\", \"input\": \"q\", \"output\": \"x\", \"ground_truth\": \"x\"}\n",
        ),
    ]);
    for _ in 0..2 {
        assert_eq!(space.run(&["run", "a/b/suite.yaml"]).code(), 0);
    }
    assert_eq!(space.run(&["diff"]).code(), 0, "{}", space.run(&["diff"]).shown());
    space.write("c/.evalrs/runs/x/header.json", "{}");
    let ran = space.run(&["diff"]);
    assert!(ran.stderr().contains("2 folders hold records of runs"), "{}", ran.shown());
}
