//! What the rows of a suite's dataset say of cases beyond the record: tags, metadata, calls of tools and times. Small enough that those
//! of a hundred thousand cases stay in memory: each value stands once.

use std::collections::HashMap;

use serde_json::{Map, Value};

/// The most keys of metadata that are known, in the order in which rows first have them.
const MOST_KEYS: usize = 30;
/// The characters of a value of metadata that are kept.
const SHOWN: usize = 80;

/// What is found of a case.
#[derive(Debug, Default)]
pub(crate) struct FoundFacts {
    pub sample_id: String,
    pub model: Option<String>,
    /// The repetition, from 0.
    pub trial: u32,
    pub tags: Vec<String>,
    pub metadata: Map<String, Value>,
    /// How often the agent called a tool; none where there is no conversation.
    pub tool_calls: Option<u32>,
    /// How long the answer took.
    pub seconds: Option<f64>,
}

/// The facts of all cases of a suite.
#[derive(Debug, Default)]
pub(crate) struct SuiteFacts {
    /// The keys of metadata.
    pub keys: Vec<String>,
    values: Vec<Value>,
    /// The place of a value, by its JSON.
    places: HashMap<String, u32>,
    /// Sample → its cases: mostly one.
    cases: HashMap<Box<str>, Vec<CaseFacts>>,
}

#[derive(Debug)]
struct CaseFacts {
    model: Option<Box<str>>,
    trial: u32,
    tags: Box<[u32]>,
    /// The values of the first keys, [`NONE`] where the row has none.
    metadata: Box<[u32]>,
    tool_calls: Option<u32>,
    seconds: Option<f64>,
}

const NONE: u32 = u32::MAX;

/// The facts of a case.
#[derive(Clone, Copy)]
pub(crate) struct KnownFacts<'a> {
    all: &'a SuiteFacts,
    case: &'a CaseFacts,
}

impl SuiteFacts {
    pub(crate) fn of(found: impl Iterator<Item = FoundFacts>) -> Self {
        let mut facts = Self::default();
        found.for_each(|case| facts.add(case));
        facts.places = HashMap::new();
        facts
    }

    fn add(&mut self, found: FoundFacts) {
        let tags = found.tags.into_iter().map(|tag| self.place(Value::from(tag))).collect();
        let mut metadata = Vec::new();
        for (key, value) in found.metadata {
            if let Some(at) = self.key(&key).filter(|_| !value.is_null()) {
                metadata.resize(metadata.len().max(at + 1), NONE);
                metadata[at] = self.place(clipped(value));
            }
        }
        let case = CaseFacts {
            model: found.model.map(Box::from),
            trial: found.trial,
            tags,
            metadata: metadata.into(),
            tool_calls: found.tool_calls,
            seconds: found.seconds,
        };
        self.cases.entry(found.sample_id.into()).or_default().push(case);
    }

    /// The place of a key. One that an address could not name has none.
    fn key(&mut self, key: &str) -> Option<usize> {
        let known = self.keys.iter().position(|own| own == key);
        known.or_else(|| {
            let is_new =
                self.keys.len() < MOST_KEYS && !key.is_empty() && !key.contains([',', ':']);
            is_new.then(|| {
                self.keys.push(key.to_owned());
                self.keys.len() - 1
            })
        })
    }

    fn place(&mut self, value: Value) -> u32 {
        let next = u32::try_from(self.values.len()).unwrap_or(NONE);
        let place = *self.places.entry(value.to_string()).or_insert(next);
        if place == next {
            self.values.push(value);
        }
        place
    }

    /// The facts of a case.
    pub(crate) fn case(
        &self,
        sample: &str,
        model: Option<&str>,
        trial: u32,
    ) -> Option<KnownFacts<'_>> {
        let of_sample = self.cases.get(sample)?;
        let is_it = |case: &&CaseFacts| case.trial == trial && case.model.as_deref() == model;
        of_sample.iter().find(is_it).map(|case| KnownFacts { all: self, case })
    }
}

impl<'a> KnownFacts<'a> {
    pub(crate) fn tags(self) -> impl Iterator<Item = &'a Value> {
        self.case.tags.iter().filter_map(move |at| self.all.values.get(*at as usize))
    }

    /// The value of a key of metadata.
    pub(crate) fn metadata(self, key: &str) -> Option<&'a Value> {
        let at = self.all.keys.iter().position(|own| own == key)?;
        self.all.values.get(*self.case.metadata.get(at)? as usize)
    }

    pub(crate) fn tool_calls(self) -> Option<u32> {
        self.case.tool_calls
    }

    pub(crate) fn seconds(self) -> Option<f64> {
        self.case.seconds
    }
}

/// A number, or a text that is short enough for a row.
fn clipped(value: Value) -> Value {
    let text = match value {
        Value::Number(_) => return value,
        Value::String(text) => text,
        other => other.to_string(),
    };
    Value::from(text.chars().take(SHOWN).collect::<String>())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{FoundFacts, SuiteFacts};

    fn found(id: &str, metadata: &Value) -> FoundFacts {
        let metadata = metadata.as_object().cloned().unwrap_or_default();
        FoundFacts {
            sample_id: id.to_owned(),
            metadata,
            tags: vec!["t".to_owned()],
            ..FoundFacts::default()
        }
    }

    #[test]
    fn values_are_those_of_rows_and_clipped() {
        let long = "x".repeat(200);
        let all = [
            found("a", &json!({"plan": "pro", "seats": 3, "none": null})),
            found("b", &json!({"late": long, "plan": "pro", "list": [1, "two"], "is": true})),
        ];
        let facts = SuiteFacts::of(all.into_iter());
        let of = |id: &str, key: &str| facts.case(id, None, 0).unwrap().metadata(key).cloned();
        assert_eq!(of("a", "plan"), Some(json!("pro")));
        assert_eq!(of("a", "seats"), Some(json!(3)));
        assert_eq!(of("a", "none"), None);
        assert_eq!(of("a", "late"), None);
        assert_eq!(of("b", "late"), Some(json!("x".repeat(80))));
        assert_eq!(of("b", "list"), Some(json!(r#"[1,"two"]"#)));
        assert_eq!(of("b", "is"), Some(json!("true")));
        assert_eq!(of("b", "seats"), None);
        assert!(facts.case("c", None, 0).is_none() && facts.case("a", Some("m"), 0).is_none());
        assert_eq!(facts.case("b", None, 0).unwrap().tags().collect::<Vec<_>>(), [&json!("t")]);
    }

    #[test]
    fn keys_are_the_first_thirty_that_an_address_can_name() {
        let many: serde_json::Map<String, Value> =
            (0..40).map(|at| (format!("key {at:02}"), json!(at))).collect();
        let odd = found("a", &json!({"a,b": 1, "a:b": 1, "": 1}));
        let facts = SuiteFacts::of([odd, found("b", &Value::Object(many))].into_iter());
        assert_eq!(facts.keys.len(), 30);
        assert_eq!(facts.keys[0], "key 00");
        let case = facts.case("b", None, 0).unwrap();
        assert_eq!((case.metadata("key 29"), case.metadata("key 30")), (Some(&json!(29)), None));
    }
}
