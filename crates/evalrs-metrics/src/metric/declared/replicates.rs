//! A metric over resampled samples, so that a later run can be compared with this one.
//!
//! The draws of two runs hold the same samples: see [`evalrs_statistics::poisson_bootstrap`]. Rows, labels and fields of
//! an earlier run are nowhere kept, so that these numbers are all that its change can be judged by.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::MetricTable;
use evalrs_model::spec::{AgreementMeasure, MetricKind, MetricSpec, SeriesSource, Statistic};
use evalrs_statistics::percentile_bootstrap::by_sample;
use evalrs_statistics::poisson_bootstrap::{LEAST_DRAWS, copies};

/// How many times all samples are resampled; fewer for many samples, to bound the time.
const MOST_DRAWS: usize = 1_000;

/// The number of resampled items in total.
const MOST_DRAWN: usize = 2_000_000;

/// The values of a metric over resampled samples.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Replicates {
    /// Samples that the number rests on.
    pub samples: usize,
    /// What the number is never below; null where nothing bounds it.
    pub least: Option<f64>,
    /// What it is never above.
    pub greatest: Option<f64>,
    /// Draw → the number; null where it is not defined.
    pub draws: Vec<Option<f64>>,
}

/// The resamples of `estimate`; `samples` are those of the items. None where the table does not know what its samples are called,
/// and of so many items that there would be too few draws.
pub(super) fn of<T: Copy>(
    table: &MetricTable,
    samples: &[u32],
    items: &[T],
    estimate: impl Fn(&[T]) -> Option<f64>,
) -> Option<Replicates> {
    drawn(table, &by_sample(samples, items), MOST_DRAWN / samples.len().max(1), estimate)
}

/// The same of an `estimate` that takes ten times as long.
pub(super) fn of_regression<T: Copy>(
    table: &MetricTable,
    samples: &[u32],
    items: &[T],
    estimate: impl Fn(&[T]) -> Option<f64>,
) -> Option<Replicates> {
    drawn(table, &by_sample(samples, items), MOST_DRAWN / 10 / samples.len().max(1), estimate)
}

fn drawn<T: Copy>(
    table: &MetricTable,
    items: &BTreeMap<u32, Vec<T>>,
    most: usize,
    estimate: impl Fn(&[T]) -> Option<f64>,
) -> Option<Replicates> {
    let draws = MOST_DRAWS.min(most);
    if draws < LEAST_DRAWS || table.seeds.is_empty() {
        return None;
    }
    let seeded: Vec<(u64, &Vec<T>)> = items
        .iter()
        .filter_map(|(sample, items)| Some((*table.seeds.get(*sample as usize)?, items)))
        .collect();
    let mut taken = Vec::new();
    let draws = (0..draws as u64).map(|draw| {
        taken.clear();
        for (seed, items) in &seeded {
            for _ in 0..copies(*seed, draw) {
                taken.extend_from_slice(items);
            }
        }
        estimate(&taken).filter(|value| value.is_finite()).map(rounded)
    });
    Some(Replicates { draws: draws.collect(), samples: seeded.len(), ..Replicates::default() })
}

/// Without digits that no standard error needs.
fn rounded(value: f64) -> f64 {
    const DIGITS: f64 = 1e9;
    (value * DIGITS).round() / DIGITS
}

/// The least and the greatest that the number can be, whatever the data; scores from 0 to 1.
pub(super) fn bounds(spec: &MetricSpec) -> [Option<f64>; 2] {
    const UNIT: [Option<f64>; 2] = [Some(0.0), Some(1.0)];
    let is_score = !matches!(spec.of.source, SeriesSource::Field(_)) && !spec.native;
    match &spec.kind {
        MetricKind::Of(Statistic::PassRate | Statistic::PassAt(_) | Statistic::PassHat(_))
        | MetricKind::Macro(Statistic::PassRate)
        | MetricKind::Classes(_)
        | MetricKind::AreaUnderCurve(_)
        | MetricKind::CalibrationError { .. }
        | MetricKind::WinRate
        | MetricKind::LengthControlledWinRate(_) => UNIT,
        MetricKind::Agreement(
            AgreementMeasure::Pearson | AgreementMeasure::Spearman | AgreementMeasure::Kendall,
        ) => [Some(-1.0), Some(1.0)],
        MetricKind::Of(_) | MetricKind::Macro(_) | MetricKind::Weighted(_) if is_score => UNIT,
        _ => [None, None],
    }
}
