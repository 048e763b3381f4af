//! What the suite of a run knows of its cases beyond the record: conversations, rows, and where grades come from.
//!
//! The suite is read as it is now, and nothing is asked. Where a row is not what it was in the run, that is said.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use serde_json::{Map, Value};

use super::answer::ApiError;
use super::held_suites::SuiteNow;
use super::served::ServedWorkspace;
use crate::view::case::CaseContext;
use crate::view::message::messages;
use crate::view::pictures::add_pictures;
use crate::view::rows::{IndexedRow, RunRows};
use crate::view::suite_facts::{FoundFacts, SuiteFacts};
use evalrs_base::diagnostic::Diagnostic;
use evalrs_engine::inspect::explain::{ExplanationSource, Layers};
use evalrs_engine::inspect::preview::preview;
use evalrs_engine::inspect::reasons::AskReasons;
use evalrs_engine::resolve::settings::Settings;
use evalrs_engine::session::Session;
use evalrs_eval::grade::spent::recorded_ms;
use evalrs_graph::inputs::{Chunk, Overrides};
use evalrs_graph::results;
use evalrs_metrics::explain::ExplainedResult;
use evalrs_metrics::results::recorded_submission;
use evalrs_store::record::history::History;
use evalrs_store::record::read::PastRun;
use evalrs_system::System;
use evalrs_system::os::OsSystem;
use evalrs_use_cases::context::SuiteContext;
use evalrs_use_cases::open::new_session;

/// The suite of a run as it is now, with all that is stored.
pub(super) struct CurrentSuite {
    session: Session,
    layers: Layers,
    places: HashMap<SuiteCaseName, CasePlanned>,
}

/// The sample, model and trial of a case.
type SuiteCaseName = (String, Option<String>, u32);

struct CasePlanned {
    chunk: Chunk,
    case: usize,
    tags: Vec<String>,
}

impl CurrentSuite {
    /// Reads the suite at `path`, narrowed down to `samples` where there are any; none if it has errors.
    pub(crate) fn read(
        path: &str,
        surroundings: &SuiteContext,
        samples: Vec<String>,
        system: &dyn System,
    ) -> Option<Self> {
        let over = Overrides { samples, ..Overrides::default() };
        let mut session = new_session(path, surroundings, over);
        if session.load(system).iter().any(Diagnostic::is_error) {
            return None;
        }
        preview(&mut session, &surroundings.readable_store(system), system, &Settings::default());
        let places = places(&session);
        Some(Self { session, layers: surroundings.layers(system), places })
    }

    pub(crate) fn name(&self) -> &str {
        self.session.suite().map_or("", |suite| &suite.name)
    }

    /// What its rows say of each case.
    pub(crate) fn facts(&self) -> SuiteFacts {
        SuiteFacts::of(found_facts(&self.session))
    }

    /// The tags of a result's sample.
    pub(crate) fn tags(&self, rows: &RunRows, row: &IndexedRow) -> &[String] {
        self.places.get(&name_of(rows, row)).map_or(&[], |planned| &planned.tags)
    }

    /// Has `work` look at cases.
    pub(crate) fn with_cases<T>(&mut self, work: impl FnOnce(&mut CaseContexts<'_>) -> T) -> T {
        with_explained(&self.session, &mut self.layers, &self.places, work)
    }
}

fn with_explained<T>(
    session: &Session,
    layers: &mut Layers,
    places: &HashMap<SuiteCaseName, CasePlanned>,
    work: impl FnOnce(&mut CaseContexts<'_>) -> T,
) -> T {
    // Why judgments would be asked anew is not told, so that no earlier run is read.
    let history = History::default();
    let reasons = AskReasons::new(session, &history);
    let explaining = ExplanationSource::new(session, layers, &reasons, None);
    work(&mut CaseContexts { explaining, places })
}

/// Has `work` look at cases of a session without errors, with all that is stored.
pub(super) fn with_stored_cases<T>(
    session: &mut Session,
    surroundings: &SuiteContext,
    system: &dyn System,
    work: impl FnOnce(&mut CaseContexts<'_>) -> T,
) -> T {
    preview(session, &surroundings.readable_store(system), system, &Settings::default());
    with_explained(session, &mut surroundings.layers(system), &places(session), work)
}

/// Where the cases that are selected are planned.
fn places(session: &Session) -> HashMap<SuiteCaseName, CasePlanned> {
    let mut places = HashMap::new();
    for (id, identity, chunk, case) in results::cases(&session.db, session.root) {
        let name = (id, identity.model.clone(), identity.trial);
        let planned = CasePlanned { chunk, case, tags: identity.tags.clone() };
        places.entry(name).or_insert(planned);
    }
    places
}

pub(super) struct CaseContexts<'a> {
    explaining: ExplanationSource<'a>,
    places: &'a HashMap<SuiteCaseName, CasePlanned>,
}

impl CaseContexts<'_> {
    /// What is known of a result, of which `line` is the recorded line.
    pub(crate) fn context(
        &mut self,
        rows: &RunRows,
        row: &IndexedRow,
        line: &Map<String, Value>,
    ) -> CaseContext {
        let Some(planned) = self.places.get(&name_of(rows, row)) else {
            return only_note("The dataset no longer has this sample");
        };
        let explained = self.explaining.case(planned.chunk, planned.case);
        let is_same = explained.as_ref().is_some_and(|explained| is_recorded(explained, line));
        let db = &self.explaining.session.db;
        let Some(record) = results::case_record(db, planned.chunk, planned.case) else {
            return only_note("The row of this sample cannot be read");
        };
        let conversation = record.trajectory.as_ref().map(messages).map(|mut all| {
            add_pictures(&mut all, &record.row);
            all
        });
        let conversation = conversation.filter(|all| !all.is_empty());
        let note = match (is_same, &conversation) {
            (_, None) => Some("The row has no conversation"),
            (false, Some(_)) => {
                Some("The sample has changed since this run: this is the current conversation")
            }
            (true, Some(_)) => None,
        };
        CaseContext {
            explained,
            conversation,
            note: note.map(str::to_owned),
            metadata: record.metadata,
            tags: record.tags,
        }
    }
}

/// Nothing is known, for this reason.
pub(super) fn only_note(note: &str) -> CaseContext {
    CaseContext { note: Some(note.to_owned()), ..CaseContext::default() }
}

fn name_of(rows: &RunRows, row: &IndexedRow) -> SuiteCaseName {
    (row.sample_id.to_string(), rows.model_of(row).map(str::to_owned), row.trial)
}

/// Whether a case is what it was when `line` was recorded: its input, and what is graded.
fn is_recorded(explained: &ExplainedResult, line: &Map<String, Value>) -> bool {
    let mut graders = explained.graders.0.iter();
    explained.input == *line.get("input").unwrap_or(&Value::Null)
        && graders.all(|(name, grade)| {
            recorded_submission(line, name).is_none_or(|text| text == grade.submission)
        })
}

pub(super) fn case_context(
    served: &ServedWorkspace,
    run: &PastRun,
    rows: &RunRows,
    row: &IndexedRow,
    line: &Map<String, Value>,
) -> CaseContext {
    let Some(suite) = served.suite(&run.header.suite) else {
        return only_note("To see the conversation, serve the suite: evalrs serve SUITE");
    };
    let samples = [row.sample_id.to_string()];
    let known = served.with_suite(suite, &samples, |now| {
        let SuiteNow { session, problems, surroundings, .. } = now;
        if problems.iter().any(Diagnostic::is_error) {
            return only_note("The suite has errors: see its page");
        }
        with_stored_cases(session, surroundings, &OsSystem, |cases| cases.context(rows, row, line))
    });
    known.unwrap_or_else(|_| only_note("The suite cannot be read"))
}

/// What the suite of a run says of its cases, read once for as long as its files stay as they are.
pub(super) fn suite_facts(
    served: &ServedWorkspace,
    run: &PastRun,
) -> Result<Arc<SuiteFacts>, ApiError> {
    let unserved = "to see tags, metadata and calls of tools, serve the suite: evalrs serve SUITE";
    let suite = served.suite(&run.header.suite).ok_or_else(|| ApiError::not_found(unserved))?;
    served.with_suite(suite, &[], |now| {
        let SuiteNow { session, facts, .. } = now;
        Arc::clone(facts.get_or_insert_with(|| Arc::new(SuiteFacts::of(found_facts(session)))))
    })
}

/// What the rows of a session say of each case.
fn found_facts(session: &Session) -> impl Iterator<Item = FoundFacts> {
    let Session { db, root, .. } = session;
    results::cases(db, *root).map(|(sample_id, who, chunk, case)| {
        let known = FoundFacts {
            sample_id,
            model: who.model.clone(),
            trial: who.trial,
            tags: who.tags.clone(),
            ..FoundFacts::default()
        };
        let Some(record) = results::case_record(db, chunk, case) else { return known };
        let trajectory = record.trajectory.as_ref();
        // Of an answer alone nobody knows what was called for it.
        let conversation = trajectory.filter(|all| all.messages(true).nth(1).is_some());
        let calls = conversation.map(|all| all.tool_calls(true).count());
        let seconds = recorded_ms(&record.row, trajectory).map(|took| took / 1000.0);
        let metadata = match record.metadata {
            Value::Object(metadata) => metadata,
            _ => Map::new(),
        };
        let tool_calls = calls.and_then(|calls| u32::try_from(calls).ok());
        FoundFacts { metadata, tool_calls, seconds, ..known }
    })
}

/// The ids of the samples of a run's suite that have a tag.
pub(super) fn tagged(
    served: &ServedWorkspace,
    run: &PastRun,
    tag: &str,
) -> Result<BTreeSet<String>, ApiError> {
    let unserved = "to see tags, serve the suite: evalrs serve SUITE";
    let suite = served.suite(&run.header.suite).ok_or_else(|| ApiError::not_found(unserved))?;
    served.with_suite(suite, &[], |now| {
        let all = results::cases(&now.session.db, now.session.root);
        let own = all.filter(|(_, who, _, _)| who.tags.iter().any(|own| own == tag));
        own.map(|(id, _, _, _)| id).collect()
    })
}
