//! How the agreement with human labels changed from one evaluation to another.
//!
//! Owns what a change of agreement is. Both sides are compared with the labels as they are now, over the cases that have a
//! verdict both times, so that neither a new label nor a verdict that is still missing looks like another judge.

use serde::{Deserialize, Serialize};

use super::labels::LabelAgreement;
use evalrs_model::delta::Cell;
use evalrs_model::spec::Label;

/// Whether a verdict came to agree with a person, or ceased to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AgreementMove {
    /// It agreed before and does not any more.
    NoLongerAgrees,
    /// It agrees now and did not before.
    NowAgrees,
}

impl AgreementMove {
    /// How a verdict moved against a label that passes by `threshold`; none where one of both is missing, or where nothing
    /// changed.
    pub fn of(then: Option<Cell>, now: Cell, label: Label, threshold: f64) -> Option<Self> {
        let then = then.filter(|then| then.is_verdict() && now.is_verdict())?;
        let passes = label.passes(threshold);
        Self::between(then.passes() == passes, now.passes() == passes)
    }

    /// The move from whether it agreed to whether it agrees.
    pub(crate) fn between(agreed: bool, agrees: bool) -> Option<Self> {
        match (agreed, agrees) {
            (true, false) => Some(Self::NoLongerAgrees),
            (false, true) => Some(Self::NowAgrees),
            (true, true) | (false, false) => None,
        }
    }
}

/// How far a grader agreed with labels before and agrees now, over the labelled cases that have a verdict both times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct AgreementChange {
    /// Labelled cases with a verdict both times.
    pub n: usize,
    /// The agreement before.
    pub before: LabelAgreement,
    /// The agreement now, over the same cases.
    pub now: LabelAgreement,
    /// Verdicts that agree now and did not before.
    pub now_agrees: usize,
    /// Verdicts that agreed before and do not any more.
    pub no_longer_agrees: usize,
}

impl AgreementChange {
    /// The change over cases: the verdict before, the one now, and the label, which passes by `threshold`. None where no
    /// labelled case has a verdict both times.
    pub fn of(cases: impl Iterator<Item = (Cell, Cell, Label)>, threshold: f64) -> Option<Self> {
        let both: Vec<(Cell, Cell, Label)> =
            cases.filter(|(then, now, _)| then.is_verdict() && now.is_verdict()).collect();
        let moves = |wanted| {
            let moved = both.iter().filter_map(|(then, now, label)| {
                AgreementMove::of(Some(*then), *now, *label, threshold)
            });
            moved.filter(|moved| *moved == wanted).count()
        };
        let then = both.iter().map(|(then, _, label)| (*then, *label));
        let now = both.iter().map(|(_, now, label)| (*now, *label));
        let now_agrees = moves(AgreementMove::NowAgrees);
        let no_longer_agrees = moves(AgreementMove::NoLongerAgrees);
        Some(Self {
            n: both.len(),
            before: LabelAgreement::of(then, threshold)?,
            now: LabelAgreement::of(now, threshold)?,
            now_agrees,
            no_longer_agrees,
        })
    }

    /// How many more there are now of what `of` counts; fewer are less than 0.
    pub fn more(&self, of: fn(&LabelAgreement) -> usize) -> isize {
        of(&self.now).checked_signed_diff(of(&self.before)).unwrap_or_default()
    }

    /// How far the share of verdicts that agree moved, -1.0..=1.0.
    pub fn by(&self) -> Option<f64> {
        Some(self.now.accuracy? - self.before.accuracy?)
    }
}

#[cfg(test)]
mod tests {
    use super::{AgreementChange, AgreementMove};
    use evalrs_model::delta::{Cell, CellState};
    use evalrs_model::spec::Label;

    const PASSED: Cell = Cell { score: 1.0, state: CellState::Passed };
    const FAILED: Cell = Cell { score: 0.0, state: CellState::Failed };
    const PENDING: Cell = Cell { score: 0.0, state: CellState::Pending };

    #[test]
    fn a_verdict_moves_towards_a_label_or_away_from_it() {
        use AgreementMove::{NoLongerAgrees, NowAgrees};
        for (then, now, label, expected) in [
            (Some(FAILED), PASSED, Label::Pass(true), Some(NowAgrees)),
            (Some(FAILED), PASSED, Label::Pass(false), Some(NoLongerAgrees)),
            (Some(PASSED), FAILED, Label::Score(0.4), Some(NowAgrees)),
            (Some(PASSED), FAILED, Label::Score(0.5), Some(NoLongerAgrees)),
            (Some(PASSED), PASSED, Label::Pass(true), None),
            (Some(FAILED), FAILED, Label::Pass(true), None),
            (Some(PASSED), PENDING, Label::Pass(true), None),
            (Some(PENDING), PASSED, Label::Pass(true), None),
            (None, PASSED, Label::Pass(true), None),
        ] {
            assert_eq!(AgreementMove::of(then, now, label, 0.5), expected, "{then:?} {now:?}");
        }
    }

    /// The trial of `findings`: of six verdicts that pass now, five contradict the person.
    #[test]
    fn more_passes_may_be_less_agreement() {
        let fails = Label::Pass(false);
        let passes = Label::Pass(true);
        let mut cases = vec![(FAILED, PASSED, fails); 5];
        cases.push((FAILED, PASSED, passes));
        cases.extend(vec![(FAILED, FAILED, fails); 13]);
        cases.extend(vec![(PASSED, PASSED, fails); 11]);
        cases.push((PASSED, PENDING, passes));
        let change = AgreementChange::of(cases.into_iter(), 0.5).unwrap();
        assert_eq!((change.n, change.now_agrees, change.no_longer_agrees), (30, 1, 5));
        assert_eq!((change.before.false_pass, change.now.false_pass), (11, 16));
        assert_eq!((change.more(|of| of.false_pass), change.more(|of| of.false_fail)), (5, -1));
        assert!((change.by().unwrap() + 4.0 / 30.0).abs() < 1e-12);
    }

    #[test]
    fn nothing_is_compared_that_was_judged_once() {
        let label = Label::Pass(true);
        assert_eq!(AgreementChange::of([(PENDING, PASSED, label)].into_iter(), 0.5), None);
        assert_eq!(AgreementChange::of([].into_iter(), 0.5), None);
        let same = AgreementChange::of([(PASSED, PASSED, label)].into_iter(), 0.5).unwrap();
        assert_eq!((same.n, same.by()), (1, Some(0.0)));
    }
}
