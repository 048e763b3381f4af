//! A run that repeats the last one: nothing that it would read has changed since, so nothing is read.
//!
//! A run that leaves no call to make notes what it asked of the file system, the state of the store, and what it would print
//! if it ran again: a file in `.evalrs/index`. The next run of the same command line looks at the state of each of these files,
//! as git does. Where all are as they were, it prints that, and gives the files of the last record another name. Whoever
//! doubts it says `--verify`, which is the default where `CI` is set.
//!
//! Deleting the index changes no byte of any report.

use std::cell::{Cell, RefCell};
use std::io::Write;

use serde::{Deserialize, Serialize};

use super::args::EvaluateArgs;
use super::console::Console;
use super::context::SuiteContext;
use super::reports::{Reports, process_facts};
use super::run_end::all_tallies;
use super::run_history::history_files;
use super::run_record::remove_records;
use crate::error::{Error, ExitStatus};
use evalrs_base::file_path::join;
use evalrs_engine::resolve::settle::Settlement;
use evalrs_engine::session::Session;
use evalrs_metrics::diff::since::RunMoves;
use evalrs_model::spec::Suite;
use evalrs_report::{Audience, ReportedRun};
use evalrs_store::process_mark;
use evalrs_store::record::read::{RESULTS, open, read_json};
use evalrs_store::record::reference::base_of;
use evalrs_store::record::{self, RunFacts};
use evalrs_system::traced::{TracedAnswer, TracedSystem};
use evalrs_system::{FileBytes, FileState, System};

/// The version of the file.
const FORMAT: u32 = 2;

/// A larger report is made again: reading it takes as long.
const MAX_TEXT: usize = 1 << 20;

/// The files of a record that a later one has copies of.
const COPIED: [&str; 3] = ["header.json", "summary.json", "replicates.json"];

/// Variables that differ from terminal to terminal. evalrs reads none of them.
const OF_TERMINALS: [&str; 9] =
    ["_", "COLUMNS", "LINES", "OLDPWD", "SHLVL", "STY", "TERM_SESSION_ID", "TMUX_PANE", "WINDOWID"];

/// The time that the printed text says.
pub(super) const NO_TIME: &str = " in 0.0 s";

/// What a run leaves for one that repeats it.
#[derive(Debug, Serialize, Deserialize)]
struct Manifest {
    format: u32,
    /// The digest of the command line, its environment and this build.
    question: String,
    /// The day on which the store noted what is in use.
    day: String,
    inputs: Vec<TracedAnswer>,
    /// The state of each segment of the store.
    store: Vec<(String, FileState)>,
    /// The notes of what is in use.
    notes: Option<Vec<String>>,
    /// The last run, and the state of the files of its record.
    record: String,
    files: Vec<FileState>,
    /// The files of the suite's history. Where the line of the last run is gone, a whole run writes it again.
    history: Vec<(String, FileState)>,
    /// What it would have printed if it had been the second one, and the id that the text has.
    printed: PrintedRun,
}

/// What a run that repeats this one prints.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct PrintedRun {
    pub id: String,
    pub out: String,
    pub err: String,
}

impl Manifest {
    /// A line with the digest of the rest, and the rest.
    fn text(&self) -> serde_json::Result<String> {
        let text = serde_json::to_string(self)?;
        Ok(format!("{}\n{text}", blake3::hash(text.as_bytes()).to_hex()))
    }

    /// None where a byte is not as it was written: what is printed is in there.
    fn read(bytes: &[u8]) -> Option<Self> {
        let (digest, text) = std::str::from_utf8(bytes).ok()?.split_once('\n')?;
        let is_whole = *digest == *blake3::hash(text.as_bytes()).to_hex();
        is_whole.then(|| serde_json::from_str(text).ok()).flatten()
    }
}

/// Takes what a run would print if it was repeated.
#[derive(Debug, Default)]
pub(super) struct RepeatNotes {
    /// None where it cannot be repeated.
    pub printed: RefCell<Option<PrintedRun>>,
    /// Whether messages are progress, which a repeated run has not.
    pub is_progress: Cell<bool>,
}

impl RepeatNotes {
    /// Notes what a run that repeats this one prints.
    pub(super) fn print(
        &self,
        args: &EvaluateArgs,
        facts: &RunFacts,
        run: &ReportedRun<'_, '_>,
        console: &Console<'_>,
    ) -> std::io::Result<()> {
        let RunFacts { id, .. } = facts;
        let moved = Some(RunMoves::none(id));
        let again = facts.clone().repeated(RunFacts { moved, ..RunFacts::default() });
        let again = process_facts(&again, Some(0.0), run.facts.report.clone());
        let mut out = Vec::new();
        if !args.quiet {
            let options = args.report_options(console.screen(), false);
            let mut reports = Reports::new(args.format, options, console.system);
            reports.add(&ReportedRun { facts: &again, ..*run }, &mut out, console.system)?;
            reports.finish(&mut out)?;
        }
        let out = String::from_utf8_lossy(&out).into_owned();
        self.printed.replace(Some(PrintedRun { id: id.clone(), out, err: String::new() }));
        Ok(())
    }
}

/// A command line of which the answer may be known.
pub(super) struct RepeatableRun {
    question: String,
    path: String,
    /// The folder of records, and that of the store.
    home: String,
    store_folder: String,
    uses: String,
    day: String,
    store: Vec<(String, FileState)>,
    surroundings: SuiteContext,
}

impl RepeatableRun {
    /// None where a run of this command line is not to be repeated.
    pub(super) fn of(args: &EvaluateArgs, console: &Console<'_>) -> Option<Self> {
        let [suite] = &args.suites[..] else { return None };
        let system = console.system;
        let writes_more = args.output.is_some() || args.rollup.is_some() || args.no_record;
        let repeats_calls = args.retry_errors || !args.refresh.is_empty();
        let is_plain = args.format.audience == Audience::Terminal && args.against.is_none();
        let is_other = args.only_targets || args.raw || args.verify || console.verbosity > 0;
        let environment = system.environment();
        if writes_more || repeats_calls || !is_plain || is_other || is_ci(system) {
            return None;
        }
        // Folders stand for the suites in them.
        system.stamp(suite).filter(|_| system.list(suite).is_none())?;
        let surroundings =
            SuiteContext::find(suite, args.store.cache_dir.as_deref(), system).ok()?;
        let home = surroundings.records();
        let asked = asked(args, console);
        let variables =
            environment.iter().filter(|(name, _)| !OF_TERMINALS.contains(&name.as_str()));
        let question =
            format!("{asked}{:?}{}", variables.collect::<Vec<_>>(), env!("EVALRS_BUILD"));
        let store = join(&surroundings.cache_dir, "v1");
        Some(Self {
            question: blake3::hash(question.as_bytes()).to_hex().to_string(),
            // The last command line is the one that is known.
            path: index_file(&home, suite, "json", system),
            store: store_states(system, &store)?,
            home,
            uses: join(&store, "use"),
            store_folder: store,
            day: system.now().strftime("%Y%m%d").to_string(),
            surroundings,
        })
    }

    /// Repeats the last run, if nothing has changed since.
    pub(super) fn repeat(&self, console: &mut Console<'_>) -> Result<Option<ExitStatus>, Error> {
        let system = console.system;
        let begun = system.elapsed();
        let Some(manifest) = self.unchanged(system) else { return Ok(None) };
        let Some(facts) = self.write_record(&manifest, system) else { return Ok(None) };
        let seconds = system.elapsed().saturating_sub(begun).as_secs_f64();
        let PrintedRun { id, out, err } = &manifest.printed;
        let out = out.replace(id, &facts.id);
        let time = format!(" in {seconds:.1} s");
        let out = match out.rsplit_once(NO_TIME) {
            Some((before, after)) => format!("{before}{time}{after}"),
            None => out,
        };
        console.err.write_all(err.as_bytes())?;
        console.out.write_all(out.as_bytes())?;
        console.out.flush()?;
        remove_records(&facts.suite, &[], &self.surroundings, console)?;
        // Another name of the results is a change of that file, too.
        if let Some(files) = self.files_of(&facts.id, system) {
            self.write(&Manifest { record: facts.id, files, ..manifest }, system);
        }
        Ok(Some(ExitStatus::of_run(facts.exit_code)))
    }

    /// What the last run left, if all that it looked at is as it was.
    fn unchanged(&self, system: &dyn System) -> Option<Manifest> {
        let manifest = Manifest::read(&system.read(&self.path).into_bytes().ok()?)?;
        let is_same = manifest.format == FORMAT
            && manifest.question == self.question
            && manifest.day == self.day
            && manifest.store == self.store
            && manifest.notes == system.list(&self.uses)
            && manifest
                .history
                .iter()
                .all(|(path, state)| system.state(path).as_ref() == Some(state));
        (is_same && manifest.inputs.iter().all(|input| input.holds(system))).then_some(manifest)
    }

    /// Writes the record of a run like the last one. None where it cannot be written, where that is not the last run of the
    /// suite any more, or where somebody has written to its files: then a whole run says so.
    fn write_record(&self, manifest: &Manifest, system: &dyn System) -> Option<RunFacts> {
        let last = self.folder_of(&manifest.record);
        let facts: RunFacts = read_json(system, &join(&last, "run.json"))?;
        let is_intact = self.files_of(&manifest.record, system)? == manifest.files;
        let started = system.now();
        let id = record::run_id(started, record::last_id(system, &self.home).as_deref());
        let facts = facts.repeated(RunFacts {
            id: id.clone(),
            started: started.to_string(),
            finished: system.now().to_string(),
            moved: Some(RunMoves::none(&manifest.record)),
            ..RunFacts::default()
        });
        let written = is_intact.then(|| self.write_files(manifest, &facts, system));
        if written.and_then(Result::ok) == Some(true) {
            return Some(facts);
        }
        let _ = system.remove_folder(&self.folder_of(&id));
        None
    }

    /// False where the last run is not the one to compare with.
    fn write_files(
        &self,
        manifest: &Manifest,
        facts: &RunFacts,
        system: &dyn System,
    ) -> std::io::Result<bool> {
        let last = self.folder_of(&manifest.record);
        let folder = self.folder_of(&facts.id);
        for name in COPIED {
            if let FileBytes::Bytes(bytes) = system.read(&join(&last, name)) {
                system.write(&join(&folder, name), &mut |file| file.write_all(&bytes))?;
            }
        }
        let past = open(system, &folder, &facts.id);
        let base = past.and_then(|past| base_of(system, &self.home, &past));
        if base.is_none_or(|base| base.id != manifest.record)
            || !system.link(&join(&last, RESULTS), &join(&folder, RESULTS))
        {
            return Ok(false);
        }
        record::write_facts(system, &folder, facts)?;
        record::set_latest(system, &self.home, &facts.id)?;
        Ok(true)
    }

    /// Keeps what is to be known for the next run, if it can be known.
    pub(super) fn keep(&self, traced: &TracedSystem<'_>, printed: PrintedRun, system: &dyn System) {
        let is_input = |path: &str| !self.is_of_records(path);
        let (Some(inputs), Some(store), Some(files), Some(history)) = (
            traced.answers(is_input),
            self.own_store(system),
            self.files_of(&printed.id, system),
            self.history(&printed.id, system),
        ) else {
            return;
        };
        if printed.out.len() + printed.err.len() > MAX_TEXT {
            return;
        }
        let manifest = Manifest {
            format: FORMAT,
            question: self.question.clone(),
            day: self.day.clone(),
            inputs,
            store,
            notes: system.list(&self.uses),
            record: printed.id.clone(),
            files,
            history,
            printed,
        };
        self.write(&manifest, system);
    }

    /// Whether a path is among the records, which every run reads and changes. Whatever else is beside them is the user's.
    fn is_of_records(&self, path: &str) -> bool {
        let inner = path.strip_prefix(&self.home).and_then(|inner| inner.strip_prefix('/'));
        let first = inner.and_then(|inner| inner.split('/').next());
        inner.is_some_and(|inner| !inner.contains('/')) || matches!(first, Some("runs" | "index"))
    }

    /// The state of the files of the suite's history, if a run of this id is known.
    fn history(&self, id: &str, system: &dyn System) -> Option<Vec<(String, FileState)>> {
        let facts: RunFacts = read_json(system, &join(&self.folder_of(id), "run.json"))?;
        let files = history_files(&facts.suite, &self.surroundings, system);
        files.into_iter().map(|path| system.state(&path).map(|state| (path, state))).collect()
    }

    fn folder_of(&self, id: &str) -> String {
        join(&record::runs_of(&self.home), id)
    }

    /// The states of the files of a record.
    fn files_of(&self, id: &str, system: &dyn System) -> Option<Vec<FileState>> {
        let folder = self.folder_of(id);
        let names = COPIED.into_iter().chain([RESULTS, "run.json"]);
        names.map(|name| system.state(&join(&folder, name))).collect()
    }

    /// It is only a matter of time if it cannot be written.
    fn write(&self, manifest: &Manifest, system: &dyn System) {
        let _ = manifest
            .text()
            .map(|text| system.write(&self.path, &mut |file| file.write_all(text.as_bytes())));
    }

    /// The state of the store, if only this process has written to it since it was looked at.
    fn own_store(&self, system: &dyn System) -> Option<Vec<(String, FileState)>> {
        let now = store_states(system, &self.store_folder)?;
        let is_own = |(name, _): &&(String, FileState)| {
            name.contains(process_mark()) && !self.store.iter().any(|(other, _)| other == name)
        };
        let others = now.iter().filter(|segment| !is_own(segment));
        others.eq(&self.store).then_some(now)
    }
}

/// What a run of this command line depends on besides files and the environment.
fn asked(args: &EvaluateArgs, console: &Console<'_>) -> String {
    let EvaluateArgs { suites, select, store, limits, labels, failures, .. } = args;
    let EvaluateArgs { frozen, offline, require_calibration, quiet, details, .. } = args;
    let flags = [frozen, offline, require_calibration, quiet, details];
    let Console { width, cuts, is_terminal, has_color, .. } = console;
    let shown = (width, cuts, is_terminal, has_color);
    let folder = console.system.absolute(".");
    format!("{:?}", (suites, select, store, limits, labels, failures, flags, shown, folder))
}

/// Whether this is CI, where everything is read.
pub(super) fn is_ci(system: &dyn System) -> bool {
    system.environment().get("CI").is_some_and(|value| !value.is_empty())
}

/// A file of what is known of a suite, among the records at `home`.
pub(super) fn index_file(home: &str, suite: &str, extension: &str, system: &dyn System) -> String {
    let name = blake3::hash(system.absolute(suite).as_bytes()).to_hex();
    join(home, &format!("index/{}.{extension}", &name[..32]))
}

/// The segments of a store with their states; none where the system knows too little of files.
pub(super) fn segment_states(system: &dyn System, store: &str) -> Option<Vec<(String, FileState)>> {
    let names = system.list(&join(store, "seg")).unwrap_or_default();
    let segments = names.into_iter().filter(|name| name.ends_with(".jsonl"));
    let segments = segments.map(|name| join("seg", &name));
    segments.map(|name| Some((name.clone(), system.state(&join(store, &name))?))).collect()
}

/// The segments of a store and the folders of its large bodies, with their states; none where the system knows too little of
/// files.
fn store_states(system: &dyn System, store: &str) -> Option<Vec<(String, FileState)>> {
    let names = |folder: &str| system.list(&join(store, folder)).unwrap_or_default();
    let segments = names("seg").into_iter().filter(|name| !name.contains(".idx"));
    let segments = segments.map(|name| join("seg", &name));
    let blobs = names("blob").into_iter().map(|name| join("blob", &name));
    let all = segments.chain(blobs);
    all.map(|name| Some((name.clone(), system.state(&join(store, &name))?))).collect()
}

/// Whether a run after this one, of which nothing has changed, would find all outcomes in the store and say the same.
pub(super) fn can_be_repeated(settled: &Settlement, session: &Session) -> bool {
    let is_whole = !settled.interrupted
        && !settled.out_of_budget
        && settled.write_error.is_none()
        && settled.in_vain.is_empty()
        && settled.stopped.is_empty()
        && all_tallies(settled).all(|tally| tally.pending + tally.failed == 0);
    let says_the_same = settled.asked.is_empty() || settled.warnings.is_empty();
    let is_recorded = settled.conversations.is_none() && session.starts().is_empty();
    // What is read from the folder of records is not told from what every run reads there.
    let reads_records = session.paths().iter().any(|path| path.contains(".evalrs/"));
    is_whole
        && says_the_same
        && is_recorded
        && !reads_records
        && session.suite().is_some_and(is_of_files)
}

/// Whether the results of a suite depend on files and outcomes alone: not on earlier runs, and nothing counts who looks.
fn is_of_files(suite: &Suite) -> bool {
    let compares = suite.graders.iter().any(|grader| grader.compared_run().is_some());
    let holds_out = suite.labels.as_ref().is_some_and(|labels| labels.holdout.is_some());
    !compares && !holds_out
}

/// Passes messages on, and keeps those that a repeated run would print too.
pub(super) struct KeptMessages<'a, 'b> {
    pub below: &'a mut dyn Write,
    pub kept: Vec<u8>,
    pub notes: &'b RepeatNotes,
}

impl Write for KeptMessages<'_, '_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let written = self.below.write(bytes)?;
        if !self.notes.is_progress.get() {
            self.kept.extend_from_slice(&bytes[..written]);
        }
        Ok(written)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.below.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::{FORMAT, Manifest, PrintedRun};
    use evalrs_system::FileState;
    use evalrs_system::traced::TracedAnswer;

    #[test]
    fn a_manifest_of_which_a_byte_has_changed_is_none() {
        let manifest = Manifest {
            format: FORMAT,
            question: "q".to_owned(),
            day: "20260101".to_owned(),
            inputs: vec![TracedAnswer::File("a".to_owned(), FileState::default())],
            store: vec![("seg/1.jsonl".to_owned(), FileState::default())],
            notes: None,
            record: "1".to_owned(),
            files: Vec::new(),
            history: Vec::new(),
            printed: PrintedRun { out: "gate: PASSED\n".to_owned(), ..PrintedRun::default() },
        };
        let bytes = manifest.text().unwrap().into_bytes();
        assert_eq!(Manifest::read(&bytes).unwrap().printed.out, manifest.printed.out);
        for at in 0..bytes.len() {
            assert!(Manifest::read(&bytes[..at]).is_none(), "cut at {at}");
            for bit in 0..8 {
                let mut bytes = bytes.clone();
                bytes[at] ^= 1 << bit;
                assert!(Manifest::read(&bytes).is_none(), "bit {bit} of byte {at}");
            }
        }
    }
}
