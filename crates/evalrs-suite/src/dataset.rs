//! The `dataset` and `target` sections: where samples and trajectories are.
//!
//! Only what the suite says is read here; whether the files are there is found when they are opened. Targets that are
//! run are read in `targets`; one of a kind that cannot be is accepted, since its recorded results can still be graded.

use super::fields::{FieldSet, Findings};
use super::reader::Reader;
use super::section::FieldSpec;
use super::sections::{AGENT, AGENT_KINDS, DATASET, RECORDED, ROW, ROW_PATHS};
use super::targets::{self, AroundTarget, LIVE_KINDS};
use super::{conditions, letta_code_target, letta_target};
use evalrs_base::compression::{Compression, NO_PARQUET, READS_PARQUET};
use evalrs_base::yaml::tree::{Yaml, YamlEntry};
use evalrs_model::spec::{
    DATASET_FORMATS, DatasetFormat, DatasetSpec, FieldMap, JoinBy, MissingAnswer, RecordingJoin,
    SampleUnit, TargetSpec, TrialNumbers,
};
use evalrs_trajectory::FORMATS;

/// The kinds that are agents on a Letta server, by their old name and their new one.
const LETTA_KINDS: [&str; 2] = ["agent", "letta_agent"];

pub(super) const MISSING: [(&str, MissingAnswer); 2] =
    [("error", MissingAnswer::Error), ("empty", MissingAnswer::Empty)];

pub(super) const SAMPLES: [(&str, SampleUnit); 3] =
    [("record", SampleUnit::Record), ("file", SampleUnit::File), ("folder", SampleUnit::Folder)];

pub(super) const TRIALS: [(&str, TrialNumbers); 2] =
    [("field", TrialNumbers::Field), ("by_order", TrialNumbers::ByOrder)];

/// Endings of the names of archives, whose members are files of a dataset.
const ARCHIVES: [&str; 2] = [".zip", ".eval"];

/// Whether a name is that of an archive.
pub fn is_archive(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    ARCHIVES.iter().any(|ending| lower.ends_with(ending))
}

/// Reads `dataset: PATH` or `dataset: {path, format, fields, …}`.
pub(super) fn dataset(field: &YamlEntry, reader: &mut Reader<'_>) -> Option<DatasetSpec> {
    if let Yaml::Str(_) = field.value.value {
        return files(field, None, reader);
    }
    if !matches!(field.value.value, Yaml::Map(_)) {
        reader.findings.wrong_type(field, "a path or a mapping with `path`");
        return None;
    }
    let fields = reader.findings.fields(field, &DATASET)?;
    let dataset = fields.take("path").and_then(|path| files(path, fields.take("format"), reader));
    let findings = &mut reader.findings;
    let map = fields.take("fields").map(|field| field_map(field, findings)).unwrap_or_default();
    let missing = fields.choice("missing", &MISSING, findings).unwrap_or_default();
    let sample = fields.choice("sample", &SAMPLES, findings).unwrap_or_default();
    let trials = fields.choice("trials", &TRIALS, findings).unwrap_or_default();
    let condition = conditions::condition("where", &fields, findings);
    let records = fields.take("records");
    if let Some(records) = records {
        check_records(records, dataset.as_ref(), sample, findings);
    }
    let records = records.and_then(|records| findings.text(records));
    fields.finish(findings);
    Some(DatasetSpec { fields: map, missing, sample, trials, records, condition, ..dataset? })
}

/// Says why `records` can mean nothing here.
fn check_records(
    records: &YamlEntry,
    dataset: Option<&DatasetSpec>,
    sample: SampleUnit,
    findings: &mut Findings,
) {
    let format = dataset.and_then(|dataset| dataset.format);
    if sample != SampleUnit::Record {
        let message = "a dataset has `records` or another `sample`, not both";
        findings.error(records.key_span, message).hint = Some("remove one of them".to_owned());
    } else if format
        .is_some_and(|format| !matches!(format, DatasetFormat::Json | DatasetFormat::Yaml))
    {
        let message = "`records` is a path inside a JSON or YAML file";
        findings.error(records.key_span, message).hint =
            Some("every line of this file is a record: `fields` has paths into those".to_owned());
    }
}

/// The files that `path` names, and how they are cut into rows, if that is said or shows in their names.
fn files(
    path: &YamlEntry,
    format: Option<&YamlEntry>,
    reader: &mut Reader<'_>,
) -> Option<DatasetSpec> {
    let joined = reader.path(path)?;
    let written = reader.findings.text(path)?;
    let written = written.strip_prefix("./").unwrap_or(&written);
    let folder = if joined.ends_with(written) { joined.len() - written.len() } else { 0 };
    if !READS_PARQUET && Compression::of_name(written) == Some(Compression::Parquet) {
        reader.findings.error(path.value.span, NO_PARQUET).hint = Some(
            "or write it as JSON Lines, as `duckdb` does: `COPY 'rows.parquet' TO 'rows.jsonl'`"
                .to_owned(),
        );
        return None;
    }
    let shown = DatasetFormat::of_name(written);
    let format = match format {
        Some(format) => Some(reader.findings.choice(format, &DATASET_FORMATS)?),
        None if shown.is_some() || may_be_many(written) => shown,
        None => {
            unknown_format(path, &mut reader.findings);
            return None;
        }
    };
    Some(DatasetSpec { folder, format, ..DatasetSpec::file(joined, DatasetFormat::Jsonl) })
}

/// Whether a path may name several files: a folder, an archive, a pattern.
fn may_be_many(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.is_empty()
        || !name.contains('.')
        || path.contains(['*', '?', '[', '{'])
        || is_archive(name)
}

fn unknown_format(path: &YamlEntry, findings: &mut Findings) {
    findings.error(path.value.span, "the dataset's format does not show in its name").hint = Some(
        "name it .jsonl, .json, .yaml, .csv or .tsv, perhaps with .gz or .zst behind it, or write `dataset: {path: …, format: jsonl}`"
            .to_owned(),
    );
}

fn field_map(field: &YamlEntry, findings: &mut Findings) -> FieldMap {
    let mut map = FieldMap::default();
    let Some(fields) = findings.fields(field, &ROW) else { return map };
    let label = fields.take("label").filter(|label| matches!(label.value.value, Yaml::Map(_)));
    for FieldSpec { name, .. } in ROW_PATHS {
        if *name == "label" && label.is_some() {
            continue;
        }
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
    map.labels = label.map(|label| labels_of_outputs(label, &map, findings)).unwrap_or_default();
    fields.finish(findings);
    map
}

/// `label: {NAME: path}`: the label of each of the outputs.
fn labels_of_outputs(
    field: &YamlEntry,
    map: &FieldMap,
    findings: &mut Findings,
) -> Vec<(String, String)> {
    let models: Vec<&str> = map.outputs.iter().map(|(model, _)| model.as_str()).collect();
    let mut labels = Vec::new();
    for label in findings.entries(field).unwrap_or_default() {
        if !models.contains(&label.key.as_str()) {
            let message = format!("`outputs` has no model `{}`", label.key);
            findings.error(label.key_span, message).hint =
                Some("`label` has a path for all, or one for each of the `outputs`".to_owned());
        } else if let Some(path) = findings.text(label) {
            labels.push((label.key.clone(), path));
        }
    }
    labels
}

/// How the records of the file of a recorded target read, and which rows they belong to.
fn recording_join(fields: &FieldSet<'_>, has_path: bool, findings: &mut Findings) -> RecordingJoin {
    let mut join = RecordingJoin::default();
    let map = fields.take("fields");
    let by = fields.take("by");
    for field in map.into_iter().chain(by).filter(|_| !has_path) {
        let message = format!("`{}` is about the file at `path`, and there is none", field.key);
        findings.error(field.key_span, message).hint =
            Some("the fields of rows are said by `dataset: {path: …, fields: …}`".to_owned());
    }
    if let Some(field) = map {
        join.fields = field_map(field, findings);
        if !join.fields.outputs.is_empty() {
            let message = "a record of a recorded target has one `output`";
            findings.error(field.key_span, message).hint =
                Some("map `output` and `model`; each record is of one model".to_owned());
        }
    }
    join.by = match by.and_then(|by| findings.text(by)).as_deref() {
        None | Some("id") => JoinBy::Id,
        Some("line") => JoinBy::Line,
        Some(path) => JoinBy::Field(path.to_owned()),
    };
    join
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
    let join = recording_join(&fields, path.is_some(), &mut reader.findings);
    fields.finish(&mut reader.findings);
    Some(TargetSpec::Recorded { path, format, join })
}
