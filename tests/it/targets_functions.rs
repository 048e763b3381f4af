//! Functions as targets, and as what answers the tool calls of a chat: in both languages, and as executables.
#![cfg(unix)]

use serde_json::{Value, json};

use crate::judge::{Answer, Judge};
use crate::programs::executable;
use crate::space::{Space, has};

const DATA: &str =
    "{\"id\":\"a\",\"input\":\"six times seven\",\"ground_truth\":\"42 a six times seven\"}\n";
const GRADERS: &str = "graders:\n  ok: {kind: tool, function: exact_match, extractor: last_assistant}\ngate: {metric_key: ok, op: gte, value: 1.0}\n";

#[test]
fn a_function_of_either_language_is_a_target_sync_or_async() {
    for (runtime, path, text) in [
        (
            "python3",
            "agent.py:run",
            "def run(task):\n    return f\"42 {task['id']} {task['input']}\"\n",
        ),
        (
            "python3",
            "agent.py:go",
            "async def go(task):\n    return {'output': f\"42 {task['id']} {task['turns'][0]}\"}\n",
        ),
        (
            "python3",
            "agent.py:talk",
            "def talk(task):\n    return [{'role': 'user', 'content': 'x'}, {'role': 'assistant', 'content': f\"42 a {task['input']}\"}]\n",
        ),
        ("node", "agent.mjs", "export const run = (task) => `42 ${task.id} ${task.input}`\n"),
        (
            "node",
            "agent.mjs",
            "export async function run({ id, input }) { return { output: `42 ${id} ${input}` } }\n",
        ),
    ] {
        if !has(runtime) {
            continue;
        }
        let target = format!("target: {{kind: function, path: '{path}'}}\n");
        let suite = format!("name: s\ndataset: data.jsonl\n{target}{GRADERS}");
        let file = path.split(':').next().unwrap();
        let space = Space::new(&[("suite.yaml", &suite), ("data.jsonl", DATA), (file, text)]);
        let ran = space.run(&["run", "suite.yaml"]);
        assert_eq!(ran.code(), 0, "{path}: {}", ran.shown());
        let replayed = space.run(&["run", "suite.yaml", "--offline"]);
        assert_eq!(replayed.code(), 0, "{path}: {}", replayed.shown());
        space.write(file, text.replace("42", "41"));
        let edited = space.run(&["run", "suite.yaml"]);
        assert_eq!(edited.code(), 1, "another function is another answer: {}", edited.shown());
    }
}

#[test]
fn a_module_without_the_function_says_so_and_a_function_that_raises_fails_its_sample() {
    if !has("node") || !has("python3") {
        return;
    }
    for (path, text, expected) in [
        ("agent.mjs", "export const go = 1\n", "Target module must export a 'run' function"),
        ("agent.py:run", "def run(task):\n    raise KeyError('sku')\n", "KeyError: 'sku'"),
        ("agent.py:run", "def run(task):\n    return None\n", "it gave nothing"),
    ] {
        let target = format!("target: {{kind: function, path: '{path}'}}\n");
        let suite = format!("name: s\ndataset: data.jsonl\n{target}{GRADERS}");
        let file = path.split(':').next().unwrap();
        let space = Space::new(&[("suite.yaml", &suite), ("data.jsonl", DATA), (file, text)]);
        let ran = space.run(&["run", "suite.yaml"]);
        let shown = ran.shown();
        assert!(ran.code() >= 2 && shown.contains(expected), "{expected}: {shown}");
    }
}

#[test]
fn tools_are_answered_by_modules_and_executables_too() {
    for (runtime, program, file, text, expected) in [
        (
            "node",
            "tools.mjs",
            "tools.mjs",
            "export const tool = ({ name, arguments: given }) => [name, given.x]\n",
            "[\"look\",1]",
        ),
        (
            "node",
            "tools.mjs",
            "tools.mjs",
            "export async function tool() { return 'plain' }\n",
            "plain",
        ),
        (
            "sh",
            "[./tools.sh]",
            "tools.sh",
            "#!/bin/sh\ncat >/dev/null\nprintf 'two\\nlines'\n",
            "two\nlines",
        ),
        ("sh", "[./tools.sh]", "tools.sh", "#!/bin/sh\nexit 0\n", ""),
        (
            "sh",
            "[./tools.sh]",
            "tools.sh",
            "#!/bin/sh\necho broken >&2\nexit 3\n",
            "Error: Tool exited with code 3: broken",
        ),
    ] {
        if !has(runtime) {
            continue;
        }
        let judge = Judge::new(|at, _| {
            if at > 0 {
                return Answer::text("42 a six times seven");
            }
            let call = json!({"id": "c", "type": "function", "function": {"name": "look", "arguments": "{\"x\":1}"}});
            Answer::completion(json!({"content": null, "tool_calls": [call]}), "tool_calls")
        });
        let target = format!(
            "target: {{kind: chat, model: m, base_url: '{}', tools: [{{name: look}}], tool_program: {program}}}\n",
            judge.url()
        );
        let suite = format!("name: s\ndataset: data.jsonl\n{target}{GRADERS}");
        let space = Space::new(&[("suite.yaml", &suite), ("data.jsonl", DATA), (file, text)]);
        executable(&space, file);
        let ran = space.run(&["run", "suite.yaml"]);
        assert_eq!(ran.code(), 0, "{program}: {}", ran.shown());
        let told: &Value = &judge.asked()[1].body["messages"][2]["content"];
        assert_eq!(told, expected, "{program}");
    }
}
