//! What judges were sent and what they replied, whole, for people.
//!
//! Nothing is shortened. Texts of samples and judges are made harmless for a terminal, line by line; `--json` has every byte.

use std::io::{self, Write};

use serde_json::Value;

use crate::digest::label;
use crate::terminal_page::{FAINT, TITLE};
use evalrs_base::text::sanitize;
use evalrs_metrics::explain::sent::{SentCase, SentFailure, SentJudgment, SentOrigin, SentReport};

/// The longest text that stands inside the rest of a body, in characters.
const SHORT: usize = 60;

/// Writes what was sent and replied for people, whole.
pub fn write_sent(report: &SentReport, out: &mut dyn Write) -> io::Result<()> {
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
pub fn write_case(case: &SentCase, out: &mut dyn Write) -> io::Result<()> {
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
    let asked = asked_how(judgment.turn, judgment.reversed);
    let judge = sanitize(&judgment.judge);
    let vote = judgment.vote;
    writeln!(out, "{TITLE}{}{TITLE:#}: vote {vote} of {judge}{asked}", sanitize(grader))?;
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

/// Of which turn a judge is asked and in which order answers are compared, where that is to be said.
pub(super) fn asked_how(turn: Option<usize>, reversed: Option<bool>) -> String {
    let turn = turn.map_or_else(String::new, |turn| format!(", turn {turn}"));
    let order = match reversed {
        None => "",
        Some(false) => ", in order",
        Some(true) => ", the other way round",
    };
    format!("{turn}{order}")
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
