//! What several trials of a sample tell beyond pass@k and pass^k: which samples are flaky, and how much of the variance of
//! scores is luck.
//!
//! Owns the formulas; knows samples by their place among the grades. A group is a sample under one model. Grades with an
//! error say nothing of a target, and are left out.

use serde::{Deserialize, Serialize};

use super::Observation;
use evalrs_base::exact::{mean, sum};

/// What trials tell of one grader.
#[derive(Clone, Debug, PartialEq)]
pub struct TrialFindings {
    /// Groups that have a grade.
    pub groups: usize,
    /// The fewest grades of one.
    pub fewest: usize,
    /// The most.
    pub most: usize,
    /// Those that pass in some trials and not in others, the flakiest first.
    pub flaky: Vec<FlakyGroup>,
    /// Where the variance of scores comes from.
    pub variance: Option<ScoreVariance>,
}

/// A group that passes in some trials and not in others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlakyGroup {
    /// The ordinal of its first result.
    pub at: usize,
    /// Grades that pass.
    pub passes: usize,
    /// Grades without an error.
    pub trials: usize,
}

/// The variance of scores, split by a one-way analysis of variance with random effects: groups are sampled from more
/// groups and trials from more trials.
///
/// With a groups of `n_i` grades, N in all: `MSB = sum n_i (m_i - m)^2 / (a - 1)`, `MSW = sum (x - m_i)^2 / (N - a)`,
/// `n0 = (N - sum n_i^2 / N) / (a - 1)`. Searle et al. 1992, "Variance Components", chapter 3.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScoreVariance {
    /// Between samples: `(MSB - MSW) / n0`, and 0 where that is below it. More samples make it matter less.
    pub between: f64,
    /// Within samples: `MSW`. More trials make it matter less.
    pub within: f64,
    /// The correlation of two trials of a sample, ICC(1): `(MSB - MSW) / (MSB + (n0 - 1) MSW)`, Shrout and Fleiss 1979. Below
    /// 0 where trials differ more than samples do; null where all scores are equal.
    pub icc: Option<f64>,
    /// The standard error of the mean of all grades that follows: `sqrt(between * sum n_i^2 / N^2 + within / N)`.
    pub stderr: f64,
}

impl TrialFindings {
    /// Of one grader's grades; none where no group has two.
    pub fn of(observations: &[Observation]) -> Option<Self> {
        let mut graded: Vec<Observation> =
            observations.iter().filter(|grade| !grade.errored).copied().collect();
        // Stable: the trials of a group stay in their order.
        graded.sort_by_key(|grade| (grade.sample, grade.model));
        let groups: Vec<&[Observation]> = graded
            .chunk_by(|left, right| (left.sample, left.model) == (right.sample, right.model))
            .collect();
        let lengths = || groups.iter().map(|group| group.len());
        let most = lengths().max().filter(|most| *most > 1)?;
        let mut flaky: Vec<FlakyGroup> = groups.iter().filter_map(|group| flaky(group)).collect();
        flaky.sort_by(|left, right| right.evenness().total_cmp(&left.evenness()));
        let scores: Vec<Vec<f64>> =
            groups.iter().map(|group| group.iter().map(|grade| grade.score).collect()).collect();
        Some(Self {
            groups: groups.len(),
            fewest: lengths().min().unwrap_or(0),
            most,
            flaky,
            variance: score_variance(&scores),
        })
    }
}

impl FlakyGroup {
    /// How near it is to passing in one of two: p (1 - p).
    fn evenness(self) -> f64 {
        let share = self.passes as f64 / self.trials as f64;
        share * (1.0 - share)
    }
}

fn flaky(group: &[Observation]) -> Option<FlakyGroup> {
    let passes = group.iter().filter(|grade| grade.pass).count();
    let at = group.first()?.result as usize;
    (0 < passes && passes < group.len()).then_some(FlakyGroup { at, passes, trials: group.len() })
}

/// Where the variance of scores in groups comes from; none with fewer than two groups or without a second grade in any.
pub(crate) fn score_variance(groups: &[Vec<f64>]) -> Option<ScoreVariance> {
    let means: Option<Vec<f64>> = groups.iter().map(|group| mean(group)).collect();
    let means = means?;
    let grand = mean(&groups.concat())?;
    let count = groups.len() as f64;
    let total: f64 = groups.iter().map(|group| group.len() as f64).sum();
    if count < 2.0 || total <= count {
        return None;
    }
    let square = |value: f64| value * value;
    let with_means = || groups.iter().zip(&means);
    let between = with_means().map(|(group, mean)| group.len() as f64 * square(mean - grand));
    let within = with_means().map(|(group, mean)| sum(group.iter().map(|x| square(x - mean))));
    let between = sum(between) / (count - 1.0);
    let within = sum(within) / (total - count);
    let squares: f64 = groups.iter().map(|group| square(group.len() as f64)).sum();
    let size = (total - squares / total) / (count - 1.0);
    let excess = excess(between, within);
    let component = (excess / size).max(0.0);
    let whole = between + (size - 1.0) * within;
    Some(ScoreVariance {
        between: component,
        within,
        icc: (whole > 0.0).then(|| excess / whole),
        stderr: (component * squares / square(total) + within / total).sqrt(),
    })
}

/// How much greater one mean square is than another; what lies below the rounding of both is nothing.
fn excess(between: f64, within: f64) -> f64 {
    const ROUNDING: f64 = 1e-12;
    let excess = between - within;
    if excess.abs() <= ROUNDING * between.max(within) { 0.0 } else { excess }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::{FlakyGroup, ScoreVariance, TrialFindings, score_variance};
    use crate::metric::{Metric, Observation};
    use evalrs_test_data as test_data;

    fn close(actual: f64, expected: f64, digits: i32) {
        let most = 0.5 * 10_f64.powi(-digits);
        assert!((actual - expected).abs() < most, "{actual} is not {expected}");
    }

    fn graded(sample: u32, score: f64) -> Observation {
        Observation { result: 0, sample, model: 0, score, pass: score >= 1.0, errored: false }
    }

    #[test]
    fn variance_is_split_as_in_the_published_example() {
        // Shrout and Fleiss 1979, table 2: six targets, four judges; ICC(1,1) is 0.17, BMS 11.24, WMS 6.26.
        let ratings = [
            [9.0, 2.0, 5.0, 8.0],
            [6.0, 1.0, 3.0, 2.0],
            [8.0, 4.0, 6.0, 8.0],
            [7.0, 1.0, 2.0, 6.0],
            [10.0, 5.0, 6.0, 9.0],
            [6.0, 2.0, 4.0, 7.0],
        ];
        let ScoreVariance { between, within, icc, stderr } =
            score_variance(&ratings.map(|of_target| of_target.to_vec())).unwrap();
        close(icc.unwrap(), 0.17, 2);
        close(within, 6.26, 2);
        close(4.0 * between + within, 11.24, 2);
        // With as many grades in every group: sqrt(MSB / N).
        close(stderr, ((4.0 * between + within) / 24.0).sqrt(), 12);
    }

    #[test]
    fn groups_may_have_different_sizes() {
        // Python: exact fractions of the formulas. MSB = 17/112, MSW = 1/8, n0 = 16/7.
        let groups = [vec![1.0, 1.0, 0.25], vec![0.0, 0.5], vec![0.5, 0.5]];
        let variance = score_variance(&groups).unwrap();
        close(variance.between, 3.0 / 256.0, 12);
        close(variance.within, 1.0 / 8.0, 12);
        close(variance.icc.unwrap(), 3.0 / 35.0, 12);
        close(variance.stderr, 0.148_063_606_712_294_63, 12);
    }

    #[test]
    fn what_is_not_defined_has_no_value() {
        assert_eq!(score_variance(&[]), None);
        assert_eq!(score_variance(&[vec![1.0, 0.0]]), None, "one group");
        assert_eq!(score_variance(&[vec![1.0], vec![0.0]]), None, "no second grade");
        assert_eq!(score_variance(&[vec![1.0, 0.0], vec![]]), None, "a group of nothing");
        let equal = score_variance(&[vec![0.1, 0.1], vec![0.1; 3]]).unwrap();
        let nothing = ScoreVariance { between: 0.0, within: 0.0, icc: None, stderr: 0.0 };
        assert_eq!(equal, nothing);
        // Of six samples with two trials one is flaky: MSB = MSW = 1/12, which no float is.
        let even: Vec<Vec<f64>> = (0..6).map(|at| vec![1.0, f64::from(at > 0)]).collect();
        let even = score_variance(&even).unwrap();
        assert_eq!((even.between, even.icc), (0.0, Some(0.0)));
        // Trials that differ more than samples do.
        let luck = score_variance(&[vec![1.0, 0.0], vec![0.0, 1.0]]).unwrap();
        close(luck.icc.unwrap(), -1.0, 12);
        close(luck.between, 0.0, 12);
    }

    #[test]
    fn samples_that_pass_now_and_then_are_flaky() {
        let other_model = |grade| Observation { model: 1, ..grade };
        let errored = Observation { errored: true, ..graded(0, 0.0) };
        let grades = [
            errored,
            graded(0, 1.0),
            graded(1, 1.0),
            graded(0, 1.0),
            graded(0, 0.0),
            graded(1, 1.0),
            other_model(graded(1, 0.0)),
            graded(2, 0.5),
            graded(3, 1.0),
            graded(3, 0.0),
        ];
        let numbered = (0..).zip(grades).map(|(result, grade)| Observation { result, ..grade });
        let findings = TrialFindings::of(&numbered.collect::<Vec<_>>()).unwrap();
        assert_eq!((findings.groups, findings.fewest, findings.most), (5, 1, 3));
        let flaky = |at, passes, trials| FlakyGroup { at, passes, trials };
        assert_eq!(findings.flaky, [flaky(8, 1, 2), flaky(1, 2, 3)], "the flakiest first");
        let single = [errored, graded(0, 1.0), other_model(graded(0, 0.0)), graded(1, 1.0)];
        assert_eq!(TrialFindings::of(&single), None);
    }

    #[test]
    fn tau_bench_gives_the_errors_of_its_tasks() {
        let set = "agent-trajectories";
        let name = "tau-bench-gpt-4o-airline.json";
        let Some(episodes) = test_data::text(set, name) else { return };
        let Some(expected) = test_data::text(set, "expected.json") else { return };
        let episodes: Vec<Value> = serde_json::from_str(&episodes).unwrap();
        let expected: Value = serde_json::from_str(&expected).unwrap();
        let expected = &expected[name];
        let grade = |episode: &Value| {
            graded(episode["task_id"].as_u64().unwrap() as u32, episode["reward"].as_f64().unwrap())
        };
        let grades: Vec<Observation> = episodes.iter().map(grade).collect();
        let findings = TrialFindings::of(&grades).unwrap();
        let histogram = &expected["successes_per_task_histogram"];
        let tasks = |passes: &str| histogram[passes].as_u64().unwrap() as usize;
        assert_eq!(findings.flaky.len(), tasks("1") + tasks("2") + tasks("3"));
        assert_eq!((findings.groups, findings.fewest, findings.most), (50, 4, 4));
        let variance = findings.variance.unwrap();
        let of_means = expected["se_of_task_means_ddof1"].as_f64().unwrap();
        close(variance.stderr, of_means, 12);
        // The variance within a task with c passes of 4 is c (4 - c) / 4 over 3.
        let within = tasks("1") as f64 * 0.75 + tasks("2") as f64 + tasks("3") as f64 * 0.75;
        close(variance.within, within / 150.0, 12);
        // What all tasks being one cluster each gives differs by the correction for few clusters alone.
        let clustered = Metric::of(&grades).stderr.unwrap();
        close(clustered, variance.stderr * (49.0_f64 / 50.0).sqrt(), 12);
    }
}
