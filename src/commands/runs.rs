//! `evalrs runs`: lists, exports and removes the records of runs.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::cache::export::ExportedLines;
use crate::cli::{RunsArgs, RunsCommand, RunsExportArgs, RunsListArgs, RunsRemoveArgs};
use evalrs_base::file_path::join;
use evalrs_base::text::table::{lines, name, number, words};
use evalrs_base::text::{count, sanitize};
use evalrs_engine::inspect::stored_entries::{StoredKind, WantedAction, wanted_actions};
use evalrs_engine::session::Session;
use evalrs_graph::inputs::Overrides;
use evalrs_metrics::gate::GateStatus;
use evalrs_store::record::read::{PastRun, open, runs_of};
use evalrs_store::record::recorded::WholeRecord;
use evalrs_store::record::run_names::is_trial;
use evalrs_store::record::{last_named, set_latest};
use evalrs_store::run_archive::{self, RunArchiveIndex, RunArchiveParts};
use evalrs_system::System;
use evalrs_use_cases::console::Console;
use evalrs_use_cases::context::SuiteContext;
use evalrs_use_cases::error::{Error, ExitStatus};
use evalrs_use_cases::header::header;
use evalrs_use_cases::open::loaded_session;
use evalrs_use_cases::recorded_report::suite_of;
use evalrs_use_cases::records::{home, record};

pub(crate) fn runs_command(
    args: &RunsArgs,
    console: &mut Console<'_>,
) -> Result<ExitStatus, Error> {
    match &args.command {
        RunsCommand::List(args) => list(args, console),
        RunsCommand::Export(args) => export(args, console),
        RunsCommand::Remove(args) => remove(args, console),
    }
}

/// The runs of a workspace, the newest first.
fn list(args: &RunsListArgs, console: &mut Console<'_>) -> Result<ExitStatus, Error> {
    let home = home(args.suite.as_deref(), console.system)?;
    let system = console.system;
    let runs = recorded(system, &home).take(args.limit.unwrap_or(usize::MAX));
    let runs = runs.filter_map(|past| {
        let whole = WholeRecord::open(system, &past.folder).ok()?;
        Some((past, whole))
    });
    let runs: Vec<(PastRun, WholeRecord)> = runs.collect();
    if args.json {
        let runs: Vec<Value> = runs.iter().map(|(past, whole)| shown(past, whole)).collect();
        console.write_json(&json!({"format": 1, "runs": runs}))?;
        return Ok(ExitStatus::Success);
    }
    let titles = ["run", "suite", "part", "samples", "gate", "spent"];
    let mut rows = vec![titles.map(words).to_vec()];
    rows.extend(runs.iter().map(|(past, whole)| {
        let spent = whole.facts.spent.cost.map(|cost| cost.to_string());
        vec![
            name(&past.id),
            name(&past.header.suite),
            words(whole.header.part().unwrap_or_default()),
            number(whole.summary.samples.to_string()),
            words(whole.summary.gate.status.map_or("", GateStatus::name)),
            number(spent.unwrap_or_default()),
        ]
    }));
    for line in lines(&rows, console.width) {
        writeln!(console.out, "{}", line.trim_end())?;
    }
    Ok(ExitStatus::Success)
}

fn shown(past: &PastRun, whole: &WholeRecord) -> Value {
    let facts = &whole.facts;
    json!({
        "id": past.id, "folder": past.folder, "suite": past.header.suite, "part": whole.header.part(),
        "started": facts.started, "finished": facts.finished, "exit_code": facts.exit_code,
        "samples": whole.summary.samples, "results": whole.summary.results,
        "gate": whole.summary.gate.status, "spent": facts.spent,
    })
}

/// Every record of a workspace, the newest first; no trials.
fn recorded<'a>(system: &'a dyn System, home: &str) -> impl Iterator<Item = PastRun> + 'a {
    let folder = runs_of(home);
    let ids = system.list(&folder).unwrap_or_default().into_iter().rev();
    let ids = ids.filter(|id| !is_trial(id));
    ids.filter_map(move |id| open(system, &join(&folder, &id), &id))
}

/// Removes records. The run called `latest` is then the newest that is left.
fn remove(args: &RunsRemoveArgs, console: &mut Console<'_>) -> Result<ExitStatus, Error> {
    let home = home(args.suite.as_deref(), console.system)?;
    let runs = args.runs.iter().map(|named| {
        let past = record(named, &home, console)?;
        let is_own = past.folder == join(&runs_of(&home), &past.id);
        is_own.then_some(past).ok_or_else(|| {
            Error::plain(
                format!("`{}` is not a record under `{}`", sanitize(named), runs_of(&home)),
                "remove the folder yourself; nothing was removed",
            )
        })
    });
    let mut runs: Vec<PastRun> = runs.collect::<Result<_, _>>()?;
    runs.sort_by(|one, other| one.id.cmp(&other.id));
    runs.dedup_by(|one, other| one.id == other.id);
    for past in &runs {
        console.system.remove_folder(&past.folder)?;
        writeln!(console.err, "removed {}", past.folder)?;
    }
    let latest = last_named(console.system, &home);
    let is_gone = |id: &String| runs.iter().any(|past| past.id == *id);
    if latest.as_ref().is_some_and(is_gone)
        && let Some(newest) = recorded(console.system, &home).next()
    {
        set_latest(console.system, &home, &newest.id)?;
    }
    Ok(ExitStatus::Success)
}

/// Writes a run as one file.
fn export(args: &RunsExportArgs, console: &mut Console<'_>) -> Result<ExitStatus, Error> {
    let home = home(args.suite.as_deref(), console.system)?;
    let past = record(&args.run, &home, console)?;
    let path =
        args.output.clone().unwrap_or_else(|| format!("{}.zip", past.id.trim_end_matches('/')));
    let whole = WholeRecord::open(console.system, &past.folder).map_err(|error| {
        let message = format!("cannot read the record in `{}`: {}", past.folder, error.shown());
        Error::plain(sanitize(&message), "run the suite again, with this version of evalrs")
    })?;
    // A record that is named by its folder has its id in it.
    let id = if whole.facts.id.is_empty() { &past.id } else { &whole.facts.id };
    let index = RunArchiveIndex {
        id: id.clone(),
        evalrs: env!("CARGO_PKG_VERSION").to_owned(),
        suite: whole.facts.origin.suite.clone(),
        is_whole: !args.record_only,
        ..RunArchiveIndex::default()
    };
    if args.record_only {
        let parts = RunArchiveParts {
            index,
            record: &past.folder,
            files: Vec::new(),
            outcomes: &|_| Ok(()),
        };
        write(&path, parts, console)?;
        return Ok(ExitStatus::Success);
    }
    let suite = args.suite.clone().or_else(|| suite_of(&whole, &home)).unwrap_or_default();
    let over = overrides_of(&past, console.system);
    let (surroundings, mut session) = loaded_session(&suite, &args.store, over, console)?;
    check_unchanged(&past, &session)?;
    let store = surroundings.store(console)?;
    // Of no samples there are no outcomes; a session without any named would have all.
    let has_samples = whole.summary.samples > 0;
    let wanted = if has_samples {
        wanted_actions(&mut session, console.system, store.as_ref())
    } else {
        Vec::new()
    };
    console.warn(store.take_warnings())?;
    let stored = wanted.into_iter().filter(|action| action.stored != StoredKind::Missing);
    let stored: Vec<WantedAction> = stored.collect();
    let outcomes = ExportedLines::new(&stored, &[], store.as_ref());
    let FilesRead { inside, outside } = files_read(&session, &surroundings, console.system);
    for left in &outside {
        let left = sanitize(left);
        writeln!(console.err, "warning: `{left}` is outside of the workspace, so it is left out")?;
    }
    let parts = RunArchiveParts {
        index: RunArchiveIndex { left_out: outside, ..index },
        record: &past.folder,
        files: inside,
        outcomes: &|to| outcomes.each(&mut |line| to.write_all(line.as_bytes())),
    };
    write(&path, parts, console)?;
    let held = count(stored.len(), "outcome");
    writeln!(console.err, "{path}: the run {} with {held}", past.id)?;
    Ok(ExitStatus::Success)
}

fn write(path: &str, parts: RunArchiveParts<'_>, console: &Console<'_>) -> Result<(), Error> {
    let mut parts = Some(parts);
    console.system.write(path, &mut |file| match parts.take() {
        Some(parts) => run_archive::write(file, parts, console.system),
        None => Ok(()),
    })?;
    Ok(())
}

/// What narrows a suite down to the samples and graders of a run.
pub(super) fn overrides_of(past: &PastRun, system: &dyn System) -> Overrides {
    let trials = past.header.settings.get("trials").and_then(Value::as_u64);
    let graders = past.header.graders().map(|(name, _)| name.to_owned()).collect();
    let is_narrowed = past.header.is_narrowed();
    let samples = if is_narrowed { past.sample_ids(system) } else { BTreeSet::new() };
    Overrides {
        samples: samples.into_iter().collect(),
        graders,
        trials: trials.and_then(|trials| u32::try_from(trials).ok()),
        ..Overrides::default()
    }
}

/// An export of something else than what was run would explain another run.
fn check_unchanged(past: &PastRun, session: &Session) -> Result<(), Error> {
    let now = header(session).inputs;
    let Some(path) = past.header.changed_input(&now) else { return Ok(()) };
    if now.get(path).is_none() {
        return Err(Error::plain(
            sanitize(&format!(
                "the run {} read `{path}`, which the suite alone does not name",
                past.id
            )),
            "a flag such as `--labels` or `--cached` named it; export the record alone: `--record-only`",
        ));
    }
    Err(Error::plain(
        sanitize(&format!("`{path}` has changed since the run {}", past.id)),
        "rerun the suite and export that run, or export the record alone: `--record-only`",
    ))
}

/// What a session has read.
struct FilesRead {
    /// Name in the workspace → path.
    inside: Vec<(String, String)>,
    /// Files outside of it.
    outside: Vec<String>,
}

fn files_read(session: &Session, surroundings: &SuiteContext, system: &dyn System) -> FilesRead {
    let mut paths = session.paths();
    paths.extend(session.digests().into_keys());
    paths.insert(join(&surroundings.root, "evalrs.toml"));
    let is_file = |path: &String| system.stamp(path).is_some() && system.list(path).is_none();
    let mut read = FilesRead { inside: Vec::new(), outside: Vec::new() };
    for path in paths.into_iter().filter(is_file).filter(|path| !is_secret(path)) {
        let inside = surroundings.in_workspace(&path, system);
        let is_outside = inside.starts_with('/') || inside.split('/').any(|part| part == "..");
        if is_outside {
            read.outside.push(path);
        } else {
            read.inside.push((inside, path));
        }
    }
    read
}

/// Files of variables, which may be keys.
fn is_secret(path: &str) -> bool {
    path.rsplit('/').next().is_some_and(|name| name.starts_with(".env"))
}
