//! What a stored entry says: an outcome that stands, or nothing, where it is to be asked anew or cannot be read.

use super::credentials::kind_of;
use super::settings::Settings;
use super::waiting::{RefreshedActions, WaitingAction};
use crate::session::Session;
use evalrs_eval::evaluate::Purpose;
use evalrs_eval::judge::reply as judge_reply;
use evalrs_eval::program::reply as program_reply;
use evalrs_eval::target::answer;
use evalrs_graph::queries;
use evalrs_model::outcome::{Outcome, read_body};
use evalrs_store::Entry;

/// What a command without a suite takes of what is `held` of an action, and the generation that its outcome is kept under if
/// it is executed. What was executed by the same command stands, as does a result of the last generation, which could not be
/// replaced. A stored failure is no reason to fail again where that `may_run`.
pub(crate) fn standing(
    held: Option<Entry>,
    was_executed: bool,
    anew: bool,
    may_run: bool,
) -> (Option<Outcome>, u32) {
    let Some(held) = held else { return (None, 0) };
    let is_last = held.generation == u32::MAX;
    let outcome = read_body(&held.body).ok().filter(|outcome| match outcome {
        Outcome::Reply(_) => was_executed || is_last || !anew,
        Outcome::Failure(_) => was_executed || !may_run,
    });
    (outcome, held.generation.saturating_add(1))
}

/// Reads stored entries as a session with these settings takes them.
pub(crate) struct StoredReader<'a> {
    pub session: &'a Session,
    pub settings: &'a Settings,
    pub refreshed: RefreshedActions,
}

impl StoredReader<'_> {
    /// The outcome of an entry that `waiting` waits for, unless it is to be asked anew.
    pub(crate) fn usable(
        &self,
        entry: &Entry,
        waiting: &WaitingAction,
        warnings: &mut Vec<String>,
    ) -> Option<Outcome> {
        let may_ask = self.settings.ask.may_ask(kind_of(self.session, waiting));
        let retry_errors = self.settings.retry_errors;
        let is_refreshed = may_ask && self.refreshed.has(waiting);
        if is_refreshed && entry.generation < u32::MAX {
            return None;
        }
        let key = entry.key;
        match self.read(entry, waiting) {
            // A failure of the last generation gives way to a reply.
            Ok(Outcome::Failure(_)) if (retry_errors || is_refreshed) && may_ask => None,
            Ok(outcome) => {
                if is_refreshed {
                    warnings.push(format!("the stored outcome of {key} cannot be refreshed: it has the last generation there is; remove its line"));
                }
                Some(outcome)
            }
            Err(error) => {
                warnings.push(format!(
                    "the stored outcome of {key} cannot be read and is asked again: {error}"
                ));
                None
            }
        }
    }

    /// What an entry holds. A reply that is no verdict is the failure that it would be if it came now.
    pub(crate) fn read(
        &self,
        entry: &Entry,
        waiting: &WaitingAction,
    ) -> Result<Outcome, serde_json::Error> {
        Ok(read_body(&entry.body)?.checked(|text| self.check(text, waiting)))
    }

    fn check(&self, text: &str, waiting: &WaitingAction) -> Result<(), String> {
        match waiting.purpose {
            Purpose::Submission => return program_reply::submission(text).map(drop),
            Purpose::Answer => return answer::check(text),
            Purpose::Grade => {}
        }
        let Some(grader) = self.session.grader(waiting.cell.grader) else { return Ok(()) };
        let ready = queries::ready(&self.session.db, grader);
        match (ready.judge(), ready.program()) {
            (Some(judge), _) => judge_reply::read(text, judge.question()).map(drop),
            (None, Some(identity)) => program_reply::check(&identity.spec, text),
            (None, None) => Ok(()),
        }
    }
}
