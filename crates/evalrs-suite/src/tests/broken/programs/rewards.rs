//! Broken functions of Python, rewards and expressions.

use super::*;

#[test]
fn python_functions_are_checked() {
    insta::assert_snapshot!(graders("a: {kind: tool, function: grade.py}\n  b: {kind: tool, function: grade.py:f, config: {x: 1}, timeout: -1}\n  c: {kind: tool, function: grade.ts}\n  d: {kind: tool, function: grade.py:2f, inputs: x}\n  e: {kind: tool, function: contains, extractor: e.py}\n  f: {kind: tool, function: contains, extractor: e.py:f, extractor_options: {timeuot: 3}}\n  g: {kind: tool, function: contains, extractor_options: {timeout: 3}}\n  h: {kind: tool, function: contains, extractor: e.py:f, extractor_options: 3}\n"), @r###"
    error: `grade.py` is a file, not a function
     --> suite.yaml:4:29
      |
    4 |   a: {kind: tool, function: grade.py}
      |                             ^^^^^^^^
      |
      = help: write `grade.py:NAME`

    error: functions of Python files have no `config`
     --> suite.yaml:5:41
      |
    5 |   b: {kind: tool, function: grade.py:f, config: {x: 1}, timeout: -1}
      |                                         ^^^^^^
      |
      = help: write it into the file, or into the `metadata` of the rows

    error: `timeout` must be more than 0 and at most 86400 seconds
     --> suite.yaml:5:66
      |
    5 |   b: {kind: tool, function: grade.py:f, config: {x: 1}, timeout: -1}
      |                                                                  ^^

    error: `grade.ts` is a file, not a grading function
     --> suite.yaml:6:29
      |
    6 |   c: {kind: tool, function: grade.ts}
      |                             ^^^^^^^^
      |
      = help: write `kind: program` and `path: grade.ts`

    error: `2f` is not the name of a Python function
     --> suite.yaml:7:29
      |
    7 |   d: {kind: tool, function: grade.py:2f, inputs: x}
      |                             ^^^^^^^^^^^
      |
      = help: write `file.py:NAME`

    error: `e.py` is a file, not a function
     --> suite.yaml:8:50
      |
    8 |   e: {kind: tool, function: contains, extractor: e.py}
      |                                                  ^^^^
      |
      = help: write `e.py:NAME`

    error: `extractor_options` has no field `timeuot`
     --> suite.yaml:9:78
      |
    9 |   f: {kind: tool, function: contains, extractor: e.py:f, extractor_options: {timeuot: 3}}
      |                                                                              ^^^^^^^
      |
      = help: did you mean `timeout`?

    error: `extractor_options` applies to extractors written in Python
      --> suite.yaml:10:39
       |
    10 |   g: {kind: tool, function: contains, extractor_options: {timeout: 3}}
       |                                       ^^^^^^^^^^^^^^^^^
       |
       = help: the options of `last_assistant` are under `extractor_config`

    error: `extractor_options` must be a mapping, not a number
      --> suite.yaml:11:77
       |
    11 |   h: {kind: tool, function: contains, extractor: e.py:f, extractor_options: 3}
       |                                                                             ^
    "###);
}

#[test]
fn rewards_are_checked() {
    insta::assert_snapshot!(graders("q: {kind: tool, function: contains}\nreward: {kind: custom, function: rewards.py, timeout: 5}\n"), @r###"
    error: `rewards.py` is a file, not a function
     --> suite.yaml:5:34
      |
    5 | reward: {kind: custom, function: rewards.py, timeout: 5}
      |                                  ^^^^^^^^^^
      |
      = help: write `rewards.py:NAME`
    "###);
    insta::assert_snapshot!(graders("q: {kind: tool, function: contains}\nreward: {kind: custom, fnction: rewards.py:f}\n"), @r###"
    error: a custom reward needs a `function`
     --> suite.yaml:5:1
      |
    5 | reward: {kind: custom, fnction: rewards.py:f}
      | ^^^^^^
      |
      = help: for example `function: rewards.py:compose`

    error: a reward has no field `fnction`
     --> suite.yaml:5:24
      |
    5 | reward: {kind: custom, fnction: rewards.py:f}
      |                        ^^^^^^^
      |
      = help: did you mean `function`?
    "###);
    insta::assert_snapshot!(graders("q: {kind: tool, function: contains}\nreward: {function: rewards.py:f}\n"), @r###"
    error: the reward has no `kind`
     --> suite.yaml:5:1
      |
    5 | reward: {function: rewards.py:f}
      | ^^^^^^
      |
      = help: write `kind: custom`
    "###);
    insta::assert_snapshot!(graders("q: {kind: tool, function: contains}\nreward: 0.5\n"), @r###"
    error: this expression does not name a grader: every sample would have the same score
     --> suite.yaml:5:9
      |
    5 | reward: 0.5
      |         ^^^
      |
      = help: for example `combine: 0.7*quality + 0.3*policy`
    "###);
    insta::assert_snapshot!(graders("q: {kind: tool, function: contains}\nreward: [q]\n"), @r###"
    error: `reward` must be a mapping or an expression, not a list
     --> suite.yaml:5:9
      |
    5 | reward: [q]
      |         ^^^
      |
      = help: for example `reward: 0.7*quality + 0.3*policy`
    "###);
    insta::assert_snapshot!(graders("q: {kind: tool, function: contains}\nreward: {kind: combine}\n"), @r###"
    error: a combining grader needs an expression, `combine`
     --> suite.yaml:5:1
      |
    5 | reward: {kind: combine}
      | ^^^^^^
      |
      = help: for example `combine: 0.7*quality + 0.3*policy`
    "###);
    insta::assert_snapshot!(graders("q: {kind: tool, function: contains}\n  reward: {kind: tool, function: contains}\nreward: q\n"), @r###"
    error: a grader is already named `reward`, the name of this section's score
     --> suite.yaml:6:1
      |
    6 | reward: q
      | ^^^^^^
      |
      = help: give the grader another name
    "###);
    insta::assert_snapshot!(graders("q: {kind: tool, function: contains}\nreward: {combine: q, extractor: last_assistant}\n"), @r"
    error: a reward has no field `extractor`
     --> suite.yaml:5:22
      |
    5 | reward: {combine: q, extractor: last_assistant}
      |                      ^^^^^^^^^
      |
      = help: known fields: `kind`, `display_name`, `pass_threshold`, `only`, `combine`
    ");
    insta::assert_snapshot!(graders("q: {kind: tool, function: contains}\nreward: {kind: sum}\n"), @r###"
    error: unknown kind `sum`
     --> suite.yaml:5:16
      |
    5 | reward: {kind: sum}
      |                ^^^ expected `metric`, `custom` or `combine`
    "###);
}

#[test]
fn expressions_are_checked() {
    insta::assert_snapshot!(graders("quality: {kind: tool, function: contains}\n  tone-of-voice: {kind: tool, function: contains}\n  a: {kind: combine, combine: 0.7*qualty + 0.3*other}\n  b: {kind: combine, combine: quality + a}\n  c: {kind: combine, combine: \"2 * tone\"}\n  d: {kind: combine, combine: quality +* 2}\n  e: {kind: combine, combine: (quality}\n  f: {kind: combine, combine: 1 - 0.5}\n  g: {kind: combine, comine: quality}\n  h: {kind: combine, combine: quality, extractor: last_assistant, pass_threshold: 2}\n"), @r#"
    error: unknown grader `qualty`
     --> suite.yaml:6:35
      |
    6 |   a: {kind: combine, combine: 0.7*qualty + 0.3*other}
      |                                   ^^^^^^ expected `quality` or `tone-of-voice`
      |
      = help: did you mean `quality`?

    error: unknown grader `other`
     --> suite.yaml:6:48
      |
    6 |   a: {kind: combine, combine: 0.7*qualty + 0.3*other}
      |                                                ^^^^^ expected `quality` or `tone-of-voice`

    error: `a` is itself combined from other scores
     --> suite.yaml:7:41
      |
    7 |   b: {kind: combine, combine: quality + a}
      |                                         ^
      |
      = help: name the graders that it combines

    error: unknown grader `tone`
     --> suite.yaml:8:36
      |
    8 |   c: {kind: combine, combine: "2 * tone"}
      |                                    ^^^^
      |
      = help: put the name in quotes: `'tone-of-voice'`

    error: `*` is not expected here
     --> suite.yaml:9:40
      |
    9 |   d: {kind: combine, combine: quality +* 2}
      |                                        ^

    error: this `(` is never closed
      --> suite.yaml:10:31
       |
    10 |   e: {kind: combine, combine: (quality}
       |                               ^

    error: this expression does not name a grader: every sample would have the same score
      --> suite.yaml:11:31
       |
    11 |   f: {kind: combine, combine: 1 - 0.5}
       |                               ^^^^^^^
       |
       = help: for example `combine: 0.7*quality + 0.3*policy`

    error: a combining grader needs an expression, `combine`
      --> suite.yaml:12:3
       |
    12 |   g: {kind: combine, comine: quality}
       |   ^
       |
       = help: for example `combine: 0.7*quality + 0.3*policy`

    error: a combining grader has no field `comine`
      --> suite.yaml:12:22
       |
    12 |   g: {kind: combine, comine: quality}
       |                      ^^^^^^
       |
       = help: did you mean `combine`?

    error: a combining grader has no field `extractor`
      --> suite.yaml:13:40
       |
    13 |   h: {kind: combine, combine: quality, extractor: last_assistant, pass_threshold: 2}
       |                                        ^^^^^^^^^
       |
       = help: known fields: `kind`, `display_name`, `pass_threshold`, `only`, `combine`

    error: `pass_threshold` must be between 0 and 1
      --> suite.yaml:13:83
       |
    13 |   h: {kind: combine, combine: quality, extractor: last_assistant, pass_threshold: 2}
       |                                                                                   ^
    "#);
    insta::assert_snapshot!(graders("quality: {kind: tool, function: contains}\nreward: >\n  0.7*quality +\n  0.3*polcy\n"), @r###"
    error: unknown grader `polcy`
     --> suite.yaml:7:7
      |
    7 |   0.3*polcy
      |       ^^^^^ expected `quality`
    "###);
    insta::assert_snapshot!(graders("quality: {kind: tool, function: contains}\nreward: quality +\n"), @r###"
    error: the expression ends too early
     --> suite.yaml:5:18
      |
    5 | reward: quality +
      |                  ^
    "###);
    insta::assert_snapshot!(graders("quality: {kind: tool, function: contains}\nreward: ${SECRET}\n"), @r###"
    error: `reward` is set to an unknown grader
     --> suite.yaml:5:9
      |
    5 | reward: ${SECRET}
      |         ^^^^^^^^^ expected `quality`
    "###);
    insta::assert_snapshot!(graders("quality: {kind: tool, function: contains}\ngate: {metric_key: reward, op: gt, value: 0.5}\n"), @r###"
    error: unknown grader `reward`
     --> suite.yaml:5:20
      |
    5 | gate: {metric_key: reward, op: gt, value: 0.5}
      |                    ^^^^^^ expected `quality`
    "###);
}
