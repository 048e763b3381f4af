//! Models that talk in a conversation: the `user` of a target, which simulates a person.

use serde_json::{Value, json};
use strum::VariantNames;

use crate::fields::FieldSet;
use crate::reader::Reader;
use crate::section::FieldShape::{Anything, Choice, MapOf, Number, OrNull, Text, Whole};
use crate::section::{COUNT, FRACTION, FieldSpec, Section, fields};
use crate::sections::headers::HEADERS;
use crate::sections::model::{self, talking_model};
use crate::written::{extend, leave_out, without_empty};
use evalrs_model::spec::{CachingChoice, JudgeSpec, ReplyFormat, SimulatedUser};

/// The model that answers for a user.
pub(crate) static USER: Section = Section::new(
    "`user`",
    &[
        fields![
            "persona": Text => "who the user is and what they want";
            "persona_path": Text => "a file with the persona";
            "max_turns": Whole(1, 1000, "between 1 and 1000"), or "10" => "the most messages of the user, the input included";
            "stop_when": Text => "ends the conversation with the user's message that contains this text";
        ],
        MODEL,
    ],
);

/// The settings of a model that talks.
pub(crate) const MODEL: &[FieldSpec] = fields![
    "provider": Text, or "\"openai\"" => "the API; `openai` is any endpoint with `/chat/completions`";
    "model": Text => "the model; `models` of the suite replaces it";
    "base_url": Text => "the URL of the API; if absent, the provider's variable, then its default";
    "endpoint": Text => "replaces the base URL in the key, so that stored outcomes survive a move of the server";
    "api_key_env": Text => "the environment variable with the API key; the provider's own if absent";
    "headers": HEADERS => "more request headers: `Name: text`, or `Name: {env: VARIABLE}` for a secret";
    "temperature": OrNull(&Number(0.0, 2.0, "between 0 and 2, or null")) => "the sampling temperature; none is sent if absent";
    "seed": Whole(i64::MIN, i64::MAX, "a whole number of 64 bits") => "the sampling seed; evalrs adds the trial to it";
    "max_tokens": COUNT => "the most tokens of a reply";
    "top_p": FRACTION => "nucleus sampling";
    "extra_body": MapOf(&Anything) => "more members of the request body";
    "response_format": Choice(ReplyFormat::VARIANTS) => "not used here";
    "prompt_caching": Choice(CachingChoice::VARIANTS), or "\"auto\"" => "whether requests mark what the provider is to cache: at its own address (`auto`), wherever the model is served (`on`, `hour`), or never (`off`)";
];

pub(crate) fn user(fields: &FieldSet<'_>, reader: &mut Reader<'_>) -> Option<SimulatedUser> {
    let field = fields.take("user")?;
    let mut inner = field.fields(&USER)?;
    let model = talking_model(&mut inner, reader);
    let persona = either("persona", "persona_path", &inner, reader);
    if inner.take("persona").is_none() && inner.take("persona_path").is_none() {
        let hint = "describe the user and their goal, or name a file with `persona_path`";
        field.error_at_key("`user` has no `persona`", hint);
    }
    if inner.take("model").is_none() {
        field.error_at_key("`user` has no `model`", "");
    }
    let max_turns = inner.whole("max_turns").unwrap_or(10);
    let stop_when = inner.text("stop_when");
    inner.finish();
    Some(SimulatedUser { model, persona: persona?, max_turns, stop_when })
}

/// The text of `inline`, or that of the file which `path` names.
pub(crate) fn either(
    inline: &str,
    path: &str,
    fields: &FieldSet<'_>,
    reader: &mut Reader<'_>,
) -> Option<String> {
    match (fields.take(inline), fields.take(path)) {
        (Some(_), Some(file)) => {
            file.refuse_at_key(&format!("set `{inline}` or `{path}`, not both"), "keep one")
        }
        (Some(text), None) => text.text(),
        (None, Some(file)) => reader.text_of(file),
        (None, None) => None,
    }
}

/// A simulated user as they are written back.
pub(crate) fn written(user: &SimulatedUser) -> Value {
    let mut all = without_empty(json!({
        "persona": user.persona,
        "max_turns": user.max_turns,
        "stop_when": user.stop_when,
    }));
    extend(&mut all, written_model(&user.model));
    all
}

/// A model without the settings of judges alone.
pub(crate) fn written_model(model: &JudgeSpec) -> Value {
    const OF_JUDGES: [&str; 6] = [
        "response_format",
        "max_retries",
        "timeout",
        "deadline",
        "max_requests_per_minute",
        "max_tokens_per_minute",
    ];
    let mut judge = model::written(model);
    leave_out(&mut judge, &OF_JUDGES);
    without_empty(judge)
}
