//! chrF (Popović 2015, <https://aclanthology.org/W15-3049>) and chrF++ (Popović 2017, <https://aclanthology.org/W17-4770>),
//! as sacreBLEU computes them.

use std::hash::Hash;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::references::{measured, n_gram_count, references};
use crate::grade::given::{GivenText, in_case};
use crate::grade::grader::{GradeResult, GraderInfo, GraderOptions, Subject};
use crate::grade::lists::{n_grams, shared};
use evalrs_base::python::is_space;

/// The longest runs of characters that are compared.
const CHARACTER_ORDER: usize = 6;

pub(crate) const CHRF: GraderInfo = GraderInfo {
    id: "chrf",
    name: "chrF",
    description: "The runs of characters (with `word_order: 2`, chrF++, also of words) that submission and reference share, as sacreBLEU counts them; the best of several references counts.",
    scoring: "chrF / 100: the mean precision and recall of n-grams as an F-score in which recall weighs `beta` times as much (Popović 2015, https://aclanthology.org/W15-3049)",
    ..GraderInfo::of::<Chrf>().with_references()
};

/// Options of `chrf`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct Chrf {
    /// The references; the row's ground truth, a text or a list, if absent.
    #[schemars(length(min = 1))]
    values: Option<Vec<GivenText>>,
    /// The longest run of words that counts too: 0 is chrF, 2 is chrF++.
    #[schemars(range(min = 0, max = 4))]
    word_order: u8,
    /// The weight of recall relative to precision.
    #[schemars(range(min = 1, max = 10))]
    beta: u8,
    /// Whether case matters.
    case_sensitive: bool,
}

impl Default for Chrf {
    fn default() -> Self {
        Self { values: None, word_order: 0, beta: 2, case_sensitive: true }
    }
}

/// A text as chrF sees it.
struct ChrfText {
    characters: Vec<char>,
    words: Vec<String>,
}

impl ChrfText {
    fn of(text: &str) -> Self {
        let characters = text.chars().filter(|c| !is_space(*c)).collect();
        let words =
            text.split(is_space).filter(|word| !word.is_empty()).flat_map(without_punctuation);
        Self { characters, words: words.map(str::to_owned).collect() }
    }
}

/// The word and the mark it ends with, or else begins with.
fn without_punctuation(word: &str) -> impl Iterator<Item = &str> {
    let is_mark = |c: &char| c.is_ascii_punctuation();
    let last = word.chars().next_back().filter(is_mark).map(|_| word.len() - 1);
    let cut = last.or_else(|| word.chars().next().filter(is_mark).map(char::len_utf8));
    let (before, after) = word.split_at(cut.unwrap_or_default());
    [before, after].into_iter().filter(|part| !part.is_empty())
}

/// Sums over the runs of each length that both texts have.
#[derive(Default)]
struct ChrfSums {
    precision: f64,
    recall: f64,
    orders: usize,
}

impl ChrfSums {
    /// Adds the runs of `n` neighbours, if both texts have some.
    fn add<T: Eq + Hash>(&mut self, n: usize, found: &[T], expected: &[T]) {
        let found_count = n_gram_count(found.len(), n);
        let expected_count = n_gram_count(expected.len(), n);
        if found_count > 0 && expected_count > 0 {
            let same = shared(found, n, n_grams(expected, n)) as f64;
            self.precision += same / found_count as f64;
            self.recall += same / expected_count as f64;
            self.orders += 1;
        }
    }

    fn f_score(&self, beta: f64) -> f64 {
        let orders = self.orders.max(1) as f64;
        let precision = self.precision / orders;
        let recall = self.recall / orders;
        if precision + recall == 0.0 {
            return 0.0;
        }
        let factor = beta * beta;
        (1.0 + factor) * precision * recall / (factor * precision + recall)
    }
}

impl GraderOptions for Chrf {
    fn grade(&self, subject: &Subject<'_>) -> GradeResult {
        let references = references(self.values.as_deref(), subject)?;
        let found = ChrfText::of(&in_case(subject.submission, self.case_sensitive));
        let scores = references.iter().map(|reference| {
            self.score(&found, &ChrfText::of(&in_case(reference, self.case_sensitive)))
        });
        let best = scores.fold(0.0, f64::max);
        let name = format!("chrF{}", "+".repeat(usize::from(self.word_order)));
        Ok(measured(&name, best, [("chrf", json!(best * 100.0))]))
    }
}

impl Chrf {
    fn score(&self, found: &ChrfText, expected: &ChrfText) -> f64 {
        let mut sums = ChrfSums::default();
        for n in 1..=CHARACTER_ORDER {
            sums.add(n, &found.characters, &expected.characters);
        }
        for n in 1..=usize::from(self.word_order) {
            sums.add(n, &found.words, &expected.words);
        }
        sums.f_score(f64::from(self.beta))
    }
}
