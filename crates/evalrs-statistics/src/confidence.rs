//! Where a true value lies: an interval, its level, how it was made, and between which values it can lie at all.

use serde::{Deserialize, Deserializer, Serialize};

/// Where the true value lies, as far as samples tell.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConfidenceInterval {
    /// The lower bound, on the scale of the estimate.
    pub low: f64,
    /// The upper bound.
    pub high: f64,
    /// How often such intervals hold the true value, 0.0..=1.0.
    pub level: f64,
    /// How it was made.
    pub method: IntervalMethod,
}

impl ConfidenceInterval {
    /// Without the last digits, in which the logarithms of one machine may differ from those of another.
    pub(super) fn rounded(self) -> Self {
        const DIGITS: f64 = 1e9;
        let rounded = |bound: f64| match (bound * DIGITS).round() / DIGITS {
            rounded if rounded.is_finite() => rounded,
            // So large a number has no such digits.
            _ => bound,
        };
        Self { low: rounded(self.low), high: rounded(self.high), ..self }
    }

    /// It, if both of its bounds are numbers: one without a bound says nothing, and no record can hold it.
    pub(crate) fn finite(self) -> Option<Self> {
        (self.low.is_finite() && self.high.is_finite()).then_some(self)
    }
}

/// Reads an interval of a record. Earlier versions wrote null for a bound that is not finite: that is no interval.
pub fn read_interval<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<ConfidenceInterval>, D::Error> {
    #[derive(Deserialize)]
    struct WrittenInterval {
        low: Option<f64>,
        high: Option<f64>,
        level: f64,
        method: IntervalMethod,
    }
    let written = Option::<WrittenInterval>::deserialize(deserializer)?;
    Ok(written.and_then(|WrittenInterval { low, high, level, method }| {
        Some(ConfidenceInterval { low: low?, high: high?, level, method })
    }))
}

/// How an interval was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IntervalMethod {
    /// Score interval of a rate. Wilson 1927, "Probable Inference, the Law of Succession, and Statistical Inference".
    Wilson,
    /// Exact interval of a rate. Clopper and Pearson 1934, "The Use of Confidence or Fiducial Limits Illustrated in the Case
    /// of the Binomial".
    ClopperPearson,
    /// [`Self::Wilson`] with the effective number of items.
    WilsonClustered,
    /// [`Self::ClopperPearson`] with the effective number of items. Korn and Graubard 1998, "Confidence Intervals for
    /// Proportions with Small Expected Number of Positive Counts Estimated from Survey Data".
    ClopperPearsonClustered,
    /// Mean and standard error under Student's t distribution. Student 1908, "The Probable Error of a Mean".
    StudentT,
    /// [`Self::StudentT`] with a standard error clustered by sample, Miller 2024, "Adding Error Bars to Evals", times
    /// `sqrt(G / (G - 1))` for G samples, and G - 1 degrees of freedom.
    StudentTClustered,
    /// Bias-corrected and accelerated bootstrap. Efron 1987, "Better Bootstrap Confidence Intervals".
    BcaBootstrap,
    /// [`Self::BcaBootstrap`] that resamples samples with all their items.
    BcaBootstrapClustered,
    /// Percentile bootstrap, drawing samples with all their items. Efron and Tibshirani 1993, "An Introduction to the
    /// Bootstrap".
    PercentileBootstrap,
    /// The difference of two runs over the same resamples of both, with its standard error over them under Student's t
    /// distribution. Chamandy et al. 2012, "Estimating Uncertainty for Massive Data Streams".
    PairedBootstrap,
    /// The mean of labels, made surer by a judge that scored all: [`prediction_powered_mean`].
    ///
    /// [`prediction_powered_mean`]: super::prediction_powered::prediction_powered_mean
    PredictionPowered,
    /// A mean of numbers of several suites, from the interval of each: [`combination_interval`].
    ///
    /// [`combination_interval`]: super::linear_combination::combination_interval
    Mover,
    /// A maximum likelihood estimate and its standard error from the observed information (Wald).
    Wald,
    /// The posterior of a rate or of a difference of rates under uniform priors. Bowyer et al. 2025, "Don't use the CLT in
    /// LLM evals with fewer than a few hundred datapoints".
    Bayesian,
}

impl IntervalMethod {
    /// Its name for people.
    pub fn label(self) -> &'static str {
        match self {
            Self::Wilson => "Wilson",
            Self::ClopperPearson => "Clopper-Pearson",
            Self::WilsonClustered => "clustered Wilson",
            Self::ClopperPearsonClustered => "clustered Clopper-Pearson",
            Self::StudentT => "Student t",
            Self::StudentTClustered => "clustered t",
            Self::BcaBootstrap => "BCa bootstrap",
            Self::BcaBootstrapClustered => "clustered BCa bootstrap",
            Self::PercentileBootstrap => "percentile bootstrap",
            Self::PairedBootstrap => "paired bootstrap",
            Self::PredictionPowered => "PPI++",
            Self::Mover => "MOVER",
            Self::Wald => "Wald",
            Self::Bayesian => "Bayesian",
        }
    }
}

/// Between which values an estimate can lie.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ValueRange {
    /// The least.
    pub least: f64,
    /// The greatest.
    pub greatest: f64,
}

impl ValueRange {
    /// Rates and scores.
    pub const UNIT: Self = Self { least: 0.0, greatest: 1.0 };
    /// Numbers that may be anything.
    pub const UNBOUNDED: Self = Self { least: f64::NEG_INFINITY, greatest: f64::INFINITY };
    /// Differences of rates and scores.
    pub const DIFFERENCE: Self = Self { least: -1.0, greatest: 1.0 };

    pub fn interval(
        self,
        low: f64,
        high: f64,
        level: f64,
        method: IntervalMethod,
    ) -> ConfidenceInterval {
        let clamp = |bound: f64| bound.max(self.least).min(self.greatest);
        ConfidenceInterval { low: clamp(low), high: clamp(high), level, method }
    }
}
