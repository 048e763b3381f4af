//! How many actions may still be begun before somebody allows more, as `watch` does after a save.

use evalrs_exec::Launch;

/// What stands in the way of more actions, if it is neither the disk nor an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Obstacle {
    /// The budget is used up.
    Budget,
    /// As many were launched as are allowed for now.
    Held,
}

/// How many of each kind may be begun. Calls of programs cost nothing, and are always allowed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Allowance {
    /// Actions of judges.
    pub judges: u64,
    /// Conversations of the target.
    pub conversations: u64,
}

impl Allowance {
    /// As many as there are.
    pub(crate) const ALL: Self = Self { judges: u64::MAX, conversations: u64::MAX };

    /// Whether judges are held back. Without a limit as many are allowed as can be counted, and counted down.
    pub(crate) fn is_limited(self) -> bool {
        self.judges < u64::MAX / 2
    }

    /// Why nothing of judges may start, if nothing may.
    pub(crate) fn blocked(self) -> Option<Obstacle> {
        (self.judges == 0).then_some(Obstacle::Held)
    }

    /// One was begun.
    pub(crate) fn take(&mut self, launch: &Launch) {
        let left = match launch {
            Launch::Target(_) => &mut self.conversations,
            Launch::Judge(_) | Launch::Program(_) => &mut self.judges,
        };
        *left = left.saturating_sub(1);
    }

    /// So many more of either kind are allowed.
    pub(crate) fn allow_more(&mut self, more: u64) {
        self.judges = self.judges.saturating_add(more);
        self.conversations = self.conversations.saturating_add(more);
    }

    /// One more action of judges is allowed: somebody asked for that very one.
    pub(crate) fn allow_one(&mut self) {
        self.judges = self.judges.saturating_add(1);
    }
}
