//! Graders that look for texts in the submission.

use schemars::JsonSchema;
use serde::Deserialize;

use super::given::{GivenText, given_or_reference, given_or_references};
use super::grader::{GradeResult, GraderInfo, with_options};
use super::rationale::{explained, shorten};
use super::subject::Subject;
use crate::options::schema;
use evalrs_base::python::{lower, strip};

/// `starts_with`.
pub(super) const STARTS_WITH: GraderInfo = GraderInfo {
    id: "starts_with",
    aliases: &["starts-with"],
    name: "Starts with",
    description: "The submission begins with the ground truth, or one of several, but for white space at its ends.",
    needs_ground_truth: true,
    takes_lists: true,
    given_by: &["value"],
    options: schema::<Affix>,
    compile: |config| {
        with_options::<Affix>(config, |options, subject| {
            options.grade(subject, "Starts with", |text, affix| text.starts_with(affix))
        })
    },
    ..GraderInfo::PLAIN
};

/// `ends_with`.
pub(super) const ENDS_WITH: GraderInfo = GraderInfo {
    id: "ends_with",
    aliases: &["ends-with"],
    name: "Ends with",
    description: "The submission ends with the ground truth, or one of several, but for white space at its ends.",
    needs_ground_truth: true,
    takes_lists: true,
    given_by: &["value"],
    options: schema::<Affix>,
    compile: |config| {
        with_options::<Affix>(config, |options, subject| {
            options.grade(subject, "Ends with", |text, affix| text.ends_with(affix))
        })
    },
    ..GraderInfo::PLAIN
};

/// Options of `starts_with` and `ends_with`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct Affix {
    /// What is looked for; without it the ground truth of the row, a text or a list.
    value: Option<GivenText>,
    /// Whether upper and lower case differ.
    case_sensitive: bool,
}

impl Default for Affix {
    fn default() -> Self {
        Self { value: None, case_sensitive: true }
    }
}

impl Affix {
    fn grade(
        &self,
        subject: &Subject<'_>,
        what: &str,
        holds: fn(&str, &str) -> bool,
    ) -> GradeResult {
        let affix = given_or_reference(self.value.as_ref(), subject)?;
        let normal = |text: &str| in_case(strip(text), self.case_sensitive);
        let submission = normal(subject.submission);
        if holds(&submission, &normal(affix)) {
            return Ok(explained(what, None));
        }
        // A text that is written like a list may also be meant as it is.
        let several = given_or_references(self.value.as_ref().map(std::slice::from_ref), subject)?;
        let is_right = several.iter().any(|affix| holds(&submission, &normal(affix)));
        let wrong = match several.as_slice() {
            [one] => format!("`{}` expected", shorten(one)),
            several => format!("none of {}", several.len()),
        };
        Ok(explained(what, (!is_right).then_some(wrong)))
    }
}

fn in_case(text: &str, is_case_sensitive: bool) -> String {
    if is_case_sensitive { text.to_owned() } else { lower(text) }
}

/// `contains_any`.
pub(super) const CONTAINS_ANY: GraderInfo = GraderInfo {
    id: "contains_any",
    aliases: &["contains-any"],
    name: "Contains any",
    description: "One of several texts stands somewhere in the submission, by default whatever the case.",
    needs_ground_truth: true,
    takes_lists: true,
    given_by: &["values"],
    options: schema::<AnyText>,
    compile: |config| with_options(config, AnyText::any),
    ..GraderInfo::PLAIN
};

/// `contains_all`.
pub(super) const CONTAINS_ALL: GraderInfo = GraderInfo {
    id: "contains_all",
    aliases: &["contains-all"],
    name: "Contains all",
    description: "Several texts stand somewhere in the submission, by default whatever the case.",
    needs_ground_truth: true,
    takes_lists: true,
    given_by: &["values"],
    scoring: "1.0 if all are there; with `partial: true` the share of those that are",
    options: schema::<AllTexts>,
    compile: |config| with_options(config, AllTexts::grade),
    ..GraderInfo::PLAIN
};

/// Options of `contains_any`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct AnyText {
    /// What is looked for; without it the ground truth of the row, a text or a list.
    #[schemars(length(min = 1))]
    values: Option<Vec<GivenText>>,
    /// Whether upper and lower case differ.
    case_sensitive: bool,
}

/// Options of `contains_all`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct AllTexts {
    /// What is looked for; without it the ground truth of the row, a text or a list.
    #[schemars(length(min = 1))]
    values: Option<Vec<GivenText>>,
    /// Whether upper and lower case differ.
    case_sensitive: bool,
    /// Whether a part of them is a part of the score.
    partial: bool,
}

impl AnyText {
    fn any(&self, subject: &Subject<'_>) -> GradeResult {
        let texts = given_or_references(self.values.as_deref(), subject)?;
        let submission = in_case(subject.submission, self.case_sensitive);
        let found = texts.iter().find(|text| {
            let text = in_case(text, self.case_sensitive);
            submission.contains(&text)
        });
        let wrong = found.is_none().then(|| format!("none of {}", texts.len()));
        Ok(explained("Contains any", wrong))
    }
}

impl AllTexts {
    fn grade(&self, subject: &Subject<'_>) -> GradeResult {
        let texts = given_or_references(self.values.as_deref(), subject)?;
        let submission = in_case(subject.submission, self.case_sensitive);
        let is_missing = |text: &&std::borrow::Cow<'_, str>| {
            !submission.contains(&in_case(text, self.case_sensitive))
        };
        let missing: Vec<_> = texts.iter().filter(is_missing).collect();
        let wrong = missing.first().map(|first| {
            let first = shorten(first);
            format!("{} of {} missing, first `{first}`", missing.len(), texts.len())
        });
        let mut grade = explained("Contains all", wrong);
        if self.partial {
            grade.score = (texts.len() - missing.len()) as f64 / texts.len() as f64;
        }
        Ok(grade)
    }
}
