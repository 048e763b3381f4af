//! Two evaluations compared, as plain data: the shape of `diff --json`. Reports write it for people.
//!
//! Knows what was recorded, not where: no file is read here. Cases are matched by sample, model and trial. Means, pass
//! rates and their statistics are those of the cases that have a verdict in both; errors are counted and never
//! averaged.

pub mod agreement;
pub mod declared;
pub mod moved;
pub mod settings;

use std::collections::{HashMap, HashSet};

use serde::Serialize;
use serde_json::{Map, Value};

use crate::gate::GateReport;
use crate::metric::declared::MetricValue;
use crate::metric::paired::{Pair, Paired, PairedVerdict};
use evalrs_base::ordered_map::Ordered;
use evalrs_model::delta::{Cell, CellState, Movement, MovementCounts};
use evalrs_model::key::ActionKey;

pub use agreement::{AgreementDiff, DiffGraderLabels, DiffLabels};
pub(crate) use declared::DeclaredDiff;
pub use moved::{Moved, MovedGrade};
pub use settings::{SettingChange, changes_in_words};

/// How many cases that only one side has are named.
const NAMED: usize = 5;

/// One of the two evaluations.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DiffSide {
    /// Which it is.
    pub name: SideName,
    /// The settings that decided its results, as `header.json` holds them; none where they are not recorded.
    pub settings: Option<Map<String, Value>>,
    /// File → digest of its bytes; none where they are not recorded.
    pub inputs: Option<Map<String, Value>>,
    /// The rubrics of its graders.
    pub rubrics: Vec<SideRubric>,
    /// What the gate says.
    pub gate: GateReport,
    /// The graders, in the order of the suite.
    pub graders: Vec<String>,
    /// Metric that the suite declares → what it came to, with its draws where they are kept.
    pub declared: Ordered<MetricValue>,
    /// The cases, in dataset order as far as it is known.
    pub cases: Vec<SideCase>,
}

/// The rubric of a grader.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SideRubric {
    /// The grader.
    pub grader: String,
    /// The digest of its text, in hexadecimal.
    pub digest: String,
    /// The text; none where it is not recorded.
    pub text: Option<String>,
}

/// Which evaluation it is.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SideName {
    /// The suite's name.
    pub suite: String,
    /// The run.
    pub run: String,
    /// The model whose results are meant, where two models of one run are compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The number of the evaluation in a `watch` session; null where the run as it ended is meant.
    pub save: Option<u32>,
    /// When it began, of a save when it ended, RFC 3339; null where that is not recorded.
    pub at: Option<String>,
    /// The version of evalrs; empty where it is not recorded.
    pub evalrs: String,
    /// The files whose change led to it; only of a save.
    pub files: Vec<String>,
    /// Results: samples × models × trials.
    pub results: usize,
    /// Whether every grade was known.
    pub complete: bool,
}

impl SideName {
    /// The name as it is typed.
    pub fn reference(&self) -> String {
        let run = match self.save {
            Some(save) => format!("{}@{save}", self.run),
            None => self.run.clone(),
        };
        match &self.model {
            Some(model) => format!("{run} {model}"),
            None => run,
        }
    }
}

impl DiffSide {
    /// The rubric of a grader.
    fn rubric(&self, grader: &str) -> Option<&SideRubric> {
        self.rubrics.iter().find(|rubric| rubric.grader == grader)
    }

    /// The results of one model alone, named as if there were no other; none where it has none.
    pub fn of_model(&self, model: &str) -> Option<Self> {
        let own = |case: &&SideCase| case.name.model.as_deref() == Some(model);
        let unnamed = |case: &SideCase| SideCase {
            name: CaseName { model: None, ..case.name.clone() },
            grades: case.grades.clone(),
        };
        let cases: Vec<SideCase> = self.cases.iter().filter(own).map(unnamed).collect();
        let name =
            SideName { model: Some(model.to_owned()), results: cases.len(), ..self.name.clone() };
        (!cases.is_empty()).then(|| Self {
            name,
            cases,
            gate: GateReport::default(),
            // They are over all models.
            declared: Ordered::default(),
            ..self.clone()
        })
    }
}

/// A sample × model × trial.
#[derive(Clone, Debug, PartialEq)]
pub struct SideCase {
    /// Whose it is.
    pub name: CaseName,
    /// One for each grader of the side; none where it was not graded.
    pub grades: Vec<Option<SideGrade>>,
}

/// The name of a case.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct CaseName {
    /// The sample.
    pub sample_id: String,
    /// The model that was run.
    pub model: Option<String>,
    /// The repetition, from 0.
    pub trial: u32,
}

/// A grade, as far as it is compared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SideGrade {
    /// 0.0..=1.0.
    pub score: f64,
    /// Whether it counts as a pass.
    pub pass: bool,
    /// Whether it could not be made.
    pub error: bool,
    /// Whether the grader has something to say of the case.
    pub applies: bool,
    /// The key of its first judgment.
    pub key: Option<ActionKey>,
    /// Digest of what was graded; none where that is not recorded.
    pub answer: Option<u64>,
}

impl SideGrade {
    /// Whether the grader says something of the case.
    pub fn is_verdict(self) -> bool {
        self.applies && !self.error
    }
}

/// What differs between two evaluations.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Diff {
    /// The version of this shape.
    pub format: u32,
    /// The first.
    pub before: SideName,
    /// The second.
    pub now: SideName,
    /// The settings that differ, of graders that both have.
    pub settings: Vec<SettingChange>,
    /// The files that differ, by the digests of their bytes.
    pub files: Vec<SettingChange>,
    /// Grader → what moved, in the order of the second; only graders that both have.
    pub graders: Ordered<GraderDiff>,
    /// Graders that only the first has.
    pub graders_only_before: Vec<String>,
    /// Graders that only the second has.
    pub graders_only_now: Vec<String>,
    /// Declared metric → what it came to in both, in the order of the second; none where one grader is asked for.
    #[serde(skip_serializing_if = "has_none")]
    pub declared: Ordered<DeclaredDiff>,
    /// Declared metrics that only the first has.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub declared_only_before: Vec<String>,
    /// Declared metrics that only the second has.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub declared_only_now: Vec<String>,
    /// Which cases are compared.
    pub cases: CasesDiff,
    /// What the gates say.
    pub gate: GateDiff,
    /// The verdicts that moved: first those that no longer say what people say, then broken ones, each by how far.
    pub moved: Vec<Moved>,
}

fn has_none(metrics: &Ordered<DeclaredDiff>) -> bool {
    metrics.0.is_empty()
}

/// What moved for one grader.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct GraderDiff {
    /// The statistics of the cases that have a verdict in both.
    pub paired: Paired,
    /// Whether it became worse by more than chance explains; null unless that was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is_regression: Option<bool>,
    /// How many grades moved in which way, errors included.
    pub counts: MovementCounts,
    /// How far they agree with people; none where nobody labelled what both have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agreement: Option<AgreementDiff>,
}

/// Which cases are compared.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct CasesDiff {
    /// Cases of both.
    pub both: usize,
    /// Cases that only the first has.
    pub only_before: OnlyCases,
    /// Cases that only the second has.
    pub only_now: OnlyCases,
}

/// Cases that one of two evaluations has.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct OnlyCases {
    /// How many.
    pub count: usize,
    /// The first of them.
    pub first: Vec<CaseName>,
}

impl OnlyCases {
    fn add(&mut self, name: &CaseName) {
        self.count += 1;
        if self.first.len() < NAMED {
            self.first.push(name.clone());
        }
    }
}

/// What two gates say.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct GateDiff {
    /// The gate of the first.
    pub before: GateReport,
    /// The gate of the second.
    pub now: GateReport,
}

/// Compares two evaluations; with a name, only that grader.
pub fn compare(before: &DiffSide, now: &DiffSide, grader: Option<&str>) -> Diff {
    compare_with(before, now, grader, &DiffLabels::default())
}

/// The same, and how far both agree with these labels.
pub fn compare_with(
    before: &DiffSide,
    now: &DiffSide,
    grader: Option<&str>,
    labels: &DiffLabels,
) -> Diff {
    let is_wanted = |name: &&String| grader.is_none_or(|wanted| wanted == name.as_str());
    let graders = common_graders(before, now, &is_wanted);
    let (pairs, cases) = matched(before, now);
    let mut moved = Vec::new();
    let compared = graders.iter().map(|(name, columns)| {
        let column = GraderColumn { name, places: *columns, labels: labels.0.get(name) };
        (name.clone(), column.diff(&pairs, &mut moved))
    });
    let compared = Ordered(compared.collect());
    moved::sort(&mut moved);
    let only = |one: &DiffSide, other: &DiffSide| -> Vec<String> {
        let names = one.graders.iter().filter(is_wanted);
        names.filter(|name| !other.graders.contains(name)).cloned().collect()
    };
    let names: Vec<&str> = graders.iter().map(|(name, _)| name.as_str()).collect();
    let has_metrics = grader.is_none();
    let only_metrics = |one: &DiffSide, other: &DiffSide| {
        if has_metrics { declared::only_in(one, other) } else { Vec::new() }
    };
    let in_both = has_metrics.then(|| declared::compared(before, now, &pairs));
    Diff {
        format: evalrs_model::record_format::FORMAT,
        before: before.name.clone(),
        now: now.name.clone(),
        settings: settings::changes(before, now, &names),
        files: settings::file_changes(before, now),
        graders: compared,
        graders_only_before: only(before, now),
        graders_only_now: only(now, before),
        declared: in_both.unwrap_or_default(),
        declared_only_before: only_metrics(before, now),
        declared_only_now: only_metrics(now, before),
        cases,
        gate: GateDiff { before: before.gate.clone(), now: now.gate.clone() },
        moved,
    }
}

/// Marks the graders that became worse by more than chance explains, and says whether there is one.
///
/// Each is tested alone: of twenty that did not change, one is expected to be marked at 0.05.
pub fn mark_regressions(diff: &mut Diff, alpha: f64) -> bool {
    for (_, grader) in &mut diff.graders.0 {
        let Paired { difference, difference_p_value, .. } = grader.paired;
        let is_worse = difference.is_some_and(|difference| difference < 0.0);
        grader.is_regression = Some(is_worse && difference_p_value.is_some_and(|p| p <= alpha));
    }
    diff.graders.0.iter().any(|(_, grader)| grader.is_regression == Some(true))
}

/// Why two evaluations are hardly worth comparing, a sentence each; empty where they are alike.
pub fn unlike(diff: &Diff) -> Vec<String> {
    let mut reasons = Vec::new();
    let before = &diff.before.suite;
    let now = &diff.now.suite;
    if before != now {
        reasons.push(format!("the suites are `{before}` and `{now}`"));
    }
    if diff.graders.0.is_empty() {
        let named = |names: &[String]| match names {
            [] => "no grader".to_owned(),
            names => format!("`{}`", names.join("`, `")),
        };
        let before = named(&diff.graders_only_before);
        let now = named(&diff.graders_only_now);
        reasons.push(format!("no grader is in both: {before} against {now}"));
    }
    if diff.cases.both == 0 {
        reasons.push("no sample, model and trial is in both".to_owned());
    }
    reasons
}

/// The graders that both have, in the order of the second, and where their grades stand in both.
fn common_graders(
    before: &DiffSide,
    now: &DiffSide,
    is_wanted: &dyn Fn(&&String) -> bool,
) -> Vec<(String, [usize; 2])> {
    let place = |name: &String| before.graders.iter().position(|other| other == name);
    let wanted = now.graders.iter().enumerate().filter(|(_, name)| is_wanted(name));
    wanted.filter_map(|(at, name)| Some((name.clone(), [place(name)?, at]))).collect()
}

/// A case of both, and the ordinal of its sample.
pub struct Match<'a> {
    sample: u32,
    before: &'a SideCase,
    now: &'a SideCase,
}

/// The cases of both, in the order of the second, and those of only one.
fn matched<'a>(before: &'a DiffSide, now: &'a DiffSide) -> (Vec<Match<'a>>, CasesDiff) {
    let by_name: HashMap<&CaseName, &SideCase> =
        before.cases.iter().map(|case| (&case.name, case)).collect();
    let mut samples: HashMap<&str, u32> = HashMap::new();
    let mut found = Vec::new();
    let mut cases = CasesDiff::default();
    for case in &now.cases {
        let Some(before) = by_name.get(&case.name) else {
            cases.only_now.add(&case.name);
            continue;
        };
        let next = samples.len() as u32;
        let sample = *samples.entry(&case.name.sample_id).or_insert(next);
        found.push(Match { sample, before, now: case });
    }
    cases.both = found.len();
    if cases.both < before.cases.len() {
        let there: HashSet<&CaseName> = now.cases.iter().map(|case| &case.name).collect();
        let gone = before.cases.iter().filter(|case| !there.contains(&case.name));
        gone.for_each(|case| cases.only_before.add(&case.name));
    }
    (found, cases)
}

/// The grades of a grader in both.
struct GraderColumn<'a> {
    name: &'a str,
    /// Where its grades stand in the first and in the second.
    places: [usize; 2],
    labels: Option<&'a DiffGraderLabels>,
}

impl GraderColumn<'_> {
    fn diff(&self, matches: &[Match<'_>], moved: &mut Vec<Moved>) -> GraderDiff {
        let mut pairs = Vec::new();
        let mut counts = MovementCounts::default();
        for pair in matches {
            let of = |case: &SideCase, at: usize| case.grades.get(at).copied().flatten();
            let before = of(pair.before, self.places[0]);
            let now = of(pair.now, self.places[1]);
            // Neither knows of it: the grader does not grade this case.
            if before.is_none() && now.is_none() {
                continue;
            }
            let movement = Movement::of(before.map(cell), now.map_or(NOT_KNOWN, cell));
            counts.add(movement);
            let (Some(before), Some(now)) = (before, now) else { continue };
            if before.is_verdict() && now.is_verdict() {
                let verdict =
                    |grade: SideGrade| PairedVerdict { score: grade.score, pass: grade.pass };
                pairs.push(Pair {
                    sample: pair.sample,
                    before: verdict(before),
                    now: verdict(now),
                });
            }
            if movement.is_move() {
                let case = &pair.now.name;
                moved.push(Moved {
                    case: case.clone(),
                    grader: self.name.to_owned(),
                    movement,
                    label: self.labels.and_then(|labels| labels.of_moved(case, before, now)),
                    before: MovedGrade::of(before),
                    now: MovedGrade::of(now),
                });
            }
        }
        GraderDiff {
            paired: Paired::of(&pairs),
            counts,
            is_regression: None,
            agreement: self.labels.and_then(|labels| labels.compared(self.places, matches)),
        }
    }
}

const NOT_KNOWN: Cell = Cell { score: 0.0, state: CellState::Pending };

fn cell(grade: SideGrade) -> Cell {
    let state = match () {
        () if !grade.applies => CellState::NotApplicable,
        () if grade.error => CellState::Errored,
        () => CellState::of_verdict(grade.pass),
    };
    Cell { score: grade.score, state }
}
