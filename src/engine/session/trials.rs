//! Programs that are loaded before a session holds them: one that cannot be loaded shall take nothing from the screen.
//!
//! What loading comes to rests on what the suite says of a program, on its files and on those that it loads. So a
//! program that is again what it was when it was loaded is not loaded once more; one that could not be is, with every
//! save.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::Session;
use super::programs::{ReadProgram, depfile_of, discovered_from};
use crate::base::diagnostic::{Diagnostic, Place};
use crate::base::system::{FileBytes, System, folder_of, join};
use crate::effects::exec::{Discovered, SeenFiles, Start};
use crate::graph::inputs::{Program, ProgramState};
use crate::pipeline::key::ActionKey;
use crate::pipeline::outcome::{Failure, FailureKind};
use crate::pipeline::program::Known;
use crate::pipeline::spec::ProgramSpec;

/// The most programs of which it is remembered that they could be loaded.
const MOST_REMEMBERED: usize = 200;

/// How often in a row a program is loaded again because something changed beside it, nobody knows what. One that writes
/// there when it is loaded would be loaded for ever.
const MOST_IN_VAIN: usize = 10;

/// A program that is to be loaded before the session may hold it.
#[derive(Clone, Debug)]
pub struct Trial {
    read: ReadProgram,
}

impl Trial {
    /// How it is started.
    pub fn start(&self) -> Arc<Start> {
        Arc::clone(&self.read.start)
    }

    /// The key of what is known of it without what it loads.
    pub fn base(&self) -> ActionKey {
        self.read.dependencies_action().key()
    }
}

/// What came of trials.
#[derive(Debug, Default)]
pub(crate) struct Trials {
    /// Whether nothing may be executed.
    pub(crate) is_closed: bool,
    good: Vec<Good>,
    failed: Vec<Failed>,
    /// The folders that are looked at because something in them may be what keeps a program from being loaded.
    pub(crate) beside: BTreeSet<String>,
    /// How often in a row nothing else was touched than these.
    in_vain: usize,
}

/// A program that could be loaded, or of which nobody will know.
#[derive(Debug)]
struct Good {
    spec: ProgramSpec,
    /// Its files and those that it loaded, as they were then.
    known: Known,
    discovered: Option<Discovered>,
}

/// A program that could not be loaded since the last save.
#[derive(Debug)]
struct Failed {
    spec: ProgramSpec,
    known: Arc<Known>,
    problem: Diagnostic,
}

impl Trials {
    /// Files were saved. That something changed beside a program may be its own doing, whenever it is loaded.
    fn begin(&mut self, touched: Option<&BTreeSet<String>>) {
        let is_beside = touched.is_some_and(|touched| touched.is_subset(&self.beside));
        self.in_vain = if is_beside { self.in_vain + 1 } else { 0 };
        if self.in_vain <= MOST_IN_VAIN {
            self.failed.clear();
        }
    }

    fn is_of(&self, read: &ReadProgram) -> impl Iterator<Item = &Good> {
        self.good.iter().filter(|good| good.spec == read.start.spec)
    }

    /// Remembers a program instead of the one that is remembered for longest, if there are enough.
    fn remember(&mut self, good: Good) {
        while self.good.len() >= MOST_REMEMBERED {
            self.good.remove(0);
        }
        self.good.push(good);
    }
}

impl Session {
    /// These files were saved (none: any): what could not be loaded is tried again.
    pub fn try_again(&mut self, touched: Option<&BTreeSet<String>>) {
        self.trials.begin(touched);
    }

    /// Which of the programs that were read are to be loaded first. An error says which cannot be.
    pub(crate) fn to_try(
        &self,
        programs: &[(Program, ReadProgram)],
        system: &dyn System,
    ) -> Result<Vec<Trial>, Vec<Diagnostic>> {
        let (mut trials, mut problems) = (Vec::new(), Vec::new());
        for (program, read) in programs {
            let spec = &read.start.spec;
            if self.trials.is_closed
                || !spec.language.has_worker()
                || self.is_held(*program, read, system)
                || self.loaded_as(read, system).is_some()
            {
                continue;
            }
            let is_it = |failed: &&Failed| failed.spec == *spec && failed.known == read.known;
            match self.trials.failed.iter().find(is_it) {
                Some(failed) => problems.push(failed.problem.clone()),
                None => trials.push(Trial { read: read.clone() }),
            }
        }
        if problems.is_empty() { Ok(trials) } else { Err(problems) }
    }

    /// Whether the session holds the program as it was read, with all that it loads.
    fn is_held(&self, program: Program, read: &ReadProgram, system: &dyn System) -> bool {
        match program.state(&self.db) {
            ProgramState::Known(known) => self.still_is(known, read, system),
            ProgramState::Unread | ProgramState::Broken(_) | ProgramState::Read(_) => false,
        }
    }

    /// What came of loading the program, if it was loaded as it was read.
    fn loaded_as(&self, read: &ReadProgram, system: &dyn System) -> Option<&Good> {
        self.trials.is_of(read).find(|good| self.still_is(&good.known, read, system))
    }

    fn still_is(&self, known: &Known, read: &ReadProgram, system: &dyn System) -> bool {
        if !is_same_but_for_dependencies(known, &read.known) {
            return false;
        }
        read.loading(&depfile_of(known), &SeenFiles::new(), self.folder(), system) == *known
    }

    fn folder(&self) -> &str {
        folder_of(self.root.suite(&self.db).path(&self.db))
    }

    /// A program was tried.
    pub(crate) fn tried(
        &mut self,
        trial: Trial,
        result: Result<Discovered, Failure>,
        system: &dyn System,
    ) {
        let Trial { read } = trial;
        let spec = read.start.spec.clone();
        let discovered = match result {
            Ok(discovered) => Some(discovered),
            // Whoever calls it will be told the same.
            Err(failure) if failure.kind == FailureKind::NotAsked => None,
            Err(failure) => {
                let problem = unloadable((&read.start, self.folder()), &failure, system);
                let known = Arc::clone(&read.known);
                self.trials.failed.push(Failed { spec, known, problem });
                return;
            }
        };
        let found = discovered.clone().unwrap_or_default();
        let (depfile, seen) = discovered_from(self.folder(), found, system);
        let known = read.loading(&depfile, &seen, self.folder(), system);
        self.trials.remember(Good { spec, known, discovered });
    }

    /// Remembers that a program could be loaded as the session holds it.
    pub(crate) fn remember_loaded(&mut self, program: Program) {
        if let ProgramState::Known(known) = program.state(&self.db) {
            let (spec, known) = (program.spec(&self.db).clone(), known.as_ref().clone());
            let is_it = |good: &Good| good.spec == spec && good.known == known;
            if !self.trials.good.iter().any(is_it) {
                self.trials.remember(Good { spec, known, discovered: None });
            }
        }
    }

    /// What a program was seen to load when it was tried, if it was.
    pub(crate) fn discovered_when_tried(
        &self,
        program: Program,
        system: &dyn System,
    ) -> Option<Discovered> {
        let all = self.not_loaded();
        let (_, read) = all.iter().find(|(other, _)| *other == program)?;
        self.loaded_as(read, system)?.discovered.clone()
    }
}

/// Whether all that is known of a program without loading it is the same. No file is read for it.
fn is_same_but_for_dependencies(one: &Known, other: &Known) -> bool {
    let Known { path, program, runtime, inputs, dependencies: _, missed: _, env, cwd } = one;
    (path, program, runtime) == (&other.path, &other.program, &other.runtime)
        && (inputs, env, cwd) == (&other.inputs, &other.env, &other.cwd)
}

/// Says why a program cannot be loaded, and where.
fn unloadable(
    (start, folder): (&Start, &str),
    failure: &Failure,
    system: &dyn System,
) -> Diagnostic {
    let details = failure.stderr.as_deref().unwrap_or_default();
    let said = python_places(details).last().or_else(|| script_place(&failure.message));
    let said = said.or_else(|| script_place(details));
    let place = said.and_then(|(path, line, column)| {
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
    use std::collections::BTreeSet;
    use std::sync::Arc;

    use super::{Failed, Good, MOST_IN_VAIN, MOST_REMEMBERED, Trials, python_places, script_place};
    use crate::base::diagnostic::{Diagnostic, Place};
    use crate::pipeline::program::Known;
    use crate::pipeline::spec::{Language, ProgramSpec, Role};

    #[test]
    fn a_program_that_writes_beside_itself_is_not_tried_for_ever() {
        let mut trials = Trials { beside: BTreeSet::from([".".into()]), ..Trials::default() };
        let mut is_tried = |path: &str| {
            let spec = ProgramSpec::new("f.py".into(), Language::Python, "f", Role::Grade);
            let problem = Diagnostic::error(Place::file("f.py"), "no");
            trials.failed = vec![Failed { spec, known: Arc::default(), problem }];
            trials.begin(Some(&BTreeSet::from([path.into()])));
            trials.failed.is_empty()
        };
        for _ in 0..2 {
            assert!((0..MOST_IN_VAIN).all(|_| is_tried(".")));
            assert!(!is_tried(".") && !is_tried("."));
            assert!(is_tried("f.py"), "somebody saved it");
        }
    }

    #[test]
    fn no_more_programs_are_remembered_than_a_session_tries() {
        let mut trials = Trials::default();
        for at in 0..MOST_REMEMBERED + 3 {
            let spec = ProgramSpec::new(format!("{at}.py"), Language::Python, "f", Role::Grade);
            trials.remember(Good { spec, known: Known::default(), discovered: None });
        }
        let paths =
            [&trials.good[0], &trials.good[MOST_REMEMBERED - 1]].map(|good| &good.spec.path);
        assert_eq!(
            (paths, trials.good.len()),
            ([&"3.py".into(), &"202.py".into()], MOST_REMEMBERED)
        );
    }

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
