//! What the judges of a result used: tokens and money, as far as its grades say it.

use serde::Deserialize;

/// What judges used.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct JudgeSpend {
    /// Tokens sent and received; none where no grade has them.
    pub tokens: Option<u32>,
    /// US dollars at the prices of the run; none where no grade has them.
    pub cost: Option<f64>,
}

/// The metadata of a grade, as far as it has to do with this.
#[derive(Deserialize)]
struct GradeMetadata {
    #[serde(default)]
    usage: Option<GradeUsage>,
    #[serde(default)]
    cost: Option<f64>,
}

#[derive(Deserialize)]
struct GradeUsage {
    #[serde(default)]
    input_tokens: u64,
    #[serde(default)]
    output_tokens: u64,
}

impl JudgeSpend {
    /// Reads the metadata of a grade. What a program wrote there in another form says nothing.
    pub(crate) fn read(metadata: &str) -> Option<Self> {
        let read: GradeMetadata = serde_json::from_str(metadata).ok()?;
        let usage = read.usage?;
        let tokens = usage.input_tokens.saturating_add(usage.output_tokens);
        Some(Self { tokens: Some(u32::try_from(tokens).unwrap_or(u32::MAX)), cost: read.cost })
    }

    /// Adds what another judgment used. The price of all is known if that of each is.
    pub(crate) fn add(&mut self, other: Self) {
        let Some(tokens) = self.tokens else {
            *self = other;
            return;
        };
        self.tokens = Some(tokens.saturating_add(other.tokens.unwrap_or(0)));
        self.cost = self.cost.zip(other.cost).map(|(one, other)| one + other);
    }
}

#[cfg(test)]
mod tests {
    use super::JudgeSpend;

    #[test]
    fn metadata_without_usage_or_in_another_form_says_nothing() {
        for metadata in ["{}", r#"{"cost": 1}"#, r#"{"usage": "much"}"#, "[1]"] {
            assert_eq!(JudgeSpend::read(metadata), None, "{metadata}");
        }
        let read =
            JudgeSpend::read(r#"{"usage": {"input_tokens": 20, "output_tokens": 4}, "cost": 0.5}"#);
        let mut sum = read.unwrap();
        assert_eq!(sum, JudgeSpend { tokens: Some(24), cost: Some(0.5) });
        sum.add(sum);
        assert_eq!(sum, JudgeSpend { tokens: Some(48), cost: Some(1.0) });
        // Where one has no price, nobody knows that of both.
        sum.add(JudgeSpend { tokens: Some(u32::MAX), cost: None });
        assert_eq!(sum, JudgeSpend { tokens: Some(u32::MAX), cost: None });
    }
}
