//! The `dataset` section: where samples are, and how their rows read.
//!
//! Only what the suite says is read here; whether the files are there is found when they are opened.

use strum::VariantNames;

use crate::fields::Field;
use crate::section::FieldShape::{AnyOf, Choice, MapOf, Mapping, Text};
use crate::section::{FieldSpec, Section, fields, names, section};
use crate::sections::expressions::condition;
use evalrs_base::compression::{Compression, NO_PARQUET, READS_PARQUET};
use evalrs_base::yaml::tree::Yaml;
use evalrs_model::spec::{
    DATASET_FORMATS, DatasetFormat, DatasetSpec, FieldMap, MissingAnswer, SampleUnit, TrialNumbers,
};

pub(crate) static DATASET: Section = section!["a dataset",
    "path": Text, needed "the dataset has no `path`", "" => "a file, a folder, an archive, or a pattern of files";
    "format": Choice(&names(&DATASET_FORMATS)) => "its format; detected from the name if absent";
    "records": Text => "the path to the list or mapping of records inside a JSON or YAML file";
    "sample": Choice(SampleUnit::VARIANTS), or "\"record\"" => "what one sample is: a record of a file, a file, or all files of a folder";
    "trials": Choice(TrialNumbers::VARIANTS), or "\"field\"" => "how trials are numbered: by the `trial` of rows, or by the order of rows of one sample and model";
    "fields": Mapping(&ROW) => "the dotted path of each field of a sample in a row";
    "where": Text => "the filter of rows: a condition such as `not improper and 'refund' in tags`";
    "missing": Choice(MissingAnswer::VARIANTS), or "\"error\"" => "how a row without an answer is treated: an error of its result, or an empty answer";
];

/// Our names for what a row holds, each of which may stand under another path.
pub(crate) static ROW: Section = Section::new(
    "a sample",
    &[
        ROW_PATHS,
        fields![
            "outputs": MapOf(&Text) => "the answers of several models in one row, by model";
        ],
    ],
);

/// The fields of [`ROW`] that are one path each.
pub(crate) const ROW_PATHS: &[FieldSpec] = fields![
    "id": Text => "the sample's id";
    "input": Text => "the input of the agent";
    "ground_truth": Text => "the reference answer";
    "reference": Text => "passed to programs that grade";
    "output": Text => "the answer of the agent";
    "trajectory": Text => "the trajectory";
    "messages": Text => "the trajectory, as messages";
    "metadata": Text => "anything";
    "tags": Text => "a list of texts";
    "rubric": Text => "its own rubric";
    "rubric_path": Text => "a file with its rubric";
    "rubric_vars": Text => "values for placeholders of rubrics";
    "extra_vars": Text => "passed to the agent";
    "agent_args": Text => "passed to the agent";
    "trial": Text => "the number of the trial";
    "model": Text => "the model";
    "agent_state": Text => "the final state of the agent";
    "label": AnyOf(&[Text, MapOf(&Text)]) => "the human label of the answer, or of each of the `outputs`";
    "graders": Text => "the graders of the row, by name; all if absent";
];

/// Endings of the names of archives, whose members are files of a dataset.
const ARCHIVES: [&str; 2] = [".zip", ".eval"];

/// Whether a name is that of an archive.
pub fn is_archive(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    ARCHIVES.iter().any(|ending| lower.ends_with(ending))
}

/// Reads `dataset: PATH` or `dataset: {path, format, fields, …}`.
pub(crate) fn dataset(field: Field<'_>) -> Option<DatasetSpec> {
    if let Yaml::Str(_) = field.value.value {
        return files(field, None);
    }
    if !field.is_mapping() {
        return field.wrong_type("a path or a mapping with `path`", "");
    }
    let fields = field.fields(&DATASET)?;
    let dataset = fields.take("path").and_then(|path| files(path, fields.take("format")));
    let map = fields.take("fields").map(field_map).unwrap_or_default();
    let missing = fields.variant("missing").unwrap_or_default();
    let sample = fields.variant("sample").unwrap_or_default();
    let trials = fields.variant("trials").unwrap_or_default();
    let condition = condition("where", &fields);
    let records = fields.take("records");
    if let Some(records) = records {
        check_records(records, dataset.as_ref(), sample);
    }
    let records = records.and_then(Field::text);
    fields.finish();
    Some(DatasetSpec { fields: map, missing, sample, trials, records, condition, ..dataset? })
}

/// Says why `records` can mean nothing here.
fn check_records(records: Field<'_>, dataset: Option<&DatasetSpec>, sample: SampleUnit) {
    let format = dataset.and_then(|dataset| dataset.format);
    if sample != SampleUnit::Record {
        let message = "a dataset has `records` or another `sample`, not both";
        records.error_at_key(message, "remove one of them");
    } else if !matches!(format, None | Some(DatasetFormat::Json | DatasetFormat::Yaml)) {
        let hint = "every line of this file is a record: `fields` has paths into those";
        records.error_at_key("`records` is a path inside a JSON or YAML file", hint);
    }
}

/// The files that `path` names, and how they are cut into rows, if that is set or their names show it.
fn files(path: Field<'_>, format: Option<Field<'_>>) -> Option<DatasetSpec> {
    let joined = path.path()?;
    let written = path.text()?;
    let written = written.strip_prefix("./").unwrap_or(&written);
    let folder = if joined.ends_with(written) { joined.len() - written.len() } else { 0 };
    if !READS_PARQUET && Compression::of_name(written) == Some(Compression::Parquet) {
        let hint =
            "or write it as JSON Lines, as `duckdb` does: `COPY 'rows.parquet' TO 'rows.jsonl'`";
        return path.refuse(NO_PARQUET, hint);
    }
    let shown = DatasetFormat::of_name(written);
    let format = match format {
        Some(format) => Some(format.choice(&DATASET_FORMATS)?),
        None if shown.is_some() || may_be_many(written) => shown,
        None => {
            let hint = "name it .jsonl, .json, .yaml, .csv or .tsv, perhaps with .gz or .zst behind it, or write `dataset: {path: …, format: jsonl}`";
            return path.refuse("the dataset's name does not show its format", hint);
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

pub(crate) fn field_map(field: Field<'_>) -> FieldMap {
    let mut map = FieldMap::default();
    let Some(fields) = field.fields(&ROW) else { return map };
    let label = fields.take("label").filter(|label| label.is_mapping());
    for FieldSpec { name, .. } in ROW_PATHS {
        if *name == "label" && label.is_some() {
            continue;
        }
        if let Some(path) = fields.text(name) {
            map.paths.push(((*name).to_owned(), path));
        }
    }
    map.paths.sort();
    let outputs = fields.take("outputs").and_then(Field::entries);
    for output in outputs.unwrap_or_default() {
        if let Some(path) = output.text() {
            map.outputs.push((output.key.clone(), path));
        }
    }
    map.labels = label.map(|label| labels_of_outputs(label, &map)).unwrap_or_default();
    fields.finish();
    map
}

/// `label: {NAME: path}`: the label of each of the outputs.
fn labels_of_outputs(field: Field<'_>, map: &FieldMap) -> Vec<(String, String)> {
    let models: Vec<&str> = map.outputs.iter().map(|(model, _)| model.as_str()).collect();
    let mut labels = Vec::new();
    for label in field.entries().unwrap_or_default() {
        if !models.contains(&label.key.as_str()) {
            let hint = "`label` has a path for all, or one for each of the `outputs`";
            label.error_at_key(&format!("`outputs` has no model `{}`", label.key), hint);
        } else if let Some(path) = label.text() {
            labels.push((label.key.clone(), path));
        }
    }
    labels
}
