//! Graders of votes that people or others gave: `kind: recorded_votes`, whose settings are options of a function.

use serde_json::{Map, Value};

use super::fields::{FieldSet, Findings};
use super::graders::report;
use super::reader::Reader;
use evalrs_base::yaml::source::SourceSpan;
use evalrs_base::yaml::tree::YamlEntry;
use evalrs_eval::grade::votes::{ID, is_of_votes};
use evalrs_model::spec::ToolSpec;

/// What a suite calls the kind: as the function.
pub(super) const KIND: &str = ID;

/// The fields of the section that are options of the function.
const OPTIONS: [&str; 7] = ["votes", "path", "fields", "map", "scale", "combine", "missing"];

/// Reads the grader `entry`.
pub(super) fn votes(
    entry: &YamlEntry,
    fields: &FieldSet<'_>,
    reader: &mut Reader<'_>,
) -> Option<ToolSpec> {
    let mut config = Map::new();
    let mut path = None;
    for name in OPTIONS {
        let Some(field) = fields.take(name) else { continue };
        path = path.or((name == "path").then_some(field.value.span));
        config.insert(name.to_owned(), field.value.to_json());
    }
    let mut spec = ToolSpec { function: ID.to_owned(), config };
    let problems = (reader.registry.check_grader)(&spec);
    report(&problems, Some(&entry.value), entry, &mut reader.findings);
    if let Some(span) = path {
        join_path(&mut spec, span, &reader.findings);
    }
    problems.is_empty().then_some(spec)
}

/// Joins the path of a file of votes to the folder of the file that wrote it at `span`.
pub(super) fn join_path(spec: &mut ToolSpec, span: SourceSpan, findings: &Findings) {
    if is_of_votes(spec)
        && let Some(Value::String(path)) = spec.config.get_mut("path")
    {
        *path = findings.sources.join(span.file, path);
    }
}
