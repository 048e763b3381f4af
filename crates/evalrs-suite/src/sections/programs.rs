//! How a program of the user runs, wherever a suite names one.
//!
//! No file is looked for here. `path` and `cwd` are joined to the folder of the file that wrote them, as paths are
//! everywhere; `inputs` stay relative to the suite's folder, because they are part of keys.

use serde_json::{Value, json};
use strum::{IntoEnumIterator, VariantNames};

use crate::fields::{Field, FieldSet};
use crate::program_places::ProgramPlaces;
use crate::reader::Reader;
use crate::section::FieldShape::{AnyOf, Choice, ListOf, Seconds, Text, Texts, Truth};
use crate::section::{FieldShape, FieldSpec, fields};
use crate::sections::environment::{self, ENVIRONMENT, SANDBOX_SHAPE, variables};
use crate::written::without_empty;
use evalrs_base::diagnostic::suggest;
use evalrs_base::yaml::source::{self, SourceSpan};
use evalrs_base::yaml::tree::Yaml;
use evalrs_model::spec::{ProgramSpec, Repeat, SampleMember};

/// How a program runs.
pub(crate) const PROGRAM_SETTINGS: &[FieldSpec] = fields![
    "runtime": Text => "its runtime: a name such as `python3.12` or `bun`, or a path; evalrs finds one if absent";
    "inputs": Texts => "files, folders and patterns that the program reads, such as `data/*.json`; a change runs it again";
    "sees": SEES => "further parts of the sample that the program receives, such as `[row, model]`, or `all`; a change of them runs it again";
    "cwd": Text => "the folder it runs in; the suite's if absent";
    "env": ENVIRONMENT => "more environment variables to pass on: names, `{NAME: secret}` to keep the value out of keys, or `{NAME: plain}` to put it in";
    "sandbox": SANDBOX_SHAPE => "the sandbox: a kind, or `{kind, memory, cpu}`; if absent, that of the suite, then of `evalrs.toml`";
    "cache": Truth, or "true" => "`false` runs it in every evaluation: for a program that reads the outside world";
    "deterministic": AnyOf(&[Truth, Choice(&["check"])]) => "`check` runs it twice for some samples and reports differences";
    "timeout": Seconds, or "60" => "seconds one call may take";
];

/// The parts of a sample that a program gets.
const SEES: FieldShape =
    AnyOf(&[Choice(&[ALL_MEMBERS]), Choice(MEMBERS), ListOf(&Choice(MEMBERS))]);

/// The word for all of [`MEMBERS`].
pub(crate) const ALL_MEMBERS: &str = "all";

/// The names of the parts that a program may get.
pub(crate) const MEMBERS: &[&str] = SampleMember::VARIANTS;

/// Reads which further parts of the sample the program gets.
pub(crate) fn with_sight(spec: Option<ProgramSpec>, fields: &FieldSet<'_>) -> Option<ProgramSpec> {
    let sees = fields.take("sees").map_or_else(Vec::new, members);
    let mut spec = spec?;
    // What the text of a suite names is seen in any case.
    spec.sees.extend(sees);
    spec.sees.sort();
    spec.sees.dedup();
    Some(spec)
}

/// The members that `field` names, each once and in their order.
fn members(field: Field<'_>) -> Vec<SampleMember> {
    let names = field.texts().unwrap_or_default();
    if matches!(&field.value.value, Yaml::Str(text) if text == ALL_MEMBERS) {
        return SampleMember::iter().collect();
    }
    for (name, node) in names.iter().zip(field.value.items()) {
        if !MEMBERS.contains(&name.as_str()) {
            let message = format!("a sample has no `{name}` that a program could see");
            let known = suggest(name, MEMBERS.iter().copied());
            let hint = match known {
                Some(known) => format!("did you mean `{known}`?"),
                None => format!("write `{ALL_MEMBERS}`, or some of {}", MEMBERS.join(", ")),
            };
            field.findings.error(node.span, &message, &hint);
        }
    }
    SampleMember::iter().filter(|member| names.iter().any(|name| name == member.name())).collect()
}

/// Reads the settings of a program that `named` names, also of one that is wrong, so that they are known.
pub(crate) fn with_settings(
    spec: Option<ProgramSpec>,
    named: Field<'_>,
    fields: &FieldSet<'_>,
    reader: &mut Reader<'_>,
) -> Option<ProgramSpec> {
    with_settings_and(spec, named, fields, None, reader)
}

/// The same with a folder that it gets a copy of, as the suite's folder sees it.
pub(crate) fn with_settings_and(
    spec: Option<ProgramSpec>,
    named: Field<'_>,
    fields: &FieldSet<'_>,
    template: Option<String>,
    reader: &mut Reader<'_>,
) -> Option<ProgramSpec> {
    let runtime_field = fields.take("runtime");
    let cwd_field = fields.take("cwd");
    let runtime = runtime_field.and_then(runtime);
    let inputs = fields.take("inputs").and_then(paths).unwrap_or_default();
    let outputs = fields.take("outputs").and_then(paths).unwrap_or_default();
    let env = fields.take("env").and_then(variables);
    let cwd = cwd_field.and_then(Field::path);
    let own = fields.take("sandbox").and_then(environment::sandbox);
    let repeat = repeat(fields);
    let timeout = fields.seconds("timeout");
    let mut spec = spec?;
    spec.runtime = runtime.or(spec.runtime);
    spec.inputs = sorted(inputs.iter().map(|(input, _)| input).chain(&template).cloned().collect());
    spec.template = template;
    spec.outputs = sorted(outputs.into_iter().map(|(output, _)| output).collect());
    spec.env = env.unwrap_or_default();
    spec.cwd = cwd;
    spec.sandbox = own.unwrap_or_else(|| reader.sandbox.clone());
    spec.repeat = repeat;
    if let Some(seconds) = timeout {
        spec.timeout_ms = ((seconds * 1000.0).round() as u64).max(1);
    }
    let runtime = runtime_field.map(|field| field.value.span);
    let cwd = cwd_field.map(|field| field.value.span);
    let places = ProgramPlaces { file: named.value.span, runtime, inputs, cwd };
    reader.programs.push((spec.clone(), places));
    Some(spec)
}

/// A program that runs as `other` does, whose settings are those of both.
pub(crate) fn beside(
    spec: ProgramSpec,
    named: Field<'_>,
    other: &ProgramSpec,
    reader: &mut Reader<'_>,
) -> ProgramSpec {
    let spec = ProgramSpec {
        runtime: other.runtime.clone(),
        env: other.env.clone(),
        cwd: other.cwd.clone(),
        sandbox: other.sandbox.clone(),
        timeout_ms: other.timeout_ms,
        ..spec
    };
    let file = named.value.span;
    let places = ProgramPlaces { file, runtime: None, inputs: Vec::new(), cwd: None };
    reader.programs.push((spec.clone(), places));
    spec
}

/// What runs a program: a name to be found, or a path.
fn runtime(field: Field<'_>) -> Option<String> {
    let text = field.text()?;
    if text.contains('/') {
        return field.path();
    }
    if let Some((first, _)) = text.trim().split_once(char::is_whitespace) {
        let message = "`runtime` is one program, without arguments";
        return field.refuse(message, &format!("write `runtime: {first}`"));
    }
    Some(text)
}

/// Files, folders and patterns as the suite's folder sees them, each with its place.
fn paths(field: Field<'_>) -> Option<Vec<(String, SourceSpan)>> {
    let texts = field.texts()?;
    let mut all = Vec::with_capacity(texts.len());
    for (text, node) in texts.iter().zip(field.value.items()) {
        if text.trim().is_empty() {
            let hint = "name a file, a folder, or a pattern such as `data/*.json`";
            field.findings.error(node.span, &format!("an item of `{}` is empty", field.key), hint);
        }
        all.push((field.findings.sources().relative_to_suite(node.span.file, text), node.span));
    }
    Some(all)
}

fn sorted(mut texts: Vec<String>) -> Vec<String> {
    texts.sort();
    texts.dedup();
    texts
}

/// Reads `cache: false` and `deterministic: check`.
fn repeat(fields: &FieldSet<'_>) -> Repeat {
    let is_kept = fields.truth("cache").unwrap_or(true);
    let deterministic = fields.take("deterministic");
    let is_checked = deterministic.is_some_and(|field| match &field.value.value {
        Yaml::Str(text) if text == "check" => true,
        Yaml::Bool(true) => false,
        value => {
            let hint = match value {
                Yaml::Bool(false) => "a program whose results vary needs `cache: false`",
                _ => "write `deterministic: check` to run it twice for some samples",
            };
            field.error("`deterministic` must be `true` or `check`", hint);
            false
        }
    });
    match (is_kept, is_checked) {
        (false, true) => {
            if let Some(field) = deterministic {
                let message = "a program with `cache: false` runs every time: nothing to check";
                field.error_at_key(message, "keep one");
            }
            Repeat::Always
        }
        (false, false) => Repeat::Always,
        (true, true) => Repeat::Sometimes,
        (true, false) => Repeat::Never,
    }
}

/// The settings of a program of the suite at `path`.
pub(crate) fn written(spec: &ProgramSpec, path: &str) -> Value {
    let inputs = spec.inputs.iter().map(|input| source::join(path, input));
    let outputs = spec.outputs.iter().map(|output| source::join(path, output));
    without_empty(json!({
        "runtime": spec.runtime,
        "inputs": inputs.collect::<Vec<_>>(),
        "outputs": outputs.collect::<Vec<_>>(),
        "sees": spec.sees.iter().map(|member| member.name()).collect::<Vec<_>>(),
        "env": spec.env.iter().map(environment::written).collect::<Vec<_>>(),
        "cwd": spec.cwd,
        "sandbox": without_empty(json!(spec.sandbox)),
        "cache": (spec.repeat == Repeat::Always).then_some(false),
        "deterministic": (spec.repeat == Repeat::Sometimes).then_some("check"),
        "timeout": spec.timeout_ms as f64 / 1000.0,
    }))
}
