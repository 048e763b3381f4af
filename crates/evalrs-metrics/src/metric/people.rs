//! The estimated human verdict on everything, from labels of a part.
//!
//! Holds only where those that are labelled were drawn at random: whoever labels what looks wrong learns of that alone.

use serde::{Deserialize, Serialize};

use evalrs_model::delta::{Cell, CellState};
use evalrs_model::spec::Label;
use evalrs_statistics::LEVEL;
use evalrs_statistics::interval::{ClusteredValue, ValueRange};
use evalrs_statistics::prediction_powered::{
    LabelledItem, PredictionPoweredMean, prediction_powered_mean,
};

/// With fewer labels nothing is estimated.
pub const FEWEST_LABELS: usize = 30;

/// A verdict, and the label that people gave beside it, if they did.
#[derive(Clone, Copy, Debug)]
pub struct JudgedCase {
    /// The ordinal of its sample.
    pub sample: u32,
    /// What the grader says.
    pub cell: Cell,
    /// What people say.
    pub label: Option<Label>,
    /// Whether they labelled it by choice: then what they say is not of the random part, and left out.
    pub is_chosen: bool,
}

/// The estimated human verdict, from the labels and the verdicts of a grader.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PeopleEstimate {
    /// Verdicts with a label.
    pub labels: usize,
    /// Verdicts without one.
    pub others: usize,
    /// Of those, the ones with a label that somebody chose to give, which says nothing of the rest.
    pub chosen: usize,
    /// The share of passes; null for fewer than 30 labels.
    pub pass_rate: Option<PredictionPoweredMean>,
    /// The mean score; null unless every label is a score.
    pub mean: Option<PredictionPoweredMean>,
}

impl PeopleEstimate {
    /// Of cases in any order; none without labels, or where everything has one. A label passes by `threshold`.
    pub fn of(cases: impl Iterator<Item = JudgedCase>, threshold: f64) -> Option<Self> {
        let verdicts: Vec<JudgedCase> = cases.filter(|case| case.cell.is_verdict()).collect();
        let labels = verdicts.iter().filter(|case| case.label.is_some()).count();
        let others = verdicts.len() - labels;
        let chosen = verdicts.iter().filter(|case| case.is_chosen).count();
        if labels + chosen == 0 || others == 0 {
            return None;
        }
        if labels < FEWEST_LABELS {
            return Some(Self { labels, others, chosen, ..Self::default() });
        }
        let are_scores = verdicts.iter().all(|case| !matches!(case.label, Some(Label::Pass(_))));
        let pass_rate = estimate(
            &verdicts,
            |case| f64::from(case.cell.state == CellState::Passed),
            |label| f64::from(label.passes(threshold)),
        );
        let mean = || estimate(&verdicts, |case| case.cell.score, Label::number);
        Some(Self { labels, others, chosen, pass_rate, mean: are_scores.then(mean).flatten() })
    }
}

fn estimate(
    verdicts: &[JudgedCase],
    of_judge: fn(&JudgedCase) -> f64,
    of_people: impl Fn(Label) -> f64,
) -> Option<PredictionPoweredMean> {
    let mut labelled = Vec::new();
    let mut others = Vec::new();
    for case in verdicts {
        let prediction = of_judge(case);
        match case.label {
            Some(label) => labelled.push(LabelledItem {
                cluster: case.sample,
                label: of_people(label),
                prediction,
            }),
            None => others.push(ClusteredValue { cluster: case.sample, value: prediction }),
        }
    }
    let found = prediction_powered_mean(&labelled, &others, ValueRange::UNIT, LEVEL)?;
    Some(found.or_labels_alone())
}

#[cfg(test)]
mod public_sets_tests;

#[cfg(test)]
mod tests {
    use super::{Cell, CellState, JudgedCase, Label, PeopleEstimate};

    fn cases(count: u32, labelled: u32) -> Vec<JudgedCase> {
        let case = |sample: u32| {
            let passes = !sample.is_multiple_of(3);
            let state = if passes { CellState::Passed } else { CellState::Failed };
            let label =
                (sample < labelled).then_some(Label::Pass(passes || sample.is_multiple_of(9)));
            let score = f64::from(passes);
            JudgedCase { sample, cell: Cell { score, state }, label, is_chosen: false }
        };
        (0..count).map(case).collect()
    }

    #[test]
    fn few_labels_and_all_labels_say_nothing_more() {
        let of = |count, labelled| PeopleEstimate::of(cases(count, labelled).into_iter(), 0.5);
        assert_eq!(of(90, 0), None);
        assert_eq!(of(90, 90), None);
        let few = of(90, 29).unwrap();
        assert_eq!((few.labels, few.others, few.pass_rate), (29, 61, None));
        let found = of(300, 60).unwrap();
        let rate = found.pass_rate.unwrap();
        assert!((rate.mean - 7.0 / 9.0).abs() < 0.02 && rate.bias < -0.1, "{rate:?}");
        assert!(rate.saved > 0.3 && rate.saved <= rate.most_saved, "{rate:?}");
        assert_eq!(found.mean, None, "labels that are verdicts have no scores");
    }

    #[test]
    fn errors_are_no_verdicts() {
        let mut all = cases(100, 50);
        for case in &mut all[40..60] {
            case.cell.state = CellState::Errored;
        }
        let found = PeopleEstimate::of(all.into_iter(), 0.5).unwrap();
        assert_eq!((found.labels, found.others), (40, 40));
    }
}
