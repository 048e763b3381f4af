//! Warnings about rubrics: what a save looks at again. `tests/spec/rubric_lints.md` has the others.

use evalrs_base::diagnostic::Diagnostic;
use evalrs_engine::session::reload::ReloadResult;
use serde_json::json;

use crate::incremental::Loop;
use crate::space::lines;

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
    let ReloadResult::Changed { warnings, .. } = reloaded else { panic!("{reloaded:?}") };
    assert_eq!(
        warnings.iter().map(Diagnostic::brief).collect::<Vec<_>>(),
        [
            "a.txt:1:36: the rubric of `a` has scores from 1 to 10, but the judge is instructed to score from 0 to 1 (range-not-scale)"
        ]
    );

    session.set("d.jsonl", &rows("z"));
    let (_, edited) = session.reload(&["d.jsonl"]);
    assert_eq!(edited.ran("rubric_lints"), 0, "{:?}", edited.ran);

    session.set("suite.yaml", &format!("{suite}gate: {{metric_key: a, op: gte, value: 0.5}}\n"));
    let (_, edited) = session.reload(&["suite.yaml"]);
    assert_eq!(edited.ran("rubric_lints"), 0, "{:?}", edited.ran);
}
