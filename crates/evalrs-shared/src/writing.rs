//! Writes what is new on this machine into its log.

use std::collections::BTreeMap;

use evalrs_model::key::ActionKey;
use evalrs_store::{Entry, EntryCheck, OutcomeStore, read_lines};
use evalrs_system::FileBytes;

use crate::bucket::Creation;
use crate::head::{LogHead, MOST_BYTES, ReadHead, SegmentName, sha256};
use crate::keys::WriterKey;
use crate::reading::{SharedAccess, head_path, newest, segment_path};
use crate::sealed::{SealedSegment, Sealer, is_small};
use crate::trust::ReaderTrust;

/// How many small objects a log has.
const MOST_SMALL: usize = 8;
/// How often a head is written again after another process has written one.
const ATTEMPTS: usize = 40;
/// Outcomes that are read at once.
const AT_ONCE: usize = 1_024;

/// Who writes.
pub struct Writer<'a> {
    pub name: &'a str,
    /// What its heads are signed with; none where the place of a log says enough.
    pub key: Option<&'a WriterKey>,
    /// Whom this machine believes.
    pub trust: &'a ReaderTrust,
}

/// What came of writing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PushReport {
    /// The place of the newest head; 0 where nothing was ever written.
    pub seq: u64,
    /// The outcomes that were written.
    pub new: u64,
    /// The outcomes of the log.
    pub outcomes: u64,
    /// Whether the bucket replaces what is there: then the last writer of a name wins.
    pub replaces: bool,
    /// What was wrong on the way.
    pub problems: Vec<String>,
}

/// Writes the outcomes of `store` that are not in the log of `writer` yet.
pub async fn push(
    access: SharedAccess<'_>,
    writer: &Writer<'_>,
    store: &dyn OutcomeStore,
) -> Result<PushReport, String> {
    let Writer { trust, .. } = *writer;
    let SharedAccess { bucket, local, system } = access;
    let own = own_trust(writer, trust);
    let mut report = PushReport::default();
    // Places behind the newest head that are taken by something that is none of this log.
    let mut taken = 0;
    let mut last = None;
    let mut written: Option<WrittenObjects> = None;
    for _ in 0..ATTEMPTS {
        let before = newest(access, writer.name, &own, &mut report.problems).await?;
        let before = before.as_ref();
        let seq = before.map_or(0, |before| before.head.seq);
        report.seq = seq;
        // The head that was written meanwhile is one of this log, or else its place is lost.
        taken = if last == Some(seq) { taken + 1 } else { 0 };
        last = Some(seq);
        let objects = match written.take().filter(|objects| objects.can_follow(before)) {
            Some(objects) => objects,
            None => write_objects(access, writer, store, before).await?,
        };
        if objects.new == 0 {
            return Ok(PushReport { outcomes: objects.known, ..report });
        }
        let head = LogHead::after(writer.name, seq + 1 + taken, before, objects.listed(before));
        let new = objects.new;
        written = Some(objects);
        let bytes = head.written(writer.key)?;
        if bytes.len() > MOST_BYTES {
            return Err("the log has too many objects".to_owned());
        }
        let path = head_path(writer.name, head.seq);
        if bucket.create(&path, bytes.clone()).await? == Creation::Exists {
            continue;
        }
        // A store that knows no conditions may have let two write it: what is there now is what counts.
        if bucket.get(&path, MOST_BYTES).await?.as_deref() != Some(&bytes) {
            report.replaces = true;
            continue;
        }
        local.keep_head(writer.name, &bytes, system).map_err(|error| error.to_string())?;
        return Ok(PushReport {
            seq: head.seq,
            new,
            outcomes: head.segments.iter().map(|segment| segment.outcomes).sum(),
            ..report
        });
    }
    Err(format!("other processes that write as `{}` were faster {ATTEMPTS} times", writer.name))
}

/// A writer believes itself, and what it wrote with other keys of its own.
pub(crate) fn own_trust(writer: &Writer<'_>, trust: &ReaderTrust) -> ReaderTrust {
    let name = writer.name.to_owned();
    let mut keys = trust.keys.get(&name).cloned().unwrap_or_default();
    keys.extend(writer.key.map(WriterKey::public));
    ReaderTrust {
        believe: vec![name.clone()],
        keys: BTreeMap::from([(name, keys)]),
        revoked: trust.revoked.clone(),
        by_prefix: writer.key.is_none(),
    }
}

/// What a log has already.
#[derive(Default)]
struct KnownEntries {
    /// Key → the generation of its outcome.
    generations: BTreeMap<ActionKey, u32>,
    /// The entries of small objects, by their names.
    small: BTreeMap<String, Vec<Entry>>,
}

/// Reads the objects of a log: from this machine, or where they are not here from the bucket.
async fn known(access: SharedAccess<'_>, head: &ReadHead) -> Result<KnownEntries, String> {
    let mut known = KnownEntries::default();
    for segment in &head.head.segments {
        let lines = lines_of(access, segment, &head.head.writer).await?;
        // An object that is gone is written again with what is here.
        let Some(lines) = lines else { continue };
        let mut entries = Vec::new();
        read_lines(&segment.sha256, &lines, &|_| Ok(EntryCheck::Read), &mut |entry| {
            entries.push(entry);
        });
        for entry in &entries {
            let held = known.generations.entry(entry.key).or_insert(entry.generation);
            *held = (*held).max(entry.generation);
        }
        if is_small(segment) {
            known.small.insert(segment.sha256.clone(), entries);
        }
    }
    Ok(known)
}

async fn lines_of(
    access: SharedAccess<'_>,
    segment: &SegmentName,
    writer: &str,
) -> Result<Option<Vec<u8>>, String> {
    let SharedAccess { bucket, local, system } = access;
    if let FileBytes::Bytes(lines) = system.read(&local.segment(&segment.sha256)) {
        return Ok(Some(lines));
    }
    let path = segment_path(writer, &segment.sha256);
    let most = usize::try_from(segment.bytes).unwrap_or(usize::MAX);
    let bytes = bucket.get(&path, most).await.unwrap_or_default();
    let lines = bytes.and_then(|bytes| crate::sealed::unsealed(segment, &bytes).ok());
    if let Some(lines) = &lines {
        local.keep(&segment.sha256, lines, system).map_err(|error| error.to_string())?;
    }
    Ok(lines)
}

/// The keys of the outcomes of a store that a log does not have, or has of an earlier generation.
fn new_keys(store: &dyn OutcomeStore, known: &KnownEntries) -> Vec<ActionKey> {
    let mut new = Vec::new();
    for keys in store.keys().chunks(AT_ONCE) {
        store.visit_many(keys, &mut |_, entry| {
            let is_new = |entry: &Entry| {
                known.generations.get(&entry.key).is_none_or(|held| entry.generation > *held)
            };
            new.extend(entry.filter(is_new).map(|entry| entry.key));
        });
    }
    new
}

/// Objects that are in the bucket and that no head lists yet.
///
/// Whoever loses the place of a head to another process lists the same objects in the next one. To read first what the other wrote
/// takes so long that a busy writer would be ahead each time.
struct WrittenObjects {
    objects: Vec<SegmentName>,
    /// The small objects whose outcomes they hold, too.
    replaced: Vec<String>,
    /// How many outcomes are new.
    new: u64,
    /// How many the log had.
    known: u64,
}

impl WrittenObjects {
    /// Whether a head after `before` may list them: it lists what they replace, and not what another process made of that.
    fn can_follow(&self, before: Option<&ReadHead>) -> bool {
        let listed = |name: &String| before.is_some_and(|before| before.head.lists(name));
        self.replaced.iter().all(listed)
    }

    /// The objects of the head after `before`.
    fn listed(&self, before: Option<&ReadHead>) -> Vec<SegmentName> {
        let listed = before.map(|before| before.head.segments.as_slice()).unwrap_or_default();
        let kept = listed.iter().filter(|segment| !self.replaced.contains(&segment.sha256));
        let mut all: Vec<SegmentName> = kept.cloned().collect();
        let is_new = |object: &&SegmentName| !all.contains(object);
        let new: Vec<SegmentName> = self.objects.iter().filter(is_new).cloned().collect();
        all.extend(new);
        all
    }
}

/// Writes what a log does not have after the head `before`. Many small objects become one. No more than an object is in memory.
async fn write_objects(
    access: SharedAccess<'_>,
    writer: &Writer<'_>,
    store: &dyn OutcomeStore,
    before: Option<&ReadHead>,
) -> Result<WrittenObjects, String> {
    let known = match before {
        Some(before) => known(access, before).await?,
        None => KnownEntries::default(),
    };
    let new = new_keys(store, &known);
    let mut written = WrittenObjects {
        objects: Vec::new(),
        replaced: Vec::new(),
        new: new.len() as u64,
        known: known.generations.len() as u64,
    };
    let mut sealer = Sealer::default();
    if !new.is_empty() && known.small.len() >= MOST_SMALL {
        written.replaced.extend(known.small.keys().cloned());
        for entry in winners(known.small.into_values().flatten()) {
            if let Some(full) = sealer.add(&entry)? {
                written.objects.push(write_segment(access, writer, full).await?);
            }
        }
    }
    for keys in new.chunks(AT_ONCE) {
        for entry in store.get_many(keys).into_iter().flatten() {
            if let Some(full) = sealer.add(&entry)? {
                written.objects.push(write_segment(access, writer, full).await?);
            }
        }
    }
    if let Some(last) = sealer.finish()? {
        written.objects.push(write_segment(access, writer, last).await?);
    }
    Ok(written)
}

/// The entries that win over others of their keys, sorted by key.
fn winners(entries: impl Iterator<Item = Entry>) -> impl Iterator<Item = Entry> {
    let mut winners: BTreeMap<ActionKey, Entry> = BTreeMap::new();
    for entry in entries {
        if winners.get(&entry.key).is_none_or(|held| entry.wins_over(held)) {
            winners.insert(entry.key, entry);
        }
    }
    winners.into_values()
}

async fn write_segment(
    access: SharedAccess<'_>,
    writer: &Writer<'_>,
    segment: SealedSegment,
) -> Result<SegmentName, String> {
    let SharedAccess { bucket, local, system } = access;
    let SealedSegment { name, bytes, lines } = segment;
    let path = segment_path(writer.name, &name.sha256);
    if bucket.create(&path, bytes).await? == Creation::Exists {
        let most = usize::try_from(name.bytes).unwrap_or(usize::MAX);
        let there = bucket.get(&path, most).await?;
        if there.is_none_or(|there| sha256(&there) != name.sha256) {
            return Err(format!(
                "`{path}` has other bytes than its name says: somebody else wrote it"
            ));
        }
    }
    local.keep(&name.sha256, &lines, system).map_err(|error| error.to_string())?;
    Ok(name)
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};
    use std::path::Path;

    use evalrs_model::key::ActionKey;
    use evalrs_store::{Entry, EntryCheck, MemoryStore, OutcomeStore, read_lines};
    use evalrs_system::memory::MemorySystem;
    use evalrs_system::{FileBytes, System};

    use super::{Writer, push};
    use crate::bucket::{Bucket, USUAL_SILENCE};
    use crate::keys::WriterKey;
    use crate::local::LocalCopy;
    use crate::reading::{PulledLog, SharedAccess, pull};
    use crate::trust::ReaderTrust;

    /// Four processes that push at once.
    struct Pushers {
        names: [&'static str; 4],
        keys: [WriterKey; 4],
        bucket: Bucket,
        trust: ReaderTrust,
    }

    impl Pushers {
        fn over(folder: &Path, names: [&'static str; 4]) -> Self {
            let url = format!("file://{}", folder.display());
            let keys = names.map(|_| WriterKey::generate().unwrap().0);
            let mut trust = ReaderTrust {
                believe: BTreeSet::from(names).into_iter().map(str::to_owned).collect(),
                ..ReaderTrust::default()
            };
            for (name, key) in names.iter().zip(&keys) {
                trust.keys.entry((*name).to_owned()).or_default().push(key.public());
            }
            let bucket = Bucket::open(&url, &BTreeMap::new(), USUAL_SILENCE).unwrap();
            Self { names, keys, bucket, trust }
        }

        /// Adds an outcome and pushes it, again and again.
        async fn push(&self, at: u8, pushes: u16) {
            let system = MemorySystem::default();
            let Self { names, keys, bucket, trust } = self;
            let local = LocalCopy::of("/records", bucket.url());
            let access = SharedAccess { bucket, local: &local, system: &system };
            let at_once = usize::from(at);
            let writer = Writer { name: names[at_once], key: Some(&keys[at_once]), trust };
            let store = MemoryStore::default();
            for number in 0..pushes {
                let mut digits = [at; 32];
                digits[..2].copy_from_slice(&number.to_be_bytes());
                let entry =
                    Entry { key: ActionKey(digits), generation: 0, body: "{\"a\":1}".to_owned() };
                store.put_many(&[entry]).unwrap();
                let pushed = push(access, &writer, &store).await.unwrap();
                assert_eq!((pushed.new, pushed.replaces), (1, false));
                assert_eq!(pushed.problems, Vec::<String>::new());
            }
        }

        /// How many outcomes a reader finds after so many pushes of each; and the logs that it read.
        fn read_after(&self, pushes: u16) -> (usize, Vec<PulledLog>) {
            let Self { bucket, trust, .. } = self;
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let system = MemorySystem::default();
            let local = LocalCopy::of("/records", bucket.url());
            let pulled = runtime.unwrap().block_on(async {
                let [one, two, three, four] = [0, 1, 2, 3].map(|at| self.push(at, pushes));
                tokio::join!(one, two, three, four);
                let access = SharedAccess { bucket, local: &local, system: &system };
                pull(access, trust).await.unwrap()
            });
            assert_eq!(pulled.problems, Vec::<String>::new());
            let mut keys = BTreeSet::new();
            for (_, path) in local.believed(trust, &system) {
                let FileBytes::Bytes(lines) = system.read(&path) else { panic!("{path}") };
                read_lines(&path, &lines, &|_| Ok(EntryCheck::Read), &mut |entry| {
                    keys.insert(entry.key);
                });
            }
            (keys.len(), pulled.writers)
        }
    }

    #[test]
    fn a_thousand_pushes_of_four_writers_lose_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let pushers = Pushers::over(folder.path(), ["ci", "nightly", "team", "release"]);
        let (outcomes, logs) = pushers.read_after(250);
        assert_eq!(outcomes, 1_000);
        for log in &logs {
            assert_eq!((log.seq, log.outcomes), (250, 250), "{}", log.writer);
        }
    }

    /// As jobs of one workflow write: the log is one, and no job waits for ever.
    #[test]
    fn four_processes_that_write_as_one_name_lose_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let (outcomes, logs) = Pushers::over(folder.path(), ["ci"; 4]).read_after(75);
        assert_eq!(outcomes, 300);
        let [log] = logs.as_slice() else { panic!("{logs:?}") };
        assert_eq!((log.seq, log.outcomes), (300, 300));
    }
}
