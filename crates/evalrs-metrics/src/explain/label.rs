//! Human labels of a case beside the verdict, in an explanation.

use serde::Serialize;

use evalrs_model::spec::Label;

/// Human labels of a case.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ExplainedLabel {
    /// The label that counts; null of a tie.
    pub label: Option<ExplainedOpinion>,
    /// Whether the verdict says the same; null without a label or a verdict.
    pub agrees: Option<bool>,
    /// Whether some say that it passes and others that it does not.
    pub disputed: bool,
    /// What each person says, where somebody says who they are, or several say something.
    pub people: Vec<ExplainedOpinion>,
}

/// What somebody says.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ExplainedOpinion {
    /// Their name; null where that is not known, and of the label that counts.
    pub who: Option<String>,
    /// Whether it passes.
    pub passes: bool,
    /// How good it is, 0.0..=1.0; null where they say no more than whether it passes.
    pub score: Option<f64>,
}

impl ExplainedOpinion {
    /// An opinion, where scores of at least `threshold` pass.
    pub fn new(who: Option<&str>, label: Label, threshold: f64) -> Self {
        let who = who.map(str::to_owned);
        Self { who, passes: label.passes(threshold), score: label.score() }
    }

    fn shown(&self) -> String {
        let who = self.who.as_ref().map_or_else(String::new, |who| format!("{who}: "));
        let word = if self.passes { "pass" } else { "fail" };
        let score = self.score.map_or_else(String::new, |score| format!(" ({score:.3})"));
        format!("{who}{word}{score}")
    }
}

impl ExplainedLabel {
    /// What people say, in one line.
    pub fn shown(&self) -> String {
        let label = self.label.as_ref();
        let mut parts =
            vec![label.map_or_else(|| "none, a tie".to_owned(), ExplainedOpinion::shown)];
        parts.extend(self.agrees.map(|agrees| {
            let does = if agrees { "agrees" } else { "does not agree" };
            format!("the verdict {does}")
        }));
        let people: Vec<String> = self.people.iter().map(ExplainedOpinion::shown).collect();
        if !people.is_empty() {
            let differ = if self.disputed { "reviewers disagree: " } else { "" };
            parts.push(format!("{differ}{}", people.join(", ")));
        }
        parts.join("; ")
    }
}
