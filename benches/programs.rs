//! Programs of the user, against the plain loop over the same function in the same runtime: `cargo bench --bench
//! programs`.
//!
//! 10,000 rows go through a function of Python and through a module of JavaScript; evalrs loads the suite, plans, calls
//! the function in workers, keeps every result on disk, folds and writes the record of the run. The plain loop reads
//! the same rows, calls the function, and writes a line for each. Executables stand against `xargs -P` over the same
//! program, and an interpreter for each sample against the worker. All take turns, each in a process of its own; what
//! is told is the median of the turns.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a bench measures the outside"
)]

use std::fmt::Write as _;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

/// Rows that go through a worker.
const ROWS: usize = 10_000;
/// Rows for which a process is started each.
const SPAWNED: usize = 500;
/// How often each is measured.
const TURNS: usize = 3;

/// How much of the reference's words an answer has, and of its own are in the reference.
const PYTHON: &str = "\
import re


def overlap(sample, submission):
    said = re.findall(r'\\w+', submission.lower())
    wanted = re.findall(r'\\w+', sample.ground_truth.lower())
    both = len(set(said) & set(wanted))
    score = 2 * both / (len(set(said)) + len(set(wanted)))
    return {'score': score, 'rationale': f'{both} words in common'}
";

const PYTHON_LOOP: &str = "\
import json
import types

from graders import overlap

with open('data.jsonl') as rows, open('out.jsonl', 'w') as out:
    for row in rows:
        row = json.loads(row)
        sample = types.SimpleNamespace(**row)
        out.write(json.dumps(overlap(sample, row['output'])) + '\\n')
";

const JAVASCRIPT: &str = "\
export const grade = ({ output, hint }) => {
  const words = text => new Set(text.toLowerCase().match(/\\w+/g) ?? [])
  const [said, wanted] = [words(output), words(hint)]
  const both = [...said].filter(word => wanted.has(word)).length
  const score = (2 * both) / (said.size + wanted.size)
  return { pass: score >= 0.5, score, reasoning: `${both} words in common` }
}
";

const JAVASCRIPT_LOOP: &str = "\
import { createReadStream, createWriteStream } from 'node:fs'
import { createInterface } from 'node:readline'
import { grade } from './grader.mjs'

const out = createWriteStream('out.jsonl')
for await (const line of createInterface({ input: createReadStream('data.jsonl') })) {
  const row = JSON.parse(line)
  out.write(JSON.stringify(grade({ ...row, hint: row.ground_truth })) + '\\n')
}
";

/// Reads its input and answers, as a compiled program would: a shell starts in a millisecond.
const EXECUTABLE: &str = "#!/bin/sh\ncat > /dev/null\necho '{\"pass\": true, \"score\": 1}'\n";

/// An interpreter for each sample.
const SCRIPT: &str = "\
#!/usr/bin/env python3
import json, sys, types
sys.path.insert(0, '.')
from graders import overlap
given = json.loads(sys.stdin.read() or '{}')
result = overlap(types.SimpleNamespace(ground_truth=given.get('hint', 'accepted')), given.get('output', 'is accepted'))
print(json.dumps({'pass': result['score'] >= 0.5, 'score': result['score']}))
";

fn rows(count: usize) -> String {
    let mut rows = String::new();
    for at in 0..count {
        let answer =
            "Your return is accepted on the next working day and the refund follows. ".repeat(4);
        let reference =
            "The return is accepted on the next working day; the refund follows within five days.";
        writeln!(
            rows,
            "{{\"id\": \"s{at}\", \"input\": \"What happens to order {at}?\", \"ground_truth\": \"{reference}\", \"output\": \"{answer}({at})\"}}"
        )
        .unwrap();
    }
    rows
}

fn folder(count: usize) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("data.jsonl", &rows(count));
    write("graders.py", PYTHON);
    write("loop.py", PYTHON_LOOP);
    write("grader.mjs", JAVASCRIPT);
    write("loop.mjs", JAVASCRIPT_LOOP);
    for (name, text) in [("grader.sh", EXECUTABLE), ("grader.py", SCRIPT)] {
        write(name, text);
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(folder.path().join(name), mode).unwrap();
    }
    folder
}

/// Seconds that a command takes in `folder`.
fn seconds(folder: &Path, program: &str, args: &[&str]) -> f64 {
    let start = Instant::now();
    let status = Command::new(program)
        .args(args)
        .current_dir(folder)
        .stdout(Stdio::null())
        .status()
        .unwrap();
    assert!(status.success(), "{program} {args:?}");
    start.elapsed().as_secs_f64()
}

/// Seconds that evalrs takes with an empty store; the dependencies of the grader are not known either.
fn evaluated(folder: &Path, grader: &str) -> f64 {
    let suite = format!("name: bench\ndataset: data.jsonl\ngraders:\n  g: {grader}\n");
    std::fs::write(folder.join("suite.yaml"), suite).unwrap();
    let _ = std::fs::remove_dir_all(folder.join("cache"));
    seconds(folder, env!("CARGO_BIN_EXE_evalrs"), &["run", "suite.yaml", "--quiet"])
}

/// The medians of both in turns.
fn medians(mut ours: impl FnMut() -> f64, mut theirs: impl FnMut() -> f64) -> [f64; 2] {
    let mut turns: Vec<[f64; 2]> = (0..TURNS).map(|_| [ours(), theirs()]).collect();
    [0, 1].map(|side| {
        turns.sort_by(|left, right| left[side].total_cmp(&right[side]));
        turns[TURNS / 2][side]
    })
}

fn told(name: &str, count: usize, [ours, theirs]: [f64; 2]) {
    println!(
        "{name:<34} {:>8.0} {:>8.0} {:>7.2}",
        count as f64 / ours,
        count as f64 / theirs,
        ours / theirs
    );
}

fn has(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).exists())
}

fn main() {
    println!("{:<34} {:>8} {:>8} {:>7}", "grades a second", "evalrs", "plain", "ratio");
    let many = folder(ROWS);
    let folder_of_many = many.path();
    if has("python3") {
        let grader = "{kind: tool, function: 'graders.py:overlap'}";
        let both = medians(
            || evaluated(folder_of_many, grader),
            || seconds(folder_of_many, "python3", &["loop.py"]),
        );
        told("Python function", ROWS, both);
    }
    if has("node") {
        let grader = "{kind: program, path: grader.mjs, runtime: node}";
        let both = medians(
            || evaluated(folder_of_many, grader),
            || seconds(folder_of_many, "node", &["loop.mjs"]),
        );
        told("JavaScript module", ROWS, both);
    }
    let few = folder(SPAWNED);
    let few = few.path();
    // The program alone, without a shell that would hand it a file.
    let spawned = |program: &str| {
        let script = format!("seq {SPAWNED} | xargs -P2 -n1 ./{program}");
        seconds(few, "sh", &["-c", &script])
    };
    let both =
        medians(|| evaluated(few, "{kind: program, path: grader.sh}"), || spawned("grader.sh"));
    told("executable, against xargs -P2", SPAWNED, both);
    if has("python3") {
        let both = medians(
            || evaluated(few, "{kind: tool, function: 'graders.py:overlap'}"),
            || spawned("grader.py"),
        );
        told("worker, against a process a sample", SPAWNED, both);
    }
}
