//! What judges were sent and what they replied, whole: the shape of `explain --prompt --json`, and the same for people.
//!
//! Nothing is shortened. Texts of samples and judges are made harmless for a terminal, line by line; `--json` has every byte.

use std::io::{self, Write};

use anstyle::Style;
use serde::Serialize;
use serde_json::Value;

use crate::base::ordered_map::Ordered;
use crate::base::text::sanitize;
use crate::pipeline::judge::sent::OpenRequest;
use crate::pipeline::outcome::{JudgmentOrigin, Outcome, Stored};
use crate::pipeline::report::digest::label;

const TITLE: Style = Style::new().bold();
const FAINT: Style = Style::new().dimmed();

/// The longest text that stands inside the rest of a body, in characters.
const SHORT: usize = 60;

/// Everything that judges were sent about one sample.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct SentReport {
    /// The version of this shape.
    pub format: u32,
    /// The suite's name.
    pub suite: String,
    /// The sample.
    pub sample_id: String,
    /// Its results: one for each model and trial.
    pub results: Vec<SentCase>,
}

/// Everything that judges were sent about one result.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct SentCase {
    /// The model that was run.
    pub model: Option<String>,
    /// The repetition, from 0.
    pub trial: u32,
    /// Grader → its judgments: one for each vote, order and turn; none where no judge is asked.
    pub graders: Ordered<Vec<SentJudgment>>,
}

/// One judgment: what is sent, and what came back.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct SentJudgment {
    /// The turn that is judged, where turns are judged one by one.
    pub turn: Option<usize>,
    /// The judge.
    pub judge: String,
    /// The protocol.
    pub provider: String,
    /// Which of its independent judgments it is, from 0.
    pub vote: u32,
    /// Whether two submissions are shown the other way round; null where there is one.
    pub reversed: Option<bool>,
    /// The key.
    pub key: String,
    /// Where requests go, without secrets; null of a command and an agent.
    pub url: Option<String>,
    /// Headers that are no secret, a line each.
    pub headers: Vec<String>,
    /// Each request with its reply, in order. Of a judgment that is not stored, the first request as it would be sent.
    pub exchanges: Vec<SentExchange>,
    /// Why there is no verdict; null if there is one, or nothing is stored.
    pub failure: Option<SentFailure>,
    /// What the store knows of it; null if it is not there.
    pub stored: Option<SentOrigin>,
}

/// A request and the reply to it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct SentExchange {
    /// The body as it was sent.
    pub request: Value,
    /// The text of the reply, as it came; null if there is none, or it is not stored.
    pub reply: Option<String>,
    /// Why the reply is no verdict; null of a verdict.
    pub fault: Option<String>,
}

/// Why there is no verdict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct SentFailure {
    /// Its kind.
    pub kind: &'static str,
    /// What happened.
    pub message: String,
}

/// Where a stored judgment comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct SentOrigin {
    /// When it was asked or imported, RFC 3339.
    pub at: String,
    /// The version of evalrs that did.
    pub by: String,
    /// The file it was imported from; null if it was asked. What was imported was sent to nobody.
    pub imported_from: Option<String>,
    /// Which layer of the store has it.
    pub layer: String,
    /// How often it was asked anew.
    pub generation: u32,
}

impl SentJudgment {
    /// The same with its exchanges, by what the store has of it. `requests` are what was sent, one more than replies were
    /// rejected.
    #[must_use]
    pub(crate) fn with(mut self, requests: Vec<OpenRequest>, stored: Option<Stored>) -> Self {
        let outcome = stored.map(|stored| stored.outcome);
        let exchange = outcome.as_ref().and_then(Outcome::exchange);
        let rejected = exchange.map(|exchange| &exchange.rejected[..]).unwrap_or_default();
        let mut exchanges: Vec<SentExchange> = Vec::with_capacity(requests.len());
        for (at, request) in requests.into_iter().enumerate() {
            let earlier = rejected.get(at);
            exchanges.push(SentExchange {
                request: request.body,
                reply: earlier.map(|earlier| earlier.text.clone()),
                fault: earlier.map(|earlier| earlier.fault.clone()),
            });
        }
        match (outcome, exchanges.last_mut()) {
            (Some(Outcome::Reply(reply)), Some(last)) => last.reply = Some(reply.text),
            (Some(Outcome::Failure(failure)), Some(last)) => {
                last.fault = failure.reply.as_ref().map(|_| failure.message.clone());
                last.reply = failure.reply;
                let kind = failure.kind.name();
                self.failure = Some(SentFailure { kind, message: failure.message });
            }
            (None, _) | (_, None) => {}
        }
        self.exchanges = exchanges;
        self
    }
}

impl SentOrigin {
    /// What is shown of an entry of the store.
    pub(crate) fn new(stored: &Stored, layer: String, generation: u32) -> Self {
        Self {
            at: stored.at.clone(),
            by: stored.by.clone(),
            imported_from: match &stored.origin {
                JudgmentOrigin::Asked => None,
                JudgmentOrigin::Imported(file) => Some(file.clone()),
            },
            layer,
            generation,
        }
    }
}

/// Writes what was sent and replied for people, whole.
pub(crate) fn write_sent(report: &SentReport, out: &mut dyn Write) -> io::Result<()> {
    let several_trials = report.results.iter().any(|result| result.trial > 0);
    for (at, result) in report.results.iter().enumerate() {
        if at > 0 {
            writeln!(out)?;
        }
        let trial = several_trials.then_some(result.trial);
        let name = label(&report.sample_id, result.model.as_deref(), trial);
        writeln!(
            out,
            "{TITLE}{}{TITLE:#}  {FAINT}{}{FAINT:#}",
            sanitize(&name),
            sanitize(&report.suite)
        )?;
        write_case(result, out)?;
    }
    Ok(())
}

/// Writes the judgments of one result: what `explain --prompt` and the screen of `watch` show.
pub(crate) fn write_case(case: &SentCase, out: &mut dyn Write) -> io::Result<()> {
    for (grader, judgments) in &case.graders.0 {
        writeln!(out)?;
        if judgments.is_empty() {
            writeln!(out, "{TITLE}{}{TITLE:#}: no judge is asked", sanitize(grader))?;
        }
        for (at, judgment) in judgments.iter().enumerate() {
            if at > 0 {
                writeln!(out)?;
            }
            write_judgment(grader, judgment, out)?;
        }
    }
    Ok(())
}

fn write_judgment(grader: &str, judgment: &SentJudgment, out: &mut dyn Write) -> io::Result<()> {
    let turn = judgment.turn.map_or_else(String::new, |turn| format!(", turn {turn}"));
    let order = match judgment.reversed {
        None => "",
        Some(false) => ", in order",
        Some(true) => ", the other way round",
    };
    let judge = sanitize(&judgment.judge);
    let vote = judgment.vote;
    writeln!(out, "{TITLE}{}{TITLE:#}: vote {vote} of {judge}{turn}{order}", sanitize(grader))?;
    let mut field =
        |name: &str, text: &str| writeln!(out, "  {FAINT}{name:<8}{FAINT:#}{}", sanitize(text));
    field("key", &judgment.key)?;
    if let Some(url) = &judgment.url {
        field("to", url)?;
    }
    for header in &judgment.headers {
        field("header", header)?;
    }
    match &judgment.stored {
        None => field("stored", "no: this is what would be sent")?,
        Some(origin) => {
            let generation = match origin.generation {
                0 => String::new(),
                n => format!(", generation {n}"),
            };
            let from = match &origin.imported_from {
                None => String::new(),
                Some(file) => format!(" from {file}: it was sent to nobody"),
            };
            let SentOrigin { at, by, layer, .. } = origin;
            field("stored", &format!("{at} by {by}{from}, in {layer}{generation}"))?;
        }
    }
    let mut before: Vec<LongText> = Vec::new();
    for (at, exchange) in judgment.exchanges.iter().enumerate() {
        let number = at + 1;
        writeln!(out, "\n  {TITLE}request {number}{TITLE:#}")?;
        before = write_request(&exchange.request, &before, out)?;
        let is_last = number == judgment.exchanges.len();
        let Some(reply) = &exchange.reply else {
            if judgment.stored.is_none() {
                writeln!(out, "\n  {TITLE}no reply{TITLE:#}: it was not asked yet")?;
            }
            continue;
        };
        let fault = match &exchange.fault {
            Some(fault) if !is_last => format!(", no verdict: {}", sanitize(fault)),
            _ => String::new(),
        };
        writeln!(out, "\n  {TITLE}reply {number}{TITLE:#}{fault}")?;
        write_text(reply, out)?;
    }
    match &judgment.failure {
        None => Ok(()),
        Some(SentFailure { kind, message }) => {
            writeln!(out, "\n  {TITLE}failure{TITLE:#} {kind}: {}", sanitize(message))
        }
    }
}

/// A text of a body that does not stand in a line of it.
#[derive(Clone, Debug, PartialEq)]
struct LongText {
    /// Where it stands: `messages[0].content`.
    path: String,
    /// Whose message it is, where that is said beside it.
    role: Option<String>,
    text: String,
}

/// Writes the long texts of a body, but for those of the request before, and then the rest of it.
fn write_request(
    body: &Value,
    before: &[LongText],
    out: &mut dyn Write,
) -> io::Result<Vec<LongText>> {
    let mut rest = body.clone();
    let mut long = Vec::new();
    take_long(&mut rest, "", None, before, &mut long);
    for text in long.iter().filter(|text| !before.contains(text)) {
        let role = text.role.as_ref().map(|role| format!(" ({})", sanitize(role)));
        writeln!(out, "    {FAINT}{}{}{FAINT:#}", sanitize(&text.path), role.unwrap_or_default())?;
        write_text(&text.text, out)?;
    }
    writeln!(out, "    {FAINT}the body{FAINT:#}")?;
    write_text(&format!("{rest:#}"), out)?;
    Ok(long)
}

/// Moves long texts out of a value; what is left says where they are shown.
fn take_long(
    value: &mut Value,
    path: &str,
    role: Option<&str>,
    before: &[LongText],
    long: &mut Vec<LongText>,
) {
    match value {
        Value::String(text) if text.contains('\n') || text.chars().count() > SHORT => {
            let role = role.map(str::to_owned);
            let taken = LongText { path: path.to_owned(), role, text: std::mem::take(text) };
            let is_known = before.contains(&taken);
            let place = if is_known { "(as before)" } else { "(above)" };
            place.clone_into(text);
            long.push(taken);
        }
        Value::Array(items) => {
            for (at, item) in items.iter_mut().enumerate() {
                take_long(item, &format!("{path}[{at}]"), role, before, long);
            }
        }
        Value::Object(members) => {
            let own = members.get("role").and_then(Value::as_str).map(str::to_owned);
            let dot = if path.is_empty() { "" } else { "." };
            for (name, member) in members.iter_mut() {
                let path = format!("{path}{dot}{name}");
                take_long(member, &path, own.as_deref().or(role), before, long);
            }
        }
        _ => {}
    }
}

/// Writes a text line by line, without what a terminal would act upon.
fn write_text(text: &str, out: &mut dyn Write) -> io::Result<()> {
    if text.is_empty() {
        return writeln!(out, "      (empty)");
    }
    for line in text.split('\n') {
        let line = sanitize(line.trim_end_matches('\r'));
        if line.is_empty() {
            writeln!(out)?;
        } else {
            writeln!(out, "      {line}")?;
        }
    }
    Ok(())
}
