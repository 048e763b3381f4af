//! Means by weights that rows have.

use super::MetricValue;
use super::reading::{MetricTable, ReadValue, Reading};
use evalrs_base::exact::{WeightedValue, weighted_mean};

/// `sum(w x) / sum(w)`, a result counting by what its row says.
pub(super) fn of(path: &str, table: &MetricTable) -> MetricValue {
    let found = WeightedItems::of(path, table);
    let estimated = MetricValue::estimated(table, &found.samples, &found.items, weighted_value);
    MetricValue { errors: found.errors, ..estimated }
}

/// Results with a weight, and how many have none or no score.
#[derive(Default)]
pub(super) struct WeightedItems {
    items: Vec<WeightedValue>,
    samples: Vec<u32>,
    errors: usize,
    /// The values of those without a weight.
    pub(super) without_weight: Vec<f64>,
}

impl WeightedItems {
    pub(super) fn of(path: &str, table: &MetricTable) -> Self {
        let mut found = Self::default();
        for (at, reading) in table.of.iter().enumerate() {
            let weight = table.field_number(path, at).filter(|weight| *weight >= 0.0);
            match (reading, weight) {
                (Reading::Missing, _) => {}
                (Reading::Is(ReadValue { number: Some(value), .. }), Some(weight)) => {
                    found.items.push(WeightedValue { weight, value: *value });
                    found.samples.push(table.places[at].sample);
                }
                (Reading::Is(ReadValue { number, .. }), _) => {
                    found.errors += 1;
                    found.without_weight.extend(*number);
                }
                (Reading::Errored, _) => found.errors += 1,
            }
        }
        found
    }

    /// The mean; none where all weights are 0.
    pub(super) fn mean(&self) -> Option<f64> {
        weighted_value(&self.items)
    }
}

fn weighted_value(items: &[WeightedValue]) -> Option<f64> {
    weighted_mean(items).filter(|value| value.is_finite())
}
