//! The files that the results of a record stand in: `results.jsonl`, or where there are many, files of a few megabytes in
//! `results`, which `parts.json` lists.
//!
//! So what a run has in common with the one before stands on disk once: a part that is the same is another name of one file, in
//! each record that has it. None of them needs another record, whichever is removed.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io::{self, BufRead, Read};

use serde::{Deserialize, Serialize};

use super::file::{RESULTS, digest_of, read_json};
use evalrs_base::file_path::join;
use evalrs_system::{FileIdentity, System, WriteStamp};

/// The list of the parts, in the folder of a record.
pub(super) const LIST: &str = "results/parts.json";

/// The version of the list.
const FORMAT: u32 = 1;

/// The parts of results, in order.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct PartList {
    format: u32,
    pub parts: Vec<PartFile>,
}

/// A file of results.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PartFile {
    pub name: String,
    pub bytes: u64,
    /// The blake3 digest of these.
    pub digest: String,
}

impl PartList {
    pub(super) fn new(parts: Vec<PartFile>) -> Self {
        Self { format: FORMAT, parts }
    }

    /// That of the record in `folder`; none where its results are one file, or the list cannot be read.
    pub(super) fn read(system: &dyn System, folder: &str) -> Option<Self> {
        let list: Self = read_json(system, &join(folder, LIST))?;
        let is_name = |part: &PartFile| !part.name.contains(['/', '\\']);
        (list.format == FORMAT && list.parts.iter().all(is_name)).then_some(list)
    }

    /// The text of the list, and the digest of all results: that of this text.
    pub(super) fn text(&self) -> io::Result<(String, String)> {
        let text = format!("{}\n", serde_json::to_string_pretty(self)?);
        let digest = blake3::hash(text.as_bytes()).to_hex().to_string();
        Ok((text, digest))
    }
}

/// The path of a part of the record in `folder`.
pub(super) fn part_path(folder: &str, name: &str) -> String {
    join(folder, &format!("results/{name}"))
}

/// The files of the results in `folder`, the list among them.
pub fn result_paths(system: &dyn System, folder: &str) -> Vec<String> {
    let list = join(folder, LIST);
    let lines = line_paths(system, folder);
    let has_list = lines != [join(folder, RESULTS)];
    has_list.then_some(list).into_iter().chain(lines).collect()
}

/// The files of the lines alone, in order.
pub(super) fn line_paths(system: &dyn System, folder: &str) -> Vec<String> {
    let list = PartList::read(system, folder);
    list.map_or_else(
        || vec![join(folder, RESULTS)],
        |list| list.parts.iter().map(|part| part_path(folder, &part.name)).collect(),
    )
}

/// The results in `folder`, from the first on.
pub fn open_results<'a>(system: &'a dyn System, folder: &str) -> io::Result<ResultsReader<'a>> {
    let Some(list) = PartList::read(system, folder) else {
        return Ok(ResultsReader::of(system.open(&join(folder, RESULTS))?));
    };
    let rest = list.parts.iter().map(|part| (part_path(folder, &part.name), part.bytes)).collect();
    let mut reader =
        ResultsReader { system: Some(system), file: Box::new(io::empty()), left: 0, rest };
    reader.open_next()?;
    Ok(reader)
}

/// What changes where one of the files is written: the bytes of all, and the time of one or the digest of several.
pub fn results_stamp(system: &dyn System, folder: &str) -> Option<WriteStamp> {
    let files = result_paths(system, folder).into_iter();
    let stamps: Option<Vec<WriteStamp>> = files.map(|path| system.stamp(&path)).collect();
    let stamps = stamps?;
    if let [stamp] = stamps.as_slice() {
        return Some(stamp.clone());
    }
    let mut hasher = blake3::Hasher::new();
    for stamp in &stamps {
        hasher.update(format!("{stamp:?}").as_bytes());
    }
    let bytes = stamps.iter().map(|stamp| stamp.bytes).sum();
    Some(WriteStamp { bytes, modified: hasher.finalize().to_hex().to_string() })
}

/// The digest of the states of all files; none where the system knows too little of one.
pub fn results_state(system: &dyn System, folder: &str) -> Option<String> {
    let mut hasher = blake3::Hasher::new();
    for path in result_paths(system, folder) {
        hasher.update(format!("{:?}", system.state(&path)?).as_bytes());
    }
    Some(hasher.finalize().to_hex().to_string())
}

/// Whether the results in `folder` are what they were when their files had the states of this digest: by these, else by their
/// own digest. A file that another record shares has another state once that record is gone.
pub fn are_results_same(system: &dyn System, folder: &str, state: &str, digest: &str) -> bool {
    results_state(system, folder)
        .is_some_and(|now| now == state || check_results(system, folder, digest) == FileCheck::Same)
}

/// The digests of files, each made once: records share files.
pub(super) struct FileDigests<'a> {
    system: &'a dyn System,
    known: RefCell<Vec<KnownDigest>>,
}

/// The digest of a file, whatever its name is.
#[derive(Clone, Debug)]
pub(super) struct KnownDigest {
    file: FileIdentity,
    digest: String,
}

impl<'a> FileDigests<'a> {
    pub(super) fn new(system: &'a dyn System) -> Self {
        Self::with(system, &[])
    }

    /// Where some are known.
    pub(super) fn with(system: &'a dyn System, known: &[KnownDigest]) -> Self {
        Self { system, known: RefCell::new(known.to_vec()) }
    }

    pub(super) fn all(self) -> Vec<KnownDigest> {
        self.known.into_inner()
    }

    fn of(&self, path: &str) -> Option<String> {
        let file = self.system.identity(path);
        let known = |known: &KnownDigest| (Some(known.file) == file).then(|| known.digest.clone());
        if let Some(digest) = self.known.borrow().iter().find_map(known) {
            return Some(digest);
        }
        let digest = digest_of(self.system, path)?;
        let known = file.map(|file| KnownDigest { file, digest: digest.clone() });
        self.known.borrow_mut().extend(known);
        Some(digest)
    }
}

/// Whether there is a list, which may be damaged.
pub(super) fn has_list(system: &dyn System, folder: &str) -> bool {
    system.open(&join(folder, LIST)).is_ok()
}

/// Whether the results in `folder` have the digest that they were written with; else the file that has not, if it can be told.
pub(super) fn check_results(system: &dyn System, folder: &str, digest: &str) -> FileCheck {
    check_by(system, folder, digest, &FileDigests::new(system))
}

/// The same, where some digests are known.
pub(super) fn check_by(
    system: &dyn System,
    folder: &str,
    digest: &str,
    digests: &FileDigests<'_>,
) -> FileCheck {
    let Some(list) = PartList::read(system, folder) else {
        if has_list(system, folder) {
            return FileCheck::Edited(LIST.to_owned());
        }
        return FileCheck::of(RESULTS, digests.of(&join(folder, RESULTS)), digest);
    };
    let of_list = FileCheck::of(LIST, digests.of(&join(folder, LIST)), digest);
    let parts = list.parts.iter().map(|part| {
        let found = digests.of(&part_path(folder, &part.name));
        FileCheck::of(&format!("results/{}", part.name), found, &part.digest)
    });
    let mut all = std::iter::once(of_list).chain(parts);
    all.find(|check| *check != FileCheck::Same).unwrap_or(FileCheck::Same)
}

/// What became of a file since it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum FileCheck {
    Same,
    /// That of this name has other bytes.
    Edited(String),
    /// That of this name cannot be read.
    Gone(String),
}

impl FileCheck {
    pub(super) fn of(name: &str, found: Option<String>, expected: &str) -> Self {
        match found {
            Some(found) if found == expected => Self::Same,
            Some(_) => Self::Edited(name.to_owned()),
            None => Self::Gone(name.to_owned()),
        }
    }
}

/// Gives the results of the record in `from` names in the record in `to`, too. False where that cannot be: some may have one.
pub fn link_results(system: &dyn System, from: &str, to: &str) -> bool {
    let Some(list) = PartList::read(system, from) else {
        return system.link(&join(from, RESULTS), &join(to, RESULTS));
    };
    let Ok((text, _)) = list.text() else { return false };
    let is_ready = system.make_folder(&join(to, "results")).is_ok();
    let mut parts = list.parts.iter();
    is_ready
        && parts.all(|part| system.link(&part_path(from, &part.name), &part_path(to, &part.name)))
        && write_list(system, to, &text).is_ok()
}

/// Writes the list last: without it there are no results.
pub(super) fn write_list(system: &dyn System, folder: &str, text: &str) -> io::Result<()> {
    let path = join(folder, LIST);
    system.write(&path, &mut |file| file.write_all(text.as_bytes()))?;
    system.protect(&path);
    Ok(())
}

/// Reads results, file after file.
pub struct ResultsReader<'a> {
    /// None where there is one file.
    system: Option<&'a dyn System>,
    file: Box<dyn BufRead + 'a>,
    /// How many bytes the file has left.
    left: u64,
    /// The files after it, and how many bytes each has.
    rest: VecDeque<(String, u64)>,
}

impl<'a> ResultsReader<'a> {
    /// Reads one file.
    pub(super) fn of(file: Box<dyn BufRead + 'a>) -> Self {
        Self { system: None, file, left: u64::MAX, rest: VecDeque::new() }
    }

    /// False at the end.
    fn open_next(&mut self) -> io::Result<bool> {
        let Some((system, (path, bytes))) = self.system.zip(self.rest.pop_front()) else {
            return Ok(false);
        };
        self.file = system.open(&path)?;
        self.left = bytes;
        Ok(true)
    }

    /// Passes over bytes. Files that have no others are not opened.
    pub(super) fn skip(&mut self, bytes: u64) -> io::Result<()> {
        let mut ahead = bytes;
        while ahead >= self.left && self.system.is_some() {
            ahead -= self.left;
            self.left = 0;
            if ahead == 0 {
                // The next byte is in the next file, if there is one.
                self.file = Box::new(io::empty());
                return Ok(());
            }
            let Some((_, next)) = self.rest.front() else {
                return Err(io::ErrorKind::UnexpectedEof.into());
            };
            if ahead >= *next {
                self.left = *next;
                self.rest.pop_front();
            } else {
                self.open_next()?;
            }
        }
        let skipped = io::copy(&mut Read::take(&mut *self, ahead), &mut io::sink())?;
        if skipped == ahead { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
    }
}

impl BufRead for ResultsReader<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        while self.file.fill_buf()?.is_empty() {
            if self.system.is_some() && self.left > 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            if !self.open_next()? {
                break;
            }
        }
        self.file.fill_buf()
    }

    fn consume(&mut self, bytes: usize) {
        self.left = self.left.saturating_sub(bytes as u64);
        self.file.consume(bytes);
    }
}

impl Read for ResultsReader<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let available = self.fill_buf()?;
        let read = available.len().min(into.len());
        into[..read].copy_from_slice(&available[..read]);
        self.consume(read);
        Ok(read)
    }
}
