//! The store on disk: append-only files of lines, one file per writing process, and the index over them.
//!
//! A process writes to its own file only, so nobody waits for a lock and no file has two writers; everything else about
//! a segment follows from that. It holds a lock on that file while it writes it, which tells a sweep to leave the file
//! alone. Nothing is ever changed in place: the index in memory is made again from the files when
//! they contradict it, and an index side file is believed only until a line read through it proves it wrong.
//! A failed write is final for this store: after it nobody knows what of the file is on disk. Open it again to go on.
#![expect(clippy::disallowed_methods, reason = "the store owns its files; nothing else opens them")]

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write as _};
use std::iter::Peekable;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};

use crate::blob::{BlobFolder, LostBlobs};
use crate::claims::Claims;
use crate::entry::WARNING_LIMIT;
use crate::line;
use crate::line::elements::Elements;
use crate::outcome_store::lock;
use crate::segment::files::{read_group, segment_folder, segment_names, unreadable, write_error};
use crate::segment::index::{Index, write_idx};
use crate::segment::line_batch::{LineBatch, NewLine};
use crate::segment::own_segment::OwnSegment;
use crate::segment::removal_lock::keep_segments;
use crate::{CallClaim, Entry, EntryLine, OutcomeStore, StoreError};
use evalrs_model::key::ActionKey;

/// The size at which a segment is sealed, in bytes.
pub(crate) const SEAL_AT: u64 = 64 << 20;
/// How often the folder is listed again because segments went away meanwhile: where a sweep does not wait for readers.
const LISTINGS: usize = 8;

/// Outcomes in the segments of one cache folder.
///
/// The folder is first looked at when something is asked; what other processes add is seen at the next miss. Reading needs
/// the lock of `reader` alone, so nobody who reads waits for the disk to take what another thread writes.
pub struct SegmentStore {
    /// `<cache>/v1/seg`.
    folder: PathBuf,
    blobs: BlobFolder,
    /// Locked before `reader` where both are.
    writer: Mutex<SegmentWriter>,
    reader: Mutex<SegmentReader>,
    /// Locked before both.
    claims: Mutex<Claims>,
}

/// What a store takes on disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Its entries, those that no longer win included.
    pub entries: u64,
    /// The files they stand in.
    pub segments: u64,
    /// The bytes of these and their indexes, and of the blobs.
    pub bytes: u64,
    /// Large bodies that stand beside them.
    pub blobs: u64,
    /// The bytes of these.
    pub blob_bytes: u64,
}

/// The side of a store that writes.
#[derive(Default)]
pub struct SegmentWriter {
    pub own: Option<OwnSegment>,
    broken: Option<StoreError>,
    pub(crate) seal_at: u64,
    /// The bytes of all lines that were written.
    pub written: u64,
    /// The segments that were made.
    made: Vec<String>,
}

#[derive(Default)]
struct SegmentReader {
    folder: PathBuf,
    index: Index,
    /// The segment this process writes, as far as it is durable: what is on its way to the disk is not read.
    own: Option<(String, u64)>,
    /// Whether other processes have written since the folder was first looked at.
    others: bool,
    warnings: Vec<String>,
    /// Every warning so far: each is given once, however often a damaged file is met.
    warned: BTreeSet<String>,
    lost: LostBlobs,
}

impl SegmentStore {
    /// The store in the cache folder `dir`, which need not exist.
    pub fn open(dir: impl Into<PathBuf>) -> Self {
        let dir = dir.into();
        let folder = segment_folder(&dir);
        let reader = SegmentReader { folder: folder.clone(), ..SegmentReader::default() };
        let writer = SegmentWriter { seal_at: SEAL_AT, ..SegmentWriter::default() };
        let blobs = BlobFolder::of(&dir);
        let claims = Mutex::new(Claims::of(folder.with_file_name("live")));
        Self { folder, blobs, writer: Mutex::new(writer), reader: Mutex::new(reader), claims }
    }

    /// The same where files are locked by `try_lock`.
    #[cfg(test)]
    pub(crate) fn locking_by(self, try_lock: crate::claims::TryLock) -> Self {
        lock(&self.claims).try_lock = try_lock;
        self
    }

    /// Closes the segment written so far and writes its side file; a later put starts another one.
    pub fn seal(&self) {
        self.seal_own(&mut self.writer());
    }

    /// Removes the written file: its content is stored elsewhere.
    pub fn take_back(&self) {
        let mut writer = self.writer();
        writer.own = None;
        for name in std::mem::take(&mut writer.made) {
            let path = self.folder.join(name);
            let _ = fs::remove_file(path.with_extension("idx"));
            let _ = fs::remove_file(path);
        }
    }

    /// What the store takes on disk.
    pub fn totals(&self) -> Totals {
        let mut reader = self.reader();
        reader.refresh();
        let segments = reader.index.segments.iter().map(|segment| self.folder.join(&segment.name));
        let size = |path: &Path| fs::metadata(path).map_or(0, |file| file.len());
        let bytes: u64 = segments.map(|path| size(&path) + size(&path.with_extension("idx"))).sum();
        let mut totals = Totals {
            entries: reader.index.entries,
            segments: reader.index.segments.len() as u64,
            bytes,
            ..Totals::default()
        };
        match self.blobs.list() {
            Ok(blobs) => {
                totals.blobs = blobs.iter().filter(|file| file.digest.is_some()).count() as u64;
                totals.blob_bytes = blobs.iter().map(|file| file.bytes).sum();
                totals.bytes += totals.blob_bytes;
            }
            Err(error) => {
                let warning = unreadable(&self.folder.with_file_name("blob"), &error);
                reader.warn([warning]);
            }
        }
        totals
    }

    pub fn writer(&self) -> MutexGuard<'_, SegmentWriter> {
        lock(&self.writer)
    }

    fn reader(&self) -> MutexGuard<'_, SegmentReader> {
        lock(&self.reader)
    }

    fn seal_own(&self, writer: &mut SegmentWriter) {
        // Its lock is held to the end: no sweep takes the segment away under its new index.
        let Some(own) = writer.own.take() else { return };
        self.reader().own = None;
        let path = self.folder.join(&own.name);
        if own.length == 0 {
            return own.remove(&self.folder);
        }
        if let Err(error) = write_idx(&path) {
            let warning = format!("cannot write an index of `{}`: {error}", path.display());
            self.reader().warn([warning]);
        }
    }

    /// Writes lines, and before them the blobs that they name. They are durable when this returns.
    pub fn put<'a>(&self, lines: impl Iterator<Item = NewLine<'a>>) -> Result<(), StoreError> {
        let mut writer = self.writer();
        if let Some(error) = &writer.broken {
            return Err(error.clone());
        }
        let mut lines = lines.peekable();
        while lines.peek().is_some() {
            self.write(&mut writer, &mut lines).inspect_err(|error| {
                self.reader().own = None;
                writer.broken = Some(error.clone());
            })?;
            if writer.own.as_ref().is_some_and(|own| own.length >= writer.seal_at) {
                self.seal_own(&mut writer);
            }
        }
        Ok(())
    }

    /// Writes as many lines as are written at once. What of a failed write is on disk, nobody knows.
    fn write<'a>(
        &self,
        writer: &mut SegmentWriter,
        lines: &mut Peekable<impl Iterator<Item = NewLine<'a>>>,
    ) -> Result<(), StoreError> {
        let mut own = match writer.own.take() {
            Some(own) if own.is_intact(&self.folder) => own,
            _ => {
                let own = OwnSegment::create(&self.folder)?;
                writer.made.push(own.name.clone());
                own
            }
        };
        let mut batch = LineBatch::new(own.length, &mut own.bases);
        batch.take(lines);
        let LineBatch { text, blobs, .. } = batch;
        // Until the lines are durable, no sweep takes their blobs for needless.
        let locks = self.blobs.write(&blobs)?;
        self.append(&mut own, text.as_bytes())?;
        drop(locks);
        writer.own = Some(own);
        writer.written += text.len() as u64;
        for blob in &blobs {
            self.reader().lost.mend(blob.reference.digest);
        }
        Ok(())
    }

    fn append(&self, own: &mut OwnSegment, text: &[u8]) -> Result<(), StoreError> {
        self.reader().own = Some((own.name.clone(), own.length));
        let written = own.file.write_all(text).and_then(|()| own.file.sync_data());
        written.map_err(|error| write_error(&self.folder.join(&own.name), &error))?;
        own.length += text.len() as u64;
        let mut reader = self.reader();
        reader.own = Some((own.name.clone(), own.length));
        reader.absorb(&own.name);
        Ok(())
    }

    /// The entry of a line. Where its blob cannot be read, the one that wins without it.
    fn load(&self, mut line: EntryLine) -> Option<Entry> {
        loop {
            match self.blobs.entry(line) {
                Ok(entry) => return Some(entry),
                Err((lost, problem)) => line = self.reader().find_instead(&lost, &problem)?,
            }
        }
    }
}

impl SegmentReader {
    /// Indexes what is new in the folder.
    fn refresh(&mut self) {
        let _kept = keep_segments(&self.folder);
        self.refresh_kept();
    }

    /// Indexes what is new in the folder, from which nothing is removed now. A segment that is gone nevertheless stands in
    /// one that is newer than the list, so then the folder is listed again.
    fn refresh_kept(&mut self) {
        // What this process writes is indexed at once.
        let before = self.index.looked.then_some(self.index.entries);
        self.index.looked = true;
        self.list();
        self.others |= before.is_some_and(|before| before != self.index.entries);
    }

    fn list(&mut self) {
        for _ in 0..LISTINGS {
            match segment_names(&self.folder) {
                Ok(names) if names.iter().all(|name| self.absorb(name)) => return,
                Ok(_) => {}
                Err(error) => return self.warn([unreadable(&self.folder, &error)]),
            }
        }
    }

    /// Indexes what is new in one segment, unless it went away.
    fn absorb(&mut self, name: &str) -> bool {
        let path = self.folder.join(name);
        let durable = self.own.as_ref().filter(|(own, _)| own == name).map(|(_, length)| *length);
        match self.index.absorb(name, &path, durable) {
            Ok(skipped) => self.warn(skipped),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return false,
            Err(error) => self.warn([unreadable(&path, &error)]),
        }
        true
    }

    /// Reads the winners of `keys`, file by file from front to back, and reports where the files do not hold what the
    /// index says.
    fn read(&self, keys: &[ActionKey]) -> (Vec<Option<EntryLine>>, Vec<String>) {
        let mut found = vec![None; keys.len()];
        let mut wanted = Vec::with_capacity(keys.len());
        for (place, key) in keys.iter().enumerate() {
            wanted.extend(self.index.candidates(key).map(|slot| (*slot, place)));
        }
        wanted.sort_unstable_by_key(|(slot, place)| (slot.segment, slot.offset, *place));
        let mut problems = Vec::new();
        for group in wanted.chunk_by(|left, right| left.0.segment == right.0.segment) {
            let path = self.folder.join(&self.index.segments[group[0].0.segment as usize].name);
            let is_lost = |digest: &[u8; 32]| self.lost.has(digest);
            if let Err(error) = read_group(&path, group, keys, &is_lost, &mut found) {
                problems.push(unreadable(&path, &error));
            }
        }
        (found, problems)
    }

    /// The lines of the winners of `keys`.
    fn find(&mut self, keys: &[ActionKey]) -> Vec<Option<EntryLine>> {
        // What the index says is where things are until they are read.
        let _kept = keep_segments(&self.folder);
        self.find_kept(keys)
    }

    /// The lines of the winners of `keys` in a folder from which nothing is removed now.
    fn find_kept(&mut self, keys: &[ActionKey]) -> Vec<Option<EntryLine>> {
        if !self.index.looked || keys.iter().any(|key| !self.index.winners.contains_key(key)) {
            self.refresh_kept();
        }
        let (mut found, mut problems) = self.read(keys);
        // A sweep may have moved entries to other segments. If that was not it, a line that a side file is wrong about
        // may even have hidden an intact one: only a scan of all tells.
        for is_thorough in [false, true] {
            if problems.is_empty() {
                break;
            }
            self.look_again(is_thorough);
            (found, problems) = self.read(keys);
        }
        self.warn(problems);
        found
    }

    /// Makes the index again.
    fn look_again(&mut self, is_thorough: bool) {
        self.index = Index::default();
        self.index.is_thorough = is_thorough;
        self.others = true;
        self.refresh_kept();
    }

    /// The line that wins where the blob of `lost` cannot be read.
    fn find_instead(&mut self, lost: &EntryLine, problem: &str) -> Option<EntryLine> {
        let key = lost.key;
        let _kept = keep_segments(&self.folder);
        // A sweep may have removed blob and line, because another one wins meanwhile. If that was not it, another entry of
        // the key may win, which only a thorough index knows.
        if self.index.is_thorough {
            self.refresh_kept();
        } else {
            self.look_again(true);
        }
        let found = self.find_kept(&[key]).pop().flatten();
        let digest = lost.blob()?.digest;
        if found.as_ref().and_then(EntryLine::blob).is_none_or(|blob| blob.digest != digest) {
            return found;
        }
        self.lost.add(lost);
        self.warn([format!("skipped the cached outcome of {key}: {problem}")]);
        self.find_kept(&[key]).pop().flatten()
    }

    fn warn(&mut self, warnings: impl IntoIterator<Item = String>) {
        for warning in warnings {
            if self.warned.len() < WARNING_LIMIT && self.warned.insert(warning.clone()) {
                self.warnings.push(warning);
            }
        }
    }
}

impl OutcomeStore for SegmentStore {
    fn get_many(&self, keys: &[ActionKey]) -> Vec<Option<Entry>> {
        let mut found = Vec::with_capacity(keys.len());
        self.visit_many(keys, &mut |_, entry| found.push(entry));
        found
    }

    fn visit_many(&self, keys: &[ActionKey], visit: &mut dyn FnMut(usize, Option<Entry>)) {
        // Nobody waits for a blob that another thread reads.
        for (place, line) in self.lines_of(keys).into_iter().enumerate() {
            visit(place, line.and_then(|line| self.load(line)));
        }
    }

    fn lines_of(&self, keys: &[ActionKey]) -> Vec<Option<EntryLine>> {
        self.reader().find(keys)
    }

    fn put_many(&self, entries: &[Entry]) -> Result<(), StoreError> {
        let checked: Vec<Elements> = entries.iter().map(line::check).collect::<Result<_, _>>()?;
        let lost = self.reader().lost.clone();
        let lines = entries.iter().zip(checked);
        self.put(
            lines.map(|(entry, elements)| NewLine::at(entry, lost.generation_of(entry), elements)),
        )
    }

    fn try_writing(&self) -> Result<(), StoreError> {
        // Where something was written already, that was the trial: this does not wait for what is being written now.
        if self.reader().own.as_ref().is_some_and(|(_, durable)| *durable > 0) {
            return Ok(());
        }
        let mut writer = self.writer();
        if let Some(error) = &writer.broken {
            return Err(error.clone());
        }
        if writer.own.is_none() {
            let tried = OwnSegment::create(&self.folder)
                .and_then(|own| own.try_room(&self.folder).map(|()| own));
            let own = tried.inspect_err(|error| writer.broken = Some(error.clone()))?;
            writer.own = Some(own);
        }
        Ok(())
    }

    fn claim(&self, key: ActionKey, generation: u32) -> CallClaim {
        let mut claims = lock(&self.claims);
        if !claims.claim(key) {
            return CallClaim::Elsewhere;
        }
        let mut reader = self.reader();
        if claims.take_news(key) {
            reader.refresh();
        }
        if reader.index.generation_of(&key).is_some_and(|stored| stored >= generation) {
            claims.release(&[key]);
            return CallClaim::Stored;
        }
        CallClaim::Own
    }

    fn release(&self, keys: &[ActionKey]) {
        lock(&self.claims).release(keys);
    }

    fn unclaimed(&self, keys: &[ActionKey]) -> Vec<ActionKey> {
        let free = lock(&self.claims).free(keys);
        if !free.is_empty() {
            self.reader().refresh();
        }
        free
    }

    fn others_wrote(&self) -> bool {
        let mut reader = self.reader();
        reader.refresh();
        reader.others
    }

    fn keys(&self) -> Vec<ActionKey> {
        let mut reader = self.reader();
        reader.refresh();
        let mut keys: Vec<ActionKey> = reader.index.winners.keys().copied().collect();
        keys.sort_unstable();
        keys
    }

    fn take_warnings(&self) -> Vec<String> {
        let unshared = lock(&self.claims).take_warning();
        unshared.into_iter().chain(std::mem::take(&mut self.reader().warnings)).collect()
    }
}

impl Drop for SegmentStore {
    fn drop(&mut self) {
        self.seal();
    }
}
