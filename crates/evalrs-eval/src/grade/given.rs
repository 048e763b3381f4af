//! References that a suite gives once for all rows, instead of those of the rows.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::grader::Subject;
use super::verdict::Grade;
use evalrs_base::json_syntax::as_text;
use evalrs_base::python::lower;

// A text, a number or a boolean, as the text that is compared. (A schema would repeat a doc comment.)
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(from = "Value")]
#[schemars(inline, extend("type" = ["string", "number", "boolean"], "minLength" = 1))]
pub(super) struct GivenText(String);

impl From<Value> for GivenText {
    fn from(value: Value) -> Self {
        Self(as_text(&value))
    }
}

impl GivenText {
    pub(super) fn text(&self) -> &str {
        &self.0
    }
}

/// What options are that are true unless a suite says otherwise.
pub(super) fn yes() -> bool {
    true
}

/// A text as it is compared: in lower case, unless case counts.
pub(super) fn in_case(text: &str, is_case_sensitive: bool) -> Cow<'_, str> {
    if is_case_sensitive { Cow::Borrowed(text) } else { Cow::Owned(lower(text)) }
}

/// The reference answer: what the suite gives, else that of the row.
pub(super) fn given_or_reference<'a>(
    given: Option<&'a GivenText>,
    subject: &Subject<'a>,
) -> Result<&'a str, Grade> {
    given.map_or_else(|| reference(subject), |given| Ok(given.text()))
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
    let texts = list.iter().filter(|value| !value.is_null());
    let texts: Vec<Cow<'_, str>> = texts.map(|value| Cow::Owned(as_text(value))).collect();
    // Of no texts everything holds.
    if texts.is_empty() { Err(no_reference()) } else { Ok(texts) }
}

/// The reference answer, or the grade without one. An empty text counts as none.
pub(super) fn reference<'a>(subject: &Subject<'a>) -> Result<&'a str, Grade> {
    subject.ground_truth.filter(|text| !text.is_empty()).ok_or_else(no_reference)
}

pub(super) fn no_reference() -> Grade {
    Grade::without_ground_truth("No ground_truth answer provided")
}
