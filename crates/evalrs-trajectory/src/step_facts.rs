//! What a recording says of the step that made a message: when, how many tokens, and what it cost.

use serde_json::Value;

/// What is recorded of a step. It is shown, and reaches no key.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StepFacts {
    /// When, as RFC 3339.
    pub at: Option<String>,
    /// Tokens that the model received, with those that were read from a cache or written to one.
    pub input_tokens: Option<u64>,
    /// Tokens that the model wrote.
    pub output_tokens: Option<u64>,
    /// US dollars.
    pub cost_usd: Option<f64>,
}

/// Where times stand in recordings.
const TIMES: [&str; 4] = ["timestamp", "date", "created_at", "time"];

impl StepFacts {
    /// What a message or a step says of itself; none if it says nothing.
    pub(crate) fn of(value: &Value) -> Option<Self> {
        let at = TIMES.iter().find_map(|name| value.get(*name)?.as_str()).filter(|at| is_time(at));
        let used = ["usage", "metrics"].into_iter().find_map(|name| value.get(name));
        let number = |names: &[&str]| names.iter().find_map(|name| used?.get(*name)?.as_u64());
        // Anthropic counts what a cache had apart, OpenAI and ATIF count it in.
        let beside = ["cache_read_input_tokens", "cache_creation_input_tokens"];
        let beside = beside.iter().filter_map(|name| used?.get(*name)?.as_u64());
        let input = number(&["input_tokens", "prompt_tokens"]);
        let cost = ["cost_usd", "cost"].into_iter().find_map(|name| used?.get(name)?.as_f64());
        let facts = Self {
            at: at.map(str::to_owned),
            input_tokens: input.map(|own| beside.fold(own, u64::saturating_add)),
            output_tokens: number(&["output_tokens", "completion_tokens"]),
            cost_usd: cost.filter(|cost| *cost >= 0.0),
        };
        (facts != Self::default()).then_some(facts)
    }

    /// The time alone: what the first message of a step used is not counted again for the next.
    pub(crate) fn time_alone(&self) -> Option<Self> {
        self.at.clone().map(|at| Self { at: Some(at), ..Self::default() })
    }
}

/// Whether a text begins as a time of RFC 3339 does.
fn is_time(text: &str) -> bool {
    const SHAPE: &[u8] = b"0000-00-00T00:00:00";
    text.len() >= SHAPE.len()
        && text.bytes().zip(SHAPE).all(|(byte, shape)| match shape {
            b'0' => byte.is_ascii_digit(),
            b'T' => byte == b'T' || byte == b' ',
            shape => byte == *shape,
        })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::StepFacts;

    #[test]
    fn what_recordings_say_of_a_step_is_read() {
        let facts = |at: Option<&str>, input, output, cost| StepFacts {
            at: at.map(str::to_owned),
            input_tokens: input,
            output_tokens: output,
            cost_usd: cost,
        };
        let at = "2026-01-02T03:04:05.678Z";
        for (value, expected) in [
            (
                json!({"timestamp": at, "usage": {"input_tokens": 3, "cache_read_input_tokens": 40, "cache_creation_input_tokens": 2, "output_tokens": 7}}),
                Some(facts(Some(at), Some(45), Some(7), None)),
            ),
            (
                json!({"metrics": {"prompt_tokens": 9, "completion_tokens": 1, "cached_tokens": 5, "cost_usd": 0.25}}),
                Some(facts(None, Some(9), Some(1), Some(0.25))),
            ),
            (json!({"date": at}), Some(facts(Some(at), None, None, None))),
            (json!({"timestamp": "yesterday", "usage": {"cost": -1}}), None),
            (json!({"role": "user"}), None),
            (json!("text"), None),
        ] {
            assert_eq!(StepFacts::of(&value), expected, "{value}");
        }
    }
}
