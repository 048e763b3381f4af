//! A process and everything it started, to be ended together.
//!
//! Knows nothing of what runs in it. The only place that sends signals.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use tokio::process::Child;

use super::guard::Guard;

/// A process group, which is ended when this is dropped.
#[derive(Debug)]
pub(super) struct Group {
    /// The number of its leader; 0 when it is closed.
    leader: AtomicU32,
    guard: Arc<Guard>,
}

impl Group {
    /// The group of a child that was started as the leader of one, which ends with evalrs.
    pub(super) fn of(child: &Child, guard: Arc<Guard>) -> Self {
        let leader = child.id().unwrap_or(0);
        if leader != 0 {
            guard.watch(leader);
        }
        Self { leader: AtomicU32::new(leader), guard }
    }

    /// Ends every process of the group at once. No process of it can start another one meanwhile.
    pub(super) fn kill(&self) {
        end(self.leader.load(Ordering::Relaxed));
    }

    /// Asks every process of the group to end.
    pub(super) fn terminate(&self) {
        terminate(self.leader.load(Ordering::Relaxed));
    }

    /// Ends what the leader left behind, when that has been waited for. Its number may soon belong to somebody else, so
    /// nothing is sent to it any more.
    pub(super) fn close(&self) {
        let leader = self.leader.swap(0, Ordering::Relaxed);
        if leader != 0 {
            end(leader);
            self.guard.forget(leader);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.close();
    }
}

#[cfg(unix)]
fn end(leader: u32) {
    signal(leader, rustix::process::Signal::KILL);
}

#[cfg(unix)]
fn terminate(leader: u32) {
    signal(leader, rustix::process::Signal::TERM);
}

#[cfg(unix)]
fn signal(leader: u32, signal: rustix::process::Signal) {
    use rustix::process::{Pid, kill_process_group};
    let leader = i32::try_from(leader).ok().filter(|leader| *leader > 1).and_then(Pid::from_raw);
    if let Some(leader) = leader {
        // That there is nobody left is as good.
        let _ = kill_process_group(leader, signal);
    }
}

/// Where there are no groups there are no such signals either.
#[cfg(not(unix))]
fn terminate(leader: u32) {
    end(leader);
}

/// Where there are no groups, the runtime ends the child alone when its handle is dropped.
#[cfg(not(unix))]
fn end(_leader: u32) {}
