//! Which cached outcomes are repeated.

use std::sync::Arc;

use super::settings::{Refresh, Settings};
use super::waiting::WaitingAction;
use crate::session::Session;
use evalrs_eval::evaluate::Purpose;
use evalrs_graph::planned_actions::actions_of_grader;
use evalrs_model::key::KeySet;

/// The actions whose cached outcomes are repeated: all that a refreshed grader depends on, whichever grader needs
/// them first.
#[derive(Debug)]
pub(crate) struct RefreshedActions {
    /// Those of graders; none means every one.
    of_graders: Option<Arc<KeySet>>,
    /// Whether conversations of the target are among them.
    of_target: bool,
}

impl RefreshedActions {
    pub(crate) fn of(session: &Session, settings: &Settings) -> Self {
        let db = &session.db;
        let refresh = &settings.refresh;
        let of_graders = match refresh {
            Refresh::All => None,
            Refresh::Only(keys) => Some(Arc::clone(keys)),
            Refresh::None | Refresh::Graders(_) => {
                let graders = session.graders().iter().enumerate();
                let covered = graders.filter(|(_, grader)| refresh.covers(grader.name(db)));
                let actions = covered.flat_map(|(at, _)| actions_of_grader(db, session.root, at));
                Some(Arc::new(actions.map(|action| action.key).collect()))
            }
        };
        Self { of_graders, of_target: settings.refresh_target }
    }

    pub(crate) fn has(&self, waiting: &WaitingAction) -> bool {
        match waiting.purpose {
            Purpose::Answer => self.of_target,
            Purpose::Grade | Purpose::Submission => {
                self.of_graders.as_ref().is_none_or(|keys| keys.contains(&waiting.key))
            }
        }
    }
}
