//! What programs of a session were seen to do beyond what their keys say: to load more than those hold, to write what their
//! words name, and to read what they do not declare.
//!
//! What is read and not declared is in no key, so an edit of it calls nothing again: that is said when it is read, and
//! whenever it is not any more what was read.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::Session;
use super::programs::file_state::seen_from;
use super::programs::listings::{Listing, grown, is_outgrown};
use super::programs::outputs::{KnownOutputs, ProgramNow, program_now};
use evalrs_base::diagnostic::Diagnostic;
use evalrs_base::file_path::{join, non_empty};
use evalrs_eval::program::{
    Depfile, ProgramFingerprint, ProgramIdentity, UncallablePart, file_digest,
};
use evalrs_graph::Db;
use evalrs_graph::inputs::{Program, ProgramState};
use evalrs_model::spec::Language;
use evalrs_store::{Entry, OutcomeStore};
use evalrs_system::System;

impl Session {
    /// The programs that were seen to load more than their keys hold, and what is known of each. One of which a file was
    /// edited meanwhile is none of them: it is not known what its results rest on, and the next evaluation calls it
    /// again.
    pub(crate) fn outgrown(&self) -> Vec<(Program, ProgramFingerprint)> {
        let outgrown = self.named_programs().into_iter().filter_map(|program| {
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
        });
        outgrown.collect()
    }

    /// Completes the keys of a program with everything that it was seen to load, or takes out what it writes.
    pub(crate) fn know_all(&mut self, program: Program, known: ProgramFingerprint) {
        let has_worker = program.spec(&self.db).language.has_worker();
        let state = if has_worker { ProgramState::Known } else { ProgramState::Read };
        self.set_state(program, state(Arc::new(known)));
    }

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
        let none = BTreeSet::new();
        let read = self.programs.read(self.db.program(&identity.spec));
        program_now(identity, read.map_or(&none, |read| &read.outputs), self.folder(), system)
    }

    /// Leaves of what a program was seen to read what it does not declare, and notes it.
    pub(crate) fn note_reads(
        &mut self,
        program: Program,
        depfile: &mut Depfile,
        system: &dyn System,
    ) {
        let folder = self.folder();
        let home = system.absolute(non_empty(folder));
        let Some(read) = self.programs.read(program) else { return depfile.reads.clear() };
        let declared: BTreeSet<String> =
            read.paths.iter().map(|path| seen_from(&home, &system.absolute(path))).collect();
        depfile.reads.retain(|path, _| !declared.contains(path));
        let name = program.spec(&self.db).shown();
        let paths = depfile.reads.keys();
        self.programs.undeclared.extend(paths.map(|path| (name.clone(), path.clone())));
        // Of what is too large nothing is kept.
        depfile.reads.retain(|_, digests| !digests.is_empty());
    }

    /// Forgets what programs have read, because all of them are called again. Returns the entries that are to be kept.
    pub(crate) fn forget_reads(&mut self, system: &dyn System) -> Vec<Entry> {
        let mut entries = Vec::new();
        for program in self.named_programs() {
            let Some(read) = self.programs.read(program) else { continue };
            let action = read.dependencies_action();
            let Some(listing) = self.programs.listings.get_mut(&action.key()) else { continue };
            if !listing.depfile.reads.is_empty() {
                listing.depfile.reads.clear();
                listing.generation += 1;
                entries.push(listing.entry(&action, system.now()));
            }
        }
        entries
    }

    /// What executables that are scripts of Python import without declaring it, a warning each.
    pub(crate) fn undeclared_imports(&self) -> Vec<Diagnostic> {
        let mut found = Vec::new();
        for read in self.named_programs().into_iter().filter_map(|of| self.programs.read(of)) {
            let spec = &read.start.spec;
            for path in &read.imports {
                let message = format!(
                    "`{}` imports `{path}`, which is not among its `inputs`: editing it does not trigger grading again",
                    spec.shown()
                );
                let place = self.place_of(spec, &UncallablePart::File);
                let hint = format!("add it: `inputs: [{path}]`");
                found.push(Diagnostic::warning(place, message).hint(hint));
            }
        }
        found
    }

    /// What programs read although it is not among their inputs, a sentence each: what they were seen to read in this
    /// session, and what is not any more what they read when they were called.
    pub fn undeclared_reads(&self, system: &dyn System) -> Vec<String> {
        let folder = self.folder();
        let mut changed = BTreeSet::new();
        for program in self.named_programs() {
            let reads = self.programs.listing(program).map(|listing| &listing.depfile.reads);
            for (path, digests) in reads.into_iter().flatten() {
                let now =
                    file_digest(system.read(&join(folder, path)).into_bytes().ok().as_deref());
                if digests.iter().any(|digest| *digest != now) {
                    changed.insert((program.spec(&self.db).shown(), path.clone()));
                }
            }
        }
        let of_session = self.programs.undeclared.difference(&changed).map(|(program, path)| {
            format!(
                "`{program}` reads `{path}`, which is not among its `inputs`: editing it does not trigger grading again"
            )
        });
        let replayed = changed.iter().map(|(program, path)| {
            format!(
                "`{program}` has read `{path}`, which has changed since and is not among its `inputs`: its results may be out of date; declare it with `inputs: [{path}]`, or call it again with `--refresh`"
            )
        });
        of_session.chain(replayed).collect()
    }
}
