//! The grader that compares two fields of the row, or one with the submission.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::given::{in_case, yes};
use super::grader::{GradeResult, GraderInfo, GraderOptions, Subject};
use super::json::JsonMatch;
use super::rationale::{explained, shorten};
use super::verdict::Grade;
use evalrs_base::json_syntax::as_text;
use evalrs_base::python::{collapse_space, strip};

pub(super) const EQUALS_FIELD: GraderInfo = GraderInfo {
    id: "equals_field",
    name: "Equals a field",
    description: "The submission equals a field of the row, or one field of the row equals another.",
    reads_row_if: &["other"],
    ..GraderInfo::of::<EqualsField>()
};

/// Options of `equals_field`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct EqualsField {
    /// The dotted path of the field in the row.
    #[schemars(length(min = 1))]
    path: String,
    /// The dotted path of the field to compare with it; the submission if absent.
    #[serde(default)]
    #[schemars(length(min = 1))]
    other: Option<String>,
    /// Whether case matters.
    #[serde(default = "yes")]
    case_sensitive: bool,
    /// Whether runs of white space are one space.
    #[serde(default)]
    normalize_whitespace: bool,
}

impl GraderOptions for EqualsField {
    fn grade(&self, subject: &Subject<'_>) -> GradeResult {
        let path = without_row(&self.path);
        let expected = field(subject, path)?;
        let (what, found) = match self.other.as_deref().map(without_row) {
            Some(other) => (format!("`{other}` equals `{path}`"), field(subject, other)?),
            None => (format!("Submission equals `{path}`"), Value::from(subject.submission)),
        };
        let wrong = (!self.same(&expected, &found)).then(|| {
            let shown = |value: &Value| shorten(&as_text(value));
            format!("`{}` expected, `{}` found", shown(&expected), shown(&found))
        });
        Ok(explained(&what, wrong))
    }
}

impl EqualsField {
    /// Two texts as texts, two other values as JSON, and a text beside another value as that value would be written.
    fn same(&self, expected: &Value, found: &Value) -> bool {
        if !expected.is_string() && !found.is_string() {
            return JsonMatch::default().difference(expected, found).is_none();
        }
        if expected.is_number() || found.is_number() {
            let number = |value: &Value| strip(&as_text(value)).parse::<f64>().ok();
            if let Some((left, right)) = number(expected).zip(number(found)) {
                return left.to_bits() == right.to_bits() || left - right == 0.0;
            }
        }
        self.normal(&as_text(expected)) == self.normal(&as_text(found))
    }

    fn normal(&self, text: &str) -> String {
        let text =
            if self.normalize_whitespace { collapse_space(text) } else { strip(text).to_owned() };
        in_case(&text, self.case_sensitive).into_owned()
    }
}

/// A path in the row: `row.` before it says the same.
pub(super) fn without_row(path: &str) -> &str {
    path.strip_prefix("row.").unwrap_or(path)
}

/// The value at `path` of the row, or the grade if there is none.
fn field(subject: &Subject<'_>, path: &str) -> Result<Value, Grade> {
    let found = subject.row.get(path).filter(|value| !value.is_null());
    found.ok_or_else(|| Grade::failed("no_field", format!("the row has no `{path}`")))
}
