//! Reading everything and keeping none of it: whether each line and each blob is what was written.
//!
//! What makes a body right is not known here: whoever asks brings a check.

use std::collections::HashMap;
use std::io::{self, Read as _};
use std::path::Path;

use crate::blob::{BlobFolder, read_body};
use crate::entry::WARNING_LIMIT;
use crate::line::{self, Position, ScannedLines};
use crate::segment::base_lines::BaseLines;
use crate::segment::files::{segment_folder, segment_names, unreadable};
use crate::segment::index::scan_file;
use crate::{BODY_LIMIT, Entry, EntryLine};

/// What a check could do with an intact entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryCheck {
    /// Its body was read.
    Read,
    /// Its body was read, and its key is what the body says it was made of.
    Recomputed,
}

/// Looks into an entry, or reports what is wrong with it.
pub type Check<'a> = &'a (dyn Fn(&Entry) -> Result<EntryCheck, String> + Send + Sync);

/// What [`verify`] found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VerifyReport {
    /// The right entries, those that no longer win included.
    pub entries: u64,
    /// Of these, the ones whose keys could be computed again.
    pub recomputed: u64,
    /// The bytes up to the last line break of each file: a torn tail is not damage.
    pub bytes: u64,
    /// The blobs that are what their names say, those that no line names included.
    pub blobs: u64,
    /// The bytes that these take on disk.
    pub blob_bytes: u64,
    /// What is wrong, each with file and line.
    pub problems: Vec<String>,
    /// How many of the problems are blobs that are missing or damaged.
    pub bad_blobs: usize,
    /// How many of the problems are conflicts of git, which hide nothing.
    pub conflicts: usize,
}

impl VerifyReport {
    /// Checks an entry and hands it back if it is right.
    fn take(&mut self, path: &str, line: u64, entry: Entry, check: Check<'_>) -> Option<Entry> {
        match check(&entry) {
            Ok(checked) => {
                self.entries += 1;
                self.recomputed += u64::from(checked == EntryCheck::Recomputed);
                Some(entry)
            }
            Err(reason) => {
                self.add([format!("the stored outcome at `{path}:{line}` {reason}")]);
                None
            }
        }
    }

    fn end(&mut self, path: &Path, scanned: io::Result<ScannedLines>) {
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

/// Reads every line and every blob of the store in the cache folder `dir`; changes nothing.
pub fn verify(dir: &Path, check: Check<'_>) -> VerifyReport {
    let mut report = VerifyReport::default();
    let mut blobs = BlobCheck { folder: BlobFolder::of(dir), read: HashMap::new() };
    let folder = segment_folder(dir);
    match segment_names(&folder) {
        Ok(names) => {
            for path in names.iter().map(|name| folder.join(name)) {
                let shown = path.to_string_lossy();
                let mut bases = BaseLines::of(&path);
                let scanned = scan_file(&path, |found| {
                    let entry = bases.entry(&found.entry);
                    if entry.is_incomplete {
                        return report.add([format!(
                            "the stored outcome at `{shown}:{}` is whole, but the ingredients of its key are lost: the line that it shares them with is damaged",
                            found.line
                        )]);
                    }
                    if let Some(entry) = blobs.entry(&shown, found.line, entry, &mut report) {
                        report.take(&shown, found.line, entry, check);
                    }
                });
                report.end(&path, scanned);
            }
        }
        Err(error) => report.add([unreadable(&folder, &error)]),
    }
    blobs.rest(&mut report);
    report
}

struct BlobCheck {
    folder: BlobFolder,
    /// The digests of those that were read with their lines, and whether they are right.
    read: HashMap<[u8; 32], bool>,
}

impl BlobCheck {
    /// The entry of a line, with its body.
    fn entry(
        &mut self,
        path: &str,
        line: u64,
        found: EntryLine,
        report: &mut VerifyReport,
    ) -> Option<Entry> {
        let digest = found.blob().map(|blob| blob.digest);
        let read = self.folder.entry(found);
        self.read.extend(digest.map(|digest| (digest, read.is_ok())));
        match read {
            Ok(entry) => Some(entry),
            // Its line was moved to another segment, or dropped with it.
            Err(_) if !Path::new(path).exists() => None,
            Err((_, problem)) => {
                report.bad_blobs += 1;
                report.add([format!("the stored outcome at `{path}:{line}` is lost: {problem}")]);
                None
            }
        }
    }

    /// Counts all, and reads those that no line names.
    fn rest(&self, report: &mut VerifyReport) {
        let files = match self.folder.list() {
            Ok(files) => files,
            // What is wrong with the cache folder was told with the segments.
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => return,
            Err(error) => {
                return report.add([format!("cannot read the blobs of the store: {error}")]);
            }
        };
        for file in files {
            let Some(digest) = file.digest else { continue };
            let read = match self.read.get(&digest) {
                Some(true) => Ok(()),
                // That was told with its line.
                Some(false) => continue,
                None => read_body(&file.path, digest, BODY_LIMIT).map(drop),
            };
            match read {
                Ok(()) => {
                    report.blobs += 1;
                    report.blob_bytes += file.bytes;
                }
                Err(_) if !file.path.exists() => {}
                Err(reason) => {
                    report.bad_blobs += 1;
                    let shown = file.path.display();
                    report.add([format!("the blob `{shown}`, which no line names, {reason}")]);
                }
            }
        }
    }
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
        let number = found.line;
        match found.entry.alone() {
            Ok(entry) => report.take(path, number, entry, check).into_iter().for_each(&mut *keep),
            Err(reason) => report.add([line::skipped(path, number, reason)]),
        }
    });
    report.end(Path::new(path), scanned);
    report.bytes = text.len() as u64;
    report
}
