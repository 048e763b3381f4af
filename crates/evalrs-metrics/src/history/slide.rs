//! Whether a grader has a downward trend: its mean goes down by more than chance explains, while the gate
//! still passes.

use serde::Serialize;

use super::{HistoryLine, HistoryMetric};
use crate::metric::paired::PairedSummary;

/// A downward trend is reported where chance explains it less often than this.
const P_VALUE: f64 = 0.05;

/// The place of the last run before the last one whose numbers of `grader` mean the same: with the same grader and the
/// same questions.
pub fn comparable(lines: &[HistoryLine], grader: &str) -> Option<usize> {
    let now = lines.last()?;
    let own = now.digests.get(grader)?;
    lines[..lines.len() - 1].iter().rposition(|line| {
        line.digests.get(grader) == Some(own)
            && line.dataset.is_some()
            && line.dataset == now.dataset
    })
}

/// A grader's mean that went down by more than chance explains, while the gate still passes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Slide {
    /// The grader.
    pub grader: String,
    /// The run it is compared with.
    pub since: String,
    /// The mean then.
    pub before: f64,
    /// The mean now.
    pub now: f64,
    /// How often chance alone moves it so far.
    pub p_value: f64,
    /// How that was worked out.
    pub test: SlideTest,
}

/// How the numbers of two runs are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SlideTest {
    /// Each sample with itself, of passes and fails: McNemar's exact test.
    PairedPasses,
    /// Each sample with itself: Student's t test of the differences, or their signs where all are the same.
    PairedScores,
    /// Two means with their standard errors, because a record is gone.
    TwoSample,
}

impl SlideTest {
    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            Self::PairedPasses => "paired by sample, McNemar",
            Self::PairedScores => "paired by sample, t",
            Self::TwoSample => "two-sample z, because a record is missing",
        }
    }
}

/// Whether `grader` slid from one run to another: of the pairs of both where there are any, else of their means.
pub fn slide(
    grader: &str,
    before: &HistoryLine,
    now: &HistoryLine,
    paired: Option<&PairedGrades>,
) -> Option<Slide> {
    let old = before.metrics.get(grader)?;
    let new = now.metrics.get(grader)?;
    let of_means = ComparedMeans {
        before: old.mean?,
        now: new.mean?,
        p_value: two_sample(old, new),
        test: SlideTest::TwoSample,
    };
    let compared = paired.and_then(PairedGrades::compared).unwrap_or(of_means);
    let p_value = compared.p_value.filter(|p| *p < P_VALUE)?;
    (compared.now < compared.before).then(|| Slide {
        grader: grader.to_owned(),
        since: before.id.clone(),
        before: compared.before,
        now: compared.now,
        p_value,
        test: compared.test,
    })
}

/// The grades of one grader in two runs, sample by sample.
#[derive(Clone, Debug)]
pub struct PairedGrades {
    /// The statistics.
    pub paired: PairedSummary,
    /// Whether every score says no more than pass or fail.
    pub is_binary: bool,
}

/// Two means and how far apart they are.
struct ComparedMeans {
    before: f64,
    now: f64,
    p_value: Option<f64>,
    test: SlideTest,
}

impl PairedGrades {
    fn compared(&self) -> Option<ComparedMeans> {
        let paired = &self.paired;
        let (p_value, test) = if self.is_binary {
            // It counts samples, and says nothing of a mean that went down while more samples went up.
            let is_down = paired.samples_broken > paired.samples_fixed;
            (paired.p_value.filter(|_| is_down), SlideTest::PairedPasses)
        } else {
            (paired.difference_p_value, SlideTest::PairedScores)
        };
        Some(ComparedMeans { before: paired.mean_before?, now: paired.mean_now?, p_value, test })
    }
}

/// z of two means that know nothing of each other: their difference over the root of the sum of their squared errors.
fn two_sample(old: &HistoryMetric, new: &HistoryMetric) -> Option<f64> {
    two_sided(new.mean? - old.mean?, old.stderr?.hypot(new.stderr?))
}

/// The two-sided p-value of a difference with this standard error; none where that is 0 or no number.
fn two_sided(difference: f64, stderr: f64) -> Option<f64> {
    let z = (difference / stderr).abs();
    z.is_finite().then(|| complementary_error(z / std::f64::consts::SQRT_2))
}

/// erfc(x) of x from 0, to 1.2e-7: Press et al. 1992, "Numerical Recipes in C", §6.2.
fn complementary_error(x: f64) -> f64 {
    const TERMS: [f64; 10] = [
        -1.265_512_23,
        1.000_023_68,
        0.374_091_96,
        0.096_784_18,
        -0.186_288_06,
        0.278_868_07,
        -1.135_203_98,
        1.488_515_87,
        -0.822_152_23,
        0.170_872_77,
    ];
    let t = 1.0 / (1.0 + 0.5 * x);
    let polynomial = TERMS.iter().rev().fold(0.0, |sum: f64, term| sum.mul_add(t, *term));
    t * (-x).mul_add(x, polynomial).exp()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::GateReport;
    use crate::history::{GraderDigests, HISTORY_FORMAT};
    use crate::metric::paired::{Pair, PairedVerdict, mcnemar_exact};
    use evalrs_base::ordered_map::OrderedMap;

    fn line(id: &str, rubric: &str, mean: f64) -> HistoryLine {
        let metric = HistoryMetric {
            n: 100,
            mean: Some(mean),
            stderr: Some(0.01),
            ..HistoryMetric::default()
        };
        let digests = GraderDigests { rubric: Some(rubric.to_owned()), ..GraderDigests::default() };
        HistoryLine {
            format: HISTORY_FORMAT,
            id: id.to_owned(),
            suite: "s.yaml".to_owned(),
            started: String::new(),
            metrics: OrderedMap(vec![("q".to_owned(), metric)]),
            declared: OrderedMap::default(),
            gate: GateReport::default(),
            digests: OrderedMap(vec![("q".to_owned(), digests)]),
            dataset: Some("d".to_owned()),
            target: None,
            cost: None,
        }
    }

    #[test]
    fn the_last_run_is_compared_with_the_last_one_that_means_the_same() {
        let table: &[(&[&str], Option<usize>)] = &[
            (&[], None),
            (&["old"], None),
            (&["old", "old"], Some(0)),
            (&["old", "old", "new"], None),
            (&["old", "new", "old"], Some(0)),
            (&["new", "old", "old", "new", "new"], Some(3)),
        ];
        for (rubrics, expected) in table {
            let lines: Vec<HistoryLine> =
                rubrics.iter().map(|rubric| line("x", rubric, 0.5)).collect();
            assert_eq!(comparable(&lines, "q"), *expected);
            assert_eq!(comparable(&lines, "other"), None);
        }
        let mut lines = vec![line("a", "old", 0.5), line("b", "old", 0.5)];
        lines[0].dataset = Some("other".to_owned());
        assert_eq!(comparable(&lines, "q"), None);
    }

    #[test]
    fn a_slide_is_more_than_chance_explains() {
        let scores = |pairs: &[(u32, f64, f64)]| {
            let verdict = |score: f64| PairedVerdict { score, pass: score >= 0.5 };
            let pair = |(sample, before, now): &(u32, f64, f64)| Pair {
                sample: *sample,
                before: verdict(*before),
                now: verdict(*now),
            };
            let paired = PairedSummary::of(&pairs.iter().map(pair).collect::<Vec<_>>());
            Some(PairedGrades { paired, is_binary: false })
        };
        let samples = |count: u32, lost: fn(u32) -> f64| -> Vec<(u32, f64, f64)> {
            (0..count).map(|at| (at, 0.8, 0.8 - lost(at))).collect()
        };
        let trials: Vec<(u32, f64, f64)> = (0..10).map(|at| (at % 2, 0.75, 0.5)).collect();
        let passes = |fixed: usize, broken: usize| {
            let p_value = mcnemar_exact(fixed, broken);
            let means = [Some(0.8), Some(0.75)];
            let paired = PairedSummary {
                mean_before: means[0],
                mean_now: means[1],
                p_value,
                ..PairedSummary::default()
            };
            let paired = PairedSummary { samples_fixed: fixed, samples_broken: broken, ..paired };
            Some(PairedGrades { paired, is_binary: true })
        };
        for (mean, pairs, expected) in [
            (0.80, None, None),
            (0.79, None, None),
            (0.77, None, Some((SlideTest::TwoSample, 0.034))),
            (0.90, None, None),
            // SciPy: ttest_rel of four that lost 0.1 and 0.2 in turn.
            (
                0.79,
                scores(&samples(4, |at| 0.1 + 0.1 * f64::from(at % 2))),
                Some((SlideTest::PairedScores, 0.014)),
            ),
            (0.79, scores(&samples(4, |at| if at == 0 { 0.3 } else { 0.0 })), None),
            (0.79, scores(&samples(4, |at| -0.1 - 0.1 * f64::from(at % 2))), None),
            // All samples lost the same: nothing spreads, and none went the other way.
            (0.79, scores(&samples(10, |_| 0.05)), Some((SlideTest::PairedScores, 0.002))),
            (0.79, scores(&samples(10, |_| 0.0)), None),
            // Two are no more than chance, also where rounding parts their differences.
            (0.79, scores(&[(0, 0.8, 0.7), (1, 0.9, 0.8)]), None),
            // Trials of one sample are one.
            (0.79, scores(&trials), None),
            (0.79, passes(0, 8), Some((SlideTest::PairedPasses, 0.008))),
            (0.79, passes(1, 5), None),
            (0.50, passes(0, 0), None),
            // Few samples lost many trials, and more samples won one: chance speaks of samples.
            (0.79, passes(10, 1), None),
        ] {
            let found = slide("q", &line("a", "old", 0.8), &line("b", "old", mean), pairs.as_ref());
            let found = found.map(|slide| (slide.test, (slide.p_value * 1000.0).round() / 1000.0));
            assert_eq!(found, expected, "{mean} {pairs:?}");
        }
        assert_eq!(slide("k", &line("a", "old", 0.8), &line("b", "old", 0.1), None), None);
    }

    #[test]
    fn p_values_are_those_of_the_tables() {
        // Python: math.erfc(z / sqrt(2)).
        for (z, expected) in
            [(0.0, 1.0), (1.0, 0.317_310_5), (1.959_964, 0.05), (3.0, 0.002_699_8), (9.0, 0.0)]
        {
            let p = two_sided(-z, 1.0).unwrap();
            assert!((p - expected).abs() < 2e-7, "{z}: {p}");
        }
        assert_eq!(
            (two_sided(1.0, 0.0), two_sided(0.0, 0.0), two_sided(f64::NAN, 1.0)),
            (None, None, None)
        );
    }
}
