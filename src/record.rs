//! The record of a run on disk.
//!
//! `header.json`, `results.jsonl` and `summary.json` are the report: byte-identical for identical inputs and
//! outcomes. Whatever belongs to one process alone stands in `run.json`.

use std::io::Write;

use serde::Serialize;

use crate::driver::settle::Tally;
use crate::outcome::Usage;
use crate::report::{Ordered, Report, jsonl};
use crate::system::{FileBytes, System, join};

/// What belongs to one process: `run.json`.
#[derive(Clone, Debug, Serialize)]
pub struct RunFacts {
    /// The version of this file.
    pub format: u32,
    /// The run.
    pub id: String,
    /// The suite's name.
    pub suite: String,
    /// When it began, RFC 3339.
    pub started: String,
    /// When it ended.
    pub finished: String,
    /// The version of evalrs.
    pub evalrs: String,
    /// The exit code of this suite.
    pub exit_code: u8,
    /// Whether it was interrupted.
    pub interrupted: bool,
    /// Grader → what its actions came to.
    pub actions: Ordered<Tally>,
    /// What was used in this run.
    pub spent: Usage,
    /// What the judgments that were found in the store had used when they were asked.
    pub saved: Usage,
    /// The keys executed in this run; all other judgments were replayed.
    pub asked: Vec<String>,
    /// What went wrong on the way without stopping it.
    pub warnings: Vec<String>,
}

/// Writes the files of a record into `folder`.
pub fn write(
    system: &dyn System,
    folder: &str,
    report: &Report<'_>,
    facts: &RunFacts,
) -> std::io::Result<()> {
    write_json(system, &join(folder, "header.json"), report.header)?;
    system.write(&join(folder, "results.jsonl"), &mut |file| {
        let mut file = std::io::BufWriter::with_capacity(1 << 16, file);
        jsonl::write(report, &mut file)?;
        file.flush()
    })?;
    write_json(system, &join(folder, "summary.json"), report.summary)?;
    write_json(system, &join(folder, "run.json"), facts)
}

fn write_json(system: &dyn System, path: &str, value: &impl Serialize) -> std::io::Result<()> {
    system.write(path, &mut |file| {
        serde_json::to_writer_pretty(&mut *file, value)?;
        file.write_all(b"\n")
    })
}

/// Names the run as the last one, and keeps the records of runs out of version control.
pub fn set_latest(system: &dyn System, home: &str, id: &str) -> std::io::Result<()> {
    let ignore = join(home, ".gitignore");
    if system.read(&ignore) == FileBytes::Missing {
        system.write(&ignore, &mut |file| file.write_all(b"*\n"))?;
    }
    system.write(&join(home, "latest"), &mut |file| writeln!(file, "{id}"))
}

/// The id of a run that began at `started` (RFC 3339): sorts by time, and is unique by its suffix.
pub fn run_id(started: &str) -> String {
    let digits: String = started.chars().filter(char::is_ascii_digit).take(14).collect();
    let (date, time) = digits.split_at(digits.len().min(8));
    format!("{date}T{time}-{:06x}", fastrand::u32(..0x100_0000))
}
