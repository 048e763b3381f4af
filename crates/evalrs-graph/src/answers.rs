//! What live targets answered: the conversations of a chunk's cases, and what is known of them.
//!
//! An answer is an outcome; so the record of a case, which everything else reads, rests on one. What changes of that when
//! outcomes arrive is told by [`answers`], which says no more of an answer than its digest: a judgment that arrives plans
//! nothing again.

use std::sync::Arc;

use super::Db;
use super::cases::{cases, checked, occurrences, record_of};
use super::graders::{identity, model_base_url, row_spec, suite};
use super::inputs::{Chunk, Root};
use super::selection::named;
use evalrs_eval::action::Action;
use evalrs_eval::dataset::fields::RowSpec;
use evalrs_eval::dataset::row::RowId;
use evalrs_eval::evaluate::UnansweredCase;
use evalrs_eval::evaluate::conversation::conversation;
use evalrs_eval::grade::ConversationCost;
use evalrs_eval::target::{TargetAction, TargetIdentity};
use evalrs_model::key::ActionKey;
use evalrs_model::outcome::Outcome;

/// The target as far as keys know it; none where it is recorded, or its program is not read yet. An error says why it
/// cannot be run.
#[salsa::tracked]
pub fn target(db: &dyn Db, root: Root) -> Result<Option<Arc<TargetIdentity>>, String> {
    let suite = suite(db, root).suite.as_ref();
    let Some(live) = suite.and_then(|suite| suite.target.live()) else { return Ok(None) };
    let Some(program) = identity(db, &live.program)? else { return Ok(None) };
    let mut setup = None;
    if let Some(script) = &live.hooks.script {
        setup = identity(db, script)?;
        if setup.is_none() {
            return Ok(None);
        }
    }
    let base_url = |provider: &str| model_base_url(db, root, provider);
    Ok(Some(Arc::new(TargetIdentity::new(live.clone(), program, setup, &base_url))))
}

/// Whether the target is run, rather than recorded.
pub fn is_live(db: &dyn Db, root: Root) -> bool {
    row_spec(db, root).as_ref().is_some_and(|spec| spec.live.is_some())
}

/// Whether the target is run in every evaluation, and nothing it answers is replayed.
pub fn is_repeated(db: &dyn Db, root: Root) -> bool {
    let live = suite(db, root).suite.as_ref().and_then(|suite| suite.target.live());
    live.is_some_and(|live| live.program.repeat == evalrs_model::spec::Repeat::Always)
}

/// The key of the conversation of each case of a chunk, or why there cannot be one; nothing where the target is recorded.
#[salsa::tracked]
fn conversations(db: &dyn Db, chunk: Chunk) -> Arc<[UnansweredCase]> {
    let root = chunk.root(db);
    let Some(spec) = row_spec(db, root).as_ref().filter(|spec| spec.live.is_some()) else {
        return Arc::default();
    };
    let identity = match target(db, root) {
        Ok(Some(identity)) => identity,
        Ok(None) => {
            return cases(chunk.records(db), spec).map(|_| UnansweredCase::Blocked).collect();
        }
        Err(why) => {
            let failed = UnansweredCase::failed("target", why);
            return cases(chunk.records(db), spec).map(|_| failed.clone()).collect();
        }
    };
    let id = |case: usize| {
        let who = checked(db, chunk).whos.get(case)?;
        let occurrence = occurrences(db, chunk).get(case)?;
        Some(named(who.id(), *occurrence))
    };
    let cases = cases(chunk.records(db), spec).enumerate();
    let keys = cases.map(|(case, (_, record))| {
        let in_key = if identity.has_ids_in_keys() { id(case) } else { None };
        match conversation(record, spec, identity, in_key.unwrap_or_default()) {
            Ok(action) => UnansweredCase::Pending(Action::Target(action).key()),
            Err(problem) => UnansweredCase::failed("data", &problem.message),
        }
    });
    keys.collect()
}

/// What is known of the conversation of a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CaseAnswer {
    /// There is none yet.
    Unanswered(UnansweredCase),
    /// It is there.
    Answered {
        /// The key of the conversation.
        key: ActionKey,
        /// The digest of the answer.
        digest: u64,
    },
}

/// What is known of the conversation of each case of a chunk; nothing where the target is recorded.
#[salsa::tracked]
pub fn answers(db: &dyn Db, chunk: Chunk) -> Arc<[CaseAnswer]> {
    let conversations = conversations(db, chunk);
    if conversations.is_empty() {
        return Arc::default();
    }
    // Reading the epoch is what makes the query run again when outcomes arrive.
    let _ = chunk.epoch(db);
    let known = conversations.iter().map(|case| {
        let UnansweredCase::Pending(key) = case else {
            return CaseAnswer::Unanswered(case.clone());
        };
        if let Some(digest) = db.reply_digest(*key) {
            return CaseAnswer::Answered { key: *key, digest };
        }
        CaseAnswer::Unanswered(match db.outcome(*key).as_deref() {
            Some(Outcome::Failure(failure)) => UnansweredCase::of_failure(failure),
            Some(Outcome::Reply(_)) | None => case.clone(),
        })
    });
    known.collect()
}

/// A case of a target that is run, by its place in a chunk. It stays, as chunks do: what is known of cases that nobody has
/// looked at for a while is not forgotten, because to know it again their answers would be read again.
#[salsa::interned(revisions = usize::MAX)]
pub(crate) struct ChunkCase<'db> {
    #[returns(copy)]
    pub chunk: Chunk,
    #[returns(copy)]
    pub case: usize,
}

/// What is known of the conversation of one case: what rests on this is not made again when another case is answered.
#[salsa::tracked]
fn answer<'db>(db: &'db dyn Db, case: ChunkCase<'db>) -> Option<CaseAnswer> {
    answers(db, case.chunk(db)).get(case.case(db)).cloned()
}

/// What is known of the conversation of a case whose target is run.
pub(crate) fn answer_of(db: &dyn Db, chunk: Chunk, case: usize) -> Option<&CaseAnswer> {
    answer(db, ChunkCase::new(db, chunk, case)).as_ref()
}

/// The key of the conversation of a case; none where the target is recorded, or cannot be run.
pub fn conversation_key(db: &dyn Db, chunk: Chunk, case: usize) -> Option<ActionKey> {
    match conversations(db, chunk).get(case)? {
        UnansweredCase::Pending(key) => Some(*key),
        UnansweredCase::Blocked | UnansweredCase::Failed(_) => None,
    }
}

/// Whether a case waits for its target, or its target failed: then that is the action of all its graders.
pub(crate) fn is_unanswered(db: &dyn Db, chunk: Chunk, case: usize) -> bool {
    let is_live = is_live(db, chunk.root(db));
    is_live && matches!(answer_of(db, chunk, case), Some(CaseAnswer::Unanswered(_)))
}

/// The key of the conversation of each case of a chunk; nothing where the target is recorded.
pub fn conversation_keys(db: &dyn Db, chunk: Chunk) -> Vec<Option<ActionKey>> {
    let cases = 0..conversations(db, chunk).len();
    cases.map(|case| conversation_key(db, chunk, case)).collect()
}

/// Renders the conversation of a case again, to run it; `sample` is the id that the target gets.
pub fn conversation_of(
    db: &dyn Db,
    chunk: Chunk,
    case: usize,
    sample: String,
) -> Option<TargetAction> {
    let root = chunk.root(db);
    let spec = row_spec(db, root).as_ref()?;
    let identity = target(db, root).as_ref().ok()?.as_ref()?;
    conversation(record_of(db, chunk, case)?, spec, identity, sample).ok()
}

/// What the conversation of a case cost by the prices in force, or why that is not known; none where there is none yet.
pub(crate) fn conversation_cost(
    db: &dyn Db,
    chunk: Chunk,
    case: usize,
) -> Option<ConversationCost> {
    let outcome = db.outcome(conversation_key(db, chunk, case)?)?;
    // Which sample it is of decides no price.
    let action = conversation_of(db, chunk, case, String::new())?;
    Some(action.cost_or_why(&outcome, chunk.root(db).prices(db)))
}

/// Who a case is, for people: its sample, and its model and trial where there are several.
pub fn case_name(spec: &RowSpec, identity: &RowId, sample: &str) -> String {
    let Some(live) = spec.live.as_deref() else { return sample.to_owned() };
    let model = identity.model.as_deref().filter(|_| live.models.len() > 1);
    let trial = (live.trials > 1).then(|| format!("trial {}", identity.trial));
    let parts = [Some(sample.to_owned()), model.map(str::to_owned), trial];
    parts.into_iter().flatten().collect::<Vec<String>>().join(", ")
}
