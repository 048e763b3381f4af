//! Stops the asking of an endpoint that fails in the same way again and again. Pure.
//!
//! Only what ended an action counts, not the attempts on the way, and only what says nothing of the sample: a
//! wrong key or an unknown model fails a thousand samples alike, and nobody should wait or pay for each. So the
//! votes on one prompt count once, a prompt that is too long counts like an answer, and any other bad request counts only
//! while the endpoint has answered nothing: after an answer, model and settings are known to be right.
//!
//! Failures land in any order, so which samples were asked before an endpoint was closed may differ from run to run, and
//! so may the report. Where nothing is closed it does not.

use std::collections::BTreeSet;
use std::sync::Arc;

use xxhash_rust::xxh3::xxh3_64;

use crate::outcome::{Failure, FailureKind};

/// Counts failures that are alike, in a row.
#[derive(Debug)]
pub struct Breaker {
    /// So many close the endpoint; 0 never does.
    most: u32,
    last: Option<(FailureKind, String)>,
    /// The digests of the prompts that failed in a row.
    prompts: BTreeSet<u64>,
    has_answered: bool,
    reason: Option<Arc<str>>,
}

impl Breaker {
    /// A breaker that closes after `most` failures that are alike; 0 never does.
    pub fn new(most: u32) -> Self {
        Self { most, last: None, prompts: BTreeSet::new(), has_answered: false, reason: None }
    }

    /// From now on so many close the endpoint.
    pub fn set(&mut self, most: u32) {
        self.most = most;
    }

    /// An action ended with an answer, or with a failure that is the sample's own.
    pub fn answered(&mut self) {
        self.has_answered = true;
        self.last = None;
        self.prompts.clear();
    }

    /// An action that asked `prompt` ended with this failure.
    pub fn failed(&mut self, failure: &Failure, prompt: &str) {
        let is_bad = failure.kind == FailureKind::BadRequest;
        let is_of_sample = is_bad && (self.has_answered || is_too_long(&failure.message));
        if !counts(failure.kind) || is_of_sample {
            return self.answered();
        }
        let shape = (failure.kind, shape(&failure.message));
        if self.last.as_ref() != Some(&shape) {
            self.last = Some(shape);
            self.prompts.clear();
        }
        self.prompts.insert(xxh3_64(prompt.as_bytes()));
        let count = self.prompts.len();
        let is_enough = self.most > 0 && count >= self.most as usize;
        if is_enough && self.reason.is_none() {
            let message = &failure.message;
            self.reason = Some(format!("failed {count} times in the same way: {message}").into());
        }
    }

    /// Why the endpoint is closed, if it is. Once closed it stays so.
    pub fn reason(&self) -> Option<&Arc<str>> {
        self.reason.as_ref()
    }
}

/// Whether a failure may be the endpoint's rather than the sample's.
fn counts(kind: FailureKind) -> bool {
    match kind {
        FailureKind::Timeout
        | FailureKind::Connection
        | FailureKind::RateLimited
        | FailureKind::Unauthorized
        | FailureKind::NoCredit
        | FailureKind::NotFound
        | FailureKind::Server
        | FailureKind::Deadline
        | FailureKind::BadRequest => true,
        FailureKind::InvalidReply
        | FailureKind::Refused
        | FailureKind::Filtered
        | FailureKind::Truncated
        | FailureKind::EmptyReply
        | FailureKind::Exception
        | FailureKind::Exit
        | FailureKind::Killed
        | FailureKind::Unloadable
        | FailureKind::OutputLimit
        | FailureKind::NotStored
        | FailureKind::NotAsked => false,
    }
}

/// Whether the message of a bad request says that the prompt is too long: with status 413, or in the words of one of
/// the servers that say it with 400.
fn is_too_long(message: &str) -> bool {
    const WORDS: [&str; 12] = [
        "answered 413",
        "context_length_exceeded",
        "exceed_context_size",
        "available context size",
        "context length",
        "context window",
        "maximum context",
        "prompt is too long",
        "input is too long",
        "too many tokens",
        "input token count",
        "reduce the length",
    ];
    let message = message.to_ascii_lowercase();
    WORDS.iter().any(|word| message.contains(word))
}

/// The message with every word that holds a digit replaced: numbers and the names of requests differ from
/// failure to failure.
fn shape(message: &str) -> String {
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    let mut shape = String::with_capacity(message.len());
    let mut rest = message;
    while let Some(first) = rest.chars().next() {
        let end = rest.find(|c| is_word(c) != is_word(first)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        shape.push_str(if word.contains(|c: char| c.is_ascii_digit()) { "0" } else { word });
        rest = after;
    }
    shape
}

#[cfg(test)]
mod tests {
    use super::{Breaker, is_too_long, shape};
    use crate::outcome::Failure;
    use crate::outcome::FailureKind::{self, BadRequest, Refused, Server, Timeout};

    fn failure(kind: FailureKind, message: &str) -> Failure {
        Failure::new(kind, message)
    }

    /// The number of the event, from 1, that closes a breaker of 3. Each is of another prompt.
    fn closed_by(events: &[Option<(FailureKind, &str)>]) -> Option<usize> {
        let mut breaker = Breaker::new(3);
        let mut closed = None;
        for (event, number) in events.iter().zip(1..) {
            match event {
                Some((kind, message)) => {
                    breaker.failed(&failure(*kind, message), &number.to_string());
                }
                None => breaker.answered(),
            }
            if breaker.reason().is_some() {
                closed = closed.or(Some(number));
            }
        }
        closed
    }

    #[test]
    fn failures_that_are_alike_close_in_a_row() {
        let (server, other) = (Some((Server, "the judge answered 500: boom")), (Server, "gone"));
        let (refused, bad) = (Some((Refused, "no")), Some((BadRequest, "too long: 90 tokens")));
        for (events, expected) in [
            (&[server, server, server][..], Some(3)),
            (&[server, server], None),
            (&[server, server, None, server, server], None),
            (&[None, server, server, server], Some(4)),
            (&[server, server, Some(other), server, server, server], Some(6)),
            (&[server, server, Some((Timeout, "the judge answered 500: boom")), server], None),
            (&[server, server, refused, server, server], None),
            (&[refused, refused, refused], None),
            (&[Some((BadRequest, "no a")), Some((BadRequest, "no b")), server], None),
            (&[bad, bad, bad], Some(3)),
            (&[None, bad, bad, bad, bad], None),
            (&[refused, bad, bad, bad], None),
            (
                &[
                    Some((Timeout, "no answer within 1 s")),
                    Some((Timeout, "no answer within 2.5 s")),
                    Some((Timeout, "no answer within 30 s")),
                    None,
                ],
                Some(3),
            ),
        ] {
            assert_eq!(closed_by(events), expected, "{events:?}");
        }
    }

    #[test]
    fn prompts_that_are_too_long_never_close() {
        for (message, expected) in [
            ("the judge answered 413: Payload Too Large", true),
            ("the judge answered 400: {\"code\":\"context_length_exceeded\"}", true),
            ("the judge answered 400: This model's maximum context length is 8192 tokens.", true),
            ("the judge answered 400: exceed_context_size_error", true),
            (
                "the judge answered 400: the request exceeds the available context size. try more",
                true,
            ),
            (
                "the judge answered 400: request (9 tokens) exceeds the available context size \
                 (8 tokens)",
                true,
            ),
            ("the judge answered 400: prompt is too long: 210000 tokens > 200000 maximum", true),
            ("the judge answered 400: The input token count (9) exceeds the maximum", true),
            ("the judge answered 400: Too many tokens", true),
            ("the judge answered 400: Unsupported value: 'temperature'", false),
            ("the judge answered 400: max_tokens is too large", false),
            ("the judge answered 404: no such model", false),
            ("the judge answered 422: extra fields not permitted", false),
        ] {
            assert_eq!(is_too_long(message), expected, "{message}");
            let closed = closed_by(&[Some((BadRequest, message)); 3]);
            assert_eq!(closed, (!expected).then_some(3), "{message}");
        }
        let wrong = "the judge answered 401: this key is for a smaller context window";
        assert_eq!(closed_by(&[Some((FailureKind::Unauthorized, wrong)); 3]), Some(3));
    }

    #[test]
    fn the_votes_on_one_prompt_count_once() {
        let mut breaker = Breaker::new(3);
        for prompt in ["a", "a", "a", "b", "a", "b"] {
            breaker.failed(&failure(Server, "boom"), prompt);
        }
        assert_eq!(breaker.reason(), None);
        breaker.failed(&failure(Server, "boom"), "c");
        assert!(breaker.reason().is_some());
    }

    #[test]
    fn the_reason_tells_the_number_and_the_last_message() {
        let mut breaker = Breaker::new(2);
        for number in 1..4 {
            breaker
                .failed(&failure(Server, &format!("request {number} broke")), &number.to_string());
        }
        let reason = breaker.reason().map(|reason| &**reason);
        assert_eq!(reason, Some("failed 2 times in the same way: request 2 broke"));
    }

    #[test]
    fn zero_never_closes() {
        let mut breaker = Breaker::new(0);
        (0..100).for_each(|at| breaker.failed(&failure(Server, "boom"), &at.to_string()));
        assert_eq!(breaker.reason(), None);
    }

    #[test]
    fn what_differs_from_request_to_request_is_left_out_of_the_shape() {
        for (message, expected) in [
            ("no answer within 1.5 s", "no answer within 0 s"),
            ("answered 429: try in 20ms (req_8f-3a)", "answered 0: try in 0 (0)"),
            ("no such model", "no such model"),
            ("é9ö, ü", "0, ü"),
            ("", ""),
        ] {
            assert_eq!(shape(message), expected);
        }
    }
}
