//! Graders of how much two texts share.

use std::collections::HashMap;
use std::sync::LazyLock;

use regex::Regex;
use schemars::JsonSchema;
use serde::Deserialize;

use super::given::{GivenText, given_or_references};
use super::grader::{GradeResult, GraderInfo, with_options};
use super::subject::Subject;
use super::verdict::Grade;
use crate::options::schema;
use evalrs_base::python::{collapse_space, lower};

/// `f1`.
pub(super) const F1: GraderInfo = GraderInfo {
    id: "f1",
    aliases: &["token-f1"],
    name: "Token F1",
    description: "How many words submission and ground truth share, as SQuAD counts them; of several answers the best counts.",
    needs_ground_truth: true,
    takes_lists: true,
    given_by: &["values"],
    scoring: "the harmonic mean of precision and recall over words, without case, punctuation and articles (Rajpurkar et al. 2016, https://arxiv.org/abs/1606.05250)",
    options: schema::<TokenF1>,
    compile: |config| with_options(config, TokenF1::grade),
    ..GraderInfo::PLAIN
};

/// Options of `f1`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct TokenF1 {
    /// The accepted answers; without them the ground truth of the row, a text or a list.
    #[schemars(length(min = 1))]
    values: Option<Vec<GivenText>>,
}

impl TokenF1 {
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
    let mut left: HashMap<&str, usize> = HashMap::new();
    for word in expected {
        *left.entry(word).or_default() += 1;
    }
    let mut same = 0;
    for word in found {
        if let Some(count) = left.get_mut(word.as_str()).filter(|count| **count > 0) {
            *count -= 1;
            same += 1;
        }
    }
    2.0 * f64::from(same) / (found.len() + expected.len()) as f64
}
