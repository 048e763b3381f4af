//! Programs of a session that were seen to load more than their keys hold.

use std::sync::Arc;

use super::Session;
use super::programs::listings::Listing;
use super::programs::loads::{grown, is_outgrown};
use evalrs_eval::program::ProgramFingerprint;
use evalrs_graph::inputs::{Program, ProgramState};

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
