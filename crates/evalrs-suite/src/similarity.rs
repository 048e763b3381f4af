//! The fields of a grader that has a model embed the submission and a reference.

use super::fields::FieldSet;
use super::judges::talking_model;
use super::reader::Reader;
use evalrs_model::spec::{EmbeddingSpec, JudgeSpec, RubricSpec};

/// The model that embeds where the suite does not say.
const DEFAULT_MODEL: &str = "text-embedding-3-small";

/// The one protocol of embeddings that is spoken.
const PROVIDER: &str = "openai";

/// What judges have, and embeddings do not.
const OF_JUDGES: [&str; 8] = [
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
pub(super) fn similarity(fields: &mut FieldSet<'_>, reader: &mut Reader<'_>) -> RubricSpec {
    let refused = fields.refuse(|name| OF_JUDGES.contains(&name));
    for field in &refused {
        let message = format!("a similarity grader has no field `{}`", field.key);
        reader.findings.error(field.key_span, message).hint =
            Some("an embedding has no settings but `dimensions` and `extra_body`".to_owned());
    }
    let is_named = fields.take("model").is_some();
    // What is not declared cannot be read.
    let spec =
        if refused.is_empty() { talking_model(fields, reader) } else { JudgeSpec::default() };
    let model = if is_named { spec.model.clone() } else { DEFAULT_MODEL.to_owned() };
    let findings = &mut reader.findings;
    if let (Some(field), true) = (fields.take("provider"), spec.provider != PROVIDER) {
        let message =
            format!("`provider` must be `{PROVIDER}`, which is any endpoint with `/embeddings`");
        findings.error(field.value.span, message);
    }
    let value = fields.text("value", findings);
    let dimensions = fields.whole("dimensions", findings);
    RubricSpec {
        embedding: Some(EmbeddingSpec { dimensions, value }),
        ..RubricSpec::new("", JudgeSpec { model, ..spec })
    }
}
