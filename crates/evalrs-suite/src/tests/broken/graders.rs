//! Broken datasets, targets and graders.

use super::*;

#[cfg(not(feature = "parquet"))]
#[test]
fn parquet_is_refused_by_builds_without_it() {
    insta::assert_snapshot!(check("name: s\ndataset: d.parquet\ngraders: {a: {kind: tool, function: contains}}\n"), @r"
    error: this build of evalrs does not read Parquet: `cargo install` it with `--features parquet`
     --> suite.yaml:2:10
      |
    2 | dataset: d.parquet
      |          ^^^^^^^^^
      |
      = help: or write it as JSON Lines, as `duckdb` does: `COPY 'rows.parquet' TO 'rows.jsonl'`
    ");
}

#[test]
fn datasets_and_targets_are_checked() {
    insta::assert_snapshot!(check("name: s\ndataset: {path: d.jsonl, format: jsnl, fields: {idd: x, input: 5}}\ngraders: {a: {kind: tool, function: contains}}\n"), @r"
    error: unknown format `jsnl`
     --> suite.yaml:2:34
      |
    2 | dataset: {path: d.jsonl, format: jsnl, fields: {idd: x, input: 5}}
      |                                  ^^^^ expected `jsonl`, `ndjson`, `json`, `csv`, `tsv`, `yaml` or `yml`
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
    ");
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
    insta::assert_snapshot!(check("name: s\ndataset: d.jsonl\ngraders:\n  a: {kind: tool, function: contains}\ntarget: {kind: recorder}\n"), @r"
    error: unknown target kind `recorder`
     --> suite.yaml:5:16
      |
    5 | target: {kind: recorder}
      |                ^^^^^^^^
      |
      = help: did you mean `recorded`?
    ");
    insta::assert_snapshot!(check("name: s\ndataset: d.jsonl\ngraders:\n  a: {kind: tool, function: contains}\ntarget: {path: x}\n"), @r###"
    error: the target has no `kind`
     --> suite.yaml:5:1
      |
    5 | target: {path: x}
      | ^^^^^^
      |
      = help: `kind: recorded` grades recorded results
    "###);
    insta::assert_snapshot!(check("name: s\ndataset: d.jsonl\ngraders:\n  a: {kind: tool, function: contains}\ntarget: t.jsonl\n"), @r###"
    error: `target` must be a mapping, not text
     --> suite.yaml:5:9
      |
    5 | target: t.jsonl
      |         ^^^^^^^
    "###);
    insta::assert_snapshot!(check("name: s\ndataset: d.jsonl\ngraders:\n  a: {kind: tool, function: contains}\ntarget: {kind: recorded, format: lettta, paht: t}\n"), @"
    error: unknown format `lettta`
     --> suite.yaml:5:34
      |
    5 | target: {kind: recorded, format: lettta, paht: t}
      |                                  ^^^^^^
      |
      = help: did you mean `letta`?

    error: a recorded target has no field `paht`
     --> suite.yaml:5:42
      |
    5 | target: {kind: recorded, format: lettta, paht: t}
      |                                          ^^^^
      |
      = help: did you mean `path`?
    ");
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
    insta::assert_snapshot!(check("name: s\ndataset: d.jsonl\ngraders:\n  a: {kind: toool, function: contains}\n  b: {kind: tool, function: contians}\n  c: {kind: tool, function: contains, extractor: last_asistant}\n"), @r"
    error: unknown grader kind `toool`
     --> suite.yaml:4:13
      |
    4 |   a: {kind: toool, function: contains}
      |             ^^^^^ expected `tool`, `rubric`, `model_judge`, `letta_judge`, `similarity`, `program`, `recorded_votes` or `combine`
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
    ");
    insta::assert_snapshot!(check("name: s\ndataset: d.jsonl\ngraders:\n  c: {kind: letta_judge, prompt: x}\n"), @r###"
    error: a grader of kind `letta_judge` needs an `agent_file`
     --> suite.yaml:4:13
      |
    4 |   c: {kind: letta_judge, prompt: x}
      |             ^^^^^^^^^^^
      |
      = help: export a judge from your Letta server, and write `agent_file: judge.af`
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

    error: `ground_truth_pattern` is not a valid pattern: a group is not closed
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
    insta::assert_snapshot!(check("name: s\ndataset: d.jsonl\ngraders:\n  a: {kind: tool, function: json_schema, extractor_config: [1]}\n  b: {kind: tool, function: contains, rubric_vars: [a]}\n"), @r"
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
      = help: known fields: `kind`, `display_name`, `extractor_config`, `extractor`, `extractor_options`, `pass_threshold`, `ground_truth`, `not`, `only`, `ground_truth_pattern`, `include_subagents`, `config`, `function`
    ");
}
