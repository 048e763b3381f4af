//! What commands have printed before, and all that it rests on: files in `.evalrs/index`, one a suite.
//!
//! A command that leaves no call to make notes what it asked of the file system, the state of the store, and what it prints.
//! The next process with the same command line looks at the state of each of these files, as git does. Where all are as they
//! were, it prints the same. Whoever trusts no state has every byte digested: `--verify`, which is the default where `CI` is
//! set. Then states do not count, so that a fresh checkout is known by its bytes. Digests are made by the first command that
//! wants them.
//!
//! A run over all cases also notes whether it found no label, which is a fact and not shown: `diff` then need not look.
//!
//! Deleting the index changes no byte of any report.

use std::cell::{Cell, OnceCell};
use std::collections::BTreeSet;
use std::io::Write;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::console::Console;
use super::context::SuiteContext;
use evalrs_base::file_path::join;
use evalrs_base::file_text::FileText;
use evalrs_engine::session::Session;
use evalrs_model::spec::Suite;
use evalrs_store::process_mark;
use evalrs_system::contents::PathContent;
use evalrs_system::traced::{TracedAnswer, TracedSystem};
use evalrs_system::{FileState, System};

/// The version of the file.
const FORMAT: u32 = 3;

/// A larger text is made again: reading it takes as long.
const MAX_TEXT: usize = 1 << 20;

/// So many command lines of a suite are known at once.
const MAX_ANSWERS: usize = 8;

/// Variables that differ from terminal to terminal. evalrs reads none of them.
const OF_TERMINALS: [&str; 11] = [
    "_",
    "COLUMNS",
    "INVOCATION_ID",
    "JOURNAL_STREAM",
    "LINES",
    "OLDPWD",
    "SHLVL",
    "STY",
    "TERM_SESSION_ID",
    "TMUX_PANE",
    "WINDOWID",
];

/// How variables begin that differ from job to job of CI. They count where a suite names one.
const OF_JOBS: [&str; 8] =
    ["ACTIONS_", "BUILDKITE_", "BUILD_", "CI_", "CIRCLE_", "GITHUB_", "GITLAB_", "RUNNER_"];

/// What a command line prints.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PrintedAnswer {
    /// On the standard output.
    pub out: String,
    /// On the error stream.
    pub err: String,
    /// What a run leaves besides.
    pub(super) run: Option<RecordFiles>,
}

/// The record of the run that left an answer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct RecordFiles {
    pub id: String,
    pub states: Vec<FileState>,
    /// None where nobody has asked for digests.
    pub contents: Option<Vec<PathContent>>,
    /// The day on which the store noted what is in use, and the notes.
    pub day: String,
    pub notes: Option<Vec<String>>,
}

/// What a file of the index has.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct SuiteIndex {
    format: u32,
    inputs: Vec<TracedAnswer>,
    /// The state of each segment of the store.
    store: Vec<(String, FileState)>,
    /// What is in all files of both; none where nobody has asked for it.
    contents: Option<Vec<(String, PathContent)>>,
    /// By the digest of the command line, its environment and this build. The latest is last.
    answers: Vec<(String, PrintedAnswer)>,
}

/// A line with the digest of the rest, and the rest: a value as JSON.
pub(super) fn signed(value: &impl Serialize) -> serde_json::Result<String> {
    let text = serde_json::to_string(value)?;
    Ok(format!("{}\n{text}", blake3::hash(text.as_bytes()).to_hex()))
}

/// The value of a [`signed`] text. None where a byte is not as it was written: what is printed may be in there.
pub(super) fn read_signed<T: DeserializeOwned>(bytes: &[u8]) -> Option<T> {
    let (digest, text) = std::str::from_utf8(bytes).ok()?.split_once('\n')?;
    let is_whole = *digest == *blake3::hash(text.as_bytes()).to_hex();
    is_whole.then(|| serde_json::from_str(text).ok()).flatten()
}

/// A command line of which the answer may be known.
pub struct CommandQuestion {
    pub(super) question: String,
    /// All that an answer depends on besides the words of the question, the screen and what the index says.
    place: String,
    screen: String,
    path: String,
    /// The folder of records, and that of the store.
    home: String,
    store_folder: String,
    store: Vec<(String, FileState)>,
    pub(super) is_by_bytes: bool,
    pub(super) suite: String,
    pub(super) surroundings: SuiteContext,
    /// What is known of the suite and still holds.
    index: OnceCell<Option<SuiteIndex>>,
}

impl CommandQuestion {
    /// The question that `words` ask of one suite; none where a folder stands for several. Bytes decide where it
    /// `is_verified`, or `CI` is set.
    pub fn of(
        suites: &[String],
        cache_dir: Option<&str>,
        words: &str,
        is_verified: bool,
        console: &Console<'_>,
    ) -> Option<Self> {
        let [suite] = suites else { return None };
        let system = console.system;
        if console.verbosity > 0 {
            return None;
        }
        system.stamp(suite).filter(|_| system.list(suite).is_none())?;
        let surroundings = SuiteContext::find(suite, cache_dir, system).ok()?;
        let home = surroundings.records();
        let Console { width, cuts, is_terminal, has_color, .. } = console;
        let screen = format!("{:?}", (width, cuts, is_terminal, has_color));
        let place = (suite, system.absolute("."));
        let variables = surroundings.environment.iter().filter(|(name, _)| counts(name));
        let variables: Vec<_> = variables.collect();
        let place = format!("{place:?}{variables:?}{}", env!("EVALRS_BUILD"));
        let store_folder = join(&surroundings.cache_dir, "v1");
        Some(Self {
            question: digest_of(&[words, &screen, &place]),
            place,
            screen,
            path: index_file(&home, suite, "json", system),
            store: store_states(system, &store_folder)?,
            home,
            store_folder,
            is_by_bytes: is_verified || is_ci(system),
            suite: suite.clone(),
            surroundings,
            index: OnceCell::new(),
        })
    }

    /// Prints what is known to be the answer. False where nothing is known: then nothing is printed.
    pub fn print_answer(&self, console: &mut Console<'_>) -> std::io::Result<bool> {
        let Some(answer) = self.answer(console.system) else { return Ok(false) };
        console.err.write_all(answer.err.as_bytes())?;
        console.out.write_all(answer.out.as_bytes())?;
        Ok(true)
    }

    /// The answer, if all that it rests on is as it was.
    pub(super) fn answer(&self, system: &dyn System) -> Option<PrintedAnswer> {
        let index = self.index.get_or_init(|| self.read(system)).as_ref()?;
        let mut answers = index.answers.iter();
        let found = answers.find(|(question, _)| *question == self.question);
        found.map(|(_, answer)| answer.clone())
    }

    /// Another question, for a fact: its answer is not shown, so that the screen does not matter.
    pub(super) fn of_fact(self, words: &str) -> Self {
        Self { question: self.fact_of(words), ..self }
    }

    fn read(&self, system: &dyn System) -> Option<SuiteIndex> {
        let index: SuiteIndex = read_signed(&system.read(&self.path).into_bytes().ok()?)?;
        if index.format != FORMAT {
            return None;
        }
        if !self.is_by_bytes {
            return self.holds(&index, system).then_some(index);
        }
        let is_known = index.answers.iter().any(|(question, _)| *question == self.question);
        if is_known { self.with_same_bytes(index, system) } else { None }
    }

    fn holds(&self, index: &SuiteIndex, system: &dyn System) -> bool {
        index.store == self.store && index.inputs.iter().all(|input| input.holds(system))
    }

    /// The index with the present states of its files, if all bytes are the same.
    fn with_same_bytes(&self, index: SuiteIndex, system: &dyn System) -> Option<SuiteIndex> {
        let others = index.inputs.iter().filter(|input| input.file().is_none());
        if !others.into_iter().all(|input| input.holds(system)) {
            return None;
        }
        let inputs = index.inputs.into_iter().map(|input| input.renewed(system)).collect();
        let index = SuiteIndex { inputs, store: self.store.clone(), ..index };
        (index.contents.as_ref() == Some(&self.contents(&index, system))).then_some(index)
    }

    /// What is in the files of an index, those of large bodies included.
    fn contents(&self, index: &SuiteIndex, system: &dyn System) -> Vec<(String, PathContent)> {
        let inputs = index.inputs.iter().filter_map(TracedAnswer::file).map(str::to_owned);
        let stored = index.store.iter().flat_map(|(name, _)| {
            let path = join(&self.store_folder, name);
            match system.list(&path) {
                Some(names) => names.iter().map(|name| join(&path, name)).collect(),
                None => vec![path],
            }
        });
        let paths: Vec<String> = inputs.chain(stored).collect();
        let contents = system.contents(&paths.iter().map(String::as_str).collect::<Vec<_>>());
        paths.into_iter().zip(contents).collect()
    }

    /// The digest of the question that other words ask of the same suite.
    pub(super) fn question_of(&self, words: &str) -> String {
        digest_of(&[words, &self.screen, &self.place])
    }

    /// The digest of the question for a fact.
    pub(super) fn fact_of(&self, words: &str) -> String {
        digest_of(&[words, &self.place])
    }

    /// Keeps answers for the next process, if it could see whether they still hold.
    pub(super) fn keep(
        &self,
        traced: &TracedSystem<'_>,
        mut answers: Vec<(String, PrintedAnswer)>,
        system: &dyn System,
    ) {
        // The state of the store is known by itself.
        let is_of_store = |path: &str| path.starts_with(&self.store_folder);
        let is_input = |path: &str| !self.is_of_records(path) && !is_of_store(path);
        let inputs = traced.answers(is_input).zip(self.own_store(system));
        let Some((inputs, store)) = inputs else { return };
        let inputs = inputs.into_iter().map(|input| self.as_left(input, system));
        answers.retain(|(_, answer)| answer.out.len() + answer.err.len() <= MAX_TEXT);
        if answers.is_empty() {
            return;
        }
        let known = self.index.get().cloned().flatten().filter(|known| known.store == store);
        let known = known.unwrap_or_else(|| SuiteIndex {
            format: FORMAT,
            inputs: Vec::new(),
            store,
            contents: None,
            answers: Vec::new(),
        });
        let all: BTreeSet<TracedAnswer> = known.inputs.iter().cloned().chain(inputs).collect();
        let mut index = SuiteIndex { inputs: all.into_iter().collect(), ..known.clone() };
        if self.is_by_bytes {
            index.contents = Some(self.contents(&index, system));
            let is_same = self.own_store(system).as_ref() == Some(&index.store);
            if !is_same || !index.inputs.iter().all(|input| input.holds(system)) {
                return;
            }
        } else if index.inputs != known.inputs {
            index.contents = None;
        }
        self.write(index, answers, system);
    }

    /// What was asked, as the run has left it: the first one makes the folder of the cache.
    fn as_left(&self, input: TracedAnswer, system: &dyn System) -> TracedAnswer {
        let is_made = |names: &Vec<String>| names == &[".gitignore", "v1"];
        match input {
            TracedAnswer::Names(path, None) if path == self.surroundings.cache_dir => {
                let names = system.list(&path).filter(is_made);
                TracedAnswer::Names(path, names)
            }
            input => input,
        }
    }

    /// Keeps another answer to the same question: nothing that it rests on has changed.
    pub(super) fn keep_again(&self, answer: PrintedAnswer, system: &dyn System) {
        if let Some(index) = self.index.get().cloned().flatten() {
            self.write(index, vec![(self.question.clone(), answer)], system);
        }
    }

    /// It is only a matter of time if it cannot be written.
    fn write(
        &self,
        mut index: SuiteIndex,
        answers: Vec<(String, PrintedAnswer)>,
        system: &dyn System,
    ) {
        index.answers.retain(|(question, _)| answers.iter().all(|(other, _)| other != question));
        index.answers.extend(answers);
        let surplus = index.answers.len().saturating_sub(MAX_ANSWERS);
        index.answers.drain(..surplus);
        let _ = signed(&index)
            .map(|text| system.write(&self.path, &mut |file| file.write_all(text.as_bytes())));
    }

    /// Whether a path is among the records, which every run reads and changes. Whatever else is beside them is the user's.
    fn is_of_records(&self, path: &str) -> bool {
        let inner = path.strip_prefix(&self.home).and_then(|inner| inner.strip_prefix('/'));
        let first = inner.and_then(|inner| inner.split('/').next());
        inner.is_some_and(|inner| !inner.contains('/')) || matches!(first, Some("runs" | "index"))
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

    /// The files of a record at these paths, if the system knows their states. Nothing is read.
    pub(super) fn record_files(
        &self,
        id: &str,
        paths: &[String],
        system: &dyn System,
    ) -> Option<RecordFiles> {
        Some(RecordFiles {
            id: id.to_owned(),
            states: paths.iter().map(|path| system.state(path)).collect::<Option<_>>()?,
            contents: None,
            day: system.now().strftime("%Y%m%d").to_string(),
            notes: system.list(&join(&self.store_folder, "use")),
        })
    }
}

fn digest_of(parts: &[&str]) -> String {
    blake3::hash(format!("{parts:?}").as_bytes()).to_hex().to_string()
}

/// The question whether the cases of a suite have labels. Only that there are none is ever kept as an answer.
pub(super) const LABELS: &str = "labels";

/// Whether it is known, from a run over all cases, that nobody has labelled one of them.
pub(super) fn are_unlabelled(suite: &str, cache_dir: Option<&str>, console: &Console<'_>) -> bool {
    CommandQuestion::of(&[suite.to_owned()], cache_dir, "", false, console)
        .and_then(|question| question.of_fact(LABELS).answer(console.system))
        .is_some()
}

/// Whether an answer may depend on a variable.
fn counts(name: &str) -> bool {
    !OF_TERMINALS.contains(&name) && !OF_JOBS.iter().any(|prefix| name.starts_with(prefix))
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

/// The segments of a store and the folders of its large bodies, with their states; none where the system knows too little of
/// files.
pub(super) fn store_states(system: &dyn System, store: &str) -> Option<Vec<(String, FileState)>> {
    let names = |folder: &str| system.list(&join(store, folder)).unwrap_or_default();
    let segments = names("seg").into_iter().filter(|name| !name.contains(".idx"));
    let segments = segments.map(|name| join("seg", &name));
    let blobs = names("blob").into_iter().map(|name| join("blob", &name));
    let all = segments.chain(blobs);
    all.map(|name| Some((name.clone(), system.state(&join(store, &name))?))).collect()
}

/// Whether what is printed of a settled session depends on files, outcomes and variables that count alone: not on earlier
/// runs, and nothing counts who looks.
pub(super) fn is_of_files(session: &Session) -> bool {
    // What is read from the folder of records is not told from what every run reads there.
    let reads_records = session.paths().iter().any(|path| path.contains(".evalrs/"));
    session.starts().is_empty()
        && !reads_records
        && session.suite().is_some_and(depends_on_no_run)
        && !names_variables_of_jobs(session)
}

fn depends_on_no_run(suite: &Suite) -> bool {
    let compares = suite.graders.iter().any(|grader| grader.compared_run().is_some());
    let holds_out = suite.labels.as_ref().is_some_and(|labels| labels.holdout.is_some());
    !compares && !holds_out
}

fn names_variables_of_jobs(session: &Session) -> bool {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    session.db.files().iter().any(|(_, file)| {
        let FileText::Text(text) = file.text(&session.db) else { return false };
        OF_JOBS
            .iter()
            .any(|prefix| text.match_indices(prefix).any(|(at, _)| !text[..at].ends_with(is_name)))
    })
}

/// Passes on what is written, and keeps it unless it is paused.
pub(super) struct CopiedStream<'a, 'b> {
    pub below: &'a mut dyn Write,
    pub kept: Vec<u8>,
    pub is_paused: &'b Cell<bool>,
}

impl CopiedStream<'_, '_> {
    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(&self.kept).into_owned()
    }
}

impl Write for CopiedStream<'_, '_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let written = self.below.write(bytes)?;
        if !self.is_paused.get() {
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
    use super::{FORMAT, PrintedAnswer, SuiteIndex, read_signed, signed};
    use evalrs_system::FileState;
    use evalrs_system::traced::TracedAnswer;

    #[test]
    fn an_index_of_which_a_byte_has_changed_is_none() {
        let answer =
            PrintedAnswer { out: "gate: PASSED\n".to_owned(), err: String::new(), run: None };
        let index = SuiteIndex {
            format: FORMAT,
            inputs: vec![TracedAnswer::File("a".to_owned(), FileState::default())],
            store: vec![("seg/1.jsonl".to_owned(), FileState::default())],
            contents: None,
            answers: vec![("q".to_owned(), answer)],
        };
        let read = read_signed::<SuiteIndex>;
        let bytes = signed(&index).unwrap().into_bytes();
        assert_eq!(read(&bytes).unwrap().answers[0].1.out, "gate: PASSED\n");
        for at in 0..bytes.len() {
            assert!(read(&bytes[..at]).is_none(), "cut at {at}");
            for bit in 0..8 {
                let mut bytes = bytes.clone();
                bytes[at] ^= 1 << bit;
                assert!(read(&bytes).is_none(), "bit {bit} of byte {at}");
            }
        }
    }
}
