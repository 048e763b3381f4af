//! Items of an estimate in clusters, as trials of one sample are: samples are what is independent, and not items.

use evalrs_base::exact::sum;

/// A value of one item, and the sample it belongs to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClusteredValue {
    /// The number of the sample: items of the same are not independent.
    pub cluster: u32,
    /// The value.
    pub value: f64,
}

/// All items of one sample.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct ClusterTotal {
    /// The sum of their values.
    pub sum: f64,
    /// How many they are.
    pub size: f64,
}

/// The items of an estimate, sample by sample.
pub(super) struct Clusters {
    pub totals: Vec<ClusterTotal>,
    /// How many items there are.
    pub items: f64,
    /// The mean of all items.
    pub mean: f64,
    pub least: f64,
    pub greatest: f64,
}

impl Clusters {
    /// In any order; none of nothing, and none where a value is not finite.
    pub(crate) fn of(mut values: Vec<ClusteredValue>) -> Option<Self> {
        if values.is_empty() || values.iter().any(|item| !item.value.is_finite()) {
            return None;
        }
        if !values.is_sorted_by_key(|item| item.cluster) {
            values.sort_by_key(|item| item.cluster);
        }
        let total = |items: &[ClusteredValue]| ClusterTotal {
            sum: match items {
                [item] => item.value,
                items => sum(items.iter().map(|item| item.value)),
            },
            size: items.len() as f64,
        };
        let bound = |fold: fn(f64, f64) -> f64| values.iter().map(|item| item.value).reduce(fold);
        let items = values.len() as f64;
        let totals: Vec<ClusterTotal> =
            values.chunk_by(|left, right| left.cluster == right.cluster).map(total).collect();
        Some(Self {
            mean: sum(totals.iter().map(|total| total.sum)) / items,
            totals,
            items,
            least: bound(f64::min)?,
            greatest: bound(f64::max)?,
        })
    }

    pub(crate) fn count(&self) -> f64 {
        self.totals.len() as f64
    }

    pub(super) fn has_repeats(&self) -> bool {
        self.count() < self.items
    }

    /// The variance of the mean: `G / (G - 1) * sum of (sum of residuals of a sample)² / n²`. None for one sample.
    pub(crate) fn variance(&self) -> Option<f64> {
        let count = self.count();
        let residual = |total: &ClusterTotal| total.sum - total.size * self.mean;
        let squares = sum(self.totals.iter().map(|total| residual(total) * residual(total)));
        (count > 1.0).then(|| count / (count - 1.0) * squares / (self.items * self.items))
    }

    /// The skewness of the samples' residuals; 0 without any spread.
    pub(super) fn skewness(&self) -> f64 {
        let power = |exponent: i32| {
            let residual = |total: &ClusterTotal| total.sum - total.size * self.mean;
            sum(self.totals.iter().map(|total| residual(total).powi(exponent))) / self.count()
        };
        let spread = power(2).powf(1.5);
        if spread > 0.0 { power(3) / spread } else { 0.0 }
    }
}
