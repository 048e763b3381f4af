//! A run as one file: its record, the outcomes that it rests on, and the files that it read.
//!
//! It is a zip archive. Its record is unpacked into a workspace of its own, where commands read it as they read any other. Its suite is
//! never read: it may be a stranger's.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tempfile::TempDir;

use crate::record::read::PastHeader;
use crate::record::{RunFacts, runs_of};
use evalrs_base::archive::{Archive, ArchiveWriter};
use evalrs_base::file_path::join;
use evalrs_base::price::Cost;
use evalrs_metrics::results::ResultLine;
use evalrs_model::record_format::FORMAT as RECORD_FORMAT;
use evalrs_system::System;

/// What the archive holds, as a file of it.
const INDEX: &str = "evalrs-run.json";
/// The folder of the record in it.
const RECORD: &str = "run";
/// The folder of the files that the run read.
const FILES: &str = "files";
/// The outcomes, a line each, as in committed files.
const OUTCOMES: &str = "outcomes.jsonl";

/// The version of the archive.
const FORMAT: u32 = 1;

/// The most bytes that an archive stands for.
const MOST: usize = 4 << 30;
/// The most bytes of its index, and of the header of its record.
const MOST_JSON: usize = 64 << 20;

/// What an archive holds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunArchiveIndex {
    pub format: u32,
    /// The run.
    pub id: String,
    /// The version of evalrs that wrote it.
    pub evalrs: String,
    /// The file of the suite, seen from the root of the workspace.
    pub suite: String,
    /// File, seen from there → the blake3 digest of its bytes.
    pub files: BTreeMap<String, String>,
    /// Files that the run read and that are not here: they are outside of the workspace.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
    /// Whether the outcomes are here, and the files.
    pub is_whole: bool,
}

/// What is put into an archive.
pub struct RunArchiveParts<'a> {
    pub index: RunArchiveIndex,
    /// The folder of the record.
    pub record: &'a str,
    /// Name in the archive → path.
    pub files: Vec<(String, String)>,
    /// Writes the outcomes.
    pub outcomes: &'a dyn Fn(&mut dyn Write) -> io::Result<()>,
}

/// Writes a run as one file, and reports the digests of the files in it.
pub fn write(
    to: &mut dyn Write,
    parts: RunArchiveParts<'_>,
    system: &dyn System,
) -> io::Result<()> {
    let RunArchiveParts { mut index, record, files, outcomes } = parts;
    let mut archive = ArchiveWriter::new(to);
    for path in files_below(system, record, "") {
        add_file(&mut archive, &format!("{RECORD}/{path}"), &join(record, &path), system)?;
    }
    for (name, path) in files {
        let digest = add_file(&mut archive, &format!("{FILES}/{name}"), &path, system)?;
        index.files.insert(name, digest);
    }
    if index.is_whole {
        archive.add(OUTCOMES, &mut |to| outcomes(to))?;
    }
    // It has the digests of what went before.
    let index = RunArchiveIndex { format: FORMAT, ..index };
    let text = format!("{}\n", serde_json::to_string_pretty(&index)?);
    archive.add(INDEX, &mut |to| to.write_all(text.as_bytes()))?;
    archive.finish()?;
    Ok(())
}

/// The files below a folder, by their paths in it.
fn files_below(system: &dyn System, folder: &str, below: &str) -> Vec<String> {
    let names = system.list(&join(folder, below)).unwrap_or_default();
    let found = names.into_iter().flat_map(|name| {
        let path = join(below, &name);
        match system.list(&join(folder, &path)) {
            Some(_) => files_below(system, folder, &path),
            None => vec![path],
        }
    });
    found.collect()
}

/// Adds the file at `path`, and reports its digest.
fn add_file<W: Write>(
    archive: &mut ArchiveWriter<W>,
    name: &str,
    path: &str,
    system: &dyn System,
) -> io::Result<String> {
    let mut hasher = blake3::Hasher::new();
    archive.add(name, &mut |to| {
        let mut file = system.open(path)?;
        loop {
            let bytes = file.fill_buf()?;
            if bytes.is_empty() {
                return Ok(());
            }
            hasher.update(bytes);
            to.write_all(bytes)?;
            let read = bytes.len();
            file.consume(read);
        }
    })?;
    Ok(hasher.finalize().to_hex().to_string())
}

/// A run that is read from one file.
pub struct RunArchive<'a> {
    archive: Archive<'a>,
    pub index: RunArchiveIndex,
    /// What the record says of the run.
    pub header: PastHeader,
}

impl<'a> RunArchive<'a> {
    /// Reads what an archive holds; says why if it is none of a run.
    pub fn open(bytes: &'a [u8]) -> Result<Self, String> {
        let archive = Archive::open(bytes)?;
        let index: RunArchiveIndex = json_of(&archive, INDEX)?;
        if index.format != FORMAT {
            return Err(format!("its format is {}, and this version reads {FORMAT}", index.format));
        }
        let header: PastHeader = json_of(&archive, &format!("{RECORD}/header.json"))?;
        if header.format > RECORD_FORMAT {
            return Err(format!(
                "its record has format {}, and this version reads {RECORD_FORMAT}",
                header.format
            ));
        }
        let is_id = !index.id.is_empty() && !index.id.contains(['/', '\\']) && index.id != "..";
        let is_plain =
            |path: &str| !path.starts_with('/') && !path.split('/').any(|part| part == "..");
        if !is_id || !is_plain(&index.suite) {
            return Err(format!("`{INDEX}` names files outside of the archive"));
        }
        Ok(Self { archive, index, header })
    }

    /// The lines of the outcomes.
    pub fn outcomes(&self) -> Result<Vec<u8>, String> {
        self.archive.read(OUTCOMES, MOST)
    }

    /// The samples of its results.
    pub fn samples(&self) -> Result<BTreeSet<String>, String> {
        #[derive(Deserialize)]
        struct SampleLine {
            sample_id: String,
        }
        let mut samples = BTreeSet::new();
        for path in self.result_paths() {
            let bytes = self.archive.read(path, MOST)?;
            let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
            for line in lines {
                let line: SampleLine = serde_json::from_slice(line)
                    .map_err(|error| format!("cannot read `{path}` in it: {error}"))?;
                samples.insert(line.sample_id);
            }
        }
        Ok(samples)
    }

    /// The results of a sample.
    pub fn lines_of(&self, sample: &str) -> Result<Vec<ResultLine>, String> {
        let mut found = Vec::new();
        for path in self.result_paths() {
            let bytes = self.archive.read(path, MOST)?;
            for line in bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
                let line: ResultLine = serde_json::from_slice(line)
                    .map_err(|error| format!("cannot read `{path}` in it: {error}"))?;
                found.extend(Some(line).filter(|line| line.sample_id == sample));
            }
        }
        Ok(found.into_iter().map(ResultLine::in_newest_format).collect())
    }

    fn result_paths(&self) -> impl Iterator<Item = &str> {
        self.archive.paths().filter(|path| {
            *path == "run/results.jsonl"
                || path.starts_with("run/results/") && *path != "run/results/parts.json"
        })
    }

    /// What the run cost, as far as that is known.
    pub fn spent(&self) -> Option<Cost> {
        let facts: RunFacts = json_of(&self.archive, &format!("{RECORD}/run.json")).ok()?;
        let of_target = facts.target.and_then(|tally| tally.spent.cost);
        facts.spent.cost.into_iter().chain(of_target).reduce(|one, other| one + other)
    }

    /// Unpacks the record into a temporary folder. The suite, which may be a stranger's, stays where it is: nothing reads it.
    pub fn unpack(&self, system: &dyn System) -> Result<UnpackedRun, String> {
        let said = |error: io::Error| format!("cannot unpack it: {error}");
        let folder = tempfile::Builder::new().prefix("evalrs-run-").tempdir().map_err(said)?;
        let root = folder.path().to_str().ok_or("the temporary folder has no UTF-8 name")?;
        let root = root.to_owned();
        let place_in = |path: &str| join(&root, path);
        let write = |path: &str, bytes: &[u8]| {
            system.write(&place_in(path), &mut |file| file.write_all(bytes)).map_err(said)
        };
        let record = join(&runs_of(".evalrs"), &self.index.id);
        let mut left = MOST;
        for path in self.archive.paths() {
            let Some(name) = path.strip_prefix("run/") else { continue };
            let bytes = self.archive.read(path, left)?;
            left -= bytes.len();
            write(&join(&record, name), &bytes)?;
        }
        // It is a workspace of its own, whatever is around the folder.
        write("evalrs.toml", b"")?;
        Ok(UnpackedRun {
            id: self.index.id.clone(),
            record: place_in(&record),
            home: place_in(".evalrs"),
            _folder: folder,
        })
    }
}

fn json_of<T: DeserializeOwned>(archive: &Archive<'_>, path: &str) -> Result<T, String> {
    let bytes = archive.read(path, MOST_JSON);
    let bytes =
        bytes.map_err(|reason| format!("it is not the file of a run: `{path}`: {reason}"))?;
    serde_json::from_slice(&bytes).map_err(|error| format!("cannot read `{path}` in it: {error}"))
}

/// A run that was unpacked, until this is dropped.
#[derive(Debug)]
pub struct UnpackedRun {
    pub id: String,
    /// The folder of its record.
    pub record: String,
    /// Where records are.
    pub home: String,
    _folder: TempDir,
}
