//! The programs of a session, by what was read of each and what was seen of it.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use super::listings::Listing;
use super::outputs::KnownOutputs;
use super::read_program::ReadProgram;
use evalrs_eval::program::{Depfile, ProgramFingerprint};
use evalrs_graph::inputs::{Program, ProgramState};
use evalrs_model::key::{ActionKey, KeyMap};

#[derive(Debug, Default)]
pub struct ProgramSet {
    pub read: HashMap<Program, ReadProgram>,
    /// The listing under the base key of each, also of those edited since: calls of these may be in flight, and the edit
    /// may be reverted.
    pub(crate) listings: KeyMap<Listing>,
    /// Everything that one was ever seen to load, also while it cannot be loaded.
    seen: HashMap<Program, Depfile>,
    /// Files that programs were seen to read in this session without declaring them: program, path.
    pub(crate) undeclared: BTreeSet<(String, String)>,
    /// What commands are known to write that their words name.
    pub outputs: HashMap<Program, KnownOutputs>,
    /// Warnings about what was found out of programs in this session.
    pub told: Vec<String>,
}

impl ProgramSet {
    pub fn read(&self, program: Program) -> Option<&ReadProgram> {
        self.read.get(&program)
    }

    pub fn keep(&mut self, program: Program, read: ReadProgram) {
        self.read.insert(program, read);
    }

    /// A program that was read, without what it is known to write.
    pub(crate) fn without_outputs(&self, program: Program, read: ReadProgram) -> ReadProgram {
        match self.outputs.get(&program) {
            Some(known) => read.without(&known.paths),
            None => read,
        }
    }

    /// The key of the entry that lists what a program loads as it is by now.
    pub fn base(&self, program: Program) -> Option<ActionKey> {
        Some(self.read(program)?.base())
    }

    pub(crate) fn listing(&self, program: Program) -> Option<&Listing> {
        self.listings.get(&self.base(program)?)
    }

    pub(crate) fn see(&mut self, program: Program, depfile: &Depfile) {
        self.seen.entry(program).or_default().extend(depfile);
    }

    pub fn seen(&self, program: Program) -> Option<&Depfile> {
        self.seen.get(&program)
    }
}

pub(crate) fn known_of(state: &ProgramState) -> Option<&Arc<ProgramFingerprint>> {
    match state {
        ProgramState::Known(known) | ProgramState::Read(known) => Some(known),
        ProgramState::Unread | ProgramState::Broken(_) => None,
    }
}
