//! How a supervisor reports that it could not start its command, and how evalrs reads that.

use super::super::endings::ProcessEnding;

/// The prefix of the error of a command that could not be started, on standard error.
pub(super) const NOT_STARTED: &str = "evalrs supervise: error ";
/// The code that it ends with then.
pub(super) const CODE_NOT_STARTED: i32 = 127;

/// Why a supervisor could not start its command, by how it ended and what it wrote to standard error.
pub(crate) fn problem(ending: ProcessEnding, stderr: &str) -> Option<std::io::Error> {
    if ending != ProcessEnding::Exit(CODE_NOT_STARTED) {
        return None;
    }
    let code = stderr.strip_prefix(NOT_STARTED)?.trim_end().parse().ok()?;
    Some(std::io::Error::from_raw_os_error(code))
}

#[cfg(test)]
mod tests {
    use super::{CODE_NOT_STARTED, NOT_STARTED, ProcessEnding, problem};

    #[test]
    fn errors_of_a_start_are_read_back() {
        let told = format!("{NOT_STARTED}8\n");
        for (code, stderr, expected) in [
            (CODE_NOT_STARTED, told.as_str(), Some(8)),
            (1, &told, None),
            (CODE_NOT_STARTED, "error 8", None),
            (CODE_NOT_STARTED, NOT_STARTED, None),
        ] {
            let error = problem(ProcessEnding::Exit(code), stderr);
            assert_eq!(error.and_then(|error| error.raw_os_error()), expected, "{code} {stderr}");
        }
    }
}
