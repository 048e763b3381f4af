//! Broken programs and rewards.

mod rewards;

use super::check;

/// What is said of a suite with these graders, the first one indented already.
fn graders(rest: &str) -> String {
    check(&format!("name: s\ndataset: d.jsonl\ngraders:\n  {rest}"))
}

#[test]
fn programs_are_checked() {
    insta::assert_snapshot!(graders("a: {kind: program}\n  b: {kind: program, script: b.py}\n  c: {kind: program, function: c.py:f}\n  d: {kind: program, path: python d.py}\n  e: {kind: program, path: e.ts:check}\n  f: {kind: program, path: 'f.py:'}\n  g: {kind: program, path: g.py:a-b}\n  h: {path: h.py}\n"), @r###"
    error: a program grader needs a `path`
     --> suite.yaml:4:3
      |
    4 |   a: {kind: program}
      |   ^
      |
      = help: for example `path: graders/policy.py`

    error: a program grader has no field `script`
     --> suite.yaml:5:22
      |
    5 |   b: {kind: program, script: b.py}
      |                      ^^^^^^
      |
      = help: write `path: b.py`

    error: a program grader has no field `function`
     --> suite.yaml:6:22
      |
    6 |   c: {kind: program, function: c.py:f}
      |                      ^^^^^^^^
      |
      = help: write `path: c.py:f`

    error: `path` is one file, not a command line
     --> suite.yaml:7:28
      |
    7 |   d: {kind: program, path: python d.py}
      |                            ^^^^^^^^^^^
      |
      = help: write `path: d.py` and `runtime: python`

    error: evalrs always calls `grade` of a module
     --> suite.yaml:8:28
      |
    8 |   e: {kind: program, path: e.ts:check}
      |                            ^^^^^^^^^^
      |
      = help: write `path: e.ts`

    error: `f.py` is a file, not a function
     --> suite.yaml:9:28
      |
    9 |   f: {kind: program, path: 'f.py:'}
      |                            ^^^^^^^
      |
      = help: write `f.py:NAME`

    error: `a-b` is not the name of a Python function
      --> suite.yaml:10:28
       |
    10 |   g: {kind: program, path: g.py:a-b}
       |                            ^^^^^^^^
       |
       = help: write `file.py:NAME`

    error: the grader `h` has no `kind`
      --> suite.yaml:11:3
       |
    11 |   h: {path: h.py}
       |   ^
       |
       = help: write `kind: program`
    "###);
    insta::assert_snapshot!(graders("a: {kind: program, path: p, timeot: 3, timeout: 0}\n  b: {kind: program, path: p, timeout: 90000, runtime: node --flag}\n  c: {kind: program, path: p, inputs: [1, a], cwd: 3}\n  c2: {kind: program, path: p, inputs: [\"\"]}\n  d: {kind: program, path: p, cache: maybe, deterministic: chek}\n  e: {kind: program, path: p, cache: no, deterministic: check}\n  f: {kind: program, path: p, deterministic: false}\n"), @r###"
    error: a program grader has no field `timeot`
     --> suite.yaml:4:31
      |
    4 |   a: {kind: program, path: p, timeot: 3, timeout: 0}
      |                               ^^^^^^
      |
      = help: did you mean `timeout`?

    error: `timeout` must be more than 0 seconds
     --> suite.yaml:4:51
      |
    4 |   a: {kind: program, path: p, timeot: 3, timeout: 0}
      |                                                   ^

    error: `timeout` must be more than 0 and at most 86400 seconds
     --> suite.yaml:5:40
      |
    5 |   b: {kind: program, path: p, timeout: 90000, runtime: node --flag}
      |                                        ^^^^^

    error: `runtime` is one program, without arguments
     --> suite.yaml:5:56
      |
    5 |   b: {kind: program, path: p, timeout: 90000, runtime: node --flag}
      |                                                        ^^^^^^^^^^^
      |
      = help: write `runtime: node`

    error: an item of `inputs` must be text, not a number
     --> suite.yaml:6:40
      |
    6 |   c: {kind: program, path: p, inputs: [1, a], cwd: 3}
      |                                        ^
      |
      = help: put the value in quotes

    error: `cwd` must be text, not a number
     --> suite.yaml:6:52
      |
    6 |   c: {kind: program, path: p, inputs: [1, a], cwd: 3}
      |                                                    ^
      |
      = help: put the value in quotes

    error: an item of `inputs` is empty
     --> suite.yaml:7:41
      |
    7 |   c2: {kind: program, path: p, inputs: [""]}
      |                                         ^^
      |
      = help: name a file, a folder, or a pattern such as `data/*.json`

    error: `cache` must be `true` or `false`, not text
     --> suite.yaml:8:38
      |
    8 |   d: {kind: program, path: p, cache: maybe, deterministic: chek}
      |                                      ^^^^^

    error: `deterministic` must be `true` or `check`
     --> suite.yaml:8:60
      |
    8 |   d: {kind: program, path: p, cache: maybe, deterministic: chek}
      |                                                            ^^^^
      |
      = help: write `deterministic: check` to run it twice for some samples

    error: a program with `cache: false` runs every time: nothing to check
     --> suite.yaml:9:42
      |
    9 |   e: {kind: program, path: p, cache: no, deterministic: check}
      |                                          ^^^^^^^^^^^^^
      |
      = help: keep one

    error: `deterministic` must be `true` or `check`
      --> suite.yaml:10:46
       |
    10 |   f: {kind: program, path: p, deterministic: false}
       |                                              ^^^^^
       |
       = help: a program whose results vary needs `cache: false`
    "###);
}

#[test]
fn variables_and_sandboxes_are_checked() {
    insta::assert_snapshot!(graders("a: {kind: program, path: p, env: {TOKEN: my-very-secret}}\n  b: {kind: program, path: p, env: [TOKEN=my-very-secret, my-very-secret, \"\", OK]}\n  c: {kind: program, path: p, env: 3}\n  d: {kind: program, path: p, env: \"my token\"}\n"), @r###"
    error: `env` must be a list of names, not a mapping
     --> suite.yaml:4:31
      |
    4 |   a: {kind: program, path: p, env: {TOKEN: **************}}
      |                               ^^^
      |
      = help: write `env: [TOKEN]`: their values come from the environment or from `.env`

    error: `env` names variables and does not set them
     --> suite.yaml:5:37
      |
    5 |   b: {kind: program, path: p, env: [********************, **************, **, OK]}
      |                                     ^^^^^^^^^^^^^^^^^^^^
      |
      = help: write `TOKEN`; their values come from the environment or from `.env`

    error: this is not the name of an environment variable
     --> suite.yaml:5:59
      |
    5 |   b: {kind: program, path: p, env: [********************, **************, **, OK]}
      |                                                           ^^^^^^^^^^^^^^
      |
      = help: write names alone, for example `env: [OPENAI_API_KEY]`; their values come from the environment or from `.env`

    error: this is not the name of an environment variable
     --> suite.yaml:5:75
      |
    5 |   b: {kind: program, path: p, env: [********************, **************, **, OK]}
      |                                                                           ^^
      |
      = help: write names alone, for example `env: [OPENAI_API_KEY]`; their values come from the environment or from `.env`

    error: `env` must be a list of texts, not a number
     --> suite.yaml:6:36
      |
    6 |   c: {kind: program, path: p, env: 3}
      |                                    ^

    error: this is not the name of an environment variable
     --> suite.yaml:7:36
      |
    7 |   d: {kind: program, path: p, env: **********}
      |                                    ^^^^^^^^^^
      |
      = help: write names alone, for example `env: [OPENAI_API_KEY]`; their values come from the environment or from `.env`
    "###);
    insta::assert_snapshot!(graders("a: {kind: program, path: p, env: [{SALT: my-very-secret}, {b c: secret}]}\n  b: {kind: program, path: p, env: [TOKEN, {TOKEN: plain}]}\n  c: {kind: program, path: p, env: [{}, [A]]}\n"), @r###"
    error: `SALT` must be `secret` or `plain`
     --> suite.yaml:4:44
      |
    4 |   a: {kind: program, path: p, env: [{SALT: **************}, {b c: secret}]}
      |                                            ^^^^^^^^^^^^^^
      |
      = help: write `{SALT: secret}` to keep its value out of keys; their values come from the environment or from `.env`

    error: this is not the name of an environment variable
     --> suite.yaml:4:62
      |
    4 |   a: {kind: program, path: p, env: [{SALT: **************}, {b c: secret}]}
      |                                                              ^^^

    error: `TOKEN` is both `secret` and `plain`
     --> suite.yaml:5:36
      |
    5 |   b: {kind: program, path: p, env: [TOKEN, {TOKEN: plain}]}
      |                                    ^^^^^^^^^^^^^^^^^^^^^^^
      |
      = help: name it once

    error: an item of `env` is empty
     --> suite.yaml:6:37
      |
    6 |   c: {kind: program, path: p, env: [{}, [A]]}
      |                                     ^^
      |
      = help: write `NAME` or `{NAME: secret}`

    error: an item of `env` must be text, not a list
     --> suite.yaml:6:41
      |
    6 |   c: {kind: program, path: p, env: [{}, [A]]}
      |                                         ^^^
      |
      = help: put the value in quotes
    "###);
    insta::assert_snapshot!(graders("a: {kind: program, path: p, sandbox: true}\n  b: {kind: program, path: p, sandbox: bubblewarp}\n  c: {kind: program, path: p, sandbox: {memory: 512, cpus: 3}}\n  d: {kind: program, path: p, sandbox: {kind: docker, memory: lots, cpu: 0}}\n  e: {kind: program, path: p, sandbox: {kind: auto, memory: [1]}}\n  f: {kind: tool, function: contains, sandbox: auto}\nsandbox: on\n"), @r"
    error: `sandbox` must be `none`, `auto` or `bubblewrap`, not true or false
     --> suite.yaml:4:40
      |
    4 |   a: {kind: program, path: p, sandbox: true}
      |                                        ^^^^
      |
      = help: write `sandbox: auto`

    error: unknown sandbox `bubblewarp`
     --> suite.yaml:5:40
      |
    5 |   b: {kind: program, path: p, sandbox: bubblewarp}
      |                                        ^^^^^^^^^^ expected `none`, `auto` or `bubblewrap`
      |
      = help: did you mean `bubblewrap`?

    error: `sandbox` has no `kind`
     --> suite.yaml:6:31
      |
    6 |   c: {kind: program, path: p, sandbox: {memory: 512, cpus: 3}}
      |                               ^^^^^^^
      |
      = help: write `kind: none`, `kind: auto` or `kind: bubblewrap`

    error: `memory` must be at least 1 MB
     --> suite.yaml:6:49
      |
    6 |   c: {kind: program, path: p, sandbox: {memory: 512, cpus: 3}}
      |                                                 ^^^
      |
      = help: give a unit, for example `memory: 512MB`

    error: `sandbox` has no field `cpus`
     --> suite.yaml:6:54
      |
    6 |   c: {kind: program, path: p, sandbox: {memory: 512, cpus: 3}}
      |                                                      ^^^^
      |
      = help: did you mean `cpu`?

    error: unknown kind `docker`
     --> suite.yaml:7:47
      |
    7 |   d: {kind: program, path: p, sandbox: {kind: docker, memory: lots, cpu: 0}}
      |                                               ^^^^^^ expected `none`, `auto` or `bubblewrap`

    error: `memory` is not an amount of memory
     --> suite.yaml:7:63
      |
    7 |   d: {kind: program, path: p, sandbox: {kind: docker, memory: lots, cpu: 0}}
      |                                                               ^^^^
      |
      = help: for example `memory: 512MB` or `memory: 2GiB`

    error: `cpu` must be a whole number of seconds, 1 to 86400
     --> suite.yaml:7:74
      |
    7 |   d: {kind: program, path: p, sandbox: {kind: docker, memory: lots, cpu: 0}}
      |                                                                          ^

    error: `memory` must be an amount of memory, not a list
     --> suite.yaml:8:61
      |
    8 |   e: {kind: program, path: p, sandbox: {kind: auto, memory: [1]}}
      |                                                             ^^^
      |
      = help: for example `memory: 512MB`

    error: a tool grader has no field `sandbox`
     --> suite.yaml:9:39
      |
    9 |   f: {kind: tool, function: contains, sandbox: auto}
      |                                       ^^^^^^^
      |
      = help: known fields: `kind`, `display_name`, `extractor_config`, `extractor`, `extractor_options`, `pass_threshold`, `ground_truth`, `not`, `only`, `ground_truth_pattern`, `include_subagents`, `config`, `function`

    error: unknown sandbox `on`
      --> suite.yaml:10:10
       |
    10 | sandbox: on
       |          ^^ expected `none`, `auto` or `bubblewrap`
    ");
}
