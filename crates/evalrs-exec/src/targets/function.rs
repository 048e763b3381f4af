//! A target that is a function of a Python file or of a module, called in a worker.

use serde_json::Value;

use super::talk::Talk;
use crate::ProgramLaunch;
use evalrs_eval::program::ProgramAction;
use evalrs_eval::target::answer::{NoAnswer, TargetAnswer};
use evalrs_model::outcome::{Failure, FailureKind, Outcome};

/// Holds one conversation.
pub(super) async fn converse(talk: Talk<'_>) -> Result<TargetAnswer, Failure> {
    let identity = std::sync::Arc::clone(&talk.launch.action.identity.program);
    let input = talk.launch.action.input(talk.has_workspace.then_some(talk.folder));
    let action = ProgramAction { identity, input };
    let start = std::sync::Arc::clone(&talk.launch.start);
    match talk.programs.execute(ProgramLaunch { action, start }).await {
        Outcome::Reply(reply) => match serde_json::from_str::<Value>(&reply.text) {
            Ok(value) => TargetAnswer::given_at(value, talk.answer()?.as_ref())
                .map_err(|why| talk.no_answer(why, None)),
            Err(error) => {
                let why = NoAnswer::Unreadable(format!("it is not JSON: {error}"));
                Err(talk.no_answer(why, None))
            }
        },
        Outcome::Failure(failure) => Err(of_target(failure)),
    }
}

/// A failure of a program as one of a target: an exception of today may be none tomorrow, so none is kept.
pub(super) fn of_target(failure: Failure) -> Failure {
    let kind = match failure.kind {
        FailureKind::Exception
        | FailureKind::Exit
        | FailureKind::Killed
        | FailureKind::OutputLimit
        | FailureKind::InvalidReply => FailureKind::TargetFailed,
        kind => kind,
    };
    Failure { kind, ..failure }
}
