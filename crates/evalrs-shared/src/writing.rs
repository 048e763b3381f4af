//! Writes what is new on this machine into its log.

use std::collections::BTreeMap;

use evalrs_model::key::ActionKey;
use evalrs_store::{Entry, EntryCheck, OutcomeStore, read_lines};
use evalrs_system::FileBytes;

use crate::bucket::Creation;
use crate::head::{LogHead, MOST_BYTES, ReadHead, SegmentName, sha256};
use crate::keys::WriterKey;
use crate::reading::{SharedAccess, head_path, newest, segment_path};
use crate::sealed::{SealedSegment, Sealer};
use crate::trust::ReaderTrust;

/// An object with fewer bytes is small: many of them become one.
const SMALL: u64 = 4 << 20;
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
    for _ in 0..ATTEMPTS {
        let before = newest(access, writer.name, &own, &mut report.problems).await?;
        let seq = before.as_ref().map_or(0, |before| before.head.seq);
        report.seq = seq;
        // The head that was written meanwhile is one of this log, or else its place is lost.
        taken = if last == Some(seq) { taken + 1 } else { 0 };
        last = Some(seq);
        let known = before.as_ref().map(|before| known(access, before));
        let known = match known {
            Some(reading) => reading.await?,
            None => KnownEntries::default(),
        };
        report.outcomes = known.generations.len() as u64;
        let new = new_keys(store, &known);
        if new.is_empty() {
            return Ok(report);
        }
        let entries = StoredEntries { store, keys: &new };
        let segments = segments(access, writer, before.as_ref(), known, entries).await?;
        let head = LogHead::after(writer.name, seq + 1 + taken, before.as_ref(), segments);
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
            new: new.len() as u64,
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
        if segment.bytes < SMALL {
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

/// The objects of the next head: those of the last one, with what is new. Many small ones become one. Of what is new, no more than
/// an object is in memory.
async fn segments(
    access: SharedAccess<'_>,
    writer: &Writer<'_>,
    before: Option<&ReadHead>,
    known: KnownEntries,
    new: StoredEntries<'_>,
) -> Result<Vec<SegmentName>, String> {
    let mut kept: Vec<SegmentName> =
        before.map(|before| before.head.segments.clone()).unwrap_or_default();
    let mut sealer = Sealer::default();
    if known.small.len() >= MOST_SMALL {
        kept.retain(|segment| !known.small.contains_key(&segment.sha256));
        for entry in winners(known.small.into_values().flatten()) {
            if let Some(full) = sealer.add(&entry)? {
                kept.push(write_segment(access, writer, full).await?);
            }
        }
    }
    for keys in new.keys.chunks(AT_ONCE) {
        for entry in new.store.get_many(keys).into_iter().flatten() {
            if let Some(full) = sealer.add(&entry)? {
                kept.push(write_segment(access, writer, full).await?);
            }
        }
    }
    if let Some(last) = sealer.finish()? {
        kept.push(write_segment(access, writer, last).await?);
    }
    Ok(kept)
}

/// Outcomes of a store.
#[derive(Clone, Copy)]
struct StoredEntries<'a> {
    store: &'a dyn OutcomeStore,
    keys: &'a [ActionKey],
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

    use evalrs_model::key::ActionKey;
    use evalrs_store::{Entry, EntryCheck, MemoryStore, OutcomeStore, read_lines};
    use evalrs_system::memory::MemorySystem;
    use evalrs_system::{FileBytes, System};

    use super::{Writer, push};
    use crate::bucket::Bucket;
    use crate::keys::WriterKey;
    use crate::local::LocalCopy;
    use crate::reading::{SharedAccess, pull};
    use crate::trust::ReaderTrust;

    const WRITERS: [&str; 4] = ["ci", "nightly", "team", "release"];
    const PUSHES: u16 = 250;

    /// Adds an outcome and pushes it, again and again.
    async fn pushes(bucket: &Bucket, at: u8, key: &WriterKey, trust: &ReaderTrust) {
        let system = MemorySystem::default();
        let local = LocalCopy::of("/records", bucket.url());
        let access = SharedAccess { bucket, local: &local, system: &system };
        let writer = Writer { name: WRITERS[usize::from(at)], key: Some(key), trust };
        let store = MemoryStore::default();
        for number in 0..PUSHES {
            let mut digits = [at; 32];
            digits[..2].copy_from_slice(&number.to_be_bytes());
            let entry =
                Entry { key: ActionKey(digits), generation: 0, body: "{\"a\":1}".to_owned() };
            store.put_many(&[entry]).unwrap();
            let pushed = push(access, &writer, &store).await.unwrap();
            assert!(!pushed.replaces);
            assert_eq!(pushed.problems, Vec::<String>::new());
        }
    }

    #[test]
    fn a_thousand_pushes_of_four_writers_lose_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("file://{}", folder.path().display());
        let keys = WRITERS.map(|_| WriterKey::generate().unwrap().0);
        let public = WRITERS.iter().zip(&keys);
        let trust = ReaderTrust {
            believe: WRITERS.map(str::to_owned).to_vec(),
            keys: public.map(|(name, key)| ((*name).to_owned(), vec![key.public()])).collect(),
            ..ReaderTrust::default()
        };
        let bucket = Bucket::open(&url, &BTreeMap::new()).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let system = MemorySystem::default();
        let local = LocalCopy::of("/records", bucket.url());
        runtime.block_on(async {
            tokio::join!(
                pushes(&bucket, 0, &keys[0], &trust),
                pushes(&bucket, 1, &keys[1], &trust),
                pushes(&bucket, 2, &keys[2], &trust),
                pushes(&bucket, 3, &keys[3], &trust),
            );
            let access = SharedAccess { bucket: &bucket, local: &local, system: &system };
            let pulled = pull(access, &trust).await.unwrap();
            assert_eq!(pulled.problems, Vec::<String>::new());
            for log in &pulled.writers {
                assert_eq!((log.seq, log.outcomes), (250, 250), "{}", log.writer);
            }
        });
        let mut keys = BTreeSet::new();
        for (_, path) in local.believed(&trust, &system) {
            let FileBytes::Bytes(lines) = system.read(&path) else { panic!("{path}") };
            read_lines(&path, &lines, &|_| Ok(EntryCheck::Read), &mut |entry| {
                keys.insert(entry.key);
            });
        }
        assert_eq!(keys.len(), 1_000);
    }
}
