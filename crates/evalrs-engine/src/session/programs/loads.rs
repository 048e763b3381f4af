//! What keys hold of the files that programs load, by what was seen of them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::file_state::seen_from;
use evalrs_base::file_path::non_empty;
use evalrs_eval::program::{Depfile, MISSING, ProgramFingerprint};
use evalrs_exec::{DiscoveredFiles, SeenFiles};
use evalrs_system::System;

/// What is known of a program that was seen to load more than that: the files of `depfile`, which holds those known
/// before. What it gave rests on what was `seen` of them, and not on what they are by now. None if that is not known of
/// each.
pub(crate) fn grown(
    known: &ProgramFingerprint,
    depfile: &Depfile,
    seen: &SeenFiles,
) -> Option<ProgramFingerprint> {
    let mut files: BTreeMap<String, String> = known.dependencies.iter().cloned().collect();
    for path in &depfile.files {
        if !files.contains_key(path) {
            // One that is not there any more was when it was loaded.
            let digest = seen.get(path)?.as_ref().filter(|digest| *digest != MISSING)?;
            files.insert(path.clone(), digest.clone());
        }
    }
    let missed = depfile.missed.iter().filter(|path| !files.contains_key(*path)).cloned().collect();
    let dependencies = files.into_iter().collect();
    let missed = Arc::new(missed);
    Some(ProgramFingerprint { dependencies, missed, ..known.clone() })
}

/// Whether a depfile lists what is not known of a program.
pub(crate) fn is_outgrown(known: &ProgramFingerprint, depfile: &Depfile) -> bool {
    let known_count = known.dependencies.len() + known.missed.len();
    let is_file = |path: &String| known.dependencies.iter().any(|(file, _)| file == path);
    depfile.files.len() + depfile.missed.len() != known_count || !depfile.files.iter().all(is_file)
}

pub(crate) fn depfile_of(known: &ProgramFingerprint) -> Depfile {
    let files = known.dependencies.iter().map(|(path, _)| path.clone()).collect();
    Depfile { files, missed: known.missed.as_ref().clone(), ..Depfile::default() }
}

/// What was seen of the files of a program when it was loaded, as far as it is known what was loaded of each.
pub(crate) fn loaded_of(depfile: &Depfile, seen: &SeenFiles) -> BTreeMap<String, String> {
    let of = |path: &String| Some((path.clone(), seen.get(path)?.clone()?));
    depfile.files.iter().filter_map(of).collect()
}

/// What was discovered, with paths as they are seen from `folder`: what a program loads and reads, and what was seen of
/// the files that it loads and of those that were not there.
pub(crate) fn discovered_from(
    folder: &str,
    discovered: DiscoveredFiles,
    system: &dyn System,
) -> (Depfile, SeenFiles) {
    let home = system.absolute(non_empty(folder));
    let DiscoveredFiles { files, missed, reads, .. } = discovered;
    let mut seen: SeenFiles =
        files.into_iter().map(|(path, state)| (seen_from(&home, &path), state)).collect();
    let files: BTreeSet<String> = seen.keys().cloned().collect();
    let missed = missed.iter().map(|path| seen_from(&home, path));
    let missed: BTreeSet<String> = missed.filter(|path| !files.contains(path)).collect();
    seen.extend(missed.iter().map(|path| (path.clone(), Some(MISSING.to_owned()))));
    let reads = reads.into_iter().map(|(path, digest)| (seen_from(&home, &path), digest));
    let reads = reads.filter(|(path, _)| !files.contains(path));
    let reads = reads.map(|(path, digest)| (path, digest.into_iter().collect())).collect();
    (Depfile { files, missed, reads, ..Depfile::default() }, seen)
}
