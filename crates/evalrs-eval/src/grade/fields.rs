//! The grader that compares two fields of the row, or one with the submission.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::grader::{GradeResult, GraderInfo, ToolGrader};
use super::json::JsonMatch;
use super::rationale::{explained, shorten, text};
use super::subject::Subject;
use super::verdict::Grade;
use crate::options::{self, schema};
use evalrs_base::python::{collapse_space, lower, strip};
use evalrs_model::spec::OptionProblem;

/// `equals_field`.
pub(super) const EQUALS_FIELD: GraderInfo = GraderInfo {
    id: "equals_field",
    aliases: &["equals-field"],
    name: "Equals a field",
    description: "The submission equals a field of the row, or one field of the row equals another.",
    reads_row_if: &["other"],
    options: schema::<EqualsField>,
    compile: |config| Ok(ToolGrader::new(EqualsField::compile(config)?, EqualsField::grade)),
    ..GraderInfo::PLAIN
};

/// Options of `equals_field`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct EqualsField {
    /// Where the field stands in the row: a dotted path.
    #[schemars(length(min = 1))]
    path: String,
    /// Where the field stands that it is compared with; without it the submission is.
    #[serde(default)]
    #[schemars(length(min = 1))]
    other: Option<String>,
    /// Whether upper and lower case differ.
    #[serde(default = "yes")]
    case_sensitive: bool,
    /// Whether runs of white space count as one space.
    #[serde(default)]
    normalize_whitespace: bool,
}

fn yes() -> bool {
    true
}

impl EqualsField {
    fn compile(config: &Map<String, Value>) -> Result<Self, Vec<OptionProblem>> {
        let mut options: Self = options::read(config)?;
        options.path = without_row(&options.path);
        options.other = options.other.as_deref().map(without_row);
        Ok(options)
    }

    fn grade(&self, subject: &Subject<'_>) -> GradeResult {
        let expected = field(subject, &self.path)?;
        let what = match &self.other {
            Some(other) => format!("`{other}` equals `{}`", self.path),
            None => format!("Submission equals `{}`", self.path),
        };
        let found = match &self.other {
            Some(other) => field(subject, other)?,
            None => Value::from(subject.submission),
        };
        let wrong = (!self.same(&expected, &found)).then(|| {
            let shown = |value: &Value| shorten(&text(value));
            format!("`{}` expected, `{}` found", shown(&expected), shown(&found))
        });
        Ok(explained(&what, wrong))
    }

    /// Two texts as texts, two other values as JSON, and a text beside another value as that value would be written.
    fn same(&self, expected: &Value, found: &Value) -> bool {
        if !expected.is_string() && !found.is_string() {
            return JsonMatch::default().difference(expected, found).is_none();
        }
        let is_number = |value: &Value| value.is_number();
        if is_number(expected) || is_number(found) {
            let number = |value: &Value| strip(&text(value)).parse::<f64>().ok();
            if let (Some(left), Some(right)) = (number(expected), number(found)) {
                return left.to_bits() == right.to_bits() || left - right == 0.0;
            }
        }
        self.normal(&text(expected)) == self.normal(&text(found))
    }

    fn normal(&self, text: &str) -> String {
        let text =
            if self.normalize_whitespace { collapse_space(text) } else { strip(text).to_owned() };
        if self.case_sensitive { text } else { lower(&text) }
    }
}

/// A path in the row: `row.` before it says the same.
fn without_row(path: &str) -> String {
    path.strip_prefix("row.").unwrap_or(path).to_owned()
}

/// What stands at `path` of the row, or the grade where nothing does.
fn field(subject: &Subject<'_>, path: &str) -> Result<Value, Grade> {
    let found = subject.row.get(path).filter(|value| !value.is_null());
    found.ok_or_else(|| Grade::failed("no_field", format!("the row has no `{path}`")))
}
