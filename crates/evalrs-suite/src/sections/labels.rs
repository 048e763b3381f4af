//! The `labels` section: where people say what they think of answers, whom that is for, and how it is written.

use crate::fields::{FieldSet, Findings};
use crate::section::FieldShape::{AnyOf, Choice, MapOf, Mapping, Number, Text, Texts, Truth};
use crate::section::{FINITE, FRACTION, FieldSpec, Section, section};
use evalrs_base::yaml::tree::{Yaml, YamlEntry, YamlNode};
use evalrs_model::spec::{CalibrationBounds, FieldMap, LabelMeaning, LabelsSpec};

/// Labels that people gave.
pub(crate) static LABELS: Section = section!["labels",
    "path": Text => "the file that holds them; in the rows if absent";
    "at": Texts => "the dotted path under which a label stands in a line of the file, or in a row without one; a list is of several people, one each";
    "for": Texts => "the graders that a label is for which names none; all if absent";
    "fields": Mapping(&LABEL_FIELDS) => "under which dotted path each field of a label stands in a line of the file";
    "map": MapOf(&AnyOf(&[FINITE, Truth, Choice(&["pass", "fail"])])) => "what is meant by what is written: `pass`, `fail`, or a score";
    "holdout": Number(0.01, 0.99, "between 0.01 and 0.99: a part of the labels") => "the share of labels that is held out of what is shown, to check the rest with";
];

/// Our names for what a line of a file of labels has.
pub(crate) static LABEL_FIELDS: Section = section!["a label",
    "id": Text => "the sample's id";
    "label": Text => "what the person says";
    "grader": Text => "the grader that it is for";
    "model": Text => "the model whose answer it is of";
    "trial": Text => "the repetition that it is of";
    "who": Text => "the person";
];

/// How far judges must agree with labels.
pub(crate) static CALIBRATION: Section = section!["a calibration",
    "min_kappa": Number(-1.0, 1.0, "between -1 and 1") => "the least kappa between a judge and people";
    "min_agreement": FRACTION => "the least share of verdicts in which a judge and people agree";
];

/// Reads `labels: PATH` or `labels: {path, at, for, fields, map, holdout}`, which may name these graders. Where labels of rows
/// stand is added to `rows`, as if `fields` of the dataset said so.
pub(crate) fn labels(
    suite: &FieldSet<'_>,
    graders: Option<&[&str]>,
    rows: Option<&mut FieldMap>,
    findings: &mut Findings,
) -> Option<LabelsSpec> {
    let field = suite.take("labels")?;
    if let Yaml::Str(_) = field.value.value {
        return Some(LabelsSpec { path: path(field, findings), ..LabelsSpec::default() });
    }
    if !matches!(field.value.value, Yaml::Map(_)) {
        findings.wrong_type(field, "a path or a mapping");
        return None;
    }
    let fields = findings.fields(field, &LABELS)?;
    let file = fields.take("path");
    let own = fields.take("fields");
    if let (None, Some(own)) = (file, own) {
        let message = "`fields` is about the file at `path`, and there is none";
        findings.error(own.key_span, message).hint = Some(
            "where labels stand in rows is said by `dataset: {path: …, fields: {label: …}}`"
                .to_owned(),
        );
    }
    let mut spec = LabelsSpec {
        path: file.and_then(|file| path(file, findings)),
        graders: fields.take("for").map(|of| names(of, graders, findings)).unwrap_or_default(),
        fields: own.map(|own| field_paths(own, findings)).unwrap_or_default(),
        columns: Vec::new(),
        map: fields.take("map").map(|map| meanings(map, findings)).unwrap_or_default(),
        holdout: fields.number("holdout", findings),
    };
    if let Some(at) = fields.take("at") {
        let paths = findings.texts(at).unwrap_or_default();
        match (file, rows) {
            (Some(_), _) => at_in_file(at, paths, &mut spec, findings),
            (None, Some(rows)) => at_in_rows(at, paths, rows, findings),
            (None, None) => {}
        }
    }
    fields.finish(findings);
    Some(spec)
}

/// Reads `calibration: {min_kappa, min_agreement}`.
pub(crate) fn calibration(suite: &FieldSet<'_>, findings: &mut Findings) -> CalibrationBounds {
    let field = suite.take("calibration");
    let Some(fields) = field.and_then(|field| findings.fields(field, &CALIBRATION)) else {
        return CalibrationBounds::default();
    };
    let bounds = CalibrationBounds {
        min_kappa: fields.number("min_kappa", findings),
        min_agreement: fields.number("min_agreement", findings),
    };
    fields.finish(findings);
    bounds
}

/// Where the suite says `at` under which path the labels of rows stand.
pub(crate) fn row_place(root: &YamlNode) -> Option<&YamlEntry> {
    let labels = root.get("labels").filter(|labels| labels.get("path").is_none())?;
    labels.entry("at")
}

/// `at: PATH` beside `path` is the label's path in lines of the file, and a list has those of several people.
fn at_in_file(
    at: &YamlEntry,
    mut paths: Vec<String>,
    spec: &mut LabelsSpec,
    findings: &mut Findings,
) {
    let has = |name: &str| spec.fields.iter().any(|(ours, _)| ours == name);
    if has("label") {
        twice(at, "`fields` of `labels` says where the label stands, and so does `at`", findings);
    } else if paths.len() > 1 && has("who") {
        let message =
            "`fields` of `labels` says who gave the label of a line, and `at` names several people";
        findings.error(at.key_span, message).hint = Some("keep one".to_owned());
    } else if paths.len() > 1 {
        spec.columns = paths;
    } else if let Some(path) = paths.pop() {
        spec.fields.push(("label".to_owned(), path));
    }
}

/// `at: PATH` without `path` is the label's path in rows.
fn at_in_rows(
    at: &YamlEntry,
    mut paths: Vec<String>,
    rows: &mut FieldMap,
    findings: &mut Findings,
) {
    if paths.len() > 1 {
        let message = "labels of several people are read of a file, and there is no `path`";
        findings.error(at.key_span, message).hint =
            Some("name the dataset as `path` too where they stand in its rows".to_owned());
        return;
    }
    let Some(path) = paths.pop() else { return };
    if !rows.labels.is_empty() || rows.paths.iter().any(|(ours, _)| ours == "label") {
        let message = "`fields` of `dataset` says where the label stands, and so does `at`";
        twice(at, message, findings);
        return;
    }
    rows.paths.push(("label".to_owned(), path));
    rows.paths.sort();
}

fn twice(at: &YamlEntry, message: &str, findings: &mut Findings) {
    findings.error(at.key_span, message).hint =
        Some("`at: PATH` is short for `fields: {label: PATH}`: keep one".to_owned());
}

/// The path, joined to the folder of the file that says it.
fn path(field: &YamlEntry, findings: &mut Findings) -> Option<String> {
    let path = findings.text(field)?;
    Some(findings.sources.join(field.value.span.file, &path))
}

fn names(field: &YamlEntry, graders: Option<&[&str]>, findings: &mut Findings) -> Vec<String> {
    let names = findings.texts(field).unwrap_or_default();
    for name in &names {
        if let Some(known) = graders.filter(|known| !known.contains(&name.as_str())) {
            findings.unknown(field, name, "grader", known);
        }
    }
    names
}

fn field_paths(field: &YamlEntry, findings: &mut Findings) -> Vec<(String, String)> {
    let Some(fields) = findings.fields(field, &LABEL_FIELDS) else { return Vec::new() };
    let declared = LABEL_FIELDS.fields();
    let paths = declared
        .filter_map(|FieldSpec { name, .. }| {
            Some(((*name).to_owned(), fields.text(name, findings)?))
        })
        .collect();
    fields.finish(findings);
    paths
}

fn meanings(field: &YamlEntry, findings: &mut Findings) -> Vec<(String, LabelMeaning)> {
    let entries = findings.entries(field).unwrap_or_default();
    let meaning = |entry: &YamlEntry| {
        let json = entry.value.to_json();
        let meaning = match json.as_str().map(str::to_ascii_lowercase).as_deref() {
            Some("pass" | "passed") => Some(LabelMeaning::Pass(true)),
            Some("fail" | "failed") => Some(LabelMeaning::Pass(false)),
            _ => json
                .as_bool()
                .map(LabelMeaning::Pass)
                .or_else(|| json.as_f64().map(LabelMeaning::Score)),
        };
        if meaning.is_none() {
            findings.wrong_type(entry, "`pass`, `fail` or a score");
        }
        Some((entry.key.clone(), meaning?))
    };
    entries.iter().filter_map(meaning).collect()
}
