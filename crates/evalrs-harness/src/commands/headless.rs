//! `evalrs headless`: the command line of an agent as a server that speaks JSON-RPC 2.0, a message a line. Nothing of it is
//! kept.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::future::Future;
use std::io::{BufRead, Write};
use std::ops::ControlFlow;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use serde_json::{Value, json};
use tokio::sync::{Notify, mpsc};
use tokio::time::Instant;

use super::agents::{AgentWork, TURN, agent_program};
use super::extract::{AdapterText, adapter};
use crate::args::agents::{CaptureArgs, HeadlessArgs};
use evalrs_base::text::sanitize;
use evalrs_eval::adapter::{Adapter, AdapterConversation, TurnReader, Update, UpdateKind};
use evalrs_exec::programs::agent_process::AgentRun;
use evalrs_exec::programs::{ProgramExecutor, ProgramSettings};
use evalrs_system::System;
use evalrs_use_cases::console::Console;
use evalrs_use_cases::error::{Error, ExitStatus};
use evalrs_use_cases::signals::interrupted;

/// Lines of requests that may wait.
const WAITING: usize = 64;
/// Prompts of sessions that may be under way at once.
const AT_ONCE: usize = 64;

/// Answers requests until there are no more.
pub(crate) fn headless(
    args: &HeadlessArgs,
    console: &mut Console<'_>,
) -> Result<ExitStatus, Error> {
    let schema = args.schema.as_deref();
    let schema = schema.ok_or_else(|| Error::harness_usage("Error: --schema is required"))?;
    let AdapterText { adapter, .. } = adapter(schema, console.system)?;
    if adapter.program().is_none() {
        return Err(Error::harness_usage("Invalid schema: `command` is empty"));
    }
    let work = AgentWork::open(&CaptureArgs::default(), console)?;
    let server = RpcServer {
        adapter: &adapter,
        work: &work,
        programs: ProgramExecutor::new(ProgramSettings::of_machine(AT_ONCE)),
        system: console.system,
        sessions: RefCell::default(),
        out: RefCell::new(&mut *console.out),
        err: RefCell::new(&mut *console.err),
        is_verbose: console.verbosity > 0,
    };
    work.programs.runtime.block_on(serve(&server));
    Ok(ExitStatus::Success)
}

/// Handles requests, many at once, until there are no more and all are answered, or the user
/// interrupts.
async fn serve(server: &RpcServer<'_>) {
    let mut stop = pin!(interrupted());
    let mut lines = request_lines();
    let mut is_over = false;
    let mut under_way: FuturesUnordered<Pin<Box<dyn Future<Output = ()> + '_>>> =
        FuturesUnordered::new();
    while !(is_over && under_way.is_empty()) {
        tokio::select! {
            biased;
            () = stop.as_mut() => return,
            Some(()) = under_way.next() => {}
            line = lines.recv(), if !is_over => match line {
                Some(line) => under_way.push(Box::pin(server.handle(line))),
                None => is_over = true,
            },
        }
    }
}

/// The lines of standard input, read beside everything else.
fn request_lines() -> mpsc::Receiver<Vec<u8>> {
    let (sender, lines) = mpsc::channel(WAITING);
    let read = move || {
        let input = std::io::stdin().lock();
        for line in input.split(b'\n').map_while(Result::ok) {
            if sender.blocking_send(line).is_err() {
                break;
            }
        }
    };
    // Where there is no thread to be had, there are no requests.
    let _ = std::thread::Builder::new().name("requests".to_owned()).spawn(read);
    lines
}

#[derive(Debug)]
struct RpcSession {
    cwd: Option<String>,
    conversation: RefCell<AdapterConversation>,
    is_active: Cell<bool>,
    cancelled: Notify,
}

/// Why a request has no result.
struct RpcError {
    code: i32,
    message: String,
}

impl From<String> for RpcError {
    fn from(message: String) -> Self {
        Self { code: -32603, message }
    }
}

struct RpcServer<'a> {
    adapter: &'a Adapter,
    work: &'a AgentWork,
    programs: ProgramExecutor,
    system: &'a dyn System,
    sessions: RefCell<BTreeMap<String, Rc<RpcSession>>>,
    out: RefCell<&'a mut dyn Write>,
    err: RefCell<&'a mut dyn Write>,
    is_verbose: bool,
}

impl RpcServer<'_> {
    /// Writes a message at once.
    fn tell(&self, message: &Value) {
        let mut out = self.out.borrow_mut();
        // Whoever closed the stream wants no answer.
        let _ = out.write_all(format!("{message}\n").as_bytes()).and_then(|()| out.flush());
    }

    async fn handle(&self, line: Vec<u8>) {
        let message: Value = match serde_json::from_slice(&line) {
            Ok(message) => message,
            Err(_) => return self.refuse(&Value::Null, -32700, "Parse error"),
        };
        let method = message.get("method").and_then(Value::as_str);
        let params = message.get("params").unwrap_or(&Value::Null);
        let (Some(method), Some(id)) = (method, message.get("id")) else {
            return match method {
                Some("session/cancel") => self.cancel(params),
                Some(_) => {}
                None => self.refuse(&Value::Null, -32600, "Invalid Request"),
            };
        };
        let result = match method {
            "initialize" => self.initialize(params),
            "session/new" => Ok(self.open(params)),
            "session/load" => {
                self.session(params).map(|_| json!({"sessionId": params["sessionId"]}))
            }
            "session/prompt" => self.prompt(params).await,
            _ => Err(RpcError { code: -32601, message: format!("Method not found: {method}") }),
        };
        match result {
            Ok(result) => self.tell(&json!({"jsonrpc": "2.0", "id": id, "result": result})),
            Err(RpcError { code, message }) => self.refuse(id, code, &message),
        }
    }

    fn refuse(&self, id: &Value, code: i32, message: &str) {
        let error = json!({"code": code, "message": message});
        self.tell(&json!({"jsonrpc": "2.0", "id": id, "error": error}));
    }

    fn initialize(&self, params: &Value) -> Result<Value, RpcError> {
        let version = &params["protocolVersion"];
        if version.as_f64() != Some(1.0) {
            return Err(format!("Unsupported protocol version: {version}").into());
        }
        Ok(json!({
            "protocolVersion": 1,
            "agentInfo": {"name": self.adapter.name, "version": "1.0.0"},
            "agentCapabilities": {"loadSession": self.adapter.can_resume(), "promptCapabilities": {"image": false}},
        }))
    }

    fn open(&self, params: &Value) -> Value {
        let mut sessions = self.sessions.borrow_mut();
        let id = format!("sess_{}_{}", std::process::id(), sessions.len() + 1);
        let session = RpcSession {
            cwd: params.get("cwd").and_then(Value::as_str).map(str::to_owned),
            conversation: RefCell::default(),
            is_active: Cell::new(true),
            cancelled: Notify::new(),
        };
        sessions.insert(id.clone(), Rc::new(session));
        json!({"sessionId": id})
    }

    fn session(&self, params: &Value) -> Result<Rc<RpcSession>, RpcError> {
        let id = params.get("sessionId").and_then(Value::as_str).unwrap_or_default();
        let found = self.sessions.borrow().get(id).cloned();
        found.ok_or_else(|| format!("Session not found: {id}").into())
    }

    fn cancel(&self, params: &Value) {
        if let Ok(session) = self.session(params) {
            session.is_active.set(false);
            session.cancelled.notify_waiters();
        }
    }

    /// Sends a message to the agent, reports its updates, and returns its answer; if that is cancelled, the part so far.
    async fn prompt(&self, params: &Value) -> Result<Value, RpcError> {
        let session = self.session(params)?;
        let id = params["sessionId"].clone();
        if !session.is_active.get() {
            return Err(
                format!("Session is not active: {}", id.as_str().unwrap_or_default()).into()
            );
        }
        let text = text_of(params);
        let spec = agent_program(self.adapter, session.cwd.as_deref());
        let program = self.work.programs.prepared(spec, true, self.system).await?;
        let mut start = program.start.as_ref().clone();
        let mut command = self.adapter.turn(&session.conversation.borrow(), &text, &start.cwd);
        if self.is_verbose {
            let line = sanitize(&command.argv.join(" "));
            let _ = writeln!(self.err.borrow_mut(), "[headless] Command: {line}");
        }
        start.spec.arguments = command.argv.split_off(1);
        let start = Arc::new(start);
        let begin = Instant::now();
        let mut reader = TurnReader::new(self.adapter);
        let mut on_line = |line: &str| {
            let known = reader.told().len();
            let at = u64::try_from(begin.elapsed().as_millis()).unwrap_or(u64::MAX);
            let is_over = reader.line(line, at);
            for (update, _) in reader.told().iter().skip(known) {
                let params = json!({"sessionId": id, "update": notification(update)});
                self.tell(&json!({"jsonrpc": "2.0", "method": "session/update", "params": params}));
            }
            if is_over { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let timeout = self.adapter.turn_limit().unwrap_or(Duration::from_secs_f64(TURN / 1000.0));
        let input = command.stdin.as_deref().unwrap_or_default();
        let ended = {
            let run = AgentRun { start: &start, input, timeout };
            let running = self.programs.run_agent(run, &mut on_line);
            tokio::select! {
                ended = running => Some(ended),
                () = session.cancelled.notified() => None,
            }
        };
        if let Some(Err(failure)) = ended {
            return Err(failure.message.into());
        }
        let output = reader.finish();
        session.conversation.borrow_mut().add(&text, &output);
        Ok(json!({"content": [{"type": "text", "text": output.answer}]}))
    }
}

/// The blocks of text of a prompt, a line each; others are passed over.
fn text_of(params: &Value) -> String {
    let blocks = params.get("prompt").and_then(Value::as_array).into_iter().flatten();
    let texts =
        blocks.filter(|block| block["type"] == "text").filter_map(|block| block["text"].as_str());
    texts.collect::<Vec<_>>().join("\n")
}

/// The report of an update.
fn notification(update: &Update) -> Value {
    let text = update.content.as_deref().unwrap_or_default();
    let content = json!({"type": "text", "text": text});
    match update.kind {
        UpdateKind::Thought => json!({"sessionUpdate": "agent_thought_chunk", "content": content}),
        UpdateKind::Message => json!({"sessionUpdate": "agent_message_chunk", "content": content}),
        UpdateKind::Plan => json!({"sessionUpdate": "agent_plan", "content": content}),
        UpdateKind::ToolCall => {
            let name = update.title.as_deref().unwrap_or("unknown");
            let status = update.status.as_deref().unwrap_or("pending");
            json!({"sessionUpdate": "agent_tool_call", "toolCall": {"name": name, "status": status}})
        }
    }
}
