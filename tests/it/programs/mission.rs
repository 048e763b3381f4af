//! Graders as pages about the inline protocol show them: in every form of every language, in suites and without one.
#![expect(
    clippy::disallowed_methods,
    reason = "tests compile programs, link folders and look what is installed"
)]

use std::process::Command;

use serde_json::{Value, json};

use super::{all_verdicts, executable, run};
use crate::judge::{Answer, Judge};
use crate::space::{Ran, Space, has, jsonl};

/// With a type that is imported and a function beside it.
const FIRST: &str = r"
import type { Grader } from '@plaited/agent-eval-harness/schemas'

export const grade: Grader = async ({ input, output, hint, trajectory, metadata }) => {
  const pass = isMet(output, hint)

  return {
    pass,
    score: pass ? 1.0 : 0.0,
    reasoning: pass ? 'It is met' : 'It is not met'
  }
}

const isMet = (output: string, hint?: string): boolean => {
  if (!hint) return true
  return output.toLowerCase().includes(hint.toLowerCase())
}
";

const HINT: &str = r"
export const grade: Grader = async ({ output, hint }) => {
  if (!hint) {
    return { pass: true, score: 1.0, reasoning: 'Nothing to look for' }
  }

  const contains = output.toLowerCase().includes(hint.toLowerCase())
  return {
    pass: contains,
    score: contains ? 1.0 : 0.0,
    reasoning: contains ? 'It has the hint' : 'It lacks the hint'
  }
}
";

const CRITERIA: &str = r"
export const grade: Grader = async ({ output, hint, trajectory }) => {
  let score = 0
  const reasons: string[] = []

  if (hint && output.toLowerCase().includes(hint.toLowerCase())) {
    score += 0.4
    reasons.push('expected content')
  }

  const hasErrors = trajectory?.some(s =>
    s.type === 'tool_call' && s.status === 'error'
  )
  if (!hasErrors) {
    score += 0.3
    reasons.push('no errors')
  }

  const toolCount = trajectory?.filter(s => s.type === 'tool_call').length ?? 0
  if (toolCount <= 5) {
    score += 0.3
    reasons.push(`${toolCount} tools`)
  }

  return {
    pass: score >= 0.7,
    score,
    reasoning: reasons.join('; ') || 'nothing'
  }
}
";

const METADATA: &str = r"
export const grade: Grader = async ({ output, hint, metadata }) => {
  const category = (metadata?.category as string) ?? 'general'
  const difficulty = (metadata?.difficulty as string) ?? 'medium'

  if (category === 'code') {
    const hasCodeBlock = /```[\s\S]*?```/.test(output)
    if (!hasCodeBlock) {
      return { pass: false, score: 0.0, reasoning: 'Code wants a block' }
    }
  } else if (category === 'web-search') {
    const hasSources = /source:/i.test(output) || /https?:\/\//.test(output)
    if (!hasSources) {
      return { pass: false, score: 0.5, reasoning: 'No source' }
    }
  }

  const baseScore = hint ? (output.toLowerCase().includes(hint.toLowerCase()) ? 1.0 : 0.0) : 1.0
  const threshold = difficulty === 'hard' ? 0.9 : difficulty === 'easy' ? 0.6 : 0.7

  return {
    pass: baseScore >= threshold,
    score: baseScore,
    reasoning: `${category}, ${difficulty}`
  }
}
";

const TRAJECTORY: &str = r"
export const grade: Grader = async ({ trajectory }) => {
  const toolCalls = trajectory?.filter(s => s.type === 'tool_call') ?? []
  const usedWrite = toolCalls.some(t => t.name === 'Write')
  const usedRead = toolCalls.some(t => t.name === 'Read')

  if (!usedWrite || !usedRead) {
    return {
      pass: false,
      score: 0.0,
      reasoning: `Missing: ${!usedWrite ? 'Write' : ''} ${!usedRead ? 'Read' : ''}`
    }
  }

  return { pass: true, score: 1.0, reasoning: 'Read and Write' }
}
";

const GRADERS: [(&str, &str); 5] = [
    ("first", FIRST),
    ("hint", HINT),
    ("criteria", CRITERIA),
    ("metadata", METADATA),
    ("trajectory", TRAJECTORY),
];

const PYTHON: &str = r#"#!/usr/bin/env python3
import json
import sys

data = json.load(sys.stdin)
output = data.get("output", "").lower()
hint = (data.get("hint") or "").lower()
found = hint in output if hint else True
print(json.dumps({"pass": found, "score": 1.0 if found else 0.0, "reasoning": "It has the hint" if found else "It lacks the hint"}))
"#;

const SHELL: &str = r#"#!/bin/bash
given=$(cat)
hint=${given#*'"hint":"'} output=${given#*'"output":"'}
hint=${hint%%'"'*} output=${output%%'"'*}
if [[ "${output,,}" == *"${hint,,}"* ]]
then echo '{"pass": true, "score": 1.0, "reasoning": "It has the hint"}'
else echo '{"pass": false, "score": 0.0, "reasoning": "It lacks the hint"}'
fi
"#;

const C: &str = r#"
#include <stdio.h>
#include <string.h>

static char given[1 << 16];

int main(void) {
    given[fread(given, 1, sizeof given - 1, stdin)] = 0;
    char *hint = strstr(given, "\"hint\":\"") + 8, *output = strstr(given, "\"output\":\"") + 10;
    *strchr(hint, '"') = 0;
    *strchr(output, '"') = 0;
    int found = strcasestr(output, hint) != NULL;
    printf("{\"pass\":%s,\"score\":%d,\"reasoning\":\"It %s the hint\"}", found ? "true" : "false", found, found ? "has" : "lacks");
    return 0;
}
"#;

fn call(name: &str, status: &str) -> Value {
    json!({"type": "tool_call", "name": name, "status": status, "timestamp": 1})
}

/// Records for suites and for `grade`: one that satisfies everybody, one without a trajectory, one with many calls.
fn rows() -> String {
    let said = |text: &str| json!({"type": "message", "content": text, "timestamp": 2});
    let found = "It is DARIO AMODEI. Source: his page";
    let many: Vec<Value> =
        (0..6).map(|_| call("Read", "completed")).chain([said("```four```")]).collect();
    jsonl([
        json!({
            "id": "found", "input": "Who leads it?", "hint": "Dario Amodei", "output": found,
            "trajectory": [call("Read", "completed"), call("Write", "completed"), said(found)],
            "metadata": {"category": "web-search", "difficulty": "hard"},
        }),
        json!({
            "id": "lacking", "input": ["What", "and where?"], "hint": "Paris", "output": "Rome",
            "metadata": {"category": "web-search"},
        }),
        json!({
            "id": "many", "input": "2 + 2?", "hint": "four", "output": "```four```",
            "trajectory": many, "metadata": {"category": "code", "difficulty": "easy"},
        }),
    ])
}

/// A grader as it is written without types.
fn untyped(text: &str) -> String {
    let types = [": Grader", " as string", ": string[]", "?: string", ": string", ": boolean"];
    let text =
        text.replace("import type { Grader } from '@plaited/agent-eval-harness/schemas'", "");
    types.iter().fold(text, |text, kind| text.replace(kind, ""))
}

/// Runs a command where everything that is installed is found.
fn with_path(space: &Space, args: &[&str]) -> Ran {
    let mut command = space.command(args);
    command.env("PATH", std::env::var_os("PATH").unwrap());
    Ran(command.output().unwrap())
}

const EXPECTED: &str = "\
first: 1.0 true It is met
first: 0.0 false It is not met
first: 1.0 true It is met
hint: 1.0 true It has the hint
hint: 0.0 false It lacks the hint
hint: 1.0 true It has the hint
criteria: 1.0 true expected content; no errors; 2 tools
criteria: 0.6 false no errors; 0 tools
criteria: 0.7 true expected content; no errors
metadata: 1.0 true web-search, hard
metadata: 0.5 false No source
metadata: 1.0 true code, easy
trajectory: 1.0 true Read and Write
trajectory: 0.0 false Missing: Write Read
trajectory: 0.0 false Missing: Write
";

/// The words of each line.
fn words(text: &str) -> Vec<Vec<&str>> {
    text.lines().map(|line| line.split_whitespace().collect()).collect()
}

/// Runs all graders in one form: the ending of their names, and a `package.json` beside them if any.
fn check_modules(ending: &str, package: Option<&str>) {
    for runtime in ["node", "bun", "deno"] {
        if !has(runtime) {
            continue;
        }
        // What a grader says of passing counts, whatever the suite thinks of scores.
        let settings = format!("runtime: {runtime}, extractor: final_output");
        let graders: String = GRADERS
            .iter()
            .map(|(name, _)| {
                let threshold = if *name == "criteria" { 0.2 } else { 1.0 };
                format!("  {name}: {{kind: program, path: graders/{name}.{ending}, pass_threshold: {threshold}, {settings}}}\n")
            })
            .collect();
        let suite = format!("name: s\ndataset: rows.jsonl\ngraders:\n{graders}");
        let space = Space::new(&[("suite.yaml", &suite), ("rows.jsonl", &rows())]);
        for (name, text) in GRADERS {
            let text = match ending {
                "ts" => text.to_owned(),
                "cjs" => untyped(text).replace("export const grade", "exports.grade"),
                _ => untyped(text),
            };
            space.write(&format!("graders/{name}.{ending}"), text);
        }
        if let Some(package) = package {
            space.write("graders/package.json", package);
        }
        let args = ["run", "suite.yaml", "--quiet"];
        let ran = with_path(&space, &args);
        assert_eq!(ran.code(), 0, "{runtime} {ending}: {}", ran.shown());
        let verdicts = all_verdicts(&space, &GRADERS.map(|(name, _)| name));
        assert_eq!(words(&verdicts), words(EXPECTED), "{runtime} {ending}");
        with_path(&space, &args);
        assert_eq!(GRADERS.map(|(name, _)| space.actions(name)[0]), [0; 5], "{runtime} {ending}");
    }
}

#[test]
fn typescript_grades() {
    check_modules("ts", None);
}

#[test]
fn javascript_with_imports_grades() {
    check_modules("mjs", None);
    check_modules("js", Some(r#"{"type": "module"}"#));
}

#[test]
fn javascript_of_which_nobody_says_what_it_is_grades() {
    check_modules("js", None);
    check_modules("cjs", None);
}

/// What a grader gives the three records without a suite: pass and score.
fn graded(space: &Space, grader: &str) -> Vec<Value> {
    let ran = with_path(space, &["grade", "rows.jsonl", "--grader", grader]);
    assert_eq!(ran.code(), 0, "{grader}: {}", ran.shown());
    let score = |line: &str| serde_json::from_str::<Value>(line).unwrap()["score"].clone();
    ran.stdout().lines().map(score).collect()
}

#[test]
fn modules_grade_without_a_suite() {
    if !has("node") {
        return;
    }
    let space = Space::new(&[("rows.jsonl", &rows())]);
    for (name, text) in GRADERS {
        for (file, text) in
            [(format!("{name}.ts"), text.to_owned()), (format!("{name}.mjs"), untyped(text))]
        {
            space.write(&file, text);
            let scores = graded(&space, &format!("./{file}"));
            let told: String = scores
                .iter()
                .map(|score| {
                    format!(
                        "{name}: {:?} {} {}\n",
                        score["score"].as_f64().unwrap(),
                        score["pass"],
                        score["reasoning"].as_str().unwrap()
                    )
                })
                .collect();
            let prefix = format!("{name}: ");
            let expected: String =
                EXPECTED.split_inclusive('\n').filter(|line| line.starts_with(&prefix)).collect();
            assert_eq!(words(&told), words(&expected), "{file}");
        }
    }
    // Records are handed over as they are written: what one calls an error is one.
    let failed = [call("Read", "completed"), call("Write", "error")];
    space.write(
        "rows.jsonl",
        jsonl([json!({"input": "q", "output": "four", "hint": "four", "trajectory": failed})]),
    );
    let expected = json!({"pass": true, "score": 0.7, "reasoning": "expected content; 2 tools"});
    assert_eq!(graded(&space, "./criteria.ts"), [expected]);
}

/// Checks an executable that looks for the hint, in a suite and without one.
fn check_executable(space: &Space, path: &str) {
    executable(space, path);
    space.write("rows.jsonl", rows());
    space.write(
        "suite.yaml",
        format!(
            "name: s\ndataset: rows.jsonl\ngraders:\n  hint: {{kind: program, path: {path}}}\n"
        ),
    );
    run(space, &[], 0);
    let expected: Vec<&str> =
        EXPECTED.lines().filter_map(|line| line.strip_prefix("hint: ")).collect();
    assert_eq!(super::verdicts(space, "hint"), expected, "{path}");
    run(space, &[], 0);
    assert_eq!(space.actions("hint"), [0, 3, 0, 0], "{path}");
    let pass = graded(space, &format!("./{path}"))
        .iter()
        .map(|score| score["pass"].clone())
        .collect::<Vec<_>>();
    assert_eq!(pass, [true, false, true], "{path}");
}

#[test]
fn scripts_grade() {
    for (file, text, interpreter) in
        [("grader.py", PYTHON, "python3"), ("grader.sh", SHELL, "bash")]
    {
        if has(interpreter) {
            check_executable(&Space::new(&[(file, text)]), file);
        }
    }
}

#[test]
fn a_compiled_program_grades() {
    if !has("cc") {
        return;
    }
    let space = Space::new(&[("grader.c", C)]);
    let source = space.path("grader.c");
    let built = Command::new("cc")
        .args(["-D_GNU_SOURCE", "-o"])
        .args([space.path("grader"), source])
        .output()
        .unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    check_executable(&space, "grader");
}

/// A judge with a library of npm, made once for all calls.
const JUDGE: &str = r#"
import Anthropic from '@anthropic-ai/sdk'
import type { Grader } from '@plaited/agent-eval-harness/schemas'

const client = new Anthropic()

export const grade: Grader = async ({ input, output, hint }) => {
  const response = await client.messages.create({
    model: 'claude-sonnet-4-20250514',
    max_tokens: 256,
    messages: [{
      role: 'user',
      content: `Task: ${Array.isArray(input) ? input.join(' → ') : input}
${hint ? `Expected: ${hint}` : ''}
Output: ${output}

Was it done? Respond as JSON only: {"pass": true/false, "score": 0.0-1.0, "reasoning": "why"}`
    }]
  })

  const text = response.content[0]?.type === 'text' ? response.content[0].text : ''

  try {
    return JSON.parse(text.match(/\{[\s\S]*\}/)?.[0] ?? '{}')
  } catch {
    return { pass: false, score: 0, reasoning: 'No JSON' }
  }
}
"#;

const KEY: &str = "sk-ant-0123456789abcdef";

/// Says that the task of Rome was not done, and gives no JSON for sums.
fn anthropic() -> Judge {
    Judge::new(|_, asked| {
        let bearer = asked.header("authorization").and_then(|text| text.strip_prefix("Bearer "));
        let key = asked.header("x-api-key").or(bearer);
        assert_eq!((asked.path.as_str(), key), ("/v1/messages", Some(KEY)));
        let prompt = asked.prompt();
        let text = if prompt.contains("2 + 2") {
            "{well}"
        } else if prompt.contains("Output: Rome") {
            assert!(prompt.starts_with("Task: What → and where?\nExpected: Paris\n"), "{prompt}");
            r#"I say {"pass": false, "score": 0.25, "reasoning": "It is Rome"}"#
        } else {
            r#"{"pass": true, "score": 0.75, "reasoning": "It is he"}"#
        };
        let body = json!({
            "id": "msg_1", "type": "message", "role": "assistant", "model": "scripted-1",
            "content": [{"type": "text", "text": text}],
            "stop_reason": "end_turn", "stop_sequence": null,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        });
        let headers = vec![("content-type", "application/json".to_owned())];
        Answer::Http(200, headers, body.to_string())
    })
}

/// Packages come from the folder that `EVALRS_TEST_NODE_MODULES` names, where `npm install @anthropic-ai/sdk` put them.
#[test]
fn a_model_judges_by_its_makers_own_library() {
    let Some(packages) = std::env::var_os("EVALRS_TEST_NODE_MODULES") else {
        use std::io::Write;
        let _ = writeln!(std::io::stderr(), "skipped: EVALRS_TEST_NODE_MODULES is not set");
        return;
    };
    if !has("node") {
        return;
    }
    let space = Space::new(&[
        (
            "suite.yaml",
            "\
name: s
dataset: rows.jsonl
graders:
  judge: {kind: program, path: judge.ts, extractor: final_output, env: [ANTHROPIC_API_KEY, ANTHROPIC_BASE_URL]}
",
        ),
        ("rows.jsonl", &rows()),
        ("judge.ts", JUDGE),
    ]);
    std::os::unix::fs::symlink(packages, space.path("node_modules")).unwrap();
    let judge = anthropic();
    // Where its server is decides grades like any variable that is named, and is none of the key's secrets.
    let url = judge.root();
    let asked = |args: &[&str]| {
        let mut command = space.command(args);
        command.env("ANTHROPIC_API_KEY", KEY).env("ANTHROPIC_BASE_URL", &url);
        let ran = Ran(command.output().unwrap());
        assert_eq!(ran.code(), 0, "{}", ran.shown());
        judge.count()
    };
    let args = ["run", "suite.yaml", "--quiet"];
    assert_eq!(asked(&args), 3);
    insta::assert_snapshot!(all_verdicts(&space, &["judge"]), @r"
    judge: 0.75 true It is he
    judge: 0.25 false It is Rome
    judge: 0.0 false No JSON
    ");
    assert_eq!(asked(&args), 3, "the second run asks nothing");
    assert_eq!(space.actions("judge"), [0, 3, 0, 0]);
    assert!(!space.stored_lines().concat().contains(KEY));
}
