//! What moved since an earlier run, short enough for `run.json` and a report: how many verdicts, how agreement changed, and the
//! first names.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::{CaseName, Diff};
use crate::metric::label_change::AgreementMove;
use evalrs_base::ordered_map::OrderedMap;
use evalrs_model::delta::{Movement, MovementCounts};

/// How many verdicts that moved are named.
const MAX_NAMED: usize = 20;

/// What moved since an earlier run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunMoves {
    /// The earlier run.
    pub since: String,
    /// Verdicts that passed and fail now.
    pub broken: usize,
    /// Verdicts that could not be made now.
    pub errored: usize,
    /// Verdicts that failed or were errors, and pass now.
    pub fixed: usize,
    /// Errors that are verdicts now, which fail.
    pub answered: usize,
    /// Lower scores, whose verdict is as it was.
    pub lowered: usize,
    /// Higher scores, whose verdict is as it was.
    pub raised: usize,
    /// Results that the earlier run did not have.
    pub new: usize,
    /// Results that it alone has.
    pub gone: usize,
    /// Grader → its agreement with labels, where that changed.
    #[serde(skip_serializing_if = "OrderedMap::is_empty")]
    pub agreement: OrderedMap<MovedAgreement>,
    /// The first verdicts that moved, the worst news first.
    pub verdicts: Vec<RunMove>,
}

/// How far a grader agrees with labels: the same labels for both runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct MovedAgreement {
    /// The share of labelled verdicts that agreed.
    pub before: f64,
    /// The share that agrees now.
    pub now: f64,
}

/// A verdict that moved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunMove {
    /// The sample.
    pub sample_id: String,
    /// The model that was run.
    pub model: Option<String>,
    /// The repetition, from 0.
    pub trial: u32,
    /// The place of its result among all; null where that is not known.
    pub at: Option<usize>,
    /// The grader.
    pub grader: String,
    /// How it moved.
    pub movement: Movement,
    /// The score before; null where it could not be made.
    pub before: Option<f64>,
    /// The score now, likewise.
    pub now: Option<f64>,
    /// Whether it agrees with its label now and did not (`true`), or does no longer (`false`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agrees: Option<bool>,
}

impl RunMoves {
    /// Nothing.
    pub fn none(since: &str) -> Self {
        Self { since: since.to_owned(), ..Self::default() }
    }

    /// What a comparison found, with results at these `places`. Cases that say the same in both may be left out of it.
    pub fn of(diff: &Diff, places: &HashMap<CaseName, usize>) -> Self {
        let mut counts = MovementCounts::default();
        diff.graders.0.iter().for_each(|(_, grader)| counts.join(grader.counts));
        let verdicts = diff.moved.iter().take(MAX_NAMED).map(|moved| {
            let score = |grade: &super::MovedGrade| (!grade.error).then_some(grade.score);
            RunMove {
                sample_id: moved.case.sample_id.clone(),
                model: moved.case.model.clone(),
                trial: moved.case.trial,
                at: places.get(&moved.case).copied(),
                grader: moved.grader.clone(),
                movement: moved.movement,
                before: score(&moved.before),
                now: score(&moved.now),
                agrees: moved.against_people().map(|moved| moved == AgreementMove::NowAgrees),
            }
        });
        let MovementCounts { broken, errored, fixed, answered, lowered, raised, .. } = counts;
        Self {
            since: diff.before.run.clone(),
            broken,
            errored,
            fixed,
            answered,
            lowered,
            raised,
            new: diff.cases.only_now.count,
            gone: diff.cases.only_before.count,
            agreement: OrderedMap::default(),
            verdicts: verdicts.collect(),
        }
    }

    /// How many verdicts moved.
    pub fn moved(&self) -> usize {
        let Self { broken, errored, fixed, answered, lowered, raised, .. } = self;
        broken + errored + fixed + answered + lowered + raised
    }
}
