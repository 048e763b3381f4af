//! The evaluations before the newest one.
//!
//! Every save keeps its row and its texts for as long as the session lasts. Its verdicts, and what they rest on, are kept of
//! the last saves alone: they take memory in proportion to the rows. All of them are in the store and in the record.

use super::shown_evaluation::ShownEvaluation;

/// The most saves before the newest one whose verdicts are kept.
pub(super) const MAX_KEPT_SAVES: usize = 20;

/// The most verdicts that are kept of all of them together; those of the last one are kept however many they are.
const MAX_KEPT_VERDICTS: usize = 100_000;

#[derive(Debug, Default)]
pub(super) struct PastSaves(Vec<ShownEvaluation>);

impl PastSaves {
    /// Adds the one that was the newest so far. Verdicts of older ones are dropped where they are too many.
    pub(crate) fn push(&mut self, shown: ShownEvaluation) {
        self.0.push(shown);
        let kept = kept(self.0.iter().rev().map(ShownEvaluation::verdicts));
        self.0.iter_mut().rev().skip(kept).for_each(ShownEvaluation::drop_verdicts);
    }

    pub(crate) fn get(&self, save: u32) -> Option<&ShownEvaluation> {
        self.0.get(save as usize)
    }

    pub(crate) fn get_mut(&mut self, save: u32) -> Option<&mut ShownEvaluation> {
        self.0.get_mut(save as usize)
    }

    /// All of them, the first evaluation first.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &ShownEvaluation> + Clone {
        self.0.iter()
    }
}

/// How many saves keep their verdicts, of which each has so many, the last save first.
fn kept(verdicts: impl Iterator<Item = usize>) -> usize {
    let mut sum = 0_usize;
    let within = verdicts.take(MAX_KEPT_SAVES).take_while(|verdicts| {
        sum = sum.saturating_add(*verdicts);
        sum <= MAX_KEPT_VERDICTS
    });
    within.count().max(1)
}

#[cfg(test)]
mod tests {
    use super::{MAX_KEPT_SAVES, MAX_KEPT_VERDICTS, PastSaves, kept};
    use crate::shown_evaluation::ShownEvaluation;

    #[test]
    fn the_verdicts_of_the_last_saves_are_kept() {
        let most = MAX_KEPT_VERDICTS;
        for (verdicts, expected) in [
            (vec![7; 3], 3),
            (vec![7; 100], MAX_KEPT_SAVES),
            (vec![most / 4; 9], 4),
            (vec![most, 1, 1], 1),
            (vec![most + 1, 1, 1], 1),
            (vec![most - 1, 1, 1], 2),
        ] {
            assert_eq!(kept(verdicts.iter().copied()), expected, "{verdicts:?}");
        }
    }

    #[test]
    fn every_save_keeps_its_row() {
        let mut past = PastSaves::default();
        for save in 0..30 {
            let mut shown = ShownEvaluation::default();
            shown.overview.save = save;
            past.push(shown);
        }
        assert_eq!(past.get(3).map(|past| past.overview.save), Some(3));
        assert_eq!((past.iter().count(), past.get(30).is_none()), (30, true));
    }
}
