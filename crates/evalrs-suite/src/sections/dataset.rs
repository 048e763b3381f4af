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
    "format": Choice(&names(&DATASET_FORMATS)) => "the format, where the names of files do not show it";
    "records": Text => "the path to the list or mapping of records inside a JSON or YAML file; `.` is the file itself";
    "sample": Choice(SampleUnit::VARIANTS), or "\"record\"" => "what one sample is: a record, a file, or all files of a folder";
    "trials": Choice(TrialNumbers::VARIANTS), or "\"field\"" => "where trial numbers come from: the `trial` of each row, or the order of the rows of one sample and model";
    "fields": Mapping(&ROW) => "the dotted path of each field in a row";
    "where": Text => "a filter: the rows to grade, such as `not improper and 'refund' in tags`";
    "missing": Choice(MissingAnswer::VARIANTS), or "\"error\"" => "whether a row without an answer is an error, or an empty answer";
];

/// Our names for what a row holds, each of which may stand under another path.
pub(crate) static ROW: Section = Section::new(
    "a sample",
    &[
        ROW_PATHS,
        fields![
            "outputs": MapOf(&Text) => "model → the path of its answer: several answers in one row";
        ],
    ],
);

/// The fields of [`ROW`] that are one path each.
pub(crate) const ROW_PATHS: &[FieldSpec] = fields![
    "id": Text => "the sample's id, text or an integer; derived from the row if absent";
    "input": Text => "what the agent received: text, a number, a list of turns, or chat messages; required only if a grader reads it";
    "ground_truth": Text => "the reference answer: text, or a list with one entry per turn; `one_of`, `starts_with` and `json_match` take other lists";
    "reference": Text => "kept for programs that grade";
    "output": Text => "the agent's answer: text, or an object, which is graded as its JSON; required only if a grader reads it";
    "trajectory": Text => "the same as `messages`";
    "messages": Text => "everything the agent did, as messages";
    "metadata": Text => "anything";
    "tags": Text => "a list of texts; in CSV, separated by commas";
    "rubric": Text => "the row's own rubric, which replaces the grader's";
    "rubric_path": Text => "a file with the row's own rubric; a row has `rubric` or `rubric_path`";
    "rubric_vars": Text => "values for placeholders in rubrics";
    "extra_vars": Text => "kept for the agent";
    "agent_args": Text => "kept for the agent";
    "trial": Text => "the repetition of the sample, from 0";
    "model": Text => "the model that answered";
    "agent_state": Text => "the agent's final state (Letta)";
    "label": AnyOf(&[Text, MapOf(&Text)]) => "a human label of the answer, or one for each of the `outputs`";
    "graders": Text => "the names of the graders for the row; all if absent, and `graders: none` ignores such a field";
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
