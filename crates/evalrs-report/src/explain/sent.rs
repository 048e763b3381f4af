//! What judges were sent and what they replied, whole, for people.
//!
//! Nothing is shortened. Texts of samples and judges are made harmless, line by line; `--json` has every byte.

use serde_json::Value;

use super::fields::{FieldTable, called_how, heading};
use crate::page::{Block, Page, Text, doubtful, faint, quoted, strong, text};
use evalrs_metrics::explain::sent::{
    SentCase, SentExchange, SentFailure, SentJudgment, SentOrigin, SentReport,
};

/// The longest text that stands inside the rest of a body, in characters.
const SHORT: usize = 60;

/// The judgments of every result of a sample.
pub fn page(report: &SentReport) -> Page {
    let several_trials = report.results.iter().any(|result| result.trial > 0);
    let mut page = Page::default();
    for result in &report.results {
        let trial = several_trials.then_some(result.trial);
        let name = heading(&report.sample_id, result.model.as_deref(), trial, &report.suite);
        page.add(Block::Heading(name));
        add_case(result, &mut page);
    }
    page
}

/// Adds the judgments of one result: what `explain --prompt` and the screen of `watch` show.
pub fn add_case(case: &SentCase, page: &mut Page) {
    for (grader, judgments) in &case.graders.0 {
        if judgments.is_empty() {
            page.add(Block::Heading(text![quoted(grader), ": no judge is called"]));
        }
        for judgment in judgments {
            add_judgment(grader, judgment, page);
        }
    }
}

fn add_judgment(grader: &str, judgment: &SentJudgment, page: &mut Page) {
    let how = called_how(judgment.turn, judgment.reversed);
    let vote = format!(": vote {} of ", judgment.vote);
    page.add(Block::Heading(text![quoted(grader), vote, quoted(&judgment.judge), how]));
    let mut fields = FieldTable::new();
    fields.add("key", quoted(&judgment.key));
    fields.extend(judgment.url.iter().map(|url| ("to", quoted(url))));
    fields.extend(judgment.headers.iter().map(|header| ("header", quoted(header))));
    fields.add("cached", judgment.stored.as_ref().map_or_else(not_sent, origin));
    page.join(Block::Table(fields.0));
    let mut before: Vec<LongText> = Vec::new();
    for (at, exchange) in judgment.exchanges.iter().enumerate() {
        page.add(Block::Paragraph(strong(&format!("request {}", at + 1))));
        before = add_request(&exchange.request, &before, page);
        add_reply(judgment, at, exchange, page);
    }
    if let Some(SentFailure { kind, message }) = &judgment.failure {
        page.add(Block::Paragraph(text![doubtful("failure"), " ", *kind, ": ", quoted(message)]));
    }
}

fn not_sent() -> Text {
    "no: this is what would be sent".into()
}

fn origin(origin: &SentOrigin) -> Text {
    let SentOrigin { at, by, layer, generation, imported_from } = origin;
    let generation = match generation {
        0 => String::new(),
        n => format!(", generation {n}"),
    };
    let from = imported_from.as_ref().map_or_else(Text::default, |file| {
        text![" from ", quoted(file), ": it was sent to no judge"]
    });
    text![at.as_str(), " by ", quoted(by), from, ", in ", quoted(layer), generation]
}

fn add_reply(judgment: &SentJudgment, at: usize, exchange: &SentExchange, page: &mut Page) {
    let number = at + 1;
    let is_last = number == judgment.exchanges.len();
    let Some(reply) = &exchange.reply else {
        if judgment.stored.is_none() {
            page.add(Block::Paragraph(text![strong("no reply"), ": the judge was not called yet"]));
        }
        return;
    };
    let fault = exchange.fault.as_ref().filter(|_| !is_last);
    let fault = fault.map_or_else(Text::default, |fault| text![", no verdict: ", quoted(fault)]);
    page.add(Block::Paragraph(text![strong(&format!("reply {number}")), fault]));
    page.join(Block::Code(reply.clone()));
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

/// Adds the long texts of a body, but for those of the request before, and then the rest of it.
fn add_request(body: &Value, before: &[LongText], page: &mut Page) -> Vec<LongText> {
    let mut rest = body.clone();
    let mut long = Vec::new();
    take_long(&mut rest, "", None, before, &mut long);
    for text in long.iter().filter(|text| !before.contains(text)) {
        let role = text.role.as_ref().map(|role| text![" (", quoted(role), ")"]);
        let place = text![quoted(&text.path), role.unwrap_or_default()];
        page.join(Block::Lines(vec![(1, place)]));
        page.join(Block::Code(text.text.clone()));
    }
    page.join(Block::Lines(vec![(1, faint("the body"))]));
    page.join(Block::Code(format!("{rest:#}")));
    long
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
