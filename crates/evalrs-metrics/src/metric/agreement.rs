//! How far several judges, or several votes of one, agree on the same items.
//!
//! Owns the formulas; knows scores as numbers on the judges' own scale, not where they come from. Counts are exact
//! integers and sums are exact, so that the order of items never shows. A coefficient that is not defined, for
//! want of items or of any difference to agree about, is none: it is neither 0 nor 1.

use serde::{Deserialize, Serialize};

use super::sum;
use evalrs_base::exact::mean;
use evalrs_base::ordered_map::OrderedMap;
use evalrs_statistics::kappa::{KappaWeights, ScorePair, cohen_kappa, ranked};
use evalrs_statistics::krippendorff::{MeasurementLevel, krippendorff_alpha};

/// Scores beyond this count as missing: their squares would not fit a float, and nobody grades on such a scale.
const MOST: f64 = 1e100;

/// The agreement of raters on items.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Agreement {
    /// Items, those without any score included.
    pub items: usize,
    /// Raters.
    pub raters: usize,
    /// Mean of all scores.
    pub native_mean: Option<f64>,
    /// Mean of each rater's scores.
    pub means: Vec<Option<f64>>,
    /// Items that every rater scored.
    pub complete: usize,
    /// Of these, items with one score from all; 0 unless there are two raters.
    pub all_equal_count: usize,
    /// Their share of `complete`, 0..=1.
    pub all_equal: Option<f64>,
    /// Each two raters, named by their numbers from 1: `1-2`, `1-3`, `2-3`.
    pub pairs: OrderedMap<PairAgreement>,
    /// Krippendorff's alpha of all raters, at most 1.
    pub krippendorff_alpha: Alpha,
}

/// The agreement of two raters on the items that both scored.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PairAgreement {
    /// Items that both scored.
    pub n: usize,
    /// Share of equal scores, 0..=1.
    pub exact_agreement: Option<f64>,
    /// Cohen's kappa of the scores as names, -1..=1.
    pub cohen_kappa: Option<f64>,
    /// Cohen's kappa weighted by the squared difference of the scores, -1..=1.
    pub quadratic_weighted_kappa: Option<f64>,
}

/// Krippendorff's alpha at two levels of measurement; each is at most 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Alpha {
    /// Scores as names: equal or not.
    pub nominal: Option<f64>,
    /// Scores as numbers: how far apart.
    pub interval: Option<f64>,
}

/// The agreement of a matrix of scores, one row an item and one column a rater.
///
/// None, or a number that is not between -1e100 and 1e100, is a missing score; a short row misses the rest.
pub fn agreement(rows: &[Vec<Option<f64>>]) -> Agreement {
    let raters = rows.iter().map(Vec::len).max().unwrap_or(0);
    let score = |row: &[Option<f64>], rater: usize| {
        // Adding zero turns -0.0 into 0.0: they are one category.
        row.get(rater)
            .copied()
            .flatten()
            .filter(|score| score.abs() <= MOST)
            .map(|score| score + 0.0)
    };
    let units: Vec<Vec<f64>> = rows
        .iter()
        .map(|row| (0..raters).filter_map(|rater| score(row, rater)).collect())
        .collect();
    let of_rater = |rater: usize| {
        let scores: Vec<f64> = rows.iter().filter_map(|row| score(row, rater)).collect();
        mean(&scores)
    };
    let pair = |(one, other): (usize, usize)| {
        let both = rows
            .iter()
            .filter_map(|row| Some(ScorePair { one: score(row, one)?, other: score(row, other)? }));
        (format!("{}-{}", one + 1, other + 1), pair_agreement(&both.collect::<Vec<_>>()))
    };
    let pairs = (0..raters).flat_map(|one| (one + 1..raters).map(move |other| (one, other)));
    let is_complete = |unit: &&Vec<f64>| raters > 0 && unit.len() == raters;
    let complete = units.iter().filter(is_complete).count();
    let all_equal_count =
        units.iter().filter(is_complete).filter(|unit| raters > 1 && are_equal(unit)).count();
    Agreement {
        items: rows.len(),
        raters,
        native_mean: mean(&units.concat()),
        means: (0..raters).map(of_rater).collect(),
        complete,
        all_equal_count,
        all_equal: share(all_equal_count, complete).filter(|_| raters > 1),
        pairs: OrderedMap(pairs.map(pair).collect()),
        krippendorff_alpha: alpha(units),
    }
}

/// The kappas are none where one of the two only ever gave one score: nothing it says could agree more than chance.
fn pair_agreement(both: &[ScorePair]) -> PairAgreement {
    let equal = both.iter().filter(|pair| same(pair.one, pair.other)).count();
    let ones: Vec<f64> = both.iter().map(|pair| pair.one).collect();
    let others: Vec<f64> = both.iter().map(|pair| pair.other).collect();
    // Asked of the scores: rounded means of equal scores may differ from them.
    let differ = !are_equal(&ones) && !are_equal(&others);
    PairAgreement {
        n: both.len(),
        exact_agreement: share(equal, both.len()),
        cohen_kappa: cohen_kappa(&ranked(both), KappaWeights::Plain).filter(|_| differ),
        quadratic_weighted_kappa: quadratic_weighted_kappa(&ones, &others).filter(|_| differ),
    }
}

/// The agreement of two raters beyond that of chance, a disagreement weighing as the square of its size.
///
/// `1 - sum(w_ij p_oij) / sum(w_ij p_eij)` with `w_ij = (x_i - y_j)²`, Cohen 1968, "Weighted Kappa". The weights
/// are those of the scores themselves: scikit-learn's, which go by rank among the scores that occur, are the same
/// where no score between two others is missing. With these weights the sum over chance pairs has a closed form, so
/// that no table of all pairs of scores is needed.
fn quadratic_weighted_kappa(ones: &[f64], others: &[f64]) -> Option<f64> {
    let one_mean = mean(ones)?;
    let other_mean = mean(others)?;
    let observed = sum(ones.iter().zip(others).map(|(one, other)| square(one - other)));
    let between = ones.len() as f64 * square(one_mean - other_mean);
    let expected = sum([squares(ones, one_mean), squares(others, other_mean), between].into_iter());
    finite(1.0 - observed / expected)
}

/// The agreement of any number of raters beyond that of chance, over items that at least two scored.
///
/// `1 - D_o / D_e`, Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability"; Hayes and Krippendorff 2007,
/// "Answering the Call for a Standard Reliability Measure for Coding Data". Sums over ordered pairs of scores are
/// written as sums of squares.
fn alpha(mut units: Vec<Vec<f64>>) -> Alpha {
    units.retain(|unit| unit.len() > 1);
    let all = units.concat();
    if all.is_empty() || are_equal(&all) {
        return Alpha::default();
    }
    let n = all.len() as f64;
    let observed =
        sum(units.iter().map(|unit| squared_differences(unit) / (unit.len() - 1) as f64));
    Alpha {
        nominal: krippendorff_alpha(&units, MeasurementLevel::Nominal),
        interval: finite(1.0 - (n - 1.0) * observed / squared_differences(&all)),
    }
}

/// The sum of squared differences over all ordered pairs of the scores.
fn squared_differences(scores: &[f64]) -> f64 {
    let mean = mean(scores).unwrap_or_default();
    if are_equal(scores) { 0.0 } else { 2.0 * scores.len() as f64 * squares(scores, mean) }
}

/// Whether the scores are one category. Scores are compared bit by bit: there is neither -0.0 nor NaN among them.
fn same(one: f64, other: f64) -> bool {
    one.total_cmp(&other).is_eq()
}

fn are_equal(scores: &[f64]) -> bool {
    scores.windows(2).all(|pair| same(pair[0], pair[1]))
}

fn square(value: f64) -> f64 {
    value * value
}

/// The sum of squared distances from `centre`.
fn squares(scores: &[f64], centre: f64) -> f64 {
    sum(scores.iter().map(|score| square(score - centre)))
}

fn share(part: usize, whole: usize) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// The value, unless differences too small to be squared made it none.
fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{Just, Strategy, prop};
    use proptest::{prop_assert, prop_assert_eq, proptest};
    use serde_json::Value;

    use super::{Agreement, Alpha, PairAgreement, agreement};
    use evalrs_test_data as test_data;

    type Rows = Vec<Vec<Option<f64>>>;

    fn close(actual: Option<f64>, expected: f64) -> bool {
        actual.is_some_and(|actual| (actual - expected).abs() < 1e-12)
    }

    /// A row a line, a digit a score, a dot a missing one.
    fn rows(text: &str) -> Rows {
        let score = |char: char| char.to_digit(10).map(f64::from);
        text.split_whitespace().map(|line| line.chars().map(score).collect()).collect()
    }

    fn times(row: &str, count: usize) -> Rows {
        rows(&format!("{row} ").repeat(count))
    }

    #[test]
    fn nothing_to_compare_agrees_on_nothing() {
        assert_eq!(agreement(&[]), Agreement::default());
        for (text, complete, mean) in [
            ("..", 0, None),
            ("3", 1, Some(3.0)),
            (".4 2.", 0, Some(3.0)),
            ("3. 3. 3.", 0, Some(3.0)),
        ] {
            let found = agreement(&rows(text));
            assert_eq!((found.complete, found.native_mean), (complete, mean), "{text}");
            assert_eq!((found.all_equal_count, found.all_equal), (0, None), "{text}");
            assert!(
                found.pairs.0.iter().all(|(_, pair)| *pair == PairAgreement::default()),
                "{text}"
            );
            assert_eq!(found.krippendorff_alpha, Alpha::default(), "{text}");
        }
    }

    #[test]
    fn one_score_throughout_says_nothing_beyond_chance() {
        for score in [0.1, 1e-300, 7.0, 1e99] {
            let found = agreement(&vec![vec![Some(score); 2]; 7]);
            let pair = &found.pairs.0[0].1;
            assert_eq!((found.all_equal, pair.exact_agreement), (Some(1.0), Some(1.0)), "{score}");
            assert_eq!((pair.cohen_kappa, pair.quadratic_weighted_kappa), (None, None), "{score}");
            assert_eq!(found.krippendorff_alpha, Alpha::default(), "{score}");
        }
    }

    #[test]
    fn missing_scores_leave_only_their_pairs() {
        let found = agreement(&rows("11. 122 2.2 333 ... 4"));
        assert_eq!((found.items, found.raters, found.complete), (6, 3, 2));
        assert_eq!((found.all_equal_count, found.all_equal), (1, Some(0.5)));
        assert_eq!(found.means, [Some(2.2), Some(2.0), Some(7.0 / 3.0)]);
        let pairs: Vec<(&str, usize, Option<f64>)> = found
            .pairs
            .0
            .iter()
            .map(|(name, pair)| (name.as_str(), pair.n, pair.exact_agreement))
            .collect();
        assert_eq!(
            pairs,
            [("1-2", 3, Some(2.0 / 3.0)), ("1-3", 3, Some(2.0 / 3.0)), ("2-3", 2, Some(1.0))]
        );
    }

    #[test]
    fn what_is_no_score_is_missing() {
        let odd = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e101, -1e300, f64::MAX];
        let mut rows: Rows = odd.iter().map(|score| vec![Some(*score), Some(1.0)]).collect();
        rows.push(vec![Some(-0.0), Some(0.0)]);
        let found = agreement(&rows);
        assert_eq!((found.items, found.complete, found.all_equal), (7, 1, Some(1.0)));
        assert_eq!(found.means, [Some(0.0), Some(6.0 / 7.0)]);
        let extreme =
            agreement(&[vec![Some(1e100), Some(-1e100)], vec![Some(-1e100), Some(1e100)]]);
        assert!(close(extreme.pairs.0[0].1.quadratic_weighted_kappa, -1.0));
    }

    #[test]
    fn kappa_is_that_of_the_textbook() {
        // 50 items, 35 alike, 26 of them by chance.
        let items = [times("11", 20), times("10", 5), times("01", 10), times("00", 15)].concat();
        let pair = &agreement(&items).pairs.0[0].1;
        assert!(close(pair.exact_agreement, 0.7) && close(pair.cohen_kappa, 0.4), "{pair:?}");
        // With two categories every disagreement has the same weight.
        assert!(close(pair.quadratic_weighted_kappa, 0.4), "{pair:?}");
        let opposite = &agreement(&rows("01 10 01 10")).pairs.0[0].1;
        assert_eq!(
            (opposite.cohen_kappa, opposite.quadratic_weighted_kappa),
            (Some(-1.0), Some(-1.0))
        );
        // One always says 2: there is nothing to agree about.
        for text in ["21 22 23", "12 22 32"] {
            let stuck = &agreement(&rows(text)).pairs.0[0].1;
            assert_eq!((stuck.cohen_kappa, stuck.quadratic_weighted_kappa), (None, None), "{text}");
        }
    }

    #[test]
    fn alpha_is_that_of_its_author() {
        // Four observers, twelve units: Krippendorff 2011, example C, which gives 0.743 and 0.849.
        let observed = "11.1 2232 3333 3333 2222 1234 4444 1121 2222 .555 ..11 .3..";
        let alpha = agreement(&rows(observed)).krippendorff_alpha;
        let round = |value: Option<f64>| (value.unwrap() * 1000.0).round();
        assert_eq!((round(alpha.nominal), round(alpha.interval)), (743.0, 849.0));
    }

    #[test]
    fn it_serialises_in_the_order_of_its_fields() {
        let text = serde_json::to_string(&agreement(&rows("11 12 22 .2"))).unwrap();
        insta::assert_snapshot!(text, @r#"{"items":4,"raters":2,"native_mean":1.5714285714285714,"means":[1.3333333333333333,1.75],"complete":3,"all_equal_count":2,"all_equal":0.6666666666666666,"pairs":{"1-2":{"n":3,"exact_agreement":0.6666666666666666,"cohen_kappa":0.4,"quadratic_weighted_kappa":0.40000000000000013}},"krippendorff_alpha":{"nominal":0.4444444444444444,"interval":0.4444444444444444}}"#);
    }

    #[test]
    fn three_runs_of_a_published_judge_agree_as_published() {
        const SET: &str = "prometheus-vicuna-rubric";
        let Some(expected) = test_data::text(SET, "expected.json") else { return };
        let Some(records) = test_data::text(SET, "vicuna_eval.json") else { return };
        let expected: Value = serde_json::from_str(&expected).unwrap();
        let records: Vec<Value> = serde_json::from_str(&records).unwrap();
        let scores = |record: &Value| {
            let scores = record["gpt4_score"].as_array().unwrap();
            scores.iter().map(Value::as_f64).collect()
        };
        let found = agreement(&records.iter().map(scores).collect::<Rows>());
        assert_eq!((found.items, found.complete, found.raters), (320, 320, 3));
        assert_eq!(found.all_equal_count, 199);
        assert_eq!(expected["records_all_three_equal"], 199);
        let mut checked = 0;
        let mut check = |actual: Option<f64>, expected: &Value| {
            assert!(close(actual, expected.as_f64().unwrap()), "{actual:?} is not {expected}");
            checked += 1;
        };
        check(found.native_mean, &expected["mean"]);
        for (actual, expected) in
            found.means.iter().zip(expected["mean_by_run"].as_array().unwrap())
        {
            check(*actual, expected);
        }
        for (name, pair) in &found.pairs.0 {
            check(pair.exact_agreement, &expected["exact_agreement"][name]);
            check(pair.cohen_kappa, &expected["cohen_kappa"][name]);
            check(pair.quadratic_weighted_kappa, &expected["quadratic_weighted_kappa"][name]);
        }
        let alpha = found.krippendorff_alpha;
        check(alpha.nominal, &expected["krippendorff_alpha"]["nominal"]);
        check(alpha.interval, &expected["krippendorff_alpha"]["interval"]);
        assert_eq!(checked, 15);
    }

    /// The quadratic kappa as it is defined: over every pair of scores.
    fn kappa_by_table(both: &[(f64, f64)]) -> f64 {
        let n = both.len() as f64;
        let weight = |one: f64, other: f64| (one - other) * (one - other);
        let observed: f64 = both.iter().map(|(one, other)| weight(*one, *other)).sum();
        let chance: f64 = both
            .iter()
            .flat_map(|(one, _)| both.iter().map(|(_, other)| weight(*one, *other)))
            .sum();
        1.0 - observed / (chance / n)
    }

    fn matrix() -> impl Strategy<Value = Rows> {
        let score = prop::option::weighted(0.8, (0u8..5).prop_map(|score| f64::from(score) / 4.0));
        prop::collection::vec(prop::collection::vec(score, 3), 0..12)
    }

    proptest! {
        #[test]
        fn the_order_of_items_never_shows(
            (rows, shuffled) in matrix().prop_flat_map(|rows| (Just(rows.clone()), Just(rows).prop_shuffle()))
        ) {
            prop_assert_eq!(agreement(&rows), agreement(&shuffled));
        }

        #[test]
        fn the_closed_form_is_the_definition(rows in matrix()) {
            let found = agreement(&rows);
            let both: Vec<(f64, f64)> =
                rows.iter().filter_map(|row| Some((row[0]?, row[1]?))).collect();
            if let Some(kappa) = found.pairs.get("1-2").and_then(|pair| pair.quadratic_weighted_kappa) {
                prop_assert!((kappa - kappa_by_table(&both)).abs() < 1e-9);
            }
            for alpha in [found.krippendorff_alpha.nominal, found.krippendorff_alpha.interval] {
                prop_assert!(alpha.is_none_or(|alpha| alpha <= 1.0));
            }
        }

        #[test]
        fn kappas_stay_the_same_on_another_scale(rows in matrix()) {
            let scaled: Rows = rows
                .iter()
                .map(|row| row.iter().map(|score| score.map(|score| score * 4.0 + 1.0)).collect())
                .collect();
            for ((_, one), (_, other)) in agreement(&rows).pairs.0.iter().zip(&agreement(&scaled).pairs.0) {
                prop_assert_eq!(one.cohen_kappa, other.cohen_kappa);
                match (one.quadratic_weighted_kappa, other.quadratic_weighted_kappa) {
                    (Some(one), Some(other)) => prop_assert!((one - other).abs() < 1e-9),
                    (one, other) => prop_assert_eq!(one, other),
                }
            }
        }
    }

    #[test]
    fn many_distinct_scores_take_little() {
        let rows: Rows = (0..20_000u32)
            .map(|at| {
                vec![Some(f64::from(at) / 7.0), Some(f64::from(at.wrapping_mul(7919) % 20_000))]
            })
            .collect();
        let found = agreement(&rows);
        let pair = &found.pairs.0[0].1;
        assert_eq!(pair.n, 20_000);
        assert!(pair.quadratic_weighted_kappa.is_some() && pair.cohen_kappa.is_some());
    }
}
