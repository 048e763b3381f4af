//! The `labels` section: where people say what they think of answers, whom that is for, and how it is written.

use crate::fields::{Field, FieldSet};
use crate::section::FieldShape::{AnyOf, Choice, MapOf, Mapping, Number, Text, Texts, Truth};
use crate::section::{FINITE, FRACTION, FieldSpec, Section, section};
use evalrs_base::yaml::tree::{Yaml, YamlEntry, YamlNode};
use evalrs_model::spec::{CalibrationBounds, FieldMap, LabelMeaning, LabelsSpec};

/// Labels that people gave.
pub(crate) static LABELS: Section = section!["labels",
    "path": Text => "a file of labels; if absent, the section is about labels in rows";
    "at": Texts => "the dotted path of the label in a line of the file, or in a row without `path`; a list has one path for each reviewer";
    "for": Texts => "the graders that a label without a `grader` is for; all if absent";
    "fields": Mapping(&LABEL_FIELDS) => "the dotted path of each field in a line of the file";
    "map": MapOf(&AnyOf(&[FINITE, Truth, Choice(&["pass", "fail"])])) => "written value → `pass`, `fail`, or a score on the grader's scale";
    "holdout": Number(0.01, 0.99, "between 0.01 and 0.99: a part of the labels") => "the share of labels to hold out for the final check";
];

/// Our names for what a line of a file of labels has.
pub(crate) static LABEL_FIELDS: Section = section!["a label",
    "id": Text => "the sample's id";
    "label": Text => "the label itself";
    "grader": Text => "the grader that the label is for";
    "model": Text => "the model that gave the answer";
    "trial": Text => "the trial that gave the answer";
    "who": Text => "the reviewer";
];

/// How far judges must agree with labels.
pub(crate) static CALIBRATION: Section = section!["a calibration",
    "min_kappa": Number(-1.0, 1.0, "between -1 and 1") => "the least kappa between a judge and human labels";
    "min_agreement": FRACTION => "the least share of verdicts on which a judge agrees with human labels";
];

/// Reads `labels: PATH` or `labels: {path, at, for, fields, map, holdout}`, which may name these graders. Where labels of rows
/// stand is added to `rows`, as if `fields` of the dataset said so.
pub(crate) fn labels(
    suite: &FieldSet<'_>,
    graders: Option<&[&str]>,
    rows: Option<&mut FieldMap>,
) -> Option<LabelsSpec> {
    let field = suite.take("labels")?;
    if let Yaml::Str(_) = field.value.value {
        return Some(LabelsSpec { path: field.path(), ..LabelsSpec::default() });
    }
    if !field.is_mapping() {
        return field.wrong_type("a path or a mapping", "");
    }
    let fields = field.fields(&LABELS)?;
    let file = fields.take("path");
    let own = fields.take("fields");
    if let (None, Some(own)) = (file, own) {
        let hint = "set the path of labels in rows with `dataset: {path: …, fields: {label: …}}`";
        own.error_at_key("`fields` describes the file at `path`, but there is no `path`", hint);
    }
    let mut spec = LabelsSpec {
        path: file.and_then(Field::path),
        graders: fields.take("for").map(|of| names(of, graders)).unwrap_or_default(),
        fields: own.map(field_paths).unwrap_or_default(),
        columns: Vec::new(),
        map: fields.take("map").map(meanings).unwrap_or_default(),
        holdout: fields.number("holdout"),
    };
    if let Some(at) = fields.take("at") {
        let paths = at.texts().unwrap_or_default();
        match (file, rows) {
            (Some(_), _) => at_in_file(at, paths, &mut spec),
            (None, Some(rows)) => at_in_rows(at, paths, rows),
            (None, None) => {}
        }
    }
    fields.finish();
    Some(spec)
}

/// Reads `calibration: {min_kappa, min_agreement}`.
pub(crate) fn calibration(suite: &FieldSet<'_>) -> CalibrationBounds {
    let field = suite.take("calibration");
    let Some(fields) = field.and_then(|field| field.fields(&CALIBRATION)) else {
        return CalibrationBounds::default();
    };
    let bounds = CalibrationBounds {
        min_kappa: fields.number("min_kappa"),
        min_agreement: fields.number("min_agreement"),
    };
    fields.finish();
    bounds
}

/// Where the suite says `at` under which path the labels of rows stand.
pub(crate) fn row_place(root: &YamlNode) -> Option<&YamlEntry> {
    let labels = root.get("labels").filter(|labels| labels.get("path").is_none())?;
    labels.entry("at")
}

/// `at: PATH` beside `path` is the label's path in lines of the file, and a list has those of several people.
fn at_in_file(at: Field<'_>, mut paths: Vec<String>, spec: &mut LabelsSpec) {
    let has = |name: &str| spec.fields.iter().any(|(ours, _)| ours == name);
    if has("label") {
        twice(at, "`fields` and `at` of `labels` both set the path of the label");
    } else if paths.len() > 1 && has("who") {
        let message = "`fields` of `labels` names the reviewer of a line, but `at` names several";
        at.error_at_key(message, "keep one");
    } else if paths.len() > 1 {
        spec.columns = paths;
    } else if let Some(path) = paths.pop() {
        spec.fields.push(("label".to_owned(), path));
    }
}

/// `at: PATH` without `path` is the label's path in rows.
fn at_in_rows(at: Field<'_>, mut paths: Vec<String>, rows: &mut FieldMap) {
    if paths.len() > 1 {
        let message = "labels of several reviewers are read from a file, but there is no `path`";
        at.error_at_key(message, "if they are in the rows of the dataset, name it as `path` too");
        return;
    }
    let Some(path) = paths.pop() else { return };
    if !rows.labels.is_empty() || rows.paths.iter().any(|(ours, _)| ours == "label") {
        twice(at, "`fields` of `dataset` and `at` both set the path of the label");
        return;
    }
    rows.paths.push(("label".to_owned(), path));
    rows.paths.sort();
}

fn twice(at: Field<'_>, message: &str) {
    at.error_at_key(message, "`at: PATH` is short for `fields: {label: PATH}`: keep one");
}

fn names(field: Field<'_>, graders: Option<&[&str]>) -> Vec<String> {
    let names = field.texts().unwrap_or_default();
    for name in &names {
        if let Some(known) = graders.filter(|known| !known.contains(&name.as_str())) {
            field.unknown::<()>(name, "grader", known);
        }
    }
    names
}

fn field_paths(field: Field<'_>) -> Vec<(String, String)> {
    let Some(fields) = field.fields(&LABEL_FIELDS) else { return Vec::new() };
    let declared = LABEL_FIELDS.fields();
    let paths = declared
        .filter_map(|FieldSpec { name, .. }| Some(((*name).to_owned(), fields.text(name)?)))
        .collect();
    fields.finish();
    paths
}

fn meanings(field: Field<'_>) -> Vec<(String, LabelMeaning)> {
    let meaning = |entry: Field<'_>| {
        let json = entry.value.to_json();
        let passes = match json.as_str().map(str::to_ascii_lowercase).as_deref() {
            Some("pass" | "passed") => Some(true),
            Some("fail" | "failed") => Some(false),
            _ => json.as_bool(),
        };
        let score = || json.as_f64().map(LabelMeaning::Score);
        let meaning = passes.map(LabelMeaning::Pass).or_else(score);
        let meaning = meaning.or_else(|| entry.wrong_type("`pass`, `fail` or a score", ""));
        Some((entry.key.clone(), meaning?))
    };
    field.entries().unwrap_or_default().into_iter().filter_map(meaning).collect()
}
