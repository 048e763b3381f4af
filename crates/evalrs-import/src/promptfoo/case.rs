//! A test of promptfoo and its assertions, as plain data: from a configuration, a table, or a result.

use std::cell::Cell;

use serde_json::{Map, Value};

use crate::imported::SourcePlace;

#[derive(Clone, Debug, Default)]
pub(super) struct TestCase {
    pub place: SourcePlace,
    pub description: Option<String>,
    pub vars: Map<String, Value>,
    pub asserts: Vec<AssertionSpec>,
    pub options: Map<String, Value>,
    pub metadata: Map<String, Value>,
    pub threshold: Option<f64>,
    /// An answer in the test itself.
    pub provider_output: Option<Value>,
}

/// An assertion, or a set of them.
#[derive(Clone, Debug, Default)]
pub(super) struct AssertionSpec {
    pub place: SourcePlace,
    /// Which assertion of the source it is: copies of one have one number.
    pub id: usize,
    /// Its type without `not-`.
    pub kind: String,
    pub negated: bool,
    pub value: Value,
    pub threshold: Option<f64>,
    pub weight: Option<f64>,
    pub metric: Option<String>,
    pub transform: Option<Value>,
    pub provider: Option<Value>,
    pub rubric_prompt: Option<Value>,
    /// Whether its value lists components that are scored one by one.
    pub has_components: bool,
    pub config: Option<Value>,
    /// Its other fields, by name.
    pub others: Vec<String>,
    pub set: Vec<AssertionSpec>,
}

/// Counts assertions of a source.
#[derive(Debug, Default)]
pub(super) struct AssertionCounter(Cell<usize>);

impl AssertionCounter {
    fn next(&self) -> usize {
        self.0.set(self.0.get() + 1);
        self.0.get()
    }
}

impl AssertionSpec {
    /// The assertion that `value` says; one that is not a mapping with a type has an empty kind.
    pub(super) fn read(value: &Value, place: &SourcePlace, counter: &AssertionCounter) -> Self {
        const KNOWN: [&str; 12] = [
            "type",
            "value",
            "threshold",
            "weight",
            "metric",
            "transform",
            "provider",
            "rubricPrompt",
            "rubricComponents",
            "config",
            "assert",
            "name",
        ];
        let text = |name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
        let given = |name: &str| value.get(name).filter(|value| !value.is_null()).cloned();
        let written = text("type").unwrap_or_default();
        let negated = written.starts_with("not-");
        let members = value.get("assert").and_then(Value::as_array).into_iter().flatten();
        let others = value.as_object().into_iter().flat_map(|fields| fields.keys());
        Self {
            place: place.clone(),
            id: counter.next(),
            kind: written.strip_prefix("not-").unwrap_or(&written).to_owned(),
            negated,
            value: given("value").unwrap_or_default(),
            threshold: value.get("threshold").and_then(Value::as_f64),
            weight: value.get("weight").and_then(Value::as_f64),
            metric: text("metric"),
            transform: given("transform"),
            provider: given("provider"),
            rubric_prompt: given("rubricPrompt"),
            has_components: given("rubricComponents") == Some(Value::Bool(true)),
            config: given("config"),
            others: others.filter(|name| !KNOWN.contains(&name.as_str())).cloned().collect(),
            set: members.map(|member| Self::read(member, place, counter)).collect(),
        }
    }

    /// Its type as written.
    pub(super) fn written_kind(&self) -> String {
        if self.negated { format!("not-{}", self.kind) } else { self.kind.clone() }
    }
}

impl TestCase {
    /// The test that `value` says, its assertions apart.
    pub(super) fn read(value: &Value, place: SourcePlace) -> Self {
        let mapping =
            |name: &str| value.get(name).and_then(Value::as_object).cloned().unwrap_or_default();
        Self {
            place,
            description: value.get("description").and_then(Value::as_str).map(str::to_owned),
            vars: mapping("vars"),
            asserts: Vec::new(),
            options: mapping("options"),
            metadata: mapping("metadata"),
            threshold: value.get("threshold").and_then(Value::as_f64),
            provider_output: value
                .get("providerOutput")
                .filter(|output| !output.is_null())
                .cloned(),
        }
    }

    /// This test on top of the defaults for all.
    pub(super) fn over(&self, base: &Self) -> Self {
        let merged = |base: &Map<String, Value>, own: &Map<String, Value>| {
            let mut merged = base.clone();
            merged.extend(own.clone());
            merged
        };
        let options = merged(&base.options, &self.options);
        let takes_defaults = options.get("disableDefaultAsserts") != Some(&Value::Bool(true));
        let defaults = base.asserts.iter().filter(|_| takes_defaults);
        Self {
            place: self.place.clone(),
            description: self.description.clone().or_else(|| base.description.clone()),
            vars: merged(&base.vars, &self.vars),
            asserts: defaults.chain(&self.asserts).cloned().collect(),
            options,
            metadata: merged(&base.metadata, &self.metadata),
            threshold: self.threshold.or(base.threshold),
            provider_output: self.provider_output.clone().or_else(|| base.provider_output.clone()),
        }
    }
}
