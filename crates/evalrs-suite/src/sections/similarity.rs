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
            "value": Text => "the reference, instead of that of the row";
            "dimensions": COUNT => "the length of the vectors, if the model supports several";
            "model": Text, or "\"text-embedding-3-small\"" => "the model that embeds";
            "provider": Choice(&["openai"]), or "\"openai\"" => "any endpoint with `/embeddings`";
            "base_url": Text => "the URL of its API; not part of the key if `endpoint` is set";
            "endpoint": Text => "replaces the base URL in the key";
            "api_key_env": Text => "the environment variable with the API key";
            "headers": HEADERS => "further headers: text, or {env: NAME} for secrets";
            "extra_body": MapOf(&Anything) => "further members of the request";
            "max_retries": Whole(0, 1000, "between 0 and 1000"), or "5" => "retries after transport failures, at most 1000";
            "timeout": Seconds, or "120.0" => "seconds one request may take, more than 0";
            "deadline": Seconds, or "900.0" => "seconds one embedding may take with retries and waits, more than 0";
            "max_requests_per_minute": COUNT => "the most requests to the endpoint in a minute";
            "max_tokens_per_minute": COUNT => "the most tokens that are sent in a minute";
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
