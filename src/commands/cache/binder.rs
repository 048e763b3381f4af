//! Which action of a suite a judgment that was made elsewhere is the outcome of, and why it is none of any.

use std::collections::{HashMap, hash_map};

use serde_json::json;

use super::cases_by_id::{CasesById, NoEntry, Unbound, UnboundJudgment};
use super::import_tally::RefusedScore;
use super::judgments_file::each_judgment;
use evalrs_base::diagnostic::{Diagnostic, clipped};
use evalrs_engine::session::Session;
use evalrs_eval::evaluate::{BallotId, GradePlan, Method};
use evalrs_eval::judge::question::{Order, Question};
use evalrs_eval::judge::{Ballot, Judge};
use evalrs_eval::votes::judgments::{Judgment, JudgmentLayout};
use evalrs_eval::votes::score_map::VoteValue;
use evalrs_graph::queries::{self, Grader};
use evalrs_graph::results;
use evalrs_model::key::KeyMap;
use evalrs_model::outcome::{
    Failure, FailureKind, JudgmentOrigin, Outcome, Reply, StoredOutcome, read_body,
};
use evalrs_model::spec::Scale;
use evalrs_store::{Entry, OutcomeStore};
use evalrs_use_cases::error::Error;

pub(super) struct JudgmentFile<'a> {
    /// Its path as typed.
    pub path: &'a str,
    pub bytes: &'a [u8],
    pub layout: &'a JudgmentLayout,
    /// When it is imported.
    pub at: &'a str,
}

/// What the rows so far hold, of all files.
#[derive(Default)]
pub(super) struct ReadRows {
    /// The next vote of a sample, model, trial and judge whose rows number none.
    next_votes: HashMap<(String, Option<String>, u32, usize), u32>,
    /// The row that each action was first judged in.
    rows: KeyMap<JudgedRow>,
}

/// A row that was read.
struct JudgedRow {
    id: String,
    value: VoteValue,
    /// Its file and line.
    place: String,
}

impl JudgedRow {
    /// What is wrong where the sample `id` has another score for the same judgment.
    fn in_contrast_to(&self, id: &str) -> String {
        let Self { id: first, value, place } = self;
        let score = match value {
            VoteValue::Score(score) => format!("the score {score}"),
            VoteValue::Failed(_) => "no score".to_owned(),
        };
        let same = format!("the same judgment has {score} in `{place}`");
        if first == id {
            return same;
        }
        format!(
            "{same}: `{first}` and `{id}` have one key, because the rubric shows the judge nothing that differs (to import votes per sample, use `kind: recorded_votes`)"
        )
    }
}

impl ReadRows {
    fn next_vote(&mut self, judgment: &Judgment, judge: usize) -> u32 {
        let trial = judgment.trial.unwrap_or(0);
        let who = (judgment.id.clone(), judgment.model.clone(), trial, judge);
        let next = self.next_votes.entry(who).or_default();
        *next += 1;
        *next - 1
    }
}

/// The result of the rows of one file.
#[derive(Default)]
pub(super) struct BoundFile {
    /// The judgments that are bound.
    pub entries: Vec<BoundJudgment>,
    pub judgments: usize,
    /// Judgments that are failures, among the entries.
    pub failures: usize,
    /// Judgments that another row holds too: equal submissions are judged once.
    pub twice: usize,
    /// Judgments that belong to no call of the suite, in the order of the file.
    pub unbound: Vec<UnboundJudgment>,
}

/// A judgment as the outcome of an action.
pub(super) struct BoundJudgment {
    /// Its sample.
    pub id: String,
    /// The file and line of its row.
    pub place: String,
    pub entry: Entry,
}

/// An entry compared with the stored one under its key.
enum ImportComparison {
    /// It is kept so: over nothing, or over a failure.
    New(Entry),
    /// The same is there, or, of a failure, anything is.
    There,
    /// One of another score is there.
    Other {
        /// How the new one would be kept over that.
        over: Entry,
        /// The score that is there.
        held: f64,
        /// The score that is imported.
        new: f64,
    },
}

pub(super) struct Binder<'a> {
    session: &'a Session,
    grader: Grader<'a>,
    judge: &'a Judge,
    cases: CasesById,
}

impl<'a> Binder<'a> {
    /// A binder for a grader with judges that give scores.
    pub(super) fn new(session: &'a Session, grader: Grader<'a>) -> Result<Self, Error> {
        let db = &session.db;
        let why = match &queries::ready(db, grader).method {
            Method::Judge(judge) if matches!(judge.question(), Question::Score(_)) => {
                return Ok(Self { session, grader, judge, cases: CasesById::new(session) });
            }
            Method::Judge(_) => "compares two submissions; only scores can be imported",
            _ => "has no judge, so it has no judgments",
        };
        Err(Error::Plain { message: format!("`{}` {why}", grader.name(db)), hint: None })
    }

    /// Whether true and false are scores: 1 and 0.
    pub(super) fn takes_truths(&self) -> bool {
        *self.judge.question() == Question::Score(Scale::UNIT)
    }

    /// The judgments of one file as store entries, or everything that is wrong with it.
    pub(super) fn file(
        &self,
        file: &JudgmentFile<'_>,
        seen: &mut ReadRows,
    ) -> Result<BoundFile, Vec<Diagnostic>> {
        let mut bound = BoundFile::default();
        each_judgment(file.path, file.bytes, file.layout, &mut |judgment, start| {
            bound.judgments += 1;
            let next = |judge| seen.next_vote(&judgment, judge);
            let entry = match self.entry(&judgment, next, file) {
                Ok(entry) => entry,
                Err(NoEntry::Wrong(message)) => return Err(message),
                Err(NoEntry::Unbound(why)) => {
                    let id = judgment.id;
                    bound.unbound.push(UnboundJudgment { id, line: start.line, why });
                    return Ok(());
                }
            };
            let Judgment { id, value, .. } = judgment;
            match seen.rows.entry(entry.key) {
                hash_map::Entry::Vacant(vacant) => {
                    let place = format!("{}:{}", file.path, start.line);
                    bound.failures += usize::from(matches!(value, VoteValue::Failed(_)));
                    vacant.insert(JudgedRow { id: id.clone(), value, place: place.clone() });
                    bound.entries.push(BoundJudgment { id, place, entry });
                }
                hash_map::Entry::Occupied(held) if held.get().value == value => bound.twice += 1,
                hash_map::Entry::Occupied(held) => return Err(held.get().in_contrast_to(&id)),
            }
            Ok(())
        })?;
        Ok(bound)
    }

    /// The entries that are to be kept; those of another score are `refused` unless they replace what is there.
    pub(super) fn fresh<'e>(
        &self,
        entries: &'e [BoundJudgment],
        replace: bool,
        store: &dyn OutcomeStore,
        refused: &mut Vec<RefusedScore<'e>>,
    ) -> Vec<Entry> {
        let keys: Vec<_> = entries.iter().map(|bound| bound.entry.key).collect();
        let mut fresh = Vec::new();
        for (bound, held) in entries.iter().zip(store.get_many(&keys)) {
            match self.against(&bound.entry, held.as_ref()) {
                ImportComparison::New(entry) => fresh.push(entry),
                ImportComparison::There => {}
                ImportComparison::Other { over, .. } if replace => fresh.push(over),
                ImportComparison::Other { held, new, .. } => {
                    let BoundJudgment { id, place, .. } = bound;
                    refused.push(RefusedScore { id, place, held, new });
                }
            }
        }
        fresh
    }

    fn against(&self, entry: &Entry, held: Option<&Entry>) -> ImportComparison {
        let score = |entry: &Entry| {
            let Ok(Outcome::Reply(found)) = read_body(&entry.body) else { return None };
            Some(self.judge.read(&found.text).ok()?.native)
        };
        let Some(held) = held else { return ImportComparison::New(entry.clone()) };
        let over = Entry { generation: held.generation.saturating_add(1), ..entry.clone() };
        match (score(held), score(entry)) {
            (Some(held), Some(new)) if held.total_cmp(&new).is_eq() => ImportComparison::There,
            (Some(held), Some(new)) => ImportComparison::Other { over, held, new },
            (None, Some(_)) => ImportComparison::New(over),
            // No failure stands over a reply.
            (_, None) => ImportComparison::There,
        }
    }

    /// What the judgment is the outcome of, or why of nothing. `next` gives votes that the row does not number.
    fn entry(
        &self,
        judgment: &Judgment,
        next: impl FnOnce(usize) -> u32,
        file: &JudgmentFile<'_>,
    ) -> Result<Entry, NoEntry> {
        let case = self.cases.find(judgment)?;
        let seat = self.seat(judgment)?;
        let vote = judgment.vote.unwrap_or_else(|| next(seat));
        let outcome = self.outcome(judgment)?;
        let db = &self.session.db;
        if let Some(why) = not_asked(queries::plans(db, case.chunk, self.grader).get(case.at)) {
            return Err(why.into());
        }
        let meant = Ballot { judge: seat, vote, order: Order::Forward };
        let ballots = self.judge.first_ballots() + self.judge.confirming_ballots();
        let Some(ballot) = (0..ballots).find(|at| self.judge.ballot(*at) == meant) else {
            let rubric = &self.judge.rubric;
            return Err(Unbound::NoVote(rubric.votes + rubric.confirm_fails).into());
        };
        let ballot = BallotId { turn: 0, ballot };
        let Some(action) = results::action_of(db, case.chunk, case.at, self.grader, ballot) else {
            return Err(Unbound::Unanswered.into());
        };
        let name = file.path.rsplit('/').next().unwrap_or(file.path).to_owned();
        let stored = StoredOutcome {
            origin: JudgmentOrigin::Imported(name),
            ..StoredOutcome::new(action.ingredients(), outcome, file.at.to_owned())
        };
        Ok(Entry { key: action.key(), generation: 0, body: stored.to_body() })
    }

    /// What the judge would have given.
    fn outcome(&self, judgment: &Judgment) -> Result<Outcome, String> {
        Ok(match &judgment.value {
            VoteValue::Score(score) => {
                let text = json!({"rationale": judgment.rationale, "score": score}).to_string();
                self.judge.read(&text)?;
                Outcome::Reply(Reply::new(text))
            }
            VoteValue::Failed(written) => {
                let message = "the judgment that was imported has no score";
                let failure = Failure::new(FailureKind::InvalidReply, message);
                Outcome::Failure(Failure { reply: Some(written.clone()), ..failure })
            }
        })
    }

    fn seat(&self, judgment: &Judgment) -> Result<usize, String> {
        let judges = &self.judge.rubric.judges;
        let Some(model) = &judgment.judge else {
            let several = "the grader has several judges; choose one with `--fields judge=PATH`";
            return if judges.len() == 1 { Ok(0) } else { Err(several.to_owned()) };
        };
        let mut named = judges.iter().enumerate().filter(|(_, judge)| judge.model == *model);
        match (named.next(), named.next()) {
            (Some((at, _)), None) => Ok(at),
            (None, _) => Err(format!("the grader has no judge `{}`", clipped(model))),
            (Some(_), Some(_)) => Err(format!("several judges are called `{model}`")),
        }
    }
}

/// Why no judge is called for a case, if so.
fn not_asked(planned: Option<&GradePlan>) -> Option<Unbound> {
    match planned {
        Some(GradePlan::Ask(_) | GradePlan::Votes(_) | GradePlan::Confirmed { .. }) => None,
        Some(GradePlan::Turns(_)) => Some(Unbound::ByTurn),
        Some(GradePlan::Graded(grade)) if grade.is_of_empty_submission() => {
            Some(Unbound::EmptySubmission)
        }
        Some(GradePlan::Graded(grade)) => Some(Unbound::Graded(grade.rationale.to_string())),
        Some(
            GradePlan::Extract(_)
            | GradePlan::Converse(_)
            | GradePlan::Blocked
            | GradePlan::Skipped,
        )
        | None => Some(Unbound::Unanswered),
    }
}
