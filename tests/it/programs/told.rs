//! What programs do without being asked to declare it, and where they fail: what is said of it, and when.

use super::{executable, results, run};
use crate::space::{Space, has};

const ROW: &str = "{\"id\":\"a\",\"input\":\"q\",\"output\":\"b\"}\n";

fn space(grader: &str, files: &[(&str, &str)]) -> Space {
    let suite = format!("name: s\ndataset: rows.jsonl\ngraders:\n  g: {{{grader}}}\n");
    let space = Space::new(&[("suite.yaml", &suite), ("rows.jsonl", ROW)]);
    for (path, text) in files {
        space.write(path, text);
        if text.starts_with("#!") {
            executable(&space, path);
        }
    }
    space
}

#[test]
fn a_file_that_nobody_declared_is_told_of_once_it_has_changed() {
    let python = "def grade(sample, submission):\n    return float(open('rules.txt').read())\n";
    let node = "import { readFileSync } from 'node:fs'\nexport const grade = () => ({ pass: true, score: Number(readFileSync('rules.txt', 'utf8')) })\n";
    for (runtime, grader, file, text) in [
        ("python3", "kind: tool, function: 'g.py:grade'", "g.py", python),
        ("node", "kind: program, path: g.mjs, runtime: node", "g.mjs", node),
    ] {
        if !has(runtime) {
            continue;
        }
        let space = space(grader, &[(file, text), ("rules.txt", "0.25")]);
        let warned = |args: &[&str]| {
            let told = run(&space, args, 0).stderr();
            (
                told.contains("reads `rules.txt`"),
                told.contains("has read `rules.txt`, which has changed since"),
            )
        };
        assert_eq!(warned(&[]), (true, false), "{runtime}");
        assert_eq!(warned(&[]), (false, false), "{runtime}");
        space.write("rules.txt", "0.75");
        for _ in 0..2 {
            assert_eq!(warned(&[]), (false, true), "{runtime}");
            assert_eq!(space.actions("g")[0], 0);
        }
        assert_eq!(warned(&["--refresh"]), (true, false), "{runtime}");
        assert_eq!(warned(&[]), (false, false), "{runtime}");
        assert_eq!(results(&space)[0]["grades"]["g"]["score"].to_string(), "0.75");
    }
}
