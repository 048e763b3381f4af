//! What moved between two evaluations: one verdict against the one before it.
//!
//! Pure data and counting. Who a case is, and which evaluation was before, is the graph's business.

use serde::{Deserialize, Serialize};

/// A sample with its model and trial, whatever its place in the dataset: the digest of its names.
pub type CaseId = u128;

/// One grade, as far as folds and comparisons need it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cell {
    /// 0.0..=1.0.
    pub score: f64,
    /// How far it is.
    pub state: CellState,
}

/// How far a grade is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CellState {
    /// Its case is not evaluated.
    Skipped,
    /// It waits for outcomes.
    Pending,
    /// A verdict.
    Passed,
    /// A verdict.
    Failed,
    /// It could not be made.
    Errored,
    /// The grader has nothing to say of the case.
    NotApplicable,
}

impl CellState {
    /// Of a verdict.
    pub fn of_verdict(passes: bool) -> Self {
        if passes { Self::Passed } else { Self::Failed }
    }
}

impl Cell {
    /// Whether it is a verdict: neither an error nor still to come.
    pub fn is_verdict(self) -> bool {
        matches!(self.state, CellState::Passed | CellState::Failed)
    }

    /// Whether it is a verdict that passes.
    pub fn passes(self) -> bool {
        self.state == CellState::Passed
    }

    /// Whether it is known: a verdict or an error.
    pub fn is_known(self) -> bool {
        self.is_verdict() || self.state == CellState::Errored
    }
}

/// How a grade differs from the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Movement {
    /// It passed and fails now.
    Broken,
    /// There was a verdict, and now there is an error.
    Errored,
    /// It failed or was an error, and passes now.
    Fixed,
    /// There was an error, and now there is a verdict, one that fails.
    Answered,
    /// The score is lower; whether it passes has not changed.
    Lowered,
    /// The score is higher; whether it passes has not changed.
    Raised,
    /// There was no grade before.
    New,
    /// It is as it was.
    Same,
    /// It is not known yet, or its case is not evaluated.
    Pending,
    /// The grader has nothing to say of the case.
    NotApplicable,
}

impl Movement {
    /// What became of `before`.
    pub fn of(before: Option<Cell>, now: Cell) -> Self {
        if now.state == CellState::NotApplicable {
            return Self::NotApplicable;
        }
        if !now.is_known() {
            return Self::Pending;
        }
        let Some(before) = before.filter(|before| before.is_known()) else { return Self::New };
        match (before.state, now.state) {
            (CellState::Errored, CellState::Errored) => Self::Same,
            (_, CellState::Errored) => Self::Errored,
            (CellState::Errored | CellState::Failed, CellState::Passed) => Self::Fixed,
            (CellState::Errored, _) => Self::Answered,
            (CellState::Passed, CellState::Failed) => Self::Broken,
            _ if now.score < before.score => Self::Lowered,
            _ if now.score > before.score => Self::Raised,
            _ => Self::Same,
        }
    }

    /// Whether there was a grade and it is another now.
    pub fn is_move(self) -> bool {
        !matches!(self, Self::New | Self::Same | Self::Pending | Self::NotApplicable)
    }
}

/// How many grades moved in which way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MovementCounts {
    /// See [`Movement::Broken`].
    pub broken: usize,
    /// See [`Movement::Errored`].
    pub errored: usize,
    /// See [`Movement::Fixed`].
    pub fixed: usize,
    /// See [`Movement::Answered`].
    pub answered: usize,
    /// See [`Movement::Lowered`].
    pub lowered: usize,
    /// See [`Movement::Raised`].
    pub raised: usize,
    /// See [`Movement::New`].
    pub new: usize,
    /// See [`Movement::Same`].
    pub unchanged: usize,
    /// See [`Movement::Pending`].
    pub pending: usize,
    /// See [`Movement::NotApplicable`].
    #[serde(skip_serializing_if = "crate::is_default")]
    pub not_applicable: usize,
}

impl MovementCounts {
    /// Counts one more.
    pub fn add(&mut self, movement: Movement) {
        let count = match movement {
            Movement::Broken => &mut self.broken,
            Movement::Errored => &mut self.errored,
            Movement::Fixed => &mut self.fixed,
            Movement::Answered => &mut self.answered,
            Movement::Lowered => &mut self.lowered,
            Movement::Raised => &mut self.raised,
            Movement::New => &mut self.new,
            Movement::Same => &mut self.unchanged,
            Movement::Pending => &mut self.pending,
            Movement::NotApplicable => &mut self.not_applicable,
        };
        *count += 1;
    }

    /// Counts those of another part.
    pub fn join(&mut self, other: Self) {
        let Self { broken, errored, fixed, answered, lowered, raised, .. } = other;
        let Self { new, unchanged, pending, not_applicable, .. } = other;
        self.broken += broken;
        self.errored += errored;
        self.fixed += fixed;
        self.answered += answered;
        self.lowered += lowered;
        self.raised += raised;
        self.new += new;
        self.unchanged += unchanged;
        self.pending += pending;
        self.not_applicable += not_applicable;
    }

    /// How many there were and are others now.
    pub fn moved(&self) -> usize {
        self.broken + self.errored + self.fixed + self.answered + self.lowered + self.raised
    }
}

#[cfg(test)]
mod tests {
    use super::{Cell, CellState, Movement, MovementCounts};

    fn cell(text: &str) -> Option<Cell> {
        let (state, score) = text.split_at(1);
        let state = match state {
            "-" => return None,
            "s" => CellState::Skipped,
            "w" => CellState::Pending,
            "p" => CellState::Passed,
            "f" => CellState::Failed,
            "n" => CellState::NotApplicable,
            _ => CellState::Errored,
        };
        Some(Cell { score: score.parse().unwrap_or(0.0), state })
    }

    #[test]
    fn every_pair_of_grades_is_one_movement() {
        let table = [
            ("-", "f0.5", Movement::New),
            ("w", "p1", Movement::New),
            ("s", "e", Movement::New),
            ("p1", "w", Movement::Pending),
            ("-", "s", Movement::Pending),
            ("f0.5", "f0.5", Movement::Same),
            ("e", "e", Movement::Same),
            ("p0.9", "p1", Movement::Raised),
            ("f0.5", "f0.4", Movement::Lowered),
            // An edited threshold moves a verdict whose score stays.
            ("f0.5", "p0.5", Movement::Fixed),
            ("p0.5", "f0.5", Movement::Broken),
            ("e", "p1", Movement::Fixed),
            ("e", "f0", Movement::Answered),
            ("f0", "e", Movement::Errored),
            ("p1", "e", Movement::Errored),
            ("p1", "n", Movement::NotApplicable),
            ("n", "n", Movement::NotApplicable),
            ("n", "p1", Movement::New),
        ];
        let mut counts = MovementCounts::default();
        for (before, now, expected) in table {
            let movement = Movement::of(cell(before), cell(now).unwrap());
            assert_eq!(movement, expected, "{before} → {now}");
            counts.add(movement);
        }
        assert_eq!((counts.moved(), counts.new, counts.unchanged, counts.pending), (8, 4, 2, 2));
    }
}
