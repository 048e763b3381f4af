//! Two evaluations compared, as plain data: the shape of `diff --json`. Reports write it for people.
//!
//! Knows what was recorded, not where: no file is read here. Cases are matched by sample, model and trial. Means, pass
//! rates and their statistics are those of the cases that have a verdict in both; errors are counted and never
//! averaged.

pub mod agreement;
pub mod declared;
pub mod moved;
pub mod settings;
pub mod side;
pub mod since;

use std::collections::{HashMap, HashSet};

use serde::Serialize;

use crate::gate::GateReport;
use crate::metric::paired::{Pair, PairedSummary, PairedVerdict};
use evalrs_base::ordered_map::OrderedMap;
use evalrs_model::delta::{Movement, MovementCounts};

pub use agreement::{AgreementDiff, DiffGraderLabels, DiffLabels};
pub(crate) use declared::DeclaredDiff;
pub use moved::{MovedGrade, VerdictMove};
pub use settings::{SettingChange, changes_in_words};
pub(crate) use side::Match;
pub use side::{CaseName, DiffSide, SideCase, SideGrade, SideName, SideRubric};
use side::{NOT_KNOWN, cell};

/// How many cases that only one side has are named.
const NAMED: usize = 5;

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
    pub graders: OrderedMap<GraderDiff>,
    /// Graders that only the first has.
    pub graders_only_before: Vec<String>,
    /// Graders that only the second has.
    pub graders_only_now: Vec<String>,
    /// Declared metric → its value in both, in the order of the second; none if a grader is selected.
    #[serde(skip_serializing_if = "OrderedMap::is_empty")]
    pub declared: OrderedMap<DeclaredDiff>,
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
    pub moved: Vec<VerdictMove>,
}

/// What moved for one grader.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct GraderDiff {
    /// The statistics of the cases that have a verdict in both.
    pub paired: PairedSummary,
    /// Whether it became worse by more than chance explains; null unless that was tested.
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

/// Compares two evaluations, and how far both agree with `labels`; with a name, only that grader.
pub fn compare(
    before: &DiffSide,
    now: &DiffSide,
    grader: Option<&str>,
    labels: &DiffLabels,
) -> Diff {
    let is_wanted = |name: &&String| grader.is_none_or(|wanted| wanted == name.as_str());
    let (pairs, cases) = matched(before, now);
    let mut moved = Vec::new();
    let graders = now.graders.iter().enumerate().filter(|(_, name)| is_wanted(name));
    let graders = graders.filter_map(|(at, name)| {
        let place = before.graders.iter().position(|other| other == name)?;
        let column = GraderColumn { name, places: [place, at], labels: labels.0.get(name) };
        Some((name.clone(), column.diff(&pairs, &mut moved)))
    });
    let graders = OrderedMap(graders.collect());
    moved::sort(&mut moved);
    let only = |one: &DiffSide, other: &DiffSide| -> Vec<String> {
        let names = one.graders.iter().filter(is_wanted);
        names.filter(|name| !other.graders.contains(name)).cloned().collect()
    };
    let names: Vec<&str> = graders.0.iter().map(|(name, _)| name.as_str()).collect();
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
        graders,
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

/// Marks the graders that became worse by more than chance explains, and reports whether there is
/// one.
///
/// Each is tested alone: of twenty that did not change, one is expected to be marked at 0.05.
pub fn mark_regressions(diff: &mut Diff, alpha: f64) -> bool {
    for (_, grader) in &mut diff.graders.0 {
        let PairedSummary { difference, difference_p_value, .. } = grader.paired;
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

struct GraderColumn<'a> {
    name: &'a str,
    /// Where its grades stand in the first and in the second.
    places: [usize; 2],
    labels: Option<&'a DiffGraderLabels>,
}

impl GraderColumn<'_> {
    fn diff(&self, matches: &[Match<'_>], moved: &mut Vec<VerdictMove>) -> GraderDiff {
        let mut pairs = Vec::new();
        let mut counts = MovementCounts::default();
        for pair in matches {
            let before = pair.before.grade(self.places[0]);
            let now = pair.now.grade(self.places[1]);
            // Neither knows of it: the grader does not grade this case.
            if before.is_none() && now.is_none() {
                continue;
            }
            let movement = Movement::of(before.map(cell), now.map_or(NOT_KNOWN, cell));
            counts.add(movement);
            let (Some(before), Some(now)) = (before, now) else { continue };
            if before.is_verdict() && now.is_verdict() {
                let [before, now] = [before, now]
                    .map(|SideGrade { score, pass, .. }| PairedVerdict { score, pass });
                pairs.push(Pair { sample: pair.sample, before, now });
            }
            if movement.is_move() {
                let case = &pair.now.name;
                moved.push(VerdictMove {
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
            paired: PairedSummary::of(&pairs),
            counts,
            is_regression: None,
            agreement: self.labels.and_then(|labels| labels.compared(self.places, matches)),
        }
    }
}
