//! `evalrs watch`: evaluate, stay, and evaluate again with every save.

mod frontends;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::Timestamp;

use self::frontends::front;
use crate::cli::WatchArgs;
use evalrs_base::diagnostic::{Diagnostic, Place};
use evalrs_base::file_path::join;
use evalrs_base::ordered_map::OrderedMap;
use evalrs_base::text::sanitize;
use evalrs_engine::inspect::explain::Layers;
use evalrs_engine::progress::{Event, Progress, Quiet};
use evalrs_engine::resolve::live::Live;
use evalrs_engine::resolve::resolver::Effects;
use evalrs_engine::resolve::settings::{AskPolicy, Settings};
use evalrs_engine::session::Session;
use evalrs_eval::dataset::label_edit::NewLabel;
use evalrs_graph::inputs::Overrides;
use evalrs_metrics::metric::holdout::HeldOutAgreement;
use evalrs_model::record_format::FORMAT;
use evalrs_model::spec::LabelsSpec;
#[cfg(feature = "serve")]
use evalrs_serve::session::{SessionEvents, SessionServer, WatchedSuite};
use evalrs_store::record::label_writer::{UnwrittenLabel, check_writable, write_label};
use evalrs_store::record::saves::SaveLog;
use evalrs_store::record::{self, RunFacts, SessionActions};
use evalrs_system::changed_paths::ChangedPaths;
use evalrs_system::{FileBytes, System};
use evalrs_use_cases::args::LimitArgs;
use evalrs_use_cases::batch_settings::open_batches;
use evalrs_use_cases::console::Console;
use evalrs_use_cases::context::{SuiteContext, context_files};
use evalrs_use_cases::error::{Error, ExitStatus};
use evalrs_use_cases::header::{header, with_report};
use evalrs_use_cases::holdout;
use evalrs_use_cases::open::{ExecutorSettings, check_selected, executor, new_session, overrides};
use evalrs_use_cases::reports::recorded_origin;
#[cfg(feature = "serve")]
use evalrs_use_cases::run_history::name_of;
use evalrs_use_cases::run_record::write_or_share_report;
use evalrs_use_cases::settling::closed;
use evalrs_use_cases::shared_pull::pull_before;
use evalrs_use_cases::usage::note_used;
#[cfg(feature = "serve")]
use evalrs_watch::board::Display;
use evalrs_watch::control::{Control, EndedSession};
use evalrs_watch::endpoint_status::EndpointStatus;
use evalrs_watch::frontend::{FinishedSave, SessionEnd, WatchContext};
use evalrs_watch::fs_watch::FileWatch;
#[cfg(feature = "serve")]
use evalrs_watch::json::JsonDisplay;
use evalrs_watch::recording::save_record;
use evalrs_watch::take_back::{FileEdit, write_edits};

pub(crate) fn watch(args: &WatchArgs, console: &mut Console<'_>) -> Result<ExitStatus, Error> {
    let system = console.system;
    check_there(&args.suite, system)?;
    let surroundings = SuiteContext::find(&args.suite, args.store.cache_dir.as_deref(), system)?;
    let overrides = Overrides { labels: args.labels.clone(), ..overrides(&args.select) };
    check_narrowed(args, &surroundings, overrides.clone(), console.system)?;
    pull_before(&args.suite, &surroundings, overrides.clone(), console)?;
    let mut session = new_session(&args.suite, &surroundings, overrides);
    let store = surroundings.store(console)?;
    let files = FileWatch::new(args.poll.map(Duration::from_millis))
        .map_err(|error| Error::Plain { message: error.to_string(), hint: None })?;
    let most = args.max_concurrent.map(|most| most as usize);
    let executor = executor(&ExecutorSettings {
        concurrency: most.unwrap_or(MOST_CONNECTIONS),
        verbosity: console.verbosity,
        identical_failures: surroundings
            .settings(&LimitArgs::default(), None)
            .max_identical_failures,
    });
    let endpoints = EndpointStatus::default();
    let mut here = Here {
        args,
        keeper: Keeper::new(&args.suite, &surroundings, console.system),
        surroundings,
        paths: context_files(&args.suite, system),
        system,
        endpoints: endpoints.clone(),
        layers: None,
        #[cfg(feature = "serve")]
        pages: None,
    };
    #[cfg(feature = "serve")]
    {
        here.keeper.serve(args, &here.surroundings, console)?;
        here.pages = here.keeper.page.as_ref().map(|page| JsonDisplay::new(page.events()));
    }
    let mut progress = endpoints;
    if let Some(url) = here.keeper.url() {
        progress.event(&Event::Line(format!("serving {url}")));
    }
    let settings = here.settings(&session);
    let preview = if args.yes { u64::MAX } else { args.preview };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let context = runtime.enter();
    let mut front = front(args, console)?;
    drop(context);
    let executor = executor.as_ref();
    let world = Effects { store, system, executor, progress: &mut progress, grades: &mut Quiet };
    let live = Live::new(&mut session, world, settings);
    let control = Control::new(live, front.as_mut(), &mut here, files, preview);
    let ended = runtime.block_on(control.run());
    // The screen goes before anything else is said.
    drop(front);
    for left in runtime.block_on(closed(executor, true)) {
        writeln!(console.err, "warning: {}", sanitize(&left))?;
    }
    let ended = ended?;
    for line in &ended.closing {
        writeln!(console.out, "{line}")?;
    }
    let Here { mut keeper, surroundings, .. } = here;
    let ending = ended.ending;
    if session.suite().is_some() {
        keeper.finish(&mut session, &surroundings, ended)?;
    }
    Ok(match ending {
        SessionEnd::Quit => ExitStatus::Success,
        SessionEnd::Interrupted => ExitStatus::Interrupted,
    })
}

fn check_there(suite: &str, system: &dyn System) -> Result<(), Error> {
    if system.read(suite) != FileBytes::Missing {
        return Ok(());
    }
    let hint = "`watch` accepts a broken suite, but the file must exist";
    Err(Error::plain(format!("{suite}: the suite file does not exist"), hint))
}

/// What the command line selects of a suite that can be read: no edit is meant to mend a selection of nothing. What the
/// suite itself selects can be edited, and is watched.
fn check_narrowed(
    args: &WatchArgs,
    surroundings: &SuiteContext,
    overrides: Overrides,
    system: &dyn System,
) -> Result<(), Error> {
    if overrides.has_every_case() {
        return Ok(());
    }
    let wanted = overrides.samples.clone();
    let mut session = new_session(&args.suite, surroundings, overrides);
    if session.load(system).iter().any(Diagnostic::is_error) {
        return Ok(());
    }
    check_selected(&session, &args.suite, wanted)
}

/// Connections that are kept if the command line does not limit the judges called at once.
const MOST_CONNECTIONS: usize = 4_096;

/// What surrounds the suite, as this command sees it.
struct Here<'a> {
    args: &'a WatchArgs,
    surroundings: SuiteContext,
    system: &'a dyn System,
    /// The files that these are read from.
    paths: BTreeSet<String>,
    keeper: Keeper<'a>,
    endpoints: EndpointStatus,
    /// The layers of the store, once somebody looks at what judges were sent.
    layers: Option<Layers>,
    #[cfg(feature = "serve")]
    pages: Option<JsonDisplay<SessionEvents>>,
}

impl WatchContext for Here<'_> {
    fn read_again(
        &mut self,
        touched: &ChangedPaths,
    ) -> Result<Option<BTreeMap<String, String>>, Vec<Diagnostic>> {
        if !touched.has_one_of(&self.paths) {
            return Ok(None);
        }
        let cache_dir = self.args.store.cache_dir.as_deref();
        self.paths = context_files(&self.args.suite, self.system);
        let found =
            SuiteContext::find(&self.args.suite, cache_dir, self.system).map_err(problems)?;
        if found.cache_dir != self.surroundings.cache_dir {
            let message = "the folder of the store changed".to_owned();
            let problem = Diagnostic::error(Place::file(join(&found.root, "evalrs.toml")), message);
            return Err(vec![problem.hint("start a new session to use it")]);
        }
        if found == self.surroundings {
            return Ok(None);
        }
        self.surroundings = found;
        self.layers = None;
        Ok(Some(self.surroundings.environment.clone()))
    }

    fn settings(&self, session: &Session) -> Settings {
        let args = self.args;
        let limits = LimitArgs {
            max_concurrent: args.max_concurrent,
            max_concurrent_targets: args.max_concurrent_targets,
            max_calls: args.max_calls,
            max_cost: args.budget,
            max_identical_failures: None,
        };
        Settings {
            ask: if args.frozen { AskPolicy::Frozen } else { AskPolicy::Ask },
            retry_errors: args.retry_errors,
            target_allowance: if args.yes { u64::MAX } else { args.preview_targets },
            batches: open_batches(&self.surroundings, session, self.system),
            ..self.surroundings.settings(&limits, session.suite())
        }
    }

    fn paths(&self) -> &BTreeSet<String> {
        &self.paths
    }

    fn record(&mut self, saved: &FinishedSave<'_>) -> std::io::Result<()> {
        self.keeper.keep(saved)
    }

    fn label(&mut self, path: &str, layout: &LabelsSpec, label: NewLabel) -> Result<(), String> {
        let who = self.surroundings.labeller();
        let label = NewLabel { who, at: self.system.now().to_string(), ..label };
        check_writable(path, layout)
            .and_then(|()| write_label(self.system, &self.surroundings.records(), path, &label))
            .map(|_| ())
            .map_err(UnwrittenLabel::into_message)
    }

    fn held_out(&mut self, session: &Session) -> Result<Vec<(String, HeldOutAgreement)>, String> {
        holdout::held_out(session, &self.surroundings, self.system)
    }

    fn layers(&mut self) -> &mut Layers {
        let layers = self.layers.get_or_insert_with(|| self.surroundings.layers(self.system));
        for (_, layer) in layers.iter() {
            // It looks at what was written since, which a look-up of a key that is there already does not.
            layer.others_wrote();
        }
        layers
    }

    fn write(&mut self, edits: &[FileEdit]) -> Result<(), String> {
        write_edits(self.system, edits)
    }

    #[cfg(feature = "serve")]
    fn pages(&mut self) -> Option<&mut dyn Display> {
        self.pages.as_mut().map(|pages| pages as &mut dyn Display)
    }

    fn time_of_day(&self) -> String {
        self.system.time_of_day(self.system.now())
    }

    fn diff_command(&self) -> String {
        let mut command = "evalrs diff latest@start latest".to_owned();
        // The records of the working directory are found without a name.
        let suite = Some(&self.args.suite).filter(|suite| suite.contains('/'));
        for (option, path) in [("--suite", suite), ("--labels", self.args.labels.as_ref())] {
            if let Some(path) = path {
                command.extend([" ", option, " ", &shell_word(path)]);
            }
        }
        command
    }

    fn waiting(&self) -> Vec<String> {
        self.endpoints.waiting()
    }

    fn lines(&self) -> Vec<String> {
        self.endpoints.take_lines()
    }
}

/// A path as a shell takes it for one word.
fn shell_word(path: &str) -> String {
    let is_plain = |char: char| char.is_alphanumeric() || "/._-+@%".contains(char);
    if path.chars().all(is_plain) {
        return path.to_owned();
    }
    format!("'{}'", path.replace('\'', r"'\''"))
}

/// An error as what is wrong with a file.
fn problems(error: Error) -> Vec<Diagnostic> {
    match error {
        Error::Diagnostics(problems) => problems,
        other => vec![Diagnostic::error(Place::file(""), other.to_string())],
    }
}

/// Keeps the record of the session: the history with every save, the report when it ends.
struct Keeper<'a> {
    system: &'a dyn System,
    /// The suite as it was named.
    suite: &'a str,
    folder: String,
    home: String,
    id: String,
    started: Timestamp,
    log: SaveLog,
    /// The digests of the rubrics of the last save that was kept.
    rubrics: OrderedMap<String>,
    /// The result of the actions of all saves.
    actions: SessionActions,
    has_begun: bool,
    #[cfg(feature = "serve")]
    page: Option<SessionServer>,
}

impl<'a> Keeper<'a> {
    fn new(suite: &'a str, surroundings: &SuiteContext, system: &'a dyn System) -> Self {
        let started = system.now();
        let home = surroundings.records();
        let id = record::run_id(system, &home, started);
        let folder = join(&record::runs_of(&home), &id);
        let log = SaveLog::new(&folder);
        Self {
            system,
            suite,
            folder,
            home,
            id,
            started,
            log,
            rubrics: OrderedMap::default(),
            actions: SessionActions::default(),
            has_begun: false,
            #[cfg(feature = "serve")]
            page: None,
        }
    }

    /// Serves the session, where that is wanted.
    #[cfg(feature = "serve")]
    fn serve(
        &mut self,
        args: &WatchArgs,
        surroundings: &SuiteContext,
        console: &mut Console<'_>,
    ) -> Result<(), Error> {
        if args.page.serve {
            let name = name_of(&args.suite, surroundings, self.system);
            let name = name.unwrap_or_else(|_| args.suite.clone());
            let suite = WatchedSuite {
                suite: &args.suite,
                labels: args.labels.as_deref(),
                cache_dir: args.store.cache_dir.as_deref(),
                page: &args.page,
            };
            self.page = Some(SessionServer::begin(&suite, name, &self.home, &self.id, console)?);
        }
        Ok(())
    }

    #[cfg(feature = "serve")]
    fn url(&self) -> Option<&str> {
        self.page.as_ref().map(|page| page.url.as_str())
    }

    #[cfg(not(feature = "serve"))]
    #[expect(clippy::unused_self, reason = "this build has no pages")]
    fn url(&self) -> Option<&str> {
        None
    }

    /// Shows pages what the session has come to.
    #[cfg(feature = "serve")]
    fn show(&self, session: &Session) -> std::io::Result<()> {
        let Some(page) = &self.page else { return Ok(()) };
        with_report(session, |report| record::write_report(self.system, &self.folder, report))?;
        page.note_record();
        Ok(())
    }

    fn keep(&mut self, saved: &FinishedSave<'_>) -> std::io::Result<()> {
        if !std::mem::replace(&mut self.has_begun, true) {
            record::write_header(self.system, &self.folder, &header(saved.session))?;
            record::set_latest(self.system, &self.home, &self.id)?;
        }
        let record = save_record(saved, &self.rubrics, self.system.now().to_string());
        self.rubrics.clone_from(&record.rubrics);
        self.actions.asked += record.asked;
        self.actions.cached += record.cached;
        self.actions.failed += record.failed;
        self.log.append(self.system, &record)?;
        #[cfg(feature = "serve")]
        self.show(saved.session)?;
        Ok(())
    }

    /// Writes the report of what the session ended with.
    fn finish(
        &mut self,
        session: &mut Session,
        surroundings: &SuiteContext,
        ended: EndedSession,
    ) -> std::io::Result<()> {
        let noted = note_used(session, surroundings, self.system);
        let (written, usage) = with_report(session, |report| {
            let kept = write_or_share_report(session, report, &self.home, &self.id, self.system);
            (kept, report.summary.all_usage)
        });
        let written = written?;
        let facts = RunFacts {
            format: FORMAT,
            id: self.id.clone(),
            suite: session.suite().map(|suite| suite.name.clone()).unwrap_or_default(),
            started: self.started.to_string(),
            finished: self.system.now().to_string(),
            evalrs: env!("CARGO_PKG_VERSION").to_owned(),
            exit_code: 0,
            interrupted: ended.ending == SessionEnd::Interrupted,
            origin: recorded_origin(self.suite, surroundings, session, self.system),
            actions: OrderedMap(ended.tallies),
            session: Some(self.actions),
            target: ended.conversations,
            spent: ended.spent,
            saved: ended.saved,
            usage,
            warnings: noted.warning().into_iter().collect(),
            results: written.origin,
            results_digest: Some(written.digest),
            ..RunFacts::default()
        }
        .with_asked(&ended.asked);
        record::write_facts(self.system, &self.folder, &facts)?;
        record::set_latest(self.system, &self.home, &self.id)
    }
}
