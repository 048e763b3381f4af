//! What keys hold of the files that programs load, by what was seen of them.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Listing;
use crate::session::Session;
use evalrs_eval::program::{Depfile, MISSING, ProgramFingerprint};
use evalrs_exec::SeenFiles;
use evalrs_graph::inputs::{Program, ProgramState};

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

/// All that is known of what a program loads.
pub(crate) fn depfile_of(known: &ProgramFingerprint) -> Depfile {
    let files = known.dependencies.iter().map(|(path, _)| path.clone()).collect();
    Depfile { files, missed: known.missed.as_ref().clone(), ..Depfile::default() }
}

/// What was seen of the files of a program when it was loaded, as far as it is known what was loaded of each.
pub(crate) fn loaded_of(depfile: &Depfile, seen: &SeenFiles) -> BTreeMap<String, String> {
    let of = |path: &String| Some((path.clone(), seen.get(path)?.clone()?));
    depfile.files.iter().filter_map(of).collect()
}

impl Session {
    /// The programs that were seen to load more than their keys hold, and what is known of each. One of which a file was
    /// edited meanwhile is none of them: it is not known what its results rest on, and the next evaluation calls it
    /// again.
    pub(crate) fn outgrown(&self) -> Vec<(Program, ProgramFingerprint)> {
        let more = |program: Program| {
            let read = self.programs.read(program)?;
            if let ProgramState::Read(known) = program.state(&self.db)
                && !read.outputs.is_empty()
            {
                return (*known != read.known).then(|| (program, read.known.as_ref().clone()));
            }
            let ProgramState::Known(known) = program.state(&self.db) else { return None };
            let Listing { depfile, seen, .. } = self.programs.listing(program)?;
            let is_more = is_outgrown(known, depfile);
            Some((program, is_more.then(|| grown(known, depfile, seen)).flatten()?))
        };
        self.named_programs().into_iter().filter_map(more).collect()
    }

    /// Completes the keys of a program with everything that it was seen to load, or takes out what it writes.
    pub(crate) fn know_all(&mut self, program: Program, known: ProgramFingerprint) {
        let has_worker = program.spec(&self.db).language.has_worker();
        let state = if has_worker { ProgramState::Known } else { ProgramState::Read };
        let state = state(Arc::new(known));
        self.set_state(program, state);
    }
}
