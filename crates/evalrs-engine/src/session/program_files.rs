//! The files of programs of a session, and where others may be made; where they change, programs are read apart first, then
//! taken.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::Session;
use super::program_states::uncallable;
use super::programs::file_state::state;
use super::programs::listings::Listing;
use super::programs::program_context::ProgramContext;
use super::programs::program_set::known_of;
use super::programs::read_program::ReadProgram;
use evalrs_base::diagnostic::Diagnostic;
use evalrs_base::file_path::{join, non_empty};
use evalrs_eval::program::{Depfile, MISSING, ProgramFingerprint};
use evalrs_exec::SeenFiles;
use evalrs_graph::Db;
use evalrs_graph::inputs::{Program, ProgramState};
use evalrs_model::spec::ProgramSpec;
use evalrs_suite::ProgramPlaces;
use evalrs_system::System;

impl Session {
    /// Reads, apart from what the session holds, the programs of `named` that rest on what is stale or that nobody has
    /// looked at. An error says which cannot be called.
    pub(crate) fn edited_programs(
        &self,
        named: &[(ProgramSpec, ProgramPlaces)],
        system: &dyn System,
    ) -> Result<Vec<(Program, ReadProgram)>, Vec<Diagnostic>> {
        let before = self.root.environment(&self.db);
        let environment = self.load_state.environment.as_ref().unwrap_or(before);
        let place = ProgramContext {
            folder: self.folder(),
            workspace: &self.workspace,
            environment,
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
                || environment != before
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
            let spec = program.spec(&self.db);
            // Where it is the same, its key is still that of the reading before.
            match self.programs.listing(program) {
                // What calls have loaded since completes keys when they are over: until then what was called stands.
                Some(listing) if is_same && self.is_as_seen(program, listing, system) => {}
                None if is_same => {}
                listing => {
                    // It may load others now.
                    let listing = listing.filter(|_| is_same);
                    if let (Some(listing), Some(before)) = (listing, &before) {
                        let now =
                            read.loading(&listing.depfile, &SeenFiles::new(), &folder, system);
                        files.extend(changed(spec, &folder, before, &now));
                    }
                    self.set_state(program, ProgramState::Read(Arc::clone(&read.known)));
                }
            }
            self.programs.read.insert(program, read);
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
        listing.depfile.files.iter().chain(&listing.depfile.missed).all(|path| {
            let seen = held.get(path).or_else(|| listing.seen.get(path)?.as_ref());
            let missed = known.missed.contains(path).then_some(MISSING);
            seen.map(String::as_str).or(missed) == Some(&state(&join(folder, path), system))
        })
    }

    /// Every file that a program of the suite rests on.
    pub(crate) fn program_paths(&self) -> BTreeSet<String> {
        self.named_programs().into_iter().flat_map(|program| self.paths_of(program)).collect()
    }

    pub(crate) fn paths_of(&self, program: Program) -> BTreeSet<String> {
        let folder = self.folder();
        let spec = program.spec(&self.db);
        let mut paths = BTreeSet::new();
        paths.extend((!spec.path.is_empty()).then(|| spec.path.clone()));
        paths.extend(spec.runtime_path().cloned());
        // A folder or a pattern may match other files tomorrow: so its folder is looked at.
        paths.extend(spec.inputs.iter().map(|input| join(folder, fixed_part(input))));
        let known = known_of(program.state(&self.db));
        let known = known.iter().flat_map(|known| known.inputs.iter().chain(&known.dependencies));
        paths.extend(known.map(|(path, _)| join(folder, path)));
        let seen = self.programs.seen(program).into_iter().flat_map(|seen| &seen.files);
        paths.extend(seen.map(|path| join(folder, path)));
        paths
    }

    /// The folders in which programs of the suite looked for files that were not there. What is made in one may be what
    /// they load from then on.
    pub(crate) fn program_folders(&self) -> BTreeSet<String> {
        self.named_programs().into_iter().flat_map(|program| self.folders_of(program)).collect()
    }

    pub(crate) fn folders_of(&self, program: Program) -> BTreeSet<String> {
        let folder = self.folder();
        let seen = self.programs.seen(program).map(Depfile::folders).unwrap_or_default();
        seen.into_iter().map(|path| non_empty(&join(folder, path)).to_owned()).collect()
    }
}

/// The part of a pattern before the first of its folders that holds a wildcard.
fn fixed_part(pattern: &str) -> &str {
    match pattern.find(['*', '?', '[', '{']) {
        None => pattern,
        Some(at) => &pattern[..pattern[..at].rfind('/').unwrap_or(0)],
    }
}

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
