//! Labels that somebody gives on a page: a sorted line each in the file of the suite, written whole or not at all.

use std::sync::Arc;

use axum::extract::State;
use serde::de::{Error, Unexpected};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use utoipa::ToSchema;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, OneOfBuilder, Schema, Type};

use super::answer::{AddressNames, ApiAnswer, ApiError, Data, Envelope, ErrorEnvelope, JsonBody};
use super::locks::locked;
use super::served::{ServedSuite, ServedWorkspace, beside};
use crate::view::labels::{
    LabelFile, LabelNumber, LabelView, PeopleView, PersonLabelView, RunLabels,
};
use crate::view::queue::LabelQueue;
use crate::view::rows::{IndexedRow, RunRows};
use evalrs_base::ordered_map::OrderedMap;
use evalrs_base::threshold;
use evalrs_eval::dataset::label_edit::{LabelChange, NewLabel};
use evalrs_eval::dataset::label_file::LabelNote;
use evalrs_eval::dataset::people::UNKNOWN;
use evalrs_eval::label_keys::written_score;
use evalrs_metrics::metric::labels::LabelAgreement;
use evalrs_model::spec::{LabelPick, Scale};
use evalrs_store::record::label_writer::{UnwrittenLabel, check_writable, write_label};
use evalrs_store::record::read::PastRun;
use evalrs_system::System;
use evalrs_system::os::OsSystem;
use evalrs_use_cases::suite_parts::is_of_one_grader;

/// The most characters of a name.
const MOST_NAME: usize = 100;

/// The most characters of a comment.
const MOST_COMMENT: usize = 4000;

/// A label for a sample.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GivenLabel {
    /// The grader that it is for; else all.
    grader: Option<String>,
    /// The model that it is of; else all.
    model: Option<String>,
    /// The repetition that it is of, from 0; else all.
    #[serde(default, deserialize_with = "whole")]
    trial: Option<u32>,
    /// `true`, `false`, a number from 0 to 1, or `null`, which removes it.
    #[schema(schema_with = label_schema)]
    label: Value,
    /// Whose label it is. Another name than that of the person who runs the server is taken with `--labellers` alone.
    #[schema(min_length = 1, max_length = 100)]
    who: Option<String>,
    /// The run whose agreement is answered; else the newest of the suite.
    run: Option<String>,
    /// What the person saw before they gave it: where that is another label by now, nothing is written.
    seen: Option<SeenLabel>,
    /// Why, in their words; what is not there stays, and an empty text removes it.
    #[schema(max_length = 4000)]
    comment: Option<String>,
    /// The kind of failure, a name; what is not there stays, and an empty text removes it.
    #[schema(max_length = 100)]
    category: Option<String>,
    /// Whether the answer was shown because it was next in the order `queue`. Such labels may be random ones.
    #[serde(default)]
    queued: bool,
}

/// A whole number, also as `3.0`: to a JSON Schema that is an integer too.
fn whole<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u32>, D::Error> {
    let Some(number) = Option::<f64>::deserialize(from)? else { return Ok(None) };
    let is_whole = number.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&number);
    let wrong = || Error::invalid_value(Unexpected::Float(number), &"a whole number from 0");
    is_whole.then_some(Some(number as u32)).ok_or_else(wrong)
}

/// The label of a person as a page showed it.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SeenLabel {
    /// `true`, `false`, a number from 0 to 1, or `null` where there was none.
    #[schema(schema_with = label_schema)]
    label: Value,
}

impl SeenLabel {
    /// Whether it is what the person says now.
    fn is(&self, now: Option<LabelNumber>) -> bool {
        match (&self.label, now) {
            (Value::Null, None) => true,
            (Value::Bool(seen), Some(LabelNumber::Pass(now))) => *seen == now,
            (seen, Some(LabelNumber::Score(now))) => {
                seen.as_f64().is_some_and(|seen| threshold::compare(seen, now).is_eq())
            }
            _ => false,
        }
    }
}

/// What a label may be.
fn label_schema() -> RefOr<Schema> {
    let number = ObjectBuilder::new()
        .schema_type(Type::Number)
        .minimum(Some(utoipa::Number::Float(0.0)))
        .maximum(Some(utoipa::Number::Float(1.0)));
    OneOfBuilder::new()
        .item(ObjectBuilder::new().schema_type(Type::Boolean))
        .item(number)
        .item(ObjectBuilder::new().schema_type(Type::Null))
        .description(Some("`true`, `false`, a number from 0 to 1, or `null`, which removes it."))
        .into()
}

/// What a label came to.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct LabelResult {
    /// The label that holds now; null of a tie.
    label: Option<LabelView>,
    /// What each person says.
    people: Vec<PersonLabelView>,
    /// Whether some people say that it passes and others that it does not.
    disputed: bool,
    /// Grader → how far its verdicts agree with people.
    #[schema(value_type = Object)]
    agreement: OrderedMap<LabelAgreement>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct LabelPlace {
    name: String,
    sample: String,
}

/// Sets or removes the label of a sample.
#[utoipa::path(put, path = "/api/suites/{name}/labels/{sample}", tag = "suites",
    params(("name" = String, Path), ("sample" = String, Path)), request_body = GivenLabel, responses(
    (status = 200, body = Envelope<LabelResult>),
    (status = 400, body = ErrorEnvelope),
    (status = 403, body = ErrorEnvelope),
    (status = 404, body = ErrorEnvelope),
    (status = 409, body = ErrorEnvelope),
    (status = 422, body = ErrorEnvelope),
))]
pub(super) async fn put_label(
    State(served): State<Arc<ServedWorkspace>>,
    AddressNames(place): AddressNames<LabelPlace>,
    JsonBody(given): JsonBody<GivenLabel>,
) -> ApiAnswer<LabelResult> {
    served.check_writable()?;
    beside(move || put(&served, &place, &given)).await
}

/// Sets or removes the label of a sample that is called `undo`.
#[utoipa::path(put, path = "/api/suites/{name}/labels/undo", tag = "suites",
    params(("name" = String, Path)), request_body = GivenLabel, responses(
    (status = 200, body = Envelope<LabelResult>),
    (status = 400, body = ErrorEnvelope),
    (status = 403, body = ErrorEnvelope),
    (status = 404, body = ErrorEnvelope),
    (status = 409, body = ErrorEnvelope),
    (status = 422, body = ErrorEnvelope),
))]
pub(super) async fn put_label_of_undo(
    served: State<Arc<ServedWorkspace>>,
    AddressNames(name): AddressNames<String>,
    given: JsonBody<GivenLabel>,
) -> ApiAnswer<LabelResult> {
    let sample = "undo".to_owned();
    put_label(served, AddressNames(LabelPlace { name, sample }), given).await
}

fn put(
    served: &ServedWorkspace,
    place: &LabelPlace,
    given: &GivenLabel,
) -> Result<Data<LabelResult>, ApiError> {
    let suite = served.known_suite(&place.name)?;
    let run = labelled_run(served, suite, given)?;
    let rows = served.rows(&run);
    let mut of_sample = rows.of_sample(&place.sample, given.model.as_deref(), given.trial);
    let row = of_sample.next().ok_or_else(|| ApiError::not_found("no such sample in the run"))?;
    let grader = grader_of(&rows, given)?;
    let who = who(served, suite, given.who.as_deref())?;
    // A label of several models or trials is of several answers.
    let is_of_one = of_sample.next().is_none();
    let submission = grader.filter(|_| is_of_one);
    let submission = submission.map(|at| format!("{:016x}", row.verdicts[at].submission));
    let surroundings = served.context(&suite.path)?;
    let is_only_grader = is_of_one_grader(&suite.path, &surroundings, &OsSystem);
    let line = NewLabel { is_only_grader, submission, who, ..line(place, given, &rows, grader)? };
    let line = match grader.filter(|_| given.queued && is_of_one) {
        Some(at) => NewLabel { picked: queued(&rows, row, at).or(line.picked), ..line },
        None => line,
    };
    let grader = grader.or(if rows.graders.is_empty() { None } else { Some(0) });
    let people_now = |labels: &RunLabels| {
        let said = grader.map(|at| rows.people(row, &rows.graders[at], row.verdicts[at], labels));
        said.unwrap_or_default()
    };
    // Two pages at once: each reads what the other has written.
    let writing = locked(&served.writing);
    if let Some(seen) = &given.seen {
        let now = people_now(&served.labels(&run, &rows)).label_of(line.who.as_deref());
        if !seen.is(now) {
            return Err(ApiError::conflict("it was labelled elsewhere in the meantime"));
        }
    }
    let change = write(served, suite, &line)?;
    served.undo.note(&suite.name, &line, change);
    drop(writing);
    let labels = served.labels(&run, &rows);
    let PeopleView { label, people, disputed } = people_now(&labels);
    Ok(Data(LabelResult { label, people, disputed, agreement: rows.agreement(&labels) }))
}

/// Why an answer is to be labelled, as the order of labels has it.
fn queued(rows: &RunRows, row: &IndexedRow, grader: usize) -> Option<LabelPick> {
    let ordinal = rows.rows.iter().position(|other| other.at == row.at)?;
    LabelQueue::of(rows, grader).place(ordinal).map(|place| place.picked)
}

/// Whose label it is; none where nobody knows.
pub(super) fn who(
    served: &ServedWorkspace,
    suite: &ServedSuite,
    given: Option<&str>,
) -> Result<Option<String>, ApiError> {
    let own = served.labeller(suite);
    let Some(name) = given else { return Ok(own) };
    let name = name.trim();
    let own_name = own.as_deref().unwrap_or(UNKNOWN);
    if !served.labellers && name != own_name {
        return Err(ApiError::forbidden(format!(
            "`who`: labels given here belong to `{own_name}`; `serve --labellers` accepts other names"
        )));
    }
    if name.is_empty() || name.chars().count() > MOST_NAME || name.contains(char::is_control) {
        let expected = format!("`who` is a name of 1 to {MOST_NAME} characters");
        return Err(ApiError::unprocessable(expected));
    }
    Ok(Some(name.to_owned()))
}

/// The run that shows what the label changes.
fn labelled_run(
    served: &ServedWorkspace,
    suite: &ServedSuite,
    given: &GivenLabel,
) -> Result<PastRun, ApiError> {
    if let Some(id) = &given.run {
        let run = served.run(id)?;
        if run.header.suite != suite.name {
            return Err(ApiError::not_found("`run` is a run of another suite"));
        }
        return Ok(run);
    }
    let newest = served.newest_run(&suite.name);
    newest.ok_or_else(|| ApiError::not_found("the suite has no run yet"))
}

fn grader_of(rows: &RunRows, given: &GivenLabel) -> Result<Option<usize>, ApiError> {
    let Some(name) = &given.grader else { return Ok(None) };
    let unknown = || ApiError::not_found(format!("`grader`: the run has no grader `{name}`"));
    rows.grader(name).map(Some).ok_or_else(unknown)
}

/// The line of the file.
fn line(
    place: &LabelPlace,
    given: &GivenLabel,
    rows: &RunRows,
    grader: Option<usize>,
) -> Result<NewLabel, ApiError> {
    let scale = grader.map_or(Scale::UNIT, |at| rows.graders[at].scale);
    let label = match &given.label {
        Value::Null => None,
        Value::Bool(pass) => Some(Value::from(*pass)),
        Value::Number(number) => {
            let score = number.as_f64().filter(|score| (0.0..=1.0).contains(score));
            let score =
                score.ok_or_else(|| ApiError::unprocessable("`label` is a number from 0 to 1"))?;
            // Files hold what people say: numbers on the scale of the judge.
            Some(written_score(scale.native(score)))
        }
        _ => {
            let expected = "`label` is true, false, a number from 0 to 1, or null";
            return Err(ApiError::unprocessable(expected));
        }
    };
    Ok(NewLabel {
        id: place.sample.clone(),
        grader: given.grader.clone(),
        model: given.model.clone(),
        // Of samples that are tried once a label is of the sample, wherever it is given.
        trial: given.trial.filter(|_| rows.trials > 1),
        label,
        at: OsSystem.now().to_string(),
        picked: Some(LabelPick::Chosen),
        note: note(given)?,
        ..NewLabel::default()
    })
}

/// What is said beside a label.
fn note(given: &GivenLabel) -> Result<LabelNote, ApiError> {
    let checked = |name: &str, text: &Option<String>, most: usize| match text {
        Some(text) if text.chars().count() > most => {
            Err(ApiError::unprocessable(format!("`{name}` has at most {most} characters")))
        }
        text => Ok(text.as_deref().map(|text| Box::from(text.trim()))),
    };
    Ok(LabelNote {
        comment: checked("comment", &given.comment, MOST_COMMENT)?,
        category: checked("category", &given.category, MOST_NAME)?,
    })
}

/// Writes the label into the file of the suite. Lines of others stay as they are.
fn write(
    served: &ServedWorkspace,
    suite: &ServedSuite,
    label: &NewLabel,
) -> Result<LabelChange, ApiError> {
    let LabelFile { path, layout, .. } = served.labels_file(suite);
    let written = check_writable(&path, &layout)
        .and_then(|()| write_label(&OsSystem, &served.home, &path, label));
    written.map_err(ApiError::from)
}

impl From<UnwrittenLabel> for ApiError {
    fn from(problem: UnwrittenLabel) -> Self {
        match problem {
            UnwrittenLabel::Refused(message) => Self::conflict(message),
            UnwrittenLabel::Failed(message) => Self::internal(message),
        }
    }
}
