//! Precision, recall and similar metrics over classes; how well a score separates two classes.

use super::MetricValue;
use super::reading::{ComparedRows, MetricTable, verdict};
use evalrs_model::spec::{ClassAverage, ClassMeasure, ClassScore};
use evalrs_statistics::binary::{
    ScoredOutcome, area_under_curve as auc, expected_calibration_error,
};
use evalrs_statistics::classes::{ClassPair, ConfusionMatrix, MAX_CLASSES};

/// A number over pairs of classes: the first series is what was predicted, the other what is true.
pub(super) fn of(measure: &ClassMeasure, table: &MetricTable) -> MetricValue {
    let ComparedRows { rows, errors } = table.compared();
    let pairs = rows.iter().filter_map(|row| {
        let [predicted, truth] =
            [0, 1].map(|at| row.values.get(at).map(|value| table.class(value)));
        Some(ClassPair { truth: truth?, predicted: predicted? })
    });
    let pairs: Vec<ClassPair<'_>> = pairs.collect();
    let Some(matrix) = ConfusionMatrix::of(&pairs, &[]) else {
        return MetricValue::without(format!("there are more than {MAX_CLASSES} classes"));
    };
    let names: Vec<&str> = matrix.classes.iter().map(String::as_str).collect();
    let average = match &measure.average {
        ClassAverage::Class(None) => default_average(&names),
        ClassAverage::Class(Some(class)) => {
            ClassAverage::Class(Some(table.named_class(class).to_owned()))
        }
        said => said.clone(),
    };
    if let ClassAverage::Class(Some(class)) = &average
        && !names.contains(&class.as_str())
    {
        let problem = format!("no result has or was given the class `{class}`");
        return MetricValue { n: pairs.len(), errors, ..MetricValue::without(problem) };
    }
    let samples: Vec<u32> = rows.iter().map(|row| table.places[row.at].sample).collect();
    let found = MetricValue::estimated(table, &samples, &pairs, |drawn| {
        number(measure.score, &average, &ConfusionMatrix::of(drawn, &names)?)
    });
    MetricValue { errors, classes: matrix.scores(), confusion: Some(matrix), ..found }
}

/// Of verdicts what passes is meant; of other classes, all alike.
fn default_average(classes: &[&str]) -> ClassAverage {
    let are_verdicts = classes.iter().all(|class| [verdict(true), verdict(false)].contains(class));
    if are_verdicts {
        ClassAverage::Class(Some(verdict(true).to_owned()))
    } else {
        ClassAverage::Macro
    }
}

fn number(score: ClassScore, average: &ClassAverage, matrix: &ConfusionMatrix) -> Option<f64> {
    match (score, average) {
        (ClassScore::Accuracy, _) | (_, ClassAverage::Micro) => return matrix.accuracy(),
        (ClassScore::BalancedAccuracy, _) => return matrix.balanced_accuracy(),
        _ => {}
    }
    let averages = match average {
        ClassAverage::Class(class) => {
            let scores = matrix.scores();
            let own = scores.iter().find(|scores| Some(&scores.class) == class.as_ref())?;
            // As in scikit-learn: where nothing was taken for the class, or nothing is of it, 0.
            let of = match score {
                ClassScore::Precision => own.precision,
                ClassScore::Recall => own.recall,
                _ => own.f1,
            };
            return Some(of.unwrap_or(0.0)).filter(|_| matrix.n() > 0);
        }
        ClassAverage::Weighted => matrix.weighted_average()?,
        ClassAverage::Macro | ClassAverage::Micro => matrix.macro_average()?,
    };
    Some(match score {
        ClassScore::Precision => averages.precision,
        ClassScore::Recall => averages.recall,
        _ => averages.f1,
    })
}

/// How well the score predicts the positive class.
pub(super) fn area_under_curve(class: Option<&str>, table: &MetricTable) -> MetricValue {
    scored(class, table, auc)
}

/// How far the score is from how often what has it is positive.
pub(super) fn calibration_error(
    bins: usize,
    class: Option<&str>,
    table: &MetricTable,
) -> MetricValue {
    scored(class, table, |items| expected_calibration_error(items, bins))
}

fn scored(
    class: Option<&str>,
    table: &MetricTable,
    estimate: impl Fn(&[ScoredOutcome]) -> Option<f64>,
) -> MetricValue {
    let ComparedRows { rows, mut errors } = table.compared();
    let mut items = Vec::new();
    let mut samples = Vec::new();
    for row in &rows {
        let [Some(score), Some(truth)] = [0, 1].map(|at| row.values.get(at).copied()) else {
            continue;
        };
        let positive = match class {
            Some(class) => Some(table.class(truth) == table.named_class(class)),
            None => truth.pass,
        };
        match (score.number, positive) {
            (Some(score), Some(positive)) => {
                items.push(ScoredOutcome { score, positive });
                samples.push(table.places[row.at].sample);
            }
            _ => errors += 1,
        }
    }
    let found = MetricValue::estimated_if_defined(table, &samples, &items, estimate);
    if found.value.is_some() {
        return MetricValue { errors, ..found };
    }
    let has_both = [true, false].iter().all(|side| items.iter().any(|item| item.positive == *side));
    let problem = match class {
        _ if has_both => "a score is not between 0 and 1".to_owned(),
        None => "all results have one class: name the positive class with `class`".to_owned(),
        Some(class) if items.first().is_some_and(|item| item.positive) => {
            format!("every result has the class `{class}`")
        }
        Some(class) => format!("no result has the class `{class}`"),
    };
    MetricValue { n: items.len(), errors, ..MetricValue::without(problem) }
}
