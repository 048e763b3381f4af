//! Spans of OpenTelemetry: calls of models and tools, by the conventions for generative AI, old and new, of
//! `OpenInference` and of `OpenLLMetry`.
//!
//! Each request to a model repeats the conversation so far. So messages that were said already are found again and not
//! repeated, in each agent's conversation for itself; an agent that a tool started, or an agent that itself asks models, is
//! a sub-agent. Spans of tools say how calls ended, and are calls themselves where no message says so.

mod attributes;
mod conversation;
mod messages;
mod span;
#[cfg(test)]
mod tests;

use serde_json::Value;

use super::node::RecordedNode;
use super::{ReadResult, Trajectory, TrajectoryFormat, TrajectoryTotals};
use conversation::Weaver;
use evalrs_base::exact;
use span::{SpanKind, SpanTree};

/// An export of spans, lines of exports, or a list of spans.
pub(super) static FORMAT: TrajectoryFormat = TrajectoryFormat {
    name: "otel",
    owns: span::is_span_or_export,
    owns_object: span::is_export,
    owns_text: |text| lines(text).is_some(),
    has_kinds: true,
    read,
};

/// The spans of an export as they are written.
pub fn spans_in(value: &Value) -> Vec<&Value> {
    let mut found = Vec::new();
    span::gather(value, &mut found);
    found
}

/// The exports in JSON Lines text; none if a line is not an export.
fn lines(text: &str) -> Option<Value> {
    let text = text.trim_start_matches('\u{feff}');
    let head: String = text.trim_start().chars().take(200).collect();
    if !head.starts_with('{') || !head.to_ascii_lowercase().contains("span") {
        return None;
    }
    let mut exports = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let value: Value = serde_json::from_str(line).ok()?;
        exports.push(Some(value).filter(span::is_span_or_export)?);
    }
    (!exports.is_empty()).then_some(Value::Array(exports))
}

fn read(root: RecordedNode<'_, '_>) -> ReadResult<Trajectory> {
    let parsed = root.as_str().and_then(lines);
    let spans = SpanTree::read(parsed.as_ref().unwrap_or(root.value()));
    if spans.list.is_empty() {
        return Err(root.problem("spans of OpenTelemetry"));
    }
    let mut weaver = Weaver::new(&spans);
    for (place, span) in spans.list.iter().enumerate() {
        match span.kind {
            SpanKind::Model => weaver.model(place, span),
            SpanKind::Tool => weaver.tool(place, span),
            SpanKind::Agent => weaver.agent(place, span),
            SpanKind::Other => weaver.root(place, span),
        }
    }
    let totals = TrajectoryTotals { duration_ms: spans.duration_ms(), cost_usd: cost(&spans) };
    Ok(Trajectory { totals, ..weaver.finish() })
}

/// What all requests cost, if each says it.
fn cost(spans: &SpanTree) -> Option<f64> {
    let is_model =
        |place: usize| spans.list.get(place).is_some_and(|span| span.kind == SpanKind::Model);
    let requests = spans.list.iter().enumerate().filter(move |(place, span)| {
        span.kind == SpanKind::Model && !spans.above(*place).any(is_model)
    });
    let said =
        |name: &str| requests.clone().map(|(_, span)| span.attributes.number(name)).collect();
    let costs: Option<Vec<f64>> = ["llm.cost.total", "gen_ai.usage.cost", "operation.cost"]
        .iter()
        .find_map(|name| said(name));
    costs.filter(|costs| !costs.is_empty()).map(|costs| exact::sum(costs.into_iter()))
}
