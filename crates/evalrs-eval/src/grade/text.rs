//! Graders that compare text with text.
//!
//! The first four are those of Letta Evals, and their scores and rationales are theirs to the letter. What
//! a pattern is, and what white space and lower case are, is decided by [`evalrs_base::python`].

use std::collections::BTreeSet;

use python_re::Regex;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::given::{GivenText, given_or_reference, in_case, reference, yes};
use super::grader::{
    GradeResult, GraderInfo, GraderOptions, NoOptions, Subject, ToolGrader, with_options,
};
use super::lists::edit_distance;
use super::rationale::{regex_failure, shorten, verdict, with_compared};
use super::verdict::Grade;
use crate::options;
use evalrs_base::json_syntax::as_text;
use evalrs_base::python::{collapse_space, lower, repr_str, strip};
use evalrs_model::spec::OptionProblem;

/// How many offending characters a rationale shows.
const SHOWN_CHARACTERS: usize = 5;

/// What is compared with the reference answer, as rationales call it.
const COMPARED: [&str; 4] = ["Exact match", "Contains ground_truth", "Regex match", "String match"];

/// How the rationale of `one_of` ends where the answers are those of the row.
const ACCEPTED: &str = " accepted answers";

/// Whether a rationale says of a submission that is not the reference answer that it is not, and nothing else.
pub fn is_bare_mismatch(rationale: &str) -> bool {
    let what = rationale.strip_suffix(": False");
    what.is_some_and(|what| {
        COMPARED.contains(&what) || (what.starts_with("One of ") && what.ends_with(ACCEPTED))
    })
}

/// The verdict of a comparison. Where the suite gives what is compared, the row does not show it: a refusal names it.
fn compared(what: &str, holds: bool, given: Option<&str>, subject: &Subject<'_>) -> Grade {
    let mut grade = verdict(what, holds);
    if let Some(given) = given.filter(|_| !holds) {
        grade.rationale = with_compared(&grade.rationale, given, subject.submission).into();
    }
    grade
}

pub(super) const EXACT_MATCH: GraderInfo = GraderInfo {
    id: "exact_match",
    name: "Exact match",
    description: "The submission equals the ground truth; white space at the ends is ignored.",
    needs_ground_truth: true,
    given_by: &["value"],
    ..GraderInfo::new::<ComparedText>(|config| with_options(config, exact_match))
};

/// Options of `exact_match` and `contains`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct ComparedText {
    /// The reference; the row's ground truth if absent.
    value: Option<GivenText>,
}

fn exact_match(options: &ComparedText, subject: &Subject<'_>) -> GradeResult {
    let expected = given_or_reference(options.value.as_ref(), subject)?;
    let holds = strip(subject.submission) == strip(expected);
    Ok(compared("Exact match", holds, options.value.as_ref().map(GivenText::text), subject))
}

pub(super) const CONTAINS: GraderInfo = GraderInfo {
    id: "contains",
    name: "Contains",
    description: "The submission contains the ground truth; case is ignored.",
    needs_ground_truth: true,
    given_by: &["value"],
    ..GraderInfo::new::<ComparedText>(|config| with_options(config, contains))
};

fn contains(options: &ComparedText, subject: &Subject<'_>) -> GradeResult {
    let expected = given_or_reference(options.value.as_ref(), subject)?;
    let holds = lower(subject.submission).contains(&lower(expected));
    Ok(match options.value {
        None => verdict("Contains ground_truth", holds),
        Some(_) => verdict(&format!("Contains `{}`", shorten(expected)), holds),
    })
}

pub(super) const REGEX_MATCH: GraderInfo = GraderInfo {
    id: "regex_match",
    name: "Regex match",
    description: "The ground truth, a Python pattern, matches somewhere in the submission.",
    needs_ground_truth: true,
    given_by: &["pattern"],
    ..GraderInfo::of::<RegexMatch>()
};

/// Options of `regex_match`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct RegexMatch {
    /// The Python pattern; the row's ground truth if absent.
    #[schemars(length(min = 1))]
    pattern: Option<String>,
}

impl GraderOptions for RegexMatch {
    fn problems(&self) -> Vec<OptionProblem> {
        let pattern = self.pattern.as_deref().map(options::pattern);
        pattern.and_then(Result::err).unwrap_or_default()
    }

    fn grade(&self, subject: &Subject<'_>) -> GradeResult {
        let of_row = subject.ground_truth.filter(|text| !text.is_empty());
        let Some(pattern) = self.pattern.as_deref().or(of_row) else {
            return Err(Grade::without_ground_truth("No ground_truth regex pattern provided"));
        };
        let found = Regex::new(pattern).and_then(|regex| regex.is_match(subject.submission));
        let found = found.map_err(|problem| regex_failure(&problem))?;
        Ok(compared("Regex match", found, self.pattern.as_deref(), subject))
    }
}

pub(super) const ASCII_PRINTABLE_ONLY: GraderInfo = GraderInfo {
    id: "ascii_printable_only",
    name: "Printable ASCII only",
    description: "The submission has only printable ASCII characters and line ends.",
    ..GraderInfo::new::<NoOptions>(|config| {
        options::none(config, "grader")?;
        Ok(ToolGrader::new((), |(), subject| Ok(ascii_printable_only(subject))))
    })
};

fn ascii_printable_only(subject: &Subject<'_>) -> Grade {
    let characters = subject.submission.chars();
    let offending: BTreeSet<char> =
        characters.filter(|c| !matches!(c, '\n' | '\r' | ' '..='~')).collect();
    if offending.is_empty() {
        return Grade::new(1.0, "All characters printable ASCII (ignoring newlines)");
    }
    let shown = offending.iter().take(SHOWN_CHARACTERS).map(|c| repr_str(&c.to_string()));
    let shown = shown.collect::<Vec<_>>().join(", ");
    let more = match offending.len().saturating_sub(SHOWN_CHARACTERS) {
        0 => String::new(),
        more => format!(" (+{more} more)"),
    };
    Grade::new(0.0, format!("Found non-printable ASCII characters: {shown}{more}"))
}

pub(super) const STRING_MATCH: GraderInfo = GraderInfo {
    id: "string_match",
    name: "String match",
    description: "The submission equals the ground truth; case and white space are ignored by default.",
    needs_ground_truth: true,
    given_by: &["value"],
    ..GraderInfo::of::<StringMatch>()
};

/// Options of `string_match`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct StringMatch {
    /// The reference; the row's ground truth if absent.
    value: Option<GivenText>,
    /// Whether case matters.
    #[serde(default)]
    case_sensitive: bool,
    /// Whether runs of white space are one space, and white space at the ends is ignored.
    #[serde(default = "yes")]
    normalize_whitespace: bool,
}

impl GraderOptions for StringMatch {
    fn grade(&self, subject: &Subject<'_>) -> GradeResult {
        let expected = given_or_reference(self.value.as_ref(), subject)?;
        let same = self.normal(subject.submission) == self.normal(expected);
        Ok(compared("String match", same, self.value.as_ref().map(GivenText::text), subject))
    }
}

impl StringMatch {
    fn normal(&self, text: &str) -> String {
        let text = if self.normalize_whitespace { collapse_space(text) } else { text.to_owned() };
        in_case(&text, self.case_sensitive).into_owned()
    }
}

pub(super) const LEVENSHTEIN: GraderInfo = GraderInfo {
    id: "levenshtein",
    name: "Edit distance",
    description: "The similarity of submission and ground truth by Levenshtein distance in code points.",
    needs_ground_truth: true,
    given_by: &["value"],
    scoring: "1.0 minus the distance as a share of the longer text",
    ..GraderInfo::of::<Levenshtein>()
};

/// Options of `levenshtein`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Levenshtein {
    /// The reference; the row's ground truth if absent.
    value: Option<GivenText>,
    /// Whether case matters.
    #[serde(default = "yes")]
    case_sensitive: bool,
}

impl GraderOptions for Levenshtein {
    fn grade(&self, subject: &Subject<'_>) -> GradeResult {
        let expected = given_or_reference(self.value.as_ref(), subject)?;
        let normal = |text: &str| -> Vec<char> {
            in_case(strip(text), self.case_sensitive).chars().collect()
        };
        let left = normal(subject.submission);
        let right = normal(expected);
        let longest = left.len().max(right.len());
        if longest == 0 {
            return Ok(Grade::new(1.0, "Edit distance: 0 of 0 characters"));
        }
        let distance = edit_distance(&left, &right, 1).ok_or_else(|| {
            Grade::failed("too_large", "the texts are too long for an edit distance")
        })?;
        let score = 1.0 - distance as f64 / longest as f64;
        Ok(Grade::new(score, format!("Edit distance: {distance} of {longest} characters")))
    }
}

pub(super) const ONE_OF: GraderInfo = GraderInfo {
    id: "one_of",
    name: "One of",
    description: "The submission equals one of several accepted answers.",
    takes_lists: true,
    ..GraderInfo::of::<OneOf>()
};

/// Options of `one_of`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct OneOf {
    /// The accepted answers; if absent, the ground truth is one answer or a JSON list of answers.
    #[serde(default)]
    #[schemars(length(min = 1))]
    values: Option<Vec<Value>>,
    /// Whether case matters.
    #[serde(default = "yes")]
    case_sensitive: bool,
}

impl GraderOptions for OneOf {
    fn grade(&self, subject: &Subject<'_>) -> GradeResult {
        let (mut accepted, what) = if let Some(values) = &self.values {
            (values.clone(), " accepted values")
        } else {
            let expected = reference(subject)?;
            let list = serde_json::from_str(expected);
            (list.unwrap_or_else(|_| vec![Value::from(expected)]), ACCEPTED)
        };
        // Null means that there is no answer, not the answer `null`.
        accepted.retain(|value| !value.is_null());
        let submission = in_case(strip(subject.submission), self.case_sensitive);
        let found = accepted
            .iter()
            .any(|value| in_case(strip(&as_text(value)), self.case_sensitive) == submission);
        let given = self.values.as_ref().map(|values| Value::from(values.clone()).to_string());
        Ok(compared(&format!("One of {}{what}", accepted.len()), found, given.as_deref(), subject))
    }
}
