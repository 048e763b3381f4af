//! The graders that all importers write: imported scores, the check for an answer, and judges.

use serde_json::{Value, json};

/// A grader that takes over what was recorded.
pub(super) fn recorded_score(config: &Value) -> Value {
    json!({"kind": "tool", "function": "recorded_score", "config": config})
}

/// A grader for sources that say no score: whether there is an answer.
pub(super) fn answered(extractor: &str) -> Value {
    json!({"kind": "tool", "function": "length", "config": {"min": 1}, "extractor": extractor})
}

/// Whether `recorded_score` takes a value over as it is.
pub(super) fn is_score(value: &Value) -> bool {
    value.is_boolean() || value.as_f64().is_some_and(|score| (0.0..=1.0).contains(&score))
}

/// A provider and a model of those that evalrs can ask, from `provider/model` or a model's name alone.
pub(super) struct JudgeModel {
    pub model: String,
    pub provider: Option<&'static str>,
    /// Whether the user must set its endpoint.
    pub is_elsewhere: bool,
}

impl JudgeModel {
    pub(crate) fn of(name: &str) -> Self {
        let known = [
            ("openai/", "", None),
            ("anthropic/", "claude-", Some("anthropic")),
            ("google/", "gemini-", Some("google")),
        ];
        let stripped = known
            .iter()
            .find_map(|(prefix, _, provider)| Some((name.strip_prefix(prefix)?, *provider)));
        let (model, provider) = stripped.unwrap_or_else(|| {
            let named = known.iter().skip(1).find(|(_, family, _)| name.starts_with(family));
            (name, named.and_then(|(.., provider)| *provider))
        });
        Self { model: model.to_owned(), provider, is_elsewhere: model.contains('/') }
    }

    /// Names the model in a rubric.
    pub(crate) fn put_into(&self, rubric: &mut Value) {
        rubric["model"] = json!(self.model);
        if let Some(provider) = self.provider {
            rubric["provider"] = json!(provider);
        }
    }
}

/// What a person has to know of a judge whose provider is not known.
pub(super) fn unknown_provider(model: &str, grader: &str) -> String {
    format!(
        "evalrs does not know the provider of the judge `{model}` of `{grader}`: set `base_url`, or another `model`."
    )
}
