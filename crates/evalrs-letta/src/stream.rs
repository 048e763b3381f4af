//! The stream that answers a message: which run it is, what it used, and how it ended.
//!
//! The messages in it are not kept: those of the run are read back whole, where no piece is missing and calls have one
//! shape. A stream that ends without a stop reason is a broken one; the line that says it is done may be missing.

use serde_json::Value;

use super::errors::{self, RunEnd};
use super::server_sent::EventCutter;
use evalrs_model::outcome::{Failure, FailureKind, Usage};

/// The largest event that is read, in bytes.
const EVENT_LIMIT: usize = 8 << 20;
/// A marker for the end, after the last event.
const DONE: &str = "[DONE]";
/// The most tokens that one number of a server counts for: sums of what servers claim stay sums.
const MOST_TOKENS: u64 = 1 << 40;

/// A stream that is being read.
#[derive(Debug, Default)]
pub struct StreamReading {
    cutter: EventCutter,
    run_id: Option<String>,
    usage: Vec<Value>,
    stop_reason: Option<String>,
    failure: Option<Failure>,
    is_done: bool,
}

/// The content of the stream of a run that ended well.
#[derive(Clone, Debug, PartialEq)]
pub struct EndedRun {
    /// The run, whose messages can be read.
    pub id: String,
    /// How it ended.
    pub end: RunEnd,
    /// What it used, as the server says it.
    pub usage: Vec<Value>,
}

impl StreamReading {
    /// Reads on.
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        for event in self.cutter.push(bytes) {
            self.read(&event)?;
        }
        if self.cutter.waiting() > EVENT_LIMIT {
            return Err(broken("an event is larger than 8 MB"));
        }
        Ok(())
    }

    /// Whether nothing follows any more, whatever else the server sends.
    pub fn is_done(&self) -> bool {
        self.is_done
    }

    /// The content of the stream, now that its body has ended.
    pub fn finish(mut self) -> Result<EndedRun, Failure> {
        if let Some(event) = self.cutter.end() {
            self.read(&event)?;
        }
        let of_run = self.usage.iter().map(used).fold(Usage::default(), |sum, more| sum + more);
        let usage = (of_run != Usage::default()).then_some(of_run);
        if let Some(failure) = self.failure {
            return Err(Failure { usage, ..failure });
        }
        let reason = self.stop_reason.ok_or_else(|| broken("it ended before the run did"))?;
        let end = errors::end_of_run(&reason).map_err(|failure| Failure { usage, ..failure })?;
        let id = self.run_id.ok_or_else(|| {
            Failure::new(FailureKind::Server, "the Letta server's stream names no run")
        })?;
        Ok(EndedRun { id, end, usage: self.usage })
    }

    fn read(&mut self, event: &str) -> Result<(), Failure> {
        if self.is_done || event.is_empty() {
            return Ok(());
        }
        if event == DONE {
            self.is_done = true;
            return Ok(());
        }
        let data: Value =
            serde_json::from_str(event).map_err(|_| broken("an event of it is not JSON"))?;
        let text = |name: &str| data.get(name).and_then(Value::as_str).map(str::to_owned);
        self.run_id = text("run_id").or(self.run_id.take());
        match text("message_type").as_deref() {
            Some("stop_reason") => self.stop_reason = text("stop_reason"),
            Some("usage_statistics") => self.usage.push(data),
            Some("error_message") => self.fail(&data),
            None if data.get("error").is_some_and(|error| !error.is_null()) => self.fail(&data),
            _ => {}
        }
        Ok(())
    }

    /// The first error is what happened; others follow from it.
    fn fail(&mut self, event: &Value) {
        self.failure.get_or_insert_with(|| errors::of_event(event));
    }
}

/// What a record of usage says in our words.
pub fn used(record: &Value) -> Usage {
    let count = |name: &str| record.get(name).and_then(Value::as_u64).unwrap_or(0).min(MOST_TOKENS);
    Usage::of_tokens(count("prompt_tokens"), count("completion_tokens"))
}

fn broken(what: &str) -> Failure {
    Failure::new(FailureKind::Connection, format!("the Letta server's stream broke: {what}"))
}

#[cfg(test)]
mod tests {
    use super::{EndedRun, StreamReading, used};
    use crate::errors::RunEnd;
    use evalrs_model::outcome::{Failure, FailureKind, Usage};
    use evalrs_test_data as test_data;

    fn read(text: &str) -> Result<EndedRun, Failure> {
        let mut reading = StreamReading::default();
        // Wherever a connection cuts it.
        for piece in text.as_bytes().chunks(7) {
            reading.push(piece)?;
        }
        reading.finish()
    }

    fn ending(text: &str) -> Result<RunEnd, FailureKind> {
        read(text).map(|run| run.end).map_err(|failure| failure.kind)
    }

    #[test]
    fn recorded_streams_say_how_they_ended() {
        let tokens = Some((200, 40));
        let step = Some((100, 20));
        for (name, expected, counts) in [
            ("0.16.8/message-stream-steps.sse", Ok(RunEnd::EndTurn), tokens),
            ("0.16.8/message-stream-tokens.sse", Ok(RunEnd::EndTurn), tokens),
            ("0.16.8/message-streaming-true.sse", Ok(RunEnd::EndTurn), step),
            ("0.16.8/memgpt-v2-stream-steps.sse", Ok(RunEnd::EndTurn), step),
            ("0.16.8/memgpt-v2-stream-tokens.sse", Ok(RunEnd::EndTurn), step),
            ("0.16.8/judge-exit-loop-stream.sse", Ok(RunEnd::ToolRule), step),
            ("0.16.8/judge-no-tool-call-stream.sse", Ok(RunEnd::EndTurn), step),
            ("0.16.8/approval-stream.sse", Ok(RunEnd::RequiresApproval), step),
            ("0.16.8/target-stream-max-steps.sse", Ok(RunEnd::MaxSteps), step),
            ("0.16.8/target-stream-cancelled.sse", Err(FailureKind::Server), None),
            ("0.16.8/target-stream-provider-400.sse", Err(FailureKind::Server), None),
            ("0.16.8/target-stream-provider-401.sse", Err(FailureKind::Unauthorized), None),
            ("0.16.8/target-stream-provider-429.sse", Err(FailureKind::RateLimited), None),
            ("0.16.8/target-stream-provider-500.sse", Err(FailureKind::Server), None),
            ("0.16.8/import-no-messages-then-stream.sse", Err(FailureKind::Server), None),
            ("0.14.0/message-stream-steps.sse", Ok(RunEnd::EndTurn), tokens),
            ("0.14.0/message-stream-tokens.sse", Ok(RunEnd::EndTurn), tokens),
            ("0.14.0/stream-provider-429.sse", Err(FailureKind::RateLimited), None),
        ] {
            let Some(text) = test_data::text("../letta-protocol", name) else { return };
            assert_eq!(ending(&text), expected, "{name}");
            let used = match read(&text) {
                Ok(run) => run.usage.iter().map(used).reduce(|sum, more| sum + more),
                Err(failure) => failure.usage,
            };
            assert_eq!(used.map(|used| (used.input, used.output)), counts, "{name}");
        }
    }

    #[test]
    fn a_stream_is_done_broken_or_a_failure() {
        const RUN: &str = "data: {\"message_type\":\"ping\",\"run_id\":\"run-1\"}\n\n";
        const STOP: &str =
            "data: {\"message_type\":\"stop_reason\",\"stop_reason\":\"end_turn\"}\n\n";
        const ERROR: &str =
            "event: error\ndata: {\"error\":{\"type\":\"llm_rate_limit\",\"message\":\"m\"}}\n\n";
        for (pieces, expected) in [
            (&[RUN, STOP, "data: [DONE]\n\n"][..], Ok(RunEnd::EndTurn)),
            (&[RUN, STOP], Ok(RunEnd::EndTurn)),
            (&[RUN, STOP, "data: [DONE]\n\n", "data: rest of a proxy\n\n"], Ok(RunEnd::EndTurn)),
            (&[RUN], Err(FailureKind::Connection)),
            (&[RUN, "data: [DONE]\n\n"], Err(FailureKind::Connection)),
            (&[RUN, "data: <html>\n\n"], Err(FailureKind::Connection)),
            (&[STOP], Err(FailureKind::Server)),
            (&[""], Err(FailureKind::Connection)),
            (&[RUN, STOP, ERROR], Err(FailureKind::RateLimited)),
            (&[ERROR], Err(FailureKind::RateLimited)),
            (
                &[RUN, "data: {\"error\":null,\"message_type\":\"ping\"}\n\n", STOP],
                Ok(RunEnd::EndTurn),
            ),
            (&[RUN, "data: \"text\"\n\n", STOP], Ok(RunEnd::EndTurn)),
        ] {
            assert_eq!(ending(&pieces.concat()), expected, "{pieces:?}");
        }
    }

    #[test]
    fn usage_is_counted_and_bounded() {
        let usage = |record: serde_json::Value| used(&record);
        let all = usage(serde_json::json!({"prompt_tokens": 3, "completion_tokens": 4}));
        assert_eq!(all, Usage::of_tokens(3, 4));
        let odd = usage(serde_json::json!({"prompt_tokens": u64::MAX, "completion_tokens": -1}));
        assert_eq!(odd, Usage::of_tokens(1 << 40, 0));
    }
}
