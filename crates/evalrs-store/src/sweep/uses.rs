//! Which keys runs needed, day by day: tells a sweep which entries are still in use.
//!
//! One file a suite and day, `v1/use/<yyyymmdd>-<suite>-<digest>.keys`, and one for what the last run of a suite needed,
//! `v1/use/last-<suite>-<digest>.keys`: magic with the version (16 bytes), the keys in
//! order (32 each), CRC-32 of everything before (4, little endian). Binary, because nobody merges or reads it. Files of
//! a day are only ever replaced by larger ones, and an older one goes when a newer one holds every key of it, so that a suite
//! that is run every day leaves one file and not a year of them.
#![expect(clippy::disallowed_methods, reason = "the store owns its files; nothing else opens them")]

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use crate::entry::StoreError;
use crate::segment::files::{names_in, segment_folder, write_error};
use evalrs_model::key::{ActionKey, KeyMap, KeySet};

const MAGIC: &[u8; 16] = b"evalrs use v1\n\0\0";
/// How the manifests begin of what the last runs needed: no day does.
const LAST: &str = "last-";
/// How the names of files begin that are being written.
const TEMPORARY: &str = ".tmp";
/// A writer takes no longer, in seconds.
const UNFINISHED: i64 = 3_600;
/// The most characters of a suite's name that its files have.
const NAME: usize = 40;

/// A run whose use of keys is noted.
#[derive(Clone, Copy, Debug)]
pub struct RunNote<'a> {
    /// What the runs have in common of which only the last counts: the path of the suite.
    pub of: &'a str,
    /// Whether it needed all that such a run needs: it was not narrowed, and it was finished.
    pub is_whole: bool,
}

/// Notes that `suite` needs `keys` at `now`, beside what was noted for it that day; and for the last run
/// of it, where it is one.
///
/// Where there is no store, nothing can be swept and nothing is noted.
pub fn note_used(
    dir: &Path,
    suite: &str,
    run: Option<RunNote<'_>>,
    now: Timestamp,
    keys: &[ActionKey],
) -> Result<(), StoreError> {
    if keys.is_empty() || !segment_folder(dir).is_dir() {
        return Ok(());
    }
    let mut keys = keys.to_vec();
    sort(&mut keys);
    let folder = use_folder(dir);
    let day = now.strftime("%Y%m%d").to_string();
    let suffix = suffix_of(suite);
    if let Some(run) = run {
        note_last(&folder, suite, run, &keys)?;
    }
    let path = manifest(&folder, &day, &suffix);
    if read(&path).is_ok_and(|held| has_all(&held, &keys)) {
        return Ok(());
    }
    note(&folder, &day, &suffix, keys).map_err(|error| write_error(&path, &error))
}

/// Notes the needs of the last of these runs: instead of those of the one before, or, for part of a run, beside them.
fn note_last(
    folder: &Path,
    suite: &str,
    run: RunNote<'_>,
    keys: &[ActionKey],
) -> Result<(), StoreError> {
    let RunNote { of, is_whole } = run;
    let name = suffix_with(suite, &format!("{suite}\n{of}"));
    let path = folder.join(format!("{LAST}{name}.keys"));
    let held = match read_if_there(&path) {
        Ok(held) => held,
        Err(_) if is_whole => Vec::new(),
        // What it says is not to be lost: a sweep names it.
        Err(_) => return Ok(()),
    };
    let mut needed = keys.to_vec();
    if !is_whole {
        needed.extend(&held);
        sort(&mut needed);
    }
    if needed == held {
        return Ok(());
    }
    let replaced = fs::create_dir_all(folder).and_then(|()| replace(folder, &path, &needed));
    replaced.map_err(|error| write_error(&path, &error))
}

fn sort(keys: &mut Vec<ActionKey>) {
    keys.sort_unstable();
    keys.dedup();
}

fn manifest(folder: &Path, day: &str, suffix: &str) -> PathBuf {
    folder.join(format!("{day}-{suffix}.keys"))
}

fn note(folder: &Path, day: &str, suffix: &str, mut keys: Vec<ActionKey>) -> io::Result<()> {
    let path = manifest(folder, day, suffix);
    fs::create_dir_all(folder)?;
    let lock = File::options().create(true).append(true).open(folder.join("lock"))?;
    let Some(held) = lock.try_lock().ok().and_then(|()| read_if_there(&path).ok()) else {
        // Somebody else notes, or nobody can read what was noted: rather a file of its own than a wait, or one that
        // overwrites the other.
        let suffix = format!("{suffix}-{:08x}", fastrand::u32(..));
        return replace(folder, &manifest(folder, day, &suffix), &keys);
    };
    keys.extend(held);
    sort(&mut keys);
    replace(folder, &path, &keys)?;
    let end = format!("-{suffix}.keys");
    let names = names_in(folder, "keys")?;
    let older = names.iter().filter(|name| name.ends_with(&end) && name.as_str() < day).max();
    if let Some(older) = older.map(|name| folder.join(name))
        && read(&older).is_ok_and(|older| has_all(&keys, &older))
    {
        // It is no harm if it stays.
        let _ = fs::remove_file(older);
    }
    Ok(())
}

/// Writes a manifest so that nobody ever sees half of it.
fn replace(folder: &Path, path: &Path, keys: &[ActionKey]) -> io::Result<()> {
    let mut file = temporary(folder)?;
    file.write_all(&encode(keys))?;
    file.persist(path).map(|_| ()).map_err(|error| error.error)
}

/// A temporary file that becomes one which others may read as they may read segments.
fn temporary(folder: &Path) -> io::Result<tempfile::NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder.prefix(TEMPORARY).tempfile_in(folder)
}

/// Removes what writers that were killed have left of manifests, once no writer can be at it any more. It is no harm if
/// something stays.
pub(crate) fn remove_unfinished(dir: &Path, now: i64) {
    let files = fs::read_dir(use_folder(dir)).into_iter().flatten().flatten();
    for file in files.filter(|file| file.file_name().to_string_lossy().starts_with(TEMPORARY)) {
        let written = file.metadata().and_then(|metadata| metadata.modified());
        let written = written.ok().and_then(|at| Timestamp::try_from(at).ok());
        if written.is_some_and(|at| at.as_second() < now - UNFINISHED) {
            let _ = fs::remove_file(file.path());
        }
    }
}

/// When keys were used last.
#[derive(Default)]
pub struct Uses {
    /// The end of that day, in seconds of Unix time.
    pub last: KeyMap<i64>,
    /// What the last run of a suite needed.
    pub needed: KeySet,
    /// Manifests that say nothing which newer ones do not say, or nothing that matters any more.
    pub(crate) needless: Vec<PathBuf>,
    /// Manifests that cannot be read, and why.
    pub damaged: Vec<(PathBuf, String)>,
}

/// Reads the manifests of the store in `dir`; uses before `oldest`, in seconds of Unix time, do not matter.
pub(crate) fn read_uses(dir: &Path, oldest: Option<i64>) -> io::Result<Uses> {
    let folder = use_folder(dir);
    let mut uses = Uses::default();
    for name in names_in(&folder, "keys")?.iter().rev() {
        let path = folder.join(name);
        if name.starts_with(LAST) {
            match read(&path) {
                Ok(keys) => uses.needed.extend(keys),
                Err(error) => uses.damaged.push((path, error.to_string())),
            }
            continue;
        }
        let Some(end) = end_of_day(name) else { continue };
        if oldest.is_some_and(|oldest| end < oldest) {
            uses.needless.push(path);
            continue;
        }
        match read(&path) {
            Ok(keys) => {
                let known = uses.last.len();
                for key in keys {
                    uses.last.entry(key).or_insert(end);
                }
                if uses.last.len() == known {
                    uses.needless.push(path);
                }
            }
            // A newer one took its place.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => uses.damaged.push((path, error.to_string())),
        }
    }
    Ok(uses)
}

fn use_folder(dir: &Path) -> PathBuf {
    dir.join("v1").join("use")
}

fn read_if_there(path: &Path) -> io::Result<Vec<ActionKey>> {
    match read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        read => read,
    }
}

fn read(path: &Path) -> io::Result<Vec<ActionKey>> {
    decode(&fs::read(path)?).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

/// The file of `keys`, which are sorted.
pub(crate) fn encode(keys: &[ActionKey]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(MAGIC.len() + 32 * keys.len() + 4);
    bytes.extend_from_slice(MAGIC);
    for key in keys {
        bytes.extend_from_slice(&key.0);
    }
    let checksum = crc32fast::hash(&bytes);
    bytes.extend_from_slice(&checksum.to_le_bytes());
    bytes
}

/// The sorted keys of a file, unless it is damaged or of another version.
pub(crate) fn decode(bytes: &[u8]) -> Option<Vec<ActionKey>> {
    let (content, checksum) = bytes.split_last_chunk()?;
    if crc32fast::hash(content) != u32::from_le_bytes(*checksum) {
        return None;
    }
    let (keys, rest) = content.strip_prefix(MAGIC)?.as_chunks();
    let keys: Vec<ActionKey> = keys.iter().copied().map(ActionKey).collect();
    (rest.is_empty() && keys.is_sorted()).then_some(keys)
}

/// Whether the sorted `all` has every one of the sorted `some`.
fn has_all(all: &[ActionKey], some: &[ActionKey]) -> bool {
    let mut rest = all.iter();
    some.iter().all(|key| rest.find(|other| *other >= key) == Some(key))
}

/// The name of a suite as part of a file name: no two suites share one.
pub(crate) fn suffix_of(suite: &str) -> String {
    suffix_with(suite, suite)
}

/// A name for a file that only what is the same `whole` has.
fn suffix_with(suite: &str, whole: &str) -> String {
    let harmless = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' };
    let name: String = suite.chars().take(NAME).map(harmless).collect();
    format!("{name}-{}", &blake3::hash(whole.as_bytes()).to_hex()[..8])
}

/// The last second of the day that the name of a manifest begins with, in Unix time.
fn end_of_day(name: &str) -> Option<i64> {
    let date = jiff::civil::Date::strptime("%Y%m%d", name.get(..8)?).ok()?;
    let end = date.at(23, 59, 59, 0).to_zoned(jiff::tz::TimeZone::UTC).ok()?;
    Some(end.timestamp().as_second())
}
