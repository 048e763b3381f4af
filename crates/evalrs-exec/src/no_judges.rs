//! The executor of builds without judges: calls fail with that reason.

use super::{ActionFuture, Executor, Launch};
use evalrs_model::outcome::{Failure, FailureKind, Outcome};

/// The executor of judges without the `judge` feature.
#[derive(Debug)]
pub struct NoJudges;

impl Executor for NoJudges {
    fn execute(&self, _launch: Launch) -> ActionFuture<'_> {
        let message = "this evalrs was built without the `judge` feature".to_owned();
        let failure = Failure::new(FailureKind::NotAsked, message);
        Box::pin(std::future::ready(Outcome::Failure(failure)))
    }
}
