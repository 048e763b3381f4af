//! The runs of a suite over time: read from its file, to which `remember` adds a run.

use std::cell::RefCell;

use serde_json::Value;

use super::committed_names::file_name;
use super::context::SuiteContext;
use super::suite_parts::SuiteFiles;
use super::usage::is_narrowed;
use crate::error::Error;
use evalrs_base::file_path::join;
use evalrs_base::ordered_map::OrderedMap;
use evalrs_base::text::sanitize;
use evalrs_engine::session::Session;
use evalrs_eval::target::TargetAction;
use evalrs_graph::inputs::Chunk;
use evalrs_graph::results::{Head, heads};
use evalrs_graph::{Database, answers, known_grades};
use evalrs_metrics::history::{
    GraderDigests, HISTORY_FORMAT, HistoryDeclared, HistoryLine, HistoryMetric, HistoryReport,
    HistoryRun, digest, runs_of_lines,
};
use evalrs_metrics::results::ResultLine;
use evalrs_metrics::results::report::{Report, Results};
use evalrs_model::key::hashed;
use evalrs_store::record::RunFacts;
use evalrs_store::record::read::PastHeader;
use evalrs_store::record::run_history::{RunHistory, append, name_settings, slides};
use evalrs_suite::suite_name;
use evalrs_system::System;

/// The name that the suite at `path` gives itself.
pub fn name_of(
    path: &str,
    surroundings: &SuiteContext,
    system: &dyn System,
) -> Result<String, Error> {
    suite_name(path, &SuiteFiles { surroundings, system }).ok_or_else(|| {
        Error::plain(
            format!("`{}` is not a suite that can be read", sanitize(path)),
            format!("`evalrs validate {}` shows the problems", sanitize(path)),
        )
    })
}

/// What is known of the runs of a suite.
pub struct FoundHistory {
    /// The name of the suite.
    pub name: String,
    /// The runs, and what slid: what `--json` prints.
    pub report: HistoryReport,
    /// That some lines cannot be read.
    pub warnings: Vec<String>,
}

/// Reads what is known of the runs of the suite at `suite`. Asks nothing and writes nothing.
pub fn history_of(
    suite: &str,
    surroundings: &SuiteContext,
    system: &dyn System,
) -> Result<FoundHistory, Error> {
    let name = name_of(suite, surroundings, system)?;
    let place = surroundings.in_workspace(suite, system);
    Ok(history_named(&name, &place, surroundings, system))
}

/// Reads what is known of the runs of the suite that calls itself `name` and is at `place` in the workspace.
pub fn history_named(
    name: &str,
    place: &str,
    surroundings: &SuiteContext,
    system: &dyn System,
) -> FoundHistory {
    let history = read_history(name, place, surroundings, system);
    let slides = slides(system, &surroundings.records(), &history.lines);
    let runs = named_runs(&history, surroundings, system);
    let report = HistoryReport { runs, slides };
    let warnings = history.warnings().collect();
    FoundHistory { name: name.to_owned(), report, warnings }
}

/// The known runs of the same suite, the oldest first, without what slid: that reads the results of runs.
pub fn history_runs(
    name: &str,
    place: &str,
    surroundings: &SuiteContext,
    system: &dyn System,
) -> Vec<HistoryRun> {
    named_runs(&read_history(name, place, surroundings, system), surroundings, system)
}

fn read_history(
    name: &str,
    place: &str,
    surroundings: &SuiteContext,
    system: &dyn System,
) -> RunHistory {
    RunHistory::read(system, &history_files(name, surroundings, system), place)
}

fn named_runs(
    history: &RunHistory,
    surroundings: &SuiteContext,
    system: &dyn System,
) -> Vec<HistoryRun> {
    let mut runs = runs_of_lines(&history.lines);
    name_settings(system, &surroundings.records(), &history.lines, &mut runs);
    runs
}

/// The files of the suite that calls itself `name`: beside its committed judgments, and among the records of this machine. Runs
/// add to the first, and both are read: a clone stays clean until `[history] keep = true` or the file asks for more.
pub fn history_files(name: &str, surroundings: &SuiteContext, system: &dyn System) -> [String; 2] {
    let file = format!("{}.history.jsonl", file_name(name));
    let committed = join(&surroundings.committed_dir, &file);
    let local = join(&surroundings.records(), &file);
    let is_kept = surroundings.workspace.keep_history;
    if is_kept.unwrap_or_else(|| system.stamp(&committed).is_some()) {
        [committed, local]
    } else {
        [local, committed]
    }
}

/// A run that may become a line.
pub(super) struct HistoryEntry<'a, 'r> {
    /// The suite as it was named.
    pub suite: &'a str,
    pub surroundings: &'a SuiteContext,
    pub session: &'a Session,
    /// What was found.
    pub report: &'a Report<'r>,
    pub facts: &'a RunFacts,
}

/// Adds a run to the history of its suite, if the command line left nothing out and it came to its end.
pub(super) fn remember(
    run: &HistoryEntry<'_, '_>,
    questions: &Questions,
    system: &dyn System,
) -> std::io::Result<()> {
    let HistoryEntry { suite: path, surroundings, session, report, facts } = *run;
    let Some(suite) = session.suite() else { return Ok(()) };
    let mut tallies = facts.actions.0.iter().map(|(_, tally)| tally).chain(&facts.target);
    let is_part = is_narrowed(session) || session.root.overrides(&session.db).cached.is_some();
    if is_part || facts.interrupted || tallies.any(|tally| tally.pending > 0) {
        return Ok(());
    }
    let header = PastHeader { settings: report.header.settings.clone(), ..PastHeader::default() };
    let digests = header.graders().map(|(name, of)| (name.to_owned(), GraderDigests::of(of)));
    let costs = [facts.spent.cost, facts.target.and_then(|tally| tally.spent.cost)];
    let cost = costs.into_iter().flatten().reduce(|all, cost| all + cost);
    let summary = report.summary;
    let metrics =
        summary.metrics.0.iter().map(|(name, of)| {
            (name.clone(), HistoryMetric::of(of, summary.label_agreement.get(name)))
        });
    let declared = summary.declared.0.iter();
    let declared = declared.map(|(name, of)| (name.clone(), HistoryDeclared::of(of)));
    let line = HistoryLine {
        format: HISTORY_FORMAT,
        id: facts.id.clone(),
        suite: surroundings.in_workspace(path, system),
        started: facts.started.clone(),
        metrics: OrderedMap(metrics.collect()),
        declared: OrderedMap(declared.collect()),
        gate: summary.gate.clone(),
        digests: OrderedMap(digests.collect()),
        dataset: Some(questions.digest(session)),
        target: target(session),
        cost,
    };
    append(system, &history_files(&suite.name, surroundings, system), &line)
}

/// The prompts, each once and in any order, whatever their outcome: noted while results pass by.
pub(super) struct Questions {
    /// Whether the run may be added to a history.
    are_wanted: bool,
    /// The digest of all of them, once results were read to their end, or an earlier run is known to have the same.
    asked: RefCell<Option<String>>,
    /// That of each, in the order of the results, once they were read.
    in_order: RefCell<Vec<[u8; 32]>>,
}

impl Questions {
    pub(crate) fn new(are_wanted: bool) -> Self {
        Self { are_wanted, asked: RefCell::default(), in_order: RefCell::default() }
    }

    /// The digest of each, in the order of the results; nothing where they were not read.
    pub(super) fn in_order(&self) -> std::cell::Ref<'_, [[u8; 32]]> {
        std::cell::Ref::map(self.in_order.borrow(), Vec::as_slice)
    }

    /// Takes over the digest of an earlier run of the same questions.
    pub(super) fn know(&self, digest: String) {
        self.asked.replace(Some(digest));
    }

    /// The digest of all questions, if the run may be added to a history.
    pub(super) fn digest_if_wanted(&self, session: &Session) -> Option<String> {
        self.are_wanted.then(|| self.digest(session))
    }

    /// The same results. Their questions are put down, unless they are already.
    pub(crate) fn of<'a>(&'a self, results: Results<'a>) -> Results<'a> {
        if !self.are_wanted || self.asked.borrow().is_some() {
            return results;
        }
        let mut results = results;
        let mut asked = Some(Vec::new());
        Box::new(std::iter::from_fn(move || {
            let next = results.next();
            match (&next, &mut asked) {
                (Some(line), Some(asked)) => {
                    let ResultLine { sample_id, model, input, ground_truth, .. } = line;
                    asked.push(question(sample_id, model.as_deref(), input, ground_truth));
                }
                (None, Some(_)) => {
                    self.know_all(asked.take().unwrap_or_default());
                }
                (_, None) => {}
            }
            next
        }))
    }

    /// The digest of all of them. What nobody has read is read here.
    fn digest(&self, session: &Session) -> String {
        if self.asked.borrow().is_none() {
            let chunks = session.root.chunks(&session.db).iter();
            self.know_all(chunks.flat_map(|chunk| questions_of(&session.db, *chunk)).collect());
        }
        self.asked.borrow().clone().unwrap_or_default()
    }

    fn know_all(&self, all: Vec<[u8; 32]>) {
        self.asked.replace(Some(digest_of_all(all.clone())));
        self.in_order.replace(all);
    }
}

/// The questions of the evaluated cases of a chunk: read, unless an earlier run has read them.
fn questions_of(db: &Database, chunk: Chunk) -> Vec<[u8; 32]> {
    if let Some(known) = known_grades::questions(db, chunk) {
        return known.to_vec();
    }
    let all = heads(db, chunk).map(|head| {
        let Head { sample_id, model, input, ground_truth, .. } = head;
        question(&sample_id, model.as_deref(), &input, &ground_truth)
    });
    all.collect()
}

/// Each counts once.
fn digest_of_all(mut questions: Vec<[u8; 32]>) -> String {
    questions.sort_unstable();
    questions.dedup();
    let mut hasher = blake3::Hasher::new();
    for one in &questions {
        hasher.update(one);
    }
    digest(hasher.finalize().to_hex().as_str())
}

fn question(sample: &str, model: Option<&str>, input: &Value, truth: &Value) -> [u8; 32] {
    let said = (sample, model, input, truth);
    // What was read as JSON can be written as JSON.
    blake3::hash(&serde_json::to_vec(&said).unwrap_or_default()).into()
}

/// The digest of a live target with its models: what the keys of all its conversations have in common.
fn target(session: &Session) -> Option<String> {
    let identity = answers::target(&session.db, session.root).as_ref().ok()?.clone()?;
    let own = std::iter::once(None).chain(identity.spec.models.iter().cloned().map(Some));
    let keys = own.map(|model| {
        let handed = String::new();
        let sample = String::new();
        let action = TargetAction { identity: identity.clone(), model, handed, trial: 0, sample };
        hashed(|to| action.walk(to)).to_string()
    });
    Some(digest(&keys.collect::<Vec<_>>().join(" ")))
}
