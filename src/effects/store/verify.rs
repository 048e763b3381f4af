//! Reading everything and keeping none of it: whether each line is what was written.
//!
//! What makes a body right is not known here: whoever asks brings a check.

use std::io::{self, Read as _};
use std::path::Path;

use super::line::{self, Position, Scanned, ScannedEntry};
use super::segments::{scan_file, segment_folder, segment_names, unreadable};
use super::{Entry, WARNING_LIMIT};

/// What a check could do with an intact entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryCheck {
    /// Its body was read.
    Read,
    /// Its body was read, and its key is what the body says it was made of.
    Recomputed,
}

/// Looks into an entry, or says what is wrong with it.
pub type Check<'a> = &'a (dyn Fn(&Entry) -> Result<EntryCheck, String> + Send + Sync);

/// What [`verify`] found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VerifyReport {
    /// The right entries, those that no longer win included.
    pub entries: u64,
    /// Of these, the ones whose keys could be computed again.
    pub recomputed: u64,
    /// The bytes up to the last line break of each file: a torn tail is no damage.
    pub bytes: u64,
    /// What is wrong, each with file and line.
    pub problems: Vec<String>,
    /// How many of the problems are conflicts of git, which hide nothing.
    pub conflicts: usize,
}

impl VerifyReport {
    fn take(&mut self, path: &str, found: &ScannedEntry, check: Check<'_>) -> bool {
        match check(&found.entry) {
            Ok(checked) => {
                self.entries += 1;
                self.recomputed += u64::from(checked == EntryCheck::Recomputed);
                return true;
            }
            Err(reason) => {
                self.add([format!("the stored outcome at `{path}:{}` {reason}", found.line)]);
            }
        }
        false
    }

    fn end(&mut self, path: &Path, scanned: io::Result<Scanned>) {
        match scanned {
            Ok(scanned) => {
                self.bytes += scanned.end.offset;
                self.conflicts += scanned.conflicts;
                self.add(scanned.skipped);
            }
            // It went away in between: its entries were moved to another segment.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => self.add([unreadable(path, &error)]),
        }
    }

    fn add(&mut self, problems: impl IntoIterator<Item = String>) {
        let room = WARNING_LIMIT.saturating_sub(self.problems.len());
        self.problems.extend(problems.into_iter().take(room));
    }
}

/// Reads every line of the store in the cache folder `dir`; changes nothing.
pub fn verify(dir: &Path, check: Check<'_>) -> VerifyReport {
    let mut report = VerifyReport::default();
    let folder = segment_folder(dir);
    match segment_names(&folder) {
        Ok(names) => {
            for path in names.iter().map(|name| folder.join(name)) {
                let shown = path.to_string_lossy();
                let visit = |found: ScannedEntry| _ = report.take(&shown, &found, check);
                let scanned = scan_file(&path, visit);
                report.end(&path, scanned);
            }
        }
        Err(error) => report.add([unreadable(&folder, &error)]),
    }
    report
}

/// Reads the lines of a committed file, which problems call `path`, and hands over the right entries.
pub fn read_lines(
    path: &str,
    text: &[u8],
    check: Check<'_>,
    keep: &mut dyn FnMut(Entry),
) -> VerifyReport {
    let mut report = VerifyReport::default();
    // As in a committed layer, the last line counts without a line break too.
    let scanned = line::scan(text.chain(&b"\n"[..]), path, Position::START, |found| {
        if report.take(path, &found, check) {
            keep(found.entry);
        }
    });
    report.end(Path::new(path), scanned);
    report.bytes = text.len() as u64;
    report
}
