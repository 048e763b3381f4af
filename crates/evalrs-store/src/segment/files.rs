//! The files of segments: their names, the lines at a place in them, and the messages where they cannot be read.
#![expect(clippy::disallowed_methods, reason = "the store owns its files; nothing else opens them")]

use std::fs::{self, File};
use std::io::{self, BufReader, Seek as _};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::entry::StoreError;
use crate::line;
use crate::line::entry_line::{EntryLine, keep_winning_line};
use crate::segment::base_lines::BaseLines;
use crate::segment::side_file::EntrySlot;
use evalrs_model::key::ActionKey;

pub(crate) fn segment_folder(dir: &Path) -> PathBuf {
    dir.join("v1").join("seg")
}

/// What all names of files that this process writes have, and no others: numbers of processes come again.
pub fn process_mark() -> &'static str {
    static MARK: LazyLock<String> =
        LazyLock::new(|| format!("-{}-{:08x}", std::process::id(), fastrand::u32(..)));
    &MARK
}

/// A name that no other writer has, in the order of time.
pub(crate) fn process_name() -> String {
    let millis = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis());
    format!("{millis:011x}{}{:08x}", process_mark(), fastrand::u32(..))
}

/// The segments of a folder, in the order of their creation; none if the folder does not exist.
pub(crate) fn segment_names(folder: &Path) -> io::Result<Vec<String>> {
    names_in(folder, "jsonl")
}

/// The files of a folder that have an extension, sorted; none if the folder does not exist.
pub(crate) fn names_in(folder: &Path, extension: &str) -> io::Result<Vec<String>> {
    let files = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        files => files?,
    };
    let mut names = Vec::new();
    for file in files {
        let path = file?.path();
        if path.extension().is_some_and(|found| found == extension) {
            names.extend(path.file_name().and_then(|name| name.to_str()).map(str::to_owned));
        }
    }
    names.sort_unstable();
    Ok(names)
}

/// Reads the entries of one file, those apart whose blob is lost; a line that cannot be read does not hide the others.
pub(crate) fn read_group(
    path: &Path,
    group: &[(EntrySlot, usize)],
    keys: &[ActionKey],
    is_lost: &dyn Fn(&[u8; 32]) -> bool,
    found: &mut [Option<EntryLine>],
) -> io::Result<()> {
    let mut bases = BaseLines::of(path);
    let mut reader = BufReader::new(File::open(path)?);
    let mut at = 0;
    let mut outcome = Ok(());
    for (slot, place) in group {
        // A relative seek keeps what is buffered: winners often stand side by side.
        reader.seek_relative(i64::from(slot.offset) - at)?;
        at = i64::from(slot.offset) + i64::from(slot.length());
        match read_line(&mut reader, slot, &mut bases) {
            Ok(line) if line.blob().is_some_and(|blob| is_lost(&blob.digest)) => {}
            Ok(line) if line.key == keys[*place] => keep_winning_line(&mut found[*place], line),
            Ok(_) => outcome = Err(io::ErrorKind::InvalidData.into()),
            Err(error) => {
                outcome = Err(error);
                at = 0;
                reader.rewind()?;
            }
        }
    }
    outcome
}

fn read_line(
    mut reader: impl io::Read,
    slot: &EntrySlot,
    bases: &mut BaseLines,
) -> io::Result<EntryLine> {
    let mut line = vec![0; slot.length() as usize];
    reader.read_exact(&mut line)?;
    let line = line::parse(&line).ok().filter(|line| line.rank() == slot.rank());
    let line = line.ok_or(io::ErrorKind::InvalidData)?;
    Ok(bases.entry(&line))
}

pub(crate) fn write_error(path: &Path, error: &io::Error) -> StoreError {
    StoreError::Write { path: path.display().to_string(), reason: error.to_string() }
}

pub(crate) fn unreadable(path: &Path, error: &io::Error) -> String {
    format!("cannot read the store at `{}`: {error}", path.display())
}
