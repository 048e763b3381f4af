//! Quantiles of the distributions that intervals rest on.
//!
//! Owns the inversion; the distribution functions are those of `statrs`. They are inverted by bisection, which is slower than
//! Newton's method, but ends for whatever parameters, and is as exact as the function it inverts.

use statrs::function::beta::checked_beta_reg;
use statrs::function::erf::{erfc, erfc_inv};

/// From this many degrees of freedom on, the t distribution equals the normal one to seven digits.
const MOST_DEGREES: f64 = 1e7;

/// The value below which the share `share` of a standard normal distribution lies; infinite for 0.0 and 1.0.
pub(super) fn normal_quantile(share: f64) -> f64 {
    -std::f64::consts::SQRT_2 * erfc_inv(2.0 * share.clamp(0.0, 1.0))
}

/// The share of a standard normal distribution that lies below `value`.
pub(super) fn normal_share(value: f64) -> f64 {
    0.5 * erfc(-value / std::f64::consts::SQRT_2)
}

/// The value below which the share `share` (0.0..=1.0) of a beta distribution lies; none unless both parameters are positive
/// and finite.
pub(super) fn beta_quantile(share: f64, alpha: f64, beta: f64) -> Option<f64> {
    let is_positive = |value: f64| value.is_finite() && value > 0.0;
    if !is_positive(alpha) || !is_positive(beta) || !(0.0..=1.0).contains(&share) {
        return None;
    }
    if share <= 0.0 || share >= 1.0 {
        return Some(share);
    }
    let [mut low, mut high] = [0.0, 1.0];
    // Each step halves what is left, down to two neighbouring floats; near 0.0 those lie close.
    for _ in 0..1100 {
        let middle = low + (high - low) / 2.0;
        if middle <= low || middle >= high {
            break;
        }
        if checked_beta_reg(alpha, beta, middle).ok()? < share {
            low = middle;
        } else {
            high = middle;
        }
    }
    Some(high)
}

/// The number of standard errors on either side of an estimate, for an interval of this level (0.0..1.0) with these degrees
/// of freedom; none unless they are positive.
///
/// Student 1908, "The Probable Error of a Mean". With t² / (ν + t²) distributed as Beta(1/2, ν/2).
pub(super) fn student_t_quantile(level: f64, degrees: f64) -> Option<f64> {
    if degrees > MOST_DEGREES {
        return Some(normal_quantile(f64::midpoint(level, 1.0)));
    }
    let share = beta_quantile(level, 0.5, degrees / 2.0)?;
    let squared = degrees * share / (1.0 - share);
    squared.is_finite().then(|| squared.sqrt())
}

/// How often a statistic with Student's t distribution is at least so far from 0, either way; none for degrees of freedom that
/// are not positive.
pub(super) fn student_t_p_value(statistic: f64, degrees: f64) -> Option<f64> {
    if degrees > MOST_DEGREES {
        return Some(2.0 * normal_share(-statistic.abs()));
    }
    checked_beta_reg(degrees / 2.0, 0.5, degrees / (degrees + statistic * statistic)).ok()
}

#[cfg(test)]
mod tests {
    use super::{
        beta_quantile, normal_quantile, normal_share, student_t_p_value, student_t_quantile,
    };

    fn close(actual: f64, expected: f64) -> bool {
        (actual - expected).abs() <= 1e-9 * expected.abs().max(1e-9)
    }

    #[test]
    fn quantiles_are_those_of_scipy() {
        // SciPy 1.17: `stats.t.ppf((1 + level) / 2, df)`; the last is the normal one.
        for (level, degrees, expected) in [
            (0.95, 1.0, 12.706_204_736_174_694),
            (0.95, 2.0, 4.302_652_729_749_462),
            (0.95, 9.0, 2.262_157_162_798_205),
            (0.95, 29.0, 2.045_229_642_132_703),
            (0.99, 3.5, 5.085_702_223_091_256),
            (0.9, 299.0, 1.649_965_767_426_389_5),
            (0.95, 99_999.0, 1.959_987_707_771_844_2),
            (0.95, 1e9, 1.959_963_984_540_054),
        ] {
            let found = student_t_quantile(level, degrees).unwrap();
            assert!(close(found, expected), "{level} {degrees}: {found} is not {expected}");
        }
        // `stats.beta.ppf`.
        for (share, alpha, beta, expected) in [
            (0.025, 1.0, 10.0, 0.002_528_578_544_461_784_3),
            (0.975, 2.0, 9.0, 0.445_016_117_028_195_1),
            (0.025, 3.5, 100_000.25, 8.449_183_471_017_978e-06),
            (0.975, 9.0, 99_991.0, 0.000_157_627_349_829_681_72),
            (0.5, 0.5, 0.5, 0.5),
            (0.025, 0.6, 1.4, 0.001_452_052_693_130_198_5),
        ] {
            let found = beta_quantile(share, alpha, beta).unwrap();
            assert!(close(found, expected), "{share} {alpha} {beta}: {found} is not {expected}");
        }
        assert!(close(normal_quantile(0.975), 1.959_963_984_540_054));
        // `2 * stats.t.sf(abs(t), df)`.
        for (statistic, degrees, expected) in [
            (2.262_157_162_798_205, 9.0, 0.05),
            (-1.0, 3.0, 0.391_002_218_955_771_1),
            (0.0, 5.0, 1.0),
        ] {
            let found = student_t_p_value(statistic, degrees).unwrap();
            assert!(close(found, expected), "{statistic} {degrees}: {found} is not {expected}");
        }
        assert_eq!(student_t_p_value(1.0, 0.0), None);
        assert!(close(normal_share(1.959_963_984_540_054), 0.975));
    }

    #[test]
    fn what_is_no_distribution_has_no_quantile() {
        for (share, alpha, beta) in [
            (0.5, 0.0, 1.0),
            (0.5, 1.0, -1.0),
            (0.5, f64::NAN, 1.0),
            (1.5, 1.0, 1.0),
            (f64::NAN, 1.0, 1.0),
        ] {
            assert_eq!(beta_quantile(share, alpha, beta), None);
        }
        assert_eq!(student_t_quantile(0.95, 0.0), None);
        assert_eq!(
            (beta_quantile(0.0, 2.0, 2.0).unwrap(), beta_quantile(1.0, 2.0, 2.0).unwrap()),
            (0.0, 1.0)
        );
    }
}
