//! `evalrs mcp`: the Model Context Protocol over standard input and output, a message a line, for agents.
//!
//! A tool is a command of evalrs with `--json`: what it prints is the result. Nothing is asked of a judge or an agent unless who started
//! the server gave a budget, which all runs of the session share. No argument leads out of the folder where it was started, and no
//! reply holds a control sequence. The protocol is small enough to be spoken without a library.

use std::cell::Cell;
use std::io::BufRead;
use std::path::{Component, Path};

use clap::Parser;
use serde_json::{Map, Value, json};

use crate::cli::{Cli, Command, McpArgs};
use evalrs_base::text::shown;
use evalrs_use_cases::command_progress::SpentLimits;
use evalrs_use_cases::console::Console;
use evalrs_use_cases::error::{Error, ExitStatus};
use evalrs_use_cases::evaluate::evaluate_within;

/// The versions that are spoken: they differ in what is not used here. The last is offered where another one is wanted.
const VERSIONS: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

const INSTRUCTIONS: &str = "evalrs evaluates AI agents by suites (YAML). Each judgment is made once and then replayed from the cache. Call `validate` first, then `plan`, which lists the calls of a run and their cost, then `run`. A grade with an `error` is not a low score: `not_stored` means that its judge was not called yet.";

/// The most failures that a run lists.
const LISTED: usize = 20;

const INVALID_REQUEST: i32 = -32600;
const UNKNOWN_METHOD: i32 = -32601;
const INVALID_ARGUMENTS: i32 = -32602;
const INVALID_JSON: i32 = -32700;

/// Runs a command, as a command line would.
type Dispatch = dyn Fn(&Cli, &mut Console<'_>) -> ExitStatus;

/// Answers messages until there are no more. `dispatch` runs the commands that tools stand for.
pub(crate) fn mcp(
    args: &McpArgs,
    dispatch: &Dispatch,
    console: &mut Console<'_>,
) -> Result<ExitStatus, Error> {
    let server = McpServer { args, dispatch, used: Cell::default() };
    for line in std::io::stdin().lock().split(b'\n') {
        let line = line?;
        if line.trim_ascii().is_empty() {
            continue;
        }
        if let Some(reply) = server.reply(&line, console) {
            writeln!(console.out, "{reply}")?;
            console.out.flush()?;
        }
    }
    Ok(ExitStatus::Success)
}

struct McpServer<'a> {
    args: &'a McpArgs,
    dispatch: &'a Dispatch,
    /// What its runs have used of the budget.
    used: Cell<SpentLimits>,
}

struct McpError {
    code: i32,
    message: String,
}

impl McpError {
    fn arguments(message: impl Into<String>) -> Self {
        Self { code: INVALID_ARGUMENTS, message: message.into() }
    }
}

struct CommandOutput {
    code: u8,
    out: String,
    err: String,
}

impl McpServer<'_> {
    /// The reply to a message; none for a notification.
    fn reply(&self, line: &[u8], console: &Console<'_>) -> Option<Value> {
        let failed = |id: Value, code: i32, message: &str| json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}});
        let Ok(message) = serde_json::from_slice::<Value>(line) else {
            return Some(failed(Value::Null, INVALID_JSON, "invalid JSON"));
        };
        let id = message.get("id").cloned();
        let Some(method) = message["method"].as_str() else {
            // A reply to what was never asked needs none.
            let is_reply = message.get("result").is_some() || message.get("error").is_some();
            let id = id.unwrap_or_default();
            return (!is_reply).then(|| failed(id, INVALID_REQUEST, "the message has no `method`"));
        };
        let id = id?;
        Some(match self.result(method, &message["params"], console) {
            Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": harmless(result)}),
            Err(McpError { code, message }) => failed(id, code, &harmless_text(&message)),
        })
    }

    fn result(
        &self,
        method: &str,
        params: &Value,
        console: &Console<'_>,
    ) -> Result<Value, McpError> {
        match method {
            "initialize" => Ok(greeting(params)),
            "ping" => Ok(json!({})),
            "tools/list" => Ok(json!({"tools": self.tools()})),
            "tools/call" => self.call(params, console),
            _ => {
                let message = format!("unknown method `{method}`");
                Err(McpError { code: UNKNOWN_METHOD, message })
            }
        }
    }

    fn tools(&self) -> Vec<Value> {
        let suite = json!({"type": "string", "description": "the path of the suite file"});
        let text = |description: &str| json!({"type": "string", "description": description});
        let names = |description: &str| json!({"type": "array", "items": {"type": "string"}, "description": description});
        let run = if self.has_budget() {
            "Evaluates a suite: makes the calls that are not cached, within the budget of this server. Returns the gate, metrics and failures."
        } else {
            "Evaluates a suite from the cache and makes no calls: this server was started without a budget. Returns the gate, metrics and failures."
        };
        let kinds =
            json!({"type": "string", "enum": ["graders", "extractors", "targets", "providers"]});
        vec![
            tool(
                "validate",
                "Finds every problem in a suite and the files it names. Runs nothing.",
                &json!({"suite": suite}),
                &["suite"],
                true,
            ),
            tool(
                "plan",
                "Lists the calls that a run would make, why, and their cost. Makes no calls.",
                &json!({"suite": suite}),
                &["suite"],
                true,
            ),
            tool(
                "run",
                run,
                &json!({"suite": suite, "samples": names("only these samples"), "graders": names("only these graders; skips the gate if it needs others")}),
                &["suite"],
                false,
            ),
            tool(
                "explain",
                "Shows where the grades of a sample come from, and what differs from an earlier run. Makes no calls.",
                &json!({"suite": suite, "sample": text("its id"), "grader": text("only this grader")}),
                &["suite", "sample"],
                true,
            ),
            tool(
                "diff",
                "Shows which verdicts moved between two recorded runs of a suite: the last two, unless they are named.",
                &json!({"suite": suite, "old": text("the id of a run, latest, or latest~1"), "new": text("likewise")}),
                &["suite"],
                true,
            ),
            tool(
                "list",
                "Lists what suites can use, with options.",
                &json!({"what": kinds}),
                &["what"],
                true,
            ),
        ]
    }

    fn has_budget(&self) -> bool {
        self.args.max_cost.is_some() || self.args.max_calls.is_some()
    }

    fn call(&self, params: &Value, console: &Console<'_>) -> Result<Value, McpError> {
        let name = params["name"].as_str().unwrap_or_default();
        let arguments = ToolArguments::read(params)?;
        let mut words = Vec::new();
        let positional: Vec<String> = match name {
            "validate" | "plan" => vec![arguments.suite(console)?],
            "run" => {
                words = self.run_words(&arguments)?;
                vec![arguments.suite(console)?]
            }
            "explain" => {
                let ids = [arguments.suite(console)?, arguments.text("sample")?];
                ids.into_iter().chain(arguments.optional("grader")?).collect()
            }
            "diff" => {
                words.push(format!("--suite={}", arguments.suite(console)?));
                let sides = [arguments.optional("old")?, arguments.optional("new")?];
                let sides: Vec<String> = sides.into_iter().flatten().collect();
                // Either may be the folder of a record, with a save behind it.
                for side in &sides {
                    let folder = side.rsplit_once('@').map_or(side.as_str(), |(folder, _)| folder);
                    only_below(folder, console)?;
                    only_below(side, console)?;
                }
                sides
            }
            "list" => vec![arguments.text("what")?],
            _ => return Err(McpError::arguments(format!("unknown tool `{name}`"))),
        };
        if name != "run" {
            words.push("--json".to_owned());
        }
        // Behind two dashes nothing is a flag.
        words.push("--".to_owned());
        words.extend(positional);
        let done = self.command(name, words, console)?;
        Ok(tool_result(name, &done))
    }

    fn run_words(&self, arguments: &ToolArguments<'_>) -> Result<Vec<String>, McpError> {
        let mut words = vec!["--format=json".to_owned(), "--quiet".to_owned()];
        if !self.has_budget() {
            words.push("--frozen".to_owned());
        }
        words.extend(self.args.max_cost.map(|most| format!("--max-cost={most}")));
        words.extend(self.args.max_calls.map(|most| format!("--max-calls={most}")));
        for (name, flag) in [("samples", "--sample"), ("graders", "--grader")] {
            words.extend(arguments.list(name)?.into_iter().map(|value| format!("{flag}={value}")));
        }
        Ok(words)
    }

    /// Runs a command; what it would write is kept.
    fn command(
        &self,
        name: &str,
        words: Vec<String>,
        console: &Console<'_>,
    ) -> Result<CommandOutput, McpError> {
        let words = ["evalrs".to_owned(), name.to_owned()].into_iter().chain(words);
        let cli =
            Cli::try_parse_from(words).map_err(|error| McpError::arguments(error.to_string()))?;
        let (mut out, mut err) = <(Vec<u8>, Vec<u8>)>::default();
        let mut inner = Console {
            system: console.system,
            out: &mut out,
            err: &mut err,
            is_terminal: false,
            width: console.width,
            cuts: false,
            has_color: false,
            verbosity: 0,
        };
        let status = match &cli.command {
            Command::Run(args) => {
                let ended = evaluate_within(&args.evaluate, None, &self.used, &mut inner);
                ended.unwrap_or_else(|error| {
                    err.extend(error.to_string().into_bytes());
                    error.status()
                })
            }
            _ => (self.dispatch)(&cli, &mut inner),
        };
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Ok(CommandOutput { code: status.code(), out: text(out), err: text(err) })
    }
}

fn greeting(params: &Value) -> Value {
    let wanted = params["protocolVersion"].as_str().unwrap_or_default();
    let version = VERSIONS.into_iter().find(|version| *version == wanted);
    json!({
        "protocolVersion": version.unwrap_or(VERSIONS[VERSIONS.len() - 1]),
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "evalrs", "version": env!("CARGO_PKG_VERSION")},
        "instructions": INSTRUCTIONS,
    })
}

fn tool(
    name: &str,
    description: &str,
    properties: &Value,
    required: &[&str],
    reads: bool,
) -> Value {
    json!({
        "name": name,
        "description": description,
        "inputSchema": {
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": false,
        },
        "annotations": {"readOnlyHint": reads, "idempotentHint": true},
    })
}

struct ToolArguments<'a>(Option<&'a Map<String, Value>>);

impl<'a> ToolArguments<'a> {
    fn read(params: &'a Value) -> Result<Self, McpError> {
        match &params["arguments"] {
            Value::Null => Ok(Self(None)),
            Value::Object(members) => Ok(Self(Some(members))),
            _ => Err(McpError::arguments("`arguments` is not an object")),
        }
    }

    fn get(&self, name: &str) -> Option<&'a Value> {
        self.0?.get(name).filter(|value| !value.is_null())
    }

    fn optional(&self, name: &str) -> Result<Option<String>, McpError> {
        let Some(value) = self.get(name) else { return Ok(None) };
        let wrong = || McpError::arguments(format!("`{name}` is not a text"));
        value.as_str().map(|text| Some(text.to_owned())).ok_or_else(wrong)
    }

    fn text(&self, name: &str) -> Result<String, McpError> {
        self.optional(name)?.ok_or_else(|| McpError::arguments(format!("`{name}` is missing")))
    }

    fn suite(&self, console: &Console<'_>) -> Result<String, McpError> {
        let path = self.text("suite")?;
        only_below(&path, console)?;
        Ok(path)
    }

    fn list(&self, name: &str) -> Result<Vec<String>, McpError> {
        let Some(value) = self.get(name) else { return Ok(Vec::new()) };
        let texts = value.as_array().and_then(|values| {
            values.iter().map(|value| value.as_str().map(str::to_owned)).collect()
        });
        texts.ok_or_else(|| McpError::arguments(format!("`{name}` is not a list of texts")))
    }
}

/// Refuses a path that leads out of the folder where the server was started, by itself or by a link.
fn only_below(path: &str, console: &Console<'_>) -> Result<(), McpError> {
    let climbs = Path::new(path).components().any(|part| part == Component::ParentDir);
    let folder = console.system.resolved(".");
    if !climbs && Path::new(&console.system.resolved(path)).starts_with(folder) {
        return Ok(());
    }
    let reason = "is outside the folder where this server was started; it reads nothing else";
    Err(McpError::arguments(format!("`{path}` {reason}")))
}

/// The value with texts that a terminal can show.
fn harmless(value: Value) -> Value {
    match value {
        Value::String(text) => harmless_text(&text).into(),
        Value::Array(items) => items.into_iter().map(harmless).collect(),
        Value::Object(members) => {
            let member = |(name, value): (String, Value)| (harmless_text(&name), harmless(value));
            members.into_iter().map(member).collect()
        }
        other => other,
    }
}

fn harmless_text(text: &str) -> String {
    shown(&anstream::adapter::strip_str(text).to_string()).into_owned()
}

/// The result of a tool: JSON, or what evalrs says is wrong.
fn tool_result(name: &str, done: &CommandOutput) -> Value {
    let Ok(mut value) = serde_json::from_str::<Value>(&done.out) else {
        let text = [done.out.trim(), done.err.trim()].join("\n");
        return json!({"content": [{"type": "text", "text": text.trim()}], "isError": true});
    };
    if name == "run" {
        value = run_result(&value, done);
    }
    // Structured content is an object.
    let structured = if value.is_object() { value } else { json!({"items": value}) };
    json!({
        "content": [{"type": "text", "text": structured.to_string()}],
        "structuredContent": structured,
        "isError": false,
    })
}

/// What an agent has to know of a run: the report without the results that pass.
fn run_result(report: &Value, done: &CommandOutput) -> Value {
    let summary = &report["summary"];
    let mut failures = Vec::new();
    let mut errors = Vec::new();
    for result in report["results"].as_array().into_iter().flatten() {
        let grades = result["grades"].as_object();
        for (grader, grade) in grades.into_iter().flatten() {
            let kept = match (grade["error"].is_null(), grade["pass"].as_bool()) {
                (false, _) => &mut errors,
                (true, Some(true)) => continue,
                (true, _) => &mut failures,
            };
            kept.push(json!({
                "sample_id": result["sample_id"], "model": result["model"], "trial": result["trial"], "grader": grader,
                "score": grade["score"], "rationale": grade["rationale"], "error": grade["error"],
            }));
        }
    }
    let all = [failures.len(), errors.len()];
    failures.truncate(LISTED);
    errors.truncate(LISTED);
    json!({
        "exit_code": done.code, "suite": summary["suite"], "samples": summary["samples"], "results": summary["results"],
        "gate": summary["gate"], "metrics": summary["metrics"], "cost": summary["cost"],
        "failures": failures, "errors": errors,
        "not_listed": {"failures": all[0] - failures.len(), "errors": all[1] - errors.len()},
        "messages": done.err.trim(),
    })
}
