//! `evalrs mcp`: what it refuses to read, and that no reply commands a terminal. Its tools are tried by `tests/python`.
#![expect(clippy::disallowed_methods, reason = "tests touch their own files and start the binary")]

use std::fs::File;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::space::{Space, jsonl, lines};

const SUITE: &str = "\
name: \"shop\\e[31m\\u202e\"
dataset: data.jsonl
graders: {a: {kind: tool, function: contains}}
gate: {metric_key: a, op: gte, value: 0.5}
";

/// A workspace in `inside`, with a secret beside it.
fn space() -> Space {
    let row = json!({"id": "s", "input": "q", "output": "\u{1b}[2J\u{9b}31m\u{202e}", "ground_truth": "\u{1b}[1mx"});
    let files = [("inside/suite.yaml", SUITE), ("outside.yaml", "root:x:0:0 secret\n")];
    let space = Space::new(&files);
    space.write("inside/data.jsonl", jsonl([row]));
    space.write("inside/bad.yaml", SUITE.replace("contains", "\"c\\e[1m\\u202e\""));
    space.write("elsewhere/suite.yaml", "root:x:0:0 secret\n");
    space
}

/// What the server says to calls of tools.
fn replies(space: &Space, calls: &[(&str, Value)]) -> Vec<Value> {
    let asked = calls.iter().enumerate().map(|(id, (name, arguments))| {
        let params = json!({"name": name, "arguments": arguments});
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
    });
    space.write("calls", lines(asked));
    let mut command = space.command(&["mcp"]);
    let stdin = Stdio::from(File::open(space.path("calls")).unwrap());
    let done = command.current_dir(space.path("inside")).stdin(stdin).output().unwrap();
    let text = String::from_utf8(done.stdout).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[cfg(unix)]
#[test]
fn nothing_outside_of_its_folder_is_read() {
    let space = space();
    std::os::unix::fs::symlink("../outside.yaml", space.path("inside/link.yaml")).unwrap();
    std::os::unix::fs::symlink("../elsewhere", space.path("inside/folder")).unwrap();
    std::os::unix::fs::symlink("/etc", space.path("inside/etc")).unwrap();
    let absolute = space.path("outside.yaml").to_str().unwrap().to_owned();
    let inside = space.path("inside/suite.yaml").to_str().unwrap().to_owned();
    let suites = [
        "../outside.yaml",
        "../none.yaml",
        "none/../../outside.yaml",
        &absolute,
        "link.yaml",
        "folder/suite.yaml",
        "folder/none.yaml",
        "etc/passwd",
        "/dev/stdin",
    ];
    let tools = ["validate", "plan", "run", "explain", "diff"];
    let of_suites = suites.iter().flat_map(|suite| {
        tools.map(|tool| (tool, json!({"suite": suite, "sample": "s", "grader": "a"})))
    });
    let of_runs = ["../elsewhere", "folder", "folder@1", "/etc"].into_iter().flat_map(|run| {
        let suite = "suite.yaml";
        [json!({"suite": suite, "old": run}), json!({"suite": suite, "old": "latest", "new": run})]
            .map(|arguments| ("diff", arguments))
    });
    let calls: Vec<(&str, Value)> = of_suites.chain(of_runs).collect();
    let replies_given = replies(&space, &calls);
    assert_eq!(replies_given.len(), calls.len());
    for (reply, call) in replies_given.iter().zip(&calls) {
        let said =
            reply["error"]["message"].as_str().unwrap_or_else(|| panic!("{call:?}: {reply}"));
        assert!(said.contains("is outside the folder"), "{call:?}: {said}");
        assert!(!said.contains("secret") && !said.contains("root:"), "{call:?}: {said}");
    }
    for suite in ["suite.yaml", "./suite.yaml", &inside] {
        let reply = &replies(&space, &[("validate", json!({"suite": suite}))])[0];
        assert_eq!(reply["result"]["structuredContent"]["valid"], true, "{suite}: {reply}");
    }
}

#[test]
fn no_reply_commands_a_terminal() {
    let space = space();
    let evil = "\u{1b}[31mno\u{9b}1m\u{202e}";
    let mut calls = Vec::new();
    for suite in ["suite.yaml", "bad.yaml", "none.yaml", evil] {
        for tool in ["validate", "plan", "run", "run", "diff", evil] {
            calls.push((tool, json!({"suite": suite})));
        }
        calls.push(("explain", json!({"suite": suite, "sample": "s"})));
        calls.push(("explain", json!({"suite": suite, "sample": evil})));
        calls.push(("run", json!({"suite": suite, "samples": [evil], "graders": [evil]})));
    }
    calls.push(("list", json!({"what": evil})));
    calls.push(("list", json!({"what": "graders"})));
    let said = replies(&space, &calls);
    assert_eq!(said.len(), calls.len());
    for (reply, call) in said.iter().zip(&calls) {
        let mut texts = Vec::new();
        collect(reply, &mut texts);
        for text in texts {
            let commands =
                |char: char| (char.is_control() && !"\n\t\r".contains(char)) || char == '\u{202e}';
            assert!(!text.contains(commands), "{call:?}: {text:?}");
        }
    }
    let missing = said[20]["result"]["content"][0]["text"].as_str().unwrap();
    assert!(missing.starts_with("error: the file `none.yaml` does not exist"), "{missing}");
}

/// All texts of a value, names of members too.
fn collect<'v>(value: &'v Value, texts: &mut Vec<&'v str>) {
    match value {
        Value::String(text) => texts.push(text),
        Value::Array(items) => items.iter().for_each(|item| collect(item, texts)),
        Value::Object(members) => {
            for (name, member) in members {
                texts.push(name);
                collect(member, texts);
            }
        }
        _ => {}
    }
}
