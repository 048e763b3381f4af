//! Packing small segments without a sweep: each run that makes calls leaves one, and a run that starts reads them all.
#![expect(clippy::disallowed_methods, reason = "the store owns its files; nothing else opens them")]

use std::fs;
use std::path::Path;

use crate::segment::files::{segment_folder, segment_names, write_error};
use crate::sweep::blob_sweep::BlobSweep;
use crate::sweep::policy::fates;
use crate::sweep::survey::{SweptEntries, survey};
use crate::sweep::uses::Uses;
use crate::sweep::{ReaderPolicy, SweepError, lock};

/// How many segments stay as they are.
const MANY: usize = 64;
/// How much is packed at once, in bytes: what takes a tenth of a second.
const AT_ONCE: u64 = 8 << 20;

/// Packs small segments of the store in the cache folder `dir` into one where there are more than 64, and no sweep is under
/// way. No more than 8 MiB, the smallest first; what is damaged is left for a sweep, which names it. What was packed; nothing
/// where there was nothing to do.
pub fn pack_many(dir: &Path) -> Result<Option<SweptEntries>, SweepError> {
    let folder = segment_folder(dir);
    let names = segment_names(&folder).map_err(|error| write_error(&folder, &error))?;
    if names.len() <= MANY {
        return Ok(None);
    }
    // Another process sweeps, or the store is not ours to write.
    let Ok(_lock) = lock(&dir.join("v1").join("gc.lock")) else { return Ok(None) };
    let blobs = BlobSweep::unlisted(dir);
    let names = smallest(&folder, names);
    let mut survey = survey(&folder, names, &Uses::default(), &|_| 0, &blobs);
    survey.find_lost(&blobs)?;
    let fates = fates(&survey.candidates, None, None);
    survey.count(&fates);
    let mut packed = survey.to_pack(&fates);
    packed.retain(|at| survey.is_intact(*at, &fates));
    survey.pack(dir, &fates, packed, ReaderPolicy::GivesUp)?;
    Ok(Some(survey.swept))
}

/// The smallest of these segments that are packed at once, in the order of their creation.
fn smallest(folder: &Path, names: Vec<String>) -> Vec<String> {
    let size = |name: &String| fs::metadata(folder.join(name)).map_or(0, |file| file.len());
    let mut by_size: Vec<(u64, String)> =
        names.into_iter().map(|name| (size(&name), name)).collect();
    by_size.sort_unstable();
    let mut room = AT_ONCE;
    let fitting = by_size.into_iter().take_while(|(size, _)| {
        let fits = *size <= room;
        room = room.saturating_sub(*size);
        fits
    });
    let mut names: Vec<String> = fitting.map(|(_, name)| name).collect();
    names.sort_unstable();
    names
}
