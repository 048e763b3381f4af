//! The cases of a suite by what others call them: id, model, trial; and why a judgment is of none.

use std::collections::BTreeMap;
use std::fmt;

use evalrs_base::diagnostic::clipped;
use evalrs_engine::session::Session;
use evalrs_eval::votes::judgments::Judgment;
use evalrs_graph::inputs::Chunk;
use evalrs_graph::results;

/// A judgment that belongs to nothing which the suite asks for.
pub(super) struct UnboundJudgment {
    /// Its sample.
    pub id: String,
    /// The line of the file on which its row begins.
    pub line: u32,
    /// Why.
    pub why: Unbound,
}

/// Why a judgment belongs to nothing that the suite asks for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Unbound {
    /// The suite does not evaluate the sample.
    NoSample,
    /// The sample has answers of other models only.
    OtherModel(String),
    /// The sample was not run so often.
    NoTrial(u32),
    /// The grader has fewer votes; of a judge or of all.
    NoVote(u32),
    /// The submission is empty, so that nobody is asked.
    EmptySubmission,
    /// Each turn is graded by itself.
    ByTurn,
    /// The answer is not there yet.
    Unanswered,
    /// It is graded without a judge, or cannot be: why.
    Graded(String),
}

/// Why there is no entry for a judgment.
pub(super) enum NoEntry {
    /// It belongs to nothing.
    Unbound(Unbound),
    /// Something is wrong with it.
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

impl fmt::Display for Unbound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSample => f.write_str("the suite evaluates no such sample"),
            Self::OtherModel(model) => {
                write!(f, "the sample has no answer of the model `{}`", clipped(model))
            }
            Self::NoTrial(trial) => write!(f, "the sample has no trial {trial}"),
            Self::NoVote(votes) => {
                let votes = evalrs_base::text::count(*votes as usize, "vote");
                write!(f, "the grader asks for {votes} of a judge")
            }
            Self::EmptySubmission => {
                f.write_str("the submission is empty, and no judge is asked about it")
            }
            Self::ByTurn => f.write_str("each turn of the sample is judged by itself"),
            Self::Unanswered => f.write_str("the target has not answered"),
            Self::Graded(why) => write!(f, "no judge is asked: {}", clipped(why)),
        }
    }
}

/// A case of a sample: its model and trial, and where it is planned.
pub(super) struct PlannedCase {
    /// The model that was run.
    pub model: Option<String>,
    /// The repetition of the target.
    pub trial: u32,
    /// The chunk that holds it.
    pub chunk: Chunk,
    /// Its place among the cases of the chunk.
    pub at: usize,
}

/// The cases that a suite evaluates, by sample.
pub(super) struct CasesById(BTreeMap<String, Vec<PlannedCase>>);

impl CasesById {
    /// Those of a session that is loaded.
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
                "`{id}` was run with several models; say which: `--fields model=PATH`"
            ))),
            (None, _, Some(model)) if !of_sample.iter().any(|case| is_of_model(&case)) => {
                Err(Unbound::OtherModel(model.clone()).into())
            }
            (None, ..) => Err(Unbound::NoTrial(trial).into()),
        }
    }
}
