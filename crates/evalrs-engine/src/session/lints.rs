//! What is probably not meant: graders that look for something that no row has, and what warnings about rubrics say.
//!
//! Only warnings: a rubric may well contain braces, and a grader may be there for rows to come.

use evalrs_base::diagnostic::{Diagnostic, Place, clipped};
use evalrs_eval::dataset::fields::{RowFields, RowSpec};
use evalrs_eval::evaluate::sought::SoughtName;
use evalrs_eval::grade;
use evalrs_graph::inputs::Root;
use evalrs_graph::row_files::unused_votes;
use evalrs_graph::{Database, lints as rubric_lints, queries, rows};
use evalrs_model::expression::RowCondition;
use evalrs_model::spec::{GraderKind, GraderSpec};

/// Everything that graders look for in vain.
pub(crate) fn lints(db: &Database, root: Root) -> Vec<Diagnostic> {
    let (Some(suite), Some(spec)) = (&queries::suite(db, root).suite, queries::row_spec(db, root))
    else {
        return Vec::new();
    };
    let looked_at = LintedRows { spec, first: rows::first(db, root, spec) };
    let in_vain = rows::in_vain(db, root);
    let mut lints = Vec::new();
    let mut by_condition = |name: &str, condition: Option<&RowCondition>| {
        let missing = SoughtName::by_condition(condition).filter(|sought| in_vain.contains(sought));
        lints.extend(missing.filter_map(|sought| unknown_field(name, &sought, OF_CONDITION)));
    };
    by_condition("`where` of the dataset", suite.dataset.condition.as_ref());
    for grader in &suite.graders {
        let name = format!("`only` of `{}`", clipped(&grader.name));
        by_condition(&name, grader.only.as_ref());
    }
    for grader in &suite.graders {
        let sought = SoughtName::by_grader(grader).into_iter();
        let missing = sought.filter(|sought| in_vain.contains(sought));
        lints.extend(missing.filter_map(|sought| doubt(grader, &looked_at, &sought)));
        lints.extend(no_tool_errors(db, root, grader));
    }
    for metric in &suite.metrics {
        let name = format!("the metric `{}`", clipped(&metric.name));
        let missing = SoughtName::by_metric(metric).filter(|sought| in_vain.contains(sought));
        lints.extend(missing.filter_map(|sought| unknown_field(&name, &sought, OF_METRIC)));
    }
    let place = || Place::file(root.suite(db).path(db));
    let found = lints
        .into_iter()
        .map(|SuiteLint { message, hint }| Diagnostic::warning(place(), message).hint(hint));
    found.chain(unused_votes(db, root)).chain(rubric_lints::all(db, root)).collect()
}

struct SuiteLint {
    message: String,
    hint: String,
}

struct LintedRows<'a> {
    spec: &'a RowSpec,
    first: Option<RowFields<'a>>,
}

/// Warns of a grader of failed calls over rows that cannot say that one failed.
fn no_tool_errors(db: &Database, root: Root, grader: &GraderSpec) -> Option<SuiteLint> {
    let GraderKind::Tool(tool) = &grader.kind else { return None };
    let is_blind = grade::sees_marked_errors_alone(tool) && rows::are_calls_unmarked(db, root);
    is_blind.then(|| SuiteLint {
        message: format!(
            "`{}` ({}) passes whatever tools answer in rows of `openai_chat`, which cannot mark a call as failed",
            clipped(&grader.name),
            tool.function
        ),
        hint: "describe the answer of a failed call: `config: {pattern: '^Error'}`".to_owned(),
    })
}

fn doubt(grader: &GraderSpec, rows: &LintedRows<'_>, sought: &SoughtName) -> Option<SuiteLint> {
    let GraderKind::Tool(tool) = &grader.kind else { return None };
    match sought {
        SoughtName::GroundTruth => Some(no_ground_truth(grader, &tool.function, rows)),
        SoughtName::Trajectory => Some(no_trajectory(grader, &tool.function)),
        _ => None,
    }
}

/// What the names in a condition stand for.
const OF_CONDITION: &str =
    "a condition names fields of the rows; put texts in quotes: `'refund' in tags`";
/// What those in a metric do.
const OF_METRIC: &str = "`row.NAME` is a field of the rows";

fn unknown_field(by: &str, sought: &SoughtName, hint: &str) -> Option<SuiteLint> {
    let (SoughtName::Condition(path) | SoughtName::Metric(path)) = sought else { return None };
    let path = clipped(path);
    Some(SuiteLint {
        message: format!("{by} names `{path}`, which no row has"),
        hint: hint.to_owned(),
    })
}

/// What others call the reference answer, and evalrs does not: that may be something else.
const REFERENCES: [&str; 9] = [
    "expected_output",
    "reference_answer",
    "expected_answer",
    "correct_answer",
    "reference_output",
    "references",
    "gold",
    "answers",
    "solution",
];

fn no_ground_truth(grader: &GraderSpec, function: &str, rows: &LintedRows<'_>) -> SuiteLint {
    let name = clipped(&grader.name);
    let mapped = rows.spec.fields.paths.iter().any(|(ours, _)| ours == "ground_truth");
    let first = rows.first.as_ref();
    let meant =
        REFERENCES.into_iter().find(|name| first.is_some_and(|row| row.at_path(name).is_some()));
    SuiteLint {
        message: format!(
            "no row has a `ground_truth`: `{name}` ({function}) cannot grade any of them"
        ),
        hint: match (meant, first) {
            _ if mapped => "check the path of `ground_truth` in `fields`".to_owned(),
            (Some(meant), _) => format!("name its field: `fields: {{ground_truth: {meant}}}`"),
            (None, Some(first)) => format!(
                "name its field: `fields: {{ground_truth: NAME}}`; the first row has {}",
                first.some_names()
            ),
            (None, None) => "name its field: `fields: {ground_truth: NAME}`".to_owned(),
        },
    }
}

fn no_trajectory(grader: &GraderSpec, function: &str) -> SuiteLint {
    let name = clipped(&grader.name);
    SuiteLint {
        message: format!("no row has a trajectory: `{name}` ({function}) will find no tool calls"),
        hint: "tool calls are read from `messages` or `trajectory`: `fields: {messages: NAME}`"
            .to_owned(),
    }
}
