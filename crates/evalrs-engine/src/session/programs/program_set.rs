//! The programs of a session: what is known of each, brought into the database.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use super::listings::{FoundListing, entry, listed};
use super::outputs::{KnownOutputs, outputs_key};
use super::{
    ProgramContext, ReadProgram, dependencies_action, discovered_from, inputs, loaded_of, state,
};
use crate::session::Session;
use evalrs_base::diagnostic;
use evalrs_base::diagnostic::Diagnostic;
use evalrs_base::file_path::join;
use evalrs_eval::program::{
    Depfile, MISSING, ProgramFingerprint, ProgramIdentity, Uncallable, UncallablePart,
};
use evalrs_exec::{Discovered, SeenFiles, Start, see};
use evalrs_graph::Db;
use evalrs_graph::change::Change;
use evalrs_graph::inputs::{Program, ProgramState};
use evalrs_graph::queries;
use evalrs_model::key::{ActionKey, KeyMap};
use evalrs_model::outcome::Failure;
use evalrs_model::spec::ProgramSpec;
use evalrs_model::spec::Suite;
use evalrs_store::{Entry, OutcomeStore};
use evalrs_suite::ProgramPlaces;
use evalrs_system::System;

/// The programs of a session.
#[derive(Debug, Default)]
pub struct ProgramSet {
    /// Those whose files were read.
    read: HashMap<Program, ReadProgram>,
    /// What is listed under the base key of each, also of those that were edited since: calls of these may be under way,
    /// and the edit may be taken back.
    pub(crate) listings: KeyMap<Listing>,
    /// Everything that one was ever seen to load, also while it cannot be loaded.
    seen: HashMap<Program, Depfile>,
    /// Files that programs were seen to read in this session without declaring them: program, path.
    pub(crate) undeclared: BTreeSet<(String, String)>,
    /// What commands are known to write that their words name.
    pub outputs: HashMap<Program, KnownOutputs>,
    /// What is to be said of what was found out of programs in this session.
    pub told: Vec<String>,
}

/// What an entry lists that says which files a program loads.
#[derive(Clone, Debug, Default)]
pub(crate) struct Listing {
    pub generation: u32,
    pub(crate) depfile: Depfile,
    /// What was loaded of the files that are in no key yet.
    pub seen: SeenFiles,
}

impl ProgramSet {
    pub fn read(&self, program: Program) -> Option<&ReadProgram> {
        self.read.get(&program)
    }

    /// Takes a program as it was read.
    pub fn keep(&mut self, program: Program, read: ReadProgram) {
        self.read.insert(program, read);
    }

    /// A program that was read, without what it is known to write.
    fn without_outputs(&self, program: Program, read: ReadProgram) -> ReadProgram {
        match self.outputs.get(&program) {
            Some(known) => read.without(&known.paths),
            None => read,
        }
    }

    /// The key of the entry that lists what a program loads as it is by now.
    fn base(&self, program: Program) -> Option<ActionKey> {
        Some(self.read(program)?.dependencies_action().key())
    }

    pub(crate) fn listing(&self, program: Program) -> Option<&Listing> {
        self.listings.get(&self.base(program)?)
    }

    /// Notes that a program was seen to load files.
    fn see(&mut self, program: Program, depfile: &Depfile) {
        self.seen.entry(program).or_default().extend(depfile);
    }

    pub fn seen(&self, program: Program) -> Option<&Depfile> {
        self.seen.get(&program)
    }
}

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
        let unread = |program: &Program| *program.state(&self.db) == ProgramState::Unread;
        let unread: Vec<Program> = self.named_programs().into_iter().filter(unread).collect();
        for program in &unread {
            self.read_program(*program, system);
        }
        !unread.is_empty()
    }

    fn read_program(&mut self, program: Program, system: &dyn System) {
        let spec = program.spec(&self.db).clone();
        let folder = self.folder().to_owned();
        let environment = Arc::clone(self.root.environment(&self.db));
        let place = ProgramContext {
            folder: &folder,
            workspace: &self.workspace,
            environment: &environment,
            sees_all: false,
        };
        let state = match ReadProgram::read(&spec, &place, system) {
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

    pub(super) fn set_state(&mut self, program: Program, state: ProgramState) {
        let change = Change { programs: vec![(program, state)], ..Change::default() };
        change.apply(&mut self.db, self.root);
    }

    /// The programs of which it is not known which files they load.
    fn unloaded(&self) -> Vec<Program> {
        let is_unloaded = |program: &Program| {
            matches!(program.state(&self.db), ProgramState::Read(_))
                && program.spec(&self.db).language.has_worker()
        };
        self.named_programs().into_iter().filter(is_unloaded).collect()
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
                    let base = read.dependencies_action().key();
                    self.programs.listings.insert(base, listing);
                }
                None => {}
            }
        }
    }

    /// Completes what is known of a program with the files that are listed.
    fn know(&mut self, program: Program, mut listing: Listing, system: &dyn System) {
        let folder = self.folder().to_owned();
        let Some(read) = self.programs.read(program) else { return };
        let base = read.dependencies_action().key();
        let seen = std::mem::take(&mut listing.seen);
        let known = read.loading(&listing.depfile, &seen, &folder, system);
        self.programs.see(program, &listing.depfile);
        self.programs.listings.insert(base, listing);
        self.set_state(program, ProgramState::Known(Arc::new(known)));
    }

    /// The keys of the entries that list what programs load, and what commands write.
    pub fn listing_keys(&self) -> Vec<ActionKey> {
        let key = |program: Program| {
            if program.spec(&self.db).language.has_worker() {
                self.programs.base(program)
            } else {
                self.programs.read(program).and_then(outputs_key)
            }
        };
        self.named_programs().into_iter().filter_map(key).collect()
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
        let read = |program: Program| Some((program, self.programs.read(program)?.clone()));
        self.unloaded().into_iter().filter_map(read).collect()
    }

    /// The programs that must be loaded before anything of them is keyed, how, and the key of what is known of each.
    pub(crate) fn to_load(&self) -> Vec<(Program, Arc<Start>, ActionKey)> {
        let start = |program: Program| {
            let read = self.programs.read(program)?;
            Some((program, Arc::clone(&read.start), read.dependencies_action().key()))
        };
        self.unloaded().into_iter().filter_map(start).collect()
    }

    /// A program was loaded, or cannot be. Returns the entry that is to be kept.
    pub fn loaded(
        &mut self,
        program: Program,
        result: Result<Discovered, Failure>,
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
                let held = self.programs.listing(program).cloned();
                let generation = held.as_ref().map_or(0, |held| held.generation.saturating_add(1));
                let loaded = loaded_of(&depfile, &seen);
                let depfile = depfile.loaded_anew(loaded, &held.unwrap_or_default().depfile);
                let entry = entry(&action, &depfile, generation, system.now());
                self.know(program, Listing { generation, depfile, seen }, system);
                Some(entry)
            }
        }
    }

    /// What programs were seen to load only when they were called: entries to be kept, at once.
    pub(crate) fn discovered(
        &mut self,
        all: Vec<(Arc<ProgramIdentity>, Discovered)>,
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
                entries.push(entry(&action, &listing.depfile, listing.generation, system.now()));
            }
        }
        entries
    }

    /// What was discovered, from the suite's folder. What is read and not declared is noted.
    fn seen(
        &mut self,
        program: Program,
        discovered: Discovered,
        system: &dyn System,
    ) -> (Depfile, SeenFiles) {
        let folder = self.folder();
        let (mut depfile, seen) = discovered_from(folder, discovered, system);
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
            input.is_some_and(|(name, held)| inputs::state(spec, folder, name, system) == *held)
                || known
                    .dependencies
                    .iter()
                    .filter(is_it)
                    .any(|(_, held)| state(path, system) == *held)
        })
    }

    /// How the programs of the suite are started, as far as they can be.
    pub fn starts(&self) -> Vec<Arc<Start>> {
        let start = |program| Some(Arc::clone(&self.programs.read(program)?.start));
        self.named_programs().into_iter().filter_map(start).collect()
    }

    /// How a program is started, by what the suite says of it.
    pub(crate) fn start_of(&self, spec: &ProgramSpec) -> Option<Arc<Start>> {
        let program = self.db.program(spec);
        self.programs.read(program).map(|read| Arc::clone(&read.start))
    }

    /// Reads, apart from what the session holds, the programs of `named` that rest on what is stale or that nobody has
    /// looked at. An error says which cannot be called.
    pub(crate) fn edited_programs(
        &self,
        named: &[(ProgramSpec, ProgramPlaces)],
        system: &dyn System,
    ) -> Result<Vec<(Program, ReadProgram)>, Vec<Diagnostic>> {
        let folder = self.folder().to_owned();
        let environment = self.load_state.environment.as_ref();
        let is_other = environment.is_some_and(|new| new != self.root.environment(&self.db));
        let environment = Arc::clone(environment.unwrap_or(self.root.environment(&self.db)));
        let place = ProgramContext {
            folder: &folder,
            workspace: &self.workspace,
            environment: &environment,
            sees_all: false,
        };
        let held = self.named_programs();
        let mut edited: Vec<(Program, ReadProgram)> = Vec::new();
        let mut problems = Vec::new();
        for (spec, places) in named {
            let program = self.db.program(spec);
            let is_stale = |path: &String| self.load_state.stale.is_near(path);
            let is_new = !held.contains(&program) || known_of(program.state(&self.db)).is_none();
            let is_known = edited.iter().any(|(other, _)| *other == program);
            let may_differ = is_new
                || is_other
                || self.paths_of(program).iter().any(is_stale)
                || self.folders_of(program).iter().any(is_stale);
            if is_known || !may_differ {
                continue;
            }
            match ReadProgram::read(spec, &place, system) {
                Ok(read) => edited.push((program, self.programs.without_outputs(program, read))),
                Err(problem) => {
                    problems.push(uncallable(spec, places.of(&problem.part).clone(), &problem));
                }
            }
        }
        if problems.is_empty() { Ok(edited) } else { Err(problems) }
    }

    /// Takes programs that were read apart. Says which files changed.
    pub(crate) fn take_programs(
        &mut self,
        edited: Vec<(Program, ReadProgram)>,
        system: &dyn System,
    ) -> BTreeSet<String> {
        let folder = self.folder().to_owned();
        let mut files = BTreeSet::new();
        for (program, read) in edited {
            self.remember_loaded(program);
            let before = known_of(program.state(&self.db)).map(Arc::clone);
            if before.is_none() {
                // It may be another file that kept it from being loaded.
                let paths = self.paths_of(program).into_iter();
                files.extend(paths.filter(|path| self.load_state.stale.is_near(path)));
            }
            let of_before = self.programs.read(program).map(|read| Arc::clone(&read.known));
            // One that could not be loaded is loaded again, whatever has changed.
            let is_same = before.is_some() && of_before.as_ref() == Some(&read.known);
            let known = Arc::clone(&read.known);
            self.programs.read.insert(program, read);
            match self.programs.listing(program).cloned() {
                // What calls have loaded since completes keys when they are over: until then what was called stands.
                Some(listing) if is_same && self.is_as_seen(program, &listing, system) => {}
                None if is_same => {}
                Some(listing) if is_same => {
                    let read = self.programs.read(program);
                    let now = read.map(|read| {
                        read.loading(&listing.depfile, &SeenFiles::new(), &folder, system)
                    });
                    let both = before.as_ref().zip(now.as_ref());
                    let spec = program.spec(&self.db);
                    files.extend(
                        both.into_iter()
                            .flat_map(|(before, now)| changed(spec, &folder, before, now)),
                    );
                    // It may load others now.
                    self.set_state(program, ProgramState::Read(known));
                }
                _ => self.set_state(program, ProgramState::Read(known)),
            }
            let spec = program.spec(&self.db);
            match (before, known_of(program.state(&self.db))) {
                (Some(before), Some(now)) => files.extend(changed(spec, &folder, &before, now)),
                _ => files.extend(own_file(spec)),
            }
        }
        files
    }

    /// Whether everything that a program loads is as its key says, or as it was when it was loaded.
    fn is_as_seen(&self, program: Program, listing: &Listing, system: &dyn System) -> bool {
        let ProgramState::Known(known) = program.state(&self.db) else { return false };
        let folder = self.folder();
        let held: BTreeMap<_, _> = known.dependencies.iter().cloned().collect();
        let missing = MISSING.to_owned();
        let is_missed = |path: &String| known.missed.contains(path).then_some(&missing);
        listing.depfile.files.iter().chain(&listing.depfile.missed).all(|path| {
            let seen = held.get(path).or_else(|| listing.seen.get(path)?.as_ref());
            seen.or(is_missed(path)) == Some(&state(&join(folder, path), system))
        })
    }

    /// Where the suite says something of a program.
    pub fn place_of(&self, spec: &ProgramSpec, part: &UncallablePart) -> diagnostic::Place {
        let places = &queries::suite(&self.db, self.root).program_places;
        match places.iter().find(|(other, _)| other == spec) {
            Some((_, places)) => places.of(part).clone(),
            None => diagnostic::Place::file(self.root.suite(&self.db).path(&self.db).as_str()),
        }
    }

    /// The programs of the suite that cannot be called.
    pub(crate) fn program_problems(&self) -> Vec<Diagnostic> {
        let broken = |program: Program| match program.state(&self.db) {
            ProgramState::Broken(why) => {
                let spec = program.spec(&self.db);
                Some(uncallable(spec, self.place_of(spec, &why.part), why))
            }
            _ => None,
        };
        self.named_programs().into_iter().filter_map(broken).collect()
    }
}

/// Says that a program of the suite cannot be called.
fn uncallable(spec: &ProgramSpec, place: diagnostic::Place, why: &Uncallable) -> Diagnostic {
    let message = format!("cannot call `{}`: {}", spec.shown(), why.message);
    Diagnostic { hint: why.hint.clone(), ..Diagnostic::error(place, message) }
}

pub(crate) fn known_of(state: &ProgramState) -> Option<&Arc<ProgramFingerprint>> {
    match state {
        ProgramState::Known(known) | ProgramState::Read(known) => Some(known),
        ProgramState::Unread | ProgramState::Broken(_) => None,
    }
}

/// The file of a program, if it has one.
fn own_file(spec: &ProgramSpec) -> Option<String> {
    (!spec.path.is_empty()).then(|| spec.path.clone())
}

/// The files of a program of a suite in `folder` that differ.
fn changed(
    spec: &ProgramSpec,
    folder: &str,
    before: &ProgramFingerprint,
    now: &ProgramFingerprint,
) -> BTreeSet<String> {
    let mut files = BTreeSet::new();
    if before.program != now.program {
        files.extend(own_file(spec));
    }
    let mut both = vec![(&before.inputs, &now.inputs)];
    // What it loads may not be known yet.
    if !(now.dependencies.is_empty() && now.missed.is_empty()) {
        both.push((&before.dependencies, &now.dependencies));
    }
    for (before, now) in both {
        let before: BTreeSet<_> = before.iter().collect();
        let now: BTreeSet<_> = now.iter().collect();
        files.extend(before.symmetric_difference(&now).map(|(path, _)| join(folder, path)));
    }
    files
}
