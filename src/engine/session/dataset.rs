//! Reads a dataset and its recordings into chunks that no database holds yet, as a whole or where it was edited.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::digest::FileDigest;
use super::problems::shortened;
use super::read_trace::{ReadTrace, TracedFiles};
use super::recordings;
use super::recordings::RecordingSource;
use crate::base::compression::{Compression, unpacked};
use crate::base::diagnostic::{Diagnostic, Place};
use crate::base::system::System;
use crate::effects::fs_watch::ChangedPaths;
use crate::pipeline::dataset::chunk;
use crate::pipeline::dataset::chunk::{Chunked, HeldChunks};
use crate::pipeline::dataset::fields::RowSpec;
use crate::pipeline::dataset::join;
use crate::pipeline::dataset::join::{Joined, JoinedFiles};
use crate::pipeline::dataset::layout::{Layout, Recut};
use crate::pipeline::dataset::split;
use crate::pipeline::dataset::split::{RawRecord, RecordStart};
use crate::pipeline::spec::{DatasetFormat, DatasetSpec};

/// What a suite says of its dataset.
pub(crate) struct DatasetSource<'a> {
    pub(crate) dataset: &'a DatasetSpec,
    /// Where the suite names it.
    pub(crate) said: Option<Place>,
    /// The recordings that are joined to its rows, if rows do not carry their own; or why there can be none.
    pub(crate) source: Result<Option<RecordingSource>, Diagnostic>,
}

/// A dataset that was read.
pub(crate) struct DatasetReading {
    pub(crate) chunks: Vec<Chunked>,
    pub(crate) held: HeldDataset,
    /// The files that say something else than those that are held.
    pub(crate) changed: Vec<String>,
}

/// Where the records of a dataset were read, for messages.
pub(crate) struct RecordOrigins {
    file: Arc<String>,
    /// Where each record starts.
    pub(crate) starts: Vec<RecordStart>,
}

impl RecordOrigins {
    /// The text of the dataset, without a byte order mark.
    pub(crate) fn text(&self) -> &str {
        without_mark(&self.file)
    }
}

/// What a session remembers of the dataset it holds.
#[derive(Debug)]
pub(crate) struct HeldDataset {
    /// The file.
    pub(crate) path: String,
    /// Its digest.
    pub(crate) digest: FileDigest,
    /// Where its chunks stand, if it is of a format that is cut again in parts.
    layout: Option<Layout>,
    /// What its recordings were read from; nothing if its rows carry their own.
    pub(crate) recordings: TracedFiles,
    /// What joining them warned of.
    pub(crate) warnings: Vec<Diagnostic>,
    /// The line of each record, as long as the dataset is what was read whole.
    pub(crate) lines: Box<[u32]>,
}

/// What became of a dataset since it was read.
pub(crate) enum Reread {
    /// It is the same, and so are its recordings.
    Same,
    /// Its shape is good. What its rows say is not looked at.
    New(DatasetReading),
    /// It may be wrong: reading it from the start tells what.
    Doubtful,
}

fn without_mark(file: &str) -> &str {
    file.strip_prefix('\u{feff}').unwrap_or(file)
}

/// Reads the whole dataset, its recordings by `trace`. `held` are the chunks that are there already.
pub(crate) fn read(
    system: &dyn System,
    trace: &ReadTrace<'_>,
    wanted: &DatasetSource<'_>,
    held: HeldChunks,
) -> Result<(DatasetReading, RecordOrigins), Vec<Diagnostic>> {
    let path = &wanted.dataset.path;
    let file = DataFile::read(system, path).map_err(|reason| {
        let message = format!("cannot read the dataset `{path}`: {reason}");
        let place = wanted.said.clone().unwrap_or_else(|| Place::file(path));
        vec![Diagnostic::error(place, message).hint("paths are relative to the suite's folder")]
    })?;
    read_file(trace, wanted, file, held)
}

/// A file of records, as it was before it was compressed.
struct DataFile {
    bytes: Vec<u8>,
    /// The digest of the compressed bytes; none if it is not compressed.
    packed: Option<FileDigest>,
}

impl DataFile {
    /// Reads the file at `path`, or says why it cannot be.
    fn read(system: &dyn System, path: &str) -> Result<Self, String> {
        let bytes = system.read(path).into_bytes()?;
        let packed = Compression::of_name(path).map(|_| FileDigest::of(&bytes));
        Ok(Self { bytes: unpacked(path, bytes)?, packed })
    }

    fn digest(&self) -> FileDigest {
        self.packed.clone().unwrap_or_else(|| FileDigest::of(&self.bytes))
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
    let file = Arc::new(String::from_utf8(bytes).unwrap_or_default());
    let digest = packed.unwrap_or_else(|| FileDigest::beside(&file));
    let text = without_mark(&file);
    let rows = split::split(&dataset.path, text, dataset.format).map_err(shortened)?;
    let source = wanted.source.as_ref().map_err(|diagnostic| vec![diagnostic.clone()])?;
    let (joined, warnings) = match source {
        None => (join::alone(rows), Vec::new()),
        Some(source) => join_with(source, trace, dataset, rows, text)?,
    };
    let starts: Vec<RecordStart> = joined.iter().map(|record| record.start).collect();
    let chunks = chunk::chunks(&joined, held, &file);
    drop(joined);
    let is_cut_in_parts = source.is_none() && dataset.format == DatasetFormat::Jsonl;
    let layout = is_cut_in_parts.then(|| Layout::new(&file, &chunks, &starts));
    let path = dataset.path.clone();
    let recordings = trace.take();
    let lines = starts.iter().map(|start| start.line).collect();
    let held = HeldDataset { path, digest, layout, recordings, warnings, lines };
    Ok((DatasetReading { chunks, held, changed: Vec::new() }, RecordOrigins { file, starts }))
}

fn join_with<'a>(
    source: &RecordingSource,
    trace: &ReadTrace<'_>,
    dataset: &DatasetSpec,
    rows: Vec<RawRecord<'a>>,
    text: &str,
) -> Result<(Vec<Joined<'a>>, Vec<Diagnostic>), Vec<Diagnostic>> {
    let recordings = recordings::read(source, trace)?;
    let files = JoinedFiles { dataset: &dataset.path, text, recordings: &source.path };
    let spec = RowSpec::new(dataset, None);
    let (joined, diagnostics) = join::join(rows, recordings, &spec, files);
    if diagnostics.iter().any(Diagnostic::is_error) {
        return Err(shortened(diagnostics));
    }
    Ok((joined, diagnostics))
}

impl HeldDataset {
    /// Lets go of the text of the file.
    pub(crate) fn let_go(&mut self) {
        if let Some(layout) = &mut self.layout {
            layout.let_go();
        }
    }

    /// The stale files that `other` was read from and this was not, or the other way round.
    pub(crate) fn changed(&self, other: &Self, stale: &ChangedPaths) -> Vec<String> {
        let digests = |held: &Self| -> BTreeMap<String, FileDigest> {
            let recordings = held.recordings.digests();
            let own = std::iter::once((&held.path, &held.digest));
            let all = own.chain(recordings).filter(|(path, _)| stale.has(path));
            all.map(|(path, digest)| (path.clone(), digest.clone())).collect()
        };
        let before = digests(self);
        let after = digests(other);
        let paths: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
        let changed = paths.into_iter().filter(|path| before.get(*path) != after.get(*path));
        changed.cloned().collect()
    }

    /// Reads again what is `stale` of it. `chunks` are those that are there already.
    pub(crate) fn reread(
        &mut self,
        system: &dyn System,
        wanted: &DatasetSource<'_>,
        stale: &ChangedPaths,
        chunks: impl Fn() -> HeldChunks,
    ) -> Reread {
        let has_recordings = self.recordings.holds(system, stale);
        if has_recordings && !stale.has(&self.path) {
            return Reread::Same;
        }
        let Ok(file) = DataFile::read(system, &self.path) else { return Reread::Doubtful };
        match self.layout.as_mut().and_then(|layout| layout.recut(&file.bytes, chunks())) {
            Some(Recut { chunks: None, .. }) => return Reread::Same,
            Some(Recut { chunks: Some(chunks), layout }) => {
                let beside = || FileDigest::beside(&Arc::new(file.bytes));
                let held = Self {
                    path: self.path.clone(),
                    digest: file.packed.unwrap_or_else(beside),
                    layout: Some(layout),
                    recordings: TracedFiles::default(),
                    warnings: Vec::new(),
                    lines: Box::default(),
                };
                let changed = vec![self.path.clone()];
                return Reread::New(DatasetReading { chunks, held, changed });
            }
            None if self.layout.is_some() => {}
            None if has_recordings && file.digest() == self.digest => return Reread::Same,
            None => {}
        }
        match read_file(&ReadTrace::new(system), wanted, file, chunks()) {
            Ok((reading, _)) => {
                let changed = self.changed(&reading.held, stale);
                Reread::New(DatasetReading { changed, ..reading })
            }
            Err(_) => Reread::Doubtful,
        }
    }
}
