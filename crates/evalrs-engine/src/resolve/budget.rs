//! What a run may spend, and how far it has.
//!
//! Money is reserved when an action is sent and settled when it lands, so that a limit is kept while many actions are
//! under way. Pure counting: it knows no action.

use evalrs_base::price::{Cost, Price};
use evalrs_model::outcome::Usage;

/// The tokens of a reply, before one has come.
const USUAL_REPLY: u64 = 200;
/// Bytes of a prompt for each of its tokens, on the dear side.
const BYTES_A_TOKEN: u64 = 3;

/// The limits of a run; none is unlimited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SpendingLimits {
    /// The most actions executed.
    pub max_calls: Option<u64>,
    /// The most that they may cost.
    pub max_cost: Option<Cost>,
}

#[derive(Debug, Default)]
pub(crate) struct Budget {
    calls: u64,
    landed: u64,
    received: u64,
    conversations: u64,
    spent_on_conversations: Cost,
    spent: Cost,
    reserved: Cost,
}

impl Budget {
    pub(crate) fn allows(&self, expected: Cost, limits: SpendingLimits) -> bool {
        let calls_left = limits.max_calls.is_none_or(|most| self.calls < most);
        let cost_left =
            limits.max_cost.is_none_or(|most| self.spent + self.reserved + expected <= most);
        calls_left && cost_left
    }

    pub(crate) fn sent(&mut self, expected: Cost) {
        self.calls += 1;
        self.reserved += expected;
    }

    /// An action was not sent after all.
    pub(crate) fn withdrawn(&mut self, expected: Cost) {
        self.calls = self.calls.saturating_sub(1);
        self.settle(expected, Cost::ZERO);
    }

    /// Why the limits allow nothing more, if they do not.
    pub(crate) fn refusal(&self, limits: SpendingLimits) -> &'static str {
        if limits.max_calls.is_some_and(|most| self.calls >= most) {
            "no more calls are allowed"
        } else {
            "the budget does not allow another call"
        }
    }

    pub(crate) fn conversation_landed(&mut self, expected: Cost, usage: Usage) {
        let cost = usage.cost.unwrap_or(expected);
        self.conversations += 1;
        self.spent_on_conversations += cost;
        self.settle(expected, cost);
    }

    /// What a conversation will probably cost: the mean of those that landed; nothing before one has.
    pub(crate) fn expected_conversation(&self) -> Cost {
        let mean = self.spent_on_conversations.nanos().checked_div(self.conversations);
        Cost::from_nanos(mean.unwrap_or(0))
    }

    /// What was reserved for actions that have not landed.
    pub(crate) fn reserved(&self) -> Cost {
        self.reserved
    }

    pub(crate) fn calls(&self) -> u64 {
        self.calls
    }

    /// An action landed that was expected to cost `expected`. Where it is not known what it used, it cost that.
    pub(crate) fn landed(&mut self, expected: Cost, usage: Usage) {
        self.landed += u64::from(usage.output > 0);
        self.received += usage.output;
        self.settle(expected, usage.cost.unwrap_or(expected));
    }

    fn settle(&mut self, expected: Cost, cost: Cost) {
        self.reserved = Cost::from_nanos(self.reserved.nanos().saturating_sub(expected.nanos()));
        self.spent += cost;
    }

    /// What an action of `bytes` will probably cost: its length says what is sent, those that landed say what comes
    /// back.
    pub(crate) fn expected(&self, bytes: usize, price: Price) -> Cost {
        let received = match self.received.checked_div(self.landed) {
            None | Some(0) => USUAL_REPLY,
            Some(mean) => mean,
        };
        price.cost(bytes as u64 / BYTES_A_TOKEN, received)
    }
}

#[cfg(test)]
mod tests {
    use super::{Budget, SpendingLimits};
    use evalrs_base::price::{Cost, Price};
    use evalrs_model::outcome::Usage;

    fn cents(cents: u64) -> Cost {
        Cost::from_nanos(cents * 10_000_000)
    }

    fn used(paid: u64) -> Usage {
        Usage { cost: Some(cents(paid)), ..Usage::of_tokens(1_000, 100) }
    }

    #[test]
    fn what_landed_says_what_is_expected() {
        let mut budget = Budget::default();
        let price = Price::new(1_000.0, 10_000.0);
        assert_eq!(budget.expected(3_000, price), cents(100 + 200));
        budget.landed(Cost::ZERO, used(1));
        assert_eq!(budget.expected(3_000, price), cents(100 + 100));
        let unknown = Usage { cost: None, ..used(0) };
        let limits = SpendingLimits { max_calls: None, max_cost: Some(cents(5)) };
        let mut budget = Budget::default();
        budget.sent(cents(3));
        budget.landed(cents(3), unknown);
        assert!(!budget.allows(cents(3), limits), "what is not known has cost what was expected");
    }

    #[test]
    fn conversations_say_what_conversations_cost() {
        let mut budget = Budget::default();
        assert_eq!(budget.expected_conversation(), Cost::ZERO);
        budget.conversation_landed(Cost::ZERO, used(2));
        budget.conversation_landed(cents(2), used(4));
        assert_eq!(budget.expected_conversation(), cents(3));
        let price = Price::new(1_000.0, 10_000.0);
        let of_judge = budget.expected(3_000, price);
        assert_eq!(of_judge, cents(100 + 200), "what agents say is no measure of judges");
        let limits = SpendingLimits { max_calls: None, max_cost: Some(cents(8)) };
        assert!(!budget.allows(cents(3), limits), "what they cost counts");
    }

    #[test]
    fn what_is_under_way_counts_until_it_lands() {
        let limits = SpendingLimits { max_calls: None, max_cost: Some(cents(10)) };
        let mut budget = Budget::default();
        for _ in 0..3 {
            assert!(budget.allows(cents(3), limits));
            budget.sent(cents(3));
        }
        assert!(!budget.allows(cents(3), limits));
        assert!(budget.allows(cents(1), limits), "what still fits is let through");
        budget.landed(cents(3), used(1));
        assert!(budget.allows(cents(3), limits), "it was cheaper than expected");
        budget.sent(cents(3));
        budget.landed(cents(3), used(9));
        assert!(!budget.allows(Cost::ZERO, limits), "it was dearer than expected");
    }

    #[test]
    fn calls_are_counted_when_they_are_sent() {
        let most = |calls| SpendingLimits { max_calls: Some(calls), max_cost: None };
        let mut budget = Budget::default();
        assert!(!budget.allows(Cost::ZERO, most(0)));
        assert!(budget.allows(cents(1_000), most(1)));
        budget.sent(cents(1_000));
        assert!(!budget.allows(Cost::ZERO, most(1)));
        assert!(budget.allows(cents(1_000), SpendingLimits::default()));
    }
}
