//! Aggregates of the grades of one grader, each with the source of its formula.
//!
//! Owns the formulas; knows no grader, no suite and no report layout. Means are exact before they are rounded once.

pub mod agreement;
pub mod annotators;
pub mod declared;
pub mod holdout;
pub mod label_queue;
pub mod labels;
pub mod people;
pub mod paired;
pub mod label_change;
pub mod sides;
pub mod trials;

use serde::{Deserialize, Serialize};

use evalrs_base::exact::{WeightedValue, mean, mean_of, sum, weighted_mean};
use evalrs_base::ordered_map::OrderedMap;
use evalrs_model::spec::Scale;
use evalrs_statistics::LEVEL;
use evalrs_statistics::interval::{ClusteredValue, ConfidenceInterval, ValueRange, mean_interval};

/// One grade, as the aggregates see it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Observation {
    /// The ordinal of the result among all: a grader has nothing to say of some.
    pub result: u32,
    /// The ordinal of the sample.
    pub sample: u32,
    /// The ordinal of the model.
    pub model: u32,
    /// 0.0..=1.0; 0.0 if errored.
    pub score: f64,
    /// Whether it counts as a pass.
    pub pass: bool,
    /// Whether the grade could not be made.
    pub errored: bool,
}

/// The aggregates of one grader.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Metric {
    /// Grades, errored ones included.
    pub n: usize,
    /// Results without a grade because it is not applicable, which are excluded from `n` and everything
    /// else here.
    #[serde(skip_serializing_if = "evalrs_model::is_default")]
    pub not_applicable: usize,
    /// Grades without an error.
    pub attempted: usize,
    /// Grades with an error.
    pub errors: usize,
    /// Mean score over `attempted`; null if there is none.
    pub avg_score_attempted: Option<f64>,
    /// Mean score over `n`, errored ones as 0.0; null if there is none.
    pub avg_score_total: Option<f64>,
    /// Standard error of `avg_score_attempted`: clustered by sample where a sample has several grades.
    pub stderr: Option<f64>,
    /// The standard error as if every grade were independent.
    pub stderr_naive: Option<f64>,
    /// The interval of the mean of all samples like these, as far as `avg_score_attempted` shows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<ConfidenceInterval>,
    /// The same mean on the scale of the grader; absent where that is 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub native: Option<NativeMean>,
    /// Share of passes among `attempted`.
    pub accuracy: Option<f64>,
    /// Where the share of passes of all samples like these lies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accuracy_interval: Option<ConfidenceInterval>,
    /// Least score.
    pub min: Option<f64>,
    /// Greatest score.
    pub max: Option<f64>,
    /// 50th percentile.
    pub median: Option<f64>,
    /// 95th percentile.
    pub p95: Option<f64>,
    /// 99th percentile.
    pub p99: Option<f64>,
    /// k → chance that at least one of k trials passes; only where samples have trials.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pass_at: Option<OrderedMap<f64>>,
    /// k → chance that all of k trials pass.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pass_hat: Option<OrderedMap<f64>>,
}

/// A mean on the scale of its grader.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct NativeMean {
    /// The mean.
    pub mean: f64,
    /// The lower bound of its interval; null without one.
    pub low: Option<f64>,
    /// The upper bound.
    pub high: Option<f64>,
    /// The score of complete failure.
    pub min: f64,
    /// The score of full success.
    pub max: f64,
}

impl Metric {
    /// The same for the grades of this many `results`, for some of which the grader is not
    /// applicable.
    pub fn among(results: usize, observations: &[Observation]) -> Self {
        let not_applicable = results.saturating_sub(observations.len());
        Self { not_applicable, ..Self::of(observations) }
    }

    /// The same of a grader with this scale.
    #[must_use]
    pub fn on(self, scale: Scale) -> Self {
        let mean = self.avg_score_attempted.filter(|_| scale != Scale::UNIT);
        let native = mean.map(|mean| NativeMean {
            mean: scale.native(mean),
            low: self.interval.map(|interval| scale.native(interval.low)),
            high: self.interval.map(|interval| scale.native(interval.high)),
            min: scale.min,
            max: scale.max,
        });
        Self { native, ..self }
    }

    /// The aggregates of one grader's grades, in any order. Percentiles, like averages, leave errored grades out.
    pub fn of(observations: &[Observation]) -> Self {
        let attempted: Vec<Observation> =
            observations.iter().filter(|grade| !grade.errored).copied().collect();
        let mut scores: Vec<f64> = attempted.iter().map(|grade| grade.score).collect();
        let avg_score_attempted = mean(&scores);
        let stderr_naive = avg_score_attempted.and_then(|mean| naive_stderr(&scores, mean));
        let stderr = match avg_score_attempted {
            Some(mean) if has_clusters(&attempted) => clustered_stderr(&attempted, mean),
            _ => stderr_naive,
        };
        let passes = attempted.iter().filter(|grade| grade.pass).count();
        let n = observations.len();
        let accuracy_interval = interval(&attempted, Observation::rate);
        let is_rate = attempted.iter().all(|grade| grade.score.total_cmp(&grade.rate()).is_eq());
        let avg_score_total = mean_of(&scores, n);
        scores.sort_by(f64::total_cmp);
        let (pass_at, pass_hat) = pass_curves(&attempted).unzip();
        Self {
            n,
            not_applicable: 0,
            attempted: attempted.len(),
            errors: n - attempted.len(),
            avg_score_attempted,
            avg_score_total,
            stderr,
            stderr_naive,
            interval: if is_rate {
                accuracy_interval
            } else {
                interval(&attempted, |grade| grade.score)
            },
            native: None,
            accuracy_interval,
            accuracy: (!attempted.is_empty()).then(|| passes as f64 / attempted.len() as f64),
            min: scores.first().copied(),
            max: scores.last().copied(),
            median: percentile(&scores, 50),
            p95: percentile(&scores, 95),
            p99: percentile(&scores, 99),
            pass_at,
            pass_hat,
        }
    }
}

impl Observation {
    /// 1.0 of a pass, else 0.0.
    fn rate(&self) -> f64 {
        f64::from(self.pass)
    }
}

/// The interval of the mean of `value`. Trials and models of a sample are one cluster.
fn interval(
    attempted: &[Observation],
    value: fn(&Observation) -> f64,
) -> Option<ConfidenceInterval> {
    let values = attempted
        .iter()
        .map(|grade| ClusteredValue { cluster: grade.sample, value: value(grade) })
        .collect();
    mean_interval(values, ValueRange::UNIT, LEVEL)
}

/// The value below which `percent` (0..=100) of `sorted` lies, linear between closest ranks.
///
/// Hyndman and Fan 1996, definition 7. Weighs the two ranks by whole numbers: as 0.95 is no float, a rank
/// computed from it lies beside the meant one. Grows with every value, and is exact among equal ones.
pub fn percentile(sorted: &[f64], percent: usize) -> Option<f64> {
    let rank = percent.min(100) * sorted.len().checked_sub(1)?;
    let low = *sorted.get(rank / 100)?;
    let high = *sorted.get(rank.div_ceil(100))?;
    let above = (rank % 100) as f64;
    weighted_mean(&[
        WeightedValue { weight: 100.0 - above, value: low },
        WeightedValue { weight: above, value: high },
    ])
}

/// The chance that at least one of `k` trials passes, estimated without bias from `passes` of `trials`.
///
/// 1 - C(n-c, k) / C(n, k), Chen et al. 2021, "Evaluating Large Language Models Trained on Code", as a product
/// so that nothing overflows. None unless `passes <= trials` and `1 <= k <= trials`.
pub fn pass_at(trials: usize, passes: usize, k: usize) -> Option<f64> {
    Some(1.0 - pass_hat(trials, trials.checked_sub(passes)?, k)?)
}

/// The chance that all of `k` trials pass, estimated without bias from `passes` of `trials`.
///
/// C(c, k) / C(n, k), Yao et al. 2024, "tau-bench", there written pass^k. None as in [`pass_at`].
pub fn pass_hat(trials: usize, passes: usize, k: usize) -> Option<f64> {
    if passes > trials || k == 0 || k > trials {
        return None;
    }
    if passes < k {
        return Some(0.0);
    }
    Some((0..k).map(|i| (passes - i) as f64 / (trials - i) as f64).product())
}

/// The standard error of a mean of independent grades: the standard deviation with n - 1, over sqrt(n).
fn naive_stderr(scores: &[f64], mean: f64) -> Option<f64> {
    let n = scores.len() as f64;
    let squares = sum(scores.iter().map(|score| (score - mean) * (score - mean)));
    (scores.len() > 1).then(|| (squares / (n - 1.0)).sqrt() / n.sqrt())
}

/// The standard error of a mean of grades that come in clusters, one a sample: trials and models of it.
///
/// sqrt(sum over samples of (sum of residuals)^2) / n, Miller 2024, "Adding Error Bars to Evals", without a
/// small-sample correction. One sample alone says nothing of the spread between samples: none.
fn clustered_stderr(attempted: &[Observation], mean: f64) -> Option<f64> {
    let mut by_sample = attempted.to_vec();
    by_sample.sort_by_key(|grade| grade.sample);
    let squares: Vec<f64> = by_sample
        .chunk_by(|left, right| left.sample == right.sample)
        .map(|cluster| sum(cluster.iter().map(|grade| grade.score - mean)))
        .map(|residuals| residuals * residuals)
        .collect();
    (squares.len() > 1).then(|| sum(squares.into_iter()).sqrt() / attempted.len() as f64)
}

/// Whether a sample has several grades.
fn has_clusters(attempted: &[Observation]) -> bool {
    let mut samples: Vec<u32> = attempted.iter().map(|grade| grade.sample).collect();
    samples.sort_unstable();
    samples.windows(2).any(|pair| pair[0] == pair[1])
}

/// The trials of one sample under one model.
struct Tally {
    trials: usize,
    passes: usize,
}

/// pass@k and pass^k, each averaged over the samples (of each model) that have at least k trials without an
/// error; none where no sample has two.
fn pass_curves(attempted: &[Observation]) -> Option<(OrderedMap<f64>, OrderedMap<f64>)> {
    let tallies = tallies(attempted);
    let most = tallies.iter().map(|tally| tally.trials).max().filter(|&most| most > 1)?;
    let curve = |estimate: fn(usize, usize, usize) -> Option<f64>| {
        let point = |k: usize| {
            let of_samples: Vec<f64> = tallies
                .iter()
                .filter_map(|tally| estimate(tally.trials, tally.passes, k))
                .collect();
            Some((k.to_string(), mean(&of_samples)?))
        };
        OrderedMap(listed(most).filter_map(point).collect())
    };
    Some((curve(pass_at), curve(pass_hat)))
}

fn tallies(attempted: &[Observation]) -> Vec<Tally> {
    let mut grades = attempted.to_vec();
    grades.sort_by_key(|grade| (grade.sample, grade.model));
    grades
        .chunk_by(|left, right| (left.sample, left.model) == (right.sample, right.model))
        .map(|group| Tally {
            trials: group.len(),
            passes: group.iter().filter(|grade| grade.pass).count(),
        })
        .collect()
}

/// The k that are reported of at most `most` trials: all to 10, then 20, 50, 100 and `most` itself.
fn listed(most: usize) -> impl Iterator<Item = usize> {
    let last = (most > 10 && ![20, 50, 100].contains(&most)).then_some(most);
    (1..=10).chain([20, 50, 100]).filter(move |&k| k <= most).chain(last)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{Just, Strategy, any, prop};
    use proptest::{prop_assert, prop_assert_eq, proptest};
    use serde_json::Value;

    use super::*;
    use evalrs_test_data as test_data;

    fn close(actual: f64, expected: f64) -> bool {
        (actual - expected).abs() < 1e-12
    }

    fn graded(sample: u32, score: f64) -> Observation {
        Observation { result: 0, sample, model: 0, score, pass: score >= 1.0, errored: false }
    }

    fn errored(sample: u32) -> Observation {
        Observation { result: 0, sample, model: 0, score: 0.0, pass: false, errored: true }
    }

    #[test]
    fn nothing_graded_has_no_aggregates() {
        assert_eq!(Metric::of(&[]), Metric::default());
        let metric = Metric::of(&[errored(0), errored(1)]);
        assert_eq!((metric.n, metric.attempted, metric.errors), (2, 0, 2));
        assert_eq!((metric.avg_score_total, metric.avg_score_attempted), (Some(0.0), None));
        assert_eq!((metric.accuracy, metric.median, metric.stderr), (None, None, None));
    }

    #[test]
    fn errors_count_in_the_total_only() {
        let metric = Metric::of(&[graded(0, 1.0), errored(1), graded(2, 0.5), errored(3)]);
        assert_eq!((metric.n, metric.attempted, metric.errors), (4, 2, 2));
        assert_eq!(metric.avg_score_attempted, Some(0.75));
        assert_eq!(metric.avg_score_total, Some(0.375));
        assert_eq!((metric.accuracy, metric.min, metric.max), (Some(0.5), Some(0.5), Some(1.0)));
        assert_eq!(metric.pass_at, None);
    }

    #[test]
    fn spread_is_that_of_the_textbook() {
        let scores = [0.2, 0.9, 0.4, 1.0, 0.75];
        let grades: Vec<_> = (0..).zip(scores).map(|(at, score)| graded(at, score)).collect();
        let metric = Metric::of(&grades);
        // Python: fmean, quantiles(n=100, method="inclusive"), stdev / sqrt(5).
        let expected = [
            (metric.avg_score_attempted, 0.65),
            (metric.median, 0.75),
            (metric.p95, 0.98),
            (metric.p99, 0.996),
            (metric.stderr, 0.151_657_508_881_031),
        ];
        for (actual, expected) in expected {
            assert!(close(actual.unwrap(), expected), "{actual:?} is not {expected}");
        }
        assert_eq!(metric.stderr, metric.stderr_naive);
    }

    #[test]
    fn grades_of_one_sample_are_one_cluster_wherever_they_stand() {
        let trials =
            [graded(0, 1.0), graded(2, 0.25), graded(1, 0.0), graded(0, 0.5), graded(2, 1.0)];
        let metric = Metric::of(&trials);
        // Python: exact fractions of the formula.
        assert!(close(metric.stderr.unwrap(), 0.139_283_882_771_841_17));
        assert_ne!(metric.stderr, metric.stderr_naive);
        assert_eq!(Metric::of(&[graded(7, 1.0), graded(7, 0.0)]).stderr, None, "one cluster");
        assert_eq!(Metric::of(&[graded(7, 1.0)]).stderr, None, "one grade");
    }

    #[test]
    fn equal_scores_aggregate_to_themselves() {
        let metric = Metric::of(&[graded(0, 0.1); 10]);
        assert_eq!(metric.avg_score_attempted, Some(0.1));
        let metric = Metric::of(&[graded(0, 0.8); 7]);
        assert_eq!((metric.median, metric.p95, metric.p99), (Some(0.8), Some(0.8), Some(0.8)));
    }

    #[test]
    fn percentiles_are_the_decimals_one_expects() {
        let cases: &[(&[f64], usize, f64)] = &[
            (&[0.25, 1.0], 95, 0.9625),
            (&[0.25, 1.0], 99, 0.9925),
            (&[0.1, 0.7], 50, 0.4),
            (&[0.1, 0.2, 0.4], 0, 0.1),
            (&[0.1, 0.2, 0.4], 100, 0.4),
            (&[0.1, 0.2, 0.4], 75, 0.3),
        ];
        for (sorted, percent, expected) in cases {
            assert!(
                close(percentile(sorted, *percent).unwrap(), *expected),
                "{sorted:?} {percent}"
            );
        }
        assert_eq!(percentile(&[0.25, 1.0], 95), Some(0.9625), "to the last bit");
        assert_eq!(percentile(&[], 50), None);
    }

    #[test]
    fn k_is_listed_to_ten_then_sparsely() {
        let cases: &[(usize, &[usize])] = &[
            (3, &[1, 2, 3]),
            (10, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]),
            (15, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 15]),
            (20, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 20]),
            (120, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 20, 50, 100, 120]),
        ];
        for (most, expected) in cases {
            assert_eq!(listed(*most).collect::<Vec<_>>(), *expected);
        }
    }

    #[test]
    fn curves_average_over_samples_with_enough_trials() {
        let pass = graded(0, 1.0);
        let fail = graded(0, 0.0);
        let of = |sample, grade| Observation { sample, ..grade };
        let grades = [pass, fail, pass, of(1, fail), of(1, pass), errored(1), of(2, pass)];
        let metric = Metric::of(&grades);
        let hat = metric.pass_hat.unwrap();
        assert_eq!(hat.0.iter().map(|(k, _)| k.as_str()).collect::<Vec<_>>(), ["1", "2", "3"]);
        assert!(close(*hat.get("1").unwrap(), (2.0 / 3.0 + 0.5 + 1.0) / 3.0));
        assert!(close(*hat.get("2").unwrap(), 1.0 / 6.0));
        assert!(close(*metric.pass_at.unwrap().get("3").unwrap(), 1.0));
    }

    #[test]
    fn models_of_a_sample_are_not_trials_of_it() {
        let other = Observation { model: 1, ..graded(0, 0.0) };
        let metric = Metric::of(&[graded(0, 1.0), other, graded(1, 1.0)]);
        assert_eq!(metric.pass_at, None);
    }

    #[test]
    fn many_trials_do_not_overflow() {
        // Python: exact binomials.
        assert!(close(pass_at(1000, 100, 100).unwrap(), 0.999_985_303_161_973_2));
        assert!(close(pass_at(100_000, 10, 50).unwrap(), 0.004_988_988_990_570_856));
        let hat = pass_hat(1000, 500, 100).unwrap();
        assert!((hat / 3.197_616_079_092_609e-33 - 1.0).abs() < 1e-9, "{hat}");
        assert_eq!((pass_at(3, 4, 1), pass_at(3, 1, 4), pass_at(3, 1, 0)), (None, None, None));
    }

    /// All ways to take `k` of `trials`, the first `passes` of which passed: (some passed, all passed).
    fn enumerated(trials: usize, passes: usize, k: usize) -> (f64, f64) {
        let hands: Vec<u32> =
            (0..1u32 << trials).filter(|hand| hand.count_ones() as usize == k).collect();
        let passing = (1u32 << passes) - 1;
        let share = |holds: &dyn Fn(u32) -> bool| {
            hands.iter().filter(|hand| holds(**hand)).count() as f64 / hands.len() as f64
        };
        (share(&|hand| hand & passing != 0), share(&|hand| hand & passing == hand))
    }

    proptest! {
        #[test]
        fn estimators_are_what_enumeration_gives(
            (trials, passes, k) in (1usize..=9).prop_flat_map(|n| (Just(n), 0..=n, 1..=n)),
        ) {
            let (some, all) = enumerated(trials, passes, k);
            prop_assert!(close(pass_at(trials, passes, k).unwrap(), some));
            prop_assert!(close(pass_hat(trials, passes, k).unwrap(), all));
        }

        #[test]
        fn order_changes_nothing(
            (grades, shuffled) in prop::collection::vec(
                (0u32..5, 0u32..2, 0.0f64..=1.0, any::<bool>()), 0..40,
            ).prop_flat_map(|grades| (Just(grades.clone()), Just(grades).prop_shuffle())),
        ) {
            let metric = |grades: Vec<(u32, u32, f64, bool)>| {
                let grades: Vec<Observation> = grades
                    .into_iter()
                    .map(|(sample, model, score, errored)| {
                        Observation { result: 0, sample, model, score, pass: score > 0.5, errored }
                    })
                    .collect();
                Metric::of(&grades)
            };
            prop_assert_eq!(metric(grades), metric(shuffled));
        }
    }

    fn json(set: &str, name: &str) -> Option<Value> {
        test_data::text(set, name).map(|text| serde_json::from_str(&text).unwrap())
    }

    #[test]
    fn tau_bench_gives_its_published_curve() {
        let set = "agent-trajectories";
        let Some(episodes) = json(set, "tau-bench-gpt-4o-airline.json") else { return };
        let Some(expected) = json(set, "expected.json") else { return };
        let expected = &expected["tau-bench-gpt-4o-airline.json"];
        let grades: Vec<Observation> = episodes
            .as_array()
            .unwrap()
            .iter()
            .map(|episode| {
                let sample = u32::try_from(episode["task_id"].as_u64().unwrap()).unwrap();
                graded(sample, episode["reward"].as_f64().unwrap())
            })
            .collect();
        let metric = Metric::of(&grades);
        let is = |actual: Option<f64>, key: &str| {
            let expected = expected[key].as_f64().unwrap();
            assert!(close(actual.unwrap(), expected), "{key}: {actual:?} is not {expected}");
        };
        is(metric.avg_score_attempted, "mean");
        is(metric.stderr, "se_clustered_by_task_no_small_sample_correction");
        is(metric.stderr_naive, "se_clt_ddof1");
        let curves = [(metric.pass_hat, "pass_hat_k"), (metric.pass_at, "pass_at_k")];
        for (curve, key) in curves {
            let curve = curve.unwrap();
            assert_eq!(curve.0.len(), 4);
            for (k, value) in &curve.0 {
                assert!(close(*value, expected[key][k].as_f64().unwrap()), "{key} {k}: {value}");
            }
        }
    }

    #[test]
    fn gsm8k_gives_its_standard_errors() {
        let set = "gsm8k-humaneval-outputs";
        let Some(lines) = test_data::text(set, "gsm8k-example_model_solutions.jsonl") else {
            return;
        };
        let Some(expected) = json(set, "expected.json") else { return };
        let rows: Vec<Value> =
            lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let errors = expected["gsm8k"]["se_ddof1"].as_object().unwrap();
        assert_eq!(errors.len(), 4);
        for (model, stderr) in errors {
            let score = |row: &Value| f64::from(row[model]["is_correct"] == true);
            let grades: Vec<_> = (0..).zip(&rows).map(|(at, row)| graded(at, score(row))).collect();
            let metric = Metric::of(&grades);
            let accuracy = expected["gsm8k"]["accuracy"][model].as_f64().unwrap();
            assert!(close(metric.accuracy.unwrap(), accuracy), "{model}");
            assert!(close(metric.stderr.unwrap(), stderr.as_f64().unwrap()), "{model}");
        }
    }
}
