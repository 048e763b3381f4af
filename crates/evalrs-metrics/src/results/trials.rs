//! What several trials tell of the verdicts of a grader, with the samples named.

use serde::{Deserialize, Serialize};

use crate::metric::trials::{FlakyGroup, ScoreVariance, TrialFindings};
use evalrs_eval::votes::SplitVotes;

/// A result as the record names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedResult {
    /// The sample.
    pub sample_id: String,
    /// The model that was run.
    pub model: Option<String>,
    /// The repetition, from 0.
    pub trial: u32,
}

/// What trials tell of one grader. Only where a sample has several.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrialsSummary {
    /// Samples (of each model) with a trial without an error.
    pub samples: usize,
    /// The fewest trials without an error that a sample has: for k up to it, pass@k and pass^k are of all samples.
    pub fewest: usize,
    /// The most.
    pub most: usize,
    /// Samples that pass in some trials and not in others, the flakiest first.
    pub flaky: Vec<FlakySample>,
    /// Where the variance of scores comes from; null where that is not defined.
    pub variance: Option<ScoreVariance>,
    /// Submissions with votes on both sides of the pass threshold, in the order of the dataset; only of judges with votes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub straddlers: Option<Vec<Straddler>>,
}

/// A sample that passes in some trials and not in others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FlakySample {
    /// Its id.
    pub sample_id: String,
    /// The model that was run.
    pub model: Option<String>,
    /// Trials that pass.
    pub passes: usize,
    /// Trials without an error.
    pub trials: usize,
}

/// A submission with votes on both sides of the pass threshold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Straddler {
    /// Its sample.
    pub sample_id: String,
    /// The model that was run.
    pub model: Option<String>,
    /// The repetition, from 0.
    pub trial: u32,
    /// The turn, from 0, where turns are graded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn: Option<usize>,
    /// Votes that reach the threshold.
    pub passes: usize,
    /// Votes that did not fail.
    pub votes: usize,
}

/// A submission whose votes are split, by the place of its result among all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SplitResult {
    /// The place.
    pub at: usize,
    /// How its votes are split.
    pub votes: SplitVotes,
}

impl TrialsSummary {
    /// What was found, with results named by `name`, which knows all of them by their places.
    pub fn new(
        findings: &TrialFindings,
        split: Option<&[SplitResult]>,
        name: &dyn Fn(usize) -> Option<NamedResult>,
    ) -> Self {
        let flaky = findings.flaky.iter().filter_map(|FlakyGroup { at, passes, trials }| {
            let NamedResult { sample_id, model, .. } = name(*at)?;
            Some(FlakySample { sample_id, model, passes: *passes, trials: *trials })
        });
        let straddler = |split: &SplitResult| {
            let NamedResult { sample_id, model, trial } = name(split.at)?;
            let SplitVotes { turn, passes, votes } = split.votes;
            Some(Straddler { sample_id, model, trial, turn, passes, votes })
        };
        Self {
            samples: findings.groups,
            fewest: findings.fewest,
            most: findings.most,
            flaky: flaky.collect(),
            variance: findings.variance,
            straddlers: split.map(|split| split.iter().filter_map(straddler).collect()),
        }
    }
}
