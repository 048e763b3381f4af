//! Broken gates, bases and variables.

use super::*;

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
      |                ^^^^^^^
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

    warning: `pass_op` has no effect without `pass_value`
     --> suite.yaml:5:47
      |
    5 | gate: {metric: accuracy, op: gte, value: 900, pass_op: gt}
      |                                               ^^^^^^^
    "###);
    insta::assert_snapshot!(check("name: s\ndataset: d.jsonl\ngraders:\n  a: {kind: tool, function: contains}\ngate: {op: gte, value: 5, pass_value: 3}\n"), @r"
    warning[threshold-out-of-reach]: scores are between 0 and 1: no value passes this gate
     --> suite.yaml:5:24
      |
    5 | gate: {op: gte, value: 5, pass_value: 3}
      |                        ^
      |
      = help: scores of other scales are mapped to 0 to 1: 4 on a scale of 1 to 5 is 0.75

    error: `pass_value` must be between 0 and 1: it is compared with one score
     --> suite.yaml:5:39
      |
    5 | gate: {op: gte, value: 5, pass_value: 3}
      |                                       ^
    ");
    insta::assert_snapshot!(check("name: s\ndataset: d.jsonl\ngraders:\n  a: {kind: tool, function: contains}\n  b: {kind: tool, function: exact_match}\ngate: {op: gte, value: 0.5}\n"), @r###"
    warning: the gate does not name a grader: the first one, `a`, is used
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
      |
      = help: only a `reward` of `kind: combine` or `custom` can be used with a `gate`

    error: unknown grader `zz`
     --> suite.yaml:6:36
      |
    6 | reward: {kind: metric, metric_key: zz}
      |                                    ^^ expected `a`
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
    error: the file `nowhere.yaml` does not exist
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
    insta::assert_snapshot!(check("extends: base/wrong.yaml\nname: t\n"), @r"
    error: the dataset's name does not show its format
     --> base/wrong.yaml:1:10
      |
    1 | dataset: d.txt
      |          ^^^^^
      |
      = help: name it .jsonl, .json, .yaml, .csv or .tsv, perhaps with .gz or .zst behind it, or write `dataset: {path: …, format: jsonl}`

    error: the file `base/no.txt` does not exist
     --> base/wrong.yaml:2:42
      |
    2 | graders: {a: {kind: rubric, prompt_path: no.txt}}
      |                                          ^^^^^^
    ");
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
