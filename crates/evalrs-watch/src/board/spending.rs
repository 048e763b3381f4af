//! What a session has spent, and what it may.

use evalrs_base::price::Cost;
use evalrs_base::text::count;
use evalrs_model::outcome::Usage;

/// What was spent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spending {
    /// Since the last save.
    pub save: Usage,
    /// Since the session began.
    pub session: Usage,
    /// Judgments sent since the session began.
    pub calls: u64,
    /// What the judgments found in the store had used when they were asked.
    pub saved: Usage,
    /// What the session may spend.
    pub budget: Option<Cost>,
    /// How many judgments it may send.
    pub max_calls: Option<u64>,
}

impl Spending {
    /// What the limits of the session leave where that is less than so many judgments take, which will probably cost so much, in
    /// words: `$0.0004` or `3 judgments`.
    pub fn left(&self, waiting: u64, expected: Option<Cost>) -> Option<String> {
        let spent = self.session.cost.unwrap_or(Cost::ZERO).nanos();
        let money = self.budget.map(|most| Cost::from_nanos(most.nanos().saturating_sub(spent)));
        let money = money.filter(|left| expected.is_some_and(|cost| cost > *left));
        let calls = self.max_calls.map(|most| most.saturating_sub(self.calls));
        let calls = calls.filter(|left| waiting > *left).map(|left| count(left, "judgment"));
        let left: Vec<String> =
            money.map(|cost| cost.to_string()).into_iter().chain(calls).collect();
        (!left.is_empty()).then(|| left.join(" and "))
    }
}
