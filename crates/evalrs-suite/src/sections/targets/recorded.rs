//! Targets whose trajectories are recorded already, in the rows or in a file beside them.

use ::evalrs_trajectory as trajectory;

use crate::fields::{Field, FieldSet};
use crate::section::FieldShape::{Choice, Mapping, Text};
use crate::section::{Section, names, section};
use crate::sections::dataset::{ROW, field_map};
use evalrs_model::spec::{JoinBy, RecordingJoin, TargetSpec};
use evalrs_trajectory::FORMATS;

/// A target whose trajectories are recorded already.
pub(crate) static RECORDED: Section = section!["a recorded target",
    "kind": Choice(&["recorded"]), required => "answers recorded earlier";
    "path": Text => "a file of records, a folder with one file per sample, or a Letta result folder; if absent, the rows have the answers";
    "format": Choice(&names(&trajectory::FORMATS)) => "the format of trajectories; detected if absent";
    "fields": Mapping(&ROW) => "the dotted path of each field in a record of the file";
    "by": Text, or "\"id\"" => "how records join rows: by `id`, by `line`, or by the value at this path";
];

/// How the records of the file of a recorded target read, and which rows they belong to.
pub(crate) fn recording_join(fields: &FieldSet<'_>, has_path: bool) -> RecordingJoin {
    let mut join = RecordingJoin::default();
    let map = fields.take("fields");
    let by = fields.take("by");
    for field in map.into_iter().chain(by).filter(|_| !has_path) {
        let message = format!(
            "`{}` describes the file at `path`, but there is no \
                               `path`",
            field.key
        );
        let hint = "set the fields of rows with `dataset: {path: …, fields: …}`";
        field.error_at_key(&message, hint);
    }
    if let Some(field) = map {
        join.fields = field_map(field);
        if !join.fields.outputs.is_empty() {
            let message = "a record of a recorded target has one `output`";
            field.error_at_key(message, "map `output` and `model`; each record has one model");
        }
    }
    join.by = match by.and_then(Field::text).as_deref() {
        None | Some("id") => JoinBy::Id,
        Some("line") => JoinBy::Line,
        Some(path) => JoinBy::Field(path.to_owned()),
    };
    join
}

/// Reads a target of `kind: recorded`.
pub(crate) fn recorded(fields: FieldSet<'_>) -> TargetSpec {
    let path = fields.path("path");
    let format = fields.choice("format", &FORMATS);
    let join = recording_join(&fields, path.is_some());
    fields.finish();
    TargetSpec::Recorded { path, format, join }
}
