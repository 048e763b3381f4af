//! What a suite says of the metrics that it declares itself: numbers over all results, beside those of each grader.

use serde::Serialize;
use strum::{EnumString, VariantNames};

use super::series::{Dimension, Series, SeriesSource};

/// A metric that a suite declares.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MetricSpec {
    /// Its key in the suite.
    pub name: String,
    /// Which number it is.
    pub kind: MetricKind,
    /// What it is of.
    pub of: Series,
    /// What that is compared with: one series, or the further raters of an agreement.
    pub against: Vec<Series>,
    /// How results are put into groups, the outermost first.
    pub by: Vec<Dimension>,
    /// Whether the number is the mean over these groups of the metric in each.
    pub within: bool,
    /// Group → the values of the innermost dimension that are of it; empty where each value is a group.
    pub groups: Vec<(String, Vec<String>)>,
    /// Whether scores count as graders give them, on their own scale, and not from 0 to 1.
    pub native: bool,
    /// What values of fields mean: as written → as read.
    pub map: Vec<(String, String)>,
}

/// Which number a metric is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum MetricKind {
    /// A number of single results, or its mean over groups.
    Of(Statistic),
    /// The mean over groups, each counting the same.
    Macro(Statistic),
    /// The mean by weights of the rows: a dotted path.
    Weighted(String),
    /// Of classes, `of` being predicted and `against` true: of the class, or the average over classes.
    Classes(ClassMeasure),
    /// How far two, or several, agree.
    Agreement(AgreementMeasure),
    /// How well a score predicts the passing cases.
    AreaUnderCurve(Option<String>),
    /// How far a score is from how often its items pass, in this many bins.
    CalibrationError {
        /// Bins of equal width, 1..=1000.
        bins: u32,
        /// What is positive; what passes if absent.
        class: Option<String>,
    },
    /// How often `of` is above `against`.
    WinRate,
    /// The same at equal length.
    LengthControlledWinRate(Lengths),
    /// The strength of each model, or of the players that rows name.
    BradleyTerry(Option<Players>),
}

/// A number over results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Statistic {
    /// The mean score.
    Mean,
    /// The share of passes.
    PassRate,
    /// The least score.
    Min,
    /// The greatest score.
    Max,
    /// A percentile, 0..=100.
    Percentile(u8),
    /// The chance that at least one of this many trials passes.
    PassAt(u32),
    /// The chance that all of this many trials pass.
    PassHat(u32),
}

/// A number over pairs of classes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ClassMeasure {
    /// Which.
    pub score: ClassScore,
    /// Over what; of accuracies it means nothing.
    pub average: ClassAverage,
}

/// Which number over pairs of classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ClassScore {
    /// The share of those taken for the class that are of it.
    Precision,
    /// The share of those of the class that were taken for it.
    Recall,
    /// The harmonic mean of both.
    F1,
    /// The share of equal classes.
    Accuracy,
    /// The mean recall.
    BalancedAccuracy,
}

/// Over which classes.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ClassAverage {
    /// One class; what passes where the suite names none and there are two.
    Class(Option<String>),
    /// All, each counting the same.
    Macro,
    /// All results: of one class each, that is the accuracy.
    Micro,
    /// All, each counting by its items.
    Weighted,
}

/// How two, or several, are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AgreementMeasure {
    /// Pearson's correlation.
    Pearson,
    /// Spearman's.
    Spearman,
    /// Kendall's tau-b.
    Kendall,
    /// Cohen's kappa.
    Kappa,
    /// The same, disagreements weighing by distance.
    LinearKappa,
    /// The same, by its square.
    QuadraticKappa,
    /// Krippendorff's alpha.
    Alpha(AlphaLevel),
    /// Fleiss' kappa.
    Fleiss,
}

/// What differences between ratings mean to Krippendorff's alpha.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, EnumString, VariantNames)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum AlphaLevel {
    /// Ratings are names.
    Nominal,
    /// Ratings have an order.
    Ordinal,
    /// Their differences have a size.
    Interval,
    /// They have a zero.
    Ratio,
}

/// Where the lengths of two answers stand in the row: dotted paths of texts or numbers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Lengths {
    /// Of the answer; what was submitted if absent.
    pub own: Option<String>,
    /// Of the baseline's.
    pub baseline: String,
    /// How hard the task is, if rows say so.
    pub difficulty: Option<String>,
}

/// Where rows name the two that are compared: dotted paths.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Players {
    /// Who wins where the score is above a half.
    pub one: String,
    /// Who wins where it is below.
    pub other: String,
}

impl MetricSpec {
    /// Everything that it is made of.
    pub fn series(&self) -> impl Iterator<Item = &Series> {
        std::iter::once(&self.of).chain(&self.against)
    }

    /// The graders that it rests on.
    pub fn graders(&self) -> impl Iterator<Item = &str> {
        self.series().filter_map(|series| match &series.source {
            SeriesSource::Grader(name, _) | SeriesSource::Labels(name) => Some(name.as_str()),
            SeriesSource::Field(_) => None,
        })
    }

    /// The dotted paths of rows that it reads.
    pub fn paths(&self) -> Vec<&str> {
        let of_series = self.series().filter_map(|series| match &series.source {
            SeriesSource::Field(path) => Some(path.as_str()),
            SeriesSource::Grader(..) | SeriesSource::Labels(_) => None,
        });
        let of_groups = self.by.iter().filter_map(|dimension| match dimension {
            Dimension::Field(path) => Some(path.as_str()),
            Dimension::Tags | Dimension::Model | Dimension::Sample => None,
        });
        of_series.chain(of_groups).chain(self.kind.paths()).collect()
    }

    /// Whether it has no number where rows lack a field, whatever the grades.
    pub fn asks_rows(&self) -> bool {
        self.class().is_some() || !self.kind.paths().is_empty()
    }

    /// The class that it is of, where the suite names one.
    pub fn class(&self) -> Option<&str> {
        match &self.kind {
            MetricKind::AreaUnderCurve(class)
            | MetricKind::CalibrationError { class, .. }
            | MetricKind::Classes(ClassMeasure { average: ClassAverage::Class(class), .. }) => {
                class.as_deref()
            }
            _ => None,
        }
    }
}

impl MetricKind {
    /// The dotted paths of rows without which there is no number: weights, lengths, players.
    pub fn paths(&self) -> Vec<&str> {
        match self {
            Self::Weighted(path) => vec![path],
            Self::LengthControlledWinRate(lengths) => {
                let further = [&lengths.own, &lengths.difficulty].into_iter().flatten();
                further.map(String::as_str).chain([lengths.baseline.as_str()]).collect()
            }
            Self::BradleyTerry(Some(players)) => vec![&players.one, &players.other],
            _ => Vec::new(),
        }
    }
}
