//! The fields of a grader that has a model embed the submission and a reference.

use serde_json::{Value, json};

use crate::fields::FieldSet;
use crate::reader::Reader;
use crate::section::FieldShape::{Anything, Choice, MapOf, Seconds, Text, Whole};
use crate::section::{COUNT, FieldSpec, Section, fields};
use crate::sections::grader_fields::SUBMISSION;
use crate::sections::headers::HEADERS;
use crate::sections::model::{self, talking_model};
use crate::written::{extend, leave_out, without_empty};
use evalrs_model::spec::{EmbeddingSpec, JudgeSpec, RubricSpec};

/// A grader that has a model embed the submission and a reference.
pub(crate) static SIMILARITY: Section = Section::new(
    "a similarity grader",
    &[
        &[FieldSpec::kind(
            &["similarity"],
            "the cosine of the embeddings of submission and reference",
        )],
        SUBMISSION,
        fields![
            "value": Text => "the reference, which replaces the row's ground truth";
            "dimensions": COUNT => "the length of the vectors, where the model offers a choice";
            "model": Text, or "\"text-embedding-3-small\"" => "the embedding model";
            "provider": Choice(&["openai"]), or "\"openai\"" => "any endpoint with `/embeddings`";
            "base_url": Text => "the URL of the API; if absent, the provider's variable, then its default";
            "endpoint": Text => "replaces the base URL in the key, so that stored outcomes survive a move of the server";
            "api_key_env": Text => "the environment variable with the API key; the provider's own if absent";
            "headers": HEADERS => "more request headers: `Name: text`, or `Name: {env: VARIABLE}` for a secret";
            "extra_body": MapOf(&Anything) => "more members of the request body";
            "max_retries": Whole(0, 1000, "between 0 and 1000"), or "5" => "retries after timeouts, refused connections and the statuses 408, 409, 421, 423 to 425, 429, 499 and 5xx";
            "timeout": Seconds, or "120.0" => "seconds one request may take";
            "deadline": Seconds, or "900.0" => "seconds one embedding may take, retries and waits included";
            "max_requests_per_minute": COUNT => "the most requests to the endpoint in a minute; no limit if absent";
            "max_tokens_per_minute": COUNT => "the most tokens sent in a minute; no limit if absent";
        ],
    ],
);

/// The model that embeds where the suite does not say.
const DEFAULT_MODEL: &str = "text-embedding-3-small";

/// The one protocol of embeddings that is spoken.
const PROVIDER: &str = "openai";

/// What judges have, and embeddings do not.
pub(crate) const OF_JUDGES: [&str; 8] = [
    "temperature",
    "seed",
    "max_tokens",
    "top_p",
    "response_format",
    "agent_file",
    "judge_tool_name",
    "keep_agents",
];

/// Reads what a `similarity` grader has beyond other graders.
pub(crate) fn similarity(fields: &mut FieldSet<'_>, reader: &mut Reader<'_>) -> RubricSpec {
    let refused = fields.refuse(|name| OF_JUDGES.contains(&name));
    for field in &refused {
        let hint = "an embedding has no settings but `dimensions` and `extra_body`";
        field.error_at_key(&format!("a similarity grader has no field `{}`", field.key), hint);
    }
    let is_named = fields.take("model").is_some();
    // What is not declared cannot be read.
    let spec =
        if refused.is_empty() { talking_model(fields, reader) } else { JudgeSpec::default() };
    let model = if is_named { spec.model.clone() } else { DEFAULT_MODEL.to_owned() };
    if let (Some(field), true) = (fields.take("provider"), spec.provider != PROVIDER) {
        let message =
            format!("`provider` must be `{PROVIDER}`, which is any endpoint with `/embeddings`");
        field.error(&message, "");
    }
    let value = fields.text("value");
    let dimensions = fields.whole("dimensions");
    RubricSpec {
        embedding: Some(EmbeddingSpec { dimensions, value }),
        ..RubricSpec::new("", JudgeSpec { model, ..spec })
    }
}

/// A grader that embeds, as it is written back.
pub(crate) fn written(spec: &RubricSpec, embedding: &EmbeddingSpec) -> Value {
    let mut similarity = json!({"value": embedding.value, "dimensions": embedding.dimensions});
    extend(&mut similarity, spec.judges.first().map(model::written).unwrap_or_default());
    leave_out(&mut similarity, &["temperature", "response_format"]);
    without_empty(similarity)
}
