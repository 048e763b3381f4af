//! Reads what believed writers have written since.

use std::collections::BTreeSet;

use evalrs_base::text::count;
use evalrs_system::System;

use crate::bucket::Bucket;
use crate::head::{MOST_BYTES, ReadHead};
use crate::local::LocalCopy;
use crate::sealed::unsealed;
use crate::trust::{ReaderTrust, is_writer};

/// How many heads are looked at, newest first, for one that is believed.
const MOST_DOUBTED: usize = 32;

/// A bucket, and what of it is on this machine.
#[derive(Clone, Copy)]
pub struct SharedAccess<'a> {
    pub bucket: &'a Bucket,
    pub local: &'a LocalCopy,
    pub system: &'a dyn System,
}

/// What came of reading.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PullReport {
    /// The writers that are believed.
    pub writers: Vec<PulledLog>,
    /// Writers that are there and not believed.
    pub others: Vec<String>,
    /// What was wrong, a sentence each.
    pub problems: Vec<String>,
}

/// The log of a writer as it was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PulledLog {
    pub writer: String,
    /// The place of its newest believed head; 0 where it has none.
    pub seq: u64,
    /// The outcomes in all its objects.
    pub outcomes: u64,
    /// Those that were not here.
    pub new: u64,
}

/// The digits of a place.
const DIGITS: usize = 12;

/// The path of a head.
pub(crate) fn head_path(writer: &str, seq: u64) -> String {
    format!("writers/{writer}/heads/{seq:0DIGITS$}")
}

/// The path of an object.
pub(crate) fn segment_path(writer: &str, sha256: &str) -> String {
    format!("writers/{writer}/segments/{sha256}")
}

/// Brings everything here that believed writers have written. Only a bucket that cannot be reached at all is an error.
pub async fn pull(access: SharedAccess<'_>, trust: &ReaderTrust) -> Result<PullReport, String> {
    let mut report = PullReport::default();
    let listed = access.bucket.list("writers").await?;
    if let Some(listed) = &listed {
        let believed: BTreeSet<&String> = trust.believe.iter().collect();
        report.others = listed.iter().filter(|name| !believed.contains(name)).cloned().collect();
    }
    for writer in trust.believe.iter().filter(|name| is_writer(name)) {
        let mut log = PulledLog { writer: writer.clone(), ..PulledLog::default() };
        if let Some(head) = newest(access, writer, trust, &mut report.problems).await? {
            log.seq = head.head.seq;
            read_objects(access, &head, &mut log, &mut report.problems).await?;
        }
        report.writers.push(log);
    }
    Ok(report)
}

/// The newest head that is believed: that of the bucket, or the one that was seen before.
pub(crate) async fn newest(
    access: SharedAccess<'_>,
    writer: &str,
    trust: &ReaderTrust,
    problems: &mut Vec<String>,
) -> Result<Option<ReadHead>, String> {
    let SharedAccess { bucket, local, system } = access;
    let seen = local.head(writer, trust, system);
    let last_seen = seen.as_ref().map_or(0, |seen| seen.head.seq);
    let places = places(bucket, writer, last_seen).await?;
    let last = places.first().copied().unwrap_or(0);
    let newer = places.into_iter().filter(|seq| *seq >= last_seen);
    for seq in newer.take(MOST_DOUBTED) {
        let Some(bytes) = read_head(bucket, writer, seq, problems).await? else {
            if bucket.is_away() {
                break;
            }
            continue;
        };
        match trust.read(writer, seq, &bytes) {
            Ok(head) => {
                if let Some(seen) = seen.as_ref().filter(|seen| is_other_past(seen, &head)) {
                    problems.push(format!(
                        "the log of `{writer}` has two heads {}: what was read first is kept",
                        seen.head.seq
                    ));
                    return Ok(Some(seen.clone()));
                }
                if seq > last_seen {
                    local.keep_head(writer, &bytes, system).map_err(|error| error.to_string())?;
                }
                return Ok(Some(head));
            }
            Err(doubt) => {
                problems.push(format!("head {seq} of `{writer}` is not believed: {doubt}"));
            }
        }
    }
    if last < last_seen {
        problems.push(format!("the log of `{writer}` ends at head {last}, and head {last_seen} was read before: heads were deleted"));
    }
    Ok(seen)
}

/// Whether a head cannot come after one that was seen.
fn is_other_past(seen: &ReadHead, head: &ReadHead) -> bool {
    match head.head.seq - seen.head.seq.min(head.head.seq) {
        0 => head.digest != seen.digest,
        1 => head.head.previous.as_ref() != Some(&seen.digest),
        _ => false,
    }
}

/// A head, if it can be read. That one cannot is a problem of that one alone.
async fn read_head(
    bucket: &Bucket,
    writer: &str,
    seq: u64,
    problems: &mut Vec<String>,
) -> Result<Option<Vec<u8>>, String> {
    match bucket.get(&head_path(writer, seq), MOST_BYTES).await {
        Ok(bytes) => Ok(bytes),
        Err(error) => {
            problems.push(format!("head {seq} of `{writer}`: {error}"));
            Ok(None)
        }
    }
}

/// The places of the heads that are there, the newest first: all of them, or where nothing is listed those from one that was seen on.
async fn places(bucket: &Bucket, writer: &str, seen: u64) -> Result<Vec<u64>, String> {
    if let Some(names) = bucket.list(&format!("writers/{writer}/heads")).await? {
        let places = names.iter().filter(|name| name.len() == DIGITS);
        let mut places: Vec<u64> = places.filter_map(|name| name.parse().ok()).collect();
        places.sort_unstable_by(|one, other| other.cmp(one));
        return Ok(places);
    }
    // Ever larger steps find a head that is not there, and halves the last that is.
    let mut there = seen;
    let mut step = 1;
    let mut missing = loop {
        if !is_there(bucket, writer, there + step).await? {
            break there + step;
        }
        there += step;
        step *= 2;
    };
    while missing - there > 1 {
        let middle = there + (missing - there) / 2;
        if is_there(bucket, writer, middle).await? {
            there = middle;
        } else {
            missing = middle;
        }
    }
    // What was seen may be gone.
    if there == seen && seen > 0 && !is_there(bucket, writer, seen).await? {
        return Ok(Vec::new());
    }
    Ok((seen.max(1)..=there).rev().collect())
}

async fn is_there(bucket: &Bucket, writer: &str, seq: u64) -> Result<bool, String> {
    Ok(bucket.get(&head_path(writer, seq), MOST_BYTES).await?.is_some())
}

/// Brings the objects of a head here that are not.
async fn read_objects(
    access: SharedAccess<'_>,
    head: &ReadHead,
    log: &mut PulledLog,
    problems: &mut Vec<String>,
) -> Result<(), String> {
    let SharedAccess { bucket, local, system } = access;
    let writer = &head.head.writer;
    let mut unread = Vec::new();
    for segment in &head.head.segments {
        if local.has(&segment.sha256, system) {
            log.outcomes += segment.outcomes;
            continue;
        }
        if bucket.is_away() {
            unread.push(segment.outcomes);
            continue;
        }
        let path = segment_path(writer, &segment.sha256);
        let most = usize::try_from(segment.bytes).unwrap_or(usize::MAX);
        let lines = match bucket.get(&path, most).await {
            Ok(Some(bytes)) => unsealed(segment, &bytes),
            Ok(None) => Err("it is gone".to_owned()),
            Err(error) => Err(error),
        };
        match lines {
            Ok(lines) => {
                local.keep(&segment.sha256, &lines, system).map_err(|error| error.to_string())?;
                log.outcomes += segment.outcomes;
                log.new += segment.outcomes;
            }
            Err(why) => problems.push(format!(
                "an object of `{writer}` with {} outcomes is not used: {path}: {why}",
                segment.outcomes
            )),
        }
    }
    if !unread.is_empty() {
        let objects = count(unread.len(), "further object");
        let outcomes: u64 = unread.iter().sum();
        problems.push(format!("{objects} of `{writer}` with {outcomes} outcomes were not read"));
    }
    Ok(())
}
