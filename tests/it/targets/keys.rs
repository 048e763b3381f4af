//! What is in the key of a conversation and what is not, by which conversations are held again.

use std::collections::BTreeMap;

use evalrs_engine::session::Session;
use evalrs_engine::session::reload::ReloadResult;
use evalrs_graph::inputs::Overrides;
use evalrs_graph::{Database, answers};
use evalrs_system::changed_paths::ChangedPaths;
use evalrs_system::memory::MemorySystem;
use serde_json::{Value, json};

use super::conversations;
use crate::judge::{Answer, Judge};
use crate::letta::judge_file;
use crate::letta_server::{LettaServer, SyntaxReply};
use crate::space::{Ran, Space, has, jsonl};

const GRADERS: &str = "graders: {said: {kind: tool, function: contains}}\n";

fn suite(target: &str) -> String {
    format!("name: keys\ndataset: data.jsonl\ntarget: {target}\n{GRADERS}")
}

fn space(target: &str, rows: impl IntoIterator<Item = Value>) -> Space {
    Space::new(&[("suite.yaml", &suite(target)), ("data.jsonl", &jsonl(rows))])
}

/// Runs the suite: how many conversations were held.
#[track_caller]
fn held(space: &Space) -> u64 {
    let ran = space.run(&["run", "suite.yaml", "--quiet"]);
    assert!(ran.code() <= 1, "{}", ran.shown());
    let [_, _, asked, failed] = conversations(space);
    assert_eq!(failed, 0, "{}", ran.shown());
    asked
}

/// What was said to each sample, in the order of the rows.
fn said(space: &Space) -> Vec<String> {
    let results = space.record("results.jsonl");
    let lines = results.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.map(|line| line["submission"].as_str().unwrap().to_owned()).collect()
}

fn row(id: &str, input: &str) -> Value {
    json!({"id": id, "input": input, "ground_truth": id})
}

#[test]
fn whether_there_is_a_workspace_is_in_the_key() {
    let own = "kind: command, command: [pwd]";
    let space = space(&format!("{{{own}}}"), [row("a", "hi")]);
    assert_eq!(held(&space), 1);
    let folder = said(&space);
    for workspace in ["true", "{template: tpl}"] {
        space.write("tpl/a.txt", "a");
        space.write("suite.yaml", suite(&format!("{{{own}, workspace: {workspace}}}")));
        assert_eq!(held(&space), 1, "{workspace}");
        assert!(said(&space)[0].contains("/.evalrs/workspaces/process-"), "{:?}", said(&space));
    }
    // The same files without a copy of them, and then as it was at first.
    space.write("suite.yaml", suite(&format!("{{{own}, inputs: [tpl]}}")));
    assert_eq!(held(&space), 1);
    space.write("suite.yaml", suite(&format!("{{{own}, workspace: false}}")));
    assert_eq!(held(&space), 0);
    assert_eq!(said(&space), folder);
    // Whose folders stay is seen by nobody.
    for keep in ["never", "always"] {
        let workspace = format!("{{{own}, workspace: {{template: tpl, keep: {keep}}}}}");
        space.write("suite.yaml", suite(&workspace));
        assert_eq!(held(&space), 0, "{keep}");
    }
}

#[cfg(unix)]
#[test]
fn modes_and_empty_folders_of_a_template_are_in_the_key() {
    use std::os::unix::fs::PermissionsExt;
    let target = "{kind: command, command: [sh, -c, './tool.sh || echo no; ls'], workspace: {template: tpl}, inputs: [notes]}";
    let space = space(target, [row("a", "hi")]);
    let mode = |path: &str, mode: u32| {
        std::fs::set_permissions(space.path(path), std::fs::Permissions::from_mode(mode)).unwrap();
    };
    space.write("tpl/tool.sh", "#!/bin/sh\necho ran\n");
    space.write("notes/a.sh", "");
    assert_eq!(held(&space), 1);
    assert_eq!(said(&space), ["no\ntool.sh"]);
    mode("tpl/tool.sh", 0o755);
    assert_eq!(held(&space), 1);
    assert_eq!(said(&space), ["ran\ntool.sh"]);
    // What others may do is another matter on every machine; so is what may be done with an input that nobody copies.
    mode("tpl/tool.sh", 0o700);
    mode("notes/a.sh", 0o755);
    std::fs::create_dir(space.path("notes/empty")).unwrap();
    assert_eq!(held(&space), 0);
    std::fs::create_dir(space.path("tpl/empty")).unwrap();
    assert_eq!(held(&space), 1);
    assert_eq!(said(&space), ["ran\nempty\ntool.sh"]);
    std::fs::remove_dir(space.path("tpl/empty")).unwrap();
    assert_eq!(held(&space), 0);
    mode("tpl/tool.sh", 0o644);
    assert_eq!(held(&space), 0);
    assert_eq!(said(&space), ["no\ntool.sh"]);
    // A template of nothing but folders.
    std::fs::create_dir_all(space.path("bare/one")).unwrap();
    space.write("suite.yaml", suite(&target.replace("template: tpl", "template: bare")));
    assert_eq!(held(&space), 1);
    assert_eq!(said(&space), ["no\none"]);
}

#[test]
fn the_letta_server_that_is_asked_is_in_the_key() {
    let servers = ["first", "second"].map(|name| {
        LettaServer::new(move |_, text: &str| SyntaxReply::Text(format!("{name}: {text}")))
    });
    let space = space("{kind: letta_agent, agent_file: bot.af}", [row("a", "hi")]);
    space.write("bot.af", judge_file().to_string());
    let held = |base_url: &str| {
        let mut command = space.command(&["run", "suite.yaml", "--quiet"]);
        command.env("LETTA_BASE_URL", base_url);
        let ran = Ran(command.output().unwrap());
        assert!(ran.code() <= 1, "{}", ran.shown());
        (conversations(&space)[2], said(&space).remove(0))
    };
    let urls = servers.each_ref().map(LettaServer::url);
    assert_eq!(held(&urls[0]), (1, "first: hi".to_owned()));
    assert_eq!(held(&urls[1]), (1, "second: hi".to_owned()));
    // Nothing secret is in the key, and the suite may say the same.
    assert_eq!(held(&urls[0].replace("://", "://me:secret@")), (0, "first: hi".to_owned()));
    let target = format!("{{kind: letta_agent, agent_file: bot.af, base_url: '{}/'}}", urls[1]);
    space.write("suite.yaml", suite(&target));
    assert_eq!(held(&urls[0]), (0, "second: hi".to_owned()));
}

#[test]
fn metadata_that_no_request_holds_is_in_no_key() {
    let judge = Judge::new(|_, _| Answer::text("hi"));
    let url = judge.url();
    let rows = |more: Value| {
        let row = move |at: usize| {
            let mut row = row(&format!("s{at}"), &format!("q{at}"));
            row["metadata"] = json!({"locale": "de", "a": {"b": at}});
            row.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            row
        };
        jsonl((0..50).map(row))
    };
    let chat = format!("{{kind: chat, model: m, base_url: '{url}'}}");
    let body = "{q: '{input}', l: '{metadata.locale}', b: '{metadata.a.b}'}";
    let http = format!(
        "{{kind: http, url: '{url}/chat', body: {body}, answer: '$.choices[0].message.content'}}"
    );
    for target in [chat, http] {
        let space = space(&target, []);
        space.write("data.jsonl", rows(json!({})));
        assert_eq!(held(&space), 50, "{target}");
        for more in [
            json!({"stars": 5}),
            json!({"metadata": {"locale": "de", "a": {"b": 1}, "stars": 5}, "agent_args": {"x": 1}}),
            json!({"extra_vars": {"y": 2}, "rubric_vars": {"z": 3}}),
        ] {
            let is_other = more["metadata"].is_object() && target.contains("http,");
            space.write("data.jsonl", rows(more.clone()));
            // What placeholders name is in requests: of all rows but one `b` is another.
            assert_eq!(held(&space), if is_other { 49 } else { 0 }, "{target} {more}");
        }
        space.write("data.jsonl", rows(json!({"metadata": {"locale": "fr", "a": {"b": 1}}})));
        assert_eq!(held(&space), if target.contains("http,") { 50 } else { 0 }, "{target}");
    }
}

const ADAPTER: &str = r#"{"version": 1, "name": "a", "command": ["python3", "agent.py"], "sessionMode": "stream", "prompt": {"stdin": true}, "output": {"flag": "", "value": ""}, "outputEvents": [], "result": {"matchPath": "$.event", "matchValue": "end", "contentPath": "$.text"}}"#;

#[test]
fn layout_name_and_timeout_of_an_adapter_are_in_no_key() {
    if !has("python3") {
        return;
    }
    let space = space("{kind: headless, adapter: ./a.json}", [row("a", "hi")]);
    space.write("agent.py", "import json, sys\nprint(json.dumps({'event': 'end', 'text': sys.stdin.read().strip() + str(sys.argv[1:])}))\n");
    space.write("a.json", ADAPTER);
    assert_eq!(held(&space), 1);
    let mut adapter: Value = serde_json::from_str(ADAPTER).unwrap();
    space.write("a.json", serde_json::to_string_pretty(&adapter).unwrap());
    assert_eq!(held(&space), 0, "another layout and order");
    adapter["name"] = json!("b");
    adapter["timeout"] = json!(5000);
    space.write("a.json", adapter.to_string());
    assert_eq!(held(&space), 0, "another name and time limit");
    // A row that says more: nobody tells the agent.
    let mut more = row("a", "hi");
    more["metadata"] = json!({"stars": 5});
    space.write("data.jsonl", jsonl([more]));
    assert_eq!(held(&space), 0);
    adapter["autoApprove"] = json!(["--yes"]);
    space.write("a.json", adapter.to_string());
    assert_eq!(held(&space), 1);
    assert_eq!(said(&space), ["hi['--yes']"]);
}

#[test]
fn an_id_that_a_request_names_is_in_the_key() {
    let judge = Judge::new(|_, asked: &crate::judge::Asked| {
        Answer::text(asked.path.rsplit('/').next().unwrap_or_default())
    });
    let target = format!(
        "{{kind: http, url: '{}/users/{{id}}', body: {{q: '{{input}}'}}, answer: '$.choices[0].message.content'}}",
        judge.url()
    );
    let rows = ["alice", "bob"].map(|id| row(id, "my balance?"));
    let space = space(&target, rows);
    let ran = space.run(&["run", "suite.yaml", "--quiet"]);
    assert_eq!((ran.code(), ran.stderr().as_str()), (0, ""), "{}", ran.shown());
    assert_eq!(said(&space), ["alice", "bob"]);
    assert_eq!(held(&space), 0);
    // Where no request names it, one answer is for both.
    space.write("suite.yaml", suite(&target.replace("{id}", "all")));
    assert_eq!(held(&space), 1);
    assert_eq!(space.run(&["validate", "suite.yaml"]).stderr(), "");
}

const TELLS: &str = "import json, sys\nasked = json.load(sys.stdin)\nprint(asked['id'])\n";

#[test]
fn samples_that_share_a_conversation_though_their_ids_are_told_are_warned_of() {
    if !has("python3") {
        return;
    }
    let target = "{kind: command, command: [python3, tells.py]}";
    let rows = || ["alice", "bob", "carol"].map(|id| row(id, "my balance?"));
    let space = space(target, rows().into_iter().chain([row("dave", "bye")]));
    space.write("tells.py", TELLS);
    for command in ["validate", "plan", "run"] {
        let ran = space.run(&[command, "suite.yaml"]);
        let warned = ran.stderr().matches("warning[shared-conversation]").count();
        assert_eq!(warned, 1, "{command}: {}", ran.shown());
    }
    assert_eq!(said(&space), ["alice", "alice", "alice", "dave"]);
    insta::assert_snapshot!(space.run(&["validate", "suite.yaml"]).stderr(), @r"
    warning[shared-conversation]: the samples `alice` and `bob` share a conversation, and 1 other shares one too: they differ only by id, which the target receives but no key contains
     --> suite.yaml:3:34
      |
    3 | target: {kind: command, command: [python3, tells.py]}
      |                                  ^^^^^^^^^^^^^^^^^^^
      |
      = help: set `sees: [id]` in `target` if its answers depend on the id; if not, `allow: [shared-conversation]`
    ");
    // The id decides; so does any other.
    space.write("suite.yaml", suite(&target.replace('}', ", sees: [id]}")));
    let ran = space.run(&["run", "suite.yaml", "--quiet"]);
    assert_eq!((ran.code(), ran.stderr().as_str()), (0, ""), "{}", ran.shown());
    assert_eq!(said(&space), ["alice", "bob", "carol", "dave"]);
    space.write("data.jsonl", jsonl(rows().into_iter().chain([row("erin", "bye")])));
    assert_eq!(held(&space), 1);
    assert_eq!(space.run(&["run", "suite.yaml", "--frozen", "--quiet"]).code(), 0);
    // What is not evaluated shares nothing, nor do samples that say no id of their own, nor what is told no id.
    space.write("suite.yaml", suite(target));
    for args in [&["--sample", "bob", "--sample", "erin"][..], &["--max-samples", "1"]] {
        let ran = space.run(&[&["plan", "suite.yaml"], args].concat());
        assert_eq!(ran.stderr(), "", "{args:?}");
    }
    space.write("a.json", ADAPTER);
    let silent = |target: &str, rows: &[Value]| {
        space.write("suite.yaml", format!("allow: [threshold-always-met]\n{}", suite(target)));
        space.write("data.jsonl", jsonl(rows.iter().cloned()));
        space.run(&["validate", "suite.yaml"]).stderr()
    };
    let nameless = ["a", "b"].map(|truth| json!({"input": "hi", "ground_truth": truth}));
    assert_eq!(silent(target, &nameless), "");
    assert_eq!(silent("{kind: chat, model: m}", &rows()), "");
    assert_eq!(silent("{kind: headless, adapter: ./a.json}", &rows()), "");
    assert_eq!(silent("{kind: http, url: 'http://h', body: {q: '{input}'}}", &rows()), "");
    // One that is meant.
    space.write("suite.yaml", format!("allow: [shared-conversation]\n{}", suite(target)));
    assert_eq!(space.run(&["validate", "suite.yaml"]).stderr(), "");
}

#[test]
fn functions_and_tools_may_say_that_they_see_the_id() {
    if !has("python3") {
        return;
    }
    let rows = || ["alice", "bob"].map(|id| row(id, "my balance?"));
    let space = space("{kind: function, path: 'bot.py:run', sees: id}", rows());
    space.write("bot.py", "def run(sample):\n    return sample['id']\n");
    assert_eq!(held(&space), 2);
    assert_eq!(said(&space), ["alice", "bob"]);
    let judge = Judge::new(|_, asked: &crate::judge::Asked| {
        let messages = asked.body["messages"].as_array().unwrap();
        match messages.iter().find(|message| message["role"] == "tool") {
            Some(result) => Answer::text(result["content"].as_str().unwrap()),
            None => Answer::completion(
                json!({"role": "assistant", "content": null, "tool_calls": [
                    {"id": "c", "type": "function", "function": {"name": "who", "arguments": "{}"}}]}),
                "tool_calls",
            ),
        }
    });
    let chat = format!(
        "{{kind: chat, model: m, base_url: '{}', tools: [{{name: who}}], tool_program: 'bot.py:who'}}",
        judge.url()
    );
    space.write("bot.py", "def who(name, arguments, call):\n    return call['sample']\n");
    space.write("suite.yaml", suite(&chat));
    let ran = space.run(&["run", "suite.yaml", "--quiet"]);
    assert!(ran.stderr().contains("warning[shared-conversation]"), "{}", ran.shown());
    assert_eq!(said(&space)[0], said(&space)[1]);
    space.write("suite.yaml", suite(&chat.replace("tools:", "sees: [id], tools:")));
    assert_eq!(held(&space), 2);
    assert_eq!(said(&space), ["alice", "bob"]);
}

#[test]
fn an_edit_looks_again_at_the_rows_beside_it_alone() {
    let suite = |at: &str| suite(&format!("{{kind: http, url: 'http://h/{at}'}}"));
    let rows = |from: usize| jsonl((from..3_000).map(|at| row(&at.to_string(), &format!("q{at}"))));
    for (target, query) in [(suite("x"), "handed_digests"), (suite("{id}"), "conversations")] {
        let system = MemorySystem::with(&[("suite.yaml", &target), ("data.jsonl", &rows(1))]);
        let database = Database::recording();
        let mut session =
            Session::new(database, "suite.yaml", BTreeMap::new(), Overrides::default());
        assert_eq!(session.load(&system), []);
        let look = |session: &Session| {
            let chunks = session.chunks();
            for chunk in &chunks {
                let answers = answers::answers(&session.db, *chunk);
                assert!(format!("{answers:?}").contains("Pending"), "{answers:?}");
            }
            let ran = session.db.take_executed();
            (chunks.len(), ran.iter().filter(|name| *name == query).count())
        };
        let (chunks, ran) = look(&session);
        assert!(ran == chunks && chunks > 4, "{query}: {ran} of {chunks}");
        for (path, text, most) in [
            ("data.jsonl", rows(0), 2),
            ("suite.yaml", format!("{target}gate: {{metric_key: said, op: gte, value: 0.5}}\n"), 0),
        ] {
            system.set(path, text);
            let reloaded = session.reload(&system, &ChangedPaths::Any, None);
            assert!(matches!(reloaded, ReloadResult::Changed { .. }), "{reloaded:?}");
            let (_, ran) = look(&session);
            assert!(ran <= most, "{query}: {ran} for {path}");
        }
    }
}
