//! `headless`: an agent's command line as a server, in conversations of JSON-RPC.
#![expect(clippy::needless_pass_by_value, reason = "parameters are written where they are sent")]

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, channel};

use serde_json::{Value, json};

use crate::headless::{CLAUDE, assert_gone, command, run};
use crate::judge::PATIENCE;
use crate::programs::executable;
use crate::space::{Running, Space, has};

/// A client of the server.
struct Client {
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    child: Option<Child>,
}

impl Client {
    fn new(space: &Space) -> Self {
        let mut command = command(space, &["headless", "-s", "claude-code"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let stdout = child.stdout.take().unwrap();
        let (send, lines) = channel();
        std::thread::spawn(move || {
            let lines = BufReader::new(stdout).lines().map_while(Result::ok);
            for line in lines {
                if send.send(line).is_err() {
                    break;
                }
            }
        });
        Self { stdin: child.stdin.take(), lines, child: Some(child) }
    }

    fn send(&mut self, line: &str) {
        writeln!(self.stdin.as_mut().unwrap(), "{line}").unwrap();
    }

    fn next(&self) -> Value {
        serde_json::from_str(&self.lines.recv_timeout(PATIENCE).unwrap()).unwrap()
    }

    /// The answer to a request, and what was told before it.
    fn ask(&mut self, method: &str, params: Value) -> (Value, Vec<Value>) {
        let request = json!({"jsonrpc": "2.0", "id": method, "method": method, "params": params});
        self.send(&request.to_string());
        let mut told = Vec::new();
        loop {
            let message = self.next();
            if message["id"] == method {
                return (message, told);
            }
            told.push(message["params"]["update"].clone());
        }
    }

    fn result(&mut self, method: &str, params: Value) -> Value {
        self.ask(method, params).0["result"].take()
    }

    fn session(&mut self) -> Value {
        self.result("session/new", json!({}))["sessionId"].take()
    }
}

fn space() -> Space {
    let space = Space::new(&[("bin/claude", CLAUDE)]);
    executable(&space, "bin/claude");
    space
}

fn prompt(session: &Value, text: &str) -> Value {
    json!({"sessionId": session, "prompt": [{"type": "text", "text": text}, {"type": "image"}]})
}

#[test]
fn an_agent_is_served() {
    if !has("python3") {
        return;
    }
    let space = space();
    let mut client = Client::new(&space);
    let capabilities = json!({"loadSession": true, "promptCapabilities": {"image": false}});
    let expected = json!({"protocolVersion": 1, "agentInfo": {"name": "claude-code", "version": "1.0.0"}, "agentCapabilities": capabilities});
    assert_eq!(client.result("initialize", json!({"protocolVersion": 1})), expected);
    let session = client.session();
    assert_eq!(client.result("session/load", json!({"sessionId": session}))["sessionId"], session);
    let (answer, told) = client.ask("session/prompt", prompt(&session, "tools"));
    assert_eq!(answer["result"], json!({"content": [{"type": "text", "text": "Done."}]}));
    let text = |kind: &str, text: &str| json!({"sessionUpdate": kind, "content": {"type": "text", "text": text}});
    let tool = |name: &str, status: &str| json!({"sessionUpdate": "agent_tool_call", "toolCall": {"name": name, "status": status}});
    let expected = [
        text("agent_thought_chunk", "two files"),
        text("agent_message_chunk", "I read both."),
        tool("Read", "pending"),
        tool("Read", "pending"),
        tool("unknown", "failed"),
        tool("unknown", "completed"),
        tool("Bash", "pending"),
        tool("unknown", "completed"),
        text("agent_message_chunk", "Done."),
    ];
    assert_eq!(told, expected);
    let (answer, _) = client.ask("session/prompt", prompt(&session, "again"));
    assert_eq!(answer["result"]["content"][0]["text"], "s-1 heard again");
    drop(client.stdin.take());
    let ran = Running::of(client.child.take().unwrap()).finish();
    assert_eq!((ran.code(), ran.stderr().as_str()), (0, ""));
    assert!(!space.path("cache").exists(), "nothing is kept");
}

#[test]
fn what_is_no_request_is_refused() {
    let space = space();
    let mut client = Client::new(&space);
    for (line, code, message) in [
        ("{", -32700, "Parse error"),
        ("", -32700, "Parse error"),
        ("null", -32600, "Invalid Request"),
        ("7", -32600, "Invalid Request"),
        ("{\"id\": 1, \"method\": \"shutdown\"}", -32601, "Method not found: shutdown"),
        (
            "{\"id\": 1, \"method\": \"initialize\", \"params\": {\"protocolVersion\": 2}}",
            -32603,
            "Unsupported protocol version: 2",
        ),
        (
            "{\"id\": 1, \"method\": \"session/load\", \"params\": {\"sessionId\": \"x\"}}",
            -32603,
            "Session not found: x",
        ),
        ("{\"id\": 1, \"method\": \"session/prompt\"}", -32603, "Session not found: "),
    ] {
        client.send(line);
        let answer = client.next();
        assert_eq!(answer["error"], json!({"code": code, "message": message}), "{line}");
    }
    client.send("{\"method\": \"unknown/notification\"}");
    assert_eq!(client.result("session/new", json!({})).as_object().unwrap().len(), 1);
    for (args, expected) in [
        (&["headless"][..], "--schema is required"),
        (&["headless", "-s", "claude-code", "extra"], "extra"),
        (&["headless", "-s", "no.json"], "Schema file not found: no.json"),
    ] {
        let ran = run(&space, args);
        assert_eq!(ran.code(), 1, "{}", ran.shown());
        assert!(ran.stderr().contains(expected), "{}", ran.shown());
    }
}

#[test]
fn a_prompt_that_is_cancelled_answers_what_there_is() {
    if !has("python3") {
        return;
    }
    let space = space();
    let mut client = Client::new(&space);
    let session = client.session();
    let request =
        json!({"id": 5, "method": "session/prompt", "params": prompt(&session, "stubborn")});
    client.send(&request.to_string());
    assert_eq!(client.next()["params"]["update"]["content"]["text"], "one moment");
    client.send(&json!({"method": "session/cancel", "params": {"sessionId": session}}).to_string());
    let answer = client.next();
    assert_eq!(
        (&answer["id"], &answer["result"]["content"][0]["text"]),
        (&json!(5), &json!("one moment"))
    );
    assert_gone(&space);
    let (answer, _) = client.ask("session/prompt", prompt(&session, "more"));
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(message.starts_with("Session is not active: sess_"), "{message}");
    let running = Running::of(client.child.take().unwrap());
    running.interrupt();
    assert_eq!(running.finish().code(), 0);
}
