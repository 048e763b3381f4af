//! Removes objects that the newest head of a log does not list any more: their outcomes are in larger ones.
//!
//! Heads stay. A reader of a server that lists nothing finds the newest head by those before it.

use std::collections::BTreeSet;

use crate::reading::{SharedAccess, newest, segment_path};
use crate::writing::{Writer, own_trust};

/// What is to be removed.
#[derive(Clone, Copy, Debug)]
pub struct PruneLimits {
    /// Only objects that were written before, in seconds since 1970: readers may still follow an older head.
    pub before: i64,
    /// Whether nothing is removed, and only counted.
    pub dry_run: bool,
}

/// What came of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PruneReport {
    pub removed: u64,
    pub bytes: u64,
    /// The objects that the newest head lists.
    pub listed: u64,
    /// Those that it does not list, and that are too young.
    pub young: u64,
}

/// Removes what the log of `writer` does not list any more.
pub async fn prune(
    access: SharedAccess<'_>,
    writer: &Writer<'_>,
    pruning: PruneLimits,
) -> Result<PruneReport, String> {
    let SharedAccess { bucket, .. } = access;
    let mut problems = Vec::new();
    let own = own_trust(writer, writer.trust);
    let head = newest(access, writer.name, &own, &mut problems).await?;
    // A head that cannot be read may list what another one does not.
    if let Some(problem) = problems.first() {
        return Err(format!("nothing was removed: {problem}"));
    }
    let head = head.ok_or_else(|| format!("`{}` has no log", writer.name))?;
    let listed: BTreeSet<&str> = head.head.segments.iter().map(|it| it.sha256.as_str()).collect();
    let objects = bucket.objects(&format!("writers/{}/segments", writer.name)).await?;
    let objects = objects.ok_or("this server lists no objects: remove old ones there")?;
    let mut report = PruneReport { listed: listed.len() as u64, ..PruneReport::default() };
    for object in objects.iter().filter(|object| !listed.contains(object.name.as_str())) {
        if object.written >= pruning.before {
            report.young += 1;
            continue;
        }
        if !pruning.dry_run {
            bucket.remove(&segment_path(writer.name, &object.name)).await?;
        }
        report.removed += 1;
        report.bytes += object.bytes;
    }
    Ok(report)
}
