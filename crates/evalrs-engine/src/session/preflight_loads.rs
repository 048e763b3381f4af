//! Pre-flight load of edited programs: a program must load before the session adopts it, so that a broken edit never
//! hides the last results.
//!
//! What loading comes to rests on what the suite says of a program, on its files and on those that it loads. So a
//! program that is again what it was when it was loaded is not loaded once more; one that could not be is retried with
//! every save.

use std::sync::Arc;

use super::Session;
use super::preflight::{FailedPreflight, PassedPreflight};
use super::programs::listings::{depfile_of, discovered_from};
use super::programs::read_program::ReadProgram;
use evalrs_base::diagnostic::{Diagnostic, Place};
use evalrs_base::file_path::join;
use evalrs_eval::program::{ProgramFingerprint, UncallablePart};
use evalrs_exec::{DiscoveredFiles, SeenFiles, Start};
use evalrs_graph::inputs::{Program, ProgramState};
use evalrs_model::outcome::{Failure, FailureKind};
use evalrs_system::{FileBytes, System};

impl Session {
    /// Which of the programs that were read are to be loaded first. An error says which cannot be.
    pub(crate) fn needed_preflights(
        &self,
        programs: &[(Program, ReadProgram)],
        system: &dyn System,
    ) -> Result<Vec<ReadProgram>, Vec<Diagnostic>> {
        let mut preflights = Vec::new();
        let mut problems = Vec::new();
        for (program, read) in programs {
            if self.preflights.is_closed
                || !read.start.spec.language.has_worker()
                || self.is_held(*program, read, system)
                || self.loaded_as(read, system).is_some()
            {
                continue;
            }
            match self.preflights.failure_of(read) {
                Some(problem) => problems.push(problem.clone()),
                None => preflights.push(read.clone()),
            }
        }
        if problems.is_empty() { Ok(preflights) } else { Err(problems) }
    }

    /// Whether the session holds the program as it was read, with all that it loads.
    fn is_held(&self, program: Program, read: &ReadProgram, system: &dyn System) -> bool {
        let ProgramState::Known(known) = program.state(&self.db) else { return false };
        self.is_unchanged(known, read, system)
    }

    /// The result of loading the program, if it was loaded as it was read.
    fn loaded_as(&self, read: &ReadProgram, system: &dyn System) -> Option<&PassedPreflight> {
        let mut passed = self.preflights.passed.iter();
        passed.find(|it| it.spec == read.start.spec && self.is_unchanged(&it.known, read, system))
    }

    fn is_unchanged(
        &self,
        known: &ProgramFingerprint,
        read: &ReadProgram,
        system: &dyn System,
    ) -> bool {
        // Digesting what it loads reads files: only where all else is the same.
        is_same_but_for_dependencies(known, &read.known)
            && read.loading(&depfile_of(known), &SeenFiles::new(), self.folder(), system) == *known
    }

    pub(crate) fn finish_preflight(
        &mut self,
        read: &ReadProgram,
        result: Result<DiscoveredFiles, Failure>,
        system: &dyn System,
    ) {
        let spec = read.start.spec.clone();
        let discovered = match result {
            Ok(discovered) => Some(discovered),
            // Each call of it will fail with the same message, so that is no reason to hide the last results.
            Err(failure) if failure.kind == FailureKind::NotAsked => None,
            Err(failure) => {
                let mut problem = unloadable(&read.start, self.folder(), &failure, system);
                if spec.inline.is_some() {
                    problem.place = Some(self.place_of(&spec, &UncallablePart::File));
                }
                let known = Arc::clone(&read.known);
                self.preflights.failed.push(FailedPreflight { spec, known, problem });
                return;
            }
        };
        let found = discovered.clone().unwrap_or_default();
        let (depfile, seen) = discovered_from(self.folder(), found, system);
        let known = read.loading(&depfile, &seen, self.folder(), system);
        self.preflights.remember(PassedPreflight { spec, known, discovered });
    }

    /// Remembers that a program could be loaded as the session holds it.
    pub(crate) fn remember_loaded(&mut self, program: Program) {
        if let ProgramState::Known(known) = program.state(&self.db) {
            let spec = program.spec(&self.db).clone();
            let known = known.as_ref().clone();
            let mut passed = self.preflights.passed.iter();
            if !passed.any(|passed| passed.spec == spec && passed.known == known) {
                self.preflights.remember(PassedPreflight { spec, known, discovered: None });
            }
        }
    }

    /// What a program was seen to load in its pre-flight load, if there was one.
    pub(crate) fn discovered_in_preflight(
        &self,
        read: &ReadProgram,
        system: &dyn System,
    ) -> Option<DiscoveredFiles> {
        self.loaded_as(read, system)?.discovered.clone()
    }
}

/// Whether all that is known of a program without loading it is the same. No file is read for it.
fn is_same_but_for_dependencies(one: &ProgramFingerprint, other: &ProgramFingerprint) -> bool {
    let dependencies = other.dependencies.clone();
    let missed = Arc::clone(&other.missed);
    ProgramFingerprint { dependencies, missed, ..one.clone() } == *other
}

/// Says why a program cannot be loaded, and where.
fn unloadable(start: &Start, folder: &str, failure: &Failure, system: &dyn System) -> Diagnostic {
    let details = failure.stderr.as_deref().unwrap_or_default();
    let named = python_places(details).last().or_else(|| script_place(&failure.message));
    let named = named.or_else(|| script_place(details));
    let place = named.and_then(|(path, line, column)| {
        let path = join(folder, path);
        let FileBytes::Bytes(bytes) = system.read(&path) else { return None };
        let text = String::from_utf8_lossy(&bytes);
        let source = text.split('\n').nth(line.checked_sub(1)?)?;
        let from = source.char_indices().nth(column.saturating_sub(1)).map_or(0, |(at, _)| at);
        let from = if column == 0 { source.len() - source.trim_start().len() } else { from };
        Some(Place::in_line(path, line, source, from..source.trim_end().len()))
    });
    let place = place.unwrap_or_else(|| Place::file(start.spec.path.as_str()));
    let message = format!("cannot load `{}`: {}", start.spec.shown(), failure.message);
    Diagnostic::error(place, message)
}

/// The places that a traceback of Python names, from the outermost in; without columns.
fn python_places(text: &str) -> impl Iterator<Item = (&str, usize, usize)> {
    text.lines().filter_map(|line| {
        let (path, rest) = line.trim_start().strip_prefix("File \"")?.split_once("\", line ")?;
        let digits = rest.find(|char: char| !char.is_ascii_digit()).unwrap_or(rest.len());
        Some((path, rest[..digits].parse().ok()?, 0)).filter(|(path, ..)| !path.starts_with('<'))
    })
}

/// The first place in a text that is written as `path:line:column`.
fn script_place(text: &str) -> Option<(&str, usize, usize)> {
    let words = text.split(|char: char| char.is_whitespace() || matches!(char, '(' | ')'));
    words.into_iter().find_map(|word| {
        let (rest, column) = word.trim_end_matches(':').rsplit_once(':')?;
        let (path, line) = rest.rsplit_once(':')?;
        let path = path.strip_prefix("file://").unwrap_or(path);
        Some((path, line.parse().ok()?, column.parse().ok()?)).filter(|_| !path.is_empty())
    })
}

#[cfg(test)]
mod tests {
    use super::{python_places, script_place};

    #[test]
    fn tracebacks_say_where_a_program_is_wrong() {
        let python = "Traceback (most recent call last):\n  File \"<frozen importlib>\", line 940, in exec\n  File \"f.py\", line 1, in <module>\n    import helper\n  File \"sub/helper.py\", line 12\n    def g(:\nSyntaxError: invalid syntax";
        let found: Vec<_> = python_places(python).collect();
        assert_eq!(found, [("f.py", 1, 0), ("sub/helper.py", 12, 0)]);
        for (text, place) in [
            ("SyntaxError: h.mjs:2:1: Expected `)` but found `EOF`", Some(("h.mjs", 2, 1))),
            ("ReferenceError: y is not defined\n    at f (a/h.mjs:1:18)", Some(("a/h.mjs", 1, 18))),
            ("at file:///x/h.mjs:1:18", Some(("/x/h.mjs", 1, 18))),
            ("Cannot find module 'h.mjs' imported from m.mjs", None),
            ("at 12:30:45 o'clock: nothing", Some(("12", 30, 45))),
            (":1:2", None),
        ] {
            assert_eq!(script_place(text), place, "{text}");
        }
    }
}
