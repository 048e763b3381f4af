//! What judgments used, by grader and judge model, and how every format says it.

use serde::Serialize;

use super::text::count;
use super::{Ordered, Summary};
use crate::base::price::Cost;
use crate::pipeline::outcome::{Outcome, Usage as Used};

/// What a grader's judgments used when they were made.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Usage {
    /// Judgments, each once however many grades rest on it.
    pub judgments: u64,
    /// Tokens sent.
    pub input_tokens: u64,
    /// Tokens received.
    pub output_tokens: u64,
    /// What they cost, in US dollars; null where no price was known.
    pub cost: Option<Cost>,
    /// The same for each model that was asked, in the order of the suite.
    pub by_model: Ordered<ModelUsage>,
}

/// What the judgments of one model used when they were made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ModelUsage {
    /// Judgments, each once.
    pub judgments: u64,
    /// Tokens sent.
    pub input_tokens: u64,
    /// Tokens received.
    pub output_tokens: u64,
    /// What they cost, in US dollars; null where no price was known.
    pub cost: Option<Cost>,
    /// Judgments whose cost is not known: the sum is of the others.
    #[serde(skip_serializing_if = "is_zero")]
    pub unpriced: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl ModelUsage {
    /// Adds what came of one action. A failure was paid for too, but is no judgment.
    pub fn add(&mut self, outcome: &Outcome) {
        let is_reply = matches!(outcome, Outcome::Reply(_));
        self.judgments += u64::from(is_reply);
        self.unpriced += u64::from(is_reply && outcome.usage().cost.is_none());
        let used = self.used() + outcome.usage();
        (self.input_tokens, self.output_tokens, self.cost) = (used.input, used.output, used.cost);
    }

    fn used(&self) -> Used {
        Used { input: self.input_tokens, output: self.output_tokens, cost: self.cost }
    }
}

impl Usage {
    /// The sum over the judges of a grader, those of one model together.
    pub fn of<'a>(judges: impl Iterator<Item = (&'a str, ModelUsage)>) -> Self {
        let mut by_model: Vec<(String, ModelUsage)> = Vec::new();
        let (mut judgments, mut all) = (0, Used::default());
        for (model, usage) in judges {
            judgments += usage.judgments;
            all = all + usage.used();
            match by_model.iter_mut().find(|(known, _)| known == model) {
                Some((_, known)) => {
                    let used = known.used() + usage.used();
                    *known = ModelUsage {
                        judgments: known.judgments + usage.judgments,
                        input_tokens: used.input,
                        output_tokens: used.output,
                        cost: used.cost,
                        unpriced: known.unpriced + usage.unpriced,
                    };
                }
                None => by_model.push((model.to_owned(), usage)),
            }
        }
        let Used { input, output, cost } = all;
        let by_model = Ordered(by_model);
        Self { judgments, input_tokens: input, output_tokens: output, cost, by_model }
    }
}

/// What all judgments of a run used, in one sentence, then grader by grader and model by model where there are
/// several. Empty where nothing was judged.
pub(crate) fn lines(summary: &Summary) -> Vec<String> {
    let (graders, all) = (&summary.usage.0, summary.all_usage);
    if all.judgments == 0 {
        return Vec::new();
    }
    let parts = || {
        graders.iter().flat_map(|(grader, usage)| {
            usage.by_model.0.iter().map(move |(model, usage)| (grader, model, usage))
        })
    };
    let mut lines = vec![sentence(&all)];
    if parts().count() > 1 {
        lines.extend(
            parts()
                .map(|(grader, model, usage)| format!("{grader} by {model}: {}", sentence(usage))),
        );
    }
    lines
}

fn sentence(usage: &ModelUsage) -> String {
    let judgments = count(usage.judgments, "judgment");
    let cost = match (usage.cost, usage.unpriced) {
        (None, _) => String::new(),
        (Some(cost), 0) => format!(", {cost}"),
        (Some(cost), unpriced) => format!(", {cost} and {unpriced} of unknown cost"),
    };
    let input = count(usage.input_tokens, "token");
    format!("{judgments}: {input} in, {} out{cost}", usage.output_tokens)
}

#[cfg(test)]
mod tests {
    use super::{ModelUsage, Usage, lines};
    use crate::base::price::Cost;
    use crate::pipeline::outcome::{Failure, FailureKind, Outcome, Reply, Usage as Used};
    use crate::pipeline::report::{Ordered, made_up};

    fn used(input: u64, dollars: Option<f64>) -> Used {
        Used { input, output: 1, cost: dollars.and_then(Cost::from_dollars) }
    }

    fn reply(input: u64, dollars: Option<f64>) -> Outcome {
        let usage = Some(used(input, dollars));
        Outcome::Reply(Reply { text: String::new(), model: None, usage })
    }

    #[test]
    fn usage_is_told_by_grader_and_model() {
        let mut cheap = ModelUsage::default();
        cheap.add(&reply(10, Some(0.25)));
        cheap.add(&Outcome::Failure(Failure {
            usage: Some(used(5, Some(0.25))),
            ..Failure::new(FailureKind::Refused, "")
        }));
        let mut dear = ModelUsage::default();
        dear.add(&reply(100, None));
        let usage = Usage::of([("cheap", cheap), ("dear", dear), ("cheap", cheap)].into_iter());
        assert_eq!((usage.judgments, usage.input_tokens, usage.output_tokens), (3, 130, 5));
        assert_eq!(usage.by_model.get("cheap").map(|usage| usage.judgments), Some(2));
        let mut run = made_up::empty();
        run.summary.cost = usage.cost;
        run.summary.all_usage = ModelUsage {
            judgments: 3,
            input_tokens: 130,
            output_tokens: 5,
            cost: usage.cost,
            unpriced: 1,
        };
        run.summary.usage = Ordered(vec![("quality".to_owned(), usage)]);
        assert_eq!(
            lines(&run.summary),
            [
                "3 judgments: 130 tokens in, 5 out, $1.00 and 1 of unknown cost",
                "quality by cheap: 2 judgments: 30 tokens in, 4 out, $1.00",
                "quality by dear: 1 judgment: 100 tokens in, 1 out",
            ]
        );
        assert!(lines(&made_up::empty().summary).is_empty());
    }
}
