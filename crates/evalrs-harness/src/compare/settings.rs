//! The settings of a comparison in the environment: weights, and the number of resamples.

use std::collections::BTreeMap;

use super::capture::CaptureWeights;
use super::statistics::Bootstrap;
use super::trials::TrialsWeights;

/// The fewest resamples that an interval is made of.
const LEAST_ITERATIONS: usize = 100;
/// The most resamples: more change no digit that is shown.
const MOST_ITERATIONS: usize = 1_000_000;

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ComparisonSettings {
    pub capture: CaptureWeights,
    pub trials: TrialsWeights,
    pub bootstrap: Bootstrap,
    /// Settings that could not be used: a sentence each.
    pub warnings: Vec<String>,
}

impl ComparisonSettings {
    /// As the variables of the environment say. What is no number, or none that makes sense, is as if it were not said.
    pub(crate) fn of(environment: &BTreeMap<String, String>) -> Self {
        let mut settings = Self::default();
        let Self { capture, trials, bootstrap, warnings } = &mut settings;
        let mut weight = |name: &str, of_capture: Option<&mut f64>, of_trials: Option<&mut f64>| {
            let Some(text) = said(environment, name) else { return };
            let Some(value) = text.parse().ok().filter(|value: &f64| value.is_finite()) else {
                warnings.push(format!("{name} is not a number, so it is ignored"));
                return;
            };
            if let Some(weight) = of_capture {
                *weight = value;
            }
            if let Some(weight) = of_trials.filter(|_| value >= 0.0) {
                *weight = value;
            }
        };
        weight("COMPARE_QUALITY", Some(&mut capture.quality), None);
        weight("COMPARE_LATENCY", Some(&mut capture.latency), None);
        weight(
            "COMPARE_RELIABILITY",
            Some(&mut capture.reliability),
            Some(&mut trials.reliability),
        );
        weight("COMPARE_CAPABILITY", None, Some(&mut trials.capability));
        weight("COMPARE_CONSISTENCY", None, Some(&mut trials.consistency));
        let name = "COMPARE_BOOTSTRAP_ITERATIONS";
        if let Some(text) = said(environment, name) {
            let range = LEAST_ITERATIONS..=MOST_ITERATIONS;
            match text.parse().ok().filter(|count| range.contains(count)) {
                Some(iterations) => bootstrap.iterations = iterations,
                None => warnings.push(format!(
                    "{name} is not a whole number from {LEAST_ITERATIONS} to {MOST_ITERATIONS}, so {} are used",
                    bootstrap.iterations
                )),
            }
        }
        settings
    }
}

fn said<'e>(environment: &'e BTreeMap<String, String>, name: &str) -> Option<&'e str> {
    environment.get(name).map(|text| text.trim()).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::{Bootstrap, CaptureWeights, ComparisonSettings, TrialsWeights};

    #[test]
    fn the_environment_weighs_what_it_says_as_a_number() {
        let of = |pairs: &[(&str, &str)]| {
            let pairs = pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
            ComparisonSettings::of(&pairs.collect())
        };
        assert_eq!(of(&[("COMPARE_QUALITY", " "), ("HOME", "x")]), ComparisonSettings::default());
        let settings = of(&[
            ("COMPARE_QUALITY", "0.9"),
            ("COMPARE_LATENCY", "-1"),
            ("COMPARE_RELIABILITY", "0"),
            ("COMPARE_CAPABILITY", "-1"),
            ("COMPARE_CONSISTENCY", "2e-1"),
            ("COMPARE_BOOTSTRAP_ITERATIONS", "100"),
        ]);
        let capture = CaptureWeights { quality: 0.9, latency: -1.0, reliability: 0.0 };
        assert_eq!(settings.capture, capture, "a negative weight of results counts");
        let trials = TrialsWeights { capability: 0.4, reliability: 0.0, consistency: 0.2 };
        assert_eq!(settings.trials, trials, "one of trials does not");
        assert_eq!(
            (settings.bootstrap, settings.warnings.len()),
            (Bootstrap { iterations: 100 }, 0)
        );
        for (name, value) in [
            ("COMPARE_QUALITY", "much"),
            ("COMPARE_CAPABILITY", "inf"),
            ("COMPARE_BOOTSTRAP_ITERATIONS", "99"),
            ("COMPARE_BOOTSTRAP_ITERATIONS", "1e3"),
            ("COMPARE_BOOTSTRAP_ITERATIONS", "99999999999999999999"),
        ] {
            let ComparisonSettings { warnings, .. } = of(&[(name, value)]);
            assert!(warnings.len() == 1 && warnings[0].starts_with(name), "{name}: {warnings:?}");
            let left = ComparisonSettings { warnings, ..ComparisonSettings::default() };
            assert_eq!(of(&[(name, value)]), left);
        }
    }
}
