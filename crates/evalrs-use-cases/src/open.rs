//! What commands open: a session over a suite without errors, what narrows it, and what executes its actions.

use std::rc::Rc;

use super::args::{SelectArgs, StoreArgs};
use super::context::SuiteContext;
use super::say::say;
use crate::console::Console;
use crate::error::Error;
use evalrs_base::diagnostic::Diagnostic;
use evalrs_base::text::count;
use evalrs_engine::resolve::settings::Refresh;
use evalrs_engine::session::Session;
use evalrs_eval::dataset::id_search::IdSearch;
use evalrs_exec::Executor;
use evalrs_exec::executors::Executors;
use evalrs_exec::programs::{ProgramExecutor, ProgramSettings};
use evalrs_exec::targets::TargetExecutor;
use evalrs_graph::inputs::Overrides;
use evalrs_graph::labels::row_labels;
use evalrs_graph::{Database, queries, results};
use evalrs_model::spec::{SandboxKind, Suite};
use evalrs_system::System;

/// What the command line says over a suite.
pub fn overrides(select: &SelectArgs) -> Overrides {
    Overrides {
        max_samples: select.max_samples,
        tags: select.tags.clone(),
        samples: select.samples.clone(),
        graders: select.graders.clone(),
        trials: select.trials,
        cached: select.cached.clone(),
        partition: None,
        labels: None,
        sandbox: SandboxKind::None,
        batching: None,
    }
}

/// A session over the suite that `surroundings` surround, of which nothing is read yet.
pub fn new_session(suite: &str, surroundings: &SuiteContext, over: Overrides) -> Session {
    let sandbox = surroundings.workspace.sandbox.unwrap_or_default();
    let environment = surroundings.environment.clone();
    let overrides = Overrides { sandbox, ..over };
    let mut session = Session::new(Database::default(), suite, environment, overrides);
    session.set_prices(surroundings.prices());
    session.in_workspace(&surroundings.root)
}

/// A session over a suite without errors, and its surroundings; warnings are printed.
pub fn loaded_session(
    suite: &str,
    store: &StoreArgs,
    overrides: Overrides,
    console: &mut Console<'_>,
) -> Result<(SuiteContext, Session), Error> {
    session_loaded_by(&|session, _, system| session.load(system), suite, store, overrides, console)
}

/// The same with what is known of its chunks, which `bring_in` says.
pub(super) fn session_with_known(
    bring_in: &dyn Fn(&Session, &SuiteContext),
    suite: &str,
    store: &StoreArgs,
    overrides: Overrides,
    console: &mut Console<'_>,
) -> Result<(SuiteContext, Session), Error> {
    let load = |session: &mut Session, surroundings: &SuiteContext, system: &dyn System| {
        bring_in(session, surroundings);
        session.load(system)
    };
    session_loaded_by(&load, suite, store, overrides, console)
}

/// The same over the rows of `sample` alone, where the results do not depend on other rows: not with warnings, and not
/// with a label, which is compared if most rows have such labels.
pub fn session_of_sample(
    sample: &str,
    suite: &str,
    store: &StoreArgs,
    overrides: Overrides,
    console: &mut Console<'_>,
) -> Result<(SuiteContext, Session), Error> {
    let load = |session: &mut Session, _: &SuiteContext, system: &dyn System| {
        let diagnostics = session.load_rows(IdSearch::of(sample), system);
        let db = &session.db;
        let mut chunks = session.root.chunks(db).iter();
        let has_labels = chunks.any(|chunk| !row_labels(db, *chunk).said.is_empty());
        let is_there = queries::selection(db, session.root).cases > 0;
        let suffices = diagnostics.is_empty() && is_there && !has_labels;
        let all = if suffices { None } else { session.load_all_rows(system) };
        all.unwrap_or(diagnostics)
    };
    session_loaded_by(&load, suite, store, overrides, console)
}

fn session_loaded_by(
    load: &dyn Fn(&mut Session, &SuiteContext, &dyn System) -> Vec<Diagnostic>,
    suite: &str,
    store: &StoreArgs,
    overrides: Overrides,
    console: &mut Console<'_>,
) -> Result<(SuiteContext, Session), Error> {
    let surroundings = SuiteContext::find(suite, store.cache_dir.as_deref(), console.system)?;
    let wanted = overrides.samples.clone();
    let mut session = new_session(suite, &surroundings, overrides);
    let diagnostics = load(&mut session, &surroundings, console.system);
    if diagnostics.iter().any(Diagnostic::is_error) {
        return Err(Error::Diagnostics(diagnostics));
    }
    say(&diagnostics, console.err)?;
    check_selected(&session, suite, wanted)?;
    Ok((surroundings, session))
}

/// A selection of nothing would be an evaluation of nothing.
pub fn check_selected(session: &Session, suite: &str, wanted: Vec<String>) -> Result<(), Error> {
    let unknown = results::unknown_samples(&session.db, session.root, wanted);
    if !unknown.is_empty() {
        return Err(Error::plain(
            format!("{suite}: no sample has the id `{}`", unknown.join("`, `")),
            results::meant_samples(&session.db, session.root, &unknown),
        ));
    }
    let selection = queries::selection(&session.db, session.root);
    // A part may have none: others have them.
    let is_part = session.root.overrides(&session.db).partition.is_some();
    if selection.samples == 0 && !(is_part && selection.all_samples > 0) {
        let all = count(selection.all_samples, "sample");
        return Err(Error::plain(
            format!("{suite}: none of the {all} is selected"),
            "check `where` of the dataset, `--tags`, `sample_tags`, `max_samples`, `--trials` and `num_runs`; trials count from 0",
        ));
    }
    Ok(())
}

/// A misspelt `--refresh` would replay what it should ask again.
pub fn check_refreshed<'a>(
    refresh: &[String],
    suites: impl Iterator<Item = &'a Suite>,
) -> Result<(), Error> {
    let suites: Vec<&Suite> = suites.collect();
    let is_live = suites.iter().any(|suite| suite.target.live().is_some());
    let names = suites.iter().flat_map(|suite| &suite.graders);
    let names = names.map(|grader| grader.name.as_str());
    let known: Vec<&str> = names.chain(is_live.then_some(TARGET)).collect();
    let mut wanted = refresh.iter().filter(|name| !name.is_empty());
    let unknown = wanted.find(|name| !known.contains(&name.as_str()));
    unknown.map_or(Ok(()), |name| {
        let hint = format!("known: `{}`", known.join("`, `"));
        Err(Error::plain(format!("`--refresh={name}` does not name a grader"), hint))
    })
}

/// What `--refresh` calls the target, which is run again for its name alone: that may cost much more than
/// judges.
const TARGET: &str = "target";

/// Whose stored outcomes `--refresh` means; without a name, those of all graders.
pub fn refresh(names: &[String]) -> Refresh {
    match names {
        [] => Refresh::None,
        names if names.iter().any(String::is_empty) => Refresh::All,
        names => Refresh::Graders(names.to_vec()),
    }
}

/// Whether `--refresh` means the target.
pub fn refresh_target(names: &[String]) -> bool {
    names.iter().any(|name| name == TARGET)
}

/// How actions are executed.
pub struct ExecutorSettings {
    /// The most requests at once.
    pub concurrency: usize,
    /// More than 0 reports every step.
    pub verbosity: u8,
    /// This many identical failures in a row end the conversations of a target; 0 never do.
    pub identical_failures: u32,
}

/// Executes the actions of a session: calls judges, runs programs.
pub fn executor(settings: &ExecutorSettings) -> Box<dyn Executor> {
    let ExecutorSettings { concurrency, verbosity, identical_failures } = *settings;
    let settings = ProgramSettings { verbosity, ..ProgramSettings::of_machine(concurrency) };
    let programs = Rc::new(ProgramExecutor::new(settings));
    Box::new(Executors {
        judges: judges(concurrency, verbosity, &programs),
        programs,
        targets: TargetExecutor::new(verbosity, identical_failures),
    })
}

#[cfg(feature = "judge")]
fn judges(concurrency: usize, verbosity: u8, programs: &Rc<ProgramExecutor>) -> Box<dyn Executor> {
    let executor = evalrs_exec::judges::http::HttpExecutor::new(concurrency);
    Box::new(executor.with_verbosity(verbosity).with_programs(Rc::clone(programs)))
}

#[cfg(not(feature = "judge"))]
fn judges(
    _concurrency: usize,
    _verbosity: u8,
    _programs: &Rc<ProgramExecutor>,
) -> Box<dyn Executor> {
    Box::new(evalrs_exec::no_judges::NoJudges)
}
