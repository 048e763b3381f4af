//! BLEU of one text (Papineni et al. 2002, <https://aclanthology.org/P02-1040>), as sacreBLEU computes it (Post 2018,
//! <https://aclanthology.org/W18-6319>).
//!
//! BLEU of a corpus is not the mean of these: it is made of the sums of the counts, which stand in the metadata.

use std::collections::HashMap;
use std::sync::LazyLock;

use regex::Regex;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::references::{measured, n_gram_count, references};
use crate::grade::given::{GivenText, in_case, yes};
use crate::grade::grader::{GradeResult, GraderInfo, GraderOptions, Subject};
use crate::grade::lists::shared;
use evalrs_base::python::is_space;

/// The longest runs of words that are compared.
const MAX_ORDER: usize = 4;
/// The value used for no match with `floor` (Chen & Cherry 2014).
const FLOOR: f64 = 0.1;

pub(crate) const BLEU: GraderInfo = GraderInfo {
    id: "bleu",
    aliases: &["sentence_bleu"],
    name: "Sentence BLEU",
    description: "Sentence BLEU of the submission, as sacreBLEU computes it (13a tokens, effective order); several references count together.",
    scoring: "BLEU / 100 (Papineni et al. 2002, https://aclanthology.org/P02-1040; Post 2018, https://aclanthology.org/W18-6319); the mean of such scores is not the BLEU of the corpus",
    ..GraderInfo::of::<Bleu>().with_references()
};

/// Options of `bleu`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Bleu {
    /// The references; the row's ground truth, a text or a list, if absent.
    #[schemars(length(min = 1))]
    values: Option<Vec<GivenText>>,
    /// The matches to assume where no run of some length is shared (Chen & Cherry 2014, <https://aclanthology.org/W14-3346>).
    #[serde(default)]
    smoothing: Smoothing,
    /// How texts become words.
    #[serde(default)]
    tokenize: Tokenization,
    /// Whether case matters.
    #[serde(default = "yes")]
    case_sensitive: bool,
}

/// The smoothing where no run of some length is shared.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum Smoothing {
    /// Half a match for the first such length, a quarter for the next, as NIST does.
    #[default]
    Exp,
    /// A tenth of a match.
    Floor,
    /// One more match of every length but the first.
    AddK,
    /// None: the score is 0.
    None,
}

/// How texts become words.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[schemars(inline)]
enum Tokenization {
    /// As WMT does (mteval-v13a): punctuation is a word of its own.
    #[default]
    #[serde(rename = "13a")]
    Mteval13a,
    /// Each character except white space.
    #[serde(rename = "char")]
    Characters,
    /// Parts between white space.
    #[serde(rename = "none")]
    WhiteSpace,
}

/// What a BLEU is made of. Those of a corpus are the sums of those of its texts.
#[derive(Default)]
struct BleuCounts {
    correct: [usize; MAX_ORDER],
    total: [usize; MAX_ORDER],
    length: usize,
    reference_length: usize,
}

impl GraderOptions for Bleu {
    fn grade(&self, subject: &Subject<'_>) -> GradeResult {
        let references = references(self.values.as_deref(), subject)?;
        // Words as numbers, equal where the words are.
        let mut numbers: HashMap<String, usize> = HashMap::new();
        let mut read = |text: &str| -> Vec<usize> {
            let text = in_case(text, self.case_sensitive);
            let words = self.tokenize.words(text.trim_end_matches(is_space)).into_iter();
            let numbered = words.map(|word| {
                let next = numbers.len();
                *numbers.entry(word).or_insert(next)
            });
            numbered.collect()
        };
        let found = read(subject.submission);
        let expected: Vec<Vec<usize>> = references.iter().map(|text| read(text)).collect();
        let counts = BleuCounts::of(&found, &expected);
        let bleu = counts.bleu(self.smoothing) / 100.0;
        let parts = [
            ("bleu", json!(bleu * 100.0)),
            ("correct", json!(counts.correct)),
            ("total", json!(counts.total)),
            ("length", json!(counts.length)),
            ("reference_length", json!(counts.reference_length)),
        ];
        Ok(measured("Sentence BLEU", bleu, parts))
    }
}

impl BleuCounts {
    fn of(found: &[usize], references: &[Vec<usize>]) -> Self {
        let mut counts = Self { length: found.len(), ..Self::default() };
        for n in 1..=MAX_ORDER {
            let mut most: HashMap<&[usize], usize> = HashMap::new();
            for reference in references {
                let mut own: HashMap<&[usize], usize> = HashMap::new();
                for gram in reference.windows(n) {
                    let count = own.entry(gram).or_default();
                    *count += 1;
                    let most = most.entry(gram).or_default();
                    *most = (*most).max(*count);
                }
            }
            counts.correct[n - 1] = shared(found, n, most);
            counts.total[n - 1] = n_gram_count(found.len(), n);
        }
        // The closest length counts, of two that are as close the shorter.
        let lengths = references.iter().map(Vec::len);
        let closest = lengths.min_by_key(|length| (length.abs_diff(found.len()), *length));
        counts.reference_length = closest.unwrap_or_default();
        counts
    }

    /// From 0 to 100.
    fn bleu(&self, smoothing: Smoothing) -> f64 {
        if self.correct.iter().all(|count| *count == 0) {
            return 0.0;
        }
        let mut logarithms = 0.0;
        let mut order = 0;
        let mut halved = 1.0;
        for (at, (correct, total)) in self.correct.iter().zip(&self.total).enumerate() {
            let further = if smoothing == Smoothing::AddK && at > 0 { 1.0 } else { 0.0 };
            let mut correct = *correct as f64 + further;
            let total = *total as f64 + further;
            if total == 0.0 {
                break;
            }
            order += 1;
            if correct == 0.0 {
                match smoothing {
                    Smoothing::Exp => {
                        halved *= 2.0;
                        correct = 1.0 / halved;
                    }
                    Smoothing::Floor => correct = FLOOR,
                    Smoothing::AddK | Smoothing::None => return 0.0,
                }
            }
            logarithms += (100.0 * correct / total).ln();
        }
        self.brevity_penalty() * (logarithms / f64::from(order)).exp()
    }

    fn brevity_penalty(&self) -> f64 {
        if self.length >= self.reference_length {
            return 1.0;
        }
        (1.0 - self.reference_length as f64 / self.length as f64).exp()
    }
}

impl Tokenization {
    fn words(self, text: &str) -> Vec<String> {
        match self {
            Self::Mteval13a => split(&tokens_13a(text)),
            Self::Characters => text.chars().filter(|c| !is_space(*c)).map(String::from).collect(),
            Self::WhiteSpace => split(text),
        }
    }
}

fn split(text: &str) -> Vec<String> {
    text.split(is_space).filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

/// The steps of mteval-v13a, each a pattern and what takes its place, in order.
static STEPS_13A: LazyLock<Option<[(Regex, &'static str); 4]>> = LazyLock::new(|| {
    let pattern = |text| Regex::new(text).ok();
    Some([
        // ASCII punctuation but for `'`, `,`, `-` and `.`.
        (pattern(r"([{-~\[-` -&(-+:-@/])")?, " $1 "),
        // Period and comma, unless a digit stands before or after them.
        (pattern(r"([^0-9])([.,])")?, "$1 $2 "),
        (pattern(r"([.,])([^0-9])")?, " $1 $2"),
        // A dash after a digit.
        (pattern(r"([0-9])(-)")?, "$1 $2 "),
    ])
});

fn tokens_13a(text: &str) -> String {
    let mut text = text.replace("<skipped>", "").replace("-\n", "").replace('\n', " ");
    for (entity, character) in [("&quot;", "\""), ("&amp;", "&"), ("&lt;", "<"), ("&gt;", ">")] {
        text = text.replace(entity, character);
    }
    text = format!(" {text} ");
    for (pattern, replacement) in STEPS_13A.iter().flatten() {
        text = pattern.replace_all(&text, *replacement).into_owned();
    }
    text
}
