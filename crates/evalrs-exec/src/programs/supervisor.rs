//! A process between evalrs and a program, so that whatever the program starts ends with it, also what left its session.
//!
//! On Linux orphans become children of the nearest ancestor that asks for them. Evalrs runs many programs at once and could
//! not tell whose they are, so each program has such an ancestor of its own: this binary, started as
//! `evalrs supervise ID COMMAND…` with the number of the process that wants it. It ends as the program ends, once nothing is
//! left of what that started; the same when it is told to, and when evalrs is gone. Other systems have no such ancestors:
//! there the group of a program is all that ends with it.

#[cfg(target_os = "linux")]
mod linux;
mod not_started;

use std::ffi::OsString;
use std::process::ExitCode;

#[cfg(target_os = "linux")]
pub(super) use linux::{END, words};
pub(super) use not_started::problem;

/// The words before a command; nothing where programs are not supervised.
#[cfg(not(target_os = "linux"))]
pub(super) fn words() -> Option<[String; 3]> {
    None
}

/// Runs this process as the supervisor of a program, if its arguments ask for that. A binary that calls this first may
/// supervise its programs.
#[cfg(target_os = "linux")]
pub fn supervise(arguments: impl Iterator<Item = OsString>) -> Option<ExitCode> {
    linux::supervise(arguments)
}

/// Nothing is supervised on this system.
#[cfg(not(target_os = "linux"))]
pub fn supervise(_arguments: impl Iterator<Item = OsString>) -> Option<ExitCode> {
    None
}
