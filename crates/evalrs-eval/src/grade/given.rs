//! References that a suite gives once for all rows, in place of those of the rows.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde_json::Value;

use super::subject::Subject;
use super::verdict::Grade;

/// A text, a number or a boolean, as the text that is compared.
#[derive(Clone, Debug, Deserialize)]
#[serde(from = "Value")]
pub(super) struct GivenText(String);

impl From<Value> for GivenText {
    fn from(value: Value) -> Self {
        match value {
            Value::String(text) => Self(text),
            other => Self(other.to_string()),
        }
    }
}

impl JsonSchema for GivenText {
    fn schema_name() -> Cow<'static, str> {
        "GivenText".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": ["string", "number", "boolean"], "minLength": 1})
    }

    fn inline_schema() -> bool {
        true
    }
}

impl GivenText {
    pub(super) fn text(&self) -> &str {
        &self.0
    }
}

/// The reference answer: what the suite gives, else that of the row.
pub(super) fn given_or_reference<'a>(
    given: Option<&'a GivenText>,
    subject: &Subject<'a>,
) -> Result<&'a str, Grade> {
    match given {
        Some(given) => Ok(given.text()),
        None => reference(subject),
    }
}

/// The texts that a suite gives, else those of the row: its ground truth is one, or a JSON list of them.
pub(super) fn given_or_references<'a>(
    given: Option<&'a [GivenText]>,
    subject: &Subject<'a>,
) -> Result<Vec<Cow<'a, str>>, Grade> {
    if let Some(given) = given {
        return Ok(given.iter().map(|one| Cow::Borrowed(one.text())).collect());
    }
    let written = reference(subject)?;
    let Ok(list) = serde_json::from_str::<Vec<Value>>(written) else {
        return Ok(vec![Cow::Borrowed(written)]);
    };
    // Null means that there is no answer, not the answer `null`.
    let texts = list.into_iter().filter(|value| !value.is_null());
    let texts: Vec<Cow<'_, str>> =
        texts.map(|value| Cow::Owned(GivenText::from(value).0)).collect();
    // Of no texts everything holds.
    if texts.is_empty() {
        return Err(Grade::without_ground_truth("No ground_truth answer provided"));
    }
    Ok(texts)
}

/// The reference answer, or the grade without one. An empty text counts as none.
pub(super) fn reference<'a>(subject: &Subject<'a>) -> Result<&'a str, Grade> {
    let found = subject.ground_truth.filter(|text| !text.is_empty());
    found.ok_or_else(|| Grade::without_ground_truth("No ground_truth answer provided"))
}
