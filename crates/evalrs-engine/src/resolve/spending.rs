//! What actions count against the budget, by their kind, and what is said of those that were given up.

use super::budget::Budget;
use super::settings::Settings;
use super::waiting::Waiting;
use evalrs_base::price::Cost;
use evalrs_base::text::count;
use evalrs_eval::evaluate::Purpose;
use evalrs_exec::{JudgeLaunch, Launch};
use evalrs_model::outcome::{FailureKind, Usage};

/// What an action will probably cost; nothing where money has no limit, or nobody knows.
pub(crate) fn expected_cost(launch: &Launch, budget: &Budget, settings: &Settings) -> Cost {
    if settings.limits.max_cost.is_none() {
        return Cost::ZERO;
    }
    match launch {
        Launch::Program(_) => Cost::ZERO,
        Launch::Target(_) => budget.expected_conversation(),
        Launch::Judge(JudgeLaunch { action, .. }) => {
            let bytes = action.system.len() + action.user.len();
            let price = settings.prices.of(&action.model);
            price.map_or(Cost::ZERO, |price| budget.expected(bytes, price))
        }
    }
}

/// `waiting` landed, maybe with a failure: what it cost takes the place of what was expected.
pub(crate) fn settle_cost(
    budget: &mut Budget,
    waiting: &Waiting,
    usage: Usage,
    failed: Option<FailureKind>,
) {
    let is_free = failed.is_some_and(|kind| !kind.policy().billed);
    let usage = Usage { cost: usage.cost.or(is_free.then_some(Cost::ZERO)), ..usage };
    match waiting.purpose {
        Purpose::Answer => budget.conversation_landed(waiting.expected, usage),
        Purpose::Submission | Purpose::Grade => budget.landed(waiting.expected, usage),
    }
}

/// What is said where the rest of a queue is given up.
pub(crate) fn told_closed(rest: &[Waiting], reason: &str) -> String {
    if rest.iter().any(|waiting| waiting.purpose == Purpose::Answer) {
        let count = count(rest.len(), "conversation");
        format!("stopped the target: it {reason}; {count} did not begin")
    } else {
        format!("stopped asking: {reason}; {} judgments were not asked", rest.len())
    }
}
