//! Graders that measure how alike two texts are, as the papers of machine translation and speech recognition do.
//!
//! Every number is that of the implementation that is cited: rouge-score, sacreBLEU, jiwer. `tests/text_metrics` holds
//! theirs over hundreds of texts. A text is 1.0 with itself, so that scores of percent are divided by 100 here.

mod bleu;
mod chrf;
mod error_rate;
mod porter;
mod references;
mod rouge;
#[cfg(test)]
mod tests;

pub(super) use bleu::BLEU;
pub(super) use chrf::CHRF;
pub(super) use error_rate::{CHARACTER_ERROR_RATE, EDIT_SIMILARITY, WORD_ERROR_RATE};
pub(super) use rouge::{ROUGE_L, ROUGE_N};
