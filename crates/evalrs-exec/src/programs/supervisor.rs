//! A process between evalrs and a program, so that whatever the program starts ends with it, also what left its session.
//!
//! On Linux orphans become children of the nearest ancestor that asks for them. Evalrs runs many programs at once and could
//! not tell whose they are, so each program has such an ancestor of its own: this binary, started as
//! `evalrs supervise ID COMMAND…` with the number of the process that wants it. It ends as the program ends, once nothing is
//! left of what that started; the same when it is told to, and when evalrs is gone. Other systems have no such ancestors:
//! there the group of a program is all that ends with it.

#[cfg(target_os = "linux")]
mod linux;

use std::ffi::OsString;
use std::process::ExitCode;

use super::endings::Ending;

/// What stands before the error of a command that could not be started, on standard error.
const NOT_STARTED: &str = "evalrs supervise: error ";
/// The code that it ends with then.
const CODE_NOT_STARTED: i32 = 127;

#[cfg(target_os = "linux")]
pub(super) use linux::{END, words};

/// What stands before the words of a command; nothing where programs are not supervised.
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

/// Why a supervisor could not start its command, by how it ended and what it wrote to standard error.
pub(super) fn problem(ending: Ending, stderr: &str) -> Option<std::io::Error> {
    if ending != Ending::Exit(CODE_NOT_STARTED) {
        return None;
    }
    let code = stderr.strip_prefix(NOT_STARTED)?.trim_end().parse().ok()?;
    Some(std::io::Error::from_raw_os_error(code))
}

#[cfg(test)]
mod tests {
    use super::{CODE_NOT_STARTED, Ending, NOT_STARTED, problem};

    #[test]
    fn errors_of_a_start_are_read_back() {
        let told = format!("{NOT_STARTED}8\n");
        for (code, stderr, expected) in [
            (CODE_NOT_STARTED, told.as_str(), Some(8)),
            (1, &told, None),
            (CODE_NOT_STARTED, "error 8", None),
            (CODE_NOT_STARTED, NOT_STARTED, None),
        ] {
            let error = problem(Ending::Exit(code), stderr);
            assert_eq!(error.and_then(|error| error.raw_os_error()), expected, "{code} {stderr}");
        }
    }
}
