//! The `dataset` and `target` sections: where samples and trajectories are.
//!
//! Only what the suite says is read here; whether the files are there is found when they are opened. Targets that are
//! run are read in `targets`; one of a kind that cannot be is accepted, since its recorded results can still be graded.

use super::fields::Findings;
use super::reader::Reader;
use super::section::FieldSpec;
use super::sections::{AGENT, AGENT_KINDS, DATASET, RECORDED, ROW, ROW_PATHS};
use super::targets::{self, AroundTarget, LIVE_KINDS};
use super::tree::{Yaml, YamlEntry};
use super::{conditions, letta_code_target, letta_target};
use crate::base::compression::Compression;
use crate::pipeline::spec::{DatasetFormat, DatasetSpec, FieldMap, MissingAnswer, TargetSpec};
use crate::pipeline::trajectory::FORMATS;

/// The kinds that are agents on a Letta server, by their old name and their new one.
const LETTA_KINDS: [&str; 2] = ["agent", "letta_agent"];

pub(super) const DATASET_FORMATS: [(&str, DatasetFormat); 7] = [
    ("jsonl", DatasetFormat::Jsonl),
    ("ndjson", DatasetFormat::Jsonl),
    ("json", DatasetFormat::Json),
    ("csv", DatasetFormat::Csv),
    ("tsv", DatasetFormat::Tsv),
    ("yaml", DatasetFormat::Yaml),
    ("yml", DatasetFormat::Yaml),
];

pub(super) const MISSING: [(&str, MissingAnswer); 2] =
    [("error", MissingAnswer::Error), ("empty", MissingAnswer::Empty)];

/// Reads `dataset: PATH` or `dataset: {path, format, fields, missing}`.
pub(super) fn dataset(field: &YamlEntry, reader: &mut Reader<'_>) -> Option<DatasetSpec> {
    if let Yaml::Str(_) = field.value.value {
        let path = reader.path(field)?;
        let format = format_of(&path, field, &mut reader.findings)?;
        let missing = MissingAnswer::default();
        let fields = FieldMap::default();
        return Some(DatasetSpec { path, format, fields, missing, condition: None });
    }
    if !matches!(field.value.value, Yaml::Map(_)) {
        reader.findings.wrong_type(field, "a path or a mapping with `path`");
        return None;
    }
    let fields = reader.findings.fields(field, &DATASET)?;
    let path_field = fields.take("path");
    let path = path_field.and_then(|path| reader.path(path));
    let format = match (fields.take("format"), path_field, &path) {
        (Some(format), _, _) => reader.findings.choice(format, &DATASET_FORMATS),
        (None, Some(path_field), Some(path)) => format_of(path, path_field, &mut reader.findings),
        _ => None,
    };
    let map = fields.take("fields").map(|field| field_map(field, &mut reader.findings));
    let missing = fields.choice("missing", &MISSING, &mut reader.findings).unwrap_or_default();
    let condition = conditions::condition("where", &fields, &mut reader.findings);
    fields.finish(&mut reader.findings);
    let fields = map.unwrap_or_default();
    Some(DatasetSpec { path: path?, format: format?, fields, missing, condition })
}

fn format_of(path: &str, field: &YamlEntry, findings: &mut Findings) -> Option<DatasetFormat> {
    let format = DatasetFormat::of_name(path);
    if format.is_none() {
        findings.error(field.value.span, "the dataset's format does not show in its name").hint = Some(
            "name it .jsonl, .json, .yaml, .csv or .tsv, perhaps with .gz or .zst behind it, or write `dataset: {path: …, format: jsonl}`"
                .to_owned(),
        );
    }
    format
}

impl DatasetFormat {
    /// The format that shows in the name of a file, whether it is compressed or not.
    pub fn of_name(path: &str) -> Option<Self> {
        let lower = path.to_ascii_lowercase();
        let lower = Compression::stripped(&lower);
        let ends =
            |name: &str| lower.strip_suffix(name).is_some_and(|before| before.ends_with('.'));
        DATASET_FORMATS.iter().find(|(name, _)| ends(name)).map(|(_, format)| *format)
    }
}

fn field_map(field: &YamlEntry, findings: &mut Findings) -> FieldMap {
    let mut map = FieldMap::default();
    let Some(fields) = findings.fields(field, &ROW) else { return map };
    for FieldSpec { name, .. } in ROW_PATHS {
        if let Some(path) = fields.text(name, findings) {
            map.paths.push(((*name).to_owned(), path));
        }
    }
    map.paths.sort();
    let outputs = fields.take("outputs").and_then(|outputs| findings.entries(outputs));
    for output in outputs.unwrap_or_default() {
        if let Some(path) = findings.text(output) {
            map.outputs.push((output.key.clone(), path));
        }
    }
    fields.finish(findings);
    map
}

pub(super) fn target(
    field: &YamlEntry,
    around: AroundTarget<'_>,
    reader: &mut Reader<'_>,
) -> Option<TargetSpec> {
    let mut fields = reader.findings.fields(field, &RECORDED)?;
    let Some(kind) = fields.take("kind") else {
        reader.findings.error(field.key_span, "the target has no `kind`").hint =
            Some("`kind: recorded` grades what was recorded already".to_owned());
        return None;
    };
    let name = reader.findings.text(kind)?;
    if LIVE_KINDS.iter().any(|(kind, _)| *kind == name) {
        let live = targets::live(&name, field, fields, around, reader)?;
        return Some(TargetSpec::Live(Box::new(live)));
    }
    if AGENT_KINDS.contains(&name.as_str()) {
        fields.read_as(&AGENT);
        if LETTA_KINDS.contains(&name.as_str()) {
            return letta_target::letta(&name, field, fields, around, reader);
        }
        if name == "letta_code" {
            return letta_code_target::letta_code(field, fields, around, reader);
        }
        fields.finish(&mut reader.findings);
        return Some(TargetSpec::NotRunnable { kind: name, why: None });
    }
    if name != "recorded" {
        let live = LIVE_KINDS.iter().map(|(kind, _)| *kind);
        let kinds = std::iter::once("recorded").chain(live).chain(AGENT_KINDS.iter().copied());
        let kinds: Vec<&str> = kinds.collect();
        reader.findings.unknown(kind, &name, "target kind", &kinds);
        return None;
    }
    let path = fields.take("path").and_then(|path| reader.path(path));
    let format = fields.choice("format", &FORMATS, &mut reader.findings);
    fields.finish(&mut reader.findings);
    Some(TargetSpec::Recorded { path, format })
}
