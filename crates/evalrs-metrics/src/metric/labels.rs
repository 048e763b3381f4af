//! How far verdicts agree with the labels that people gave.
//!
//! Owns what a label is and the formulas over pairs of a verdict and a label; knows nothing of where labels stand. Counts
//! are whole numbers and the one sum of scores is exact, so that the order of cases never shows.

use serde::{Deserialize, Serialize};

use evalrs_base::exact::mean;
use evalrs_model::delta::{Cell, CellState};
use evalrs_model::spec::Label;

/// How far the verdicts of a grader agree with labels. Passing is the positive class; errors are left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LabelAgreement {
    /// Verdicts that have a label.
    pub n: usize,
    /// Labels whose grade is an error or not known yet.
    pub without_verdict: usize,
    /// Those of them that pass.
    #[serde(skip)]
    pub passes_without_verdict: usize,
    /// Labels that people gave to another submission than the one there is now: they count for nothing.
    pub stale: usize,
    /// Both pass.
    pub both_pass: usize,
    /// The grader passes what a person fails.
    pub false_pass: usize,
    /// The grader fails what a person passes.
    pub false_fail: usize,
    /// Both fail.
    pub both_fail: usize,
    /// Share of verdicts that agree (0.0..=1.0); null if there is none.
    pub accuracy: Option<f64>,
    /// Cohen's kappa of pass and fail (-1.0..=1.0); null where it is not defined: without verdicts, or where one side says
    /// the same of all, so that nothing it says could agree more than chance.
    pub kappa: Option<f64>,
    /// The bounds of its 95 % confidence interval (-1.0..=1.0); null where kappa is. For large samples: where every
    /// verdict agrees both bounds are 1.0, however few there are.
    pub kappa_interval: Option<(f64, f64)>,
    /// Mean distance of scores from labels that are scores (0.0..=1.0); null if there is none.
    pub mean_distance: Option<f64>,
}

impl LabelAgreement {
    /// The agreement of verdicts with their labels, in any order; none if there is no label at all. Whether a verdict
    /// passes it says itself, a label passes by `threshold`. Cases that are not evaluated count for nothing.
    pub fn of(pairs: impl Iterator<Item = (Cell, Label)>, threshold: f64) -> Option<Self> {
        let mut counted = Self::default();
        let mut distances = Vec::new();
        for (cell, label) in pairs {
            let passed = match cell.state {
                CellState::Skipped | CellState::NotApplicable => continue,
                CellState::Pending | CellState::Errored => {
                    counted.without_verdict += 1;
                    counted.passes_without_verdict += usize::from(label.passes(threshold));
                    continue;
                }
                CellState::Passed => true,
                CellState::Failed => false,
            };
            counted.add(passed, label.passes(threshold), 1);
            if let Label::Score(score) = label {
                distances.push((cell.score - score).abs());
            }
        }
        if counted.n + counted.without_verdict == 0 {
            return None;
        }
        let agreeing = counted.both_pass + counted.both_fail;
        let (kappa, kappa_interval) = counted.kappa_with_interval().unzip();
        Some(Self {
            accuracy: (counted.n > 0).then(|| agreeing as f64 / counted.n as f64),
            kappa,
            kappa_interval,
            mean_distance: mean(&distances),
            ..counted
        })
    }

    /// Adds this many labelled verdicts to the counts, and to nothing that is computed from them.
    pub fn add(&mut self, passed: bool, label_passes: bool, times: usize) {
        let count = match (passed, label_passes) {
            (true, true) => &mut self.both_pass,
            (true, false) => &mut self.false_pass,
            (false, true) => &mut self.false_fail,
            (false, false) => &mut self.both_fail,
        };
        *count += times;
        self.n += times;
    }

    /// Cohen's kappa and its 95 % confidence interval; none where either side says the same of all.
    ///
    /// `(p_o - p_e) / (1 - p_e)`, Cohen 1960, "A Coefficient of Agreement for Nominal Scales". The interval is kappa and
    /// 1.96 standard errors to either side, cut to -1..=1, by the variance for large samples of Fleiss, Cohen and
    /// Everitt 1969, "Large Sample Standard Errors of Kappa and Weighted Kappa", which does not suppose that kappa is 0.
    pub(crate) fn kappa_with_interval(&self) -> Option<(f64, (f64, f64))> {
        let [n, both_pass, false_pass, false_fail, both_fail] =
            [self.n, self.both_pass, self.false_pass, self.false_fail, self.both_fail]
                .map(|count| count as i128);
        let verdicts = [both_pass + false_pass, false_fail + both_fail];
        let labels = [both_pass + false_fail, false_pass + both_fail];
        let by_chance = verdicts[0] * labels[0] + verdicts[1] * labels[1];
        let beyond_chance = n * n - by_chance;
        if verdicts.contains(&0) || labels.contains(&0) {
            return None;
        }
        let kappa = ((both_pass + both_fail) * n - by_chance) as f64 / beyond_chance as f64;
        let share = |count: i128| count as f64 / n as f64;
        let both = |at: usize| share(verdicts[at] + labels[at]);
        let agreed = |at: usize, count: i128| {
            let weight = 1.0 - both(at) * (1.0 - kappa);
            share(count) * weight * weight
        };
        let differed = |verdict: usize, label: usize, count: i128| {
            let weight = share(labels[verdict] + verdicts[label]) * (1.0 - kappa);
            share(count) * weight * weight
        };
        let expected = by_chance as f64 / (n * n) as f64;
        let rest = beyond_chance as f64 / (n * n) as f64;
        let shift = kappa - expected * (1.0 - kappa);
        let spread = agreed(0, both_pass)
            + agreed(1, both_fail)
            + differed(0, 1, false_pass)
            + differed(1, 0, false_fail)
            - shift * shift;
        // Rounding may leave a little less than nothing.
        let error = spread.max(0.0).sqrt() / rest / (n as f64).sqrt();
        let bound = |side: f64| (kappa + side * TWO_SIDED_95 * error).clamp(-1.0, 1.0);
        Some((kappa, (bound(-1.0), bound(1.0))))
    }
}

/// The 97.5th percentile of the standard normal distribution.
const TWO_SIDED_95: f64 = 1.959_963_984_540_054;

/// How far a verdict is from a label that differs, greater than 0.0 and at most 1.0; none where they agree, or where
/// there is no verdict. From a score it is the distance of scores. From pass and fail, which say nothing of how far, it
/// is 0.5 and more: half of the distance from full or no score comes on top.
pub fn disagrees(cell: Cell, label: Label, threshold: f64) -> Option<f64> {
    let passed = cell.state == CellState::Passed;
    if !cell.is_verdict() || passed == label.passes(threshold) {
        return None;
    }
    let distance = (cell.score - label.number()).abs();
    Some(match label {
        // Never 0.0, which whoever sorts by it would take for agreement.
        Label::Score(_) => distance.max(f64::EPSILON),
        Label::Pass(_) => 0.5 + distance / 2.0,
    })
}

/// How far a verdict is from what a person says, whether they agree or not (0.0 to 1.0): from a score the distance of
/// scores, from pass and fail half of the distance from full or no score, and 0.5 more where they disagree. None where there
/// is no verdict.
pub fn label_distance(cell: Cell, label: Label, threshold: f64) -> Option<f64> {
    disagrees(cell, label, threshold).or_else(|| {
        let distance = (cell.score - label.number()).abs();
        let agreeing = if matches!(label, Label::Pass(_)) { distance / 2.0 } else { distance };
        cell.is_verdict().then_some(agreeing)
    })
}

#[cfg(test)]
mod tests {
    use super::{LabelAgreement, disagrees, label_distance};
    use evalrs_model::delta::{Cell, CellState};
    use evalrs_model::spec::Label;

    fn close(actual: Option<f64>, expected: f64) -> bool {
        actual.is_some_and(|actual| (actual - expected).abs() < 1e-12)
    }

    fn cell(state: CellState, score: f64) -> Cell {
        Cell { score, state }
    }

    fn verdict(score: f64) -> Cell {
        cell(if score >= 0.5 { CellState::Passed } else { CellState::Failed }, score)
    }

    /// So many cases in which both pass, only the verdict does, only the label does, none does.
    fn table(counts: [usize; 4]) -> LabelAgreement {
        let kinds = [(1.0, true), (1.0, false), (0.0, true), (0.0, false)];
        let pairs = kinds.into_iter().zip(counts).flat_map(|((score, label), count)| {
            std::iter::repeat_n((verdict(score), Label::Pass(label)), count)
        });
        LabelAgreement::of(pairs, 0.5).unwrap()
    }

    #[test]
    fn kappa_and_its_interval_are_those_of_statsmodels() {
        // statsmodels 0.15, `stats.inter_rater.cohens_kappa`: kappa, kappa_low, kappa_upp; the bounds cut to -1..=1.
        for (counts, kappa, low, high) in [
            ([20, 5, 10, 15], 0.4, 0.151_092_290_476_661, 0.648_907_709_523_338_9),
            (
                [40, 9, 3, 48],
                0.759_326_113_116_726_8,
                0.632_523_027_364_169_1,
                0.886_129_198_869_284_8,
            ),
            (
                [90, 5, 4, 1],
                0.134_615_384_615_385_7,
                -0.183_096_621_310_468_83,
                0.452_327_390_541_240_2,
            ),
            (
                [118, 5, 0, 25],
                0.888_554_216_867_469_9,
                0.793_131_891_094_433_9,
                0.983_976_542_640_505_9,
            ),
            ([1, 1, 0, 8], 0.615_384_615_384_615_3, -0.044_752_105_413_143_006, 1.0),
            ([0, 3, 4, 0], -0.96, -1.0, -0.557_620_587_329_315_6),
            ([10, 0, 0, 5], 1.0, 1.0, 1.0),
        ] {
            let found = table(counts);
            assert!(close(found.kappa, kappa), "{counts:?}: {found:?}");
            let (lower, upper) = found.kappa_interval.unzip();
            // The reference itself is off by the rounding of a spread of 0.
            let is = |bound: Option<f64>, expected: f64| {
                bound.is_some_and(|bound| (bound - expected).abs() < 1e-7)
            };
            assert!(is(lower, low) && is(upper, high), "{counts:?}: {found:?}");
        }
    }

    #[test]
    fn kappa_is_none_where_there_is_nothing_to_tell_apart() {
        for (counts, accuracy) in [
            ([7, 0, 0, 0], Some(1.0)),
            ([0, 0, 0, 1], Some(1.0)),
            ([0, 0, 0, 0], None),
            ([0, 2, 0, 6], Some(0.75)),
            ([6, 0, 2, 0], Some(0.75)),
            ([0, 0, 2, 6], Some(0.75)),
        ] {
            let unjudged = [(cell(CellState::Errored, 0.0), Label::Pass(true))];
            let found = if accuracy.is_some() {
                table(counts)
            } else {
                LabelAgreement::of(unjudged.into_iter(), 0.5).unwrap()
            };
            assert_eq!((found.accuracy, found.kappa, found.kappa_interval), (accuracy, None, None));
        }
    }

    #[test]
    fn what_is_no_verdict_is_counted_apart() {
        let labelled = |state| (cell(state, 0.0), Label::Score(0.0));
        let pairs = [
            labelled(CellState::Errored),
            labelled(CellState::Pending),
            labelled(CellState::Skipped),
            (verdict(0.75), Label::Score(0.5)),
            (verdict(0.25), Label::Score(0.75)),
            (verdict(0.5), Label::Pass(false)),
        ];
        let found = LabelAgreement::of(pairs.into_iter(), 0.5).unwrap();
        assert_eq!((found.n, found.without_verdict), (3, 2));
        assert_eq!(
            (found.both_pass, found.false_pass, found.false_fail, found.both_fail),
            (1, 1, 1, 0)
        );
        assert_eq!((found.accuracy, found.mean_distance), (Some(1.0 / 3.0), Some(0.375)));
        assert_eq!(table([1, 0, 0, 1]).mean_distance, None);
        let skipped = [labelled(CellState::Skipped)];
        assert_eq!(LabelAgreement::of(skipped.into_iter(), 0.5), None);
        assert_eq!(LabelAgreement::of(std::iter::empty(), 0.5), None);
    }

    #[test]
    fn the_order_of_cases_changes_nothing() {
        let scores = [0.1, 0.2, 0.3, 0.7, 1e-17, 0.9, 0.6];
        let pairs: Vec<(Cell, Label)> =
            scores.iter().map(|score| (verdict(*score), Label::Score(0.3))).collect();
        let found = LabelAgreement::of(pairs.iter().copied(), 0.5);
        assert_eq!(LabelAgreement::of(pairs.into_iter().rev(), 0.5), found);
    }

    #[test]
    fn what_agrees_is_nearer_than_what_disagrees_with_pass_or_fail() {
        for (cell, label, expected) in [
            (verdict(1.0), Label::Pass(true), Some(0.0)),
            (verdict(0.5), Label::Pass(true), Some(0.25)),
            (verdict(0.0), Label::Pass(true), Some(1.0)),
            (verdict(0.25), Label::Pass(false), Some(0.125)),
            (verdict(0.75), Label::Score(0.5), Some(0.25)),
            (verdict(0.25), Label::Score(0.5), Some(0.25)),
            (cell(CellState::Errored, 0.0), Label::Pass(true), None),
            (cell(CellState::Pending, 0.0), Label::Score(0.0), None),
        ] {
            assert_eq!(label_distance(cell, label, 0.5), expected, "{cell:?} {label:?}");
        }
    }

    #[test]
    fn disagreement_says_how_far() {
        for (cell, label, expected) in [
            (verdict(0.75), Label::Pass(true), None),
            (verdict(0.75), Label::Score(0.5), None),
            (verdict(0.25), Label::Score(0.0), None),
            (cell(CellState::Errored, 0.0), Label::Pass(true), None),
            (cell(CellState::Pending, 0.0), Label::Score(1.0), None),
            (cell(CellState::Skipped, 0.0), Label::Pass(true), None),
            (verdict(0.25), Label::Score(0.5), Some(0.25)),
            (verdict(1.0), Label::Score(0.0), Some(1.0)),
            (cell(CellState::Failed, 0.5), Label::Score(0.5), Some(f64::EPSILON)),
            (verdict(1.0), Label::Pass(false), Some(1.0)),
            (verdict(0.5), Label::Pass(false), Some(0.75)),
            (verdict(0.25), Label::Pass(true), Some(0.875)),
        ] {
            assert_eq!(disagrees(cell, label, 0.5), expected, "{cell:?} {label:?}");
        }
    }
}
