//! Reads a dataset and its recordings into chunks that no database holds yet, as a whole or where it was edited.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use super::dataset_files::{self, FoundFile, FoundFiles};
use super::files_read::{FileDigest, ReadTrace, TracedFiles};
use super::record_origins::{OriginFile, RecordOrigins, without_mark};
use super::recordings::{self, RecordingSource};
use super::shortened::shortened;
use evalrs_base::compression::{Compression, unpacked};
use evalrs_base::diagnostic::{Diagnostic, Place};
use evalrs_eval::dataset::chunk::{self, ChunkedDataset, HeldChunks};
use evalrs_eval::dataset::fields::RowSpec;
use evalrs_eval::dataset::files::{self, FileName, SourceFile, format_of};
use evalrs_eval::dataset::id_search::IdSearch;
use evalrs_eval::dataset::join::{self, JoinedFiles, JoinedRow};
use evalrs_eval::dataset::layout::{Layout, Recut};
use evalrs_eval::dataset::split::{self, RawRecord, RecordStart};
use evalrs_eval::dataset::trials;
use evalrs_model::spec::{DatasetFormat, DatasetSpec, SampleUnit, TrialNumbers};
use evalrs_system::System;
use evalrs_system::changed_paths::ChangedPaths;

/// What a suite says of its dataset.
pub struct DatasetSource<'a> {
    pub dataset: &'a DatasetSpec,
    /// Where the suite names it.
    pub said: Option<Place>,
    /// The recordings that are joined to its rows, if rows do not carry their own; or why there can be none.
    pub source: Result<Option<RecordingSource>, Diagnostic>,
    /// Which rows are read, if not all are.
    pub only: Option<&'a IdSearch>,
    /// How an earlier process has cut its file.
    pub layout: Option<&'a Layout>,
}

/// A dataset that was read.
pub struct DatasetReading {
    pub chunks: Vec<ChunkedDataset>,
    pub held: HeldDataset,
    /// The files whose content differs from the loaded one.
    pub changed: Vec<String>,
}

/// What a session remembers of the dataset it holds.
#[derive(Debug)]
pub struct HeldDataset {
    /// The file, or what names several.
    pub path: String,
    /// Its digest, or that of all of them.
    pub digest: FileDigest,
    /// The files, if they are several.
    several: Option<BTreeSet<String>>,
    /// Where its chunks stand, if it is of a format that is cut again in parts.
    layout: Option<Layout>,
    /// What its recordings were read from, and its own files if they are several.
    pub recordings: TracedFiles,
    /// What joining them warned of.
    pub warnings: Vec<Diagnostic>,
    /// The line of each record, as long as the dataset is what was read whole.
    pub lines: Box<[u32]>,
}

/// The most files of a dataset that a record of a run names one by one.
const MAX_NAMED_FILES: usize = 20;

/// What became of a dataset since it was read.
pub enum Reread {
    /// It is the same, and so are its recordings.
    Same,
    /// Its shape is good. What its rows say is not looked at.
    New(Box<DatasetReading>),
    /// It may be wrong: reading it from the start shows where.
    Doubtful,
}

/// Reads the whole dataset, its recordings by `trace`. `held` are the chunks that are there already.
pub(crate) fn read(
    system: &dyn System,
    trace: &ReadTrace<'_>,
    wanted: &DatasetSource<'_>,
    held: HeldChunks,
) -> Result<(DatasetReading, RecordOrigins), Vec<Diagnostic>> {
    let path = &wanted.dataset.path;
    let unreadable = |reason: String| {
        let message = format!("cannot read the dataset `{path}`: {reason}");
        let place = wanted.said.clone().unwrap_or_else(|| Place::file(path));
        vec![Diagnostic::error(place, message).hint("paths are relative to the suite's folder")]
    };
    match dataset_files::find(wanted.dataset, trace).map_err(unreadable)? {
        Some(found) => read_several(trace, wanted, found, held),
        None => {
            let file = DataFile::read(system, path).map_err(unreadable)?;
            // What a session holds already is told apart by cutting all.
            let edited = if held.is_empty() { read_edited(wanted, file) } else { Err(file) };
            edited.or_else(|file| read_file(trace, wanted, file, held))
        }
    }
}

/// Reads a file of which an earlier process has cut most lines, and cuts the others. Gives it back where it has to be cut whole.
fn read_edited(
    wanted: &DatasetSource<'_>,
    file: DataFile,
) -> Result<(DatasetReading, RecordOrigins), DataFile> {
    let dataset = wanted.dataset;
    let recut = wanted.layout.filter(|_| file.packed.is_none() && is_cut_in_parts(wanted));
    let recut = recut.and_then(|layout| layout.clone().recut(&file.bytes, HeldChunks::default()));
    let Some(Recut { chunks, layout }) = recut else { return Err(file) };
    let text = match String::from_utf8(file.bytes) {
        Ok(text) => Arc::new(text),
        Err(error) => return Err(DataFile { bytes: error.into_bytes(), packed: None }),
    };
    let held = HeldDataset {
        path: dataset.path.clone(),
        digest: FileDigest::beside(&text),
        several: None,
        recordings: TracedFiles::default(),
        warnings: Vec::new(),
        lines: layout.lines(&text).into(),
        layout: Some(layout.clone()),
    };
    let chunks = layout.uncut(chunks.unwrap_or_default(), &text);
    let files = vec![OriginFile { path: dataset.path.clone(), file: text }];
    let origins = RecordOrigins::of(files);
    Ok((DatasetReading { chunks, held, changed: Vec::new() }, origins))
}

/// A file of records, as it was before it was compressed.
struct DataFile {
    bytes: Vec<u8>,
    /// The digest of the compressed bytes; none if it is not compressed.
    packed: Option<FileDigest>,
}

impl DataFile {
    fn read(system: &dyn System, path: &str) -> Result<Self, String> {
        let bytes = system.read(path).into_bytes()?;
        let packed = Compression::of_name(path).map(|_| FileDigest::of(&bytes));
        Ok(Self { bytes: unpacked(path, bytes)?, packed })
    }
}

fn read_file(
    trace: &ReadTrace<'_>,
    wanted: &DatasetSource<'_>,
    file: DataFile,
    held: HeldChunks,
) -> Result<(DatasetReading, RecordOrigins), Vec<Diagnostic>> {
    let dataset = wanted.dataset;
    let DataFile { bytes, packed } = file;
    split::decode(&dataset.path, &bytes).map_err(|diagnostic| vec![diagnostic])?;
    if dataset.sample == SampleUnit::Record && format_of(&dataset.path, dataset).is_none() {
        let place = wanted.said.clone().unwrap_or_else(|| Place::file(&dataset.path));
        let problem = Diagnostic::error(place, "the dataset's format does not show in its name");
        return Err(vec![problem.hint(
            "write `dataset: {path: …, format: jsonl}` or another \
                                      format",
        )]);
    }
    let file = Arc::new(String::from_utf8(bytes).unwrap_or_default());
    let digest = packed.unwrap_or_else(|| FileDigest::beside(&file));
    let origin = OriginFile { path: dataset.path.clone(), file: Arc::clone(&file) };
    let text = without_mark(&file);
    let source = SourceFile { path: &dataset.path, text, name: None, number: 0 };
    let rows = files::records(&source, dataset).map_err(shortened)?;
    let found = FoundRows { rows, files: vec![origin], digest, several: None };
    found.read(trace, wanted, held, Some(&file))
}

fn read_several(
    trace: &ReadTrace<'_>,
    wanted: &DatasetSource<'_>,
    found: FoundFiles,
    held: HeldChunks,
) -> Result<(DatasetReading, RecordOrigins), Vec<Diagnostic>> {
    let dataset = wanted.dataset;
    let mut all = blake3::Hasher::new();
    let mut origins = Vec::with_capacity(found.files.len());
    let mut names = Vec::with_capacity(found.files.len());
    for FoundFile { shown, name, depth, bytes } in found.files {
        all.update(format!("{name}\0{}\n", blake3::hash(&bytes).to_hex()).as_bytes());
        match split::decode(&shown, &bytes) {
            // A folder holds pictures and the like beside what is graded.
            Err(_) if dataset.sample == SampleUnit::Folder => continue,
            Err(problem) => return Err(vec![problem]),
            Ok(_) => {}
        }
        let file = Arc::new(String::from_utf8(bytes).unwrap_or_default());
        origins.push(OriginFile { path: shown, file });
        names.push((name, depth));
    }
    let rows = rows_of(&origins, &names, &found.root, dataset).map_err(shortened)?;
    if rows.is_empty() {
        let problem = Diagnostic::error(Place::file(&dataset.path), "the dataset has no records");
        return Err(vec![problem]);
    }
    let digest = FileDigest::known(all.finalize().to_hex().to_string());
    let several = Some(trace.files_read());
    let found = FoundRows { rows, files: origins, digest, several };
    found.read(trace, wanted, held, None)
}

/// The records of files, each with its name and the depth of its sample's folder. What is wrong with several files is said
/// of all of them.
fn rows_of(
    origins: &[OriginFile],
    names: &[(String, usize)],
    root: &str,
    dataset: &DatasetSpec,
) -> Result<Vec<RawRecord<'static>>, Vec<Diagnostic>> {
    let source = |at: usize| SourceFile {
        path: &origins[at].path,
        text: origins[at].text(),
        name: Some(FileName { path: &names[at].0, root }),
        number: at as u32,
    };
    let mut rows = Vec::new();
    let mut problems = Vec::new();
    let mut add = |found: Result<Vec<RawRecord<'_>>, Vec<Diagnostic>>| match found {
        Ok(found) => rows.extend(found.into_iter().map(RawRecord::into_owned)),
        // A file without records among others is no mistake.
        Err(found) => {
            problems.extend(found.into_iter().filter(|problem| !split::is_empty_file(problem)));
        }
    };
    if dataset.sample == SampleUnit::Folder {
        for group in folders(names) {
            let (first, depth) = &names[group.start];
            let folder = first.split('/').take(*depth).collect::<Vec<&str>>().join("/");
            let inside = group.map(|at| {
                let name = names[at].0.strip_prefix(&folder).unwrap_or(&names[at].0);
                (name.trim_start_matches('/'), source(at))
            });
            let files: Vec<(&str, SourceFile<'_>)> = inside.collect();
            let name = FileName { path: &folder, root };
            add(files::folder(name, &files, dataset).map(|record| vec![record]));
        }
    } else {
        (0..origins.len()).for_each(|at| add(files::records(&source(at), dataset)));
    }
    if problems.is_empty() { Ok(rows) } else { Err(problems) }
}

/// The files of each folder that is a sample: they follow one another.
fn folders(names: &[(String, usize)]) -> Vec<Range<usize>> {
    let folder = |at: usize| {
        let (name, depth) = &names[at];
        name.split('/').take(*depth)
    };
    let mut all: Vec<Range<usize>> = Vec::new();
    for at in 0..names.len() {
        match all.last_mut() {
            Some(last) if folder(last.start).eq(folder(at)) => last.end = at + 1,
            _ => all.push(at..at + 1),
        }
    }
    all
}

/// The rows of a dataset, before they are joined.
struct FoundRows<'a> {
    rows: Vec<RawRecord<'a>>,
    files: Vec<OriginFile>,
    digest: FileDigest,
    several: Option<BTreeSet<String>>,
}

impl FoundRows<'_> {
    /// Joins and cuts them. `shared` is the text that all of them are parts of.
    fn read(
        self,
        trace: &ReadTrace<'_>,
        wanted: &DatasetSource<'_>,
        held: HeldChunks,
        shared: Option<&Arc<String>>,
    ) -> Result<(DatasetReading, RecordOrigins), Vec<Diagnostic>> {
        let Self { mut rows, files, digest, several } = self;
        let dataset = wanted.dataset;
        if let Some(only) = wanted.only {
            rows.retain(|row| only.may_have(&row.text));
        }
        let source = wanted.source.as_ref().map_err(|diagnostic| vec![diagnostic.clone()])?;
        let origins = RecordOrigins::of(files);
        let (mut joined, warnings) = match source {
            None => (join::alone(rows), Vec::new()),
            Some(source) => {
                join_with(source, trace, dataset, rows, &|start| origins.place(start, None))?
            }
        };
        if dataset.trials == TrialNumbers::ByOrder {
            let spec = RowSpec::unnumbered(dataset);
            trials::number(&mut joined, &spec, dataset.condition.as_ref());
        }
        let starts: Vec<RecordStart> = joined.iter().map(|record| record.start).collect();
        let none = Arc::default();
        let chunks = chunk::chunks(&joined, held, shared.unwrap_or(&none));
        drop(joined);
        let layout = shared.filter(|_| is_cut_in_parts(wanted));
        let held = HeldDataset {
            path: dataset.path.clone(),
            digest,
            several,
            layout: layout.map(|file| Layout::new(file, &chunks, &starts)),
            recordings: trace.take(),
            warnings,
            lines: starts.iter().map(|start| start.line).collect(),
        };
        let origins = origins.with_starts(starts);
        Ok((DatasetReading { chunks, held, changed: Vec::new() }, origins))
    }
}

/// Whether an edited file is cut where it was edited alone.
fn is_cut_in_parts(wanted: &DatasetSource<'_>) -> bool {
    matches!(wanted.source, Ok(None)) && wanted.only.is_none() && is_lines(wanted.dataset)
}

/// Whether records are the lines of the file, as they are.
fn is_lines(dataset: &DatasetSpec) -> bool {
    format_of(&dataset.path, dataset) == Some(DatasetFormat::Jsonl)
        && dataset.sample == SampleUnit::Record
        && dataset.trials == TrialNumbers::Field
}

fn join_with<'a>(
    source: &RecordingSource,
    trace: &ReadTrace<'_>,
    dataset: &DatasetSpec,
    rows: Vec<RawRecord<'a>>,
    place: &dyn Fn(RecordStart) -> Place,
) -> Result<(Vec<JoinedRow<'a>>, Vec<Diagnostic>), Vec<Diagnostic>> {
    let recordings = recordings::read(source, trace)?;
    let files = JoinedFiles {
        dataset: &dataset.path,
        place,
        recordings: &source.path,
        by: &source.join.by,
        condition: dataset.condition.as_ref(),
    };
    let spec = RowSpec::unnumbered(dataset);
    let (joined, diagnostics) = join::join(rows, recordings, &spec, files);
    if diagnostics.iter().any(Diagnostic::is_error) {
        return Err(shortened(diagnostics));
    }
    Ok((joined, diagnostics))
}

impl HeldDataset {
    pub(crate) fn is_several(&self) -> bool {
        self.several.is_some()
    }

    /// The digests of all that it was read from, by path. Many files of its own are one entry.
    pub fn digests(&self) -> Vec<(&String, &FileDigest)> {
        let own = self.several.as_ref();
        let many = own.filter(|own| own.len() > MAX_NAMED_FILES);
        let digests = self.recordings.digests();
        let named = digests.filter(|(path, _)| many.is_none_or(|many| !many.contains(*path)));
        let one = (own.is_none() || many.is_some()).then_some((&self.path, &self.digest));
        one.into_iter().chain(named).collect()
    }

    /// The files and folders that it was read from.
    pub fn paths(&self) -> impl Iterator<Item = &String> {
        let one = self.several.is_none().then_some(&self.path);
        one.into_iter().chain(self.recordings.paths())
    }

    /// How its file is cut, if an edit of it is cut in parts.
    pub fn layout(&self) -> Option<Layout> {
        self.layout.as_ref().map(Layout::hashed)
    }

    /// Lets go of the text of the file.
    pub fn let_go(&mut self) {
        if let Some(layout) = &mut self.layout {
            layout.let_go();
        }
    }

    /// The stale files that `other` was read from and this was not, or the other way round.
    pub fn changed(&self, other: &Self, stale: &ChangedPaths) -> Vec<String> {
        let digests = |held: &Self| -> BTreeMap<String, FileDigest> {
            let recordings = held.recordings.digests();
            let own = held.several.is_none().then_some((&held.path, &held.digest));
            let all = own.into_iter().chain(recordings).filter(|(path, _)| stale.has(path));
            all.map(|(path, digest)| (path.clone(), digest.clone())).collect()
        };
        let before = digests(self);
        let after = digests(other);
        let paths: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
        let changed = paths.into_iter().filter(|path| before.get(*path) != after.get(*path));
        changed.cloned().collect()
    }

    /// Reads again what is `stale` of it. `chunks` are those that are there already.
    pub fn reread(
        &mut self,
        system: &dyn System,
        wanted: &DatasetSource<'_>,
        stale: &ChangedPaths,
        chunks: impl Fn() -> HeldChunks,
    ) -> Reread {
        let has_recordings = self.recordings.holds(system, stale);
        if has_recordings && (self.is_several() || !stale.has(&self.path)) {
            return Reread::Same;
        }
        let trace = ReadTrace::new(system);
        // What was one file may be a folder now.
        if self.is_several() || !matches!(dataset_files::find(wanted.dataset, &trace), Ok(None)) {
            let read = read(system, &ReadTrace::new(system), wanted, chunks());
            return read.map_or(Reread::Doubtful, |(reading, _)| self.reread_as(reading, stale));
        }
        let Ok(file) = DataFile::read(system, &self.path) else { return Reread::Doubtful };
        match self.layout.as_mut().and_then(|layout| layout.recut(&file.bytes, chunks())) {
            Some(Recut { chunks: None, .. }) => return Reread::Same,
            Some(Recut { chunks: Some(chunks), layout }) => {
                let beside = || FileDigest::beside(&Arc::new(file.bytes));
                let held = Self {
                    path: self.path.clone(),
                    digest: file.packed.unwrap_or_else(beside),
                    several: None,
                    layout: Some(layout),
                    recordings: TracedFiles::default(),
                    warnings: Vec::new(),
                    lines: Box::default(),
                };
                let changed = vec![self.path.clone()];
                return Reread::New(Box::new(DatasetReading { chunks, held, changed }));
            }
            None if self.layout.is_some() => {}
            None if has_recordings => {
                let digest = file.packed.clone().unwrap_or_else(|| FileDigest::of(&file.bytes));
                if digest == self.digest {
                    return Reread::Same;
                }
            }
            None => {}
        }
        match read_file(&ReadTrace::new(system), wanted, file, chunks()) {
            Ok((reading, _)) => self.reread_as(reading, stale),
            Err(_) => Reread::Doubtful,
        }
    }

    fn reread_as(&self, reading: DatasetReading, stale: &ChangedPaths) -> Reread {
        let changed = self.changed(&reading.held, stale);
        Reread::New(Box::new(DatasetReading { changed, ..reading }))
    }
}
