//! A process and everything it started, to be ended together: the supervisor of a program, or the group of one without.
//!
//! Knows nothing of what runs in it. The only place that sends signals.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use tokio::process::Child;

use super::guard::Guard;
use super::supervisor;

/// A process group, which is ended when this is dropped.
#[derive(Debug)]
pub(super) struct Group {
    /// The number of its leader; 0 when it is closed, or supervised.
    leader: AtomicU32,
    supervisor: Option<Supervisor>,
    guard: Arc<Guard>,
}

impl Group {
    /// The group of a child that was started as the leader of one, which ends with evalrs.
    pub(super) fn of(child: &Child, guard: Arc<Guard>) -> Self {
        let leader = child.id().unwrap_or(0);
        if supervisor::words().is_some() {
            // It sees by itself that evalrs is gone.
            let supervisor = Some(Supervisor::of(leader));
            return Self { leader: AtomicU32::new(0), supervisor, guard };
        }
        if leader != 0 {
            guard.watch(leader);
        }
        Self { leader: AtomicU32::new(leader), supervisor: None, guard }
    }

    /// Ends every process of the group at once. No process of it can start another one meanwhile.
    pub(super) fn kill(&self) {
        if let Some(supervisor) = &self.supervisor {
            return supervisor.end();
        }
        end(self.leader.load(Ordering::Relaxed));
    }

    /// Requests every process of the group to end.
    pub(super) fn terminate(&self) {
        if let Some(supervisor) = &self.supervisor {
            return supervisor.terminate();
        }
        terminate(self.leader.load(Ordering::Relaxed));
    }

    /// Ends what the leader left behind, when that has been waited for. Its number may soon belong to somebody else, so
    /// nothing is sent to it any more.
    pub(super) fn close(&self) {
        if let Some(supervisor) = &self.supervisor {
            return supervisor.end();
        }
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

/// The supervisor of a program; there are none but on Linux.
#[derive(Debug)]
struct Supervisor {
    /// Identifies the process, and no later process of its number.
    #[cfg(target_os = "linux")]
    handle: Option<std::os::fd::OwnedFd>,
}

#[cfg(target_os = "linux")]
impl Supervisor {
    /// That of a process that was not waited for yet.
    fn of(id: u32) -> Self {
        use rustix::process::{Pid, PidfdFlags, kill_process, pidfd_open};
        let Some(id) = i32::try_from(id).ok().and_then(Pid::from_raw) else {
            return Self { handle: None };
        };
        let handle = pidfd_open(id, PidfdFlags::empty()).ok();
        if handle.is_none() {
            // What could not be ended later is ended now.
            let _ = kill_process(id, supervisor::END);
        }
        Self { handle }
    }

    fn end(&self) {
        self.signal(supervisor::END);
    }

    fn terminate(&self) {
        self.signal(rustix::process::Signal::TERM);
    }

    fn signal(&self, signal: rustix::process::Signal) {
        // That it has ended already is as good.
        let Some(handle) = &self.handle else { return };
        let _ = rustix::process::pidfd_send_signal(handle, signal);
        // A program may have stopped it.
        let _ = rustix::process::pidfd_send_signal(handle, rustix::process::Signal::CONT);
    }
}

#[cfg(not(target_os = "linux"))]
impl Supervisor {
    fn of(_id: u32) -> Self {
        Self {}
    }

    fn end(&self) {}

    fn terminate(&self) {}
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
