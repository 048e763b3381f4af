//! Which graders still wait for something, so that what confirms the verdicts of one does not wait for all others.
//!
//! Where a budget or a limit is set, all first verdicts come before all that confirms: see `settle`.

use super::budget::SpendingLimits;
use super::queues::Queues;
use super::settings::AskPolicy;
use super::settle::Settling;
use super::waiting::Waiting;

/// How much each grader waits for.
#[derive(Debug, Default)]
pub(crate) struct Outstanding {
    /// By the ordinal of the grader.
    waiting: Vec<u64>,
    /// Whether a grader has got all it waited for since somebody asked.
    is_one_done: bool,
}

impl Outstanding {
    /// The grader waits for one more action.
    pub(crate) fn add(&mut self, grader: usize) {
        if self.waiting.len() <= grader {
            self.waiting.resize(grader + 1, 0);
        }
        self.waiting[grader] += 1;
    }

    /// The grader waits for one action less. What was under way before a save may be told too.
    pub(crate) fn remove(&mut self, grader: usize) {
        let Some(waiting) = self.waiting.get_mut(grader).filter(|waiting| **waiting > 0) else {
            return;
        };
        *waiting -= 1;
        self.is_one_done |= *waiting == 0;
    }

    /// Whether a grader has got all it waited for since the last call.
    pub(crate) fn take_done(&mut self) -> bool {
        std::mem::take(&mut self.is_one_done)
    }
}

impl Settling<'_> {
    /// Whether what confirms may be asked before all first verdicts are there, and a grader has just got all of its own.
    pub(crate) fn may_confirm_one(&mut self) -> bool {
        // Without a limit as many are allowed as can be counted, and counted down.
        let is_limited =
            self.settings.limits != SpendingLimits::default() || self.allowance < u64::MAX / 2;
        !is_limited
            && self.settings.ask == AskPolicy::Ask
            && self.may_ask()
            && self.outstanding.take_done()
    }

    /// Queues what confirms the verdicts of graders that have all of their first ones, behind those of all others.
    pub(crate) fn confirm_early(&mut self, queues: &mut Queues<Waiting>) {
        if self.may_confirm_one() && self.wants_more() {
            self.look_up(0);
            // Where it cannot be written, the endpoints are closed from now on.
            self.may_keep();
            self.part(queues, &|_, _| 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Outstanding;

    #[test]
    fn a_grader_is_done_when_nothing_of_it_is_left() {
        let mut outstanding = Outstanding::default();
        outstanding.remove(7);
        for grader in [0, 2, 2] {
            outstanding.add(grader);
        }
        outstanding.remove(2);
        assert!(!outstanding.take_done());
        outstanding.remove(2);
        assert!(outstanding.take_done() && !outstanding.take_done());
        outstanding.remove(2);
        assert!(!outstanding.take_done(), "it was done before");
        outstanding.remove(0);
        assert!(outstanding.take_done());
    }
}
