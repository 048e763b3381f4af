//! How well predicted classes match true ones: the confusion matrix, and what follows from it.
//!
//! Owns the counts, which are whole numbers; knows classes by name. Where a share has no items it is none, and counts as 0 in an
//! average over classes, as in scikit-learn with its default `zero_division`.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use evalrs_base::exact::{WeightedValue, mean, weighted_mean};

/// With more distinct classes, a table of them would be useless.
pub const MAX_CLASSES: usize = 1_000;

/// A true class and a predicted one, of one item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClassPair<'a> {
    /// What it is.
    pub truth: &'a str,
    /// What it was taken for.
    pub predicted: &'a str,
}

/// How often which class was taken for which.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfusionMatrix {
    /// The classes, in the order of rows and columns.
    pub classes: Vec<String>,
    /// A row for each true class, a column for each predicted one.
    pub counts: Vec<Vec<usize>>,
}

/// Precision, recall and F1 of one class.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClassScores {
    /// The class.
    pub class: String,
    /// Items of this class.
    pub support: usize,
    /// Items that were taken for it.
    pub predicted: usize,
    /// Share of those taken for it that are of it, 0..=1; none where nothing was.
    pub precision: Option<f64>,
    /// Share of those of it that were taken for it; none where nothing is.
    pub recall: Option<f64>,
    /// Harmonic mean of both, `2 tp / (2 tp + fp + fn)`; none where nothing is of it or was taken for it. van Rijsbergen 1979,
    /// "Information Retrieval".
    pub f1: Option<f64>,
}

/// Precision, recall and F1 over all classes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct AverageScores {
    /// 0..=1.
    pub precision: f64,
    /// 0..=1.
    pub recall: f64,
    /// 0..=1.
    pub f1: f64,
}

impl ConfusionMatrix {
    /// The counts of pairs in any order. Classes stand in the order in which `named` has them, then those that only occur:
    /// numbers by value, before names by their characters. None for more than a thousand classes.
    pub fn of(pairs: &[ClassPair<'_>], named: &[&str]) -> Option<Self> {
        let found = occurring(pairs, named)?;
        let mut classes: Vec<&str> = Vec::new();
        for class in named.iter().copied().chain(found) {
            if !classes.contains(&class) {
                classes.push(class);
            }
        }
        let mut places: Vec<(&str, usize)> =
            classes.iter().enumerate().map(|(at, class)| (*class, at)).collect();
        places.sort_unstable();
        let place = |class: &str| {
            places.binary_search_by(|(name, _)| (*name).cmp(class)).map(|at| places[at].1)
        };
        let mut counts = vec![vec![0; classes.len()]; classes.len()];
        for pair in pairs {
            if let (Ok(row), Ok(column)) = (place(pair.truth), place(pair.predicted)) {
                counts[row][column] += 1;
            }
        }
        Some(Self { classes: classes.into_iter().map(str::to_owned).collect(), counts })
    }

    /// How many items there are.
    pub fn n(&self) -> usize {
        self.counts.iter().flatten().sum()
    }

    /// Items whose class was found.
    pub fn correct(&self) -> usize {
        (0..self.classes.len()).map(|at| self.counts[at][at]).sum()
    }

    /// Their share, 0..=1; none of nothing. It is micro-averaged precision, recall and F1 as well.
    pub fn accuracy(&self) -> Option<f64> {
        share(self.correct(), self.n())
    }

    /// The mean recall of classes that have items, 0..=1; none of nothing. Brodersen et al. 2010, "The Balanced Accuracy and
    /// Its Posterior Distribution", for any number of classes.
    pub fn balanced_accuracy(&self) -> Option<f64> {
        let recalls: Vec<f64> = self.scores().iter().filter_map(|scores| scores.recall).collect();
        mean(&recalls)
    }

    /// Precision, recall and F1 of each class, in its order.
    pub fn scores(&self) -> Vec<ClassScores> {
        let class = |(at, class): (usize, &String)| {
            let found = self.counts[at][at];
            let support: usize = self.counts[at].iter().sum();
            let predicted: usize = self.counts.iter().map(|row| row[at]).sum();
            ClassScores {
                class: class.clone(),
                support,
                predicted,
                precision: share(found, predicted),
                recall: share(found, support),
                f1: share(2 * found, support + predicted),
            }
        };
        self.classes.iter().enumerate().map(class).collect()
    }

    /// The mean over classes, each counting the same; none of nothing.
    pub fn macro_average(&self) -> Option<AverageScores> {
        self.average(|_| 1.0)
    }

    /// The mean over classes, each counting by its items; none of nothing.
    pub fn weighted_average(&self) -> Option<AverageScores> {
        self.average(|scores| scores.support as f64)
    }

    fn average(&self, weight: impl Fn(&ClassScores) -> f64) -> Option<AverageScores> {
        if self.n() == 0 {
            return None;
        }
        let scores = self.scores();
        let of = |value: fn(&ClassScores) -> Option<f64>| {
            let weighted = scores.iter().map(|scores| WeightedValue {
                weight: weight(scores),
                value: value(scores).unwrap_or(0.0),
            });
            weighted_mean(&weighted.collect::<Vec<_>>())
        };
        Some(AverageScores {
            precision: of(|scores| scores.precision)?,
            recall: of(|scores| scores.recall)?,
            f1: of(|scores| scores.f1)?,
        })
    }
}

/// The classes that occur, in order; none for too many.
fn occurring<'a>(pairs: &[ClassPair<'a>], named: &[&'a str]) -> Option<Vec<&'a str>> {
    let mut found: BTreeSet<&str> = BTreeSet::new();
    for pair in pairs {
        found.insert(pair.truth);
        found.insert(pair.predicted);
        if found.len() > MAX_CLASSES {
            return None;
        }
    }
    let mut found: Vec<&str> = found.into_iter().collect();
    found.sort_by(|one, other| compare_classes(one, other));
    (named.len() <= MAX_CLASSES).then_some(found)
}

/// Numbers by value, before names by their characters.
pub fn compare_classes(one: &str, other: &str) -> Ordering {
    let number = |class: &str| class.parse::<f64>().ok().filter(|value| value.is_finite());
    match (number(one), number(other)) {
        (Some(left), Some(right)) => left.total_cmp(&right).then_with(|| one.cmp(other)),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => one.cmp(other),
    }
}

fn share(part: usize, whole: usize) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

#[cfg(test)]
mod tests {
    use super::{ClassPair, ConfusionMatrix, MAX_CLASSES};

    fn matrix(pairs: &[(&'static str, &'static str)], named: &[&str]) -> ConfusionMatrix {
        let pairs: Vec<ClassPair<'_>> =
            pairs.iter().map(|(truth, predicted)| ClassPair { truth, predicted }).collect();
        ConfusionMatrix::of(&pairs, named).unwrap()
    }

    #[test]
    fn classes_stand_in_a_stable_order() {
        for (named, expected) in [
            (&[][..], &["2", "10", "a", "b"][..]),
            (&["b", "c"], &["b", "c", "2", "10", "a"]),
            (&["b", "b"], &["b", "2", "10", "a"]),
        ] {
            let found = matrix(&[("b", "10"), ("a", "2"), ("10", "a")], named);
            assert_eq!(found.classes, expected);
            assert_eq!(found.n(), 3);
        }
    }

    #[test]
    fn a_class_without_items_has_no_recall() {
        let found = matrix(&[("a", "a"), ("a", "b"), ("a", "a")], &["a", "b", "c"]);
        let scores = found.scores();
        assert_eq!(
            (scores[0].precision, scores[0].recall, scores[0].f1),
            (Some(1.0), Some(2.0 / 3.0), Some(0.8))
        );
        assert_eq!(
            (scores[1].precision, scores[1].recall, scores[1].f1),
            (Some(0.0), None, Some(0.0))
        );
        assert_eq!((scores[2].precision, scores[2].recall, scores[2].f1), (None, None, None));
        assert_eq!(
            (found.accuracy(), found.balanced_accuracy()),
            (Some(2.0 / 3.0), Some(2.0 / 3.0))
        );
        assert_eq!(found.weighted_average().map(|average| average.precision), Some(1.0));
    }

    #[test]
    fn nothing_has_no_scores() {
        for named in [&[][..], &["a", "b"]] {
            let found = matrix(&[], named);
            assert_eq!((found.n(), found.accuracy(), found.balanced_accuracy()), (0, None, None));
            assert_eq!((found.macro_average(), found.weighted_average()), (None, None));
        }
    }

    #[test]
    fn too_many_classes_are_none() {
        let names: Vec<String> = (0..=MAX_CLASSES).map(|at| at.to_string()).collect();
        let pairs: Vec<ClassPair<'_>> =
            names.iter().map(|name| ClassPair { truth: name, predicted: name }).collect();
        assert_eq!(ConfusionMatrix::of(&pairs, &[]), None);
    }
}
