//! The programs of a session: read, loaded, and what is known of each brought into the database.

use std::sync::Arc;

use super::Session;
use super::programs::file_state::state;
use super::programs::inputs;
use super::programs::listings::{FoundListing, Listing, discovered_from, listed};
use super::programs::outputs::outputs_key;
use super::programs::program_context::ProgramContext;
use super::programs::program_set::known_of;
use super::programs::read_program::{ReadProgram, dependencies_action};
use evalrs_base::diagnostic::{self, Diagnostic};
use evalrs_base::file_path::join;
use evalrs_eval::program::{Depfile, ProgramIdentity, Uncallable, UncallablePart};
use evalrs_exec::{DiscoveredFiles, SeenFiles, Start, see};
use evalrs_graph::change::Change;
use evalrs_graph::inputs::{Program, ProgramState};
use evalrs_graph::{Db, queries};
use evalrs_model::key::ActionKey;
use evalrs_model::outcome::Failure;
use evalrs_model::spec::{ProgramSpec, Suite};
use evalrs_store::{Entry, OutcomeStore};
use evalrs_system::System;

impl Session {
    /// The programs that the suite names, each once.
    pub(crate) fn named_programs(&self) -> Vec<Program> {
        let mut named = Vec::new();
        // Recorded results stand in for the target.
        let is_recorded = self.root.overrides(&self.db).cached.is_some();
        let all = self.suite().into_iter().flat_map(Suite::programs);
        for spec in all.filter(|spec| !(is_recorded && spec.role.is_of_target())) {
            let program = self.db.program(spec);
            if !named.contains(&program) {
                named.push(program);
            }
        }
        named
    }

    /// Reads the files of all programs, whatever was known of them.
    pub(crate) fn read_all_programs(&mut self, system: &dyn System) {
        for program in self.named_programs() {
            self.read_program(program, system);
        }
    }

    /// Reads the files of the programs that nobody has looked at. False if there are none.
    pub(crate) fn read_programs(&mut self, system: &dyn System) -> bool {
        let mut unread = self.named_programs();
        unread.retain(|program| *program.state(&self.db) == ProgramState::Unread);
        for program in &unread {
            self.read_program(*program, system);
        }
        !unread.is_empty()
    }

    fn read_program(&mut self, program: Program, system: &dyn System) {
        let place = ProgramContext {
            folder: self.folder(),
            workspace: &self.workspace,
            environment: self.root.environment(&self.db),
            sees_all: false,
        };
        let state = match ReadProgram::read(program.spec(&self.db), &place, system) {
            Err(problem) => {
                self.programs.read.remove(&program);
                ProgramState::Broken(problem)
            }
            Ok(read) => {
                let read = self.programs.without_outputs(program, read);
                let known = Arc::clone(&read.known);
                self.programs.read.insert(program, read);
                ProgramState::Read(known)
            }
        };
        self.set_state(program, state);
    }

    pub(crate) fn set_state(&mut self, program: Program, state: ProgramState) {
        let change = Change { programs: vec![(program, state)], ..Change::default() };
        change.apply(&mut self.db, self.root);
    }

    /// The programs of which it is not known which files they load.
    fn unloaded(&self) -> Vec<Program> {
        let mut programs = self.named_programs();
        programs.retain(|program| {
            matches!(program.state(&self.db), ProgramState::Read(_))
                && program.spec(&self.db).language.has_worker()
        });
        programs
    }

    /// Takes from the store which files programs load, where they are what they were when that was found out.
    pub fn learn_dependencies(&mut self, store: &dyn OutcomeStore, system: &dyn System) {
        self.learn_outputs(store);
        for program in self.unloaded() {
            let Some(read) = self.programs.read(program) else { continue };
            let held = self.programs.listing(program);
            match listed(read, held, store, self.folder(), system) {
                Some(FoundListing { listing, is_current: true }) => {
                    self.know(program, listing, system);
                }
                Some(FoundListing { listing, .. }) => {
                    let base = read.base();
                    self.programs.listings.insert(base, listing);
                }
                None => {}
            }
        }
    }

    /// Completes what is known of a program with the files that are listed.
    fn know(&mut self, program: Program, mut listing: Listing, system: &dyn System) {
        let Some(read) = self.programs.read(program) else { return };
        let base = read.base();
        let seen = std::mem::take(&mut listing.seen);
        let known = read.loading(&listing.depfile, &seen, self.folder(), system);
        self.programs.see(program, &listing.depfile);
        self.programs.listings.insert(base, listing);
        self.set_state(program, ProgramState::Known(Arc::new(known)));
    }

    /// The keys of the entries that list what programs load, and what commands write.
    pub fn listing_keys(&self) -> Vec<ActionKey> {
        let keys = self.named_programs().into_iter().filter_map(|program| {
            if program.spec(&self.db).language.has_worker() {
                self.programs.base(program)
            } else {
                self.programs.read(program).and_then(outputs_key)
            }
        });
        keys.collect()
    }

    /// Takes it that programs load no other files than those which the store knows: none, then nothing of them is stored
    /// either.
    pub fn assume_no_dependencies(&mut self, system: &dyn System) {
        for program in self.unloaded() {
            let listing = self.programs.listing(program).cloned().unwrap_or_default();
            self.know(program, listing, system);
        }
    }

    /// The programs that must be loaded before anything of them is keyed, with what their files say.
    pub(crate) fn not_loaded(&self) -> Vec<(Program, ReadProgram)> {
        let programs = self.unloaded().into_iter();
        programs.filter_map(|of| Some((of, self.programs.read(of)?.clone()))).collect()
    }

    /// A program was loaded, or cannot be. Returns the entry that is to be kept.
    pub fn loaded(
        &mut self,
        program: Program,
        result: Result<DiscoveredFiles, Failure>,
        system: &dyn System,
    ) -> Option<Entry> {
        match result {
            Err(failure) => {
                let why = Uncallable::new(UncallablePart::File, failure.message);
                self.set_state(program, ProgramState::Broken(why));
                None
            }
            Ok(discovered) => {
                let (depfile, seen) = self.seen(program, discovered, system);
                let action = self.programs.read(program)?.dependencies_action();
                let listing = Listing::anew(self.programs.listing(program).cloned(), depfile, seen);
                let entry = listing.entry(&action, system.now());
                self.know(program, listing, system);
                Some(entry)
            }
        }
    }

    /// What programs were seen to load only when they were called: entries to be kept, at once.
    pub(crate) fn discovered(
        &mut self,
        all: Vec<(Arc<ProgramIdentity>, DiscoveredFiles)>,
        system: &dyn System,
    ) -> Vec<Entry> {
        let mut entries = Vec::new();
        for (identity, discovered) in all {
            if !discovered.outputs.is_empty() {
                entries.extend(self.note_outputs(&identity, &discovered.outputs, system));
                continue;
            }
            let program = self.db.program(&identity.spec);
            let (depfile, mut seen) = self.seen(program, discovered, system);
            self.programs.see(program, &depfile);
            for (path, _) in &identity.known.dependencies {
                seen.remove(path);
            }
            // It may have been edited while it was called: then this is told of what it was.
            let action = dependencies_action(identity);
            let listing = self.programs.listings.entry(action.key()).or_default();
            see(&mut listing.seen, seen);
            if listing.depfile.extend(&depfile) {
                listing.generation += 1;
                entries.push(listing.entry(&action, system.now()));
            }
        }
        entries
    }

    /// What was discovered, from the suite's folder. What is read and not declared is noted.
    fn seen(
        &mut self,
        program: Program,
        discovered: DiscoveredFiles,
        system: &dyn System,
    ) -> (Depfile, SeenFiles) {
        let (mut depfile, seen) = discovered_from(self.folder(), discovered, system);
        self.note_reads(program, &mut depfile, system);
        (depfile, seen)
    }

    /// Whether a file that a program loads or reads still is what keys say of it.
    pub(crate) fn is_as_known(&self, path: &str, system: &dyn System) -> bool {
        let folder = self.folder();
        let is_it = |(name, _): &&(String, String)| join(folder, name) == path;
        self.named_programs().into_iter().any(|program| {
            let spec = program.spec(&self.db);
            let Some(known) = known_of(program.state(&self.db)) else { return false };
            let input = known.inputs.iter().find(is_it);
            let mut loaded = known.dependencies.iter().filter(is_it);
            input.is_some_and(|(name, held)| inputs::state(spec, folder, name, system) == *held)
                || loaded.any(|(_, held)| state(path, system) == *held)
        })
    }

    /// How the programs of the suite are started, as far as they can be.
    pub fn starts(&self) -> Vec<Arc<Start>> {
        let programs = self.named_programs().into_iter();
        programs.filter_map(|of| Some(Arc::clone(&self.programs.read(of)?.start))).collect()
    }

    pub(crate) fn start_of(&self, spec: &ProgramSpec) -> Option<Arc<Start>> {
        let program = self.db.program(spec);
        self.programs.read(program).map(|read| Arc::clone(&read.start))
    }

    /// Where the suite says something of a program.
    pub fn place_of(&self, spec: &ProgramSpec, part: &UncallablePart) -> diagnostic::Place {
        let places = &queries::suite(&self.db, self.root).program_places;
        match places.iter().find(|(other, _)| other == spec) {
            Some((_, places)) => places.of(part).clone(),
            None => diagnostic::Place::file(self.root.suite(&self.db).path(&self.db).as_str()),
        }
    }

    pub(crate) fn program_problems(&self) -> Vec<Diagnostic> {
        let mut problems = Vec::new();
        for program in self.named_programs() {
            if let ProgramState::Broken(why) = program.state(&self.db) {
                let spec = program.spec(&self.db);
                problems.push(uncallable(spec, self.place_of(spec, &why.part), why));
            }
        }
        problems
    }
}

pub(crate) fn uncallable(
    spec: &ProgramSpec,
    place: diagnostic::Place,
    why: &Uncallable,
) -> Diagnostic {
    let message = format!("cannot call `{}`: {}", spec.shown(), why.message);
    Diagnostic { hint: why.hint.clone(), ..Diagnostic::error(place, message) }
}
