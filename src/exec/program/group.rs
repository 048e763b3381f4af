//! A process and everything it started, to be ended together.
//!
//! Knows nothing of what runs in it. The only place that sends signals.

use std::sync::atomic::{AtomicU32, Ordering};

use tokio::process::Child;

/// A process group, which is ended when this is dropped.
#[derive(Debug)]
pub(super) struct Group(AtomicU32);

impl Group {
    /// The group of a child that was started as the leader of one.
    pub(super) fn of(child: &Child) -> Self {
        Self(AtomicU32::new(child.id().unwrap_or(0)))
    }

    /// Ends every process of the group at once. No process of it can start another one meanwhile.
    pub(super) fn kill(&self) {
        end(self.0.load(Ordering::Relaxed));
    }

    /// Ends what the leader left behind, when that has been waited for. Its number may soon belong to somebody else, so
    /// nothing is sent to it any more.
    pub(super) fn close(&self) {
        end(self.0.swap(0, Ordering::Relaxed));
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.close();
    }
}

#[cfg(unix)]
fn end(leader: u32) {
    use rustix::process::{Pid, Signal, kill_process_group};
    let leader = i32::try_from(leader).ok().filter(|leader| *leader > 1).and_then(Pid::from_raw);
    if let Some(leader) = leader {
        // That there is nobody left is as good.
        let _ = kill_process_group(leader, Signal::KILL);
    }
}

/// Where there are no groups, the runtime ends the child alone when its handle is dropped.
#[cfg(not(unix))]
fn end(_leader: u32) {}
