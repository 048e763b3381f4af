//! What is the same of batches at every provider: their limits, their states, their results.

use serde_json::{Map, Value};

use crate::judge::provider::Request;
use crate::judge::request_url::percent_encoded;

/// How many requests one batch has at most, and how many bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchLimits {
    /// Requests.
    pub requests: usize,
    /// Bytes of all requests.
    pub bytes: usize,
}

/// A batch that is to be made.
#[derive(Clone, Copy, Debug)]
pub struct NewBatch<'a> {
    /// The digest of its intent, 64 hexadecimal digits.
    pub digest: &'a str,
    /// The model of all of its requests.
    pub model: &'a str,
    /// Where each of its requests would go alone.
    pub path: &'a str,
}

/// How requests get to the provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BatchInput {
    /// As a file that is sent in one form to this path.
    Form(&'static str),
    /// As a file that is announced at this path, and sent to the address of the reply.
    Announced(&'static str),
    /// In the request that makes the batch.
    Inline,
}

/// The state of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BatchState {
    /// It has not ended.
    Running,
    /// It has, and this is where its results are.
    Ended {
        /// The paths of files of lines; none where nothing was done.
        results: Vec<String>,
        /// Why it did not end well, if it did not.
        trouble: Option<String>,
    },
}

/// A batch as its provider describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteBatch {
    /// Its name at the provider.
    pub id: String,
    /// The digest of its intent, where the provider keeps one.
    pub digest: Option<String>,
    /// The file of its requests, where there is one.
    pub file: Option<String>,
    /// When it was made: RFC 3339, or seconds since 1970.
    pub created: String,
    /// How many requests it has, as far as that is known.
    pub requests: u64,
    /// How many of them have ended.
    pub ended: u64,
    /// Its state.
    pub state: BatchState,
}

/// What came of one request of a batch.
#[derive(Clone, Debug, PartialEq)]
pub struct BatchResult {
    /// The id that it was sent with.
    pub id: String,
    /// What came of it.
    pub answer: BatchAnswer,
}

/// What came of a request.
#[derive(Clone, Debug, PartialEq)]
pub enum BatchAnswer {
    /// A reply like that to a single request.
    Reply {
        /// Its status.
        status: u16,
        /// Its body.
        body: Value,
    },
    /// It was never answered, and why.
    Unfinished(String),
}

/// The batches of a provider.
pub trait BatchApi: Sync {
    /// The limits of one batch.
    fn limits(&self) -> BatchLimits;

    /// A line of the input: one request and its id.
    fn line(&self, id: &str, request: &Request) -> Value;

    /// How the input gets there.
    fn input(&self) -> BatchInput;

    /// A request that is in the input for its id alone, where nothing else tells whose batch it is.
    fn sentinel(&self, _batch: &NewBatch<'_>) -> Option<Value> {
        None
    }

    /// The request that makes the batch, over the file of the input if there is one.
    fn create(&self, batch: &NewBatch<'_>, file: Option<&str>) -> Request;

    /// The id of a file that was taken.
    fn file_id(&self, body: &Value) -> Option<String>;

    /// The path of the list of batches, after the page that ended with `after`. The newest are first.
    fn list(&self, after: Option<&str>) -> String;

    /// The batches in a page of that list, and how the next one is named.
    fn listed(&self, body: &Value) -> (Vec<RemoteBatch>, Option<String>);

    /// The path of one batch.
    fn place(&self, id: &str) -> String;

    /// The path that cancels it.
    fn cancel(&self, id: &str) -> String;

    /// A batch as the provider describes it.
    fn read(&self, body: &Value) -> Option<RemoteBatch>;

    /// What a line of its results says.
    fn result(&self, line: &Value) -> Option<BatchResult>;
}

/// A name that a server has given, as a part of a path: whatever is in it leads nowhere else, dots alone included.
pub(super) fn segment(name: &str) -> String {
    let encoded = percent_encoded(name);
    if encoded.bytes().all(|byte| byte == b'.') { "-".to_owned() } else { encoded }
}

/// An object as the map that a request has.
pub(super) fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

/// The text of a member; none if it is empty or no text.
pub(super) fn text(body: &Value, pointer: &str) -> Option<String> {
    let text = body.pointer(pointer)?.as_str()?;
    (!text.is_empty()).then(|| text.to_owned())
}

/// A number that may be written as a text.
pub(super) fn number(body: &Value, pointer: &str) -> u64 {
    match body.pointer(pointer) {
        Some(Value::String(text)) => text.parse().unwrap_or(0),
        Some(value) => value.as_u64().unwrap_or(0),
        None => 0,
    }
}
