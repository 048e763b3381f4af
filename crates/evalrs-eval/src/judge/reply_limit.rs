//! The most tokens of a judge's reply where the suite says nothing: enough for a verdict, and an end for a model that finds none.

use serde_json::Value;

use super::provider::{info, reasons};
use super::question::Question;
use evalrs_model::spec::{JudgeSpec, ReplyLimit};

/// For one verdict with its rationale.
const VERDICT: u32 = 1_000;
/// For each further verdict of one reply.
const FURTHER: u32 = 200;
/// For what a model thinks before it answers.
const THOUGHT: u32 = 7_000;

/// How names of models begin, without the vendor, that think before they answer (July 2026).
const THINKING: [&str; 17] = [
    "deepseek-r",
    "gemini-2.5",
    "gemini-3",
    "gemini-flash-latest",
    "gemini-pro-latest",
    "glm-4.5",
    "glm-4.6",
    "glm-5",
    "gpt-oss",
    "grok-3-mini",
    "grok-4",
    "kimi-k2-thinking",
    "magistral",
    "minimax-m",
    "qwen3",
    "qwq",
    "phi-4-reasoning",
];

/// Members of a request that set a limit themselves.
const LIMITS: [&str; 5] =
    ["max_tokens", "max_completion_tokens", "max_output_tokens", "maxOutputTokens", "num_predict"];

/// Members of a request that have a model think.
const THOUGHTS: [&str; 5] =
    ["thinking", "thinkingConfig", "reasoning", "reasoning_effort", "enable_thinking"];

/// The most tokens of a reply with one verdict.
pub(super) fn effective_limit(spec: &JudgeSpec, question: &Question) -> Option<u32> {
    if !has_usual_limit(spec, question) {
        return limit_without_usual(spec);
    }
    let thought = if thinks(spec) { THOUGHT.max(budget(spec)) } else { 0 };
    Some(VERDICT.saturating_add(thought))
}

/// The limit that the suite sets, or else the provider.
pub(super) fn limit_without_usual(spec: &JudgeSpec) -> Option<u32> {
    match spec.max_tokens {
        ReplyLimit::Tokens(most) => Some(most),
        ReplyLimit::Usual | ReplyLimit::Unlimited => info(&spec.provider)?.max_tokens,
    }
}

/// How many tokens each further verdict of one reply may have.
pub(super) fn further_limit(spec: &JudgeSpec, question: &Question) -> u32 {
    if has_usual_limit(spec, question) { FURTHER } else { 0 }
}

/// Agents and commands have limits of their own, and what embeds writes nothing.
fn has_usual_limit(spec: &JudgeSpec, question: &Question) -> bool {
    let is_usual = spec.max_tokens == ReplyLimit::Usual;
    let replies = spec.agent.is_none() && spec.program.is_none();
    is_usual && replies && !matches!(question, Question::Embed { .. }) && !has_limit(spec)
}

fn thinks(spec: &JudgeSpec) -> bool {
    let name = spec.model.rsplit('/').next().unwrap_or_default().to_lowercase();
    reasons(&name)
        || THINKING.iter().any(|start| name.starts_with(start))
        || ["thinking", "reason"].iter().any(|part| name.contains(part))
        || says(spec, &THOUGHTS)
}

/// Whether the suite sets a limit in the body itself.
fn has_limit(spec: &JudgeSpec) -> bool {
    let is_limit = |name: &String| LIMITS.contains(&name.as_str());
    let inner =
        ["generationConfig", "options"].into_iter().filter_map(|name| spec.extra_body.get(name));
    spec.extra_body.keys().any(is_limit)
        || inner.filter_map(Value::as_object).any(|inner| inner.keys().any(is_limit))
}

/// Whether one of `names` is among the further members of the request, or in the objects that those are.
fn says(spec: &JudgeSpec, names: &[&str]) -> bool {
    let is_named = |name: &String| names.contains(&name.as_str());
    spec.extra_body.iter().any(|(name, value)| {
        is_named(name) || value.as_object().is_some_and(|inner| inner.keys().any(is_named))
    })
}

/// The tokens that the suite lets a model think; 0 where it does not say.
fn budget(spec: &JudgeSpec) -> u32 {
    const BUDGETS: [&str; 4] = [
        "/thinking/budget_tokens",
        "/reasoning/max_tokens",
        "/thinking_budget",
        "/generationConfig/thinkingConfig/thinkingBudget",
    ];
    let body = Value::Object(spec.extra_body.clone());
    let said = BUDGETS.iter().filter_map(|place| body.pointer(place)?.as_u64());
    said.max().and_then(|budget| u32::try_from(budget).ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, Value, json};

    use super::{effective_limit, further_limit};
    use crate::judge::question::Question;
    use evalrs_model::spec::{JudgeSpec, ReplyLimit, Scale};

    fn limits(provider: &str, model: &str, more: Value) -> (Option<u32>, u32) {
        let Value::Object(extra_body) = more else { panic!("an object") };
        let spec = JudgeSpec {
            provider: provider.to_owned(),
            model: model.to_owned(),
            extra_body,
            ..JudgeSpec::default()
        };
        let question = Question::Score(Scale::UNIT);
        (effective_limit(&spec, &question), further_limit(&spec, &question))
    }

    #[test]
    fn a_reply_has_room_for_its_verdicts_and_for_thought() {
        for (model, expected) in [
            ("gpt-4o-mini", 1_000),
            ("gpt-4.1", 1_000),
            ("openai/o3-mini", 8_000),
            ("gpt-5.6", 8_000),
            ("gpt-6", 8_000),
            ("gpt-10-mini", 8_000),
            ("openai/gpt-oss-20b", 8_000),
            ("Qwen/Qwen3-8B", 8_000),
            ("qwen2.5:0.5b", 1_000),
            ("deepseek-ai/DeepSeek-R1", 8_000),
            ("deepseek-chat", 1_000),
            ("deepseek-reasoner", 8_000),
            ("gemini-2.5-flash", 8_000),
            ("gemini-2.0-flash", 1_000),
            ("claude-haiku-4-5", 1_000),
            ("olmo-2", 1_000),
        ] {
            assert_eq!(limits("openai", model, json!({})), (Some(expected), 200), "{model}");
        }
        let thinking = json!({"thinking": {"type": "enabled", "budget_tokens": 4096}});
        assert_eq!(limits("anthropic", "claude-sonnet-5", thinking), (Some(8_000), 200));
        // What a model may think comes before the verdict, and is no limit of it.
        let deep = json!({"thinking": {"type": "enabled", "budget_tokens": 20_000}});
        assert_eq!(limits("anthropic", "claude-sonnet-5", deep), (Some(21_000), 200));
        let gateway = json!({"reasoning": {"max_tokens": 2_000}});
        assert_eq!(limits("openai", "some/model", gateway), (Some(8_000), 200));
        // The suite sets a limit in its own way, or what embeds has none.
        let own = json!({"generationConfig": {"maxOutputTokens": 50}});
        assert_eq!(limits("google", "gemini-2.5-flash", own), (None, 0));
        let own = json!({"max_completion_tokens": 50});
        assert_eq!(limits("openai", "gpt-5", own), (None, 0));
        let embeds = Question::Embed { dimensions: None };
        assert_eq!(effective_limit(&JudgeSpec::default(), &embeds), None);
    }

    #[test]
    fn a_suite_may_set_another_limit_or_none() {
        let question = Question::Score(Scale::UNIT);
        for (provider, max_tokens, expected) in [
            ("openai", ReplyLimit::Tokens(5), Some(5)),
            ("openai", ReplyLimit::Unlimited, None),
            ("anthropic", ReplyLimit::Unlimited, Some(4_096)),
        ] {
            let provider = provider.to_owned();
            let spec =
                JudgeSpec { provider, max_tokens, extra_body: Map::new(), ..JudgeSpec::default() };
            assert_eq!(effective_limit(&spec, &question), expected);
            assert_eq!(further_limit(&spec, &question), 0);
        }
    }
}
