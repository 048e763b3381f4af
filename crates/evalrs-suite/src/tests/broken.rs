//! Broken suites, and everything that is said of them.
#![expect(clippy::too_many_lines, reason = "tables are as long as what they list")]

use super::*;

mod agents;
mod command_judges;
mod gates;
mod graders;
mod judges;
mod programs;
mod rubric_files;
mod rubrics;

fn check(text: &str) -> String {
    let files = Memory::new(&[
        ("suite.yaml", text),
        ("rubric.txt", "Judge it."),
        ("blank.txt", "\u{feff} \n"),
        ("circle.yaml", "extends: suite.yaml\n"),
        ("empty.yaml", "# nothing\n"),
        ("base/wrong.yaml", "dataset: d.txt\ngraders: {a: {kind: rubric, prompt_path: no.txt}}\n"),
    ]);
    let files = files
        .env("SECRET", "my-very-secret")
        .file("locked.txt", FileText::Unreadable("permission denied".to_owned()));
    let reading = read(&files);
    let failed = reading.diagnostics.iter().any(evalrs_base::diagnostic::Diagnostic::is_error);
    assert_eq!(reading.suite.is_none(), failed, "{text}");
    let rendered = rendered(&reading);
    assert!(!rendered.is_empty() && !rendered.contains("my-very-secret"), "{rendered}");
    rendered
}

#[test]
fn yaml_errors_say_where_and_what_to_do() {
    insta::assert_snapshot!(check(""), @r###"
    error: the file is empty
     --> suite.yaml
      = help: a minimal suite has `name: my-suite`, `dataset: dataset.jsonl` and `graders: {accuracy: {kind: tool, function: contains}}`
    "###);
    insta::assert_snapshot!(check("# only a comment\n"), @r###"
    error: the file is empty
     --> suite.yaml
      = help: a minimal suite has `name: my-suite`, `dataset: dataset.jsonl` and `graders: {accuracy: {kind: tool, function: contains}}`
    "###);
    insta::assert_snapshot!(check("- a\n"), @r###"
    error: a suite is a mapping, not a list
     --> suite.yaml:1:1
      |
    1 | - a
      | ^^^
      |
      = help: a minimal suite has `name: my-suite`, `dataset: dataset.jsonl` and `graders: {accuracy: {kind: tool, function: contains}}`
    "###);
    insta::assert_snapshot!(check("just text\n"), @r###"
    error: a suite is a mapping, not text
     --> suite.yaml:1:1
      |
    1 | just text
      | ^^^^^^^^^
      |
      = help: a minimal suite has `name: my-suite`, `dataset: dataset.jsonl` and `graders: {accuracy: {kind: tool, function: contains}}`
    "###);
    insta::assert_snapshot!(check("name: s\ndataset: d.jsonl\ngraders:\n  a: {kind: tool, function: contains}\n\tx: 1\n"), @r###"
    error: the line is indented with a tab
     --> suite.yaml:5:1
      |
    5 |     x: 1
      | ^^^^
      |
      = help: YAML is indented with spaces
    "###);
    insta::assert_snapshot!(check("name: s\ndataset: d.jsonl\ngraders:\n  a: {kind: tool, function: contains}\ndescription: [a\n"), @r###"
    error: this `[` is never closed
     --> suite.yaml:5:14
      |
    5 | description: [a
      |              ^
    "###);
    insta::assert_snapshot!(check("name: s\ndataset: d.jsonl\ngraders:\n  a: {kind: tool, function: contains}\ndescription: \"a\n"), @r###"
    error: this quote is never closed
     --> suite.yaml:5:14
      |
    5 | description: "a
      |              ^
      |
      = help: a `"` is missing
    "###);
    insta::assert_snapshot!(check("name: s\ndataset: d.jsonl\ngraders:\n  a: {kind: tool, function: contains}\ndescription: a: b\n"), @r###"
    error: a `:` is not expected here
     --> suite.yaml:5:15
      |
    5 | description: a: b
      |               ^
      |
      = help: put text that contains `: ` in quotes, or check the indentation
    "###);
    insta::assert_snapshot!(check("name: s\ndataset: d.jsonl\ngraders:\n  a: {kind: tool, function: contains}\ndescription: @a\n"), @r###"
    error: a value cannot start with `@`
     --> suite.yaml:5:14
      |
    5 | description: @a
      |              ^
      |
      = help: put the text in quotes
    "###);
    insta::assert_snapshot!(check("name: s\ndataset: d.jsonl\ngraders:\n  a: {kind: tool, function: contains}\ndescription: *a\n"), @r###"
    error: this alias has no anchor
     --> suite.yaml:5:14
      |
    5 | description: *a
      |              ^
      |
      = help: define it above as `&name`, or quote the text
    "###);
    insta::assert_snapshot!(check("name: s\ndataset: d.jsonl\ngraders:\n  a: {kind: tool, function: contains}\ndescription: &a [*a]\n"), @r###"
    error: this alias is inside the value it refers to
     --> suite.yaml:5:18
      |
    5 | description: &a [*a]
      |                  ^^
      |
      = help: write the value out
    "###);
    insta::assert_snapshot!(check("name: s\ndataset: d.jsonl\ngraders:\n  a: {kind: tool, function: contains}\ndescription: !new a\n"), @r###"
    error: this has a `!` tag that has no meaning here
     --> suite.yaml:5:19
      |
    5 | description: !new a
      |                   ^
      |
      = help: remove the tag, or put the text in quotes
    "###);
    insta::assert_snapshot!(check("name: s\ndataset: d.jsonl\ngraders:\n  a: {kind: tool, function: contains}\ndescription: .nan\n"), @r###"
    error: this is not a finite number
     --> suite.yaml:5:14
      |
    5 | description: .nan
      |              ^^^^
    "###);
    insta::assert_snapshot!(check("name: s\ndataset: d.jsonl\ngraders:\n  a: {kind: tool, function: contains}\n? [a]\n: b\n"), @r###"
    error: a key must be text
     --> suite.yaml:5:3
      |
    5 | ? [a]
      |   ^^^
      |
      = help: put the key in quotes
    "###);
    insta::assert_snapshot!(check("name: s\ndataset: d.jsonl\ngraders:\n  a: {kind: tool, function: contains}\n---\nname: t\n"), @r###"
    error: a second YAML document begins here
     --> suite.yaml:5:1
      |
    5 | ---
      | ^^^
      |
      = help: a file is one document: remove the `---`, or make two files
    "###);
    insta::assert_snapshot!(check("name: s\ndataset: d.jsonl\ngraders:\n  a: {kind: tool, function: contains}\n<<: 5\n"), @r###"
    error: `<<` takes a mapping or a list of mappings
     --> suite.yaml:5:1
      |
    5 | <<: 5
      | ^^
      |
      = help: write `<<: *name`
    "###);
    insta::assert_snapshot!(check("name: s\ndataset: d.jsonl\ngraders:\n  a: {kind: tool, function: contains}\ndescription: x\ndescription: y\n"), @r###"
    error: `description` is written twice in this mapping
     --> suite.yaml:6:1
      |
    6 | description: y
      | ^^^^^^^^^^^ the second time
      |
      = help: the first is on line 5, column 1
    "###);
    insta::assert_snapshot!(check("name: s\ndataset: d.jsonl\ngraders:\n  a: {kind: tool, function: contains}\ndescription: \"a\\0b\0\"\n"), @r###"
    error: there is a NUL character here: this is not a text file
     --> suite.yaml:5:19
      |
    5 | description: "a\0b�"
      |                   ^
    "###);
}

#[test]
fn the_suite_itself_is_checked() {
    insta::assert_snapshot!(check("name: s\n"), @r###"
    error: the suite has no `dataset`
     --> suite.yaml:1:1
      |
    1 | name: s
      | ^^^^^^^
      |
      = help: a minimal suite has `name: my-suite`, `dataset: dataset.jsonl` and `graders: {accuracy: {kind: tool, function: contains}}`

    error: the suite has no `graders`
     --> suite.yaml:1:1
      |
    1 | name: s
      | ^^^^^^^
      |
      = help: a minimal suite has `name: my-suite`, `dataset: dataset.jsonl` and `graders: {accuracy: {kind: tool, function: contains}}`
    "###);
    insta::assert_snapshot!(check("name: 5\ndataset: [x]\ngraders: {}\n"), @r###"
    error: `name` must be text, not a number
     --> suite.yaml:1:7
      |
    1 | name: 5
      |       ^
      |
      = help: put the value in quotes

    error: `dataset` must be a path or a mapping with `path`, not a list
     --> suite.yaml:2:10
      |
    2 | dataset: [x]
      |          ^^^

    error: `graders` is empty
     --> suite.yaml:3:1
      |
    3 | graders: {}
      | ^^^^^^^
      |
      = help: a minimal suite has `name: my-suite`, `dataset: dataset.jsonl` and `graders: {accuracy: {kind: tool, function: contains}}`
    "###);
    insta::assert_snapshot!(check("name: s\ndataset: d.jsonl\ngraders:\n  a: {kind: tool, function: contains}\ntaget: {}\nmax_sample: 4\n"), @r###"
    error: a suite has no field `taget`
     --> suite.yaml:5:1
      |
    5 | taget: {}
      | ^^^^^
      |
      = help: did you mean `target`?

    error: a suite has no field `max_sample`
     --> suite.yaml:6:1
      |
    6 | max_sample: 4
      | ^^^^^^^^^^
      |
      = help: did you mean `max_samples`?
    "###);
    insta::assert_snapshot!(check("name: s\ndataset: d.jsonl\ngraders:\n  a: {kind: tool, function: contains}\nmax_samples: 0\nnum_runs: -1\nmax_concurrent: two\n"), @r###"
    error: `max_samples` must be a whole number of at least 1
     --> suite.yaml:5:14
      |
    5 | max_samples: 0
      |              ^

    error: `num_runs` must be a whole number of at least 1
     --> suite.yaml:6:11
      |
    6 | num_runs: -1
      |           ^^

    error: `max_concurrent` must be a whole number, not text
     --> suite.yaml:7:17
      |
    7 | max_concurrent: two
      |                 ^^^
    "###);
    insta::assert_snapshot!(check("name: s\ndataset: d.jsonl\ngraders:\n  a: {kind: tool, function: contains}\nmax_samples: 3.5\nsample_tags: [1, a]\n"), @r###"
    error: `max_samples` must be a whole number of at least 1
     --> suite.yaml:5:14
      |
    5 | max_samples: 3.5
      |              ^^^

    error: an item of `sample_tags` must be text, not a number
     --> suite.yaml:6:15
      |
    6 | sample_tags: [1, a]
      |               ^
      |
      = help: put the value in quotes
    "###);
    insta::assert_snapshot!(check("name: s\ndataset: d.jsonl\ngraders:\n  a: {kind: tool, function: contains}\ntarget: {kind: command, command: [a]}\nsetup_script: setup.py:prepare\n"), @r"
    error: a target of kind `command` has no `setup_script`
     --> suite.yaml:6:1
      |
    6 | setup_script: setup.py:prepare
      | ^^^^^^^^^^^^
      |
      = help: name a command by `setup` of the target
    ");
    insta::assert_snapshot!(check("name: s\ndataset: d.jsonl\ngraders:\n  a: {kind: tool, function: contains}\ngrader: {kind: tool, function: contains}\n"), @r###"
    error: a suite has `graders` or one `grader`, not both
     --> suite.yaml:5:1
      |
    5 | grader: {kind: tool, function: contains}
      | ^^^^^^
    "###);
}
