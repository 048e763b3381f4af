//! Graders of votes that people or others gave: `kind: recorded_votes`, whose settings are options of a function.

use serde_json::{Map, Value};

use crate::fields::{Field, FieldSet};
use crate::reader::Reader;
use crate::section::FieldShape::{AnyOf, Choice, ListOf, MapOf, Mapping, Text, Texts};
use crate::section::{FINITE, FieldSpec, Section, fields};
use crate::sections::ballots::{COMBINE, SCALE};
use crate::sections::grader_fields::SUBMISSION;
use crate::sections::options::report;
use evalrs_eval::grade::votes::{ID, is_of_votes};
use evalrs_model::spec::ToolSpec;

/// Votes that people or others gave.
pub(crate) static VOTES_OF_OTHERS: Section = Section::new(
    "a grader of recorded votes",
    &[
        &[FieldSpec::kind(
            &["recorded_votes"],
            "recorded votes of reviewers or other judges; no judge is called",
        )],
        SUBMISSION,
        fields![
            "votes": Texts => "where the votes are in the row: `row.PATH`, or a list of such paths";
            "path": Text => "the file of votes; without it and `votes`, the one that `evalrs cache import` keeps beside the suite";
            "fields": MapOf(&AnyOf(&[Text, ListOf(&Text)])) => "the path of id, model, trial, judge, vote, score and rationale in the file's rows";
            "map": MapOf(&AnyOf(&[FINITE, Choice(&["error"])])) => "written value → score; `error` is a failed vote";
            "scale": Mapping(&SCALE) => "the range of the votes; 0 to 1 if absent";
            "combine": COMBINE, or "\"median\"" => "how votes become one score; `majority` is the most frequent score";
            "missing": Choice(&["not_applicable", "error"]), or "\"not_applicable\"" => "what an answer without votes is";
        ],
    ],
);

/// What a suite calls the kind: as the function.
pub(crate) const KIND: &str = ID;

/// The fields of the section that are options of the function.
const OPTIONS: [&str; 7] = ["votes", "path", "fields", "map", "scale", "combine", "missing"];

pub(crate) fn votes(
    entry: Field<'_>,
    fields: &FieldSet<'_>,
    reader: &mut Reader<'_>,
) -> Option<ToolSpec> {
    let mut config = Map::new();
    let mut path = None;
    for name in OPTIONS {
        let Some(field) = fields.take(name) else { continue };
        path = path.or((name == "path").then_some(field));
        config.insert(name.to_owned(), field.value.to_json());
    }
    let mut spec = ToolSpec { function: ID.to_owned(), config };
    let problems = (reader.registry.check_grader)(&spec);
    report(&problems, Some(&entry.value), entry);
    if let Some(field) = path {
        join_path(&mut spec, field);
    }
    problems.is_empty().then_some(spec)
}

/// Joins the path of a file of votes to the folder of the file that wrote `field`.
pub(crate) fn join_path(spec: &mut ToolSpec, field: Field<'_>) {
    if is_of_votes(spec)
        && let Some(Value::String(path)) = spec.config.get_mut("path")
    {
        *path = field.joined(path);
    }
}
