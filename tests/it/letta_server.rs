//! A scripted Letta server on loopback: it takes agent files, answers messages by streams, and knows which agents are left.
//!
//! What it answers is checked against what a real server was recorded to answer, in `letta`. A script says what comes of
//! each message; without one, marks in the message do, as they do of the model behind the real server in `.ci/letta`.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

use serde_json::{Value, json};

use crate::judge::PATIENCE;

/// What an agent does with a message.
#[derive(Clone, Debug)]
pub(crate) enum SyntaxReply {
    /// It calls its judge's tool with these arguments, as text.
    Graded(String),
    /// The same, so often.
    GradedTimes(String, usize),
    /// It answers in text.
    Text(String),
    /// Its tool waits for approval.
    Pending,
    /// The model behind the server fails: the type of the error.
    Failed(&'static str),
    /// The same as servers before 0.16 say it.
    FailedBefore(&'static str),
    /// The run ends with this stop reason and nothing else.
    Stopped(&'static str),
    /// Nothing comes but a ping, until the client goes away.
    Nothing,
    /// The connection breaks in the middle.
    Broken,
    /// The server answers with this status and body.
    Status(u16, Value),
}

impl SyntaxReply {
    /// A verdict.
    pub(crate) fn score(score: f64) -> Self {
        let rationale = if score >= 0.5 { "The answer is right." } else { "The answer is wrong." };
        Self::Graded(json!({"score": score, "rationale": rationale}).to_string())
    }

    /// What the marks of a message say: `[[judge-score:0.5]]`, `[[judge-text:words]]`, `[[judge-http:429]]`. Without any,
    /// a message that holds a 4 is right.
    pub(crate) fn by_marks(text: &str) -> Self {
        let mark = |name: &str| {
            let (_, rest) = text.split_once(&format!("[[{name}:"))?;
            rest.split_once("]]").map(|(value, _)| value.to_owned())
        };
        match (mark("judge-http").as_deref(), mark("judge-text"), mark("judge-score")) {
            (Some("429"), ..) => Self::Failed("llm_rate_limit"),
            (Some("401"), ..) => Self::Failed("llm_authentication"),
            (Some(_), ..) => Self::Failed("llm_error"),
            (_, Some(words), _) => Self::Text(words),
            (.., Some(score)) => Self::score(score.parse().unwrap()),
            _ => Self::score(if text.contains('4') { 1.0 } else { 0.25 }),
        }
    }
}

type Script = dyn Fn(usize, &str) -> SyntaxReply + Send + Sync;

#[derive(Default)]
struct Rooms {
    /// What was asked, in words: `import`, `message agent-0`.
    asked: Vec<String>,
    /// The messages that agents got.
    told: Vec<String>,
    /// The headers of every request.
    headers: Vec<Vec<(String, String)>>,
    /// Agents by id: what the server says of each.
    agents: BTreeMap<String, Value>,
    /// How many agents were made.
    made: usize,
    runs: BTreeMap<String, Vec<Value>>,
    /// The tools that the server knows by name.
    tools: BTreeMap<String, Value>,
    /// The agents whose runs are under way.
    running: BTreeSet<String>,
    closed: bool,
}

struct House {
    rooms: Mutex<Rooms>,
    changed: Condvar,
    script: Box<Script>,
    /// The key that every request has to bring.
    key: Option<String>,
    /// Whether imports are answered only when somebody says so.
    holds_imports: Mutex<bool>,
}

/// A Letta server that listens until it is dropped.
pub(crate) struct LettaServer {
    port: u16,
    house: Arc<House>,
}

impl LettaServer {
    /// A server whose agents answer message `n` (from 0) as `script` says.
    pub(crate) fn new(script: impl Fn(usize, &str) -> SyntaxReply + Send + Sync + 'static) -> Self {
        Self::open(Box::new(script), None)
    }

    /// A server whose agents answer by the marks of messages.
    pub(crate) fn by_marks() -> Self {
        Self::new(|_, text| SyntaxReply::by_marks(text))
    }

    /// The same, which wants a key.
    pub(crate) fn secured(key: &str) -> Self {
        Self::open(Box::new(|_, text| SyntaxReply::by_marks(text)), Some(key.to_owned()))
    }

    fn open(script: Box<Script>, key: Option<String>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let house = Arc::new(House {
            rooms: Mutex::default(),
            changed: Condvar::new(),
            script,
            key,
            holds_imports: Mutex::new(false),
        });
        let server = Self { port, house: Arc::clone(&house) };
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if house.rooms().closed {
                    return;
                }
                let house = Arc::clone(&house);
                std::thread::spawn(move || house.serve(&stream));
            }
        });
        server
    }

    /// Makes a tool known to the server, which no file replaces.
    pub(crate) fn know_tool(&self, tool: Value) {
        let name = tool["name"].as_str().unwrap().to_owned();
        self.house.rooms().tools.insert(name, tool);
    }

    /// Holds the answers to imports until [`Self::let_imports_go`].
    pub(crate) fn hold_imports(&self) {
        *self.house.holds_imports.lock().unwrap() = true;
    }

    /// Answers imports again.
    pub(crate) fn let_imports_go(&self) {
        *self.house.holds_imports.lock().unwrap() = false;
        self.house.changed.notify_all();
    }

    /// Its base URL.
    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// What was asked, in words.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.house.rooms().asked.clone()
    }

    /// The messages that agents got.
    pub(crate) fn told(&self) -> Vec<String> {
        self.house.rooms().told.clone()
    }

    /// The value of a header of every request.
    pub(crate) fn header(&self, name: &str) -> Vec<Option<String>> {
        let of = |headers: &Vec<(String, String)>| {
            headers.iter().find(|(held, _)| held == name).map(|(_, value)| value.clone())
        };
        self.house.rooms().headers.iter().map(of).collect()
    }

    /// How many agents were made, and how many are left.
    pub(crate) fn agents(&self) -> [usize; 2] {
        let rooms = self.house.rooms();
        [rooms.made, rooms.agents.len()]
    }

    /// Waits until something was asked that begins with these words.
    pub(crate) fn wait_asked(&self, words: &str) {
        let rooms = self.house.rooms();
        let lacks = |rooms: &mut Rooms| !rooms.asked.iter().any(|asked| asked.starts_with(words));
        let waited = self.house.changed.wait_timeout_while(rooms, PATIENCE, lacks).unwrap();
        assert!(!waited.1.timed_out(), "nobody asked for `{words}`");
    }
}

impl Drop for LettaServer {
    fn drop(&mut self) {
        self.house.rooms().closed = true;
        self.let_imports_go();
        // Wakes the thread that accepts, which then sees that it is over.
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

/// A request as the server saw it.
struct Request {
    method: String,
    path: String,
    query: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Request {
    fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(held, _)| held == name).map(|(_, value)| value.as_str())
    }

    fn query(&self, name: &str) -> Option<&str> {
        let pairs = self.query.split('&').filter_map(|pair| pair.split_once('='));
        pairs.filter(|(held, _)| *held == name).map(|(_, value)| value).next()
    }

    fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}

impl House {
    fn rooms(&self) -> MutexGuard<'_, Rooms> {
        self.rooms.lock().unwrap()
    }

    fn serve(&self, stream: &TcpStream) {
        let mut reader = BufReader::new(stream);
        while let Some(request) = read_request(&mut reader) {
            let stays = match self.streamed(&request) {
                Some(agent) => self.stream(&agent, &request, stream),
                None => {
                    let (status, body) = self.answer(&request);
                    write_json(stream, status, &body)
                }
            };
            if !stays {
                break;
            }
        }
        let _ = stream.shutdown(Shutdown::Both);
    }

    /// The agent that a message is for.
    fn streamed(&self, request: &Request) -> Option<String> {
        let agent = request.path.strip_prefix("/v1/agents/")?.strip_suffix("/messages/stream")?;
        let is_there = self.rooms().agents.contains_key(agent) && self.may_ask(request);
        is_there.then(|| agent.to_owned())
    }

    fn may_ask(&self, request: &Request) -> bool {
        let wanted = self.key.as_ref().map(|key| format!("Bearer {key}"));
        wanted.is_none_or(|wanted| request.header("authorization") == Some(&wanted))
    }

    fn note(&self, words: String, request: &Request) {
        let mut rooms = self.rooms();
        rooms.asked.push(words);
        rooms.headers.push(request.headers.clone());
        self.changed.notify_all();
    }

    fn answer(&self, request: &Request) -> (u16, Value) {
        let path: Vec<&str> = request.path.trim_start_matches("/v1/").split('/').collect();
        let words = match (request.method.as_str(), &path[..]) {
            ("GET", ["health", ""]) => "health".to_owned(),
            ("POST", ["agents", "import"]) => "import".to_owned(),
            ("POST", ["agents", ""]) => "create".to_owned(),
            ("GET", ["agents", ""]) => "agents".to_owned(),
            ("GET", ["agents", id]) => format!("read {id}"),
            ("PATCH", ["agents", id]) => format!("model {id}"),
            ("DELETE", ["agents", id]) => format!("delete {id}"),
            ("POST", ["agents", id, "messages", "stream"]) => format!("message {id}"),
            ("POST", ["agents", id, "messages", "cancel"]) => format!("cancel {id}"),
            ("GET", ["runs", run, "messages"]) => format!("messages {run}"),
            _ => format!("{} {}", request.method, request.path),
        };
        self.note(words.clone(), request);
        if words == "health" {
            return (200, json!({"version": "0.16.8", "status": "ok"}));
        }
        if !self.may_ask(request) {
            return (401, json!({"detail": "Unauthorized"}));
        }
        match words.split_once(' ') {
            None if words == "import" => self.import(request),
            None if words == "create" => (200, self.create(&request.json())),
            None => (200, Value::Array(self.rooms().agents.values().cloned().collect())),
            Some(("messages", run)) => self.run_messages(run, request),
            Some(("read" | "model" | "delete" | "message" | "cancel", id)) => {
                self.of_agent(words.split(' ').next().unwrap(), id, request)
            }
            Some(_) => (404, json!({"detail": "Not Found"})),
        }
    }

    fn of_agent(&self, what: &str, id: &str, request: &Request) -> (u16, Value) {
        let mut rooms = self.rooms();
        let Some(mut agent) = rooms.agents.get(id).cloned() else {
            return (404, json!({"detail": format!("Agent with ID {id} not found")}));
        };
        match what {
            "read" => {
                // Nobody is told of tools who does not ask.
                if !request.query.contains("include=agent.tools") {
                    agent["tools"] = json!([]);
                }
                (200, agent)
            }
            "model" if request.json()["llm_config"].is_object() => {
                agent["llm_config"] = request.json()["llm_config"].clone();
                rooms.agents.insert(id.to_owned(), agent.clone());
                (200, agent)
            }
            "model" => {
                let model = request.json()["model"].clone();
                if model.as_str().is_some_and(|model| model.ends_with("no-such")) {
                    let detail = format!(
                        "NOT_FOUND: Handle {} not found, must be one of []",
                        model.as_str().unwrap()
                    );
                    return (404, json!({"detail": detail}));
                }
                agent["model"] = model.clone();
                agent["llm_config"]["model"] = model;
                rooms.agents.insert(id.to_owned(), agent.clone());
                (200, agent)
            }
            "delete" => {
                rooms.agents.remove(id);
                (200, json!({"message": format!("Agent id={id} successfully deleted")}))
            }
            _ if rooms.running.remove(id) => (200, json!({format!("run-of-{id}"): "cancelled"})),
            _ => {
                let detail = format!("CONFLICT: No active runs to cancel for agent {id}");
                (409, json!({"detail": detail}))
            }
        }
    }

    /// Makes an agent of what is said of it, as scripts do.
    fn create(&self, said: &Value) -> Value {
        let mut rooms = self.rooms();
        let id = format!("agent-{}", rooms.made);
        rooms.made += 1;
        let state = json!({
            "id": id,
            "name": said["name"],
            "llm_config": {"model": "own"},
            "has_context": true,
            "memory": {"blocks": said["memory_blocks"]},
            "blocks": said["memory_blocks"],
            "tools": [],
        });
        rooms.agents.insert(id, state.clone());
        state
    }

    fn import(&self, request: &Request) -> (u16, Value) {
        let held = self.holds_imports.lock().unwrap();
        drop(self.changed.wait_while(held, |held| *held).unwrap());
        let parts = parts(request);
        let Some(file) =
            parts.get("file").and_then(|text| serde_json::from_str::<Value>(text).ok())
        else {
            return (400, json!({"detail": "Corrupted agent file format."}));
        };
        let mut rooms = self.rooms();
        let mut ids = Vec::new();
        let mut agents = file["agents"].as_array().cloned().unwrap_or_default();
        if file["agents"][0]["name"] == "twins" {
            agents.extend(agents.clone());
        }
        for agent in agents {
            let mut tools = Vec::new();
            for tool in file["tools"].as_array().cloned().unwrap_or_default() {
                let name = tool["name"].as_str().unwrap_or_default().to_owned();
                tools.push(rooms.tools.entry(name).or_insert(tool).clone());
            }
            let id = format!("agent-{}", rooms.made);
            rooms.made += 1;
            let state = json!({
                "id": id,
                "name": agent["name"],
                "llm_config": agent["llm_config"],
                "model": parts.get("model"),
                "has_context": agent["in_context_message_ids"] != json!([]),
                "memory": {"blocks": file["blocks"]},
                "blocks": file["blocks"],
                "tools": tools,
            });
            rooms.agents.insert(id.clone(), state);
            ids.push(id);
        }
        (200, json!({"agent_ids": ids}))
    }

    fn run_messages(&self, run: &str, request: &Request) -> (u16, Value) {
        let rooms = self.rooms();
        let Some(messages) = rooms.runs.get(run) else {
            return (404, json!({"detail": format!("Run {run} not found")}));
        };
        let limit: usize = request.query("limit").map_or(100, |limit| limit.parse().unwrap());
        let after = request.query("after");
        let start = after.map_or(0, |after| {
            messages
                .iter()
                .rposition(|message| message["id"] == after)
                .map_or(messages.len(), |at| at + 1)
        });
        let page = messages[start..].iter().take(limit).cloned().collect();
        (200, Value::Array(page))
    }

    /// Answers a message by a stream; says whether the connection is good for another request.
    fn stream(&self, agent: &str, request: &Request, stream: &TcpStream) -> bool {
        let text = request.json()["messages"][0]["content"].as_str().unwrap_or_default().to_owned();
        let (number, run) = {
            let mut rooms = self.rooms();
            rooms.told.push(text.clone());
            (rooms.told.len() - 1, format!("run-{}", rooms.told.len() - 1))
        };
        self.note(format!("message {agent}"), request);
        let has_context =
            self.rooms().agents.get(agent).is_some_and(|agent| agent["has_context"] == true);
        let said = if has_context {
            (self.script)(number, &text)
        } else {
            SyntaxReply::Failed("internal_error")
        };
        if let SyntaxReply::Status(status, body) = said {
            return write_json(stream, status, &body);
        }
        let answer = StreamedAnswer::new(&said, &run, &text);
        self.rooms().runs.insert(run, answer.messages);
        let mut writer = stream;
        let _ = writer.write_all(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ntransfer-encoding: chunked\r\n\r\n",
        );
        for event in &answer.events {
            if write_chunk(writer, event).is_err() {
                return false;
            }
        }
        match said {
            SyntaxReply::Nothing => {
                self.rooms().running.insert(agent.to_owned());
                // Until the client goes away, which is not the end of the run.
                let _ = writer.read(&mut [0]);
                false
            }
            SyntaxReply::Broken => {
                self.rooms().running.insert(agent.to_owned());
                false
            }
            _ => writer.write_all(b"0\r\n\r\n").is_ok(),
        }
    }
}

/// The stream that answers a message, and the messages of its run.
pub(crate) struct StreamedAnswer {
    /// The texts of the events, each with the empty line behind it.
    pub(crate) events: Vec<String>,
    messages: Vec<Value>,
}

impl StreamedAnswer {
    pub(crate) fn new(said: &SyntaxReply, run: &str, text: &str) -> Self {
        let mut answer = Self { events: Vec::new(), messages: Vec::new() };
        let of = |kind: &str, at: usize| {
            json!({
                "id": format!("message-{run}-{at}"), "date": "2026-11-21T21:09:03+00:00", "name": null,
                "message_type": kind, "otid": null, "sender_id": null, "step_id": "step-1", "is_err": null,
                "seq_id": null, "run_id": run,
            })
        };
        let with = |mut message: Value, more: Value| {
            message.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            message
        };
        answer.messages.push(with(of("user_message", 0), json!({"content": text})));
        if !matches!(said, SyntaxReply::FailedBefore(_)) {
            answer.event(&of("ping", 0));
        }
        let call = |arguments: &str, at: usize| {
            let call = json!({"name": "submit_grade", "arguments": arguments, "tool_call_id": format!("call_{at}")});
            json!({"tool_call": call, "tool_calls": [call]})
        };
        match said {
            SyntaxReply::Graded(arguments) => {
                answer.say(with(of("tool_call_message", 1), call(arguments, 1)));
                let one = json!({"tool_return": "{'status': 'success'}", "status": "success", "tool_call_id": "call_1", "stdout": [], "stderr": []});
                let returned = with(
                    one.clone(),
                    json!({"name": "submit_grade", "tool_returns": [with(one, json!({"type": "tool"}))]}),
                );
                answer.say(with(of("tool_return_message", 2), returned));
                answer.say(with(of("assistant_message", 3), json!({"content": "Done."})));
                answer.end("end_turn", 2);
            }
            SyntaxReply::GradedTimes(arguments, times) => {
                for at in 0..*times {
                    answer.say(with(of("tool_call_message", at + 1), call(arguments, at + 1)));
                }
                answer.end("max_steps", 1);
            }
            SyntaxReply::Text(text) => {
                answer.say(with(of("assistant_message", 1), json!({"content": text})));
                answer.end("end_turn", 1);
            }
            SyntaxReply::Pending => {
                answer.say(with(of("approval_request_message", 1), call("{\"score\": 1.0}", 1)));
                answer.end("requires_approval", 1);
            }
            SyntaxReply::Failed(kind) => {
                answer
                    .event(&json!({"message_type": "stop_reason", "stop_reason": "llm_api_error"}));
                let error = json!({"message_type": "error_message", "run_id": run, "error_type": kind, "message": "The model failed.", "detail": "as the script says", "seq_id": null});
                answer.events.push(format!("event: error\ndata: {error}\n\n"));
                answer.done();
                answer.messages.clear();
            }
            SyntaxReply::FailedBefore(kind) => {
                let error = json!({"error": {"type": kind, "message": "The model failed.", "detail": "as the script says"}});
                answer.events.push(format!("event: error\ndata: {error}\n\n"));
                answer.done();
            }
            // Nothing follows the stop reason of a run that was cancelled.
            SyntaxReply::Stopped(reason) => {
                answer.event(&json!({"message_type": "stop_reason", "stop_reason": reason}));
            }
            SyntaxReply::Nothing | SyntaxReply::Broken | SyntaxReply::Status(..) => {}
        }
        answer
    }

    fn event(&mut self, data: &Value) {
        self.events.push(format!("data: {data}\n\n"));
    }

    fn say(&mut self, message: Value) {
        self.event(&message);
        self.messages.push(message);
    }

    fn end(&mut self, reason: &str, steps: u64) {
        self.event(&json!({"message_type": "stop_reason", "stop_reason": reason}));
        self.event(&json!({
            "message_type": "usage_statistics", "completion_tokens": 20 * steps, "prompt_tokens": 100 * steps,
            "total_tokens": 120 * steps, "step_count": steps, "run_ids": null, "cached_input_tokens": 0,
            "cache_write_tokens": 0, "reasoning_tokens": 0, "context_tokens": 120,
        }));
        self.done();
    }

    fn done(&mut self) {
        self.events.push("data: [DONE]\n\n".to_owned());
    }
}

/// The texts of the parts of a body, by name.
fn parts(request: &Request) -> BTreeMap<String, String> {
    let content_type = request.header("content-type").unwrap_or_default();
    let Some((_, boundary)) = content_type.split_once("boundary=") else { return BTreeMap::new() };
    let body = String::from_utf8_lossy(&request.body).into_owned();
    let line = format!("--{boundary}");
    let parts = body.split(&line).filter_map(|part| {
        let (head, text) = part.split_once("\r\n\r\n")?;
        let (_, name) = head.split_once("name=\"")?;
        let name = name.split('"').next()?;
        Some((name.to_owned(), text.strip_suffix("\r\n").unwrap_or(text).to_owned()))
    });
    parts.collect()
}

fn write_json(mut stream: &TcpStream, status: u16, body: &Value) -> bool {
    let body = body.to_string();
    let head = format!(
        "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all((head + &body).as_bytes()).is_ok()
}

fn write_chunk(mut stream: &TcpStream, text: &str) -> std::io::Result<()> {
    stream.write_all(format!("{:x}\r\n{text}\r\n", text.len()).as_bytes())
}

fn read_request(reader: &mut impl BufRead) -> Option<Request> {
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
    let mut words = line.split(' ');
    let method = words.next()?.to_owned();
    let target = words.next()?.to_owned();
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    let (path, query) = (path.to_owned(), query.to_owned());
    let mut headers = Vec::new();
    loop {
        line.clear();
        reader.read_line(&mut line).ok()?;
        match line.trim_end().split_once(':') {
            Some((name, value)) => {
                headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
            }
            None => break,
        }
    }
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let mut body = vec![0; length.map_or(0, |(_, length)| length.parse().unwrap())];
    reader.read_exact(&mut body).ok()?;
    Some(Request { method, path, query, headers, body })
}
