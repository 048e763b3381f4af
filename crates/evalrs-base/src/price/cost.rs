//! Money: whole nano-dollars, so that sums are exact in any order.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// Nano-dollars a dollar.
const DOLLAR: u64 = 1_000_000_000;

/// An amount of US dollars, kept as whole nano-dollars (1e-9 dollars). Sums stop at [`Cost::MAX`].
///
/// In files it is a number of dollars. Up to two million dollars the same amount is read back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cost(u64);

impl Cost {
    /// Nothing.
    pub const ZERO: Self = Self(0);
    /// The most that is counted, about eighteen thousand million dollars.
    pub const MAX: Self = Self(u64::MAX);

    /// That many nano-dollars.
    pub fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// That many dollars, to the nearest nano-dollar; none of a negative number or one that is not finite.
    pub fn from_dollars(dollars: f64) -> Option<Self> {
        // The conversion stops at the greatest amount.
        (dollars.is_finite() && dollars >= 0.0)
            .then(|| Self((dollars * DOLLAR as f64).round() as u64))
    }

    /// The amount in nano-dollars.
    pub fn nanos(self) -> u64 {
        self.0
    }

    /// The amount in dollars.
    pub fn dollars(self) -> f64 {
        self.0 as f64 / DOLLAR as f64
    }
}

impl Add for Cost {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Cost {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sum for Cost {
    fn sum<I: Iterator<Item = Self>>(costs: I) -> Self {
        costs.fold(Self::ZERO, Add::add)
    }
}

/// Writes `$1.23` from a dollar on, and below it three significant digits (`$0.0123`), of which zeros at the end
/// are left out while two digits and two decimals remain. Nothing is `$0`.
impl fmt::Display for Cost {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == 0 {
            return out.pad("$0");
        }
        let fine = rounded(self.0, (leading_zeros(self.0) + 3).clamp(2, 9));
        if fine >= u128::from(DOLLAR) {
            let cents = rounded(self.0, 2) / 10_000_000;
            return out.pad(&format!("${}.{:02}", cents / 100, cents % 100));
        }
        let digits = format!("{fine:09}");
        let zeros = digits.len() - digits.trim_start_matches('0').len();
        let fewest = (zeros + 2).clamp(2, 9);
        let shown = digits.trim_end_matches('0').len().max(fewest);
        out.pad(&format!("$0.{}", &digits[..shown]))
    }
}

/// The zeros between the decimal point and the first other digit; none from a tenth of a dollar on.
fn leading_zeros(nanos: u64) -> u32 {
    8u32.saturating_sub(nanos.checked_ilog10().unwrap_or(0))
}

/// The amount in nano-dollars, rounded half up to `decimals` of a dollar, at most 9.
fn rounded(nanos: u64, decimals: u32) -> u128 {
    let unit = 10u128.pow(9 - decimals);
    (u128::from(nanos) + unit / 2) / unit * unit
}

impl Serialize for Cost {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.dollars())
    }
}

impl<'de> Deserialize<'de> for Cost {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let dollars = f64::deserialize(deserializer)?;
        Self::from_dollars(dollars)
            .ok_or_else(|| de::Error::custom("a cost is a number of US dollars, 0 or more"))
    }
}

#[cfg(test)]
mod tests {
    use proptest::{prop_assert_eq, proptest};

    use super::Cost;

    #[test]
    fn amounts_read_well() {
        let cases = [
            (0, "$0"),
            (1, "$0.000000001"),
            (12, "$0.000000012"),
            (150, "$0.00000015"),
            (200_000, "$0.00020"),
            (210_000, "$0.00021"),
            (12_300_000, "$0.0123"),
            (12_345_678, "$0.0123"),
            (12_350_000, "$0.0124"),
            (99_949_999, "$0.0999"),
            (99_950_000, "$0.10"),
            (100_000_000, "$0.10"),
            (150_000_000, "$0.15"),
            (995_000_000, "$0.995"),
            (999_499_999, "$0.999"),
            (999_500_000, "$1.00"),
            (1_000_000_000, "$1.00"),
            (1_004_999_999, "$1.00"),
            (1_005_000_000, "$1.01"),
            (1_234_500_000_000, "$1234.50"),
            (u64::MAX, "$18446744073.71"),
        ];
        for (nanos, expected) in cases {
            assert_eq!(Cost::from_nanos(nanos).to_string(), expected, "{nanos}");
        }
        assert_eq!(format!("{:>8}|", Cost::from_nanos(150_000_000)), "   $0.15|");
    }

    #[test]
    fn dollars_become_nanos() {
        let cases = [
            (0.0, Some(0)),
            (-0.0, Some(0)),
            (0.1, Some(100_000_000)),
            (1e-9, Some(1)),
            (4e-10, Some(0)),
            (2.5, Some(2_500_000_000)),
            (1e300, Some(u64::MAX)),
            (-1e-9, None),
            (f64::NAN, None),
            (f64::INFINITY, None),
        ];
        for (dollars, expected) in cases {
            assert_eq!(Cost::from_dollars(dollars).map(Cost::nanos), expected, "{dollars}");
        }
    }

    #[test]
    fn sums_are_exact_and_stop_at_the_most() {
        let tenth = Cost::from_dollars(0.1).unwrap();
        assert_eq!(std::iter::repeat_n(tenth, 10).sum::<Cost>(), Cost::from_dollars(1.0).unwrap());
        let mut cost = Cost::MAX;
        cost += tenth;
        assert_eq!((cost, [].into_iter().sum()), (Cost::MAX, Cost::ZERO));
    }

    #[test]
    fn files_hold_numbers_of_dollars() {
        let written = serde_json::to_string(&[Cost::ZERO, Cost::from_nanos(12_300_000)]).unwrap();
        assert_eq!(written, "[0.0,0.0123]");
        let read: Vec<Cost> = serde_json::from_str("[0, 2, 0.0123, 1e-9]").unwrap();
        let nanos: Vec<u64> = read.into_iter().map(Cost::nanos).collect();
        assert_eq!(nanos, [0, 2_000_000_000, 12_300_000, 1]);
        for bad in ["-1", "\"1\"", "null", "1e999"] {
            assert!(serde_json::from_str::<Cost>(bad).is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(nanos in 0u64..2_000_000_000_000_000) {
            let text = serde_json::to_string(&Cost::from_nanos(nanos)).unwrap();
            prop_assert_eq!(serde_json::from_str::<Cost>(&text).unwrap().nanos(), nanos);
        }
    }
}
