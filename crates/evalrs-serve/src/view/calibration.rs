//! How far the graders of a run agree with people by the labels that there are now, and people with each other.
//!
//! The formulas are those of reports. Held-out labels are counted, and nothing else is said of them.

use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::labels::{
    LabelKeyView, PeopleView, PersonLabelView, RunLabels, SaidLabels, label_key_views,
};
use super::metrics::{MetricView, metrics};
use super::rows::{CellVerdict, IndexedRow, RunRows, cell};
use evalrs_base::ordered_map::OrderedMap;
use evalrs_metrics::metric::annotators::{AnnotatorAgreement, DisputedCase};
use evalrs_metrics::metric::holdout::HeldOutAgreement;
use evalrs_metrics::metric::label_queue::{draw_number, is_drawn};
use evalrs_metrics::metric::labels::LabelAgreement;
use evalrs_metrics::metric::people::{JudgedCase, PeopleEstimate};
use evalrs_metrics::results::calibration::GraderCalibration;
use evalrs_model::delta::Cell;
use evalrs_model::spec::{Label, LabelPick};

/// The most disputed cases of a grader that are listed.
const MOST_DISPUTED: usize = 500;

/// What human labels say of a grader.
#[derive(Clone, Debug, Default, Serialize, ToSchema)]
pub(crate) struct LabelFigures {
    /// How far its verdicts agree with people: as in a file of `evalrs calibrate`. Null where no verdict has a label.
    #[schema(value_type = Option<Object>)]
    agreement: Option<GraderCalibration>,
    /// The estimated human verdict on everything, as `people` in `summary.json`.
    #[schema(value_type = Option<Object>)]
    people: Option<PeopleEstimate>,
    /// How far people agree among themselves, as `annotators` in `summary.json`.
    #[schema(value_type = Option<Object>)]
    annotators: Option<AnnotatorAgreement>,
    /// How far it agrees with each person, by their names.
    labellers: Vec<LabellerView>,
    /// How its labels were picked. All are 0 where labels stand in rows.
    picks: PickCount,
    /// Verdicts whose label is held out.
    held_out_labels: usize,
    /// The first 500 cases on which people differ.
    disputed: Vec<DisputedView>,
    /// How many there are.
    disputed_total: usize,
}

/// A person, and how far a grader agrees with them.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct LabellerView {
    /// Their name; null where that is not known.
    who: Option<String>,
    /// How far the grader agrees with them.
    #[schema(value_type = Object)]
    agreement: GraderCalibration,
}

/// How labelled cases were picked.
#[derive(Clone, Copy, Debug, Default, Serialize, ToSchema)]
pub(crate) struct PickCount {
    /// Sampled at random.
    random: usize,
    /// Judges or votes disagree.
    disagreement: usize,
    /// The score is near the threshold.
    threshold: usize,
    /// A person chose it.
    chosen: usize,
    /// Not known: counts as random.
    unknown: usize,
}

impl PickCount {
    fn add(&mut self, picked: Option<LabelPick>) {
        *match picked {
            Some(LabelPick::Random) => &mut self.random,
            Some(LabelPick::Disagreement) => &mut self.disagreement,
            Some(LabelPick::Threshold) => &mut self.threshold,
            Some(LabelPick::Chosen) => &mut self.chosen,
            None => &mut self.unknown,
        } += 1;
    }
}

/// A case that some people pass and others fail.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct DisputedView {
    /// The sample.
    sample_id: String,
    /// The model that was run.
    model: Option<String>,
    /// The repetition, from 0.
    trial: u32,
    /// What each person says.
    people: Vec<PersonLabelView>,
    /// Whether the grader passes it; null where it has no verdict.
    passed: Option<bool>,
}

/// A case and what people say of it.
struct SaidCase<'a> {
    row: &'a IndexedRow,
    verdict: CellVerdict,
    said: SaidLabels,
}

impl SaidCase<'_> {
    fn draw(&self) -> u64 {
        draw_number(&self.row.sample_id, self.verdict.submission)
    }
}

impl LabelFigures {
    /// What labels say of the grader at `at`; none if it has none.
    pub(crate) fn of(rows: &RunRows, labels: &RunLabels, at: usize) -> Option<Self> {
        let grader = &rows.graders[at];
        let mut held_out_labels = 0;
        let mut cases = Vec::new();
        for row in &rows.rows {
            let verdict = row.verdicts[at];
            let answer = rows.answer(row, verdict);
            if labels.holds_out(&answer) {
                held_out_labels += usize::from(!labels.lines(&answer, grader).is_empty());
            }
            cases.push(SaidCase { row, verdict, said: labels.said(&answer, grader) });
        }
        let is_labelled = cases.iter().any(|case| !case.said.people.is_empty());
        if !is_labelled && held_out_labels == 0 {
            return None;
        }
        let threshold = grader.threshold;
        let mut picks = PickCount::default();
        for case in cases.iter().filter(|case| case.said.label.is_some()) {
            picks.add(case.said.picked);
        }
        let pairs = cases.iter().filter_map(|case| Some((cell(case.verdict), case.said.label?)));
        let mut disputed = disputed_cases(rows, &cases, threshold);
        let disputed_total = disputed.len();
        disputed.truncate(MOST_DISPUTED);
        Some(Self {
            agreement: compared(pairs, threshold),
            people: PeopleEstimate::of(judged_cases(&cases).into_iter(), threshold),
            annotators: AnnotatorAgreement::of(cases.iter().map(named_labels), threshold),
            labellers: labellers(&cases, threshold),
            picks,
            held_out_labels,
            disputed,
            disputed_total,
        })
    }

    /// What a run found of the labels that it had, as where these stand in rows; none if it had none.
    fn of_run(told: &ToldLabels, name: &str) -> Option<Self> {
        let agreement = told.label_agreement.get(name)?;
        let disputed = told.disputed.get(name).map_or(&[][..], Vec::as_slice);
        Some(Self {
            agreement: (agreement.n > 0).then(|| GraderCalibration::of(agreement, None)),
            people: told.people.get(name).copied(),
            annotators: told.annotators.get(name).copied(),
            disputed: disputed.iter().take(MOST_DISPUTED).map(DisputedView::of).collect(),
            disputed_total: disputed.len(),
            ..Self::default()
        })
    }
}

fn compared(
    pairs: impl Iterator<Item = (Cell, Label)>,
    threshold: f64,
) -> Option<GraderCalibration> {
    let found = LabelAgreement::of(pairs, threshold).filter(|found| found.n > 0)?;
    Some(GraderCalibration::of(&found, None))
}

/// All cases, each with its label if that may stand for others.
fn judged_cases(cases: &[SaidCase<'_>]) -> Vec<JudgedCase> {
    let sampled = cases.iter().filter(|case| case.said.picked == Some(LabelPick::Random));
    let drawn_until = sampled.map(SaidCase::draw).max();
    let mut samples = HashMap::new();
    let judged = cases.iter().map(|case| {
        let next = u32::try_from(samples.len()).unwrap_or(u32::MAX);
        let sample = *samples.entry(&*case.row.sample_id).or_insert(next);
        let is_random = is_drawn(case.said.picked, case.draw(), drawn_until);
        let label = case.said.label;
        JudgedCase {
            sample,
            cell: cell(case.verdict),
            label: label.filter(|_| is_random),
            is_chosen: label.is_some() && !is_random,
        }
    });
    judged.collect()
}

fn named_labels<'a>(case: &'a SaidCase<'_>) -> Vec<(Option<&'a str>, Label)> {
    case.said.people.iter().map(|one| (one.who.as_deref(), one.label)).collect()
}

fn labellers(cases: &[SaidCase<'_>], threshold: f64) -> Vec<LabellerView> {
    let mut pairs: BTreeMap<Option<&str>, Vec<(Cell, Label)>> = BTreeMap::new();
    for case in cases {
        for (who, label) in named_labels(case) {
            pairs.entry(who).or_default().push((cell(case.verdict), label));
        }
    }
    let views = pairs.into_iter().filter_map(|(who, pairs)| {
        let agreement = compared(pairs.into_iter(), threshold)?;
        Some(LabellerView { who: who.map(str::to_owned), agreement })
    });
    views.collect()
}

fn disputed_cases(rows: &RunRows, cases: &[SaidCase<'_>], threshold: f64) -> Vec<DisputedView> {
    let disputed = cases.iter().filter_map(|case| {
        let passed = case.verdict.state.passed();
        let view = PeopleView::new(&case.said, threshold, passed);
        view.disputed.then(|| DisputedView {
            sample_id: case.row.sample_id.to_string(),
            model: rows.model_of(case.row).map(str::to_owned),
            trial: case.row.trial,
            people: view.people,
            passed,
        })
    });
    disputed.collect()
}

impl DisputedView {
    /// A case as `summary.json` has it: without the verdict.
    fn of(case: &DisputedCase) -> Self {
        let says = |pass: bool| move |who: &String| PersonLabelView::of_verdict(who, pass);
        let passes = case.passes.iter().map(says(true));
        Self {
            sample_id: case.sample_id.clone(),
            model: case.model.clone(),
            trial: case.trial,
            people: passes.chain(case.fails.iter().map(says(false))).collect(),
            passed: None,
        }
    }
}

/// What `summary.json` says of labels, as far as it can be read.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ToldLabels {
    label_agreement: OrderedMap<LabelAgreement>,
    pub held_out: OrderedMap<HeldOutAgreement>,
    annotators: OrderedMap<AnnotatorAgreement>,
    disputed: OrderedMap<Vec<DisputedCase>>,
    pub people: OrderedMap<PeopleEstimate>,
}

impl ToldLabels {
    pub(crate) fn of(summary: &Value) -> Self {
        Self::deserialize(summary).unwrap_or_default()
    }
}

/// A grader of a run as the page of the calibration shows it.
#[derive(Clone, Debug, Default, Serialize, ToSchema)]
pub(crate) struct CalibratedRunGrader {
    /// Its own verdicts.
    metric: Option<MetricView>,
    /// What labels say of it; null if it has none.
    labels: Option<LabelFigures>,
    /// The reported agreement with held-out labels, as the run reported it. Reading it counts as no query.
    #[schema(value_type = Option<Object>)]
    held_out: Option<HeldOutAgreement>,
    /// The keys that label what it grades: they say what scores are on its scale.
    label_keys: Vec<LabelKeyView>,
}

/// Grader → what a run and the present labels say of it.
pub(crate) fn calibrated_graders(
    rows: &RunRows,
    labels: &RunLabels,
    summary: &Value,
) -> OrderedMap<CalibratedRunGrader> {
    let told = ToldLabels::of(summary);
    let metrics = metrics(summary);
    let graders = rows.graders.iter().enumerate().map(|(at, grader)| {
        let name = &grader.name;
        // A file without labels may be one beside rows that have some.
        let figures = if labels.is_empty() {
            LabelFigures::of_run(&told, name)
        } else {
            LabelFigures::of(rows, labels, at)
        };
        let view = CalibratedRunGrader {
            metric: metrics.get(name).cloned(),
            labels: figures,
            held_out: told.held_out.get(name).copied(),
            label_keys: label_key_views(grader.scale),
        };
        (name.clone(), view)
    });
    OrderedMap(graders.collect())
}
