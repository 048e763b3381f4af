//! `evalrs explain`: where the grades of one sample come from, and what differs from an earlier run. No effect at all.

use super::explain_recorded::explain_recorded;
use crate::cli::ExplainArgs;
use evalrs_base::file_path::join;
use evalrs_base::text::sanitize;
use evalrs_engine::inspect::explain::{EarlierRuns, ExplanationSource, winning};
use evalrs_engine::inspect::preview::preview;
use evalrs_engine::inspect::reasons::AskReasons;
use evalrs_engine::inspect::sent::sent_case;
use evalrs_engine::resolve::settings::Settings;
use evalrs_engine::session::Session;
use evalrs_graph::inputs::{Chunk, Overrides};
use evalrs_graph::{queries, results};
use evalrs_metrics::explain::ExplainReport;
use evalrs_metrics::explain::sent::SentReport;
use evalrs_model::record_format::FORMAT;
use evalrs_report::explain as report;
use evalrs_store::record::damage::{damage_of, passed_over};
use evalrs_store::record::history::History;
use evalrs_store::record::read::{PastRun, open, runs};
use evalrs_store::record::runs_of;
use evalrs_store::record::sample_lines::SampleLines;
use evalrs_system::System;
use evalrs_use_cases::console::Console;
use evalrs_use_cases::error::{Error, ExitStatus};
use evalrs_use_cases::open::session_of_sample;
use evalrs_use_cases::run_files::is_run_file;

/// After the ids of all runs.
const LAST: &str = "~";

/// How many earlier runs are looked through for one that differs.
const MOST_RUNS: usize = 50;

pub(crate) fn explain(args: &ExplainArgs, console: &mut Console<'_>) -> Result<ExitStatus, Error> {
    if is_run_file(&args.suite) {
        return explain_recorded(args, console);
    }
    let overrides = Overrides {
        samples: vec![args.sample.clone()],
        graders: args.grader.iter().cloned().collect(),
        cached: args.cached.clone(),
        labels: args.labels.clone(),
        ..Overrides::default()
    };
    let (surroundings, mut session) =
        session_of_sample(&args.sample, &args.suite, &args.store, overrides, console)?;
    let places = places(args, &session)?;
    let suite = session.suite().map(|suite| suite.name.clone()).unwrap_or_default();
    let home = surroundings.records();
    let pasts: Vec<PastRun> = match &args.run {
        None => runs(console.system, &home, &suite).take(MOST_RUNS).collect(),
        Some(named) => vec![named_run(named, &home, console.system)?],
    };
    let store = surroundings.store(console)?;
    let mut found = preview(&mut session, store.as_ref(), console.system, &Settings::default());
    found.look_elsewhere(&session, store.as_ref());
    console.warn(&found.warnings)?;
    drop(store);
    let mut layers = surroundings.layers(console.system);
    if args.prompt {
        let results = places.into_iter().filter_map(|(chunk, at)| {
            sent_case(&session, chunk, at, &mut |key| winning(&mut layers, key))
        });
        let results = results.collect();
        let sent = SentReport { format: FORMAT, suite, sample_id: args.sample.clone(), results };
        if args.json {
            console.write_json(&sent)?;
        } else {
            console.show(&report::sent::page(&sent))?;
        }
        return Ok(ExitStatus::Success);
    }
    let names: Vec<&str> = found.tallies.iter().map(|(name, _)| name.as_str()).collect();
    let lines = SampleLines::new(&args.sample, console.system);
    let history = History::of_sample(&lines, runs(console.system, &home, &suite), &names);
    let reasons = AskReasons::new(&session, &history);
    let earlier = EarlierRuns { pasts: &pasts, lines: &lines };
    let mut explaining = ExplanationSource::new(&session, &mut layers, &reasons, Some(earlier));
    explaining.elsewhere = found.elsewhere;
    let results = places.into_iter().filter_map(|(chunk, at)| explaining.case(chunk, at)).collect();
    let damaged = pasts.iter().filter(|past| lines.were_read(past));
    let damaged = damaged.flat_map(|past| damage_of(console.system, past));
    let damaged = damaged.chain(passed_over(console.system, &home, LAST));
    let damaged: Vec<String> = damaged.map(|damage| sanitize(&damage)).collect();
    console.warn(damaged)?;
    let explanation =
        ExplainReport { format: FORMAT, suite, sample_id: args.sample.clone(), results };
    if args.json {
        console.write_json(&explanation)?;
    } else {
        console.show(&report::page(&explanation))?;
    }
    Ok(ExitStatus::Success)
}

/// The selected cases of the sample, in dataset order.
fn places(args: &ExplainArgs, session: &Session) -> Result<Vec<(Chunk, usize)>, Error> {
    let db = &session.db;
    let root = session.root;
    let mut all = Vec::new();
    for chunk in root.chunks(db) {
        for case in 0..queries::places(db, *chunk).len() {
            all.extend(results::head(db, *chunk, case).map(|head| ((*chunk, case), head)));
        }
    }
    let wanted = all.iter().filter(|(_, head)| {
        args.trial.is_none_or(|trial| trial == head.trial)
            && (args.model.is_none() || args.model == head.model)
    });
    let wanted: Vec<(Chunk, usize)> = wanted.map(|(place, _)| *place).collect();
    if !wanted.is_empty() {
        return Ok(wanted);
    }
    let there = all.iter().map(|(_, head)| match &head.model {
        Some(model) => format!("trial {} of `{model}`", head.trial),
        None => format!("trial {}", head.trial),
    });
    let there: Vec<String> = there.take(20).collect();
    Err(Error::plain(
        format!("`{}` does not have that trial or model", args.sample),
        format!("known: {}", there.join(", ")),
    ))
}

/// The run with this id, else the record in this folder.
fn named_run(named: &str, home: &str, system: &dyn System) -> Result<PastRun, Error> {
    let recorded = join(&runs_of(home), named);
    let by_id = (!named.contains('/')).then(|| open(system, &recorded, named)).flatten();
    by_id.or_else(|| open(system, named, named)).ok_or_else(|| {
        Error::plain(
            format!("no record of a run at `{named}`"),
            format!("name a run of `{}`, or the folder of a record", runs_of(home)),
        )
    })
}
