//! The metrics that suites declare, of two evaluations: value by value, with an interval of the change where one is known.
//!
//! The interval of a mean or pass rate of a grader is that of its cases, as for the grader itself. That of any other number comes
//! from the draws that both records keep: rows, labels and fields of an earlier run are nowhere kept.

use serde::Serialize;
use serde_json::Value;

use super::{DiffSide, Match, SideCase, SideGrade};
use crate::metric::declared::{MetricValue, Replicates};
use crate::metric::paired::{Pair, PairedVerdict, difference_interval};
use evalrs_base::ordered_map::OrderedMap;
use evalrs_statistics::LEVEL;
use evalrs_statistics::interval::{ConfidenceInterval, ValueRange};
use evalrs_statistics::poisson_bootstrap::{DrawnTwice, change_interval};

/// A declared metric of both evaluations.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct DeclaredDiff {
    /// Its kind in words.
    pub kind: String,
    /// The number of the first.
    pub before: DeclaredNumber,
    /// The number of the second.
    pub now: DeclaredNumber,
    /// Second minus first; null where a number is missing, and where the two are not of the same thing.
    pub change: Option<f64>,
    /// Where the true change lies; null where that is not known.
    pub interval: Option<ConfidenceInterval>,
    /// Why the change has no interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_interval: Option<NoInterval>,
}

/// A declared metric of one evaluation.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct DeclaredNumber {
    /// The number.
    pub value: Option<f64>,
    /// What it is over.
    pub n: usize,
    /// Results that could not be graded, or lack what the metric reads.
    pub errors: usize,
    /// Where the true number lies.
    pub interval: Option<ConfidenceInterval>,
}

/// Why the change of a metric has no interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum NoInterval {
    /// The suite says something else of it now.
    Redefined,
    /// A number is missing.
    NoNumber,
    /// The record of one of them has no resamples: it is a save, too large, or was written before they were
    /// recorded.
    NoDraws,
    /// No draw changes it, or its kind has none.
    Unknown,
}

impl DeclaredNumber {
    fn of(metric: &MetricValue) -> Self {
        let MetricValue { value, n, errors, interval, .. } = metric;
        Self { value: *value, n: *n, errors: *errors, interval: *interval }
    }
}

/// The metrics of both, in the order of the second.
pub(super) fn compared(
    before: &DiffSide,
    now: &DiffSide,
    matches: &[Match<'_>],
) -> OrderedMap<DeclaredDiff> {
    let both = now.declared.0.iter().filter_map(|(name, new)| {
        let pair = MetricPair { name, old: before.declared.get(name)?, new };
        Some((name.clone(), pair.diff(before, now, matches)))
    });
    OrderedMap(both.collect())
}

/// The names of metrics that only `one` has.
pub(super) fn only_in(one: &DiffSide, other: &DiffSide) -> Vec<String> {
    let names = one.declared.0.iter().map(|(name, _)| name);
    names.filter(|name| other.declared.get(name).is_none()).cloned().collect()
}

struct MetricPair<'a> {
    name: &'a str,
    old: &'a MetricValue,
    new: &'a MetricValue,
}

impl MetricPair<'_> {
    fn diff(&self, before: &DiffSide, now: &DiffSide, matches: &[Match<'_>]) -> DeclaredDiff {
        let is_redefined = ![&self.old.definition, &self.new.definition].contains(&&String::new())
            && self.old.definition != self.new.definition;
        let change = match (self.old.value, self.new.value) {
            (Some(old), Some(new)) if !is_redefined => Some(new - old),
            _ => None,
        };
        let interval = change.map_or(Err(NoInterval::NoNumber), |change| {
            let sides = PairedCases { before, now, matches };
            sides.interval(self.name).map_or_else(|| self.drawn(change), Ok)
        });
        DeclaredDiff {
            kind: self.new.kind.clone(),
            before: DeclaredNumber::of(self.old),
            now: DeclaredNumber::of(self.new),
            change,
            interval: interval.ok(),
            no_interval: if is_redefined { Some(NoInterval::Redefined) } else { interval.err() },
        }
    }

    fn drawn(&self, change: f64) -> Result<ConfidenceInterval, NoInterval> {
        let (Some(old), Some(new)) = (&self.old.replicates, &self.new.replicates) else {
            let has_any = self.old.interval.is_some() && self.new.interval.is_some();
            return Err(if has_any { NoInterval::NoDraws } else { NoInterval::Unknown });
        };
        let drawn = DrawnTwice {
            before: &old.draws,
            now: &new.draws,
            samples: old.samples.min(new.samples),
            range: range_of_change(old, new),
        };
        change_interval(change, drawn, LEVEL).ok_or(NoInterval::Unknown)
    }
}

fn range_of_change(old: &Replicates, new: &Replicates) -> ValueRange {
    let span = |high: Option<f64>, low: Option<f64>| Some(high? - low?);
    ValueRange {
        least: span(new.least, old.greatest).unwrap_or(f64::NEG_INFINITY),
        greatest: span(new.greatest, old.least).unwrap_or(f64::INFINITY),
    }
}

struct PairedCases<'a> {
    before: &'a DiffSide,
    now: &'a DiffSide,
    matches: &'a [Match<'a>],
}

impl PairedCases<'_> {
    /// The interval of the change of a mean or pass rate of a grader; none of other metrics, and where the two are not over the
    /// same cases.
    fn interval(&self, name: &str) -> Option<ConfidenceInterval> {
        let said = self.now.settings.as_ref()?.get("metrics")?.get(name)?;
        let text = |member: &str| said.get(member).and_then(Value::as_str);
        let by_pass = match text("kind")? {
            "mean" => false,
            "pass_rate" => true,
            _ => return None,
        };
        let of = text("of")?;
        let is_scaled = said.get("scale").is_some() || said.get("against").is_some();
        let grader = of.strip_suffix(".score").or_else(|| of.strip_suffix(".pass")).unwrap_or(of);
        let column = |side: &DiffSide| side.graders.iter().position(|known| known == grader);
        let old = column(self.before).filter(|_| !is_scaled)?;
        let new = column(self.now)?;
        let is_of_model = |case: &SideCase| {
            text("model").is_none_or(|model| case.name.model.as_deref() == Some(model))
        };
        let mut pairs = Vec::new();
        for case in self.matches.iter().filter(|case| is_of_model(case.now)) {
            match (verdict(case.before, old, by_pass), verdict(case.now, new, by_pass)) {
                (Some(before), Some(now)) => {
                    pairs.push(Pair { sample: case.sample, before, now });
                }
                (None, None) => {}
                _ => return None,
            }
        }
        let graded = |side: &DiffSide, at: usize| {
            let own = side.cases.iter().filter(|case| is_of_model(case));
            own.filter(|case| verdict(case, at, by_pass).is_some()).count()
        };
        let are_all = [graded(self.before, old), graded(self.now, new)] == [pairs.len(); 2];
        are_all.then(|| difference_interval(&pairs, LEVEL)).flatten()
    }
}

fn verdict(case: &SideCase, at: usize, by_pass: bool) -> Option<PairedVerdict> {
    let SideGrade { score, pass, .. } = case.grade(at).filter(|grade| grade.is_verdict())?;
    Some(PairedVerdict { score: if by_pass { f64::from(pass) } else { score }, pass })
}
