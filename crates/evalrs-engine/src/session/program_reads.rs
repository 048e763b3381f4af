//! Files that programs read without declaring them. They are in no key, so an edit of one calls nothing again: that is
//! said when they are read, and whenever one is not any more what was read.

use std::collections::BTreeSet;

use super::Session;
use super::programs::file_state::seen_from;
use super::programs::listings::entry;
use evalrs_base::diagnostic::Diagnostic;
use evalrs_base::file_path::{join, non_empty};
use evalrs_eval::program::{Depfile, UncallablePart, file_digest};
use evalrs_graph::inputs::Program;
use evalrs_store::Entry;
use evalrs_system::System;

impl Session {
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
        let undeclared = depfile.reads.keys().map(|path| (name.clone(), path.clone()));
        self.programs.undeclared.extend(undeclared);
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
                entries.push(entry(&action, &listing.depfile, listing.generation, system.now()));
            }
        }
        entries
    }

    /// What executables that are scripts of Python import without declaring it, a warning each.
    pub(crate) fn undeclared_imports(&self) -> Vec<Diagnostic> {
        let read = |program| self.programs.read(program);
        let programs = self.named_programs();
        let all = programs.into_iter().filter_map(read).flat_map(|read| {
            let spec = &read.start.spec;
            read.imports.iter().map(move |path| {
                let message = format!(
                    "`{}` imports `{path}`, which is not among its `inputs`: an edit of it grades nothing again",
                    spec.shown()
                );
                let place = self.place_of(spec, &UncallablePart::File);
                let hint = Some(format!("add it: `inputs: [{path}]`"));
                Diagnostic { hint, ..Diagnostic::warning(place, message) }
            })
        });
        all.collect()
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
                "`{program}` reads `{path}`, which is not among its `inputs`: an edit of it grades nothing again"
            )
        });
        let replayed = changed.iter().map(|(program, path)| {
            format!(
                "`{program}` has read `{path}`, which has changed since and is not among its `inputs`: what it gave may be \
                 out of date; declare it with `inputs: [{path}]`, or call it again with `--refresh`"
            )
        });
        of_session.chain(replayed).collect()
    }
}
