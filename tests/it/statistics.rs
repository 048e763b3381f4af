//! Statistics against the packages of Python that people know them from.
//!
//! A thousand random inputs a kind, with ties, with nothing, and with a class that is missing, go to
//! `tests/statistics/reference.py` where `EVALRS_TEST_STATISTICS` names a Python that has the packages. Without it the numbers of
//! the first few of each kind are compared, which `tests/it/fixtures/statistics.jsonl` holds; with it that file is checked too,
//! and written anew where `EVALRS_BLESS_STATISTICS` is set.
#![expect(clippy::disallowed_methods, reason = "tests start the reference and read its numbers")]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use evalrs_statistics::binary::{ScoredOutcome, area_under_curve, expected_calibration_error};
use evalrs_statistics::bradley_terry::bradley_terry;
use evalrs_statistics::classes::{AverageScores, ClassPair, ConfusionMatrix};
use evalrs_statistics::comparison::PairwiseOutcome;
use evalrs_statistics::correlation::{kendall_tau_b, pearson, spearman};
use evalrs_statistics::interval::{
    ClusteredValue, ConfidenceInterval, ValueRange, bca_interval, clopper_pearson_interval,
    student_t_interval, wilson_interval,
};
use evalrs_statistics::kappa::{KappaWeights, ScorePair, cohen_kappa, fleiss_kappa, ranked};
use evalrs_statistics::krippendorff::{MeasurementLevel, krippendorff_alpha};
use evalrs_statistics::length_control::{LengthComparison, length_controlled_win_rate};
use evalrs_statistics::prediction_powered::{LabelledItem, prediction_powered_mean};
use serde_json::{Value, json};

use crate::space::jsonl;

/// Inputs of each kind.
const CASES: usize = 1_000;

/// Those of them whose numbers are kept.
const KEPT: usize = 20;

/// Draws that are the same everywhere (Knuth's MMIX generator).
struct Draws(u64);

impl Draws {
    fn below(&mut self, end: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % end
    }

    /// How many items a case has: often very few, none among them.
    fn size(&mut self) -> usize {
        let most = [3, 8, 40][self.below(3)];
        self.below(most)
    }

    /// A score of few values, so that many are equal.
    fn coarse(&mut self) -> f64 {
        let values = 2 + self.below(4);
        self.below(values) as f64 / 4.0
    }

    /// A score of many values.
    fn fine(&mut self) -> f64 {
        self.below(1_000_000) as f64 / 1e6
    }

    fn list<T>(&mut self, size: usize, mut one: impl FnMut(&mut Self) -> T) -> Vec<T> {
        (0..size).map(|_| one(self)).collect()
    }
}

type Numbers = BTreeMap<String, Option<f64>>;

/// What is compared, and how.
struct Kind {
    name: &'static str,
    draw: fn(&mut Draws) -> Value,
    numbers: fn(&Value) -> Numbers,
    /// How far numbers may be apart, relative to the greater of them and 1.
    tolerance: f64,
    /// Inputs, where a thousand take too long.
    cases: usize,
}

const KINDS: &[Kind] = &[
    Kind { name: "rate", draw: draw_rate, numbers: rate, tolerance: 1e-9, cases: CASES },
    Kind { name: "mean", draw: draw_mean, numbers: mean, tolerance: 1e-9, cases: CASES },
    // Draws of others: a tenth of the width of the interval at most, for which see `bootstrap`.
    Kind {
        name: "bootstrap",
        draw: draw_bootstrap,
        numbers: bootstrap,
        tolerance: 0.03,
        cases: 100,
    },
    Kind { name: "classes", draw: draw_classes, numbers: classes, tolerance: 1e-12, cases: CASES },
    Kind { name: "binary", draw: draw_binary, numbers: binary, tolerance: 1e-12, cases: CASES },
    Kind {
        name: "agreement",
        draw: draw_pairs,
        numbers: agreement,
        tolerance: 1e-12,
        cases: CASES,
    },
    Kind { name: "raters", draw: draw_raters, numbers: raters, tolerance: 1e-9, cases: CASES },
    Kind { name: "fleiss", draw: draw_fleiss, numbers: fleiss, tolerance: 1e-12, cases: CASES },
    Kind {
        name: "prediction_powered",
        draw: draw_labelled,
        numbers: prediction_powered,
        tolerance: 1e-9,
        cases: CASES,
    },
    Kind {
        name: "correlation",
        draw: draw_pairs,
        numbers: correlation,
        tolerance: 1e-9,
        cases: CASES,
    },
    Kind {
        name: "bradley_terry",
        draw: draw_games,
        numbers: strengths,
        tolerance: 1e-6,
        cases: CASES,
    },
    Kind { name: "length", draw: draw_lengths, numbers: length, tolerance: 1e-6, cases: CASES },
];

fn named<'a>(numbers: impl IntoIterator<Item = (&'a str, Option<f64>)>) -> Numbers {
    numbers.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

fn bounds(low: &str, high: &str, interval: Option<ConfidenceInterval>) -> Numbers {
    named([(low, interval.map(|found| found.low)), (high, interval.map(|found| found.high))])
}

fn floats(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|value| value.as_f64().unwrap()).collect()
}

fn draw_rate(draws: &mut Draws) -> Value {
    let n = [0, 1, 10, 300, 20_000][draws.below(5)] + draws.below(5) * draws.below(9);
    let level = [0.8, 0.95, 0.99][draws.below(3)];
    let passes = match draws.below(3) {
        0 => draws.below(n + 1),
        1 => n.min(draws.below(4)),
        _ => n - n.min(draws.below(4)),
    };
    json!({"passes": passes, "n": n, "level": level})
}

fn rate(case: &Value) -> Numbers {
    let count = |name: &str| case[name].as_u64().unwrap() as usize;
    let level = case["level"].as_f64().unwrap();
    let mut numbers =
        bounds("wilson_low", "wilson_high", wilson_interval(count("passes"), count("n"), level));
    let exact = clopper_pearson_interval(count("passes"), count("n"), level);
    numbers.append(&mut bounds("exact_low", "exact_high", exact));
    numbers
}

fn draw_mean(draws: &mut Draws) -> Value {
    let size = draws.size();
    let clusters = match draws.below(2) {
        0 => (0..size).collect(),
        _ => draws.list(size, |draws| draws.below(6)),
    };
    let values = draws
        .list(size, |draws| if size.is_multiple_of(2) { draws.coarse() } else { draws.fine() });
    json!({"values": values, "clusters": clusters, "level": 0.95})
}

fn clustered(case: &Value) -> Vec<ClusteredValue> {
    let clusters = case["clusters"].as_array().unwrap().iter();
    clusters
        .zip(floats(&case["values"]))
        .map(|(cluster, value)| ClusteredValue { cluster: cluster.as_u64().unwrap() as u32, value })
        .collect()
}

fn mean(case: &Value) -> Numbers {
    let everything = ValueRange { least: f64::MIN, greatest: f64::MAX };
    bounds("low", "high", student_t_interval(clustered(case), everything, 0.95))
}

fn draw_bootstrap(draws: &mut Draws) -> Value {
    let size = 12 + draws.below(30);
    let values = draws.list(size, |draws| draws.fine() * draws.fine());
    json!({"values": values, "clusters": (0..size).collect::<Vec<_>>()})
}

fn bootstrap(case: &Value) -> Numbers {
    bounds("low", "high", bca_interval(clustered(case), 0.95))
}

fn draw_classes(draws: &mut Draws) -> Value {
    let names = ["a", "b", "c", "d", "e"];
    let [truths, predictions] = [1 + draws.below(5), 1 + draws.below(5)];
    let size = draws.size();
    let truth = draws.list(size, |draws| names[draws.below(truths)]);
    let predicted = draws.list(size, |draws| names[draws.below(predictions)]);
    json!({"truth": truth, "predicted": predicted, "classes": names})
}

fn classes(case: &Value) -> Numbers {
    let texts = |name: &str| -> Vec<String> { serde_json::from_value(case[name].clone()).unwrap() };
    let [truth, predicted, names] = ["truth", "predicted", "classes"].map(texts);
    let pairs: Vec<ClassPair<'_>> = truth
        .iter()
        .zip(&predicted)
        .map(|(truth, predicted)| ClassPair { truth, predicted })
        .collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let matrix = ConfusionMatrix::of(&pairs, &names).unwrap();
    if pairs.is_empty() {
        return named([("accuracy", matrix.accuracy())]);
    }
    let mut numbers =
        named([("accuracy", matrix.accuracy()), ("balanced_accuracy", matrix.balanced_accuracy())]);
    for (row, counts) in matrix.counts.iter().enumerate() {
        for (column, count) in counts.iter().enumerate() {
            numbers.insert(format!("count_{row}_{column}"), Some(*count as f64));
        }
    }
    for (at, scores) in matrix.scores().into_iter().enumerate() {
        numbers.insert(format!("precision_{at}"), scores.precision);
        numbers.insert(format!("recall_{at}"), scores.recall);
        numbers.insert(format!("f1_{at}"), scores.f1);
    }
    let micro =
        matrix.accuracy().map(|share| AverageScores { precision: share, recall: share, f1: share });
    for (name, scores) in [
        ("macro", matrix.macro_average()),
        ("weighted", matrix.weighted_average()),
        ("micro", micro),
    ] {
        numbers.insert(format!("{name}_precision"), scores.map(|scores| scores.precision));
        numbers.insert(format!("{name}_recall"), scores.map(|scores| scores.recall));
        numbers.insert(format!("{name}_f1"), scores.map(|scores| scores.f1));
    }
    numbers
}

fn draw_binary(draws: &mut Draws) -> Value {
    let size = draws.size();
    let is_coarse = draws.below(2) == 0;
    let scores = draws
        .list(size, |draws| if is_coarse { draws.below(11) as f64 / 10.0 } else { draws.fine() });
    let chance = 1 + draws.below(4);
    let positive = draws.list(size, |draws| draws.below(5) < chance);
    let bins = [1, 5, 10, 15][draws.below(4)];
    json!({"scores": scores, "positive": positive, "bins": bins})
}

fn binary(case: &Value) -> Numbers {
    let positive = case["positive"].as_array().unwrap().iter();
    let items: Vec<ScoredOutcome> = floats(&case["scores"])
        .into_iter()
        .zip(positive)
        .map(|(score, positive)| ScoredOutcome { score, positive: positive.as_bool().unwrap() })
        .collect();
    let bins = case["bins"].as_u64().unwrap() as usize;
    named([("auc", area_under_curve(&items)), ("ece", expected_calibration_error(&items, bins))])
}

fn draw_pairs(draws: &mut Draws) -> Value {
    let size = draws.size();
    let values = 1 + draws.below(8);
    let one = draws.list(size, |draws| draws.below(values));
    let agree = draws.below(10);
    let other: Vec<usize> = one
        .iter()
        .map(|one| if draws.below(10) < agree { *one } else { draws.below(values) })
        .collect();
    json!({"one": one, "other": other})
}

fn pairs(case: &Value) -> Vec<ScorePair> {
    let others = floats(&case["other"]);
    let ones = floats(&case["one"]).into_iter();
    ones.zip(others).map(|(one, other)| ScorePair { one, other }).collect()
}

fn agreement(case: &Value) -> Numbers {
    let pairs = ranked(&pairs(case));
    named([
        ("plain", cohen_kappa(&pairs, KappaWeights::Plain)),
        ("linear", cohen_kappa(&pairs, KappaWeights::Linear)),
        ("quadratic", cohen_kappa(&pairs, KappaWeights::Quadratic)),
    ])
}

fn draw_raters(draws: &mut Draws) -> Value {
    let [raters, values, size] = [1 + draws.below(4), 1 + draws.below(6), 1 + draws.size()];
    let units = draws.list(size, |draws| {
        let common = draws.below(values);
        draws.list(raters, |draws| match draws.below(5) {
            0 => None,
            1 | 2 => Some(draws.below(values)),
            _ => Some(common),
        })
    });
    json!({"units": units})
}

fn raters(case: &Value) -> Numbers {
    let unit = |unit: &Value| unit.as_array().unwrap().iter().filter_map(Value::as_f64).collect();
    let units: Vec<Vec<f64>> = case["units"].as_array().unwrap().iter().map(unit).collect();
    named([
        ("nominal", krippendorff_alpha(&units, MeasurementLevel::Nominal)),
        ("ordinal", krippendorff_alpha(&units, MeasurementLevel::Ordinal)),
        ("interval", krippendorff_alpha(&units, MeasurementLevel::Interval)),
        ("ratio", krippendorff_alpha(&units, MeasurementLevel::Ratio)),
    ])
}

fn draw_fleiss(draws: &mut Draws) -> Value {
    let [raters, categories, size] = [2 + draws.below(5), 2 + draws.below(3), 1 + draws.size()];
    let table = draws.list(size, |draws| {
        let mut row = vec![0; categories];
        for _ in 0..raters {
            row[draws.below(categories).min(draws.below(categories))] += 1;
        }
        row
    });
    json!({"table": table})
}

fn fleiss(case: &Value) -> Numbers {
    let table: Vec<Vec<usize>> = serde_json::from_value(case["table"].clone()).unwrap();
    let rows: Vec<&[usize]> = table.iter().map(Vec::as_slice).collect();
    named([("fleiss", fleiss_kappa(&rows))])
}

fn correlation(case: &Value) -> Numbers {
    let pairs = pairs(case);
    named([
        ("pearson", pearson(&pairs)),
        ("spearman", spearman(&pairs)),
        ("kendall", kendall_tau_b(&pairs)),
    ])
}

fn draw_games(draws: &mut Draws) -> Value {
    let players = 2 + draws.below(4);
    let size = 1 + draws.below(12 * players);
    let games = draws.list(size, |draws| {
        let one = draws.below(players);
        let other = (one + 1 + draws.below(players - 1)) % players;
        let outcome = [0.0, 0.5, 1.0, if one < other { 1.0 } else { 0.0 }][draws.below(4)];
        json!([one, other, outcome])
    });
    json!({"players": players, "games": games})
}

fn strengths(case: &Value) -> Numbers {
    let players = case["players"].as_u64().unwrap() as usize;
    let game = |game: &Value| PairwiseOutcome {
        sample: 0,
        one: game[0].as_u64().unwrap() as usize,
        other: game[1].as_u64().unwrap() as usize,
        outcome: game[2].as_f64().unwrap(),
    };
    let games: Vec<PairwiseOutcome> = case["games"].as_array().unwrap().iter().map(game).collect();
    // One standard error is reached by so much of a normal distribution.
    let level = 0.682_689_492_137_085_9;
    let mut numbers = Numbers::new();
    for (at, found) in bradley_terry(players, &games, level).unwrap_or_default().iter().enumerate()
    {
        numbers.insert(format!("strength_{at}"), Some(found.strength));
        numbers.insert(format!("error_{at}"), Some(found.interval.high - found.strength));
    }
    numbers
}

fn draw_lengths(draws: &mut Draws) -> Value {
    let size = 20 + draws.below(40);
    let has_difficulty = draws.below(2) == 0;
    let longer = draws.list(size, |draws| draws.below(2_000) as f64 - 700.0);
    let outcome: Vec<f64> = longer
        .iter()
        .map(|longer| match draws.below(4) {
            0 => f64::from(u8::from(*longer > 0.0)),
            1 => draws.fine(),
            _ => draws.below(3) as f64 / 2.0,
        })
        .collect();
    let difficulty =
        draws.list(size, |draws| if has_difficulty { draws.fine() * 4.0 - 2.0 } else { 0.0 });
    json!({"outcome": outcome, "longer": longer, "difficulty": difficulty, "has_difficulty": has_difficulty})
}

fn length(case: &Value) -> Numbers {
    let [outcome, longer, difficulty] =
        ["outcome", "longer", "difficulty"].map(|name| floats(&case[name]));
    let items: Vec<LengthComparison> = (0..outcome.len())
        .map(|at| LengthComparison {
            outcome: outcome[at],
            longer: longer[at],
            difficulty: difficulty[at],
        })
        .collect();
    let level = 0.682_689_492_137_085_9;
    let Some(found) = length_controlled_win_rate(&items, level) else { return Numbers::new() };
    // The interval is one standard error of the log odds to either side.
    let odds = |share: f64| (share / (1.0 - share)).ln();
    let error = (odds(found.interval.high) - odds(found.rate)) * found.rate * (1.0 - found.rate);
    named([
        ("rate", Some(found.rate)),
        ("effect", Some(found.length_effect)),
        ("error", Some(error)),
    ])
}

fn draw_labelled(draws: &mut Draws) -> Value {
    let size = 2 + draws.size();
    let follows = draws.fine();
    let labels = draws.list(size, Draws::coarse);
    let predictions: Vec<f64> = labels
        .iter()
        .map(|label| if draws.fine() < follows { *label } else { draws.coarse() })
        .collect();
    let more = 1 + draws.below(100);
    let others = draws.list(more, Draws::coarse);
    json!({"labels": labels, "predictions": predictions, "others": others})
}

fn prediction_powered(case: &Value) -> Numbers {
    let [labels, predictions, others] =
        ["labels", "predictions", "others"].map(|name| floats(&case[name]));
    let items = (0..).zip(labels.iter().zip(&predictions));
    let items: Vec<LabelledItem> = items
        .map(|(cluster, (label, prediction))| LabelledItem {
            cluster,
            label: *label,
            prediction: *prediction,
        })
        .collect();
    let others: Vec<ClusteredValue> =
        (1_000..).zip(others).map(|(cluster, value)| ClusteredValue { cluster, value }).collect();
    let wide = ValueRange { least: -9.0, greatest: 9.0 };
    let Some(found) = prediction_powered_mean(&items, &others, wide, 0.95) else {
        return Numbers::new();
    };
    // The package divides by n where the error of few labels wants n - 1.
    let n = items.len() as f64;
    named([
        ("mean", Some(found.mean)),
        ("tuning", Some(found.tuning)),
        ("stderr", Some(found.stderr * ((n - 1.0) / n).sqrt())),
    ])
}

fn drawn(kind: &Kind) -> Vec<Value> {
    let mut draws = Draws(kind.name.bytes().map(u64::from).sum());
    let case = |_| {
        let mut case = (kind.draw)(&mut draws);
        case["kind"] = json!(kind.name);
        case
    };
    (0..kind.cases).map(case).collect()
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The numbers of the packages, or nothing where they are not installed.
fn asked(cases: &[Value]) -> Option<Vec<Value>> {
    let python = std::env::var_os("EVALRS_TEST_STATISTICS")?;
    let mut reference = Command::new(python)
        .arg(root().join("tests/statistics/reference.py"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("EVALRS_TEST_STATISTICS names a Python");
    let mut input = reference.stdin.take().unwrap();
    let lines = jsonl(cases.iter().cloned());
    let writer = std::thread::spawn(move || input.write_all(lines.as_bytes()));
    let output = reference.wait_with_output().unwrap();
    let _ = writer.join();
    assert!(output.status.success(), "the reference ended with {}", output.status);
    let text = String::from_utf8(output.stdout).unwrap();
    let numbers: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(numbers.len(), cases.len());
    Some(numbers)
}

#[track_caller]
fn check(kind: &Kind, case: &Value, expected: &Value) {
    let found = (kind.numbers)(case);
    let expected = expected.as_object().unwrap();
    let names: Vec<&String> = expected.keys().collect();
    assert!(
        names.iter().all(|name| found.contains_key(*name)) && found.len() == names.len(),
        "{case}: {found:?} is not {expected:?}"
    );
    for (name, actual) in &found {
        let is_close = match (actual, expected[name].as_f64()) {
            (None, None) => true,
            (Some(actual), Some(expected)) => {
                let scale = actual.abs().max(expected.abs()).max(1.0);
                (actual - expected).abs() <= kind.tolerance * scale
            }
            _ => false,
        };
        assert!(is_close, "{case}: {name} is {actual:?}, not {}", expected[name]);
    }
}

#[test]
fn statistics_are_those_of_the_packages_of_python() {
    let path = root().join("tests/it/fixtures/statistics.jsonl");
    if std::env::var_os("EVALRS_TEST_STATISTICS").is_none() {
        let _ = writeln!(
            std::io::stderr(),
            "skipped: a thousand inputs each; `pip install -r tests/statistics/requirements.txt` and set EVALRS_TEST_STATISTICS to that Python"
        );
        let kept = std::fs::read_to_string(&path).unwrap();
        for line in kept.lines() {
            let line: Value = serde_json::from_str(line).unwrap();
            let kind = KINDS.iter().find(|kind| line["case"]["kind"] == kind.name).unwrap();
            check(kind, &line["case"], &line["numbers"]);
        }
        return;
    }
    let mut kept = String::new();
    for kind in KINDS {
        let cases = drawn(kind);
        let numbers = asked(&cases).unwrap();
        for (at, (case, numbers)) in cases.iter().zip(&numbers).enumerate() {
            check(kind, case, numbers);
            if at < KEPT {
                writeln!(kept, "{}", json!({"case": case, "numbers": numbers})).unwrap();
            }
        }
    }
    if std::env::var_os("EVALRS_BLESS_STATISTICS").is_some() {
        std::fs::write(&path, &kept).unwrap();
    }
    let lines = |text: &str| text.lines().count();
    assert_eq!(
        lines(&std::fs::read_to_string(&path).unwrap()),
        lines(&kept),
        "written by another version"
    );
}
