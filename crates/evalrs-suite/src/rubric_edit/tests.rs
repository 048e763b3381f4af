//! Rubrics of suites in memory: read, edited, and what cannot be.

use super::{RubricProblem, with_rubrics, written_rubric};
use crate::files::Files;
use crate::tests::Memory;
use evalrs_base::file_text::FileText;

/// A suite whose grader `g` is `grader`, with what stands around it.
fn suite(grader: &str) -> String {
    format!(
        "# mine\nname: s # a name\ndataset: d.jsonl\ngraders:\n  # the first\n{grader}\n\n  other: {{kind: tool, function: contains}} # last\ngate: g\n"
    )
}

/// What `suite.yaml` says with another text of `name`.
fn edited(grader: &str, name: &str, text: &str) -> Result<String, RubricProblem> {
    let files = Memory::new(&[("suite.yaml", &suite(grader))]);
    let mut all = with_rubrics("suite.yaml", [(name, text)], &files)?;
    assert_eq!(all.len(), 1);
    Ok(all.remove("suite.yaml").unwrap())
}

#[test]
fn a_text_in_a_suite_is_replaced_where_it_stands() {
    for (before, text, after) in [
        (
            "  g: {kind: rubric, prompt: Is it? , model: m} # x",
            "Was it: so?",
            r#"  g: {kind: rubric, prompt: "Was it: so?" , model: m} # x"#,
        ),
        (
            "  g:\n    prompt: Is it? # why\n    model: m",
            "Was it?",
            "  g:\n    prompt: Was it? # why\n    model: m",
        ),
        (
            "  g:\n    prompt: 'Is it?'\n    model: m",
            "Was it?",
            "  g:\n    prompt: \"Was it?\"\n    model: m",
        ),
        (
            "  g:\n    prompt: Is it?\n    # of the model\n    model: m",
            "Is it?\n\n  - so\n",
            "  g:\n    prompt: |\n      Is it?\n\n        - so\n    # of the model\n    model: m",
        ),
        (
            "  g:\n    prompt: |\n      Is it?\n      Yes.\n    model: m",
            "No.\nNo.",
            "  g:\n    prompt: |-\n      No.\n      No.\n    model: m",
        ),
        (
            "  g:\n    prompt: >-\n      Is it?\n      Yes.\n\n    # of the model\n    model: m",
            " No.",
            "  g:\n    prompt: |2-\n       No.\n\n    # of the model\n    model: m",
        ),
        (
            "  g:\n    prompt: Is it?\n    model: m",
            "yes\u{7}",
            "  g:\n    prompt: \"yes\\u0007\"\n    model: m",
        ),
        (
            "  g:\n    prompt: Is it?\n    model: m",
            "true",
            "  g:\n    prompt: \"true\"\n    model: m",
        ),
        (
            "  g:\n    prompt: Is it?\n    model: m",
            "${NOT} {input}",
            "  g:\n    prompt: $${NOT} {input}\n    model: m",
        ),
        (
            "  g:\n    prompt: |  # two lines: |\n\n      Is it?\n    model: m",
            "No.\nNo.\n",
            "  g:\n    prompt: |  # two lines: |\n      No.\n      No.\n    model: m",
        ),
    ] {
        assert_eq!(edited(before, "g", text), Ok(suite(after)), "{before}");
    }
}

#[test]
fn a_criterion_and_a_preamble_are_edited_alone() {
    let grader = "  g:\n    kind: rubric\n    preamble: You judge. # strictly\n    criteria:\n      # one\n      a: Is it?\n      b: {question: Was it?, weight: 2}";
    for (name, old, new) in [
        ("g", "You judge. #", "You grade. #"),
        ("g.a", "a: Is it?", "a: Is it so?"),
        ("g.b", "question: Was it?,", "question: Was it so?,"),
    ] {
        let text = match name {
            "g" => "You grade.",
            "g.a" => "Is it so?",
            _ => "Was it so?",
        };
        assert_eq!(edited(grader, name, text), Ok(suite(&grader.replace(old, new))), "{name}");
    }
}

#[test]
fn files_keep_front_matter_and_line_ends() {
    for (file, text, expected) in [
        ("Is it?\n", "Was it?\n", "Was it?\n"),
        (
            "---\nmodel: m # dear\n---\n\nIs it?\n",
            "Was it?",
            "---\nmodel: m # dear\n---\n\nWas it?",
        ),
        ("\u{feff}Is\r\nit?\r\n", "Was\nit?\n", "\u{feff}Was\r\nit?\r\n"),
    ] {
        let suite = "name: s\ngraders: {g: {kind: rubric, prompt_path: r.txt}}\n";
        let files = Memory::new(&[("a/suite.yaml", suite), ("a/r.txt", file)]);
        let all = with_rubrics("a/suite.yaml", [("g", text)], &files).unwrap();
        assert_eq!(
            all.into_iter().collect::<Vec<_>>(),
            [("a/r.txt".to_owned(), expected.to_owned())]
        );
    }
}

#[test]
fn what_stands_in_other_files_is_edited_there() {
    let base =
        "graders:\n  g: {kind: rubric, prompt: Is it?}\n  c: {kind: rubric, criteria: c.yaml}\n";
    let criteria = "# all\na: Is it ${SO}? # first\n";
    let suite = "extends: base.yaml\nname: s\n";
    let files = Memory::new(&[("suite.yaml", suite), ("base.yaml", base), ("c.yaml", criteria)]);
    let all = with_rubrics("suite.yaml", [("g", "Was it?"), ("c.a", "Was it ${SO}?")], &files);
    let all: Vec<(String, String)> = all.unwrap().into_iter().collect();
    let expected = [
        ("base.yaml", base.replace("Is it?", "Was it?")),
        ("c.yaml", criteria.replace("Is it", "Was it")),
    ];
    assert_eq!(all, expected.map(|(path, text)| (path.to_owned(), text)));
}

#[test]
fn what_cannot_be_edited_says_why() {
    let fixed = |why: &str| RubricProblem::Fixed(why.to_owned());
    let unknown = |why: &str| RubricProblem::Unknown(why.to_owned());
    for (grader, name, expected) in [
        ("  g: {kind: rubric, prompt: Is it?}", "h", unknown("the suite has no grader `h`")),
        ("  g: {kind: rubric, prompt: Is it?}", "other", unknown("`other` has no rubric")),
        (
            "  g: {kind: rubric, criteria: {a: Is it?}}",
            "g",
            unknown("`g` has no rubric: its criteria have"),
        ),
        (
            "  g: {kind: rubric, criteria: {a: Is it?}}",
            "g.b",
            unknown("the rubric has no criterion `b`"),
        ),
        (
            "  g: {kind: rubric, builtin: factuality@1}",
            "g",
            fixed("the rubric is built-in: copy it into the suite to edit it"),
        ),
        (
            "  g: {kind: rubric, builtin: factuality@1}",
            "g.a",
            fixed("the criteria are built-in: copy them into the suite to edit them"),
        ),
        (
            "  g: {kind: rubric, prompt: &p Is it?}\n  h: {kind: rubric, prompt: *p}",
            "g",
            fixed("other parts of the file use the same text: edit the file"),
        ),
        ("  g: {kind: rubric, prompt_path: gone.txt}", "g", fixed("`gone.txt` cannot be read")),
    ] {
        assert_eq!(edited(grader, name, "Was it?"), Err(expected), "{grader} {name}");
    }
    let empty = edited("  g: {kind: rubric, prompt: Is it?}", "g", " \n");
    assert_eq!(empty, Err(RubricProblem::Text("a rubric is not empty".to_owned())));
    let files = Memory::new(&[
        ("suite.yaml", &suite("  g: {kind: rubric, prompt_path: r.txt}")),
        ("r.txt", "Is it?"),
    ]);
    let ruled = with_rubrics("suite.yaml", [("g", "---\nno")], &files);
    assert!(matches!(ruled, Err(RubricProblem::Text(_))), "{ruled:?}");
    let with_variable = suite("  g: {kind: rubric, prompt: \"Is ${IT}?\"}");
    let files = Memory::new(&[("suite.yaml", &with_variable)]).env("IT", "so");
    let variable = written_rubric("suite.yaml", "g", &files);
    assert_eq!(variable, Err(fixed("it has a variable in it: edit `suite.yaml`")));
    assert!(matches!(files.text("suite.yaml"), FileText::Text(_)));
}
