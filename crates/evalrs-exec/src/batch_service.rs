//! What the engine needs from an executor to have requests answered as batches, at half the price and hours later.
//!
//! Making a batch cannot be repeated safely. So an error says whether there may be one all the same.

use std::future::Future;
use std::pin::Pin;

use super::launch::JudgeLaunch;
use super::secret::{RequestHeader, Secret};
use evalrs_eval::judge::provider::batches::{BatchAnswer, BatchResult, NewBatch, RemoteBatch};
use evalrs_model::key::ActionKey;
use evalrs_model::outcome::{JudgeExchange, Outcome};

/// How the batches of a provider are reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BatchAccess {
    /// The provider.
    pub provider: String,
    /// Where its API is.
    pub base_url: String,
    /// The key of the API; none sends no authorization.
    pub api_key: Option<Secret>,
    /// Further headers.
    pub headers: Vec<RequestHeader>,
}

/// Why a request about a batch failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct BatchError {
    /// A sentence.
    pub message: String,
    /// Whether what was requested may have been done.
    pub may_be_done: bool,
}

/// What a provider said of a batch, some time later.
pub type BatchFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, BatchError>> + 'a>>;

/// One request of a batch.
#[derive(Clone, Debug)]
pub struct BatchLine {
    /// The request with its id, a line of JSON with its end.
    pub text: Vec<u8>,
    /// Where it would go alone.
    pub path: String,
    /// What it leaves out or says beyond what its key says.
    pub exchange: Option<Box<JudgeExchange>>,
}

/// The results of a batch, one after the other.
pub trait BatchResults {
    /// The next one; none at the end.
    fn next(&mut self) -> BatchFuture<'_, Option<BatchResult>>;
}

/// What has requests answered as batches.
pub trait BatchService {
    /// The request of an action as a line of a batch; none where its provider has no batches.
    fn line(&self, launch: &JudgeLaunch, key: ActionKey) -> Option<BatchLine>;

    /// Sends the requests as a file called `name`; none where they go with the request that makes the batch.
    fn upload<'a>(
        &'a self,
        access: &'a BatchAccess,
        name: &'a str,
        lines: &'a [u8],
    ) -> BatchFuture<'a, Option<String>>;

    /// Makes a batch of a file, or of the requests themselves.
    fn create<'a>(
        &'a self,
        access: &'a BatchAccess,
        batch: NewBatch<'a>,
        file: Option<&'a str>,
        lines: &'a [u8],
    ) -> BatchFuture<'a, RemoteBatch>;

    /// The batches at the provider, the newest first, until `is_enough` of one page.
    fn list<'a>(
        &'a self,
        access: &'a BatchAccess,
        is_enough: &'a dyn Fn(&[RemoteBatch]) -> bool,
    ) -> BatchFuture<'a, Vec<RemoteBatch>>;

    /// One batch as it is now.
    fn look<'a>(&'a self, access: &'a BatchAccess, id: &'a str) -> BatchFuture<'a, RemoteBatch>;

    /// Cancels a batch. What is done by then is not lost.
    fn cancel<'a>(&'a self, access: &'a BatchAccess, id: &'a str) -> BatchFuture<'a, ()>;

    /// Opens a file of results.
    fn results<'a>(
        &'a self,
        access: &'a BatchAccess,
        path: &'a str,
    ) -> BatchFuture<'a, Box<dyn BatchResults + 'a>>;

    /// What a result is for the action that it answers; `exchange` is what the line said. What is to be sent again is a failure
    /// that is not kept.
    fn outcome(
        &self,
        launch: &JudgeLaunch,
        exchange: Option<&JudgeExchange>,
        answer: BatchAnswer,
    ) -> Outcome;

    /// What a result is for an action that nobody knows any more, if it is a reply.
    fn outcome_alone(
        &self,
        provider: &str,
        exchange: Option<&JudgeExchange>,
        answer: BatchAnswer,
    ) -> Option<Outcome>;
}
