//! What programs of a session were found to write.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::Session;
use super::programs::outputs::{KnownOutputs, ProgramNow, program_now};
use evalrs_eval::program::ProgramIdentity;
use evalrs_graph::Db;
use evalrs_graph::inputs::ProgramState;
use evalrs_model::spec::Language;
use evalrs_store::{Entry, OutcomeStore};
use evalrs_system::System;

impl Session {
    /// Takes from the store what commands write that their words name.
    pub(crate) fn learn_outputs(&mut self, store: &dyn OutcomeStore) {
        for program in self.named_programs() {
            let is_command = program.spec(&self.db).language == Language::Executable;
            if !is_command || self.programs.outputs.contains_key(&program) {
                continue;
            }
            let Some(read) = self.programs.read(program) else { continue };
            if read.start.may_write.is_empty() {
                continue;
            }
            let known = KnownOutputs::find(read, store);
            let read = read.clone().without(&known.paths);
            if !read.outputs.is_empty() {
                self.set_state(program, ProgramState::Read(Arc::clone(&read.known)));
            }
            self.programs.keep(program, read);
            self.programs.outputs.insert(program, known);
        }
    }

    /// Notes what a program was seen to write. Returns the entry that is to be kept.
    pub(crate) fn note_outputs(
        &mut self,
        identity: &ProgramIdentity,
        written: &BTreeSet<String>,
        system: &dyn System,
    ) -> Option<Entry> {
        let program = self.db.program(&identity.spec);
        let read = self.programs.read(program)?.clone();
        let known = self.programs.outputs.entry(program).or_default();
        let (entry, told) = known.note(&read, written, system.now())?;
        let read = read.without(&known.paths);
        self.programs.keep(program, read);
        self.programs.told.extend(told);
        Some(entry)
    }

    /// What was found out of programs since the last call, a sentence each.
    pub(crate) fn take_told(&mut self) -> Vec<String> {
        std::mem::take(&mut self.programs.told)
    }

    pub(crate) fn program_now(
        &self,
        identity: &ProgramIdentity,
        system: &dyn System,
    ) -> ProgramNow {
        let read = self.programs.read(self.db.program(&identity.spec));
        let none = BTreeSet::new();
        let outputs = read.map_or(&none, |read| &read.outputs);
        program_now(identity, outputs, self.folder(), system)
    }
}
