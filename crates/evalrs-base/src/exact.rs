//! Sums and means that are exact before they are rounded once.
//!
//! A sum is kept as partial sums that together are exact (Shewchuk 1997, the algorithm of Python's `math.fsum`), which
//! a plain or compensated sum is not: a mean then depends neither on the order in which grades came in nor on how they
//! were chunked, ten times 0.1 is 1.0, equal values have themselves as their mean, and a greater score can never give a
//! smaller mean, which is what a gate's bounds rest on.

/// From here on floats leave whole numbers out.
const WHOLE_FLOATS: u64 = 1 << f64::MANTISSA_DIGITS;

/// The whole number that a float is, where it is one of those that all are floats.
pub fn whole(value: f64) -> Option<i128> {
    let is_whole = value.fract() == 0.0 && value.abs() <= WHOLE_FLOATS as f64;
    is_whole.then_some(value as i128)
}

/// Whether a whole number may be another one as a float.
pub fn is_beyond_floats(value: i128) -> bool {
    value.unsigned_abs() > u128::from(WHOLE_FLOATS)
}

/// The arithmetic mean, rounded once from the exact one; none of nothing.
pub fn mean(values: &[f64]) -> Option<f64> {
    mean_of(values, values.len())
}

/// The mean of `n` values of which all but `values` are 0.0; none of nothing.
pub fn mean_of(values: &[f64], n: usize) -> Option<f64> {
    if n == 0 {
        return None;
    }
    let total = ExactSum::of(values.iter().copied());
    let mean = total.over(&ExactSum::of([n as f64]));
    // Only values near the greatest float have a sum beyond it.
    Some(if mean.is_finite() { mean } else { sum(values.iter().map(|value| value / n as f64)) })
}

/// The mean of values that are known part by part. As [`mean`], it does not depend on how they were parted.
#[derive(Clone, Debug, Default)]
pub struct MeanInParts {
    total: ExactSum,
    n: usize,
}

impl MeanInParts {
    /// Takes in values whose sum is a float. Equal neighbours cost little.
    pub fn add_all(&mut self, values: impl Iterator<Item = f64>) {
        let mut values = values.peekable();
        while let Some(value) = values.next() {
            let mut times = 1;
            while values.next_if(|next| next.to_bits() == value.to_bits()).is_some() {
                times += 1;
            }
            self.total.add_product(times as f64, value);
            self.n += times;
        }
    }

    /// Takes in another part.
    pub fn join(&mut self, other: &Self) {
        for partial in &other.total.partials {
            self.total.add(*partial);
        }
        self.n += other.n;
    }

    /// The mean, rounded once from the exact one; none of nothing.
    pub fn mean(&self) -> Option<f64> {
        (self.n > 0).then(|| self.total.over(&ExactSum::of([self.n as f64])))
    }
}

/// The mean of values with their weights, rounded once from the exact one; none unless the weights, none of them
/// negative, have a sum above 0.0.
pub fn weighted_mean(weighted: &[WeightedValue]) -> Option<f64> {
    let largest = weighted.iter().map(|item| item.weight).fold(0.0, f64::max);
    // A power of two changes no ratio, and keeps the products clear of either end of the floats.
    let scale = match largest {
        ..1e-100 => 2f64.powi(600),
        1e100.. => 2f64.powi(-600),
        _ => 1.0,
    };
    let mut total = ExactSum::default();
    let mut weights = ExactSum::default();
    for item in weighted {
        total.add_product(item.weight * scale, item.value);
        weights.add(item.weight * scale);
    }
    (largest > 0.0).then(|| total.over(&weights))
}

/// A value and how much it counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WeightedValue {
    /// 0.0 or more.
    pub weight: f64,
    /// The value.
    pub value: f64,
}

/// The exact sum of finite values, rounded once to the nearest float.
pub fn sum(values: impl Iterator<Item = f64>) -> f64 {
    ExactSum::of(values).rounded()
}

/// A sum of finite values, without any rounding.
#[derive(Clone, Debug, Default)]
struct ExactSum {
    /// They do not overlap and grow in magnitude; together they are the sum.
    partials: Vec<f64>,
}

impl ExactSum {
    fn of(values: impl IntoIterator<Item = f64>) -> Self {
        let mut total = Self::default();
        values.into_iter().for_each(|value| total.add(value));
        total
    }

    fn add(&mut self, value: f64) {
        let mut carry = value;
        self.partials.retain_mut(|partial| {
            let total = carry + *partial;
            *partial = rounding_error(carry, *partial, total);
            carry = total;
            *partial != 0.0
        });
        self.partials.push(carry);
    }

    fn add_product(&mut self, left: f64, right: f64) {
        let product = left * right;
        // Fused, so it is exactly what the rounded product lacks.
        self.add(left.mul_add(right, -product));
        self.add(product);
    }

    /// The nearest float.
    fn rounded(&self) -> f64 {
        let mut rest = self.partials.iter().rev().copied().peekable();
        let mut total = rest.next().unwrap_or(0.0);
        while let Some(partial) = rest.next() {
            let exact_high = total;
            total += partial;
            let lost = rounding_error(exact_high, partial, total);
            if lost != 0.0 {
                // Halfway cases were rounded to even without seeing what lies below them.
                let twice = lost * 2.0;
                let below = rest.peek().copied().unwrap_or(0.0);
                let away = total + twice;
                #[expect(clippy::float_cmp, reason = "checks whether the step was exactly a half")]
                let halfway = away - total == twice;
                if halfway && below * lost > 0.0 {
                    total = away;
                }
                break;
            }
        }
        total
    }

    /// The float nearest to `self / divisor`, of two the even one, for a divisor above 0.0. Not finite where a sum is
    /// not.
    fn over(&self, divisor: &Self) -> f64 {
        /// The quotient of the rounded sums is at most two floats off.
        const STEPS: usize = 4;
        let mut near = self.rounded() / divisor.rounded();
        for _ in 0..STEPS {
            if !near.is_finite() {
                break;
            }
            let is_odd = near.to_bits() % 2 == 1;
            let above = self.beyond_middle(divisor, near, near.next_up());
            let below = self.beyond_middle(divisor, near, near.next_down());
            near = if above > 0.0 || (is_odd && above == 0.0) {
                near.next_up()
            } else if below < 0.0 || (is_odd && below == 0.0) {
                near.next_down()
            } else {
                break;
            };
        }
        // Adding zero turns -0.0 into 0.0.
        near + 0.0
    }

    /// Above 0.0 where `self / divisor` is above the middle of two floats, below 0.0 where it is below.
    fn beyond_middle(&self, divisor: &Self, one: f64, other: f64) -> f64 {
        let mut difference = self.clone();
        for partial in &self.partials {
            difference.add(*partial);
        }
        for partial in &divisor.partials {
            difference.add_product(-one, *partial);
            difference.add_product(-other, *partial);
        }
        difference.rounded()
    }
}

/// What `total`, the rounded sum of `left` and `right`, lacks of their exact sum (Dekker 1971).
fn rounding_error(left: f64, right: f64, total: f64) -> f64 {
    let (large, small) = if left.abs() < right.abs() { (right, left) } else { (left, right) };
    small - (total - large)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{Just, Strategy, prop};
    use proptest::{prop_assert, prop_assert_eq, prop_oneof, proptest};

    use super::{MeanInParts, WeightedValue, mean, sum, weighted_mean};

    #[test]
    fn sums_are_exact() {
        let cases: &[(&[f64], f64)] = &[
            (&[], 0.0),
            (&[0.1; 10], 1.0),
            (&[1e100, 1.0, -1e100], 1.0),
            (&[1.0, 2f64.powi(-53), 2f64.powi(-106)], 1.0 + f64::EPSILON),
            (&[1.0, 2f64.powi(-53), -(2f64.powi(-106))], 1.0),
        ];
        for (values, expected) in cases {
            assert_eq!(sum(values.iter().copied()).to_bits(), expected.to_bits(), "{values:?}");
        }
    }

    #[test]
    fn means_are_rounded_once() {
        let cases: &[(&[f64], Option<f64>)] = &[
            (&[], None),
            (&[0.6, 0.8, 1.0], Some(0.8)),
            // The nearest float of what these floats average, one bit below 0.8.
            (&[0.7, 0.7, 1.0], Some(0.799_999_999_999_999_9)),
            (&[0.1; 10], Some(0.1)),
            (&[-0.0, -0.0], Some(0.0)),
            (&[1e100, 1.0, -1e100], Some(1.0 / 3.0)),
            (&[f64::MAX, f64::MAX], Some(f64::MAX)),
            (&[5e-324, 5e-324, 5e-324], Some(5e-324)),
        ];
        for (values, expected) in cases {
            assert_eq!(mean(values).map(f64::to_bits), expected.map(f64::to_bits), "{values:?}");
        }
    }

    fn weighted(items: &[(f64, f64)]) -> Option<f64> {
        let items: Vec<WeightedValue> =
            items.iter().map(|&(weight, value)| WeightedValue { weight, value }).collect();
        weighted_mean(&items)
    }

    #[test]
    fn weights_are_shares() {
        for (items, expected) in [
            (&[(0.7, 0.8), (0.3, 0.8)][..], Some(0.8)),
            (&[(7.0, 0.05), (3.0, 0.05)], Some(0.05)),
            (&[(0.7, 0.5), (0.3, 1.0)], Some(0.65)),
            (&[(1e308, 0.25), (1e308, 0.75)], Some(0.5)),
            (&[(1e-320, 0.25), (1e-320, 0.75)], Some(0.5)),
            (&[(1.0, 0.3), (0.0, 1.0)], Some(0.3)),
            (&[(0.0, 1.0)], None),
            (&[], None),
        ] {
            assert_eq!(weighted(items), expected, "{items:?}");
        }
    }

    /// Floats of 0..=1 as whole multiples of 2^-60, which most decimals of few digits are, and a count of each.
    fn some_values() -> impl Strategy<Value = Vec<f64>> {
        let tenths = (0..=10u8).prop_map(|tenths| f64::from(tenths) / 10.0);
        let fine = (0..=1u64 << 52).prop_map(|part| part as f64 / (1u64 << 52) as f64);
        prop::collection::vec(prop_oneof![tenths, fine], 1..40)
    }

    /// The float nearest to the mean, found with whole numbers: every value is a multiple of 2^-60.
    fn reference(values: &[f64]) -> Option<f64> {
        const UNIT: f64 = (1u64 << 60) as f64;
        let whole = |value: f64| {
            let scaled = value * UNIT;
            (scaled.fract() == 0.0).then_some(scaled as i128)
        };
        let total: i128 = values.iter().map(|value| whole(*value)).sum::<Option<i128>>()?;
        let n = values.len() as i128;
        // Every candidate is a float near the mean; the nearest one has the least |total - n * candidate|.
        let start = total as f64 / n as f64 / UNIT;
        let candidates = [start.next_down(), start, start.next_up()];
        let distance = |value: f64| Some((total - n * whole(value)?).abs());
        let known: Option<Vec<(i128, f64)>> =
            candidates.iter().map(|value| Some((distance(*value)?, *value))).collect();
        let nearest = |(distance, value): &(i128, f64)| (*distance, value.to_bits() % 2);
        known?.into_iter().min_by_key(nearest).map(|(_, value)| value)
    }

    proptest! {
        #[test]
        fn a_mean_is_the_nearest_float(values in some_values()) {
            if let Some(expected) = reference(&values) {
                prop_assert_eq!(mean(&values), Some(expected));
            }
        }

        #[test]
        fn a_mean_in_parts_is_the_mean(values in some_values(), size in 1..8usize) {
            let mut whole = MeanInParts::default();
            for part in values.chunks(size) {
                let mut own = MeanInParts::default();
                own.add_all(part.iter().flat_map(|value| [*value, *value]));
                whole.join(&own);
            }
            prop_assert_eq!(whole.mean(), mean(&values));
        }

        #[test]
        fn a_mean_is_between_least_and_greatest_in_any_order(
            (values, shuffled) in some_values().prop_flat_map(|values| {
                (Just(values.clone()), Just(values).prop_shuffle())
            }),
        ) {
            let found = mean(&values).unwrap();
            let least = values.iter().copied().fold(f64::INFINITY, f64::min);
            let greatest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            prop_assert!(least <= found && found <= greatest, "{} {} {}", least, found, greatest);
            prop_assert_eq!(mean(&shuffled), Some(found));
            let equal: Vec<WeightedValue> =
                values.iter().map(|value| WeightedValue { weight: 0.3, value: *value }).collect();
            prop_assert_eq!(weighted_mean(&equal), Some(found));
        }
    }
}
