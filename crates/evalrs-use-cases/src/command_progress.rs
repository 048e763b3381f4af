//! What the suites of one command have used and come to, one after the other.

use evalrs_base::price::Cost;
use evalrs_engine::resolve::budget::SpendingLimits;
use evalrs_engine::resolve::settle::Settlement;
use evalrs_metrics::results::Summary;
use evalrs_metrics::rollup::EvaluatedSuite;
use evalrs_store::record::RunFacts;

/// What the suites that were evaluated so far have used and come to.
#[derive(Debug, Default)]
pub(super) struct CommandProgress {
    /// Of the limits of the command.
    pub used: SpentLimits,
    /// What they came to.
    pub evaluated: Vec<EvaluatedSuite>,
}

impl CommandProgress {
    /// Adds what the suite in the file at `path` came to.
    pub(super) fn add_suite(
        &mut self,
        path: &str,
        facts: &RunFacts,
        samples: String,
        summary: Summary,
    ) {
        self.evaluated.push(EvaluatedSuite {
            name: facts.suite.clone(),
            path: path.to_owned(),
            run: facts.id.clone(),
            samples,
            summary,
        });
    }
}

/// What the suites of one command have used of its limits.
#[derive(Clone, Copy, Debug, Default)]
pub struct SpentLimits {
    calls: u64,
    cost: Cost,
}

impl SpentLimits {
    /// Adds what an evaluation used.
    pub fn add(&mut self, settled: &Settlement) {
        self.calls += settled.calls;
        let of_target = settled.conversations.and_then(|tally| tally.spent.cost);
        self.cost += settled.reserved
            + settled.spent().cost.unwrap_or(Cost::ZERO)
            + of_target.unwrap_or(Cost::ZERO);
    }

    /// What is left of the limits.
    pub fn left(self, limits: SpendingLimits) -> SpendingLimits {
        let left = |most: Cost| Cost::from_nanos(most.nanos().saturating_sub(self.cost.nanos()));
        SpendingLimits {
            max_calls: limits.max_calls.map(|most| most.saturating_sub(self.calls)),
            max_cost: limits.max_cost.map(left),
        }
    }
}
