//! `evalrs serve`: the REST API as programs meet it, over real connections.
#![expect(clippy::disallowed_methods, reason = "tests start the binary and read what it wrote")]

mod calibration;
mod columns;
mod comparing;
mod evaluations;
mod grading;
mod guarded;
mod labelling;
mod people;
mod queueing;
mod reading;
mod report_page;
mod rubrics;
mod sessions;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStderr, Command, Stdio};

use serde_json::Value;

use crate::judge::PATIENCE;
use crate::space::Space;

/// A server over a workspace; it ends with the test.
pub(crate) struct Server {
    space: Space,
    child: Child,
    host: String,
    /// Open as long as the server says something.
    _said: BufReader<ChildStderr>,
}

/// What a server replied.
pub(crate) struct Reply {
    status: u16,
    headers: String,
    body: String,
}

impl Reply {
    pub(crate) fn body(&self) -> &str {
        &self.body
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }

    /// What the envelope holds of an answer that was found.
    pub(crate) fn data(&self) -> Value {
        let mut json = self.json();
        assert_eq!((self.status / 100, &json["success"]), (2, &Value::Bool(true)), "{json}");
        assert!(json["error"].is_null());
        json["data"].take()
    }

    /// The status and the code of an answer that was not.
    fn refusal(&self) -> String {
        let json = self.json();
        assert_eq!(json["success"], false, "{json}");
        assert!(json["data"].is_null() && json["error"]["message"].is_string(), "{json}");
        format!("{} {}", self.status, json["error"]["code"].as_str().unwrap())
    }
}

impl Server {
    pub(crate) fn new(space: Space, args: &[&str]) -> Self {
        Self::with(space, args, &[])
    }

    /// A server with these variables in its environment.
    fn with(space: Space, args: &[&str], environment: &[(&str, &str)]) -> Self {
        let mut command = space.command(&["serve", "--port", "0"]);
        command.args(args).envs(environment.iter().copied());
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut said = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        let mut all = String::new();
        let host = loop {
            line.clear();
            assert_ne!(said.read_line(&mut line).unwrap(), 0, "it ended: {all}");
            all.push_str(&line);
            if let Some((_, rest)) = line.split_once("serving http://") {
                break rest.split('/').next().unwrap().to_owned();
            }
        };
        Self { space, child, host, _said: said }
    }

    /// Sends a request with these headers.
    fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Reply {
        exchange(&self.host, method, path, headers, body)
    }

    pub(crate) fn get(&self, path: &str) -> Reply {
        self.send("GET", path, &[], "")
    }

    fn post(&self, path: &str, body: &Value) -> Reply {
        self.send("POST", path, &[], &body.to_string())
    }

    /// Says stop, as Ctrl-C does.
    fn interrupt(&self) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    }

    fn put(&self, path: &str, body: &Value) -> Reply {
        self.send("PUT", path, &[], &body.to_string())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends a request to `host`, and reads the reply to its end.
pub(crate) fn exchange(
    host: &str,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> Reply {
    let mut stream = TcpStream::connect(host).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut lines = vec![format!("{method} {path} HTTP/1.1"), "connection: close".to_owned()];
    if !headers.iter().any(|(name, _)| *name == "host") {
        lines.push(format!("host: {host}"));
    }
    lines.extend(headers.iter().map(|(name, value)| format!("{name}: {value}")));
    if !body.is_empty() {
        lines.push("content-type: application/json".to_owned());
        lines.push(format!("content-length: {}", body.len()));
    }
    let request = lines.join("\r\n");
    // A server that refuses a body need not read it: what it has answered is there all the same.
    let sent = stream.write_all(format!("{request}\r\n\r\n{body}").as_bytes());
    let mut text = Vec::new();
    let read = stream.read_to_end(&mut text);
    assert!(!text.is_empty(), "no reply: {sent:?}, {read:?}");
    let text = String::from_utf8(text).unwrap();
    let (headers, body) = text.split_once("\r\n\r\n").unwrap();
    let status = headers.split(' ').nth(1).unwrap().parse().unwrap();
    let is_chunked = headers.to_ascii_lowercase().contains("transfer-encoding: chunked");
    let body = if is_chunked { joined(body) } else { body.to_owned() };
    Reply { status, headers: headers.to_owned(), body }
}

/// The text of a body that came in chunks.
fn joined(mut body: &str) -> String {
    let mut text = String::new();
    while let Some((length, rest)) = body.split_once("\r\n") {
        let length = usize::from_str_radix(length.trim(), 16).unwrap();
        text.push_str(&rest[..length]);
        body = rest[length..].trim_start_matches("\r\n");
    }
    text
}

const SUITE: &str = "
name: shop
dataset: data.jsonl
graders:
  right: {kind: tool, function: contains}
  short: {kind: tool, function: ascii_printable_only}
gate: {metric_key: right, metric: avg_score, op: gte, value: 0.5}
";

const ROWS: &str = r#"{"id": "paris", "input": "Capital of France?", "ground_truth": "Paris", "output": "It is Paris.", "tags": ["europe"], "metadata": {"row": 1}}
{"id": "rome", "input": "Capital of Italy?", "ground_truth": "Rome", "output": "It is Milan.", "tags": ["europe"]}
{"id": "a/b ü?#", "input": "Capital of Japan?", "ground_truth": "Tokyo", "messages": [{"role": "user", "content": "Capital of Japan?"}, {"role": "assistant", "content": null, "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "look_up", "arguments": "{\"country\": \"Japan\"}"}}]}, {"role": "tool", "tool_call_id": "c1", "content": "Tokyo"}, {"role": "assistant", "content": "Tōkyō, or Tokyo"}]}
"#;

/// A workspace with one run of three samples.
fn shop() -> Space {
    let space = Space::new(&[("suite.yaml", SUITE), ("data.jsonl", ROWS)]);
    let ran = space.run(&["run", "suite.yaml", "--quiet"]);
    assert_eq!(ran.code(), 0, "{}", ran.shown());
    space
}
