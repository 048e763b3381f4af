//! The results of a run as rows: small enough that those of a hundred thousand cases are kept in memory and
//! searched.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use super::beginnings::beginning;
use super::judge_spend::JudgeSpend;
use super::labels::{LabelView, LabelledAnswer, LabelledGrader, PeopleView, RunLabels};
use super::lines::{each_result, parsed};
use evalrs_base::ordered_map::OrderedMap;
use evalrs_base::threshold;
use evalrs_eval::dataset::label_file::digest_number;
use evalrs_eval::votes::answer_digest;
use evalrs_metrics::metric::labels::LabelAgreement;
use evalrs_model::delta::{Cell, CellState};
use evalrs_model::record_format::reads_line;
use evalrs_model::spec::rubric_of;
use evalrs_store::record::read::PastRun;
use evalrs_store::record::sample_lines::{id_in, written_id};
use evalrs_system::System;

/// The characters of a submission that a row shows.
const SHOWN: usize = 200;

#[derive(Debug, Default)]
pub(crate) struct RunRows {
    /// The graders of the run, in its order.
    pub graders: Vec<LabelledGrader>,
    /// The models, in the order in which they first appear.
    pub models: Vec<String>,
    pub rows: Vec<IndexedRow>,
    /// Lines that cannot be read.
    pub broken: usize,
    /// How often each sample is tried, at most.
    pub trials: u32,
}

#[derive(Debug)]
pub(crate) struct IndexedRow {
    pub sample_id: Box<str>,
    pub model: Option<u32>,
    /// The repetition, from 0.
    pub trial: u32,
    /// Its number among all lines of the file, from 0.
    pub at: u32,
    submission: Box<str>,
    /// The beginning of what the target was given.
    pub input: Box<str>,
    /// The beginning of the reference answer.
    pub ground_truth: Box<str>,
    pub spend: JudgeSpend,
    /// One for each grader, in their order.
    pub verdicts: Box<[CellVerdict]>,
}

/// What a grader says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct CellVerdict {
    /// 0.0..=1.0; 0 where there is none.
    pub score: f64,
    pub state: VerdictState,
    /// The digest of what was graded, see [`answer_digest`].
    pub submission: u64,
    /// Whether votes are on both sides of the threshold.
    pub is_split: bool,
}

/// The result of grading.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[derive(utoipa::ToSchema)]
pub(crate) enum VerdictState {
    /// It passes.
    Passed,
    /// It does not.
    Failed,
    /// It could not be graded.
    Errored,
    /// It is not graded yet.
    Pending,
    /// The grader has nothing to say of it.
    NotApplicable,
}

impl VerdictState {
    /// Whether it passed, where it was graded.
    pub(crate) fn passed(self) -> Option<bool> {
        match self {
            Self::Passed => Some(true),
            Self::Failed => Some(false),
            Self::Errored | Self::Pending | Self::NotApplicable => None,
        }
    }
}

/// A row as pages show it.
#[derive(Clone, Debug, PartialEq, Serialize, utoipa::ToSchema)]
pub(crate) struct RowView {
    /// Its number among all results of the run, from 0.
    at: u32,
    /// The sample.
    sample_id: String,
    /// The model that was run.
    model: Option<String>,
    /// The repetition, from 0.
    trial: u32,
    /// The first 200 characters of what was graded.
    submission: String,
    /// Grader → its verdict.
    #[schema(value_type = BTreeMap<String, RowVerdict>)]
    grades: OrderedMap<RowVerdict>,
    /// Chosen column → its value: a number, a text, or the texts of tags; null where it is not recorded.
    #[serde(skip_serializing_if = "OrderedMap::is_empty")]
    #[schema(value_type = BTreeMap<String, Value>)]
    pub columns: OrderedMap<Value>,
}

/// A verdict in a row.
#[derive(Clone, Debug, PartialEq, Serialize, utoipa::ToSchema)]
pub(crate) struct RowVerdict {
    /// 0.0..=1.0; null where there is none.
    pub score: Option<f64>,
    /// Its result.
    pub state: VerdictState,
    /// The human label.
    pub label: Option<LabelView>,
    /// Whether some people say that it passes and others that it does not.
    pub disputed: bool,
}

/// A line of results, as far as rows need it.
#[derive(Deserialize)]
struct Line<'a> {
    format: u32,
    #[serde(borrow)]
    sample_id: Cow<'a, str>,
    #[serde(borrow, default)]
    model: Option<Cow<'a, str>>,
    #[serde(default)]
    trial: u32,
    #[serde(borrow, default)]
    input: Option<&'a RawValue>,
    #[serde(borrow, default)]
    ground_truth: Option<&'a RawValue>,
    #[serde(borrow, default)]
    submission: LineText<'a>,
    #[serde(borrow, default)]
    submissions: BTreeMap<LineText<'a>, LineText<'a>>,
    #[serde(borrow, default)]
    grades: BTreeMap<LineText<'a>, LineGrade<'a>>,
    #[serde(borrow, default)]
    not_applicable: BTreeMap<LineText<'a>, &'a RawValue>,
}

/// A text that is copied only where it was written with escapes.
#[derive(Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
struct LineText<'a>(#[serde(borrow)] Cow<'a, str>);

impl std::borrow::Borrow<str> for LineText<'_> {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl Line<'_> {
    fn submission_of(&self, grader: &str) -> &str {
        &self.submissions.get(grader).unwrap_or(&self.submission).0
    }

    /// What its judges used. Grades of one key are of one judgment.
    fn spend(&self) -> JudgeSpend {
        let mut keys: Vec<&str> = Vec::new();
        let mut spend = JudgeSpend::default();
        for grade in self.grades.values() {
            for one in std::iter::once(grade).chain(grade.criteria.values()) {
                let Some(own) = one.metadata.map(RawValue::get).and_then(JudgeSpend::read) else {
                    continue;
                };
                let key = one.key.as_ref().map(|key| &*key.0);
                if key.is_none_or(|key| !keys.contains(&key)) {
                    spend.add(own);
                    keys.extend(key);
                }
            }
        }
        spend
    }

    /// That of a criterion stands in that of its rubric.
    fn grade_of(&self, grader: &str) -> Option<&LineGrade<'_>> {
        self.grades.get(grader).or_else(|| {
            let (rubric, criterion) = rubric_of(grader)?;
            self.grades.get(rubric)?.criteria.get(criterion)
        })
    }

    /// The row, and its model.
    fn row(&self, at: u32, graders: &[LabelledGrader]) -> (IndexedRow, Option<Box<str>>) {
        let mut texts = graders.iter().map(|grader| self.submission_of(&grader.name));
        let first = texts.find(|text| !text.is_empty()).unwrap_or(&self.submission.0);
        let submission: String = first.chars().take(SHOWN).collect();
        let verdict = |grader: &LabelledGrader| {
            let name = grader.name.as_str();
            let verdict = match self.grade_of(name) {
                Some(grade) => grade.verdict(grader),
                None if self.not_applicable.contains_key(name) => NOT_APPLICABLE,
                None => NOT_GRADED,
            };
            let graded = answer_digest(self.submission_of(name));
            CellVerdict { submission: digest_number(&graded), ..verdict }
        };
        let row = IndexedRow {
            sample_id: self.sample_id.as_ref().into(),
            model: None,
            trial: self.trial,
            at,
            submission: submission.into(),
            input: beginning(self.input),
            ground_truth: beginning(self.ground_truth),
            spend: self.spend(),
            verdicts: graders.iter().map(verdict).collect(),
        };
        (row, self.model.as_deref().map(Box::from))
    }
}

#[derive(Deserialize)]
struct LineGrade<'a> {
    #[serde(default)]
    score: Option<f64>,
    #[serde(default)]
    pass: Option<bool>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
    #[serde(borrow, default)]
    key: Option<LineText<'a>>,
    #[serde(borrow, default)]
    metadata: Option<&'a RawValue>,
    #[serde(borrow, default)]
    criteria: BTreeMap<LineText<'a>, LineGrade<'a>>,
}

/// What is said of votes beside a grade.
#[derive(Deserialize)]
struct WithVotes {
    /// On the scale of the judge; null of one that failed.
    votes: Vec<Option<f64>>,
}

/// Whether the votes that this says something of are on both sides of the threshold.
fn are_split(metadata: &RawValue, grader: &LabelledGrader) -> bool {
    let text = metadata.get();
    if !text.contains("\"votes\"") {
        return false;
    }
    let Ok(WithVotes { votes }) = serde_json::from_str(text) else { return false };
    let passes = |vote: &f64| threshold::reaches(grader.scale.unit(*vote), grader.threshold);
    let known: Vec<bool> = votes.iter().flatten().map(passes).collect();
    known.contains(&true) && known.contains(&false)
}

impl LineGrade<'_> {
    fn verdict(&self, grader: &LabelledGrader) -> CellVerdict {
        let is_error = self.error.is_some_and(|error| error.get() != "null");
        let state = match (is_error, self.pass) {
            (true, _) => VerdictState::Errored,
            (false, Some(true)) => VerdictState::Passed,
            (false, Some(false)) => VerdictState::Failed,
            (false, None) => VerdictState::Pending,
        };
        let score = self.score.filter(|_| !is_error).unwrap_or(0.0);
        let is_split = self.metadata.is_some_and(|metadata| are_split(metadata, grader));
        CellVerdict { score, state, submission: 0, is_split }
    }
}

const NOT_GRADED: CellVerdict =
    CellVerdict { score: 0.0, state: VerdictState::Pending, submission: 0, is_split: false };

const NOT_APPLICABLE: CellVerdict =
    CellVerdict { score: 0.0, state: VerdictState::NotApplicable, submission: 0, is_split: false };

impl RunRows {
    pub(crate) fn read(system: &dyn System, run: &PastRun, graders: Vec<LabelledGrader>) -> Self {
        let all = parsed(system, run, &|at, bytes| {
            let line = serde_json::from_slice::<Line<'_>>(bytes).ok();
            line.filter(|line| reads_line(line.format)).map(|line| line.row(at, &graders))
        });
        let mut rows = Self { graders, ..Self::default() };
        for row in all {
            match row {
                Some((row, model)) => rows.add(row, model.as_deref()),
                None => rows.broken += 1,
            }
        }
        rows.rows.shrink_to_fit();
        rows
    }

    /// The rows of one sample, without reading the others.
    pub(crate) fn of_one_sample(
        system: &dyn System,
        run: &PastRun,
        graders: Vec<LabelledGrader>,
        sample: &str,
    ) -> Self {
        let written = written_id(sample);
        let mut rows = Self { graders, ..Self::default() };
        each_result(system, run, &mut |at, bytes| {
            if id_in(bytes).is_some_and(|id| id != written) {
                return;
            }
            let line = serde_json::from_slice::<Line<'_>>(bytes).ok();
            if let Some(line) = line.filter(|line| reads_line(line.format))
                && line.sample_id.as_ref() == sample
            {
                let (row, model) = line.row(at, &rows.graders);
                rows.add(row, model.as_deref());
            }
        });
        rows
    }

    fn add(&mut self, row: IndexedRow, model: Option<&str>) {
        self.trials = self.trials.max(row.trial.saturating_add(1));
        let model = model.map(|model| self.model(model));
        self.rows.push(IndexedRow { model, ..row });
    }

    fn model(&mut self, name: &str) -> u32 {
        let known = self.models.iter().position(|model| model == name);
        let at = known.unwrap_or_else(|| {
            self.models.push(name.to_owned());
            self.models.len() - 1
        });
        u32::try_from(at).unwrap_or(u32::MAX)
    }

    pub(crate) fn model_of(&self, row: &IndexedRow) -> Option<&str> {
        self.models.get(row.model? as usize).map(String::as_str)
    }

    /// A row as pages show it.
    pub(crate) fn view(&self, row: &IndexedRow, labels: &RunLabels) -> RowView {
        let graders = self.graders.iter().zip(&row.verdicts);
        let grades = graders.map(|(grader, verdict)| {
            let score = verdict.state.passed().map(|_| verdict.score);
            let PeopleView { label, disputed, .. } = self.people(row, grader, *verdict, labels);
            (grader.name.clone(), RowVerdict { score, state: verdict.state, label, disputed })
        });
        RowView {
            at: row.at,
            sample_id: row.sample_id.to_string(),
            model: self.model_of(row).map(str::to_owned),
            trial: row.trial,
            submission: row.submission.to_string(),
            grades: OrderedMap(grades.collect()),
            columns: OrderedMap::default(),
        }
    }

    /// Human labels of a row for a grader.
    pub(crate) fn people(
        &self,
        row: &IndexedRow,
        grader: &LabelledGrader,
        verdict: CellVerdict,
        labels: &RunLabels,
    ) -> PeopleView {
        let said = labels.said(&self.answer(row, verdict), grader);
        PeopleView::new(&said, grader.threshold, verdict.state.passed())
    }

    /// What a label of the row has to be of.
    pub(crate) fn answer<'a>(
        &'a self,
        row: &'a IndexedRow,
        verdict: CellVerdict,
    ) -> LabelledAnswer<'a> {
        LabelledAnswer {
            sample: &row.sample_id,
            model: self.model_of(row),
            trial: row.trial,
            submission: Some(verdict.submission),
        }
    }

    /// The rows of a sample: of this model and this trial if they are given.
    pub(crate) fn of_sample<'a>(
        &'a self,
        sample: &'a str,
        model: Option<&'a str>,
        trial: Option<u32>,
    ) -> impl Iterator<Item = &'a IndexedRow> {
        self.rows.iter().filter(move |row| {
            *row.sample_id == *sample
                && trial.is_none_or(|trial| trial == row.trial)
                && model.is_none_or(|model| self.model_of(row) == Some(model))
        })
    }

    pub(crate) fn grader(&self, name: &str) -> Option<usize> {
        self.graders.iter().position(|grader| grader.name == name)
    }

    /// How many scores of each grader lie in each tenth, and how many are exactly 1.
    pub(crate) fn histograms(&self) -> OrderedMap<Vec<u64>> {
        let histogram = |(at, grader): (usize, &LabelledGrader)| {
            let mut counts = vec![0; 11];
            for verdict in self.rows.iter().map(|row| row.verdicts[at]) {
                if verdict.state.passed().is_some() {
                    counts[(verdict.score * 10.0 + 1e-9).floor().clamp(0.0, 10.0) as usize] += 1;
                }
            }
            (grader.name.clone(), counts)
        };
        OrderedMap(self.graders.iter().enumerate().map(histogram).collect())
    }

    /// How far the verdicts of each grader agree with labels; only graders that have some.
    pub(crate) fn agreement(&self, labels: &RunLabels) -> OrderedMap<LabelAgreement> {
        if labels.is_empty() {
            return OrderedMap::default();
        }
        let agreement = |(at, grader): (usize, &LabelledGrader)| {
            let pairs = self.rows.iter().filter_map(|row| {
                let label = labels.label(&self.answer(row, row.verdicts[at]), grader)?;
                Some((cell(row.verdicts[at]), label))
            });
            Some((grader.name.clone(), LabelAgreement::of(pairs, grader.threshold)?))
        };
        OrderedMap(self.graders.iter().enumerate().filter_map(agreement).collect())
    }
}

impl RunRows {
    /// Category that people named → how many rows have it, the commonest first.
    pub(crate) fn categories(&self, labels: &RunLabels) -> OrderedMap<u64> {
        if labels.is_empty() {
            return OrderedMap::default();
        }
        let mut counts: BTreeMap<String, u64> = BTreeMap::new();
        for row in &self.rows {
            let of_graders =
                self.graders.iter().zip(&row.verdicts).flat_map(|(grader, verdict)| {
                    self.people(row, grader, *verdict, labels).people.into_iter()
                });
            let named: BTreeSet<String> =
                of_graders.filter_map(|one| one.category().map(str::to_owned)).collect();
            for name in named {
                *counts.entry(name).or_default() += 1;
            }
        }
        let mut counts: Vec<(String, u64)> = counts.into_iter().collect();
        counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        OrderedMap(counts)
    }
}

pub(crate) fn cell(verdict: CellVerdict) -> Cell {
    let state = match verdict.state {
        VerdictState::Passed => CellState::Passed,
        VerdictState::Failed => CellState::Failed,
        VerdictState::Errored => CellState::Errored,
        VerdictState::Pending => CellState::Pending,
        VerdictState::NotApplicable => CellState::NotApplicable,
    };
    Cell { score: verdict.score, state }
}
