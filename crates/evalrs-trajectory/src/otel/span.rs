//! Spans, however they are exported: OTLP's JSON, lines of it, or lists of spans as consoles and Phoenix write them.
//!
//! Spans come in any order, twice, without their parents, or as each other's parents: they are put in the order of time, of
//! two with one id the one that has ended counts, and whoever has no parent that leads to a root is a root.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::attributes::Attributes;

/// The spans of an export in the order of time.
#[derive(Debug, Default)]
pub(super) struct SpanTree {
    pub list: Vec<Span>,
}

/// What a span represents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SpanKind {
    /// A request to a model.
    Model,
    /// A call of a tool.
    Tool,
    /// An agent at work.
    Agent,
    /// Anything else.
    Other,
}

/// One span.
#[derive(Debug)]
pub(super) struct Span {
    pub name: String,
    pub kind: SpanKind,
    pub attributes: Attributes,
    pub events: Vec<SpanEvent>,
    pub failed: bool,
    /// The place of its parent among all spans.
    pub parent: Option<usize>,
    start: Option<i128>,
    end: Option<i128>,
    id: String,
    parent_id: String,
}

/// Something that happened during a span.
#[derive(Debug)]
pub(super) struct SpanEvent {
    pub name: String,
    pub attributes: Attributes,
}

/// Whether an object is one span.
pub(super) fn is_span(value: &Value) -> bool {
    let text = |key: &str| value.get(key).is_some_and(Value::is_string);
    let in_context = value.pointer("/context/span_id").or_else(|| value.pointer("/context/spanId"));
    (text("spanId") || text("span_id") || in_context.is_some_and(Value::is_string))
        && (text("traceId") || text("trace_id") || in_context.is_some())
        && value.get("name").is_some()
}

/// Whether an object is an export of spans.
pub(super) fn is_export(object: &Map<String, Value>) -> bool {
    let list = |key: &str| object.get(key).and_then(Value::as_array);
    list("resourceSpans").or_else(|| list("resource_spans")).is_some()
        || list("spans").is_some_and(|spans| spans.iter().any(is_span))
}

/// Whether a value is one of the two.
pub(super) fn is_span_or_export(value: &Value) -> bool {
    is_span(value) || value.as_object().is_some_and(is_export)
}

/// How far up a span's parents are looked at.
const MAX_DEPTH: usize = 256;

impl SpanTree {
    /// Gathers the spans of an export.
    pub(super) fn read(value: &Value) -> Self {
        let mut found = Vec::new();
        gather(value, &mut found);
        let mut spans = Self::default();
        let mut places: BTreeMap<String, usize> = BTreeMap::new();
        for span in found.into_iter().map(Span::read) {
            match places.get(&span.id).copied().filter(|_| !span.id.is_empty()) {
                Some(place) => spans.list[place].take_if_ended(span),
                None => {
                    places.insert(span.id.clone(), spans.list.len());
                    spans.list.push(span);
                }
            }
        }
        spans.sort();
        spans.link();
        spans
    }

    /// The spans above a span, the nearest first.
    pub(super) fn above(&self, index: usize) -> impl Iterator<Item = usize> {
        std::iter::successors(self.parent(index), |place| self.parent(*place)).take(MAX_DEPTH)
    }

    /// From the first start to the last end of what has no parent, in milliseconds.
    pub(super) fn duration_ms(&self) -> Option<f64> {
        let roots = || self.list.iter().filter(|span| span.parent.is_none());
        let start = roots().filter_map(|span| span.start).min()?;
        let ends: Option<Vec<i128>> = roots().map(|span| span.end).collect();
        let nanos = ends?.into_iter().max()?.checked_sub(start)?;
        // A trace of less than a hundred years.
        let nanos = i64::try_from(nanos).ok().filter(|nanos| *nanos >= 0)?;
        #[expect(clippy::cast_precision_loss, reason = "a time is shown to the millisecond")]
        let millis = nanos as f64 / 1e6;
        Some(millis)
    }

    fn parent(&self, index: usize) -> Option<usize> {
        self.list.get(index)?.parent
    }

    /// Sorts by start. A span that says no time starts with the one before it.
    fn sort(&mut self) {
        let mut last = i128::MIN;
        let starts = self.list.iter().map(|span| {
            last = span.start.unwrap_or(last);
            last
        });
        let starts: Vec<i128> = starts.collect();
        let list = std::mem::take(&mut self.list);
        let mut dated: Vec<_> = starts.into_iter().zip(list).collect();
        dated.sort_by_key(|(start, _)| *start);
        self.list = dated.into_iter().map(|(_, span)| span).collect();
    }

    /// Finds the parents, and cuts circles where they are first closed.
    fn link(&mut self) {
        let places: BTreeMap<&str, usize> =
            self.list.iter().enumerate().map(|(place, span)| (span.id.as_str(), place)).collect();
        let parent_of = |span: &Span| {
            places.get(span.parent_id.as_str()).copied().filter(|_| !span.parent_id.is_empty())
        };
        let parents: Vec<Option<usize>> = self.list.iter().map(parent_of).collect();
        for (span, parent) in self.list.iter_mut().zip(parents) {
            span.parent = parent;
        }
        // Which walk up first came by a span: its own walk meeting it again is a circle.
        let mut walked = vec![usize::MAX; self.list.len()];
        for start in 0..self.list.len() {
            let mut place = start;
            while walked[place] == usize::MAX {
                walked[place] = start;
                let Some(parent) = self.list[place].parent else { break };
                if walked[parent] == start {
                    self.list[place].parent = None;
                    break;
                }
                place = parent;
            }
        }
    }
}

impl Span {
    fn read(value: &Value) -> Self {
        let attributes = value.get("attributes").map(Attributes::read).unwrap_or_default();
        let text = |keys: &[&str]| {
            let found = keys.iter().find_map(|key| value.pointer(key)?.as_str());
            found.unwrap_or_default().to_owned()
        };
        let events = value.get("events").and_then(Value::as_array);
        let events: Vec<SpanEvent> = events.into_iter().flatten().map(SpanEvent::read).collect();
        let status = ["/status/code", "/status/status_code", "/status_code"];
        let status = status.iter().find_map(|key| value.pointer(key));
        let failed = status.is_some_and(|code| {
            code.as_u64() == Some(2)
                || code.as_str().is_some_and(|code| code.to_ascii_uppercase().ends_with("ERROR"))
        });
        let kind = text(&["/span_kind"]);
        Self {
            name: text(&["/name"]),
            kind: SpanKind::of(&attributes, &kind, &events),
            attributes,
            events,
            failed,
            parent: None,
            start: time(
                value,
                &["startTimeUnixNano", "start_time_unix_nano", "start_time", "startTime"],
            ),
            end: time(value, &["endTimeUnixNano", "end_time_unix_nano", "end_time", "endTime"]),
            id: text(&["/spanId", "/span_id", "/context/span_id", "/context/spanId"]),
            parent_id: text(&["/parentSpanId", "/parent_span_id", "/parent_id", "/parentId"]),
        }
    }

    /// Takes over a span of the same id, if that one has ended and this one has not.
    fn take_if_ended(&mut self, other: Self) {
        if self.end.is_none() && other.end.is_some() {
            *self = other;
        }
    }
}

impl SpanEvent {
    fn read(value: &Value) -> Self {
        let name = value.get("name").and_then(Value::as_str).unwrap_or_default();
        let attributes = value.get("attributes").map(Attributes::read).unwrap_or_default();
        Self { name: name.to_owned(), attributes }
    }
}

impl SpanKind {
    /// What a span represents: by the attribute of `OpenInference`, OpenTelemetry or `OpenLLMetry`, else by an attribute that
    /// only one of them has.
    fn of(attributes: &Attributes, exported: &str, events: &[SpanEvent]) -> Self {
        let said = ["openinference.span.kind", "gen_ai.operation.name", "traceloop.span.kind"];
        let said = said.iter().filter_map(|name| attributes.text(name)).chain([exported]);
        let kind = said.map(str::to_ascii_lowercase).find_map(|kind| match kind.as_str() {
            "llm" | "chat" | "text_completion" | "generate_content" | "completion" => {
                Some(Self::Model)
            }
            "tool" | "execute_tool" => Some(Self::Tool),
            "agent" | "invoke_agent" => Some(Self::Agent),
            "chain" | "workflow" | "task" | "retriever" | "embedding" | "embeddings"
            | "reranker" | "guardrail" | "evaluator" | "create_agent" | "invoke_workflow" => {
                Some(Self::Other)
            }
            _ => None,
        });
        let has = |name: &str| attributes.get(name).is_some();
        let lists =
            ["gen_ai.prompt", "gen_ai.completion", "llm.input_messages", "llm.output_messages"];
        let is_model = || {
            has("gen_ai.input.messages")
                || has("gen_ai.output.messages")
                || lists.iter().any(|list| !attributes.items(list).is_empty())
                || events.iter().any(|event| event.name == "gen_ai.choice")
        };
        let found = kind.or_else(|| has("gen_ai.tool.name").then_some(Self::Tool));
        found.or_else(|| is_model().then_some(Self::Model)).unwrap_or(Self::Other)
    }
}

/// The spans in whatever they are wrapped in.
pub(super) fn gather<'v>(value: &'v Value, found: &mut Vec<&'v Value>) {
    let wrappers = [
        "resourceSpans",
        "resource_spans",
        "scopeSpans",
        "scope_spans",
        "instrumentationLibrarySpans",
        "spans",
    ];
    match value {
        Value::Array(items) => items.iter().for_each(|item| gather(item, found)),
        Value::Object(_) if is_span(value) => found.push(value),
        Value::Object(members) => {
            let lists = wrappers.iter().filter_map(|key| members.get(*key));
            lists.for_each(|list| gather(list, found));
        }
        _ => {}
    }
}

/// A time in nanoseconds since 1970: a number, also as text, or a date.
fn time(value: &Value, keys: &[&str]) -> Option<i128> {
    let value = keys.iter().find_map(|key| value.get(*key).filter(|time| !time.is_null()))?;
    match value {
        Value::Number(number) => number.as_i64().map(i128::from),
        Value::String(text) => {
            text.parse().ok().or_else(|| text.parse().ok().map(jiff::Timestamp::as_nanosecond))
        }
        _ => None,
    }
    .filter(|time| *time > 0)
}
