//! The labels of a suite as a file, each beside the verdict of a run.
//!
//! A line is of one label and one grader. It has the members of a line of a labels file, so that it can be read as one, and after
//! them what the grader says. Held-out labels are left out.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

use super::answer::{AddressNames, ApiError, ErrorEnvelope, Params};
use super::calibration::compared_run;
use super::downloads::file_name;
use super::held_suites::SuiteNow;
use super::served::{ServedSuite, ServedWorkspace, beside};
use crate::view::labels::{LabelledAnswer, LabelledGrader, RunLabels};
use crate::view::rows::{IndexedRow, RunRows, VerdictState};
use crate::view::run::labelled_graders;
use evalrs_eval::dataset::label_file::{LabelLine, digest_number};
use evalrs_eval::dataset::label_value::LabelValue;
use evalrs_eval::label_keys::written_score;
use evalrs_model::spec::LabelPick;
use evalrs_report::write_text_rows;
use evalrs_store::record::read::{PastHeader, PastRun};
use evalrs_use_cases::header::header as header_of;

/// Which labels, and how they are written.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
pub(super) struct ExportQuery {
    /// How they are written: JSON Lines unless it says CSV.
    #[param(inline)]
    format: LabelFormat,
    /// Only those for this grader.
    grader: Option<String>,
    /// Only those of cases of this run, beside its verdicts; else all, beside those of the newest run of all rows.
    run: Option<String>,
}

/// How labels are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum LabelFormat {
    /// An object a line.
    #[default]
    Jsonl,
    /// For spreadsheets.
    Csv,
}

/// A label, and the verdict beside it.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct ExportedLabel<'a> {
    /// The sample.
    id: &'a str,
    grader: Option<&'a str>,
    model: Option<&'a str>,
    /// The repetition, from 0; none if the label is of all.
    trial: Option<u32>,
    /// `true`, `false`, or a number on the scale of the grader.
    label: Value,
    /// Whose it is; none where that is not known.
    who: Option<&'a str>,
    /// When it was given, if known.
    at: Option<&'a str>,
    /// How the answer was picked for labelling, if known.
    picked: Option<&'static str>,
    submission_digest: Option<&'a str>,
    /// The kind of failure, if the person named one.
    category: Option<&'a str>,
    /// Why, in their words.
    comment: Option<&'a str>,
    /// The run of the verdict.
    run: Option<&'a str>,
    /// The score by the grader, from 0 to 1.
    score: Option<f64>,
    verdict: Option<VerdictState>,
    /// Whether the label says the same.
    agrees: Option<bool>,
}

const HEADER: [&str; 15] = [
    "id",
    "grader",
    "model",
    "trial",
    "label",
    "who",
    "at",
    "picked",
    "submission_digest",
    "category",
    "comment",
    "run",
    "score",
    "verdict",
    "agrees",
];

/// Writes the labels of a suite, one of each person, case and grader, with the verdict of a run.
#[utoipa::path(get, path = "/api/suites/{name}/labels", tag = "suites",
    params(("name" = String, Path), ExportQuery), responses(
    (status = 200, description = "The labels", content(
        (String = "application/jsonl"), (String = "text/csv"),
    )),
    (status = 400, body = ErrorEnvelope),
    (status = 404, body = ErrorEnvelope),
))]
pub(super) async fn export_labels(
    State(served): State<Arc<ServedWorkspace>>,
    AddressNames(name): AddressNames<String>,
    Params(query): Params<ExportQuery>,
) -> Result<Response, ApiError> {
    let format = query.format;
    let [ending, kind] = match format {
        LabelFormat::Jsonl => ["jsonl", "application/jsonl"],
        LabelFormat::Csv => ["csv", "text/csv; charset=utf-8"],
    };
    let file = format!("attachment; filename=\"{}.labels.{ending}\"", file_name(&name));
    let text = beside(move || {
        let suite = served.known_suite(&name)?;
        let source = ExportSource::open(&served, suite, &query)?;
        source.written(format).map_err(ApiError::failed)
    });
    let headers = [(header::CONTENT_TYPE, kind.to_owned()), (header::CONTENT_DISPOSITION, file)];
    Ok((headers, text.await?).into_response())
}

/// Labels, and the verdicts that they are compared with.
struct ExportSource {
    run: Option<PastRun>,
    rows: Arc<RunRows>,
    labels: RunLabels,
    /// The grader that is wanted; none for all.
    only: Option<String>,
    /// Whether labels of cases that the run has not are left out.
    of_run_only: bool,
}

impl ExportSource {
    fn open(
        served: &ServedWorkspace,
        suite: &ServedSuite,
        query: &ExportQuery,
    ) -> Result<Self, ApiError> {
        let run = match &query.run {
            Some(id) => {
                let run = served.run(id)?;
                if run.header.suite != suite.name {
                    return Err(ApiError::not_found("`run` is a run of another suite"));
                }
                Some(run)
            }
            None => compared_run(served, &suite.name),
        };
        let rows = match &run {
            Some(run) => served.rows(run),
            None => {
                Arc::new(RunRows { graders: present_graders(served, suite)?, ..RunRows::default() })
            }
        };
        if let Some(name) = query.grader.as_ref().filter(|name| rows.grader(name).is_none()) {
            return Err(ApiError::not_found(format!("`grader`: there is no grader `{name}`")));
        }
        let labels = served.suite_labels(suite, &rows.graders);
        let only = query.grader.clone();
        Ok(Self { run, rows, labels, only, of_run_only: query.run.is_some() })
    }

    fn written(&self, format: LabelFormat) -> io::Result<Vec<u8>> {
        let mut text = Vec::new();
        let labels = self.labels();
        match format {
            LabelFormat::Csv => {
                let rows = labels.iter().map(ExportedLabel::cells);
                write_text_rows(&HEADER, rows, &mut text)?;
            }
            LabelFormat::Jsonl => {
                for label in &labels {
                    serde_json::to_writer(&mut text, label)?;
                    text.push(b'\n');
                }
            }
        }
        Ok(text)
    }

    fn graders(&self) -> impl Iterator<Item = (usize, &LabelledGrader)> {
        let all = self.rows.graders.iter().enumerate();
        all.filter(|(_, grader)| self.only.as_ref().is_none_or(|only| grader.name == *only))
    }

    /// Those of the run in the order of its results, then those without a result.
    fn labels(&self) -> Vec<ExportedLabel<'_>> {
        let mut found = Vec::new();
        for row in &self.rows.rows {
            for (at, grader) in self.graders() {
                let answer = self.rows.answer(row, row.verdicts[at]);
                if self.labels.holds_out(&answer) {
                    continue;
                }
                for line in self.labels.lines(&answer, grader) {
                    found.push(self.beside_verdict(row, at, line));
                }
            }
        }
        if !self.of_run_only {
            let mut results: HashMap<&str, Vec<&IndexedRow>> = HashMap::new();
            for row in &self.rows.rows {
                results.entry(&row.sample_id).or_default().push(row);
            }
            for (sample, lines) in self.labels.samples() {
                let rows = results.get(sample).map_or(&[][..], Vec::as_slice);
                let own = lines.iter().filter(|line| self.is_left(sample, line, rows));
                found.extend(own.map(|line| ExportedLabel::of(sample, line)));
            }
        }
        found
    }

    /// Whether a line is of none of the `rows` of its sample. Nothing says of such a line without a digest that it is not held out.
    fn is_left(&self, sample: &str, line: &LabelLine, rows: &[&IndexedRow]) -> bool {
        let is_wanted = self.only.as_ref().is_none_or(|only| line.is_for(only));
        let of = LabelledAnswer {
            sample,
            model: None,
            trial: 0,
            submission: line.submission.as_deref().map(digest_number),
        };
        is_wanted && !self.labels.holds_out(&of) && !rows.iter().any(|row| self.is_of(row, line))
    }

    fn is_of(&self, row: &IndexedRow, line: &LabelLine) -> bool {
        let is_answer = |at: usize| {
            let of = line.submission.as_deref().map(digest_number);
            of.is_none_or(|of| of == row.verdicts[at].submission)
        };
        line.is_of(self.rows.model_of(row), row.trial)
            && self.graders().any(|(at, grader)| line.is_for(&grader.name) && is_answer(at))
    }

    fn beside_verdict<'a>(
        &'a self,
        row: &'a IndexedRow,
        at: usize,
        line: &'a LabelLine,
    ) -> ExportedLabel<'a> {
        let grader = &self.rows.graders[at];
        let verdict = row.verdicts[at];
        let passed = verdict.state.passed();
        let label = line.said.on(grader.scale);
        let passes = label.map(|label| label.passes(grader.threshold));
        ExportedLabel {
            grader: Some(&grader.name),
            model: self.rows.model_of(row),
            trial: Some(row.trial).filter(|_| self.rows.trials > 1),
            run: self.run.as_ref().map(|run| run.id.as_str()),
            score: passed.map(|_| verdict.score),
            verdict: Some(verdict.state),
            agrees: passed.zip(passes).map(|(passed, passes)| passed == passes),
            ..ExportedLabel::of(&row.sample_id, line)
        }
    }
}

/// The graders of a suite that has no run yet.
fn present_graders(
    served: &ServedWorkspace,
    suite: &ServedSuite,
) -> Result<Vec<LabelledGrader>, ApiError> {
    served.with_suite(suite, &[], |SuiteNow { session, .. }| {
        let settings = header_of(session).settings;
        labelled_graders(&PastHeader { settings, ..PastHeader::default() })
    })
}

impl<'a> ExportedLabel<'a> {
    /// A line of the file, without a verdict.
    fn of(sample: &'a str, line: &'a LabelLine) -> Self {
        let label = match line.said {
            LabelValue::Pass(pass) => Value::from(pass),
            LabelValue::Number(score) => written_score(score),
            LabelValue::Each(_) | LabelValue::ByOutput(_) | LabelValue::Strange => Value::Null,
        };
        Self {
            id: sample,
            grader: line.grader.as_deref(),
            model: line.model.as_deref(),
            trial: line.trial,
            label,
            who: line.who.as_deref(),
            at: line.at.as_deref(),
            picked: line.picked.map(LabelPick::name),
            submission_digest: line.submission.as_deref(),
            category: line.note.category.as_deref(),
            comment: line.note.comment.as_deref(),
            run: None,
            score: None,
            verdict: None,
            agrees: None,
        }
    }

    /// The texts of its members, in the order of the header.
    fn cells(&self) -> Vec<String> {
        let text = |value: &Value| match value {
            Value::Null => String::new(),
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let members = serde_json::to_value(self).unwrap_or_default();
        HEADER.iter().map(|name| text(&members[*name])).collect()
    }
}
