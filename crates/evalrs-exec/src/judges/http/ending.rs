//! How a reply ended: with a text that may hold a verdict, with a failure, or cut, which is retried.

use crate::JudgeLaunch;
use crate::judges::errors;
use evalrs_eval::judge::provider::{self, Answer, ReplyEnding};
use evalrs_model::outcome::{Failure, FailureKind, Outcome};

/// The text that should hold a verdict, or why there is none.
pub(super) fn verdict_text(answer: &Answer) -> Result<&str, Failure> {
    let text = answer.text.as_deref().unwrap_or_default();
    let failure = match &answer.ending {
        ReplyEnding::Refused(said) => {
            let message = format!("the judge refused{}", errors::because(said));
            Failure::new(FailureKind::Refused, message)
        }
        ReplyEnding::Filtered(said) => {
            let message = format!("a content filter stopped the reply{}", errors::because(said));
            Failure::new(FailureKind::Filtered, message)
        }
        ReplyEnding::Truncated => Failure::new(
            FailureKind::Truncated,
            "the reply ended at its token limit; raise `max_tokens`, which asks every row of this \
             judge again",
        ),
        ReplyEnding::Broken(reason) => {
            let message = format!("the model stopped without a reply: {reason}");
            Failure::new(FailureKind::Server, message)
        }
        ReplyEnding::Complete if text.trim().is_empty() => {
            Failure::new(FailureKind::EmptyReply, "the judge replied nothing")
        }
        ReplyEnding::Complete => return Ok(text),
    };
    Err(Failure { reply: answer.text.clone(), ..failure })
}

/// The same launch with twice as many tokens, and how many those are, if its reply was cut.
pub(super) fn wider(launch: &JudgeLaunch, outcome: &Outcome) -> Option<(u32, JudgeLaunch)> {
    let Outcome::Failure(Failure { kind: FailureKind::Truncated, .. }) = outcome else {
        return None;
    };
    let default = provider::info(&launch.action.provider).and_then(|info| info.max_tokens);
    let most = launch.action.max_tokens.or(default)?.saturating_mul(2);
    let mut wider = launch.clone();
    wider.action.max_tokens = Some(most);
    wider.is_wider = true;
    Some((most, wider))
}
