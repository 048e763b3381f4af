//! Two pass rates of the same items: their difference, and the least difference that would be detectable.
//!
//! Owns the posterior of the difference, from draws that are the same for the same counts.

use super::distribution::{normal_quantile, student_t_p_value, student_t_quantile};
use super::interval::{ConfidenceInterval, IntervalMethod};
use evalrs_base::random::SplitMix;

/// The number of resampled differences.
const DRAWS: usize = 10_000;

/// The seed of the resamples.
const SEED: u64 = 0x7061_6972;

/// The power of the test for an effect of the least detectable size.
const POWER: f64 = 0.8;

/// What became of items that passed or failed before, and pass or fail now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PairedCounts {
    /// All items.
    pub n: usize,
    /// Those that failed and pass now.
    pub fixed: usize,
    /// Those that passed and fail now.
    pub broken: usize,
}

/// The interval of the difference of two pass rates of the same independent items, second less first; none of nothing, for more
/// changes than items, or for a level that is not between 0.0 and 1.0.
///
/// The middle of the posterior of `P(fixed) - P(broken)` under a uniform prior over what can become of an item: passes twice,
/// fails twice, is fixed, is broken. So Bowyer, Aitchison and Ivanova 2025, "Don't use the CLT in LLM evals with fewer than a
/// few hundred datapoints", advise for paired evaluations, here with the conjugate Dirichlet distribution for their copula.
pub fn paired_rate_interval(counts: PairedCounts, level: f64) -> Option<ConfidenceInterval> {
    let PairedCounts { n, fixed, broken } = counts;
    let same = n.checked_sub(fixed.checked_add(broken)?)?;
    if n == 0 || !(level > 0.0 && level < 1.0) {
        return None;
    }
    let mut generator = SplitMix::new(SEED);
    let draw = |_| {
        let [fixed, broken, same] =
            [fixed + 1, broken + 1, same + 2].map(|count| gamma(&mut generator, count as f64));
        (fixed - broken) / (fixed + broken + same)
    };
    let mut differences: Vec<f64> = (0..DRAWS).map(draw).collect();
    differences.sort_by(f64::total_cmp);
    let at = |share: f64| differences.get((share * (DRAWS - 1) as f64).round() as usize).copied();
    let found = ConfidenceInterval {
        low: at((1.0 - level) / 2.0)?,
        high: at(f64::midpoint(level, 1.0))?,
        level,
        method: IntervalMethod::Bayesian,
    };
    Some(found.rounded())
}

/// How often chance alone gives a mean difference at least this far from 0, by Student's t test of the differences of this
/// many samples with this standard error; none for fewer than two samples, or without an error.
///
/// Student 1908, "The Probable Error of a Mean".
pub fn difference_p_value(difference: f64, stderr: f64, samples: usize) -> Option<f64> {
    let degrees = samples.checked_sub(1)? as f64;
    let statistic = difference / stderr;
    statistic.is_finite().then(|| student_t_p_value(statistic, degrees)).flatten()
}

/// The least true difference that a two-sided test at this level detects in four of five comparisons like this one: none
/// for fewer than two samples.
///
/// `(t + z) · SE` for a standard error that rests on so many samples, t being the quantile of the level and z that of 80 %.
/// Cohen 1988, "Statistical Power Analysis for the Behavioral Sciences"; Miller 2024, "Adding Error Bars to Evals".
pub fn minimum_detectable_effect(stderr: f64, samples: usize, level: f64) -> Option<f64> {
    let degrees = samples.checked_sub(1)? as f64;
    Some((student_t_quantile(level, degrees)? + normal_quantile(POWER)) * stderr)
}

/// A number of the gamma distribution with a shape of 1.0 or more.
///
/// Marsaglia and Tsang 2000, "A Simple Method for Generating Gamma Variables".
fn gamma(generator: &mut SplitMix, shape: f64) -> f64 {
    let offset = shape - 1.0 / 3.0;
    let scale = 1.0 / (9.0 * offset).sqrt();
    loop {
        let normal = normal(generator);
        let cube = (1.0 + scale * normal).powi(3);
        let bound = 0.5 * normal * normal + offset - offset * cube + offset * cube.ln();
        if cube > 0.0 && share(generator).ln() < bound {
            return offset * cube;
        }
    }
}

/// A number of the standard normal distribution: Box and Muller 1958, "A Note on the Generation of Random Normal Deviates".
fn normal(generator: &mut SplitMix) -> f64 {
    let length = (-2.0 * share(generator).ln()).sqrt();
    length * (std::f64::consts::TAU * share(generator)).cos()
}

/// Above 0.0 and at most 1.0.
fn share(generator: &mut SplitMix) -> f64 {
    (generator.below(1 << 53) + 1) as f64 / (1u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::{PairedCounts, minimum_detectable_effect, paired_rate_interval};
    use evalrs_base::random::SplitMix;

    fn interval(n: usize, fixed: usize, broken: usize) -> (f64, f64) {
        let found = paired_rate_interval(PairedCounts { n, fixed, broken }, 0.95).unwrap();
        (found.low, found.high)
    }

    #[test]
    fn the_posterior_is_that_of_the_counts() {
        // SciPy 1.17: quantiles of a million draws of `stats.dirichlet([fixed + 1, broken + 1, n - fixed - broken + 2])`.
        for (n, fixed, broken, low, high) in [
            (10, 0, 0, -0.206, 0.206),
            (10, 2, 1, -0.234, 0.377),
            (100, 3, 12, -0.165, -0.013),
            (250, 20, 8, 0.006, 0.090),
        ] {
            let (found_low, found_high) = interval(n, fixed, broken);
            let is_close = |found: f64, expected: f64| (found - expected).abs() < 0.012;
            assert!(
                is_close(found_low, low) && is_close(found_high, high),
                "{n} {fixed} {broken}: {found_low} {found_high}"
            );
        }
        assert_eq!(interval(30, 4, 2), interval(30, 4, 2), "the same for the same counts");
    }

    #[test]
    fn what_cannot_be_has_no_interval() {
        for (n, fixed, broken) in [(0, 0, 0), (3, 2, 2), (1, usize::MAX, 1)] {
            assert_eq!(paired_rate_interval(PairedCounts { n, fixed, broken }, 0.95), None);
        }
        assert_eq!(paired_rate_interval(PairedCounts { n: 3, fixed: 1, broken: 1 }, 1.0), None);
        assert_eq!(minimum_detectable_effect(0.1, 1, 0.95), None);
        let many = minimum_detectable_effect(0.1, 1_000_000, 0.95).unwrap();
        assert!((many - 0.280_158_5).abs() < 1e-5, "{many}");
    }

    #[test]
    fn the_interval_holds_the_difference() {
        let mut generator = SplitMix::new(3);
        for (n, fixed, broken) in
            [(10, 100, 100), (30, 50, 150), (30, 20, 20), (100, 30, 60), (250, 200, 100)]
        {
            let difference = (f64::from(fixed) - f64::from(broken)) / 1000.0;
            let mut held = 0;
            for _ in 0..300 {
                let mut counts = PairedCounts { n, fixed: 0, broken: 0 };
                for _ in 0..n {
                    let drawn = generator.below(1000) as i32;
                    counts.fixed += usize::from(drawn < fixed);
                    counts.broken += usize::from((fixed..fixed + broken).contains(&drawn));
                }
                let found = paired_rate_interval(counts, 0.95).unwrap();
                held += usize::from(found.low <= difference && difference <= found.high);
            }
            // Of so few draws the share has a standard error of 0.013.
            assert!(held >= 274, "{n} {fixed} {broken}: {held} of 300");
        }
    }
}
