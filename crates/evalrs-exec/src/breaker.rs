//! Stops the asking of an endpoint, or of one model of it, that fails in the same way again and again. Pure.
//!
//! Only what ended an action counts, not the attempts on the way. An endpoint is closed by what says nothing of the sample:
//! a wrong key or an unknown model fails a thousand samples alike, and nobody should wait or pay for each. So the
//! votes on one prompt count once, a prompt that is too long counts like an answer, and any other bad request, or an
//! agent that fails, counts only while nothing was answered: after an answer, model and settings are known to be right.
//!
//! A model is closed by replies that hold no verdict: each of them is paid for, and a model that does not understand what is
//! asked of it never will. That a reply has another text makes no difference, only that its fault is another one. A
//! verdict begins the count anew; what the model refuses to judge has no part in it.
//!
//! Failures land in any order, so which samples were asked before an endpoint was closed may differ from run to run, and
//! so may the report. Where nothing is closed it does not.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use xxhash_rust::xxh3::xxh3_64;

use evalrs_eval::judge::provider;
use evalrs_model::outcome::{Failure, FailureKind, Trips};

/// Counts failures that are alike, in a row.
#[derive(Debug, Default)]
pub(crate) struct Breaker {
    /// This many close the endpoint or a model; 0 never does.
    most: u32,
    endpoint: Streak,
    has_answered: bool,
    models: BTreeMap<String, Streak>,
}

/// Failures in a row that are alike, and whether they were enough.
#[derive(Debug, Default)]
struct Streak {
    last: Option<(FailureKind, String)>,
    /// The digests of the prompts that failed in a row.
    prompts: BTreeSet<u64>,
    reason: Option<Arc<str>>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct EndedAction<'a> {
    pub model: &'a str,
    pub prompt: &'a str,
    /// Why there is no verdict, if so.
    pub failure: Option<&'a Failure>,
}

impl Breaker {
    /// A breaker that closes after `most` failures that are alike; 0 never does.
    pub(crate) fn new(most: u32) -> Self {
        Self { most, endpoint: Streak::default(), has_answered: false, models: BTreeMap::new() }
    }

    /// Forgets what has failed: what was closed is open again.
    pub(crate) fn reset(&mut self) {
        *self = Self::new(self.most);
    }

    #[cfg(any(test, feature = "judge"))]
    pub(crate) fn set(&mut self, most: u32) {
        self.most = most;
    }

    /// An action ended: with a verdict, or with a failure that will not be retried.
    pub(crate) fn ended(&mut self, ended: EndedAction<'_>) {
        let model = self.models.entry(ended.model.to_owned()).or_default();
        let Some(failure) = ended.failure else {
            model.end();
            return self.answered();
        };
        let trips = failure.kind.policy().trips;
        if trips == Trips::Model {
            let shape = fault(&failure.message);
            if let Some(count) = model.add(failure.kind, shape, ended.prompt, self.most) {
                let told = failure.told();
                model.reason =
                    Some(format!("gave no verdict {count} times in a row: {told}").into());
            }
        }
        let may_be_of_sample =
            matches!(failure.kind, FailureKind::BadRequest | FailureKind::TargetFailed);
        let is_of_sample = may_be_of_sample && (self.has_answered || is_too_long(&failure.message));
        if trips != Trips::Endpoint || is_of_sample {
            return self.answered();
        }
        let shape = shape(&failure.message);
        if let Some(count) = self.endpoint.add(failure.kind, shape, ended.prompt, self.most) {
            let message = &failure.message;
            let reason = format!("failed {count} times in the same way: {message}");
            self.endpoint.reason = Some(reason.into());
        }
    }

    /// Why the endpoint is closed, if it is. Once closed it stays so.
    pub(crate) fn reason(&self) -> Option<&Arc<str>> {
        self.endpoint.reason.as_ref()
    }

    /// Why this model is closed, if it is. Once closed it stays so.
    #[cfg(any(test, feature = "judge"))]
    pub(crate) fn reason_of_model(&self, model: &str) -> Option<&Arc<str>> {
        self.models.get(model)?.reason.as_ref()
    }

    /// The endpoint answered, be it with a failure that is the sample's own.
    fn answered(&mut self) {
        self.has_answered = true;
        self.endpoint.end();
    }
}

impl Streak {
    /// Something else came in between.
    fn end(&mut self) {
        self.last = None;
        self.prompts.clear();
    }

    /// Adds a failure. Gives the number of those that are alike if it is enough for the first time.
    fn add(&mut self, kind: FailureKind, shape: String, prompt: &str, most: u32) -> Option<usize> {
        let shape = (kind, shape);
        if self.last.as_ref() != Some(&shape) {
            self.last = Some(shape);
            self.prompts.clear();
        }
        self.prompts.insert(xxh3_64(prompt.as_bytes()));
        let count = self.prompts.len();
        let is_enough = most > 0 && count >= most as usize;
        (is_enough && self.reason.is_none()).then_some(count)
    }
}

/// The fault of a reply, without its text: the quoted part, and where its JSON ends.
fn fault(message: &str) -> String {
    let outside = message.split('"').step_by(2).collect::<String>();
    let (fault, _) = outside.split_once("JSON object: ").unwrap_or((&outside, ""));
    shape(fault)
}

/// Whether the message of a bad request says that the prompt is too long: with status 413, or in the words of one of
/// the servers that say it with 400.
fn is_too_long(message: &str) -> bool {
    message.contains("answered 413") || provider::is_context_overflow(message)
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
    use super::{Breaker, EndedAction, is_too_long, shape};
    use evalrs_model::outcome::Failure;
    use evalrs_model::outcome::FailureKind;
    use evalrs_model::outcome::FailureKind::{
        BadRequest, EmptyReply, InvalidReply, Refused, Server, TargetFailed, Timeout,
    };

    fn failure(kind: FailureKind, message: &str) -> Failure {
        Failure::new(kind, message)
    }

    fn fail(breaker: &mut Breaker, failure: &Failure, prompt: &str) {
        breaker.ended(EndedAction { model: "a", prompt, failure: Some(failure) });
    }

    /// The number of the event, from 1, that closes a breaker of 3, and the one that closes the model `a`. Each is of
    /// another prompt.
    fn both_closed_by(events: &[Option<(FailureKind, &str)>]) -> [Option<usize>; 2] {
        let mut breaker = Breaker::new(3);
        let mut closed = None;
        let mut model_closed = None;
        for (event, number) in events.iter().zip(1..) {
            let failure = event.map(|(kind, message)| failure(kind, message));
            let prompt = number.to_string();
            breaker.ended(EndedAction { model: "a", prompt: &prompt, failure: failure.as_ref() });
            closed = closed.or(breaker.reason().map(|_| number));
            model_closed = model_closed.or(breaker.reason_of_model("a").map(|_| number));
        }
        [closed, model_closed]
    }

    fn closed_by(events: &[Option<(FailureKind, &str)>]) -> Option<usize> {
        both_closed_by(events)[0]
    }

    #[test]
    fn a_model_that_gives_no_verdict_is_closed_and_not_its_endpoint() {
        let prose =
            Some((InvalidReply, "asked 3 times: the reply is not a JSON object: expected value"));
        let cut =
            Some((InvalidReply, "asked 3 times: the reply is not a JSON object: it ends early"));
        let ten = Some((InvalidReply, "asked 3 times: `score` is 10, outside 0 to 1"));
        let eight = Some((InvalidReply, "asked 3 times: `score` is 8.5, outside 0 to 1"));
        let high = Some((InvalidReply, "asked 3 times: `score` is \"high\", not a number"));
        let low = Some((InvalidReply, "asked 3 times: `score` is \"low one\", not a number"));
        let empty = Some((EmptyReply, "the judge replied nothing"));
        let refused = Some((Refused, "no"));
        let server = Some((Server, "boom"));
        for (events, expected) in [
            (&[prose, prose, prose][..], Some(3)),
            (&[prose, cut, prose], Some(3)),
            (&[ten, eight, ten], Some(3)),
            (&[high, low, high], Some(3)),
            (&[high, ten, high, ten], None),
            (&[prose, prose, None, prose, prose], None),
            (&[None, prose, prose, prose], Some(4)),
            (&[prose, prose, empty, prose, prose], None),
            (&[empty, empty, empty], Some(3)),
            (&[prose, refused, server, prose, refused, prose], Some(6)),
            (&[refused, refused, refused], None),
        ] {
            assert_eq!(both_closed_by(events), [None, expected], "{events:?}");
        }
        let mut breaker = Breaker::new(2);
        let reply = Some("Score:\n8/10, nice. ".to_owned() + &"x".repeat(200));
        let failure =
            Failure { reply, ..failure(InvalidReply, "the reply is not a JSON object: so") };
        for (model, prompt) in [("a", "1"), ("b", "1"), ("a", "1"), ("a", "2")] {
            assert_eq!(breaker.reason_of_model("a"), None);
            breaker.ended(EndedAction { model, prompt, failure: Some(&failure) });
        }
        let reason = breaker.reason_of_model("a").map(|reason| &**reason).unwrap_or_default();
        let said = "gave no verdict 2 times in a row: the reply is not a JSON object: so; \
                    it replied \"Score: 8/10, nice. xxx";
        assert!(reason.starts_with(said) && reason.ends_with("x…\""), "{reason}");
        assert_eq!((breaker.reason_of_model("b"), breaker.reason()), (None, None));
    }

    #[test]
    fn failures_that_are_alike_close_in_a_row() {
        let server = Some((Server, "the judge answered 500: boom"));
        let other = (Server, "gone");
        let refused = Some((Refused, "no"));
        let bad = Some((BadRequest, "too long: 90 tokens"));
        let failed = Some((TargetFailed, "the target exited with code 1"));
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
            (&[failed, failed, failed], Some(3)),
            (&[None, failed, failed, failed], None),
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
            fail(&mut breaker, &failure(Server, "boom"), prompt);
        }
        assert_eq!(breaker.reason(), None);
        fail(&mut breaker, &failure(Server, "boom"), "c");
        assert!(breaker.reason().is_some());
    }

    #[test]
    fn the_reason_tells_the_number_and_the_last_message() {
        let mut breaker = Breaker::new(2);
        for number in 1..4 {
            let failure = failure(Server, &format!("request {number} broke"));
            fail(&mut breaker, &failure, &number.to_string());
        }
        let reason = breaker.reason().map(|reason| &**reason);
        assert_eq!(reason, Some("failed 2 times in the same way: request 2 broke"));
    }

    #[test]
    fn zero_never_closes() {
        let mut breaker = Breaker::new(0);
        for kind in [Server, InvalidReply] {
            (0..100).for_each(|at| fail(&mut breaker, &failure(kind, "boom"), &at.to_string()));
        }
        assert_eq!((breaker.reason(), breaker.reason_of_model("a")), (None, None));
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
