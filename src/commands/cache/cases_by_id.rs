//! The cases of a suite by what others call them: id, model, trial; and why a judgment is of none.

use std::collections::BTreeMap;

use evalrs_base::diagnostic::clipped;
use evalrs_base::text::count;
use evalrs_engine::session::Session;
use evalrs_eval::votes::judgments::Judgment;
use evalrs_graph::inputs::Chunk;
use evalrs_graph::results;

/// A judgment that belongs to no call of the suite.
pub(super) struct UnboundJudgment {
    /// Its sample.
    pub id: String,
    /// The line of the file on which its row begins.
    pub line: u32,
    pub why: Unbound,
}

/// Why a judgment belongs to no call of the suite.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
pub(super) enum Unbound {
    #[error("the suite does not evaluate this sample")]
    NoSample,
    #[error("the sample has no answer of the model `{}`", clipped(.0))]
    OtherModel(String),
    #[error("the sample has no trial {0}")]
    NoTrial(u32),
    /// How many votes the grader takes, of a judge or of all.
    #[error("the grader takes {} from a judge", count(*.0 as usize, "vote"))]
    NoVote(u32),
    #[error("the submission is empty, so no judge is called")]
    EmptySubmission,
    #[error("each turn of the sample is judged by itself")]
    ByTurn,
    #[error("the target was not run")]
    Unanswered,
    #[error("no judge is called: {}", clipped(.0))]
    Graded(String),
}

/// Why a judgment has no entry.
pub(super) enum NoEntry {
    Unbound(Unbound),
    Wrong(String),
}

impl From<Unbound> for NoEntry {
    fn from(why: Unbound) -> Self {
        Self::Unbound(why)
    }
}

impl From<String> for NoEntry {
    fn from(message: String) -> Self {
        Self::Wrong(message)
    }
}

impl Unbound {
    /// Whether the sample as such is not evaluated.
    pub(super) fn is_of_sample(&self) -> bool {
        matches!(self, Self::NoSample | Self::OtherModel(_) | Self::NoTrial(_))
    }
}

/// A case of a sample: its model and trial, and where it is planned.
pub(super) struct PlannedCase {
    pub model: Option<String>,
    pub trial: u32,
    pub chunk: Chunk,
    /// Its place among the cases of the chunk.
    pub at: usize,
}

pub(super) struct CasesById(BTreeMap<String, Vec<PlannedCase>>);

impl CasesById {
    pub(super) fn new(session: &Session) -> Self {
        let mut cases: BTreeMap<String, Vec<PlannedCase>> = BTreeMap::new();
        for (id, who, chunk, at) in results::cases(&session.db, session.root) {
            let case = PlannedCase { model: who.model.clone(), trial: who.trial, chunk, at };
            cases.entry(id).or_default().push(case);
        }
        Self(cases)
    }

    /// The case that a judgment is of.
    pub(super) fn find(&self, judgment: &Judgment) -> Result<&PlannedCase, NoEntry> {
        let Judgment { id, model, .. } = judgment;
        let trial = judgment.trial.unwrap_or(0);
        let Some(of_sample) = self.0.get(id) else { return Err(Unbound::NoSample.into()) };
        let is_of_model = |case: &&PlannedCase| model.is_none() || *model == case.model;
        let mut fitting = of_sample.iter().filter(|case| case.trial == trial && is_of_model(case));
        match (fitting.next(), fitting.next(), model) {
            (Some(case), None, _) => Ok(case),
            (Some(_), Some(_), _) => Err(NoEntry::Wrong(format!(
                "`{id}` was run with several models; choose one with `--fields model=PATH`"
            ))),
            (None, _, Some(model)) if !of_sample.iter().any(|case| is_of_model(&case)) => {
                Err(Unbound::OtherModel(model.clone()).into())
            }
            (None, ..) => Err(Unbound::NoTrial(trial).into()),
        }
    }
}
