//! Means, rates and percentiles over results, over groups of them, and by weights.

use std::collections::BTreeMap;

use super::reading::{GroupName, MetricTable, ReadValue, Reading};
use super::weighted::WeightedItems;
use super::{GroupValue, MetricValue, Replicates, UngroupedResults, replicates};
use crate::metric::{pass_at, pass_hat, percentile};
use evalrs_base::exact::mean;
use evalrs_base::ordered_map::OrderedMap;
use evalrs_model::spec::{MetricKind, MetricSpec, SeriesSource, Statistic};
use evalrs_statistics::LEVEL;
use evalrs_statistics::interval::{ClusteredValue, ConfidenceInterval, ValueRange, mean_interval};
use evalrs_statistics::percentile_bootstrap::percentile_interval;

/// The most values of results without a group that are listed.
const SHOWN_VALUES: usize = 20;

/// One number that means are of: a result, or the trials of one.
#[derive(Clone, Copy, Debug, PartialEq)]
struct MeanItem {
    /// The number of the result among all.
    at: usize,
    sample: u32,
    value: f64,
}

/// Numbers, and how many results have none for an error.
struct MeanItems {
    items: Vec<MeanItem>,
    errors: usize,
    /// What the numbers are between.
    range: ValueRange,
}

/// A number over all results, and over each group where the metric has some.
pub(super) fn of(statistic: Statistic, spec: &MetricSpec, table: &MetricTable) -> MetricValue {
    let found = items(statistic, spec, table);
    let interval = interval_of(statistic, &found.items, found.range);
    let is_missing = interval.is_none() && statistic == Statistic::Mean;
    MetricValue {
        value: value_of(statistic, &found.items),
        n: found.items.len(),
        errors: found.errors,
        interval,
        interval_problem: is_missing.then(|| no_interval(&clustered(&found.items))).flatten(),
        groups: each_group(statistic, &found, spec, table),
        replicates: replicates_of(statistic, &found.items, table),
        ..MetricValue::default()
    }
}

fn each_group(
    statistic: Statistic,
    found: &MeanItems,
    spec: &MetricSpec,
    table: &MetricTable,
) -> OrderedMap<GroupValue> {
    let groups = leaf_groups(spec, table).into_iter().map(|(name, members)| {
        let own = found.items.iter().filter(|item| members.binary_search(&item.at).is_ok());
        let own: Vec<MeanItem> = own.copied().collect();
        let group = GroupValue {
            value: value_of(statistic, &own),
            n: own.len(),
            interval: interval_of(statistic, &own, found.range),
            ..GroupValue::default()
        };
        (name, group)
    });
    OrderedMap(groups.collect())
}

/// Why the mean of these numbers, which nothing bounds, has no interval; nothing where there are none.
pub(super) fn no_interval(values: &[ClusteredValue]) -> Option<String> {
    let first = values.first()?;
    let is_alone = values.iter().all(|item| item.cluster == first.cluster);
    let are_equal = values.iter().all(|item| item.value.total_cmp(&first.value).is_eq());
    let why = match (is_alone, are_equal) {
        (true, _) => "one sample has no spread",
        (false, true) => "all values are equal, so their spread is not known",
        (false, false) => "the numbers are too large",
    };
    Some(format!("no interval: {why}"))
}

/// The mean over groups of the mean of each; with several dimensions, over the outer groups of the means of the inner ones.
pub(super) fn over_groups(
    statistic: Statistic,
    spec: &MetricSpec,
    table: &MetricTable,
) -> MetricValue {
    let (outside, ungrouped) = ungrouped(spec, table).unzip();
    let inside = outside.map(|results| table.without(&results));
    let table = inside.as_ref().unwrap_or(table);
    let found = items(statistic, spec, table);
    let grouped = GroupedItems::of(&found, spec, table);
    let measured = match grouped.within_samples() {
        Some(groups) => MetricValue {
            value: grouped.mean(),
            n: found.items.len(),
            ..drawn_groups(&groups, found.range, table)
        },
        // Groups that hold results of many samples have other means in each draw.
        None => {
            let samples: Vec<u32> = found.items.iter().map(|item| item.sample).collect();
            let all: Vec<usize> = (0..found.items.len()).collect();
            MetricValue::estimated(table, &samples, &all, |drawn| grouped.mean_of(drawn))
        }
    };
    MetricValue {
        errors: found.errors,
        groups: each_group(statistic, &found, spec, table),
        ungrouped,
        ..measured
    }
}

/// How a mean varies over groups that each lie within one sample, and so have the same mean in each resample: only the frequency
/// of a group varies.
fn drawn_groups(groups: &[ClusteredValue], range: ValueRange, table: &MetricTable) -> MetricValue {
    let samples: Vec<u32> = groups.iter().map(|group| group.cluster).collect();
    let values: Vec<f64> = groups.iter().map(|group| group.value).collect();
    let interval = mean_interval(groups.to_vec(), range, LEVEL);
    MetricValue {
        interval,
        interval_problem: if interval.is_none() { no_interval(groups) } else { None },
        replicates: replicates::of(table, &samples, &values, mean),
        ..MetricValue::default()
    }
}

/// The numbers of results that are in no group, though they have a grade, rising; and their values where groups differ.
fn ungrouped(spec: &MetricSpec, table: &MetricTable) -> Option<(Vec<usize>, UngroupedResults)> {
    let is_graded = |at: &usize| table.of.get(*at).is_some_and(|own| *own != Reading::Missing);
    let is_outside = |at: &usize| group_paths(spec, table, *at).is_empty();
    let results: Vec<usize> =
        (0..table.places.len()).filter(is_graded).filter(is_outside).collect();
    let values = results.iter().filter_map(|at| table.places[*at].groups.last());
    let mut values: Vec<String> = values.flatten().map(|group| group.name.clone()).collect();
    values.sort();
    values.dedup();
    values.truncate(SHOWN_VALUES);
    let n = results.len();
    (n > 0).then_some((results, UngroupedResults { n, values }))
}

/// None of the least and the greatest, which have no interval either.
fn replicates_of(
    statistic: Statistic,
    items: &[MeanItem],
    table: &MetricTable,
) -> Option<Replicates> {
    if matches!(statistic, Statistic::Min | Statistic::Max) {
        return None;
    }
    let samples: Vec<u32> = items.iter().map(|item| item.sample).collect();
    replicates::of(table, &samples, items, |drawn| value_of(statistic, drawn))
}

/// The least and the greatest that the number can be, whatever was counted as an error would have been; none where that is
/// not known: what a field of rows may hold has no bounds.
pub(super) fn ends(spec: &MetricSpec, table: &MetricTable) -> [Option<f64>; 2] {
    let reads = Reads::of(spec);
    let is_of_order = matches!(
        spec.kind,
        MetricKind::Of(Statistic::Min | Statistic::Max | Statistic::Percentile(_))
    );
    // A mean goes wherever one of its numbers goes.
    if reads.range == ValueRange::UNBOUNDED && !is_of_order {
        return [None, None];
    }
    let end = |filled: f64, further: fn(f64, f64) -> f64| {
        let table = table.with_errors_as(filled, |value| reads.number(value));
        let value = rising_value(spec, &table)?;
        // A weight that is not known draws the mean towards its own value, and no further.
        let drawn = match &spec.kind {
            MetricKind::Weighted(path) => WeightedItems::of(path, &table).without_weight,
            _ => Vec::new(),
        };
        Some(drawn.into_iter().fold(value, further)).filter(|end| end.is_finite())
    };
    let ValueRange { least, greatest } = reads.range;
    [end(least, f64::min), end(greatest, f64::max)]
}

/// The number alone of a kind that never falls where a score rises; none of any other kind.
fn rising_value(spec: &MetricSpec, table: &MetricTable) -> Option<f64> {
    match &spec.kind {
        MetricKind::Of(statistic) => value_of(*statistic, &items(*statistic, spec, table).items),
        MetricKind::Macro(statistic) => {
            GroupedItems::of(&items(*statistic, spec, table), spec, table).mean()
        }
        MetricKind::Weighted(path) => WeightedItems::of(path, table).mean(),
        _ => None,
    }
}

/// What a metric reads of values.
struct Reads {
    /// Whether they pass, rather than how much they are.
    by_pass: bool,
    /// What the numbers are between.
    range: ValueRange,
}

impl Reads {
    fn of(spec: &MetricSpec) -> Self {
        let by_pass = match &spec.kind {
            MetricKind::Of(statistic) | MetricKind::Macro(statistic) => matches!(
                statistic,
                Statistic::PassRate | Statistic::PassAt(_) | Statistic::PassHat(_)
            ),
            _ => false,
        };
        let is_field = matches!(spec.of.source, SeriesSource::Field(_));
        let range = if is_field && !by_pass { ValueRange::UNBOUNDED } else { ValueRange::UNIT };
        Self { by_pass, range }
    }

    fn number(&self, value: &ReadValue) -> Option<f64> {
        if self.by_pass { value.pass.map(f64::from) } else { value.number }
    }
}

/// Numbers, and the groups that each is of.
struct GroupedItems<'i> {
    items: &'i [MeanItem],
    paths: Vec<Vec<Vec<GroupName>>>,
}

impl<'i> GroupedItems<'i> {
    fn of(found: &'i MeanItems, spec: &MetricSpec, table: &MetricTable) -> Self {
        let paths = found.items.iter().map(|item| group_paths(spec, table, item.at)).collect();
        Self { items: &found.items, paths }
    }

    fn mean(&self) -> Option<f64> {
        self.mean_of(&(0..self.items.len()).collect::<Vec<usize>>())
    }

    /// The mean of each outermost group with the sample that it lies within; none where one holds results of several.
    fn within_samples(&self) -> Option<Vec<ClusteredValue>> {
        let mut groups: BTreeMap<&GroupName, (u32, MeanTree)> = BTreeMap::new();
        for (item, paths) in self.items.iter().zip(&self.paths) {
            for path in paths {
                let [outermost, inner @ ..] = &path[..] else { return None };
                let (sample, tree) =
                    groups.entry(outermost).or_insert_with(|| (item.sample, MeanTree::default()));
                if *sample != item.sample {
                    return None;
                }
                tree.add(inner, item.value);
            }
        }
        let means = groups
            .into_values()
            .filter_map(|(cluster, tree)| Some(ClusteredValue { cluster, value: tree.mean()? }));
        Some(means.collect())
    }

    fn mean_of(&self, drawn: &[usize]) -> Option<f64> {
        let mut groups = MeanTree::default();
        for at in drawn {
            for path in &self.paths[*at] {
                groups.add(path, self.items[*at].value);
            }
        }
        groups.mean()
    }
}

fn items(statistic: Statistic, spec: &MetricSpec, table: &MetricTable) -> MeanItems {
    let reads = Reads::of(spec);
    let mut found = Vec::new();
    let mut errors = 0;
    for (at, reading) in table.of.iter().enumerate() {
        let value = match reading {
            Reading::Missing => continue,
            Reading::Errored => None,
            Reading::Is(value) => reads.number(value),
        };
        match value {
            Some(value) => found.push(MeanItem { at, sample: table.places[at].sample, value }),
            None => errors += 1,
        }
    }
    let items = match statistic {
        Statistic::PassAt(k) => of_trials(&found, table, k, pass_at),
        Statistic::PassHat(k) => of_trials(&found, table, k, pass_hat),
        _ => found,
    };
    MeanItems { items, errors, range: reads.range }
}

/// What the trials of each sample, under each model, are estimated to be; none of those with fewer than k.
fn of_trials(
    found: &[MeanItem],
    table: &MetricTable,
    k: u32,
    estimate: fn(usize, usize, usize) -> Option<f64>,
) -> Vec<MeanItem> {
    let mut groups: BTreeMap<(u32, u32), (usize, usize, usize)> = BTreeMap::new();
    for item in found {
        let of = (item.sample, table.places[item.at].model);
        let (_, trials, passes) = groups.entry(of).or_insert((item.at, 0, 0));
        *trials += 1;
        *passes += usize::from(item.value > 0.5);
    }
    let estimated = groups.into_iter().filter_map(|((sample, _), (at, trials, passes))| {
        Some(MeanItem { at, sample, value: estimate(trials, passes, k as usize)? })
    });
    let mut items: Vec<MeanItem> = estimated.collect();
    items.sort_by_key(|item| item.at);
    items
}

fn value_of(statistic: Statistic, items: &[MeanItem]) -> Option<f64> {
    let mut values: Vec<f64> = items.iter().map(|item| item.value).collect();
    let percent = match statistic {
        Statistic::Mean | Statistic::PassRate | Statistic::PassAt(_) | Statistic::PassHat(_) => {
            return mean(&values);
        }
        Statistic::Min => 0,
        Statistic::Max => 100,
        Statistic::Percentile(percent) => usize::from(percent),
    };
    values.sort_by(f64::total_cmp);
    percentile(&values, percent)
}

fn interval_of(
    statistic: Statistic,
    items: &[MeanItem],
    range: ValueRange,
) -> Option<ConfidenceInterval> {
    match statistic {
        // How far the true least or greatest value lies beyond those that were seen is not in the data.
        Statistic::Min | Statistic::Max => None,
        Statistic::Percentile(_) => {
            let samples: Vec<u32> = items.iter().map(|item| item.sample).collect();
            percentile_interval(&samples, items, |drawn| value_of(statistic, drawn))
        }
        _ => mean_interval(clustered(items), range, LEVEL),
    }
}

fn clustered(items: &[MeanItem]) -> Vec<ClusteredValue> {
    items.iter().map(|item| ClusteredValue { cluster: item.sample, value: item.value }).collect()
}

/// The innermost groups and the results of each, in the order of groups.
fn leaf_groups(spec: &MetricSpec, table: &MetricTable) -> Vec<(String, Vec<usize>)> {
    let mut groups: BTreeMap<Vec<GroupName>, Vec<usize>> = BTreeMap::new();
    if spec.by.is_empty() {
        return Vec::new();
    }
    for at in 0..table.places.len() {
        for path in group_paths(spec, table, at) {
            let own = groups.entry(path).or_default();
            if own.last() != Some(&at) {
                own.push(at);
            }
        }
    }
    let joined = groups.into_iter().map(|(path, members)| {
        let names: Vec<String> = path.into_iter().map(|group| group.name).collect();
        (names.join(" / "), members)
    });
    joined.collect()
}

/// The ways through the groups that lead to a result, the outermost group first. A result without a value of a dimension is in
/// none.
fn group_paths(spec: &MetricSpec, table: &MetricTable, at: usize) -> Vec<Vec<GroupName>> {
    let mut paths: Vec<Vec<GroupName>> = vec![Vec::new()];
    for values in &table.places[at].groups {
        let longer = paths.iter().flat_map(|path| {
            values.iter().map(move |value| [&path[..], std::slice::from_ref(value)].concat())
        });
        paths = longer.collect();
    }
    if spec.groups.is_empty() {
        return paths;
    }
    // The groups that a suite names stand around the values of the innermost dimension.
    let placed = paths.into_iter().flat_map(|path| {
        let value = path.last().map(|group| group.name.clone()).unwrap_or_default();
        let named = spec.groups.iter().filter(move |(_, values)| values.contains(&value));
        named.map(move |(name, _)| {
            let mut path = path.clone();
            path.insert(path.len().saturating_sub(1), name.clone().into());
            path
        })
    });
    placed.collect()
}

/// Groups of groups, and the values of the innermost.
#[derive(Default)]
struct MeanTree {
    groups: BTreeMap<GroupName, MeanTree>,
    values: Vec<f64>,
}

impl MeanTree {
    fn add(&mut self, path: &[GroupName], value: f64) {
        match path {
            [] => self.values.push(value),
            [first, rest @ ..] => self.groups.entry(first.clone()).or_default().add(rest, value),
        }
    }

    /// The mean of the groups' means, or of the values.
    fn mean(&self) -> Option<f64> {
        if self.groups.is_empty() {
            return mean(&self.values);
        }
        let means: Vec<f64> = self.groups.values().filter_map(Self::mean).collect();
        mean(&means)
    }
}
