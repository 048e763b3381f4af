//! How often intervals hold the true value: exactly for rates, by simulation for trials and for scores.
//!
//! Draws are seeded, so that the numbers are the same every time. The table in `docs/metrics.md` is what
//! `cargo test --lib coverage -- --ignored --nocapture` prints.

use super::LEVEL;
use super::interval::{ClusteredValue, ValueRange, mean_interval, rate_interval};
use evalrs_base::random::SplitMix;

const SIZES: [usize; 4] = [10, 30, 100, 300];
const RATES: [f64; 3] = [0.02, 0.5, 0.98];

/// How far coverage may fall below the level.
const MARGIN: f64 = 0.02;

/// The chance that the interval of a binomial rate holds it: the sum over all counts of passes.
fn exact_coverage(n: usize, rate: f64) -> f64 {
    let holds = |passes: usize| {
        let found = rate_interval(passes, n, LEVEL).unwrap();
        found.low <= rate && rate <= found.high
    };
    // From the count that is likeliest, outwards: the chances at either end may be too small for a float.
    let ratio = |passes: usize| (n - passes) as f64 / (passes + 1) as f64 * rate / (1.0 - rate);
    let start = (n as f64 * rate) as usize;
    let mut chances = vec![1.0; n + 1];
    for passes in start..n {
        chances[passes + 1] = chances[passes] * ratio(passes);
    }
    for passes in (0..start).rev() {
        chances[passes] = chances[passes + 1] / ratio(passes);
    }
    let all: f64 = chances.iter().sum();
    let covered = (0..=n).filter(|passes| holds(*passes)).map(|passes| chances[passes]);
    covered.sum::<f64>() / all
}

/// Draws a value around a mean.
type DrawnValue = fn(&mut SplitMix, f64) -> f64;

/// A design that is drawn from: samples, trials of each, and what one trial gives.
struct Design {
    samples: usize,
    trials: usize,
    /// How likely all trials of a sample are one and the same: their intra-class correlation.
    correlation: f64,
    mean: f64,
    value: DrawnValue,
}

fn share(generator: &mut SplitMix) -> f64 {
    generator.below(1 << 53) as f64 / (1u64 << 53) as f64
}

fn binary(generator: &mut SplitMix, rate: f64) -> f64 {
    f64::from(share(generator) < rate)
}

/// Uniform.
fn uniform(generator: &mut SplitMix, _: f64) -> f64 {
    share(generator)
}

/// Close to 1, with a long tail.
fn skewed(generator: &mut SplitMix, _: f64) -> f64 {
    1.0 - share(generator).powi(4)
}

/// One to five stars, most of them four.
fn stars(generator: &mut SplitMix, _: f64) -> f64 {
    [0.0, 0.25, 0.5, 0.75, 0.75, 0.75, 0.75, 1.0, 1.0, 1.0][generator.below(10) as usize]
}

/// What one trial gives, and its mean.
const SCORES: [(f64, DrawnValue); 3] = [(0.5, uniform), (0.8, skewed), (0.675, stars)];

impl Design {
    fn draw(&self, generator: &mut SplitMix) -> Vec<ClusteredValue> {
        let mut values = Vec::with_capacity(self.samples * self.trials);
        for cluster in 0..self.samples as u32 {
            let common =
                (share(generator) < self.correlation).then(|| (self.value)(generator, self.mean));
            for _ in 0..self.trials {
                let value = common.unwrap_or_else(|| (self.value)(generator, self.mean));
                values.push(ClusteredValue { cluster, value });
            }
        }
        values
    }

    fn coverage(&self, draws: usize) -> f64 {
        let mut generator = SplitMix::new(1);
        let holds = |_: &usize| {
            let found = mean_interval(self.draw(&mut generator), ValueRange::UNIT, LEVEL).unwrap();
            found.low <= self.mean && self.mean <= found.high
        };
        (0..draws).filter(holds).count() as f64 / draws as f64
    }
}

#[test]
fn intervals_of_rates_hold_them() {
    for n in SIZES {
        for rate in RATES {
            let found = exact_coverage(n, rate);
            assert!(found >= LEVEL - MARGIN, "{n} at {rate}: {found}");
        }
    }
}

#[test]
fn intervals_of_trials_hold_their_rate() {
    for samples in [10, 30, 100] {
        for mean in RATES {
            for (trials, correlation) in [(3, 0.2), (5, 0.8)] {
                let design = Design { samples, trials, correlation, mean, value: binary };
                let found = design.coverage(400);
                // Of so few draws the share has a standard error of 0.011.
                let name = format!("{samples} x {trials}, {correlation} at {mean}");
                assert!(found >= LEVEL - MARGIN - 0.01, "{name}: {found}");
            }
        }
    }
}

#[test]
fn intervals_of_scores_hold_their_mean() {
    for (mean, value) in SCORES {
        for (samples, trials) in [(10, 1), (30, 1), (10, 3)] {
            let design = Design { samples, trials, correlation: 0.5, mean, value };
            let found = design.coverage(400);
            assert!(found >= LEVEL - 2.0 * MARGIN, "{samples} x {trials} around {mean}: {found}");
        }
    }
}

#[test]
#[ignore = "prints the table of docs/metrics.md, which takes minutes"]
fn the_table() {
    let row = |name: String, cells: Vec<f64>| {
        let cells: Vec<String> = cells.iter().map(|cell| format!("{:.1}", cell * 100.0)).collect();
        println!("| {name} | {} |", cells.join(" | "));
    };
    for rate in RATES {
        row(format!("rate {rate}"), SIZES.map(|n| exact_coverage(n, rate)).to_vec());
    }
    for trials in [3, 5] {
        for correlation in [0.2, 0.5, 0.8] {
            for mean in RATES {
                let of = |samples| {
                    Design { samples, trials, correlation, mean, value: binary }.coverage(2000)
                };
                row(
                    format!("rate {mean}, {trials} trials, correlation {correlation}"),
                    SIZES.map(of).to_vec(),
                );
            }
        }
    }
    for trials in [1, 3] {
        for (mean, value) in SCORES {
            let correlation = if trials > 1 { 0.5 } else { 0.0 };
            let of = |samples| Design { samples, trials, correlation, mean, value }.coverage(2000);
            row(format!("scores around {mean}, {trials} trials"), SIZES.map(of).to_vec());
        }
    }
}
