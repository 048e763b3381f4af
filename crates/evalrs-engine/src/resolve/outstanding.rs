//! Which graders still wait for something, so that what confirms the verdicts of one does not wait for all others.
//!
//! Where a budget or a limit is set, all first verdicts come before all that confirms: see `resolver`.

#[derive(Debug, Default)]
pub(crate) struct OutstandingCounts {
    waiting: Vec<u64>,
    /// Whether a grader has got all it waited for since the last call of `take_done`.
    is_one_done: bool,
}

impl OutstandingCounts {
    pub(crate) fn add(&mut self, grader: usize) {
        if self.waiting.len() <= grader {
            self.waiting.resize(grader + 1, 0);
        }
        self.waiting[grader] += 1;
    }

    /// The grader waits for one action less. What was in flight before a save is counted no more.
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

#[cfg(test)]
mod tests {
    use super::OutstandingCounts;

    #[test]
    fn a_grader_is_done_when_nothing_of_it_is_left() {
        let mut outstanding = OutstandingCounts::default();
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
