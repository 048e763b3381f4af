//! What judgments used, by grader and judge model, and how every format says it.

use super::page::{Text, quoted, text};
use evalrs_base::price::Cost;
use evalrs_base::text::count;
use evalrs_metrics::results::Summary;
use evalrs_metrics::results::usage::ModelUsage;
use evalrs_model::outcome::{ActionTally, Usage};

/// What all judgments of a run used, in one sentence; in detail also grader by grader and model by model. Empty where nothing was
/// judged.
pub(crate) fn lines(summary: &Summary, details: bool) -> Vec<Text> {
    let graders = &summary.usage.0;
    let all = summary.all_usage;
    if all.judgments == 0 {
        return Vec::new();
    }
    let parts = graders.iter().flat_map(|(grader, usage)| {
        let models = usage.by_model.0.iter();
        models.map(move |(model, usage)| {
            text![quoted(grader), " by ", quoted(model), ": ", sentence(usage)]
        })
    });
    let parts: Vec<Text> = parts.collect();
    let mut lines = vec![sentence(&all).into()];
    if parts.len() > 1 && details {
        lines.extend(parts);
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
    // Commands do not tell.
    if usage.input_tokens + usage.output_tokens == 0 {
        return format!("{judgments}, tokens not known{cost}");
    }
    let input = count(usage.input_tokens, "token");
    format!("{judgments}: {input} in, {} out{cost}", usage.output_tokens)
}

/// What the conversations of a target came to: how many were held, and what they used.
pub fn target_lines(tally: &ActionTally) -> Vec<String> {
    let ActionTally { total, cached, asked, failed, pending, spent, saved, .. } = *tally;
    let mut counts = vec![format!("{asked} run"), format!("{cached} cached")];
    counts.extend((failed > 0).then(|| format!("{failed} failed")));
    counts.extend((pending > 0).then(|| format!("{pending} not run")));
    let mut line = format!("target: {}: {}", count(total, "conversation"), counts.join(", "));
    let spent_on = used("spent", spent).map(|used| match self::cached(spent) {
        Some(cached) => format!("{used} ({cached})"),
        None => used,
    });
    for used in spent_on.into_iter().chain(used("saved", saved)) {
        line.push_str("; ");
        line.push_str(&used);
    }
    vec![line]
}

/// What was used, after a word that says what of it; nothing where nothing is known.
pub(crate) fn used(name: &str, usage: Usage) -> Option<String> {
    let tokens = usage.input + usage.output;
    let cost = usage.cost.filter(|cost| *cost > Cost::ZERO).map(|cost| cost.to_string());
    let tokens = (tokens > 0).then(|| count(tokens, "token"));
    let parts: Vec<String> = cost.into_iter().chain(tokens).collect();
    (!parts.is_empty()).then(|| format!("{name} {}", parts.join(", ")))
}

/// Which of the tokens the provider's cache had, or got.
pub(crate) fn cached(usage: Usage) -> Option<String> {
    let parts = [
        (usage.cache_read, "read from the provider's cache"),
        (usage.cache_write, "written to the provider's cache"),
    ];
    let known = parts.iter().filter(|(tokens, _)| *tokens > 0);
    let parts: Vec<String> = known.map(|(tokens, how)| format!("{tokens} {how}")).collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::lines;
    use crate::page::Text;
    use evalrs_base::ordered_map::OrderedMap;
    use evalrs_base::price::Cost;
    use evalrs_metrics::results::usage::{GraderUsage, JudgmentUsage, ModelUsage};
    use evalrs_model::outcome::Usage as Used;
    use evalrs_test_runs as fixtures;

    /// What was paid for it is no part of a report.
    fn reply(input: u64, cost: Option<Cost>) -> JudgmentUsage {
        let paid = Cost::from_dollars(7.0);
        let used = Used { cost: paid, ..Used::of_tokens(input, 1) };
        JudgmentUsage { is_reply: true, used, cost }
    }

    #[test]
    fn usage_is_told_by_grader_and_model() {
        let quarter = Cost::from_dollars(0.25);
        let mut cheap = ModelUsage::default();
        cheap.count(reply(10, quarter));
        cheap.count(JudgmentUsage { is_reply: false, ..reply(5, quarter) });
        let mut dear = ModelUsage::default();
        dear.count(reply(100, None));
        let usage =
            GraderUsage::of([("cheap", cheap), ("dear", dear), ("cheap", cheap)].into_iter());
        assert_eq!((usage.judgments, usage.input_tokens, usage.output_tokens), (3, 130, 5));
        assert_eq!(usage.by_model.get("cheap").map(|usage| usage.judgments), Some(2));
        let mut run = fixtures::empty();
        run.summary.cost = usage.cost;
        run.summary.all_usage = ModelUsage {
            judgments: 3,
            input_tokens: 130,
            output_tokens: 5,
            cost: usage.cost,
            unpriced: 1,
        };
        run.summary.usage = OrderedMap(vec![("quality".to_owned(), usage)]);
        assert_eq!(
            lines(&run.summary, true).iter().map(Text::to_string).collect::<Vec<_>>(),
            [
                "3 judgments: 130 tokens in, 5 out, $1.00 and 1 of unknown cost",
                "quality by cheap: 2 judgments: 30 tokens in, 4 out, $1.00",
                "quality by dear: 1 judgment: 100 tokens in, 1 out",
            ]
        );
        assert!(lines(&fixtures::empty().summary, true).is_empty());
    }
}
