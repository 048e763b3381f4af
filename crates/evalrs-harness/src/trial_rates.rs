//! The result of the trials of one prompt, as agent-eval-harness has it.
//!
//! Both chances are plug-in estimates: the share of passes stands for the chance of one pass. They are biased, which those of
//! `pipeline::metric` are not; these are here because records of that form have them.

/// How often the trials of a prompt passed, and what follows from that for as many trials more.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct TrialRates {
    /// The share of trials that passed.
    pub share: f64,
    /// The chance that at least one of k trials passes: 1 - (1 - c/k)^k.
    pub at_least_one: f64,
    /// The chance that all of k trials pass: (c/k)^k.
    pub all: f64,
}

impl TrialRates {
    /// The rates of a prompt `passes` of whose `trials` passed; none without a trial.
    pub(crate) fn of(passes: usize, trials: usize) -> Option<Self> {
        if trials == 0 {
            return None;
        }
        let share = passes.min(trials) as f64 / trials as f64;
        let k = trials as f64;
        Some(Self { share, at_least_one: 1.0 - (1.0 - share).powf(k), all: share.powf(k) })
    }
}

#[cfg(test)]
mod tests {
    use super::TrialRates;

    #[test]
    fn the_rates_are_those_that_are_published() {
        for (passes, trials, pass_at_k, pass_exp_k) in [
            (3, 5, 0.98976, 0.07776),
            (4, 5, 0.99968, 0.32768),
            (1, 3, 19.0 / 27.0, 1.0 / 27.0),
            (2, 4, 0.9375, 0.0625),
            (3, 4, 0.996_093_75, 0.316_406_25),
            (2, 3, 26.0 / 27.0, 8.0 / 27.0),
            (0, 5, 0.0, 0.0),
            (5, 5, 1.0, 1.0),
            (1, 1, 1.0, 1.0),
        ] {
            let rates = TrialRates::of(passes, trials).unwrap();
            let expected = [passes as f64 / trials as f64, pass_at_k, pass_exp_k];
            let found = [rates.share, rates.at_least_one, rates.all];
            let is_close = found
                .iter()
                .zip(expected)
                .all(|(found, expected)| (found - expected).abs() < 1e-12);
            assert!(is_close, "{passes} of {trials}: {rates:?}");
        }
        assert_eq!(TrialRates::of(0, 0), None);
    }
}
