//! The versions of the files of a run record.

/// The version of every file of a run record but its results.
pub const FORMAT: u32 = 1;
/// The version of a line of `results.jsonl`. In the first one `submissions` named every grader, and there was no `submission`.
pub const LINE_FORMAT: u32 = 2;

/// Whether this version reads lines of results of a format.
pub fn reads_line(format: u32) -> bool {
    (1..=LINE_FORMAT).contains(&format)
}
