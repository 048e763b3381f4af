//! Metrics of small tables, whose numbers can be told by hand.

use super::{GroupName, MetricTable, MetricValue, ReadValue, Reading, ResultPlace, measure};
use evalrs_model::expression::Operand;
use evalrs_model::spec::{
    AgreementMeasure, AlphaLevel, ClassAverage, ClassMeasure, ClassScore, Dimension, GraderValue,
    Lengths, MetricKind, MetricSpec, Players, Scale, Series, SeriesSource, Statistic,
};

fn spec(kind: MetricKind) -> MetricSpec {
    let source = SeriesSource::Grader("g".to_owned(), GraderValue::Any);
    MetricSpec {
        name: "m".to_owned(),
        kind,
        of: Series { source, model: None },
        against: Vec::new(),
        by: Vec::new(),
        within: false,
        groups: Vec::new(),
        native: false,
        map: Vec::new(),
    }
}

/// Scores, `e` for an error, `-` for nothing. A sample each, unless they are named as `sample:score`.
fn series(text: &str) -> Vec<Reading> {
    let read = |word: &str| match word.split_once(':').map_or(word, |(_, score)| score) {
        "-" => Reading::Missing,
        "e" => Reading::Errored,
        score => {
            let score: f64 = score.parse().unwrap();
            Reading::Is(ReadValue::of_score(score, Some(score >= 0.5), None))
        }
    };
    text.split_whitespace().map(read).collect()
}

fn classes(text: &str) -> Vec<Reading> {
    let read = |word: &str| {
        ReadValue::of_field(&Operand::Text(word.to_owned()), &[])
            .map_or(Reading::Missing, Reading::Is)
    };
    text.split_whitespace().map(read).collect()
}

fn table(of: &str) -> MetricTable {
    let places = of.split_whitespace().zip(0..).map(|(word, at)| ResultPlace {
        sample: word.split_once(':').map_or(at, |(sample, _)| sample.parse().unwrap()),
        ..ResultPlace::default()
    });
    MetricTable { places: places.collect(), of: series(of), ..MetricTable::default() }
}

fn value(spec: &MetricSpec, table: &MetricTable) -> Option<f64> {
    measure(spec, table).value.map(|value| (value * 1e6).round() / 1e6)
}

#[test]
fn numbers_over_results_leave_errors_out_and_tell_their_ends() {
    let table = table("1 0.5 e 0 -");
    let of = |statistic| measure(&spec(MetricKind::Of(statistic)), &table);
    let mean = of(Statistic::Mean);
    assert_eq!((mean.value, mean.n, mean.errors), (Some(0.5), 3, 1));
    assert_eq!((mean.lowest, mean.highest), (Some(0.375), Some(0.625)));
    assert!(mean.interval.is_some());
    assert_eq!(of(Statistic::PassRate).value, Some(2.0 / 3.0));
    assert_eq!(of(Statistic::Min).value, Some(0.0));
    assert_eq!(of(Statistic::Percentile(50)).value, Some(0.5));
    assert_eq!(of(Statistic::Max).interval, None);
}

/// A metric of what rows hold.
fn of_rows(kind: MetricKind) -> MetricSpec {
    let of = Series { source: SeriesSource::Field("v".to_owned()), model: None };
    MetricSpec { of, ..spec(kind) }
}

#[test]
fn whatever_is_counted_as_an_error_widens_the_ends() {
    let of = MetricKind::Of;
    let mean = Statistic::Mean;
    let words = |text: &str| {
        let places = table(&"0 ".repeat(text.split_whitespace().count()));
        MetricTable { of: classes(text), ..places }
    };
    let cases = [
        // What is no pass may have been one, or none.
        (of_rows(of(Statistic::PassRate)), words("pass pass maybe fail"), [Some(0.5), Some(0.75)]),
        (of_rows(of(Statistic::PassRate)), words("pass pass fail fail"), [Some(0.5), Some(0.5)]),
        (
            of_rows(MetricKind::Macro(Statistic::PassRate)),
            words("pass maybe"),
            [Some(0.5), Some(1.0)],
        ),
        // What is no number may have been any.
        (of_rows(of(mean)), words("1 1 n/a"), [None, None]),
        (of_rows(of(mean)), words("1 1 4"), [Some(2.0), Some(2.0)]),
        (of_rows(MetricKind::Macro(mean)), words("1 1 n/a"), [None, None]),
        // But the least and the greatest can move in one direction alone, and a median within its neighbours.
        (of_rows(of(Statistic::Min)), words("1 2 n/a"), [None, Some(1.0)]),
        (of_rows(of(Statistic::Max)), words("1 2 n/a"), [Some(2.0), None]),
        (of_rows(of(Statistic::Percentile(50))), words("1 2 3 9 n/a"), [Some(2.0), Some(3.0)]),
        (of_rows(of(Statistic::Percentile(50))), words("1 n/a"), [None, None]),
        // Scores stay from 0 to 1.
        (spec(of(mean)), table("1 1 e e"), [Some(0.5), Some(1.0)]),
        (spec(of(Statistic::Min)), table("1 1 e"), [Some(0.0), Some(1.0)]),
    ];
    for (spec, table, expected) in cases {
        let found = measure(&spec, &table);
        assert_eq!([found.lowest, found.highest], expected, "{spec:?} {:?}", table.of);
        assert!(found.value.is_some(), "{spec:?}");
    }
}

#[test]
fn a_weight_that_is_not_known_may_draw_a_mean_as_far_as_its_own_value() {
    let number = |weight: Option<f64>| weight.map_or(Operand::Nothing, Operand::Number);
    let weighted = |of: &str, weights: &[Option<f64>]| {
        let mut table = table(of);
        table.fields.insert("w".to_owned(), weights.iter().copied().map(number).collect());
        table
    };
    let one = Some(1.0);
    let cases = [
        ("1 1 0", [one, one, None], 1, [Some(0.0), Some(1.0)]),
        ("1 0 0.5", [one, one, None], 1, [Some(0.5), Some(0.5)]),
        ("1 0 0.5", [one, one, Some(-1.0)], 1, [Some(0.5), Some(0.5)]),
        ("1 1 e", [one, one, None], 1, [Some(0.0), Some(1.0)]),
        ("1 0 e", [one, one, Some(2.0)], 1, [Some(0.25), Some(0.75)]),
        ("1 0 1", [one, one, Some(2.0)], 0, [Some(0.75), Some(0.75)]),
    ];
    let by_weight = MetricKind::Weighted("w".to_owned());
    for (of, weights, errors, expected) in cases {
        let found = measure(&spec(by_weight.clone()), &weighted(of, &weights));
        assert_eq!(
            (found.errors, [found.lowest, found.highest]),
            (errors, expected),
            "{of} {weights:?}"
        );
    }
    // The number of a row may be anything, and so may what it draws to.
    let words = weighted("1 1 0", &[one, one, one]);
    let words = MetricTable { of: classes("1 2 n/a"), ..words };
    let found = measure(&of_rows(by_weight), &words);
    assert_eq!([found.lowest, found.highest], [None, None]);
}

#[test]
fn nothing_is_drawn_of_a_coefficient_that_is_not_defined() {
    let table = table("1 1 1");
    let calls = std::cell::Cell::new(0);
    let count = |value| {
        calls.set(0);
        let found = MetricValue::estimated_if_defined(&table, &[0, 1, 2], &[1.0, 1.0, 1.0], |_| {
            calls.set(calls.get() + 1);
            value
        });
        assert_eq!((found.value, found.n), (value, 3));
        calls.get()
    };
    assert_eq!(count(None), 1);
    assert!(count(Some(0.5)) > 1_000);
}

#[test]
fn numbers_without_bounds_have_an_interval_only_where_they_differ() {
    let of = MetricKind::Of;
    let mean = Statistic::Mean;
    let words = |text: &str| {
        let bare = text.split_whitespace().map(|word| word.split(':').next_back().unwrap_or(word));
        let bare: Vec<&str> = bare.collect();
        let places = text.split_whitespace().zip(0..).map(|(word, at)| ResultPlace {
            sample: word.split_once(':').map_or(at, |(sample, _)| sample.parse().unwrap()),
            groups: vec![vec!["all".to_owned().into()]],
            ..ResultPlace::default()
        });
        let of = classes(&bare.join(" "));
        MetricTable { places: places.collect(), of, ..MetricTable::default() }
    };
    let by = |kind| MetricSpec { by: vec![Dimension::Tags], ..of_rows(kind) };
    let within = MetricSpec { within: true, ..by(of(mean)) };
    let equal = "no interval: all values are equal, so their spread is not known";
    let alone = "no interval: one sample has no spread";
    let large = "no interval: the numbers are too large";
    let cases = [
        (of_rows(of(mean)), words("5 5 5"), Some(equal)),
        (of_rows(of(mean)), words("5"), Some(alone)),
        (of_rows(of(mean)), words("7:5 7:6"), Some(alone)),
        (of_rows(of(mean)), words("1e308 -1e308"), Some(large)),
        (of_rows(of(mean)), words("5 6"), None),
        (by(MetricKind::Macro(mean)), words("5"), Some(alone)),
        (within, words("5 6"), Some(alone)),
        (of_rows(of(Statistic::PassRate)), words("1"), None),
        (spec(of(mean)), table("1 1"), None),
    ];
    for (spec, table, expected) in cases {
        let found = measure(&spec, &table);
        assert_eq!(found.interval_problem.as_deref(), expected, "{spec:?} {:?}", table.of);
        assert_eq!(found.interval.is_none(), expected.is_some(), "{spec:?} {:?}", table.of);
        let mut all = vec![found.interval];
        all.extend(found.groups.0.iter().map(|(_, group)| group.interval));
        let is_finite = |bound: f64| bound.is_finite();
        assert!(all.into_iter().flatten().all(|of| is_finite(of.low) && is_finite(of.high)));
        let written = serde_json::to_value(&found).unwrap();
        let read: MetricValue = serde_json::from_value(written).unwrap();
        assert_eq!(read, MetricValue { replicates: None, ..found });
    }
}

#[test]
fn intervals_that_earlier_versions_could_not_write_are_read_as_none() {
    let written = |low: &str, high: &str| {
        let interval =
            format!(r#"{{"low":{low},"high":{high},"level":0.95,"method":"clopper_pearson"}}"#);
        let text = format!(
            r#"{{"value":5.0,"interval":{interval},"groups":{{"a":{{"value":5.0,"n":1,"interval":{interval}}}}}}}"#
        );
        serde_json::from_str::<MetricValue>(&text).unwrap()
    };
    for (low, high, is_some) in [
        ("null", "null", false),
        ("null", "1.0", false),
        ("1.0", "null", false),
        ("0.0", "1.0", true),
    ] {
        let read = written(low, high);
        assert_eq!(read.interval.is_some(), is_some, "{low} {high}");
        assert_eq!(read.groups.get("a").unwrap().interval.is_some(), is_some, "{low} {high}");
    }
    let none: MetricValue = serde_json::from_str(r#"{"value":5.0,"interval":null}"#).unwrap();
    let absent: MetricValue = serde_json::from_str(r#"{"value":5.0}"#).unwrap();
    assert_eq!((none.interval, absent.interval), (None, None));
}

#[test]
fn trials_of_a_sample_are_one_estimate() {
    // Of sample 0 two of three pass, of sample 1 none of two; sample 2 has one trial.
    let table = table("0:1 0:1 0:0 1:0 1:0 2:1");
    let of = |statistic| value(&spec(MetricKind::Of(statistic)), &table);
    assert_eq!(of(Statistic::PassAt(1)), Some(0.555_556));
    assert_eq!(of(Statistic::PassAt(2)), Some(0.5));
    assert_eq!(of(Statistic::PassHat(2)), Some(0.166_667));
    assert_eq!(of(Statistic::PassAt(4)), None);
}

fn grouped(of: &str, groups: &[&[&[&str]]]) -> MetricTable {
    let mut table = table(of);
    for (place, dimensions) in table.places.iter_mut().zip(groups) {
        let owned =
            |values: &&[&str]| values.iter().map(|value| (*value).to_owned().into()).collect();
        place.groups = dimensions.iter().map(owned).collect();
    }
    table
}

#[test]
fn groups_count_alike_whatever_their_size() {
    let groups: &[&[&[&str]]] =
        &[&[&["a"]], &[&["a"]], &[&["a"]], &[&["b"]], &[&["b", "c"]], &[&[]]];
    let table = grouped("1 1 1 0 0.5 0", groups);
    let by_tags =
        MetricSpec { by: vec![Dimension::Tags], ..spec(MetricKind::Macro(Statistic::Mean)) };
    let found = measure(&by_tags, &table);
    // a: 1, b: 0.25, c: 0.5; the last result is of no group.
    assert_eq!(found.value, Some((1.0 + 0.25 + 0.5) / 3.0));
    let told: Vec<(&str, Option<f64>, usize)> =
        found.groups.0.iter().map(|(name, group)| (name.as_str(), group.value, group.n)).collect();
    assert_eq!(told, [("a", Some(1.0), 3), ("b", Some(0.25), 2), ("c", Some(0.5), 1)]);
    // Groups of groups: what a suite names stands around the values.
    let groups = vec![
        ("one".to_owned(), vec!["a".to_owned(), "b".to_owned()]),
        ("other".to_owned(), vec!["c".to_owned()]),
    ];
    let nested = MetricSpec { groups, ..by_tags };
    assert_eq!(value(&nested, &table), Some(0.5625));
    let left_out = |spec: &MetricSpec| {
        let found = measure(spec, &table);
        (found.n, found.ungrouped.map(|left_out| (left_out.n, left_out.values)))
    };
    assert_eq!(left_out(&nested), (5, Some((1, Vec::new()))));
    let groups = vec![("one".to_owned(), vec!["a".to_owned()])];
    let values = vec!["b".to_owned(), "c".to_owned()];
    assert_eq!(left_out(&MetricSpec { groups, ..nested }), (3, Some((3, values))));
}

/// A sample that is drawn twice is two of its groups: the mean over them varies as a mean of so many numbers does.
#[test]
fn groups_within_one_sample_vary_with_the_samples() {
    let of_groups =
        MetricSpec { by: vec![Dimension::Tags], ..spec(MetricKind::Macro(Statistic::Mean)) };
    let mean = spec(MetricKind::Of(Statistic::Mean));
    let of_results = "0:1 0:0 1:0 1:0 2:1 2:1";
    // A group for each result, one for each sample, and one that holds results of two samples.
    for (size, as_mean_of) in [(1, Some(of_results)), (2, Some("0.5 0 1")), (4, None)] {
        let mut grouped = table(of_results);
        for (at, place) in grouped.places.iter_mut().enumerate() {
            place.groups = vec![vec![format!("group {}", at / size).into()]];
        }
        let found = measure(&of_groups, &grouped).interval;
        assert!(found.is_some(), "{size}");
        let expected = as_mean_of.map(|of| measure(&mean, &table(of)).interval);
        assert_eq!(
            expected.is_some_and(|expected| found == expected),
            as_mean_of.is_some(),
            "{size}"
        );
    }
}

#[test]
fn weights_are_of_rows() {
    let mut table = table("1 0 1 e");
    let weights = [1.0, 3.0, f64::NAN, 1.0].map(Operand::Number);
    table.fields.insert("n".to_owned(), weights.to_vec());
    let found = measure(&spec(MetricKind::Weighted("n".to_owned())), &table);
    assert_eq!((found.value, found.n, found.errors), (Some(0.25), 2, 2));
}

fn compared(of: Vec<Reading>, against: Vec<Reading>) -> MetricTable {
    let place = |sample| ResultPlace { sample, ..ResultPlace::default() };
    MetricTable {
        places: (0..).take(of.len()).map(place).collect(),
        of,
        against: vec![against],
        ..MetricTable::default()
    }
}

fn class_measure(score: ClassScore, average: ClassAverage) -> MetricKind {
    MetricKind::Classes(ClassMeasure { score, average })
}

#[test]
fn classes_are_counted_as_in_scikit_learn() {
    // sklearn.metrics over these, average as named.
    let predicted = classes("a b b c a c c a");
    let truth = classes("a b c c b c a a");
    let table = compared(predicted, truth);
    let of = |score, average| value(&spec(class_measure(score, average)), &table);
    assert_eq!(of(ClassScore::Accuracy, ClassAverage::Macro), Some(0.625));
    assert_eq!(of(ClassScore::Precision, ClassAverage::Macro), Some(0.611_111));
    assert_eq!(of(ClassScore::Recall, ClassAverage::Macro), Some(0.611_111));
    assert_eq!(of(ClassScore::F1, ClassAverage::Weighted), Some(0.625));
    assert_eq!(of(ClassScore::F1, ClassAverage::Class(Some("b".into()))), Some(0.5));
    assert_eq!(of(ClassScore::F1, ClassAverage::Class(Some("z".into()))), None);
    let found = measure(&spec(class_measure(ClassScore::F1, ClassAverage::Class(None))), &table);
    assert_eq!(found.confusion.unwrap().counts, [[2, 0, 1], [1, 1, 0], [0, 1, 2]]);
}

#[test]
fn verdicts_and_words_for_them_are_the_same_classes() {
    let mut table = compared(series("1 1 0 0"), classes("true False fail PASS"));
    table.by_verdict = true;
    let kind = class_measure(ClassScore::Precision, ClassAverage::Class(None));
    let found = measure(&spec(kind), &table);
    assert_eq!((found.value, found.n), (Some(0.5), 4));
    assert_eq!(found.confusion.unwrap().classes, ["fail", "pass"]);
}

#[test]
fn coefficients_are_those_of_the_statistics() {
    let table = compared(series("0.1 0.4 0.4 0.9 e -"), series("0.2 0.3 0.6 0.8 1 1"));
    let of = |measure| value(&spec(MetricKind::Agreement(measure)), &table);
    // scipy.stats over the first four.
    assert_eq!(of(AgreementMeasure::Pearson), Some(0.894_167));
    assert_eq!(of(AgreementMeasure::Spearman), Some(0.948_683));
    assert_eq!(of(AgreementMeasure::Kendall), Some(0.912_871));
    let found = measure(&spec(MetricKind::Agreement(AgreementMeasure::Pearson)), &table);
    assert_eq!((found.n, found.errors), (4, 1));
    // Errors may move it nobody knows how far.
    assert_eq!((found.lowest, found.highest), (None, None));
    let equal = compared(series("1 1"), series("1 1"));
    let found = measure(&spec(MetricKind::Agreement(AgreementMeasure::Kappa)), &equal);
    assert_eq!((found.value, found.problem.is_some()), (None, true));
}

#[test]
fn raters_may_lack_ratings() {
    let mut table = compared(classes("1 2 3 3"), classes("1 2 3 -"));
    table.against.push(classes("1 2 4 3"));
    table.against[0][3] = Reading::Missing;
    let alpha = MetricKind::Agreement(AgreementMeasure::Alpha(AlphaLevel::Nominal));
    // krippendorff.alpha(level_of_measurement="nominal") of the three.
    assert_eq!(value(&spec(alpha), &table), Some(0.767_442));
    let found = measure(&spec(MetricKind::Agreement(AgreementMeasure::Fleiss)), &table);
    // As irrCAC computes it: observed 10/12, by chance 11/36.
    assert_eq!(found.value.map(|value| (value * 1e6).round() / 1e6), Some(0.76));
    assert_eq!(found.n, 4);
}

#[test]
fn scores_tell_who_passes() {
    let table = compared(series("0.9 0.8 0.3 0.1"), classes("pass fail pass fail"));
    assert_eq!(value(&spec(MetricKind::AreaUnderCurve(None)), &table), Some(0.75));
    let ece = MetricKind::CalibrationError { bins: 2, class: Some("pass".to_owned()) };
    assert_eq!(value(&spec(ece), &table), Some(0.325));
    let one_class = compared(series("0.9 0.8"), classes("pass pass"));
    let found = measure(&spec(MetricKind::AreaUnderCurve(None)), &one_class);
    assert!(found.problem.unwrap().contains("one class"));
}

#[test]
fn wins_are_counted_against_another_or_as_they_are_scored() {
    let against = compared(series("1 0.5 0 0.7"), series("0 0.5 1 0.2"));
    let found = measure(&spec(MetricKind::WinRate), &against);
    assert_eq!((found.value, found.n), (Some(0.625), 4));
    let counts: Vec<usize> = found.groups.0.iter().map(|(_, group)| group.n).collect();
    assert_eq!(counts, [2, 1, 1]);
    assert_eq!(value(&spec(MetricKind::WinRate), &table("1 0.5 0 e")), Some(0.5));
}

#[test]
fn lengths_that_do_not_differ_change_nothing() {
    let mut table = table("1 0 1 0.5");
    table.lengths = vec![Some(5); 4];
    table.fields.insert("b".to_owned(), vec![Operand::Text("12345".to_owned()); 4]);
    let lengths = Lengths { own: None, baseline: "b".to_owned(), difficulty: None };
    let found = measure(&spec(MetricKind::LengthControlledWinRate(lengths)), &table);
    assert!((found.value.unwrap() - 0.625).abs() < 1e-12, "{found:?}");
}

#[test]
fn players_are_models_or_named_by_rows() {
    let mut table = table("0:1 0:0 1:0 1:1 2:1 2:0");
    for (place, at) in table.places.iter_mut().zip(0..) {
        place.model = at % 2;
    }
    table.models = vec!["a".to_owned(), "b".to_owned()];
    // a wins two of three: odds of 2.
    let found = measure(&spec(MetricKind::BradleyTerry(None)), &table);
    assert!((found.value.unwrap() - 2.0f64.ln()).abs() < 1e-9);
    assert_eq!(found.groups.0[0].0, "a");
    let names = |text: &str| text.split(' ').map(|name| Operand::Text(name.to_owned())).collect();
    let mut table = self::table("1 1 0 0.5");
    table.fields.insert("one".to_owned(), names("x y z x"));
    table.fields.insert("other".to_owned(), names("y z x z"));
    let players = Players { one: "one".to_owned(), other: "other".to_owned() };
    let found = measure(&spec(MetricKind::BradleyTerry(Some(players))), &table);
    let order: Vec<&str> = found.groups.0.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!((order, found.n), (vec!["x", "y", "z"], 4));
    // Who never wins has no strength.
    table.of = series("1 1 0 1");
    let players = Players { one: "one".to_owned(), other: "other".to_owned() };
    let found = measure(&spec(MetricKind::BradleyTerry(Some(players))), &table);
    assert!(found.problem.unwrap().contains("no chain of wins"));
}

#[test]
fn groups_have_the_scale_of_their_metric_and_all_digits() {
    let mut table = grouped("0.75 0.25 0.1 0.3", &[&[&["a"]], &[&["a"]], &[&["b"]], &[&["b"]]]);
    table.scale = Some(Scale { min: 1.0, max: 5.0 });
    let by_tags = |native| MetricSpec {
        by: vec![Dimension::Tags],
        native,
        ..spec(MetricKind::Of(Statistic::Mean))
    };
    let groups = |native, table: &MetricTable| {
        let found = measure(&by_tags(native), table).groups.0.into_iter();
        found.map(|(_, group)| (group.value, group.native)).collect::<Vec<_>>()
    };
    let own = [Some(3.0), Some(1.8)];
    assert_eq!(groups(false, &table), [(Some(0.5), own[0]), (Some(0.2), own[1])]);
    assert_eq!(groups(true, &table), [(own[0], own[0]), (own[1], own[1])]);
    let interval = measure(&by_tags(true), &table).groups.0[0].1.interval.unwrap();
    assert!((1.0..3.0).contains(&interval.low) && (3.0..=5.0).contains(&interval.high));
    table.of = series("1 0.123456789012345 0 0");
    assert_eq!(
        groups(true, &table)[0].0,
        Some(1.0 + 4.0 * f64::midpoint(1.0, 0.123_456_789_012_345))
    );
}

#[test]
fn samples_are_groups_in_their_own_order() {
    let mut table = table("0 1 0.5");
    for (place, name) in table.places.iter_mut().zip(["q2", "q10", "a"]) {
        place.groups = vec![vec![GroupName { sample: place.sample, name: name.to_owned() }]];
    }
    let of_kind = |within, kind| MetricSpec { by: vec![Dimension::Sample], within, ..spec(kind) };
    for (within, kind) in [
        (false, MetricKind::Of(Statistic::Mean)),
        (false, MetricKind::Macro(Statistic::Mean)),
        (true, MetricKind::Of(Statistic::Mean)),
    ] {
        let found = measure(&of_kind(within, kind), &table);
        let names: Vec<&str> = found.groups.0.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["q2", "q10", "a"]);
    }
}

#[test]
fn scores_that_differ_in_late_digits_are_compared_as_they_are() {
    let of = "0.123456789012345 0.123456789112345 0.123456789212345";
    let mut compared = table(of);
    compared.against = vec![series("0.9 0.1 0.3")];
    let pearson = value(&spec(MetricKind::Agreement(AgreementMeasure::Pearson)), &compared);
    assert_eq!(pearson, Some(-0.720_577));
    let spearman = value(&spec(MetricKind::Agreement(AgreementMeasure::Spearman)), &compared);
    assert_eq!(spearman, Some(-0.5));
    // What only rounding parts is a tie, on either side.
    let third = 1.0 - 2.0 / 3.0;
    compared = table(&format!("{} {third} 0.3", 1.0 / 3.0));
    compared.against = vec![series(&format!("{third} {} {}", 1.0 / 3.0, 0.1 + 0.2))];
    for measure in [AgreementMeasure::QuadraticKappa, AgreementMeasure::Kendall] {
        assert_eq!(value(&spec(MetricKind::Agreement(measure)), &compared), Some(1.0));
    }
}

#[test]
fn a_class_is_named_as_it_is_written() {
    let mut table = table("0.9 0.2 0.1");
    table.by_verdict = true;
    for (words, class) in [("yes no no", "yes"), ("true false false", "true"), ("1 0 0", "1")] {
        table.against = vec![classes(words)];
        let auc = |class: &str| spec(MetricKind::AreaUnderCurve(Some(class.to_owned())));
        assert_eq!(value(&auc(class), &table), Some(1.0), "{class}");
        assert_eq!(value(&auc("pass"), &table), Some(1.0), "{class}");
        let average = ClassAverage::Class(Some(class.to_owned()));
        let recall = spec(MetricKind::Classes(ClassMeasure { score: ClassScore::Recall, average }));
        assert_eq!(value(&recall, &table), Some(1.0), "{class}");
        let problem = measure(&auc("yess"), &table).problem.unwrap();
        assert_eq!(problem, "no result has the class `yess`");
    }
}

#[test]
fn submitted_numbers_are_correlated_and_texts_are_said_to_be_texts() {
    let texts = |text: &str| -> Vec<Reading> {
        text.split_whitespace().map(|word| Reading::Is(ReadValue::of_text(word))).collect()
    };
    let mut table = table("0.9 0.2 0.1");
    let pearson = spec(MetricKind::Agreement(AgreementMeasure::Pearson));
    table.against = vec![texts("9 2 1")];
    assert_eq!(value(&pearson, &table), Some(1.0));
    table.against = vec![texts("a b c")];
    let found = measure(&pearson, &table);
    assert_eq!(found.problem.unwrap(), "it compares texts, not numbers");
    assert_eq!(found.errors, 3);
}

#[test]
fn scores_are_told_on_the_scale_of_their_grader() {
    let mut table = table("0 0.5 1");
    table.scale = Some(Scale { min: 1.0, max: 5.0 });
    let unit = measure(&spec(MetricKind::Of(Statistic::Mean)), &table);
    assert_eq!((unit.value, unit.native), (Some(0.5), Some(3.0)));
    let native = MetricSpec { native: true, ..spec(MetricKind::Of(Statistic::Mean)) };
    let MetricValue { value, lowest, .. } = measure(&native, &table);
    assert_eq!((value, lowest), (Some(3.0), Some(3.0)));
    let rate = MetricSpec { native: true, ..spec(MetricKind::Of(Statistic::PassRate)) };
    assert_eq!(measure(&rate, &table).native, None);
}
