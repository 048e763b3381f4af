//! Events into updates: the output of an agent while it works.

use serde_json::Value;

use super::form::{Adapter, EventMapping, OutputMode, PassthroughTypes, UpdateKind};
use super::path::{EventPath, is_match};
use evalrs_base::price::Cost;
use evalrs_model::outcome::Usage;

/// One update of an agent.
#[derive(Clone, Debug, PartialEq)]
pub struct Update {
    /// What it is about.
    pub kind: UpdateKind,
    /// A thought or a message.
    pub content: Option<String>,
    /// The name of the tool.
    pub title: Option<String>,
    /// What became of the call.
    pub status: Option<String>,
    /// What pairs a call with its answer.
    pub id: Option<String>,
    /// The arguments of the call.
    pub input: Option<Value>,
    /// What the call answered.
    pub output: Option<Value>,
    /// Whether it goes on with the last update of its kind.
    pub is_delta: bool,
    /// The entries of a plan.
    pub entries: Option<Value>,
}

impl Adapter {
    /// The content of an event.
    pub fn updates(&self, event: &Value) -> Vec<Update> {
        match (self.output_mode.unwrap_or_default(), &self.passthrough_type_map) {
            (OutputMode::Passthrough, Some(types)) => types.update(event).into_iter().collect(),
            _ => self.mapped(event),
        }
    }

    /// What the first mapping that takes the event makes of it. Where that takes items of a list, the other items are left
    /// to the mappings after it over the same list: an answer may hold thoughts, words and calls at once.
    fn mapped(&self, event: &Value) -> Vec<Update> {
        let mut mappings = self.output_events.iter().flatten().filter(|mapping| {
            mapping.matches.when.iter().all(|when| when.path.matches(event, &when.value))
        });
        while let Some(mapping) = mappings.next() {
            match mapping.matches.path.find(event) {
                Some(Value::Array(items)) if items.iter().any(|item| mapping.takes_item(item)) => {
                    let rest = mappings.filter(|other| other.matches.path == mapping.matches.path);
                    let takers: Vec<&EventMapping> = std::iter::once(mapping).chain(rest).collect();
                    let update = |item| {
                        Some(takers.iter().find(|taker| taker.takes_item(item))?.update(item))
                    };
                    return items.iter().filter_map(update).collect();
                }
                Some(value) if !value.is_array() && is_match(value, &mapping.matches.value) => {
                    return vec![mapping.update(event)];
                }
                _ => {}
            }
        }
        Vec::new()
    }

    /// What the agent answered, if the event ends the turn.
    pub fn result(&self, event: &Value) -> Option<String> {
        let result = &self.result;
        let is_result = result.match_path.matches(event, &result.match_value);
        is_result.then(|| result.content_path.text(event).unwrap_or_default())
    }

    /// Whether the event says that the turn failed.
    pub fn says_failed(&self, event: &Value) -> bool {
        let mut found = self.result.failed_path.iter().filter_map(|path| path.find(event));
        found.any(|value| match value {
            Value::Bool(failed) => *failed,
            Value::String(word) => word.starts_with("error"),
            _ => false,
        })
    }

    /// The conversation that the event belongs to, by the agent's own name for it.
    pub fn session_id(&self, event: &Value) -> Option<String> {
        self.resume.as_ref()?.session_id_path.text(event)
    }

    /// The usage of the turn, if the event has it.
    pub fn usage(&self, event: &Value) -> Option<Usage> {
        let paths = self.usage.as_ref()?;
        let sum = |paths: &[EventPath]| {
            let counts = paths.iter().filter_map(|path| path.find(event)?.as_u64());
            counts.fold(0, u64::saturating_add)
        };
        let cost = paths.cost.as_ref().and_then(|path| path.find(event)?.as_f64());
        let usage = Usage::of_tokens(sum(&paths.input_tokens), sum(&paths.output_tokens))
            .told(cost.and_then(Cost::from_dollars));
        (usage != Usage::default()).then_some(usage)
    }
}

impl EventMapping {
    /// Whether an item of a list is taken. Of objects with a type, the type is compared.
    fn takes_item(&self, item: &Value) -> bool {
        let any = self.matches.value == "*" && !item.is_null();
        any || is_match(item.get("type").unwrap_or(item), &self.matches.value)
    }

    /// The content of an event, or of an item of one.
    fn update(&self, of: &Value) -> Update {
        let extract = &self.extract;
        let text = |path: &Option<EventPath>| path.as_ref().and_then(|path| path.text(of));
        let value =
            |path: &Option<EventPath>| path.as_ref().and_then(|path| path.find(of).cloned());
        let is_true = |path: &Option<EventPath>| value(path) == Some(Value::Bool(true));
        let status = if is_true(&extract.failed) {
            Some("failed".to_owned())
        } else {
            text(&extract.status)
        };
        Update {
            kind: self.emit_as,
            content: text(&extract.content),
            title: text(&extract.title),
            status,
            id: text(&extract.id),
            input: value(&extract.input),
            output: value(&extract.output),
            is_delta: is_true(&extract.delta) || is_always(extract.delta.as_ref()),
            entries: value(&extract.entries),
        }
    }
}

/// Whether an adapter says `'true'`, whatever the event.
fn is_always(path: Option<&EventPath>) -> bool {
    matches!(path, Some(EventPath::Literal(Value::String(text))) if text == "true")
}

impl PassthroughTypes {
    fn update(&self, event: &Value) -> Option<Update> {
        let own = event.get(&self.type_field)?.as_str()?;
        let named = || serde_json::from_value(Value::from(own)).ok();
        let kind = self.type_values.get(own).copied().or_else(named)?;
        let text = |name: &str| event.get(name).and_then(Value::as_str).map(str::to_owned);
        Some(Update {
            kind,
            content: text("content"),
            title: text("name").or_else(|| text("title")),
            status: text("status"),
            id: text("id"),
            input: event.get("input").cloned(),
            output: event.get("output").cloned(),
            is_delta: false,
            entries: event.get("entries").cloned(),
        })
    }
}
