//! A metric in each group of results, such as the answers to one document, then the mean over groups.
//!
//! As summaries are meta-evaluated: Bhandari et al. 2020, "Re-evaluating Evaluation in Text Summarization", where the summary level
//! is the mean over documents of the correlation in each. Groups are what is independent, so that the interval is that of the mean
//! of their numbers: Student's t for few, the bootstrap over groups for ten and more that are skewed.

use std::collections::BTreeMap;

use super::means::no_interval;
use super::{GroupName, GroupValue, MetricTable, MetricValue, replicates};
use evalrs_base::exact::mean;
use evalrs_base::ordered_map::OrderedMap;
use evalrs_model::spec::MetricSpec;
use evalrs_statistics::LEVEL;
use evalrs_statistics::interval::{ClusteredValue, ConfidenceInterval, ValueRange, mean_interval};
use evalrs_statistics::poisson_bootstrap::seed_of;

/// Computes a metric over a table.
type Measure = fn(&MetricSpec, &MetricTable) -> MetricValue;

/// The mean over groups of the metric in each, which `measured` computes. Groups in which it is not defined are named and left
/// out.
pub(super) fn of(spec: &MetricSpec, table: &MetricTable, measured: Measure) -> MetricValue {
    let inner = MetricSpec { by: Vec::new(), within: false, ..spec.clone() };
    let found: Vec<(String, MetricValue)> = members(table)
        .into_iter()
        .map(|(group, rows)| (group.name.clone(), measured(&inner, &table.of_rows(&rows))))
        .collect();
    let defined = || found.iter().filter_map(|(name, of)| Some((name.as_str(), of.value?)));
    let values: Vec<f64> = defined().map(|(_, value)| value).collect();
    let ordinals: Vec<u32> = (0..).take(values.len()).collect();
    let seeds = if table.seeds.is_empty() {
        Vec::new()
    } else {
        defined().map(|(name, _)| seed_of(name)).collect()
    };
    let seeded = MetricTable { seeds, ..MetricTable::default() };
    // Groups are independent of each other.
    let clustered: Vec<ClusteredValue> = (0..)
        .zip(&values)
        .map(|(cluster, value)| ClusteredValue { cluster, value: *value })
        .collect();
    let interval = interval(spec, clustered.clone());
    let interval_problem = interval.is_none().then(|| no_interval(&clustered)).flatten();
    let undefined = found.iter().filter(|(_, of)| of.value.is_none());
    let problem = values.is_empty().then(|| "it is not defined in any group".to_owned());
    MetricValue {
        value: mean(&values),
        n: values.len(),
        errors: found.iter().map(|(_, of)| of.errors).sum(),
        interval,
        interval_problem,
        replicates: replicates::of(&seeded, &ordinals, &values, mean),
        undefined: undefined.map(|(name, _)| name.clone()).collect(),
        groups: OrderedMap(found.iter().map(|(name, of)| (name.clone(), group(of))).collect()),
        problem,
        ..MetricValue::default()
    }
}

/// That of the mean of this many numbers: the percentiles of a bootstrap are too narrow for a handful of
/// groups.
fn interval(spec: &MetricSpec, values: Vec<ClusteredValue>) -> Option<ConfidenceInterval> {
    let [least, greatest] = replicates::bounds(spec);
    let range = ValueRange {
        least: least.unwrap_or(f64::NEG_INFINITY),
        greatest: greatest.unwrap_or(f64::INFINITY),
    };
    mean_interval(values, range, LEVEL)
}

fn group(of: &MetricValue) -> GroupValue {
    GroupValue { value: of.value, n: of.n, interval: of.interval, ..GroupValue::default() }
}

/// Group → its results, in the order of groups. A result of several groups is in each, one of none in none.
fn members(table: &MetricTable) -> BTreeMap<&GroupName, Vec<usize>> {
    let mut groups: BTreeMap<&GroupName, Vec<usize>> = BTreeMap::new();
    for (at, place) in table.places.iter().enumerate() {
        for name in place.groups.first().into_iter().flatten() {
            groups.entry(name).or_default().push(at);
        }
    }
    groups
}
