//! Graders of the parts of a submission: which texts stand in it, and how many words it shares.

use std::sync::LazyLock;

use regex::Regex;
use schemars::JsonSchema;
use serde::Deserialize;

use super::given::{GivenText, given_or_reference, given_or_references, in_case, yes};
use super::grader::{GradeResult, GraderInfo, GraderOptions, Subject, with_options};
use super::lists::{n_grams, shared};
use super::rationale::{explained, shorten};
use super::verdict::Grade;
use evalrs_base::python::{collapse_space, lower, strip};

pub(super) const STARTS_WITH: GraderInfo = GraderInfo {
    id: "starts_with",
    name: "Starts with",
    description: "The submission begins with the ground truth, or with one of several; white space at its ends is ignored.",
    needs_ground_truth: true,
    takes_lists: true,
    given_by: &["value"],
    ..GraderInfo::new::<Affix>(|config| {
        with_options::<Affix>(config, |options, subject| {
            options.grade(subject, "Starts with", |text, affix| text.starts_with(affix))
        })
    })
};

pub(super) const ENDS_WITH: GraderInfo = GraderInfo {
    id: "ends_with",
    name: "Ends with",
    description: "The submission ends with the ground truth, or with one of several; white space at its ends is ignored.",
    needs_ground_truth: true,
    takes_lists: true,
    given_by: &["value"],
    ..GraderInfo::new::<Affix>(|config| {
        with_options::<Affix>(config, |options, subject| {
            options.grade(subject, "Ends with", |text, affix| text.ends_with(affix))
        })
    })
};

/// Options of `starts_with` and `ends_with`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Affix {
    /// The text to find; the row's ground truth, a text or a list, if absent.
    value: Option<GivenText>,
    /// Whether case matters.
    #[serde(default = "yes")]
    case_sensitive: bool,
}

impl Affix {
    fn grade(
        &self,
        subject: &Subject<'_>,
        what: &str,
        holds: fn(&str, &str) -> bool,
    ) -> GradeResult {
        let affix = given_or_reference(self.value.as_ref(), subject)?;
        let submission = in_case(strip(subject.submission), self.case_sensitive);
        let fits = |affix| holds(&submission, &in_case(strip(affix), self.case_sensitive));
        if fits(affix) {
            return Ok(explained(what, None));
        }
        // A text that is written like a list may also be meant as it is.
        let several = given_or_references(self.value.as_ref().map(std::slice::from_ref), subject)?;
        let is_right = several.iter().any(|affix| fits(affix));
        let wrong = match several.as_slice() {
            [one] => format!("`{}` expected", shorten(one)),
            several => format!("none of {}", several.len()),
        };
        Ok(explained(what, (!is_right).then_some(wrong)))
    }
}

pub(super) const CONTAINS_ANY: GraderInfo = GraderInfo {
    id: "contains_any",
    name: "Contains any",
    description: "The submission contains one of several texts; case is ignored by default.",
    ..GraderInfo::of::<AnyText>().with_references()
};

pub(super) const CONTAINS_ALL: GraderInfo = GraderInfo {
    id: "contains_all",
    name: "Contains all",
    description: "The submission contains all of several texts; case is ignored by default.",
    scoring: "1.0 if all are found; with `partial: true`, the share found",
    ..GraderInfo::of::<AllTexts>().with_references()
};

/// Options of `contains_any`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct AnyText {
    /// The text to find; the row's ground truth, a text or a list, if absent.
    #[schemars(length(min = 1))]
    values: Option<Vec<GivenText>>,
    /// Whether case matters.
    case_sensitive: bool,
}

/// Options of `contains_all`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct AllTexts {
    /// The text to find; the row's ground truth, a text or a list, if absent.
    #[schemars(length(min = 1))]
    values: Option<Vec<GivenText>>,
    /// Whether case matters.
    case_sensitive: bool,
    /// Whether some of them give a part of the score.
    partial: bool,
}

impl GraderOptions for AnyText {
    fn grade(&self, subject: &Subject<'_>) -> GradeResult {
        let texts = given_or_references(self.values.as_deref(), subject)?;
        let submission = in_case(subject.submission, self.case_sensitive);
        let is_right =
            texts.iter().any(|text| submission.contains(&*in_case(text, self.case_sensitive)));
        Ok(explained("Contains any", (!is_right).then(|| format!("none of {}", texts.len()))))
    }
}

impl GraderOptions for AllTexts {
    fn grade(&self, subject: &Subject<'_>) -> GradeResult {
        let texts = given_or_references(self.values.as_deref(), subject)?;
        let submission = in_case(subject.submission, self.case_sensitive);
        let missing: Vec<_> = texts
            .iter()
            .filter(|text| !submission.contains(&*in_case(text, self.case_sensitive)))
            .collect();
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

pub(super) const F1: GraderInfo = GraderInfo {
    id: "f1",
    aliases: &["token-f1"],
    name: "Token F1",
    description: "The words that submission and ground truth share, as SQuAD counts them; the best of several answers counts.",
    scoring: "the harmonic mean of precision and recall over words; case, punctuation and articles are ignored (Rajpurkar et al. 2016, https://arxiv.org/abs/1606.05250)",
    ..GraderInfo::of::<TokenF1>().with_references()
};

/// Options of `f1`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct TokenF1 {
    /// The accepted answers; the row's ground truth, a text or a list, if absent.
    #[schemars(length(min = 1))]
    values: Option<Vec<GivenText>>,
}

impl GraderOptions for TokenF1 {
    fn grade(&self, subject: &Subject<'_>) -> GradeResult {
        let answers = given_or_references(self.values.as_deref(), subject)?;
        let found = words(subject.submission);
        let scores = answers.iter().map(|answer| f1(&found, &words(answer)));
        let best = scores.fold(0.0, f64::max);
        Ok(Grade::new(best, format!("Token F1: {best:.4}")))
    }
}

/// The words of a text without case, ASCII punctuation and English articles: in the order in which the script of `SQuAD`
/// takes them away.
fn words(text: &str) -> Vec<String> {
    static ARTICLES: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"\b(a|an|the)\b").ok());
    let text: String = lower(text).chars().filter(|c| !c.is_ascii_punctuation()).collect();
    let text = match ARTICLES.as_ref() {
        Some(articles) => articles.replace_all(&text, " ").into_owned(),
        None => text,
    };
    let words = collapse_space(&text);
    words.split(' ').filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

fn f1(found: &[String], expected: &[String]) -> f64 {
    if found.is_empty() || expected.is_empty() {
        // Nothing is the answer to what has none.
        return f64::from(u8::from(found == expected));
    }
    let same = shared(found, 1, n_grams(expected, 1));
    2.0 * same as f64 / (found.len() + expected.len()) as f64
}
