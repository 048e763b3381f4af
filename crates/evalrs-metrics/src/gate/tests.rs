//! What gates decide, in tables.

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
fn an_end_that_is_not_known_leaves_open_what_it_could_turn() {
    use GateStatus::{Failed, Passed, Undecided};
    let metric = |lowest, highest| MetricValue {
        value: Some(1.0),
        errors: 1,
        lowest,
        highest,
        ..MetricValue::default()
    };
    let one = Some(1.0);
    let cases = [
        (None, None, Op::Gte, 1.0, Undecided),
        (None, None, Op::Lt, 1.0, Undecided),
        (None, None, Op::Eq, 1.0, Undecided),
        (None, one, Op::Gte, 1.0, Undecided),
        (None, one, Op::Gt, 1.0, Failed),
        (None, one, Op::Lte, 1.0, Passed),
        (one, None, Op::Gte, 1.0, Passed),
        (one, None, Op::Lt, 1.0, Failed),
        (one, None, Op::Lte, 1.0, Undecided),
        (one, one, Op::Gte, 1.0, Passed),
    ];
    for (lowest, highest, op, value, expected) in cases {
        let metric = metric(lowest, highest);
        let inputs =
            GateInputs { grades: &|_| None, metrics: &|_| Some(&metric), labels: &|_| None };
        let simple = simple(Aggregation::Declared, op, value, None);
        let weights = vec![("a".to_owned(), 1.0), ("b".to_owned(), 2.0)];
        let aggregation = Aggregation::Declared;
        let weighted = Gate::WeightedAverage { aggregation, weights, op, value };
        for gate in [simple, weighted] {
            let found = decide_with(&gate, inputs);
            let shown = format!("{gate:?} {lowest:?} {highest:?}");
            assert_eq!(found.status, Some(expected), "{shown}");
            assert_eq!((found.lowest, found.highest), (lowest, highest), "{shown}");
        }
    }
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

/// Grades, and what may be known of those that could not be made.
#[derive(Clone, Debug)]
struct SomeGrades {
    grades: Vec<Observation>,
    bounds: Vec<ErrorBounds>,
}

impl SomeGrades {
    fn decide(&self, gate: &Gate) -> GateReport {
        let graded = GatedGrades { grades: &self.grades, bounds: &self.bounds };
        let inputs =
            GateInputs { grades: &|_| Some(graded), metrics: &|_| None, labels: &|_| None };
        decide_with(gate, inputs)
    }

    /// What one of its grades may be, of a grid of scores. Without a rule, a grade may pass at any score: its threshold, or its
    /// own word, is not known here.
    fn choices(&self, of: &Observation) -> Vec<Observation> {
        if !of.errored {
            return vec![*of];
        }
        let known = self.bounds.iter().find(|known| known.result == of.result);
        let is_possible = |score: f64, pass: bool| {
            known.is_none_or(|known| {
                known.least <= score
                    && score <= known.greatest
                    && known.passes.is_none_or(|passes| passes == pass)
            })
        };
        let scores = GRID.into_iter().flat_map(|score| [(score, true), (score, false)]);
        scores
            .filter(|(score, pass)| is_possible(*score, *pass))
            .map(|(score, pass)| Observation { score, pass, errored: false, ..*of })
            .collect()
    }

    /// Every way to fill in the errored grades.
    fn filled(&self) -> Vec<Vec<Observation>> {
        self.grades.iter().fold(vec![Vec::new()], |before, grade| {
            let choices = self.choices(grade);
            let with = |before: &Vec<Observation>| {
                let choices = choices.iter();
                choices.map(|choice| [before.as_slice(), &[*choice]].concat()).collect::<Vec<_>>()
            };
            before.iter().flat_map(with).collect()
        })
    }

    fn statuses(&self, gate: &Gate) -> Vec<GateStatus> {
        let of = |grades: &[Observation]| decide(gate, &|_| Some(grades)).status;
        self.filled().iter().filter_map(|grades| of(grades)).collect()
    }
}

const GRID: [f64; 6] = [0.0, 0.1, 0.25, 0.5, 0.8, 1.0];

/// What may be known of a grade that could not be made: its ends, and its verdict.
fn some_bounds() -> impl Strategy<Value = Option<([f64; 2], Option<bool>)>> {
    let end = prop::sample::select(GRID.to_vec());
    prop::option::of((end.clone(), end, any::<Option<bool>>())).prop_map(|known| {
        known.map(|(one, other, passes)| ([f64::min(one, other), f64::max(one, other)], passes))
    })
}

fn some_grades() -> impl Strategy<Value = SomeGrades> {
    let score = prop::sample::select(GRID.to_vec());
    prop::collection::vec((score, any::<bool>(), 0u8..10, some_bounds()), 1..6).prop_map(|drawn| {
        let mut some = SomeGrades { grades: Vec::new(), bounds: Vec::new() };
        let mut errors = 0;
        for (result, (score, pass, luck, known)) in (0..).zip(drawn) {
            let errored = luck < 4 && errors < 2;
            errors += u8::from(errored);
            let (score, pass) = if errored { (0.0, false) } else { (score, pass) };
            some.grades.push(Observation {
                result,
                sample: result,
                model: 0,
                score,
                pass,
                errored,
            });
            if let (true, Some(([least, greatest], passes))) = (errored, known) {
                some.bounds.push(ErrorBounds { result, least, greatest, passes });
            }
        }
        some
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
        prop::collection::vec(0..=parts, 1..20).prop_map(move |scores| GateScores { parts, scores })
    })
}

/// Whether the gate says of grades `a` and `b` what whole numbers say of their average.
fn is_exact(gate: &Gate, graded: &[GateScores], op: Op, threshold: Ratio, average: Ratio) -> bool {
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
        let report = grades.decide(&gate);
        let lowest = report.lowest.unwrap();
        let highest = report.highest.unwrap();
        prop_assert!(lowest <= report.value.unwrap() && report.value.unwrap() <= highest);
        let possible = grades.statuses(&gate);
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
        let status = grades.decide(&gate).status.unwrap();
        if status != GateStatus::Undecided {
            for possible in grades.statuses(&gate) {
                prop_assert_eq!(possible, status);
            }
        }
    }
}
