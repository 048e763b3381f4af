//! Broken rubric files: front matter and includes.

use super::*;

/// What is said of a grader with these fields and the rubric `rubrics/r.txt`, beside these files.
fn of_file(fields: &str, text: &str, others: &[(&str, &str)]) -> String {
    let suite = format!(
        "name: s\ndataset: d.jsonl\ngraders:\n  q: {{kind: rubric, prompt_path: rubrics/r.txt{fields}}}\n"
    );
    let files = [("suite.yaml", suite.as_str()), ("rubrics/r.txt", text)];
    let reading = read(&Memory::new(&[&files, others].concat()));
    assert_eq!(reading.suite, None, "{text}");
    rendered(&reading)
}

#[test]
fn front_matter_is_checked() {
    insta::assert_snapshot!(of_file("", "---\nJudge it.\n", &[]), @r###"
    error: the front matter of this rubric is never closed
     --> rubrics/r.txt:1:1
      |
    1 | ---
      | ^^^
      |
      = help: end it with a line `---` (if a rubric begins with a rule, put a blank line before it or write the rule as `***`)
    "###);
    insta::assert_snapshot!(of_file("", "---\nJudge it.\n---\nHarshly.\n", &[]), @r###"
    error: front matter is a mapping, not text
     --> rubrics/r.txt:2:1
      |
    2 | Judge it.
      | ^^^^^^^^^
      |
      = help: if a rubric begins with a rule, put a blank line before it or write the rule as `***`
    "###);
    insta::assert_snapshot!(of_file("", "---\n## Criteria\n- kind: 1\n- right\n---\nJudge.\n", &[]), @r###"
    error: front matter is a mapping, not a list
     --> rubrics/r.txt:3:1
      |
    3 | - kind: 1
      | ^^^^^^^^^
      |
      = help: if a rubric begins with a rule, put a blank line before it or write the rule as `***`
    "###);
    insta::assert_snapshot!(of_file("", "---\nmodel: [a\n---\nJudge.\n", &[]), @r###"
    error: this `[` is never closed
     --> rubrics/r.txt:2:8
      |
    2 | model: [a
      |        ^
      |
      = help: if a rubric begins with a rule, put a blank line before it or write the rule as `***`
    "###);
    insta::assert_snapshot!(of_file("", "---\nmodle: m\napi_key: my-very-secret\nvotes: 3\n---\nJudge.\n", &[]), @"
    error: the front matter of a rubric has no field `modle`
     --> rubrics/r.txt:2:1
      |
    2 | modle: m
      | ^^^^^
      |
      = help: did you mean `model`? (if a rubric begins with a rule, put a blank line before it or write the rule as `***`)

    error: the front matter of a rubric has no field `api_key`
     --> rubrics/r.txt:3:1
      |
    3 | api_key: **************
      | ^^^^^^^
      |
      = help: known fields: `include`, `model`, `scale`, `fence`, `unfenced`, `pass_threshold`, `allow`, `allow_unknown` (if a rubric begins with a rule, put a blank line before it or write the rule as `***`)

    error: the front matter of a rubric has no field `votes`
     --> rubrics/r.txt:4:1
      |
    4 | votes: 3
      | ^^^^^
      |
      = help: known fields: `include`, `model`, `scale`, `fence`, `unfenced`, `pass_threshold`, `allow`, `allow_unknown` (if a rubric begins with a rule, put a blank line before it or write the rule as `***`)
    ");
    insta::assert_snapshot!(of_file("", "---\nmodel: 4\nscale: {min: 5, max: 1}\npass_threshold: 2\n---\nJudge.\n", &[]), @r###"
    error: `model` must be text, not a number
     --> rubrics/r.txt:2:8
      |
    2 | model: 4
      |        ^
      |
      = help: put the value in quotes

    error: `scale` must have a `min` below its `max`
     --> rubrics/r.txt:3:8
      |
    3 | scale: {min: 5, max: 1}
      |        ^^^^^^^^^^^^^^^^

    error: `pass_threshold` must be between 0 and 1
     --> rubrics/r.txt:4:17
      |
    4 | pass_threshold: 2
      |                 ^
    "###);
    insta::assert_snapshot!(of_file("", "---\nmodel: ${MODEL}\ninclude: [\"${A}.txt\", 5]\n---\nJudge.\n", &[]), @r###"
    error: variables are replaced in suites only, not in rubric files
     --> rubrics/r.txt:2:8
      |
    2 | model: ${MODEL}
      |        ^^^^^^^^
      |
      = help: write this in the suite

    error: variables are replaced in suites only, not in rubric files
     --> rubrics/r.txt:3:11
      |
    3 | include: ["${A}.txt", 5]
      |           ^^^^^^^^^^
      |
      = help: write this in the suite

    error: an item of `include` must be text, not a number
     --> rubrics/r.txt:3:23
      |
    3 | include: ["${A}.txt", 5]
      |                       ^
      |
      = help: put the value in quotes
    "###);
    insta::assert_snapshot!(of_file("", "---\nmodel: m\n---\n \n", &[]), @r###"
    error: the rubric is empty
     --> suite.yaml:4:34
      |
    4 |   q: {kind: rubric, prompt_path: rubrics/r.txt}
      |                                  ^^^^^^^^^^^^^
    "###);
    insta::assert_snapshot!(of_file(", compare_to: other", "---\nscale: {min: 1, max: 5}\n---\n\nIs {submission} better?\n", &[]), @r###"
    error: a grader with `compare_to` has no `scale`
     --> rubrics/r.txt:2:1
      |
    2 | scale: {min: 1, max: 5}
      | ^^^^^
      |
      = help: a win is 1, a tie 0.5, a loss 0

    error: this rubric compares, and names `{submission}` but neither `{submission_a}` nor `{submission_b}`
     --> rubrics/r.txt:5:4
      |
    5 | Is {submission} better?
      |    ^^^^^^^^^^^^
      |
      = help: name both, or neither: then question and submissions follow after the rubric
    "###);
}

#[test]
fn includes_are_checked() {
    insta::assert_snapshot!(of_file("", "---\ninclude: none.txt\n---\nJudge.\n", &[]), @r###"
    error: the file `rubrics/none.txt` does not exist
     --> rubrics/r.txt:2:10
      |
    2 | include: none.txt
      |          ^^^^^^^^
    "###);
    insta::assert_snapshot!(
        of_file("", "---\ninclude: a.txt\n---\nJudge.\n", &[("rubrics/a.txt", "---\nmodel: m\ninclude: b.txt\n---\nA"), ("rubrics/b.txt", "---\nincldue: c.txt\n---\n")]),
        @r###"
    error: `model` has no effect in an included file
     --> rubrics/a.txt:2:1
      |
    2 | model: m
      | ^^^^^
      |
      = help: set it in the rubric that includes the file, or in the suite

    error: the front matter of a rubric has no field `incldue`
     --> rubrics/b.txt:2:1
      |
    2 | incldue: c.txt
      | ^^^^^^^
      |
      = help: did you mean `include`? (if a rubric begins with a rule, put a blank line before it or write the rule as `***`)
    "###
    );
    insta::assert_snapshot!(
        of_file("", "---\ninclude: [x/a.txt]\n---\nJudge.\n", &[("rubrics/x/a.txt", "---\ninclude: ../x/../r.txt\n---\nA")]),
        @r###"
    error: this rubric includes itself: `rubrics/r.txt` → `rubrics/x/a.txt` → `rubrics/r.txt`
     --> rubrics/x/a.txt:2:10
      |
    2 | include: ../x/../r.txt
      |          ^^^^^^^^^^^^^
    "###
    );
    let deep: Vec<(String, String)> = (0..20)
        .map(|at| (format!("rubrics/{at}.txt"), format!("---\ninclude: {}.txt\n---\n", at + 1)))
        .collect();
    let deep: Vec<(&str, &str)> = deep.iter().map(|(path, text)| (&path[..], &text[..])).collect();
    insta::assert_snapshot!(of_file("", "---\ninclude: 0.txt\n---\nJudge.\n", &deep), @r###"
    error: more than 16 rubric files include one another: `rubrics/r.txt` → `rubrics/0.txt` → … → `rubrics/15.txt`
     --> rubrics/15.txt:2:10
      |
    2 | include: 16.txt
      |          ^^^^^^
    "###);
}

#[test]
fn a_rubric_that_includes_a_hundred_thousand_files_is_refused_soon() {
    let names: Vec<String> = (0..100_000).map(|at| format!("f{at}")).collect();
    let said = of_file("", &format!("---\ninclude: [{}]\n---\nJudge.\n", names.join(", ")), &[]);
    assert!(said.contains("error: the file `rubrics/f499` does not exist\n"), "{said}");
    assert!(!said.contains("`rubrics/f500`"), "{said}");
}

#[test]
fn what_is_wrong_with_a_shared_file_is_said_once() {
    let suite = "name: s\ndataset: d.jsonl\ngraders:\n  a: {kind: rubric, prompt_path: r.txt}\n  b: {kind: rubric, prompt_path: r.txt}\n";
    let rubric = "---\nmodel: [\n---\nJudge.\n";
    let reading = read(&Memory::new(&[("suite.yaml", suite), ("r.txt", rubric)]));
    assert_eq!(reading.diagnostics.len(), 1, "{}", rendered(&reading));
}
