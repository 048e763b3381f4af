//! Warnings about rubrics: where they are shown, how they are silenced, and what a save looks at again.

use evalrs_base::diagnostic::Diagnostic;
use evalrs_engine::session::reload::Reloaded;
use serde_json::{Value, json};

use crate::incremental::Loop;
use crate::judge::{Answer, Judge};
use crate::space::{Space, lines};

const SUITE: &str = "\
name: lints
dataset: data.jsonl
graders:
  quality:
    kind: rubric
    prompt_path: rubric.txt
    model: gpt-4o-mini
    pass_threshold: 0.5
  brief:
    kind: rubric
    prompt: |
      Is {submission} as brief as the reference answer?
      Rate it from 1 to 5.
    model: judge-1
    scale: {min: 1, max: 5}
    pass_threshold: 0
gate: {metric_key: quality, metric: avg_score, op: gte, value: 4}
";

const RUBRIC: &str = "\
Question: {question}

Answer: {submission}

Does {{submission}} answer it? Give a score from 1 to 10.
";

fn rows() -> String {
    let row = |id, model| json!({"id": id, "input": "Why?", "ground_truth": "So.", "output": "Because.", "model": model});
    lines([row("a", "gpt-4"), row("a", "claude-3")])
}

fn space(suite: &str, rubric: &str) -> Space {
    Space::new(&[("suite.yaml", suite), ("rubric.txt", rubric), ("data.jsonl", &rows())])
}

#[test]
fn validate_says_what_is_probably_not_meant_and_where() {
    let ran = space(SUITE, RUBRIC).run(&["validate", "suite.yaml"]);
    assert_eq!(ran.code(), 2);
    insta::assert_snapshot!(ran.stderr(), @r#"
    warning[threshold-out-of-reach]: scores lie between 0 and 1: none meets this gate
      --> suite.yaml:17:64
       |
    17 | gate: {metric_key: quality, metric: avg_score, op: gte, value: 4}
       |                                                                ^
       |
       = help: scores of other scales are mapped to 0 to 1: 4 on a scale of 1 to 5 is 0.75

    error[unknown-placeholder]: the rubric of `quality` names `{question}`, which stands for nothing in any row
     --> rubric.txt:1:11
      |
    1 | Question: {question}
      |           ^^^^^^^^^^
      |
      = help: did you mean `{input}`? (braces that are meant: `allow_unknown: true`)

    warning[doubled-braces]: in the rubric of `quality`, `{{submission}}` stands in two pairs of braces: the judge is sent one
     --> rubric.txt:5:6
      |
    5 | Does {{submission}} answer it? Give a score from 1 to 10.
      |      ^^^^^^^^^^^^^^
      |
      = help: write `{submission}`

    warning[sent-twice]: the judge of `quality` is sent `{submission}` twice: the rubric names it twice
     --> rubric.txt:5:7
      |
    5 | Does {{submission}} answer it? Give a score from 1 to 10.
      |       ^^^^^^^^^^^^
      |
      = help: name it once, and speak of it in words elsewhere: "the submission"

    warning[range-not-scale]: the rubric of `quality` says 1 to 10, and the judge is told to score from 0 to 1
     --> rubric.txt:5:50
      |
    5 | Does {{submission}} answer it? Give a score from 1 to 10.
      |                                                  ^^^^^^^
      |
      = help: write `scale: {min: 1, max: 10}` beside the rubric, or 0 to 1 in it

    warning[same-family]: `gpt-4o-mini` judges answers of `gpt-4`, of its own family: judges favour those
     --> suite.yaml:7:12
      |
    7 |     model: gpt-4o-mini
      |            ^^^^^^^^^^^
      |
      = help: ask a judge of another family, or a `panel` of several, and compare it with people by `labels`

    warning[reference-not-shown]: the rubric of `brief` speaks of a reference answer, and the judge is not shown that of the row
      --> suite.yaml:12:39
       |
    12 |       Is {submission} as brief as the reference answer?
       |                                       ^^^^^^^^^^^^^^^^
       |
       = help: write `{ground_truth}` where it belongs

    warning[threshold-always-met]: every answer passes `brief`: no score is below 0
      --> suite.yaml:16:21
       |
    16 |     pass_threshold: 0
       |                     ^
       |
       = help: write the least score that is good enough, from 0 to 1

    1 error
    "#);
}

#[test]
fn a_rubric_that_names_what_no_row_has_is_not_paid_for() {
    let judge = Judge::new(|_, _| Answer::score(1.0));
    let suite = |more: &str| {
        format!(
            "name: t\ndataset: data.jsonl\ngraders:\n  right: {{kind: rubric, prompt: 'Is {{output}} right?', model: judge-1, endpoint: test{more}}}\n"
        )
    };
    let row = "{\"id\": \"a\", \"input\": \"q\", \"output\": \"o\"}\n";
    let space = Space::new(&[("suite.yaml", &suite("")), ("data.jsonl", row)]);
    let ran = space.run_with(&judge, &["run", "suite.yaml"]);
    insta::assert_snapshot!(ran.shown(), @"
    exit: 2
    --- stdout
    --- stderr
    error[unknown-placeholder]: the rubric of `right` names `{output}`, which stands for nothing in any row
     --> suite.yaml:4:37
      |
    4 |   right: {kind: rubric, prompt: 'Is {output} right?', model: judge-1, endpoint: test}
      |                                     ^^^^^^^^
      |
      = help: did you mean `{submission}`? The field of the rows is `{row.output}` (braces that are meant: `allow_unknown: true`)
    ");
    assert_eq!(judge.asked().len(), 0);
    space.write("suite.yaml", suite(", allow_unknown: true"));
    assert_eq!(space.run_with(&judge, &["run", "suite.yaml"]).code(), 0);
    assert!(judge.asked()[0].prompt().contains("Is {output} right?"));
}

#[test]
fn warnings_have_names_in_json_and_are_shown_by_plan_and_run() {
    let space = space(SUITE, RUBRIC);
    let ran = space.run(&["validate", "suite.yaml", "--json"]);
    let said: Value = serde_json::from_str(&ran.stdout()).unwrap();
    let diagnostics = said["diagnostics"].as_array().unwrap();
    let names: Vec<&str> =
        diagnostics.iter().map(|found| found["lint"].as_str().unwrap()).collect();
    let expected = [
        "threshold-out-of-reach",
        "unknown-placeholder",
        "doubled-braces",
        "sent-twice",
        "range-not-scale",
        "same-family",
        "reference-not-shown",
        "threshold-always-met",
    ];
    assert_eq!(names, expected);
    for args in [&["plan", "suite.yaml"][..], &["run", "suite.yaml", "--offline"]] {
        let said = space.run(args).stderr();
        for name in expected {
            let level = if name == "unknown-placeholder" { "error" } else { "warning" };
            assert!(said.contains(&format!("{level}[{name}]")), "{args:?} {name}: {said}");
        }
    }
}

#[test]
fn warnings_are_silenced_by_name_for_a_rubric_or_a_suite() {
    let of_rubric = RUBRIC.replacen(
        "Question",
        "---\nallow: [range-not-scale, doubled-braces]\n---\nQuestion",
        1,
    );
    let suite = SUITE.replace(
        "dataset:",
        "allow: [threshold-out-of-reach, same-family, threshold-always-met]\ndataset:",
    );
    let suite =
        suite.replace("    model: judge-1", "    allow: reference-not-shown\n    model: judge-1");
    let ran = space(&suite, &of_rubric).run(&["validate", "suite.yaml", "--json"]);
    let said: Value = serde_json::from_str(&ran.stdout()).unwrap();
    let diagnostics = said["diagnostics"].as_array().unwrap();
    let names: Vec<&str> =
        diagnostics.iter().map(|found| found["lint"].as_str().unwrap()).collect();
    assert_eq!(names, ["unknown-placeholder", "sent-twice"], "{}", ran.stderr());

    let suite = SUITE.replace("dataset:", "allow: [same-famly, nothing]\ndataset:");
    let ran = space(&suite, RUBRIC).run(&["validate", "suite.yaml"]);
    assert_eq!(ran.code(), 2);
    insta::assert_snapshot!(ran.stderr().split("\n\n").take(2).collect::<Vec<_>>().join("\n\n"), @"
    error: no warning is called `same-famly`
     --> suite.yaml:2:9
      |
    2 | allow: [same-famly, nothing]
      |         ^^^^^^^^^^
      |
      = help: did you mean `same-family`?

    error: no warning is called `nothing`
     --> suite.yaml:2:21
      |
    2 | allow: [same-famly, nothing]
      |                     ^^^^^^^
      |
      = help: there are `range-not-scale`, `unknown-placeholder`, `doubled-braces`, `reference-not-shown`, `sent-twice`, `threshold-out-of-reach`, `threshold-always-met`, `same-family`, `unfenced`, `shared-conversation`
    ");
}

#[test]
fn a_save_looks_again_at_the_rubric_that_it_changed_alone() {
    let suite = "name: s\ndataset: d.jsonl\ngraders:\n  a: {kind: rubric, prompt_path: a.txt, pass_threshold: 0.5}\n  b: {kind: rubric, prompt_path: b.txt, pass_threshold: 0.5}\n";
    let row = |id: &str, output: &str| json!({"id": id, "input": "q", "output": output, "ground_truth": "t"});
    let rows = |output: &str| lines([row("1", "x"), row("2", output)]);
    let files = [
        ("suite.yaml", suite),
        ("d.jsonl", &rows("y")),
        ("a.txt", "Is {submission} kind?"),
        ("b.txt", "Is {submission} brief?"),
    ];
    let mut session = Loop::over(&files, evalrs_graph::inputs::Overrides::default());
    let first = session.evaluate();
    assert_eq!(first.ran("rubric_lints"), 2, "{:?}", first.ran);

    session.set("a.txt", "Is {submission} kind? Rate it from 1 to 10.");
    let (reloaded, edited) = session.reload(&["a.txt"]);
    assert_eq!((edited.ran("rubric_lints"), edited.ran("row_facts")), (1, 1), "{:?}", edited.ran);
    let Reloaded::Changed { warnings, .. } = reloaded else { panic!("{reloaded:?}") };
    assert_eq!(
        warnings.iter().map(Diagnostic::brief).collect::<Vec<_>>(),
        [
            "a.txt:1:36: the rubric of `a` says 1 to 10, and the judge is told to score from 0 to 1 (range-not-scale)"
        ]
    );

    session.set("d.jsonl", &rows("z"));
    let (_, edited) = session.reload(&["d.jsonl"]);
    assert_eq!(edited.ran("rubric_lints"), 0, "{:?}", edited.ran);

    session.set("suite.yaml", &format!("{suite}gate: {{metric_key: a, op: gte, value: 0.5}}\n"));
    let (_, edited) = session.reload(&["suite.yaml"]);
    assert_eq!(edited.ran("rubric_lints"), 0, "{:?}", edited.ran);
}
