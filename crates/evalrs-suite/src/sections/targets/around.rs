//! What targets of several kinds share: limits, hooks, models, the function that prepares a server.

use crate::fields::{Field, FieldSet};
use crate::reader::Reader;
use crate::section::FieldShape::{AnyOf, Choice, ListOf, Mapping, Text, Texts, Truth, Whole};
use crate::section::{FieldShape, FieldSpec, Section, fields, section};
use crate::sections::environment::ENVIRONMENT;
use crate::sections::targets::user::USER;
use crate::sections::targets::workspace::WORKSPACE_SHAPE;
use crate::sections::{program_files, programs};
use evalrs_base::yaml::tree::Yaml;
use evalrs_model::spec::{Language, ProgramSpec, Role, SampleMember, TargetModel};

/// What every target that is run has.
pub(crate) const COMMON: &[FieldSpec] = fields![
    "version": Text => "any text; a new one runs the target again, such as the day of a deployment";
    "inputs": Texts => "files, folders and patterns that the target depends on; a change runs it again";
    "env": ENVIRONMENT => "more environment variables to pass on: names, `{NAME: secret}` to keep the value out of keys, or `{NAME: plain}` to put it in";
    "cache": Truth, or "true" => "`false` runs it in every evaluation";
    "timeout": FieldShape::Seconds, or "300" => "seconds one conversation may take";
    "retries": Whole(0, 100, "between 0 and 100"), or "1" => "more attempts after a transient failure: a timeout, a broken connection, an overloaded server";
    "setup": Texts => "a command before the first conversation, word by word";
    "teardown": Texts => "a command after the last conversation, also after a failure or Ctrl-C";
];

/// What targets have that work in a folder.
pub(crate) const IN_FOLDER: &[FieldSpec] = fields![
    "workspace": WORKSPACE_SHAPE => "a fresh folder for every conversation";
    "outputs": Texts => "files and patterns that the target writes although its words name them; they are not in the key";
    "setup_each": Texts => "a command in the workspace, before each conversation";
    "teardown_each": Texts => "a command in the workspace, after each conversation";
];

/// The fields of targets that get the id of a sample.
pub(crate) const TOLD_ID: &[FieldSpec] = fields![
    "sees": SEES => "`[id]` puts the sample's id into the key, for answers that depend on it";
];

/// What targets have whose user may be simulated.
pub(crate) const WITH_USER: &[FieldSpec] = fields![
    "user": Mapping(&USER) => "a model that plays the user";
];

/// A model that a target is run with.
pub(crate) static TARGET_MODEL: Section = section!["a model of `models`",
    "name": Text, needed "a model has no `name`", "" => "the model's name";
    "provider": Text => "its API, where that is not the target's";
];

/// Milliseconds a conversation may take where the suite does not say.
pub(crate) const TIMEOUT_MS: u64 = 300_000;

/// The settings of all targets at the top of the suite.
#[derive(Debug, Default)]
pub(crate) struct AroundTarget<'a> {
    /// `setup_script`, which agents on Letta servers have.
    pub setup_script: Option<Field<'a>>,
    /// `models`.
    pub models: Vec<TargetModel>,
    /// `max_concurrent_targets`.
    pub max_concurrent: Option<usize>,
}

/// The program of a target that has none.
pub(crate) fn no_program() -> ProgramSpec {
    ProgramSpec::new(String::new(), Language::Executable, "", Role::Target)
}

/// Reads `models: [NAME, {name, provider}]`.
pub(crate) fn models(field: Field<'_>, reader: &mut Reader<'_>) -> Vec<TargetModel> {
    let mut models: Vec<TargetModel> = Vec::new();
    for item in field.value.items() {
        let model = match &item.value {
            Yaml::Str(name) if !name.is_empty() => {
                Some(TargetModel { name: name.clone(), provider: None })
            }
            Yaml::Map(entries) => {
                let inner = FieldSet::new(entries, &TARGET_MODEL, field.findings);
                let name = inner.text("name");
                let provider = inner.text("provider");
                if name.is_none() && inner.take("name").is_none() {
                    field.findings.error(item.span, "a model has no `name`", "");
                }
                if let (Some(provider), Some(entry)) = (&provider, inner.take("provider"))
                    && !reader.registry.providers.contains(&provider.as_str())
                {
                    entry.unknown::<()>(provider, "provider", reader.registry.providers);
                }
                inner.finish();
                name.map(|name| TargetModel { name, provider })
            }
            _ => {
                let message = format!("a model of `models` must be a name, not {}", item.noun());
                field.findings.refuse(item.span, &message, "")
            }
        };
        let Some(model) = model else { continue };
        if models.iter().any(|known| known.name == model.name) {
            let message = format!("`{}` is in `models` twice", model.name);
            field.findings.error(item.span, &message, "");
        }
        models.push(model);
    }
    models
}

/// The function that prepares the server, which runs as the target's own program does.
pub(crate) fn setup(
    field: Field<'_>,
    program: &ProgramSpec,
    reader: &mut Reader<'_>,
) -> Option<ProgramSpec> {
    let text = field.text()?;
    let spec = program_files::python(field, &text, Role::SuiteSetup)?;
    Some(programs::beside(spec, field, program, reader))
}

/// What a target may see.
pub(crate) const SEES: FieldShape = AnyOf(&[Choice(NAMES), ListOf(&Choice(NAMES))]);

const NAMES: &[&str] = &[SampleMember::Id.name()];

/// What a target says that it sees.
pub(crate) fn seen(fields: &FieldSet<'_>) -> Vec<SampleMember> {
    let Some(field) = fields.take("sees") else { return Vec::new() };
    let names = field.texts().unwrap_or_default();
    if let Some(other) = names.iter().find(|name| !NAMES.contains(&name.as_str())) {
        let message = format!("`sees` of a target names the `id` alone, not `{other}`");
        field.error(&message, "its other inputs are in its key anyway: write `sees: [id]`");
    }
    if names.is_empty() { Vec::new() } else { vec![SampleMember::Id] }
}
