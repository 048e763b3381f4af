//! Broken suites, and everything that is said of them.
#![expect(clippy::too_many_lines, reason = "tables are as long as what they list")]

use super::*;

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
    let failed = reading.diagnostics.iter().any(crate::diagnostic::Diagnostic::is_error);
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
     --> suite.yaml:5:2
      |
    5 |     x: 1
      |     ^
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
    error: the quoted text above is not closed before this line
     --> suite.yaml:6:1
      |
    6 |
      | ^
      |
      = help: close the quote
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
    error: this alias stands inside the value it stands for
     --> suite.yaml:5:18
      |
    5 | description: &a [*a]
      |                  ^^
      |
      = help: write the value out
    "###);
    insta::assert_snapshot!(check("name: s\ndataset: d.jsonl\ngraders:\n  a: {kind: tool, function: contains}\ndescription: !new a\n"), @r###"
    error: this has a `!` tag that means nothing in a suite
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
      = help: a suite is one document: remove the `---`, or make two files
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
    error: there is a NUL character here: this is no text file
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
    insta::assert_snapshot!(check("name: s\ndataset: d.jsonl\ngraders:\n  a: {kind: tool, function: contains}\nsetup_script: setup.py:prepare\n"), @r###"
    error: `setup_script` is not available in this version
     --> suite.yaml:5:15
      |
    5 | setup_script: setup.py:prepare
      |               ^^^^^^^^^^^^^^^^
    "###);
    insta::assert_snapshot!(check("name: s\ndataset: d.jsonl\ngraders:\n  a: {kind: tool, function: contains}\ngrader: {kind: tool, function: contains}\n"), @r###"
    error: a suite has `graders` or one `grader`, not both
     --> suite.yaml:5:1
      |
    5 | grader: {kind: tool, function: contains}
      | ^^^^^^
    "###);
}

#[test]
fn datasets_and_targets_are_checked() {
    insta::assert_snapshot!(check("name: s\ndataset: d.parquet\ngraders: {a: {kind: tool, function: contains}}\n"), @r###"
    error: the dataset's format does not show in its name
     --> suite.yaml:2:10
      |
    2 | dataset: d.parquet
      |          ^^^^^^^^^
      |
      = help: name it .jsonl, .ndjson, .json or .csv, or write `dataset: {path: …, format: jsonl}`
    "###);
    insta::assert_snapshot!(check("name: s\ndataset: {path: d.jsonl, format: jsnl, fields: {idd: x, input: 5}}\ngraders: {a: {kind: tool, function: contains}}\n"), @r###"
    error: unknown format `jsnl`
     --> suite.yaml:2:34
      |
    2 | dataset: {path: d.jsonl, format: jsnl, fields: {idd: x, input: 5}}
      |                                  ^^^^ expected `jsonl`, `ndjson`, `json` or `csv`
      |
      = help: did you mean `jsonl`?

    error: a sample has no field `idd`
     --> suite.yaml:2:49
      |
    2 | dataset: {path: d.jsonl, format: jsnl, fields: {idd: x, input: 5}}
      |                                                 ^^^
      |
      = help: did you mean `id`?

    error: `input` must be text, not a number
     --> suite.yaml:2:64
      |
    2 | dataset: {path: d.jsonl, format: jsnl, fields: {idd: x, input: 5}}
      |                                                                ^
      |
      = help: put the value in quotes
    "###);
    insta::assert_snapshot!(check("name: s\ndataset: {format: csv, pth: d.csv}\ngraders: {a: {kind: tool, function: contains}}\n"), @r###"
    error: the dataset has no `path`
     --> suite.yaml:2:1
      |
    2 | dataset: {format: csv, pth: d.csv}
      | ^^^^^^^

    error: a dataset has no field `pth`
     --> suite.yaml:2:24
      |
    2 | dataset: {format: csv, pth: d.csv}
      |                        ^^^
      |
      = help: did you mean `path`?
    "###);
    insta::assert_snapshot!(check("name: s\ndataset: d.jsonl\ngraders:\n  a: {kind: tool, function: contains}\ntarget: {kind: recorder}\n"), @r###"
    error: unknown target kind `recorder`
     --> suite.yaml:5:16
      |
    5 | target: {kind: recorder}
      |                ^^^^^^^^ expected `recorded`, `agent`, `letta_agent`, `letta_code`, `command`, `program` or `http`
      |
      = help: did you mean `recorded`?
    "###);
    insta::assert_snapshot!(check("name: s\ndataset: d.jsonl\ngraders:\n  a: {kind: tool, function: contains}\ntarget: {path: x}\n"), @r###"
    error: the target has no `kind`
     --> suite.yaml:5:1
      |
    5 | target: {path: x}
      | ^^^^^^
      |
      = help: `kind: recorded` grades what was recorded already
    "###);
    insta::assert_snapshot!(check("name: s\ndataset: d.jsonl\ngraders:\n  a: {kind: tool, function: contains}\ntarget: t.jsonl\n"), @r###"
    error: `target` must be a mapping, not text
     --> suite.yaml:5:9
      |
    5 | target: t.jsonl
      |         ^^^^^^^
    "###);
    insta::assert_snapshot!(check("name: s\ndataset: d.jsonl\ngraders:\n  a: {kind: tool, function: contains}\ntarget: {kind: recorded, format: lettta, paht: t}\n"), @r###"
    error: unknown format `lettta`
     --> suite.yaml:5:34
      |
    5 | target: {kind: recorded, format: lettta, paht: t}
      |                                  ^^^^^^ expected `letta`, `openai_chat`, `anthropic`, `claude_code`, `steps` or `text`
      |
      = help: did you mean `letta`?

    error: a recorded target has no field `paht`
     --> suite.yaml:5:42
      |
    5 | target: {kind: recorded, format: lettta, paht: t}
      |                                          ^^^^
      |
      = help: did you mean `path`?
    "###);
    insta::assert_snapshot!(check("name: s\ndataset: d.jsonl\ngraders:\n  a: {kind: tool, function: contains}\ntarget: {kind: agent, base_ulr: x}\n"), @r###"
    error: a target that runs an agent has no field `base_ulr`
     --> suite.yaml:5:23
      |
    5 | target: {kind: agent, base_ulr: x}
      |                       ^^^^^^^^
      |
      = help: did you mean `base_url`?
    "###);
}

#[test]
fn graders_are_checked() {
    insta::assert_snapshot!(check("name: s\ndataset: d.jsonl\ngraders:\n  a: {function: contains}\n  b: {kind: tool}\n  c: 5\n"), @r###"
    error: the grader `a` has no `kind`
     --> suite.yaml:4:3
      |
    4 |   a: {function: contains}
      |   ^
      |
      = help: write `kind: tool`

    error: a tool grader needs a `function`
     --> suite.yaml:5:3
      |
    5 |   b: {kind: tool}
      |   ^
      |
      = help: for example `function: contains`

    error: `c` must be a mapping, not a number
     --> suite.yaml:6:6
      |
    6 |   c: 5
      |      ^
    "###);
    insta::assert_snapshot!(check("name: s\ndataset: d.jsonl\ngraders:\n  a: {kind: toool, function: contains}\n  b: {kind: tool, function: contians}\n  c: {kind: tool, function: contains, extractor: last_asistant}\n"), @r###"
    error: unknown grader kind `toool`
     --> suite.yaml:4:13
      |
    4 |   a: {kind: toool, function: contains}
      |             ^^^^^ expected `tool`, `rubric`, `model_judge`, `letta_judge` or `program`
      |
      = help: did you mean `tool`?

    error: unknown grading function `contians`
     --> suite.yaml:5:29
      |
    5 |   b: {kind: tool, function: contians}
      |                             ^^^^^^^^ expected `exact_match`, `contains`, `regex_match`, `ascii_printable_only`, `numeric` or `json_schema`
      |
      = help: did you mean `contains`?

    error: unknown extractor `last_asistant`
     --> suite.yaml:6:50
      |
    6 |   c: {kind: tool, function: contains, extractor: last_asistant}
      |                                                  ^^^^^^^^^^^^^ expected `last_assistant`, `tool_arguments`, `tool_output`, `memory_block` or `json_path`
      |
      = help: did you mean `last_assistant`?
    "###);
    insta::assert_snapshot!(check("name: s\ndataset: d.jsonl\ngraders:\n  a: {kind: tool, function: grade.py:f}\n  b: {kind: tool, function: contains, extractor: ext.py:f}\n  c: {kind: letta_judge}\n  d: {kind: program, path: g.py}\n"), @r###"
    error: graders written in Python are not available in this version
     --> suite.yaml:4:29
      |
    4 |   a: {kind: tool, function: grade.py:f}
      |                             ^^^^^^^^^^

    error: extractors written in Python are not available in this version
     --> suite.yaml:5:50
      |
    5 |   b: {kind: tool, function: contains, extractor: ext.py:f}
      |                                                  ^^^^^^^^

    error: graders of kind `letta_judge` are not available in this version
     --> suite.yaml:6:13
      |
    6 |   c: {kind: letta_judge}
      |             ^^^^^^^^^^^

    error: graders of kind `program` are not available in this version
     --> suite.yaml:7:13
      |
    7 |   d: {kind: program, path: g.py}
      |             ^^^^^^^
    "###);
    insta::assert_snapshot!(check("name: s\ndataset: d.jsonl\ngraders:\n  a:\n    kind: tool\n    function: numeric\n    config: {tolerence: 1}\n    extractor: tool_arguments\n    pass_threshold: 2\n    ground_truth_pattern: '((a'\n    include_subagents: perhaps\n"), @r###"
    error: `numeric` has no option `tolerence`
     --> suite.yaml:7:14
      |
    7 |     config: {tolerence: 1}
      |              ^^^^^^^^^^^^

    error: `tool_arguments` needs the option `tool_name`
     --> suite.yaml:8:16
      |
    8 |     extractor: tool_arguments
      |                ^^^^^^^^^^^^^^

    error: `pass_threshold` must be between 0 and 1
     --> suite.yaml:9:21
      |
    9 |     pass_threshold: 2
      |                     ^

    error: `ground_truth_pattern` is no pattern: a group is not closed
      --> suite.yaml:10:27
       |
    10 |     ground_truth_pattern: '((a'
       |                           ^^^^^

    error: `include_subagents` must be `true` or `false`, not text
      --> suite.yaml:11:24
       |
    11 |     include_subagents: perhaps
       |                        ^^^^^^^
    "###);
    insta::assert_snapshot!(check("name: s\ndataset: d.jsonl\ngraders:\n  a: {kind: tool, function: json_schema, extractor_config: [1]}\n  b: {kind: tool, function: contains, rubric_vars: [a]}\n"), @r###"
    error: `json_schema` needs the option `schema`
     --> suite.yaml:4:29
      |
    4 |   a: {kind: tool, function: json_schema, extractor_config: [1]}
      |                             ^^^^^^^^^^^
      |
      = help: write `config: {schema: …}`

    error: `extractor_config` must be a mapping, not a list
     --> suite.yaml:4:60
      |
    4 |   a: {kind: tool, function: json_schema, extractor_config: [1]}
      |                                                            ^^^

    error: a tool grader has no field `rubric_vars`
     --> suite.yaml:5:39
      |
    5 |   b: {kind: tool, function: contains, rubric_vars: [a]}
      |                                       ^^^^^^^^^^^
      |
      = help: known fields: `kind`, `display_name`, `extractor_config`, `extractor`, `pass_threshold`, `ground_truth_pattern`, `include_subagents`, `config`, `function`
    "###);
}

#[test]
fn rubrics_are_checked() {
    insta::assert_snapshot!(check("name: s\ndataset: d.jsonl\ngraders:\n  q:\n    kind: rubric\n"), @r###"
    error: a rubric grader needs `prompt` or `prompt_path`
     --> suite.yaml:4:3
      |
    4 |   q:
      |   ^
    "###);
    insta::assert_snapshot!(check("name: s\ndataset: d.jsonl\ngraders:\n  q:\n    kind: rubric\n    prompt: x\n    prompt_path: rubric.txt\n"), @r###"
    error: a rubric grader has `prompt` or `prompt_path`, not both
     --> suite.yaml:7:5
      |
    7 |     prompt_path: rubric.txt
      |     ^^^^^^^^^^^
      |
      = help: keep one
    "###);
    insta::assert_snapshot!(check("name: s\ndataset: d.jsonl\ngraders:\n  q:\n    kind: rubric\n    prompt_path: missing.txt\n"), @r###"
    error: there is no file `missing.txt`
     --> suite.yaml:6:18
      |
    6 |     prompt_path: missing.txt
      |                  ^^^^^^^^^^^
    "###);
    insta::assert_snapshot!(check("name: s\ndataset: d.jsonl\ngraders:\n  q:\n    kind: rubric\n    prompt_path: locked.txt\n"), @r###"
    error: cannot read `locked.txt`: permission denied
     --> suite.yaml:6:18
      |
    6 |     prompt_path: locked.txt
      |                  ^^^^^^^^^^
    "###);
    insta::assert_snapshot!(check("name: s\ndataset: d.jsonl\ngraders:\n  q:\n    kind: rubric\n    prompt_path: blank.txt\n"), @r###"
    error: the rubric is empty
     --> suite.yaml:6:18
      |
    6 |     prompt_path: blank.txt
      |                  ^^^^^^^^^
    "###);
    insta::assert_snapshot!(check("name: s\ndataset: d.jsonl\ngraders:\n  q:\n    kind: rubric\n    prompt: \"  \"\n"), @r###"
    error: the rubric is empty
     --> suite.yaml:6:13
      |
    6 |     prompt: "  "
      |             ^^^^
    "###);
    insta::assert_snapshot!(check("name: s\ndataset: d.jsonl\ngraders:\n  q:\n    kind: rubric\n    prompt: x\n    temperature: 3\n    top_p: 1.5\n    max_tokens: 0\n    timeout: 0\n    max_retries: -1\n    seed: x\n    votes: 0\n    scale: {min: 5, max: 1}\n    provider: opnai\n    modle: y\n    base_url: localhost\n    model: 4\n"), @r###"
    error: `temperature` must be between 0 and 2, or null
     --> suite.yaml:7:18
      |
    7 |     temperature: 3
      |                  ^

    error: `top_p` must be between 0 and 1
     --> suite.yaml:8:12
      |
    8 |     top_p: 1.5
      |            ^^^

    error: `max_tokens` must be a whole number of at least 1
     --> suite.yaml:9:17
      |
    9 |     max_tokens: 0
      |                 ^

    error: `timeout` must be more than 0 seconds
      --> suite.yaml:10:14
       |
    10 |     timeout: 0
       |              ^

    error: `max_retries` must be between 0 and 1000
      --> suite.yaml:11:18
       |
    11 |     max_retries: -1
       |                  ^^

    error: `seed` must be a whole number, not text
      --> suite.yaml:12:11
       |
    12 |     seed: x
       |           ^

    error: `votes` must be a whole number between 1 and 1000
      --> suite.yaml:13:12
       |
    13 |     votes: 0
       |            ^

    error: `scale` must have a `min` below its `max`
      --> suite.yaml:14:12
       |
    14 |     scale: {min: 5, max: 1}
       |            ^^^^^^^^^^^^^^^^

    error: unknown provider `opnai`
      --> suite.yaml:15:15
       |
    15 |     provider: opnai
       |               ^^^^^ expected `openai` or `anthropic`
       |
       = help: did you mean `openai`?

    error: a rubric grader has no field `modle`
      --> suite.yaml:16:5
       |
    16 |     modle: y
       |     ^^^^^
       |
       = help: did you mean `model`?

    error: `base_url` must begin with `https://` or `http://`
      --> suite.yaml:17:15
       |
    17 |     base_url: localhost
       |               ^^^^^^^^^

    error: `model` must be text, not a number
      --> suite.yaml:18:12
       |
    18 |     model: 4
       |            ^
       |
       = help: put the value in quotes
    "###);
    insta::assert_snapshot!(check("name: s\ndataset: d.jsonl\ngraders:\n  q:\n    kind: rubric\n    prompt: x\n    votes: {count: 3, combine: avg}\n    scale: [1, 5]\n    extra_body: 3\n    rubric_vars: 7\n    temperature: hot\n"), @r###"
    error: `votes` has no `n`
     --> suite.yaml:7:5
      |
    7 |     votes: {count: 3, combine: avg}
      |     ^^^^^

    error: `votes` has no field `count`
     --> suite.yaml:7:13
      |
    7 |     votes: {count: 3, combine: avg}
      |             ^^^^^
      |
      = help: known fields: `n`, `combine`

    error: unknown combine `avg`
     --> suite.yaml:7:32
      |
    7 |     votes: {count: 3, combine: avg}
      |                                ^^^ expected `median` or `mean`

    error: `scale` must be a mapping, not a list
     --> suite.yaml:8:12
      |
    8 |     scale: [1, 5]
      |            ^^^^^^

    error: `extra_body` must be a mapping, not a number
     --> suite.yaml:9:17
      |
    9 |     extra_body: 3
      |                 ^

    error: `rubric_vars` must be a list of texts, not a number
      --> suite.yaml:10:18
       |
    10 |     rubric_vars: 7
       |                  ^

    error: `temperature` must be a number, not text
      --> suite.yaml:11:18
       |
    11 |     temperature: hot
       |                  ^^^
    "###);
    insta::assert_snapshot!(check("name: s\ndataset: d.jsonl\ngraders:\n  q:\n    kind: rubric\n    prompt: x\n    agent_file: judge.af\n"), @r###"
    error: agents as judges (`agent_file`) are not available in this version
     --> suite.yaml:7:17
      |
    7 |     agent_file: judge.af
      |                 ^^^^^^^^
    "###);
    insta::assert_snapshot!(check("name: s\ndataset: d.jsonl\ngraders:\n  q:\n    kind: rubric\n    prompt: x\n    command: [a]\n"), @r###"
    error: programs as judges (`command`) are not available in this version
     --> suite.yaml:7:14
      |
    7 |     command: [a]
      |              ^^^
    "###);
    insta::assert_snapshot!(check("name: s\ndataset: d.jsonl\ngraders:\n  q:\n    kind: rubric\n    prompt: x\n    judge_tool_name: a\n"), @r###"
    error: `judge_tool_name` is of judges that are agents
     --> suite.yaml:7:5
      |
    7 |     judge_tool_name: a
      |     ^^^^^^^^^^^^^^^
    "###);
}

#[test]
fn secrets_are_never_shown() {
    insta::assert_snapshot!(check("name: s\ndataset: d.jsonl\ngraders:\n  q:\n    kind: rubric\n    prompt: x\n    api_key: my-very-secret\n    api_key_env: sk-abc-def\n    base_url: https://u:pw@host/v1\n"), @r###"
    warning: `api_key` is ignored: never put a key into a suite
     --> suite.yaml:7:5
      |
    7 |     api_key: **************
      |     ^^^^^^^
      |
      = help: keep it in the environment or in `.env`, and name the variable with `api_key_env: NAME`

    error: `api_key_env` is no name of an environment variable
     --> suite.yaml:8:18
      |
    8 |     api_key_env: **********
      |                  ^^^^^^^^^^
      |
      = help: write the name, not the key: `api_key_env: OPENAI_API_KEY`

    error: `base_url` holds a password
     --> suite.yaml:9:15
      |
    9 |     base_url: ********************
      |               ^^^^^^^^^^^^^^^^^^^^
      |
      = help: give the key by `api_key_env: NAME`
    "###);
    insta::assert_snapshot!(check("name: s\ndataset: d.jsonl\ngraders:\n  a: {kind: tool, function: contains}\napi_kye: my-very-secret\n"), @r###"
    error: a suite has no field `api_kye`
     --> suite.yaml:5:1
      |
    5 | api_kye: **************
      | ^^^^^^^
      |
      = help: known fields: `name`, `description`, `dataset`, `target`, `graders`, `grader`, `gate`, `reward`, `max_samples`, `num_runs`, `max_concurrent`, `sample_tags`, `setup_script`
    "###);
    insta::assert_snapshot!(check("name: s\ndataset: d.jsonl\ngraders:\n  a: {kind: tool, function: contains}\ntarget: {kind: agent, api_key: my-very-secret, kidn: x}\n"), @r###"
    warning: `api_key` is ignored: never put a key into a suite
     --> suite.yaml:5:23
      |
    5 | target: {kind: agent, api_key: **************, kidn: x}
      |                       ^^^^^^^
      |
      = help: keep it in the environment or in `.env`, and name the variable with `api_key_env: NAME`

    error: a target that runs an agent has no field `kidn`
     --> suite.yaml:5:48
      |
    5 | target: {kind: agent, api_key: **************, kidn: x}
      |                                                ^^^^
      |
      = help: did you mean `kind`?
    "###);
    insta::assert_snapshot!(check("name: s\ndataset: d.jsonl\ngraders:\n  a: {kind: tool, function: contains}\napi_key: my-very-secret: x\n"), @r###"
    error: a `:` is not expected here
     --> suite.yaml:5:24
      |
    5 | api_key: **************: *
      |                        ^
      |
      = help: put text that contains `: ` in quotes, or check the indentation
    "###);
    insta::assert_snapshot!(check("name: s\ndataset: d.jsonl\ngraders:\n  a: {kind: tool, function: contains}\napi_key: my-very-secret\napi_key: my-very-secret\n"), @r###"
    warning: `api_key` is ignored: never put a key into a suite
     --> suite.yaml:5:1
      |
    5 | api_key: **************
      | ^^^^^^^
      |
      = help: keep it in the environment or in `.env`, and name the variable with `api_key_env: NAME`

    error: `api_key` is written twice in this mapping
     --> suite.yaml:6:1
      |
    6 | api_key: **************
      | ^^^^^^^ the second time
      |
      = help: the first is on line 5, column 1
    "###);
    insta::assert_snapshot!(check("name: s\ndataset: d.jsonl\ngraders:\n  q:\n    kind: rubric\n    prompt: x\n    extra_body:\n      authorization: Bearer my-very-secret\n"), @r###"
    warning: `authorization` is ignored: never put a key into a suite
     --> suite.yaml:8:7
      |
    8 |       authorization: *********************
      |       ^^^^^^^^^^^^^
      |
      = help: keep it in the environment or in `.env`, and name the variable with `api_key_env: NAME`
    "###);
    insta::assert_snapshot!(check("name: s\ndataset: d.jsonl\ngraders:\n  a: {kind: tool, function: contains}\nmax_samples: ${SECRET}\n"), @r###"
    error: `max_samples` must be a whole number, not text
     --> suite.yaml:5:14
      |
    5 | max_samples: ${SECRET}
      |              ^^^^^^^^^
    "###);
    insta::assert_snapshot!(check("name: s\ndataset: d.jsonl\ngraders:\n  a: {kind: tool, function: contains}\ngate: {metric_key: \"${SECRET}\", op: gte, value: 1}\n"), @r###"
    error: `metric_key` is set to an unknown grader
     --> suite.yaml:5:20
      |
    5 | gate: {metric_key: "${SECRET}", op: gte, value: 1}
      |                    ^^^^^^^^^^^ expected `a`
    "###);
}

#[test]
fn gates_are_checked() {
    insta::assert_snapshot!(check("name: s\ndataset: d.jsonl\ngraders:\n  a: {kind: tool, function: contains}\n  b: {kind: tool, function: exact_match}\ngate: {metric_key: cc, op: gte, value: 1}\n"), @r###"
    error: unknown grader `cc`
     --> suite.yaml:6:20
      |
    6 | gate: {metric_key: cc, op: gte, value: 1}
      |                    ^^ expected `a` or `b`
    "###);
    insta::assert_snapshot!(check("name: s\ndataset: d.jsonl\ngraders:\n  a: {kind: tool, function: contains}\ngate: {op: \">=\", value: x}\n"), @r###"
    error: unknown op `>=`
     --> suite.yaml:5:12
      |
    5 | gate: {op: ">=", value: x}
      |            ^^^^
      |
      = help: write `op: gte`

    error: `value` must be a number, not text
     --> suite.yaml:5:25
      |
    5 | gate: {op: ">=", value: x}
      |                         ^
    "###);
    insta::assert_snapshot!(check("name: s\ndataset: d.jsonl\ngraders:\n  a: {kind: tool, function: contains}\ngate: {metric: acuracy}\n"), @r###"
    error: the gate has no `op`
     --> suite.yaml:5:1
      |
    5 | gate: {metric: acuracy}
      | ^^^^
      |
      = help: for example `op: gte` and `value: 0.8`

    error: the gate has no `value`
     --> suite.yaml:5:1
      |
    5 | gate: {metric: acuracy}
      | ^^^^
      |
      = help: for example `op: gte` and `value: 0.8`

    error: unknown metric `acuracy`
     --> suite.yaml:5:16
      |
    5 | gate: {metric: acuracy}
      |                ^^^^^^^ expected `avg_score`, `accuracy`, `min`, `max`, `median`, `p95` or `p99`
      |
      = help: did you mean `accuracy`?
    "###);
    insta::assert_snapshot!(check("name: s\ndataset: d.jsonl\ngraders:\n  a: {kind: tool, function: contains}\ngate: {metric: accuracy, aggregation: min, op: gte, value: 0.5}\n"), @r###"
    error: `metric` and `aggregation` are two names of one field
     --> suite.yaml:5:26
      |
    5 | gate: {metric: accuracy, aggregation: min, op: gte, value: 0.5}
      |                          ^^^^^^^^^^^
      |
      = help: keep one
    "###);
    insta::assert_snapshot!(check("name: s\ndataset: d.jsonl\ngraders:\n  a: {kind: tool, function: contains}\ngate: {metric: accuracy, op: gte, value: 90}\n"), @r###"
    warning: an accuracy above 1 is read as a percentage
     --> suite.yaml:5:42
      |
    5 | gate: {metric: accuracy, op: gte, value: 90}
      |                                          ^^
      |
      = help: write `value: 0.9`
    "###);
    insta::assert_snapshot!(check("name: s\ndataset: d.jsonl\ngraders:\n  a: {kind: tool, function: contains}\ngate: {metric: accuracy, op: gte, value: 900, pass_op: gt}\n"), @r###"
    error: an accuracy is at most 1, or 100 as a percentage
     --> suite.yaml:5:42
      |
    5 | gate: {metric: accuracy, op: gte, value: 900, pass_op: gt}
      |                                          ^^^

    warning: `pass_op` does nothing without `pass_value`
     --> suite.yaml:5:47
      |
    5 | gate: {metric: accuracy, op: gte, value: 900, pass_op: gt}
      |                                               ^^^^^^^
    "###);
    insta::assert_snapshot!(check("name: s\ndataset: d.jsonl\ngraders:\n  a: {kind: tool, function: contains}\ngate: {op: gte, value: 5, pass_value: 3}\n"), @r###"
    warning: scores lie between 0 and 1: this gate does not depend on them
     --> suite.yaml:5:24
      |
    5 | gate: {op: gte, value: 5, pass_value: 3}
      |                        ^

    error: `pass_value` must be between 0 and 1: it is compared with one score
     --> suite.yaml:5:39
      |
    5 | gate: {op: gte, value: 5, pass_value: 3}
      |                                       ^
    "###);
    insta::assert_snapshot!(check("name: s\ndataset: d.jsonl\ngraders:\n  a: {kind: tool, function: contains}\n  b: {kind: tool, function: exact_match}\ngate: {op: gte, value: 0.5}\n"), @r###"
    warning: the gate names no grader: the first one, `a`, is taken
     --> suite.yaml:6:1
      |
    6 | gate: {op: gte, value: 0.5}
      | ^^^^
      |
      = help: write `metric_key: a`
    "###);
    insta::assert_snapshot!(check("name: s\ndataset: d.jsonl\ngraders:\n  a: {kind: tool, function: contains}\ngate: {kind: wieghted_average}\n"), @r###"
    error: unknown kind `wieghted_average`
     --> suite.yaml:5:14
      |
    5 | gate: {kind: wieghted_average}
      |              ^^^^^^^^^^^^^^^^ expected `simple`, `weighted_average` or `logical`
      |
      = help: did you mean `weighted_average`?
    "###);
    insta::assert_snapshot!(check("name: s\ndataset: d.jsonl\ngraders:\n  a: {kind: tool, function: contains}\ngate: {weights: {a: 1}, op: gte, value: 0.5}\n"), @r###"
    error: a gate with `weights` needs a `kind`
     --> suite.yaml:5:1
      |
    5 | gate: {weights: {a: 1}, op: gte, value: 0.5}
      | ^^^^
      |
      = help: write `kind: weighted_average`
    "###);
    insta::assert_snapshot!(check("name: s\ndataset: d.jsonl\ngraders:\n  a: {kind: tool, function: contains}\ngate: {kind: weighted_average, weights: {a: -1, zz: 2}, op: gte, value: 0.5}\n"), @r###"
    error: `a` must be a weight: non-negative and finite
     --> suite.yaml:5:45
      |
    5 | gate: {kind: weighted_average, weights: {a: -1, zz: 2}, op: gte, value: 0.5}
      |                                             ^^

    error: unknown grader `zz`
     --> suite.yaml:5:49
      |
    5 | gate: {kind: weighted_average, weights: {a: -1, zz: 2}, op: gte, value: 0.5}
      |                                                 ^^ expected `a`
    "###);
    insta::assert_snapshot!(check("name: s\ndataset: d.jsonl\ngraders:\n  a: {kind: tool, function: contains}\ngate: {kind: weighted_average, weights: {a: 0}, op: gte, value: 0.5}\n"), @r###"
    error: `weights` must sum to a finite, non-zero value
     --> suite.yaml:5:41
      |
    5 | gate: {kind: weighted_average, weights: {a: 0}, op: gte, value: 0.5}
      |                                         ^^^^^^
    "###);
    insta::assert_snapshot!(check("name: s\ndataset: d.jsonl\ngraders:\n  a: {kind: tool, function: contains}\ngate: {kind: weighted_average, weights: {}, op: gte, value: 0.5}\n"), @r###"
    error: `weights` cannot be empty
     --> suite.yaml:5:41
      |
    5 | gate: {kind: weighted_average, weights: {}, op: gte, value: 0.5}
      |                                         ^^
    "###);
    insta::assert_snapshot!(check("name: s\ndataset: d.jsonl\ngraders:\n  a: {kind: tool, function: contains}\ngate: {kind: weighted_average, op: gte, value: 0.5, pass_value: 1}\n"), @r###"
    error: a weighted average needs `weights`
     --> suite.yaml:5:1
      |
    5 | gate: {kind: weighted_average, op: gte, value: 0.5, pass_value: 1}
      | ^^^^
      |
      = help: write `weights: {grader: 0.7, other: 0.3}`

    error: a weighted average has no field `pass_value`
     --> suite.yaml:5:53
      |
    5 | gate: {kind: weighted_average, op: gte, value: 0.5, pass_value: 1}
      |                                                     ^^^^^^^^^^
      |
      = help: known fields: `kind`, `metric`, `aggregation`, `op`, `value`, `weights`
    "###);
    insta::assert_snapshot!(check("name: s\ndataset: d.jsonl\ngraders:\n  a: {kind: tool, function: contains}\ngate: {kind: logical, operator: xor, conditions: []}\n"), @r###"
    error: unknown operator `xor`
     --> suite.yaml:5:33
      |
    5 | gate: {kind: logical, operator: xor, conditions: []}
      |                                 ^^^ expected `and` or `or`
      |
      = help: did you mean `or`?

    error: `conditions` cannot be empty
     --> suite.yaml:5:50
      |
    5 | gate: {kind: logical, operator: xor, conditions: []}
      |                                                  ^^
    "###);
    insta::assert_snapshot!(check("name: s\ndataset: d.jsonl\ngraders:\n  a: {kind: tool, function: contains}\ngate: {kind: logical, conditions: {a: 1}}\n"), @r###"
    error: a logical gate needs an `operator`
     --> suite.yaml:5:1
      |
    5 | gate: {kind: logical, conditions: {a: 1}}
      | ^^^^
      |
      = help: write `operator: and` or `operator: or`

    error: `conditions` must be a list of conditions, not a mapping
     --> suite.yaml:5:35
      |
    5 | gate: {kind: logical, conditions: {a: 1}}
      |                                   ^^^^^^
    "###);
    insta::assert_snapshot!(check("name: s\ndataset: d.jsonl\ngraders:\n  a: {kind: tool, function: contains}\ngate:\n  kind: logical\n  operator: and\n  conditions:\n    - {metric_key: a, op: gte, value: 0.5}\n    - {kind: weighted_average, weights: {a: 1}, op: gte, value: 0.5}\n    - {metric_key: zz, opp: gte}\n    - 5\n"), @r###"
    error: a weighted average cannot be a condition
      --> suite.yaml:10:7
       |
    10 |     - {kind: weighted_average, weights: {a: 1}, op: gte, value: 0.5}
       |       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
       |
       = help: conditions are `simple` or `logical`

    error: the gate has no `op`
      --> suite.yaml:11:7
       |
    11 |     - {metric_key: zz, opp: gte}
       |       ^^^^^^^^^^^^^^^^^^^^^^^^^^
       |
       = help: for example `op: gte` and `value: 0.8`

    error: the gate has no `value`
      --> suite.yaml:11:7
       |
    11 |     - {metric_key: zz, opp: gte}
       |       ^^^^^^^^^^^^^^^^^^^^^^^^^^
       |
       = help: for example `op: gte` and `value: 0.8`

    error: unknown grader `zz`
      --> suite.yaml:11:20
       |
    11 |     - {metric_key: zz, opp: gte}
       |                    ^^ expected `a`

    error: a gate has no field `opp`
      --> suite.yaml:11:24
       |
    11 |     - {metric_key: zz, opp: gte}
       |                        ^^^
       |
       = help: did you mean `op`?

    error: `condition` must be a mapping, not a number
      --> suite.yaml:12:7
       |
    12 |     - 5
       |       ^
    "###);
    insta::assert_snapshot!(check("name: s\ndataset: d.jsonl\ngraders:\n  a: {kind: tool, function: contains}\ngate: 3\nreward: {kind: metric, metric_key: zz}\n"), @r###"
    error: `gate` must be a mapping, not a number
     --> suite.yaml:5:7
      |
    5 | gate: 3
      |       ^

    error: a suite has a `gate` or a `reward`, not both
     --> suite.yaml:6:1
      |
    6 | reward: {kind: metric, metric_key: zz}
      | ^^^^^^

    error: unknown grader `zz`
     --> suite.yaml:6:36
      |
    6 | reward: {kind: metric, metric_key: zz}
      |                                    ^^ expected `a`
    "###);
    insta::assert_snapshot!(check("name: s\ndataset: d.jsonl\ngraders:\n  a: {kind: tool, function: contains}\nreward: {kind: custom, function: a.py:f}\n"), @r###"
    error: rewards written in Python are not available in this version
     --> suite.yaml:5:16
      |
    5 | reward: {kind: custom, function: a.py:f}
      |                ^^^^^^
    "###);
    insta::assert_snapshot!(check("name: s\ndataset: d.jsonl\ngraders:\n  a: {kind: tool, function: contains}\nreward: {metric_key: a}\n"), @r###"
    error: the reward has no `kind`
     --> suite.yaml:5:1
      |
    5 | reward: {metric_key: a}
      | ^^^^^^
      |
      = help: write `kind: metric`
    "###);
}

#[test]
fn extends_and_variables_are_checked() {
    insta::assert_snapshot!(check("extends: suite.yaml\n"), @r###"
    error: this suite extends itself: `suite.yaml` → `suite.yaml`
     --> suite.yaml:1:10
      |
    1 | extends: suite.yaml
      |          ^^^^^^^^^^
    "###);
    insta::assert_snapshot!(check("extends: circle.yaml\n"), @r###"
    error: this suite extends itself: `suite.yaml` → `circle.yaml` → `suite.yaml`
     --> circle.yaml:1:10
      |
    1 | extends: suite.yaml
      |          ^^^^^^^^^^
    "###);
    insta::assert_snapshot!(check("extends: ./x/../suite.yaml\n"), @r###"
    error: this suite extends itself: `suite.yaml` → `suite.yaml`
     --> suite.yaml:1:10
      |
    1 | extends: ./x/../suite.yaml
      |          ^^^^^^^^^^^^^^^^^
    "###);
    insta::assert_snapshot!(check("extends: nowhere.yaml\n"), @r###"
    error: there is no file `nowhere.yaml`
     --> suite.yaml:1:10
      |
    1 | extends: nowhere.yaml
      |          ^^^^^^^^^^^^
    "###);
    insta::assert_snapshot!(check("extends: [a]\n"), @r###"
    error: `extends` must be text, not a list
     --> suite.yaml:1:10
      |
    1 | extends: [a]
      |          ^^^
    "###);
    insta::assert_snapshot!(check("extends: base/wrong.yaml\nname: t\n"), @r###"
    error: the dataset's format does not show in its name
     --> base/wrong.yaml:1:10
      |
    1 | dataset: d.txt
      |          ^^^^^
      |
      = help: name it .jsonl, .ndjson, .json or .csv, or write `dataset: {path: …, format: jsonl}`

    error: there is no file `base/no.txt`
     --> base/wrong.yaml:2:42
      |
    2 | graders: {a: {kind: rubric, prompt_path: no.txt}}
      |                                          ^^^^^^
    "###);
    insta::assert_snapshot!(check("extends: empty.yaml\n"), @r###"
    error: the file is empty
    --> empty.yaml
     = help: a minimal suite has `name: my-suite`, `dataset: dataset.jsonl` and `graders: {accuracy: {kind: tool, function: contains}}`
    "###);
    insta::assert_snapshot!(check("name: s\ndataset: d.jsonl\ngraders:\n  a: {kind: tool, function: contains}\ndescription: ${NOPE}\nsample_tags: [\"${OPEN\", \"${bad name}\"]\n"), @r###"
    error: the environment variable `NOPE` is not set
     --> suite.yaml:5:14
      |
    5 | description: ${NOPE}
      |              ^^^^^^^
      |
      = help: set it, or give a default: `${NOPE:-default}`; `$${` stands for a literal `${`

    error: this `${` is never closed
     --> suite.yaml:6:16
      |
    6 | sample_tags: ["${OPEN", "${bad name}"]
      |                ^^
      |
      = help: `$${` stands for a literal `${`

    error: `${bad name}` does not name a variable
     --> suite.yaml:6:26
      |
    6 | sample_tags: ["${OPEN", "${bad name}"]
      |                          ^^^^^^^^^^^
      |
      = help: write `${NAME}` or `${NAME:-default}`; `$${` stands for a literal `${`
    "###);
    insta::assert_snapshot!(check("name: s\ndataset: d.jsonl\ngraders:\n  q:\n    kind: rubric\n    prompt: |\n      First line\n      then ${NOPE} here\n"), @r###"
    error: the environment variable `NOPE` is not set
     --> suite.yaml:8:12
      |
    8 |       then ${NOPE} here
      |            ^^^^^^^
      |
      = help: set it, or give a default: `${NOPE:-default}`; `$${` stands for a literal `${`
    "###);
}
