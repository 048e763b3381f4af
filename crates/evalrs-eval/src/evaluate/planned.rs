//! What is to be done for one case and grader: a grade that is there, or the keys of the actions that it waits for.

use std::sync::Arc;

use crate::grade::Grade;
use evalrs_model::key::ActionKey;
use evalrs_model::outcome::Outcome;

/// What is to be done for one case and grader.
#[derive(Clone, Debug, PartialEq)]
pub enum GradePlan {
    /// Nothing: it is graded.
    Graded(Grade),
    /// One action.
    Ask(ActionKey),
    /// The action that makes the submission; what comes after it is planned when that is there.
    Extract(ActionKey),
    /// The conversation of the target; what comes after it is planned when it is there.
    Converse(ActionKey),
    /// One action for each ballot.
    Votes(Box<[ActionKey]>),
    /// One action for each ballot, of which the last confirm a verdict that is below the pass threshold.
    Confirmed {
        /// How many ballots every submission gets.
        first: u32,
        /// Those, then the ones that confirm.
        keys: Box<[ActionKey]>,
    },
    /// One plan for each turn.
    Turns(Box<[GradePlan]>),
    /// Something else must be there first: a file, or the grades that a reward is made of.
    Blocked,
    /// The case is not selected.
    Skipped,
}

/// One of the actions that grade a case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct BallotId {
    /// The turn of the case, where turns are graded one by one.
    pub turn: usize,
    /// The ballot on that turn; a program has one.
    pub ballot: u32,
}

impl GradePlan {
    /// The keys of its actions, in order.
    pub fn keys(&self) -> Vec<(BallotId, ActionKey)> {
        let mut keys = Vec::new();
        self.each_key(&mut |ballot, key| keys.push((ballot, key)));
        keys
    }

    /// The key of its first action.
    pub fn first_key(&self) -> Option<ActionKey> {
        self.keys().first().map(|(_, key)| *key)
    }

    /// Visits its actions, in order; also those that may not be wanted, which [`super::join::each_wanted`] leaves out.
    pub fn each_key(&self, visit: &mut dyn FnMut(BallotId, ActionKey)) {
        match self {
            Self::Turns(turns) => {
                for (turn, planned) in turns.iter().enumerate() {
                    planned.each_key(&mut |ballot, key| visit(BallotId { turn, ..ballot }, key));
                }
            }
            Self::Ask(key) | Self::Extract(key) | Self::Converse(key) => {
                visit(BallotId::default(), *key);
            }
            Self::Votes(keys) | Self::Confirmed { keys, .. } => each_ballot(keys, visit),
            Self::Graded(_) | Self::Blocked | Self::Skipped => {}
        }
    }

    /// What the action for a turn is for.
    pub fn purpose(&self, turn: usize) -> Purpose {
        match self {
            Self::Extract(_) => Purpose::Submission,
            Self::Converse(_) => Purpose::Answer,
            Self::Turns(turns) => turns.get(turn).map_or(Purpose::Grade, |one| one.purpose(0)),
            _ => Purpose::Grade,
        }
    }

    /// Whether more is planned, or may be wanted, once those of its actions are there that are `missing`.
    pub fn may_want_more(&self, missing: &dyn Fn(ActionKey) -> bool) -> bool {
        match self {
            Self::Extract(key) | Self::Converse(key) => missing(*key),
            Self::Confirmed { first, keys } => {
                keys.iter().take(*first as usize).any(|key| missing(*key))
            }
            Self::Turns(turns) => turns.iter().any(|turn| turn.may_want_more(missing)),
            Self::Blocked => true,
            Self::Graded(_) | Self::Ask(_) | Self::Votes(_) | Self::Skipped => false,
        }
    }

    /// Whether what is graded must be made first, of any of its turns.
    pub fn waits_for_submission(&self) -> bool {
        match self {
            Self::Extract(_) | Self::Converse(_) => true,
            Self::Turns(turns) => turns.iter().any(Self::waits_for_submission),
            _ => false,
        }
    }

    /// The keys of the ballots on one submission, and how many of them it gets in any case.
    pub fn ballots(&self) -> Option<(&[ActionKey], usize)> {
        match self {
            Self::Ask(key) => Some((std::slice::from_ref(key), 1)),
            Self::Votes(keys) => Some((keys, keys.len())),
            Self::Confirmed { first, keys } => Some((keys, (*first as usize).min(keys.len()))),
            _ => None,
        }
    }
}

/// A finished grade, which waits for nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct FinishedGrade {
    /// The verdict.
    pub grade: Grade,
    /// The grades of single turns.
    pub per_turn: Option<Vec<Grade>>,
}

/// Where grading finds what came of actions.
pub type Outcomes<'a> = &'a dyn Fn(ActionKey) -> Option<Arc<Outcome>>;

/// What an action is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// It grades.
    #[default]
    Grade,
    /// It extracts what is graded.
    Submission,
    /// The target answers.
    Answer,
}

/// Visits the ballots on one submission.
pub(super) fn each_ballot(keys: &[ActionKey], visit: &mut dyn FnMut(BallotId, ActionKey)) {
    for (key, ballot) in keys.iter().zip(0..) {
        visit(BallotId { turn: 0, ballot }, *key);
    }
}
