//! Gates: aggregates → passed, failed or undecided.
//!
//! Owns the arithmetic of a gate over grades; knows neither how they were made nor how a report looks.
//! A grade that could not be made is no verdict, so a gate is computed with those grades at both ends of
//! 0..=1 and answers only where the answer is the same: a run is never silently passed or failed. Averages
//! are rounded once, and [`crate::base::threshold`] says what equals a threshold.

use serde::{Deserialize, Serialize};

use super::metric::declared::MetricValue;
use super::metric::{Observation, percentile};
use super::spec::{Aggregation, Condition, Gate, Logic, Op, PassRule};
use crate::base::exact::{Weighted, mean, weighted_mean};

/// What a gate says.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct GateReport {
    /// `passed`, `failed`, `undecided`; null without a gate.
    pub status: Option<GateStatus>,
    /// The aggregate, with errored grades as 0.0; null for logical gates and for zero samples.
    pub value: Option<f64>,
    /// The comparison.
    pub op: Option<super::spec::Op>,
    /// What the value is compared with.
    pub threshold: Option<f64>,
    /// The least the value can be, whatever the errored grades would have been.
    pub lowest: Option<f64>,
    /// The most it can be.
    pub highest: Option<f64>,
    /// The rule in words.
    pub rule: Option<String>,
    /// The conditions of a logical gate.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<GateReport>,
}

/// The three answers of a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GateStatus {
    /// It passed whatever the errored grades would have been.
    Passed,
    /// It failed whatever they would have been.
    Failed,
    /// They decide it, or there was nothing to decide on.
    Undecided,
}

/// Where a gate finds the grades of a grader, by the grader's name.
pub(crate) type Grades<'a> = dyn Fn(&str) -> Option<&'a [Observation]> + 'a;

/// Where a gate finds a metric that the suite declares.
pub(crate) type DeclaredValues<'a> = dyn Fn(&str) -> Option<&'a MetricValue> + 'a;

/// What a gate is decided on.
#[derive(Clone, Copy)]
pub(crate) struct GateInputs<'a, 'd> {
    pub(crate) grades: &'a Grades<'d>,
    pub(crate) metrics: &'a DeclaredValues<'d>,
}

/// What `gate` says of the grades alone: it names no declared metric.
pub(crate) fn decide(gate: &Gate, grades: &Grades<'_>) -> GateReport {
    decide_with(gate, GateInputs { grades, metrics: &|_| None })
}

/// What `gate` says. A grader without grades decides nothing, and neither does a metric without a value.
pub(crate) fn decide_with(gate: &Gate, inputs: GateInputs<'_, '_>) -> GateReport {
    let grades = inputs.grades;
    match gate {
        Gate::Simple(condition) => {
            if condition.aggregation == Aggregation::Declared {
                let range = (inputs.metrics)(&condition.metric_key).and_then(Range::of_metric);
                return compared(range, condition.op, condition.value, rule(gate));
            }
            let range = grades(&condition.metric_key)
                .and_then(|grades| Range::of(grades, condition.aggregation, condition.pass));
            compared(range, condition.op, condition.value, rule(gate))
        }
        Gate::WeightedAverage { aggregation, weights, op, value } => {
            compared(weighted(weights, *aggregation, grades), *op, *value, rule(gate))
        }
        Gate::Logical { operator, conditions } => {
            let conditions: Vec<GateReport> =
                conditions.iter().map(|condition| decide_with(condition, inputs)).collect();
            GateReport {
                status: Some(joined(*operator, &conditions)),
                rule: Some(rule(gate)),
                conditions,
                ..GateReport::default()
            }
        }
    }
}

/// The graders that `gate` needs, each as often as it is named.
pub(crate) fn graders(gate: &Gate) -> Vec<&str> {
    match gate {
        Gate::Simple(condition) => vec![&condition.metric_key],
        Gate::WeightedAverage { weights, .. } => {
            weights.iter().map(|(grader, _)| grader.as_str()).collect()
        }
        Gate::Logical { conditions, .. } => conditions.iter().flat_map(graders).collect(),
    }
}

/// The sign of a comparison.
pub(crate) fn sign(op: Op) -> &'static str {
    match op {
        Op::Gt => ">",
        Op::Gte => ">=",
        Op::Lt => "<",
        Op::Lte => "<=",
        Op::Eq => "==",
    }
}

/// An aggregate and how far the errored grades could have moved it.
#[derive(Clone, Copy)]
struct Range {
    /// With errored grades as 0.0.
    value: f64,
    lowest: f64,
    highest: f64,
}

impl Range {
    /// None where there is no grade at all.
    fn of(
        grades: &[Observation],
        aggregation: Aggregation,
        pass: Option<PassRule>,
    ) -> Option<Self> {
        if grades.is_empty() {
            return None;
        }
        if aggregation == Aggregation::Accuracy {
            return Some(Self::of_accuracy(grades, pass));
        }
        // Each of these aggregates grows with every score, so the ends of the scores are its ends.
        let lowest = aggregate(grades, aggregation, 0.0)?;
        Some(Self { value: lowest, lowest, highest: aggregate(grades, aggregation, 1.0)? })
    }

    /// Where errors may have moved the metric no one knows how far, its ends are not known.
    fn of_metric(metric: &MetricValue) -> Option<Self> {
        Some(Self {
            value: metric.value?,
            lowest: metric.lowest.unwrap_or(f64::NEG_INFINITY),
            highest: metric.highest.unwrap_or(f64::INFINITY),
        })
    }

    fn of_accuracy(grades: &[Observation], pass: Option<PassRule>) -> Self {
        let passed = |grade: &Observation| match pass {
            Some(rule) => rule.op.holds(grade.score, rule.value),
            None => grade.pass,
        };
        let errored = grades.iter().filter(|grade| grade.errored).count();
        let passes = grades.iter().filter(|grade| !grade.errored && passed(grade)).count();
        let could = |answer: bool| pass.is_none_or(|rule| can_answer(rule, answer));
        let zero_passes = pass.is_some_and(|rule| rule.op.holds(0.0, rule.value));
        let share = |count: usize| count as f64 / grades.len() as f64;
        Self {
            value: share(if zero_passes { passes + errored } else { passes }),
            lowest: share(if could(false) { passes } else { passes + errored }),
            highest: share(if could(true) { passes + errored } else { passes }),
        }
    }
}

/// Whether some score in 0..=1 gives this answer. The ends show it of an order, the value itself of equality.
fn can_answer(rule: PassRule, answer: bool) -> bool {
    [0.0, 1.0, rule.value.clamp(0.0, 1.0)]
        .into_iter()
        .any(|score| rule.op.holds(score, rule.value) == answer)
}

/// An aggregate other than accuracy, with every errored grade at `errored`.
fn aggregate(grades: &[Observation], aggregation: Aggregation, errored: f64) -> Option<f64> {
    let mut scores: Vec<f64> =
        grades.iter().map(|grade| if grade.errored { errored } else { grade.score }).collect();
    if aggregation == Aggregation::AvgScore {
        return mean(&scores);
    }
    scores.sort_by(f64::total_cmp);
    match aggregation {
        Aggregation::Min => percentile(&scores, 0),
        Aggregation::Max => percentile(&scores, 100),
        Aggregation::Median => percentile(&scores, 50),
        Aggregation::P95 => percentile(&scores, 95),
        Aggregation::P99 => percentile(&scores, 99),
        Aggregation::AvgScore | Aggregation::Accuracy | Aggregation::Declared => None,
    }
}

/// The mean of the graders' aggregates by their weights. It grows with each of them even after rounding, so the
/// ends stay ends.
fn weighted(
    weights: &[(String, f64)],
    aggregation: Aggregation,
    grades: &Grades<'_>,
) -> Option<Range> {
    let mut ranges = Vec::with_capacity(weights.len());
    for (grader, weight) in weights.iter().filter(|(_, weight)| *weight > 0.0) {
        ranges.push((*weight, Range::of(grades(grader)?, aggregation, None)?));
    }
    let mean_of = |end: fn(&Range) -> f64| {
        let ends =
            ranges.iter().map(|(weight, range)| Weighted { weight: *weight, value: end(range) });
        weighted_mean(&ends.collect::<Vec<_>>())
    };
    Some(Range {
        value: mean_of(|range| range.value)?,
        lowest: mean_of(|range| range.lowest)?,
        highest: mean_of(|range| range.highest)?,
    })
}

fn compared(range: Option<Range>, op: Op, threshold: f64, rule: String) -> GateReport {
    GateReport {
        status: Some(range.map_or(GateStatus::Undecided, |range| answer(range, op, threshold))),
        value: range.map(|range| range.value),
        op: Some(op),
        threshold: Some(threshold),
        lowest: range.map(|range| range.lowest),
        highest: range.map(|range| range.highest),
        rule: Some(rule),
        conditions: Vec::new(),
    }
}

/// The answer that holds over the whole range. Equality with a point inside the range is undecided, unless the whole
/// range equals it.
fn answer(range: Range, op: Op, threshold: f64) -> GateStatus {
    let inside = Op::Lte.holds(range.lowest, threshold) && Op::Gte.holds(range.highest, threshold);
    match (op.holds(range.lowest, threshold), op.holds(range.highest, threshold)) {
        (true, true) => GateStatus::Passed,
        (false, false) if op == Op::Eq && inside => GateStatus::Undecided,
        (false, false) => GateStatus::Failed,
        _ => GateStatus::Undecided,
    }
}

/// Kleene's three-valued `and` and `or`. Conditions are taken as independent: two that exclude each other
/// over the same errored grade may leave undecided what logic alone could settle.
fn joined(operator: Logic, conditions: &[GateReport]) -> GateStatus {
    let (decisive, otherwise) = match operator {
        Logic::And => (GateStatus::Failed, GateStatus::Passed),
        Logic::Or => (GateStatus::Passed, GateStatus::Failed),
    };
    let any = |status| conditions.iter().any(|condition| condition.status == Some(status));
    if any(decisive) {
        decisive
    } else if conditions.is_empty() || any(GateStatus::Undecided) {
        GateStatus::Undecided
    } else {
        otherwise
    }
}

/// The rule in words.
pub(crate) fn rule(gate: &Gate) -> String {
    match gate {
        Gate::Simple(Condition { metric_key, aggregation, op, value, pass }) => {
            let words = match aggregation {
                Aggregation::Declared => format!("{metric_key} {} {value}", sign(*op)),
                _ => format!("{metric_key} {} {} {value}", name(*aggregation), sign(*op)),
            };
            match pass.filter(|_| *aggregation == Aggregation::Accuracy) {
                Some(pass) => format!("{words} (a pass is {} {})", sign(pass.op), pass.value),
                None => words,
            }
        }
        Gate::WeightedAverage { aggregation, weights, op, value } => {
            let weights: Vec<String> =
                weights.iter().map(|(grader, weight)| format!("{grader} {weight}")).collect();
            let aggregation = name(*aggregation);
            format!("weighted {aggregation} ({}) {} {value}", weights.join(", "), sign(*op))
        }
        Gate::Logical { operator, conditions } => {
            let word = match operator {
                Logic::And => " and ",
                Logic::Or => " or ",
            };
            let conditions: Vec<String> = conditions.iter().map(nested_rule).collect();
            conditions.join(word)
        }
    }
}

fn nested_rule(gate: &Gate) -> String {
    match gate {
        Gate::Logical { .. } => format!("({})", rule(gate)),
        Gate::Simple(_) | Gate::WeightedAverage { .. } => rule(gate),
    }
}

fn name(aggregation: Aggregation) -> &'static str {
    match aggregation {
        Aggregation::AvgScore => "avg_score",
        Aggregation::Accuracy => "accuracy",
        Aggregation::Min => "min",
        Aggregation::Max => "max",
        Aggregation::Median => "median",
        Aggregation::P95 => "p95",
        Aggregation::P99 => "p99",
        Aggregation::Declared => "metric",
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{Strategy, any, prop};
    use proptest::{prop_assert, prop_assert_eq, proptest};

    use super::*;

    const ALL: [Aggregation; 7] = [
        Aggregation::AvgScore,
        Aggregation::Accuracy,
        Aggregation::Min,
        Aggregation::Max,
        Aggregation::Median,
        Aggregation::P95,
        Aggregation::P99,
    ];
    const OPS: [Op; 5] = [Op::Gt, Op::Gte, Op::Lt, Op::Lte, Op::Eq];

    /// Grades of different samples, passing at 1.0; `None` could not be made.
    fn grades(scores: &[Option<f64>]) -> Vec<Observation> {
        (0..)
            .zip(scores)
            .map(|(sample, score)| Observation {
                result: sample,
                sample,
                model: 0,
                score: score.unwrap_or(0.0),
                pass: score.is_some_and(|score| score >= 1.0),
                errored: score.is_none(),
            })
            .collect()
    }

    fn simple(aggregation: Aggregation, op: Op, value: f64, pass: Option<PassRule>) -> Gate {
        Gate::Simple(Condition { metric_key: "a".to_owned(), aggregation, op, value, pass })
    }

    fn decided(gate: &Gate, scores: &[Option<f64>]) -> GateReport {
        let grades = grades(scores);
        decide(gate, &|grader| (grader == "a").then_some(grades.as_slice()))
    }

    #[test]
    fn errored_grades_decide_or_do_not() {
        use Aggregation::{Accuracy, AvgScore, Max, Median, Min};
        use GateStatus::{Failed, Passed, Undecided};
        let rule = |op, value| Some(PassRule { op, value });
        let one = Some(1.0);
        let half = Some(0.5);
        let none = None;
        #[rustfmt::skip]
        let cases = [
            (AvgScore, Op::Gte, 0.75, None, vec![one, half], Passed, [0.75, 0.75, 0.75]),
            (AvgScore, Op::Gt, 0.75, None, vec![one, half], Failed, [0.75, 0.75, 0.75]),
            (AvgScore, Op::Gte, 0.5, None, vec![one, half, none], Passed, [0.5, 0.5, 2.5 / 3.0]),
            (AvgScore, Op::Gte, 0.6, None, vec![one, half, none], Undecided, [0.5, 0.5, 2.5 / 3.0]),
            (AvgScore, Op::Gte, 0.9, None, vec![one, half, none], Failed, [0.5, 0.5, 2.5 / 3.0]),
            (AvgScore, Op::Lt, 0.6, None, vec![one, half, none], Undecided, [0.5, 0.5, 2.5 / 3.0]),
            (AvgScore, Op::Eq, 0.75, None, vec![one, half], Passed, [0.75, 0.75, 0.75]),
            (AvgScore, Op::Eq, 0.7, None, vec![one, half, none], Undecided, [0.5, 0.5, 2.5 / 3.0]),
            (AvgScore, Op::Eq, 0.4, None, vec![one, half, none], Failed, [0.5, 0.5, 2.5 / 3.0]),
            (Min, Op::Gte, 0.5, None, vec![one, half, none], Undecided, [0.0, 0.0, 0.5]),
            (Min, Op::Gt, 0.5, None, vec![one, half, none], Failed, [0.0, 0.0, 0.5]),
            (Max, Op::Gte, 0.5, None, vec![one, half, none], Passed, [1.0, 1.0, 1.0]),
            (Median, Op::Gte, 0.5, None, vec![one, half, none], Passed, [0.5, 0.5, 1.0]),
            (Accuracy, Op::Gte, 0.5, None, vec![one, half], Passed, [0.5, 0.5, 0.5]),
            (Accuracy, Op::Gte, 1.0, rule(Op::Gte, 0.5), vec![one, half], Passed, [1.0, 1.0, 1.0]),
            (Accuracy, Op::Gte, 0.5, None, vec![one, half, half, none], Undecided, [0.25, 0.25, 0.5]),
            // A rule that low scores pass: an errored grade as 0.0 passes it, as 1.0 it does not.
            (Accuracy, Op::Gte, 0.5, rule(Op::Lt, 0.6), vec![one, half, one, none], Undecided, [0.5, 0.25, 0.5]),
            // Rules that every score passes, or none.
            (Accuracy, Op::Gte, 1.0, rule(Op::Gte, 0.0), vec![one, none], Passed, [1.0, 1.0, 1.0]),
            (Accuracy, Op::Lte, 0.0, rule(Op::Gt, 1.0), vec![one, none], Passed, [0.0, 0.0, 0.0]),
            // Neither end of the scores passes this rule, but one between them does.
            (Accuracy, Op::Gte, 0.5, rule(Op::Eq, 0.3), vec![one, none], Undecided, [0.0, 0.0, 0.5]),
        ];
        for (aggregation, op, value, pass, scores, status, range) in cases {
            let report = decided(&simple(aggregation, op, value, pass), &scores);
            let actual = [report.value, report.lowest, report.highest];
            assert_eq!(report.status, Some(status), "{:?} over {scores:?}", report.rule);
            assert_eq!(actual, range.map(Some), "{:?} over {scores:?}", report.rule);
        }
    }

    #[test]
    fn nothing_to_decide_on_is_undecided() {
        for aggregation in ALL {
            for op in OPS {
                let report = decided(&simple(aggregation, op, 0.0, None), &[]);
                assert_eq!(report.status, Some(GateStatus::Undecided));
                assert_eq!((report.value, report.threshold), (None, Some(0.0)));
            }
        }
        let unknown = decide(&simple(Aggregation::Max, Op::Gte, 0.0, None), &|_| None);
        assert_eq!(unknown.status, Some(GateStatus::Undecided));
    }

    #[test]
    fn a_grades_own_pass_decides_without_a_rule() {
        let own = [
            Observation { result: 0, sample: 0, model: 0, score: 0.2, pass: true, errored: false },
            Observation { result: 1, sample: 1, model: 0, score: 1.0, pass: false, errored: false },
            Observation { result: 2, sample: 2, model: 0, score: 0.9, pass: true, errored: false },
        ];
        let share = |pass| {
            let gate = simple(Aggregation::Accuracy, Op::Gte, 0.5, pass);
            decide(&gate, &|_| Some(own.as_slice())).value
        };
        assert_eq!(share(None), Some(2.0 / 3.0));
        assert_eq!(share(Some(PassRule { op: Op::Gte, value: 1.0 })), Some(1.0 / 3.0));
    }

    fn weighted_gate(weights: &[(&str, f64)], value: f64) -> Gate {
        Gate::WeightedAverage {
            aggregation: Aggregation::AvgScore,
            weights: weights.iter().map(|(name, weight)| ((*name).to_owned(), *weight)).collect(),
            op: Op::Gte,
            value,
        }
    }

    #[test]
    fn weights_are_shares() {
        let half = grades(&[Some(0.5)]);
        let one = grades(&[Some(1.0)]);
        let split = grades(&[Some(1.0), None]);
        let find = |grader: &str| match grader {
            "half" => Some(half.as_slice()),
            "one" => Some(one.as_slice()),
            "split" => Some(split.as_slice()),
            _ => None,
        };
        let report = decide(&weighted_gate(&[("half", 0.7), ("one", 0.3)], 0.65), &find);
        assert_eq!((report.value, report.status), (Some(0.65), Some(GateStatus::Passed)));
        assert_eq!(report.rule.as_deref(), Some("weighted avg_score (half 0.7, one 0.3) >= 0.65"));
        let report = decide(&weighted_gate(&[("half", 3.0), ("one", 1.0)], 0.6), &find);
        assert_eq!((report.value, report.status), (Some(0.625), Some(GateStatus::Passed)));
        let report = decide(&weighted_gate(&[("half", 2.0), ("split", 2.0)], 0.6), &find);
        assert_eq!((report.lowest, report.highest), (Some(0.5), Some(0.75)));
        assert_eq!(report.status, Some(GateStatus::Undecided));
        for (weights, status) in [
            (vec![("one", 1.0), ("gone", 1.0)], GateStatus::Undecided),
            (vec![("one", 1.0), ("gone", 0.0)], GateStatus::Passed),
            (vec![("one", 0.0)], GateStatus::Undecided),
        ] {
            let report = decide(&weighted_gate(&weights, 0.5), &find);
            assert_eq!(report.status, Some(status), "{weights:?}");
        }
    }

    #[test]
    fn a_threshold_that_is_exactly_met_is_met() {
        use GateStatus::{Failed, Passed};
        for (scores, value) in [
            (&[0.6, 0.8, 1.0][..], 0.8),
            (&[0.7, 0.7, 1.0], 0.8),
            (&[0.1, 0.2, 0.3, 0.4, 0.5, 0.9], 0.4),
            (&[1.0, 1.0, 0.0], 2.0 / 3.0),
        ] {
            let scores: Vec<Option<f64>> = scores.iter().copied().map(Some).collect();
            let answers = OPS.map(|op| {
                decided(&simple(Aggregation::AvgScore, op, value, None), &scores).status.unwrap()
            });
            assert_eq!(answers, [Failed, Passed, Failed, Passed, Passed], "{scores:?}");
        }
        let grades = grades(&[Some((0.7 + 0.7 + 1.0) / 3.0), None]);
        let rule = Some(PassRule { op: Op::Gte, value: 0.8 });
        let report = decide(&simple(Aggregation::Accuracy, Op::Gte, 0.5, rule), &|_| Some(&grades));
        assert_eq!((report.status, report.lowest), (Some(Passed), Some(0.5)));
    }

    #[test]
    fn logic_has_three_values() {
        use GateStatus::{Failed, Passed, Undecided};
        // Over one grade of 0.5 and one errored, the average lies between 0.25 and 0.75.
        let of = |status| match status {
            Passed => simple(Aggregation::AvgScore, Op::Gte, 0.2, None),
            Failed => simple(Aggregation::AvgScore, Op::Gte, 0.9, None),
            Undecided => simple(Aggregation::AvgScore, Op::Gte, 0.5, None),
        };
        let cases = [
            (Passed, Passed, Passed, Passed),
            (Passed, Failed, Failed, Passed),
            (Passed, Undecided, Undecided, Passed),
            (Failed, Failed, Failed, Failed),
            (Failed, Undecided, Failed, Undecided),
            (Undecided, Undecided, Undecided, Undecided),
        ];
        for (left, right, and, or) in cases {
            for (left, right) in [(left, right), (right, left)] {
                for (operator, expected) in [(Logic::And, and), (Logic::Or, or)] {
                    let gate = Gate::Logical { operator, conditions: vec![of(left), of(right)] };
                    let report = decided(&gate, &[Some(0.5), None]);
                    assert_eq!(report.status, Some(expected), "{left:?} {operator:?} {right:?}");
                    let parts: Vec<_> = report.conditions.iter().map(|part| part.status).collect();
                    assert_eq!(parts, [Some(left), Some(right)], "no short circuit");
                    assert_eq!((report.value, report.op), (None, None));
                }
            }
        }
    }

    #[test]
    fn rules_read_as_words() {
        let pass = Some(PassRule { op: Op::Gte, value: 0.5 });
        let inner = Gate::Logical {
            operator: Logic::Or,
            conditions: vec![
                simple(Aggregation::Accuracy, Op::Gt, 0.8, pass),
                simple(Aggregation::P95, Op::Eq, 1.0, pass),
            ],
        };
        let gate = Gate::Logical {
            operator: Logic::And,
            conditions: vec![simple(Aggregation::AvgScore, Op::Lte, 0.8, None), inner],
        };
        assert_eq!(
            decided(&gate, &[]).rule.as_deref(),
            Some("a avg_score <= 0.8 and (a accuracy > 0.8 (a pass is >= 0.5) or a p95 == 1)")
        );
    }

    /// Every way to fill in the errored grades from a grid of scores. Without a rule, a grade may pass at any
    /// score: its threshold, or its own word, is not known here.
    fn filled(grades: &[Observation]) -> Vec<Vec<Observation>> {
        let Some((first, rest)) = grades.split_first() else { return vec![Vec::new()] };
        let choices: Vec<Observation> = if first.errored {
            [0.0, 0.1, 0.25, 0.5, 0.8, 1.0]
                .into_iter()
                .flat_map(|score| [true, false].map(|pass| (score, pass)))
                .map(|(score, pass)| Observation { score, pass, errored: false, ..*first })
                .collect()
        } else {
            vec![*first]
        };
        let rest = filled(rest);
        choices
            .iter()
            .flat_map(|choice| rest.iter().map(|rest| [&[*choice], rest.as_slice()].concat()))
            .collect()
    }

    fn statuses(gate: &Gate, grades: &[Observation]) -> Vec<GateStatus> {
        let of = |grades: &[Observation]| decide(gate, &|_| Some(grades)).status;
        filled(grades).iter().filter_map(|grades| of(grades)).collect()
    }

    fn some_grades() -> impl Strategy<Value = Vec<Observation>> {
        let score = prop::sample::select(vec![0.0, 0.1, 0.25, 0.5, 0.8, 1.0]);
        prop::collection::vec((score, any::<bool>(), 0u8..10), 1..6).prop_map(|grades| {
            let mut errors = 0;
            (0..)
                .zip(grades)
                .map(|(sample, (score, pass, luck))| {
                    let errored = luck < 4 && errors < 2;
                    errors += u8::from(errored);
                    let (score, pass) = if errored { (0.0, false) } else { (score, pass) };
                    Observation { result: sample, sample, model: 0, score, pass, errored }
                })
                .collect()
        })
    }

    /// Scores that are whole numbers of parts, so that their average is a ratio of whole numbers.
    #[derive(Clone, Debug)]
    struct GateScores {
        parts: i128,
        scores: Vec<i128>,
    }

    impl GateScores {
        fn observations(&self) -> Vec<Observation> {
            let score = |score: &i128| Some(*score as f64 / self.parts as f64);
            grades(&self.scores.iter().map(score).collect::<Vec<_>>())
        }

        fn average(&self) -> Ratio {
            Ratio(self.scores.iter().sum(), self.parts * self.scores.len() as i128)
        }
    }

    #[derive(Clone, Copy, Debug)]
    struct Ratio(i128, i128);

    impl Ratio {
        fn as_float(self) -> f64 {
            self.0 as f64 / self.1 as f64
        }

        fn holds(self, op: Op, other: Self) -> bool {
            let left = self.0 * other.1;
            let right = other.0 * self.1;
            match op {
                Op::Gt => left > right,
                Op::Gte => left >= right,
                Op::Lt => left < right,
                Op::Lte => left <= right,
                Op::Eq => left == right,
            }
        }
    }

    fn some_scores() -> impl Strategy<Value = GateScores> {
        prop::sample::select(vec![10, 20, 3]).prop_flat_map(|parts| {
            prop::collection::vec(0..=parts, 1..20)
                .prop_map(move |scores| GateScores { parts, scores })
        })
    }

    /// Whether the gate says of grades `a` and `b` what whole numbers say of their average.
    fn is_exact(
        gate: &Gate,
        graded: &[GateScores],
        op: Op,
        threshold: Ratio,
        average: Ratio,
    ) -> bool {
        let observations: Vec<_> = graded.iter().map(GateScores::observations).collect();
        let report = decide(gate, &|grader| {
            let at = ["a", "b"].iter().position(|name| *name == grader)?;
            observations.get(at).map(Vec::as_slice)
        });
        let holds = average.holds(op, threshold);
        report.status == Some(if holds { GateStatus::Passed } else { GateStatus::Failed })
    }

    fn some_condition() -> impl Strategy<Value = Gate> {
        let value = prop::sample::select(vec![-0.1, 0.0, 0.2, 0.25, 0.5, 0.7, 0.8, 1.0, 1.5]);
        let op = prop::sample::select(OPS.to_vec());
        let rule = prop::option::of((op.clone(), value.clone()))
            .prop_map(|rule| rule.map(|(op, value)| PassRule { op, value }));
        (prop::sample::select(ALL.to_vec()), op, value, rule)
            .prop_map(|(aggregation, op, value, pass)| simple(aggregation, op, value, pass))
    }

    proptest! {
        #[test]
        fn averages_are_compared_as_whole_numbers_compare(
            graded in some_scores(),
            other in (0..=60i128).prop_map(|part| Ratio(part, 60)),
        ) {
            let average = graded.average();
            for threshold in [average, other] {
                for op in OPS {
                    let gate = simple(Aggregation::AvgScore, op, threshold.as_float(), None);
                    let exact = is_exact(&gate, std::slice::from_ref(&graded), op, threshold, average);
                    prop_assert!(exact, "{:?} {:?}", op, threshold);
                }
            }
        }

        #[test]
        fn so_are_weighted_averages(
            graded in [some_scores(), some_scores()],
            tenths in [1..=10i128, 1..=10i128],
            other in (0..=60i128).prop_map(|part| Ratio(part, 60)),
        ) {
            let [Ratio(a, of_a), Ratio(b, of_b)] = graded.each_ref().map(GateScores::average);
            let average = Ratio(
                tenths[0] * a * of_b + tenths[1] * b * of_a,
                (tenths[0] + tenths[1]) * of_a * of_b,
            );
            let weight = |tenths: i128| tenths as f64 / 10.0;
            for threshold in [average, other] {
                for op in OPS {
                    let gate = Gate::WeightedAverage {
                        aggregation: Aggregation::AvgScore,
                        weights: vec![("a".to_owned(), weight(tenths[0])), ("b".to_owned(), weight(tenths[1]))],
                        op,
                        value: threshold.as_float(),
                    };
                    prop_assert!(is_exact(&gate, &graded, op, threshold, average), "{:?} {:?}", op, threshold);
                }
            }
        }

        #[test]
        fn a_decided_answer_never_flips(grades in some_grades(), gate in some_condition()) {
            let report = decide(&gate, &|_| Some(grades.as_slice()));
            let lowest = report.lowest.unwrap();
            let highest = report.highest.unwrap();
            prop_assert!(lowest <= report.value.unwrap() && report.value.unwrap() <= highest);
            let possible = statuses(&gate, &grades);
            let op = report.op.unwrap();
            match report.status.unwrap() {
                GateStatus::Undecided if op == Op::Eq => prop_assert!(lowest < highest),
                GateStatus::Undecided => {
                    let both = possible.contains(&GateStatus::Passed)
                        && possible.contains(&GateStatus::Failed);
                    // A rule of equality may pass only at a score outside the grid.
                    let off_grid = matches!(&gate, Gate::Simple(Condition { pass: Some(rule), .. })
                        if rule.op == Op::Eq);
                    prop_assert!(both || off_grid, "{:?}: {:?}", report, possible);
                }
                decided => prop_assert!(possible.iter().all(|status| *status == decided)),
            }
        }

        #[test]
        fn nor_does_that_of_joined_conditions(
            grades in some_grades(),
            conditions in prop::collection::vec(some_condition(), 1..4),
            and in any::<bool>(),
        ) {
            let operator = if and { Logic::And } else { Logic::Or };
            let gate = Gate::Logical { operator, conditions };
            let status = decide(&gate, &|_| Some(grades.as_slice())).status.unwrap();
            if status != GateStatus::Undecided {
                for possible in statuses(&gate, &grades) {
                    prop_assert_eq!(possible, status);
                }
            }
        }
    }
}
