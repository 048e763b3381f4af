//! The paths of adapters into events: `$.message.content[0].text`. They are not JSONPath.
//!
//! `'text'` in single quotes is that text. Everything else begins with `$.`; parts are divided by dots, and a part is
//! `name`, `name[N]`, `[N]`, `name[*]` or `[*]`. At `[*]` the path ends with the list itself, whatever follows. Other
//! brackets belong to the name.

use serde::Deserialize;
use serde_json::Value;

use evalrs_base::json_syntax::as_text;

/// A path into an event.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(from = "String")]
pub enum EventPath {
    /// This text, whatever the event.
    Literal(Value),
    /// The value there.
    Steps(Vec<Step>),
    /// Nothing: the path is not one.
    Nowhere,
}

/// A step of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Into the member of an object, or the item of a list by a plain number.
    Member(String),
    /// Into the item of a list.
    Item(usize),
    /// Stops at a list.
    List,
}

impl From<String> for EventPath {
    fn from(text: String) -> Self {
        if let Some(literal) = text.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\'')) {
            return Self::Literal(Value::from(literal));
        }
        let Some(rest) = text.strip_prefix("$.") else { return Self::Nowhere };
        let mut path: Vec<Step> = Vec::new();
        for part in rest.split('.').filter(|part| !part.is_empty()) {
            path.extend(steps(part));
            if path.last() == Some(&Step::List) {
                break;
            }
        }
        Self::Steps(path)
    }
}

/// The steps of one part.
fn steps(part: &str) -> Vec<Step> {
    let bracket = part.strip_suffix(']').and_then(|rest| rest.split_once('['));
    let step = match bracket {
        Some((_, "*")) => Some(Step::List),
        Some((_, index)) if index.bytes().all(|byte| byte.is_ascii_digit()) => {
            index.parse().ok().map(Step::Item)
        }
        _ => None,
    };
    let (Some((name, _)), Some(step)) = (bracket, step) else {
        return vec![Step::Member(part.to_owned())];
    };
    let member = (!name.is_empty()).then(|| Step::Member(name.to_owned()));
    member.into_iter().chain([step]).collect()
}

impl EventPath {
    /// The value there; nothing if something on the way is missing, null or of another type.
    pub fn find<'v>(&'v self, event: &'v Value) -> Option<&'v Value> {
        let steps = match self {
            Self::Literal(text) => return Some(text),
            Self::Nowhere => return None,
            Self::Steps(steps) => steps,
        };
        let mut value = event;
        for step in steps {
            value = match (step, value) {
                (Step::List, Value::Array(_)) => return Some(value),
                (Step::Member(name), Value::Object(members)) => members.get(name)?,
                (Step::Member(name), Value::Array(items)) => {
                    items.get(name.parse::<usize>().ok()?)?
                }
                (Step::Item(index), Value::Array(items)) => items.get(*index)?,
                _ => return None,
            };
        }
        Some(value).filter(|value| !value.is_null())
    }

    /// The value there as text: strings as they are, anything else as JSON.
    pub fn text(&self, event: &Value) -> Option<String> {
        self.find(event).map(as_text)
    }

    /// Whether this text is there; `*` is any value.
    pub fn matches(&self, event: &Value, expected: &str) -> bool {
        self.find(event).is_some_and(|value| is_match(value, expected))
    }
}

/// Whether a value is the expected text; `*` is any value. Numbers and booleans are never equal to a text.
pub(super) fn is_match(value: &Value, expected: &str) -> bool {
    !value.is_null() && (expected == "*" || value.as_str() == Some(expected))
}
