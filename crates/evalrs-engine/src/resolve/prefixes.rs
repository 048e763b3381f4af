//! Which of the requests that wait begin alike, so that a provider that caches the prefix of one reads it for the others.
//!
//! Told by settings alone: no request is written for it. Requests of the same judge about one case begin alike where rubrics
//! place nothing themselves, and all votes of a judge do.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use super::credentials::{access, judge_of};
use super::queues::PrefixDigest;
use super::waiting::WaitingAction;
use crate::session::Session;
use evalrs_eval::judge::provider;
use evalrs_model::spec::CachingChoice;

/// What the requests of judges begin with, beside the texts of the case.
#[derive(Debug, Default)]
pub(crate) struct KnownPrefixes {
    /// Grader and ballot → the digest of what is the same; none where no other request begins like it.
    known: BTreeMap<(usize, u32), Option<u64>>,
}

impl KnownPrefixes {
    /// What the request of an action begins with. None where no provider caches it, or no other begins like it.
    pub(crate) fn of(
        &mut self,
        session: &Session,
        waiting: &WaitingAction,
    ) -> Option<PrefixDigest> {
        let WaitingAction { cell, ballot, .. } = waiting;
        let of_grader = self
            .known
            .entry((cell.grader, ballot.ballot))
            .or_insert_with(|| prefix(session, waiting));
        let of_grader = (*of_grader)?;
        Some(digest(&(cell.chunk, cell.case, ballot.turn, of_grader)))
    }
}

fn digest(said: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    said.hash(&mut hasher);
    hasher.finish()
}

fn prefix(session: &Session, waiting: &WaitingAction) -> Option<u64> {
    let (judge, at) = judge_of(session, waiting)?;
    let access = access(session, judge, at)?;
    provider::caching(access.spec, access.base_url)?;
    if access.spec.prompt_caching == CachingChoice::Off {
        return None;
    }
    let grader = session.grader(waiting.cell.grader)?;
    let said = judge.shared_prefix(waiting.ballot.ballot)?;
    Some(digest(&format!("{:?} {said}", grader.extractor(&session.db))))
}
