//! How a run ended: its status, and what is to be known of it besides its report.

use std::io::Write;
use std::sync::Arc;

use super::context::SuiteContext;
use super::holdout;
use super::usage::{note_tried, note_used, planned_keys};
use crate::console::Console;
use crate::error::{Error, ExitStatus};
use evalrs_base::ordered_map::OrderedMap;
use evalrs_base::text::{count, enumerated, sanitize};
use evalrs_engine::resolve::settle::Settlement;
use evalrs_engine::session::Session;
use evalrs_graph::queries::gate_rule;
use evalrs_graph::results;
use evalrs_metrics::gate::GateStatus;
use evalrs_metrics::results::Summary;
use evalrs_model::outcome::{ActionTally, Usage};
use evalrs_report::usage::target_lines;
use evalrs_store::record::RunFacts;
use evalrs_store::record::run_names::is_trial;
use evalrs_system::System;

/// Without its gate a run passes whatever it finds, so there is a warning.
pub(super) fn say_left_out(session: &Session, err: &mut dyn Write) -> std::io::Result<()> {
    let Some(gate) = session.suite().and_then(|suite| suite.gate.as_ref()) else { return Ok(()) };
    if gate_rule(&session.db, session.root).is_none() {
        let rule = evalrs_metrics::gate::rule(gate);
        let why = match &session.root.overrides(&session.db).partition {
            Some(_) => "this is a part of the samples, and `evalrs merge` decides it",
            None => "it needs graders that --grader excludes",
        };
        writeln!(err, "note: the gate `{rule}` is skipped: {why}")?;
    }
    Ok(())
}

/// Those of the graders and of the target.
pub(super) fn all_tallies(settled: &Settlement) -> impl Iterator<Item = &ActionTally> {
    settled.tallies.iter().map(|(_, tally)| tally).chain(&settled.conversations)
}

/// Unfinished work comes first: a gate over part of the grades has not decided.
pub(super) fn status_of(settled: &Settlement, summary: &Summary) -> ExitStatus {
    if settled.interrupted {
        return ExitStatus::Interrupted;
    }
    // What is missing of it cannot save a gate that has failed already.
    if settled.out > 0 {
        let has_failed = summary.gate.status == Some(GateStatus::Failed);
        return if has_failed { ExitStatus::GateFailed } else { ExitStatus::InBatch };
    }
    let pending = all_tallies(settled).any(|tally| tally.pending > 0);
    let in_vain = !settled.in_vain.is_empty();
    if settled.write_error.is_some() || settled.out_of_budget || pending || in_vain {
        return ExitStatus::Incomplete;
    }
    let failed = all_tallies(settled).any(|tally| tally.failed > 0);
    let errors = summary.metrics.0.iter().any(|(_, metric)| metric.errors > 0);
    match summary.gate.status {
        // Nothing else would say that a suite without a gate was not judged.
        None if failed || errors || settled.replayed_failures > 0 => ExitStatus::Incomplete,
        None | Some(GateStatus::Passed) => ExitStatus::Success,
        Some(GateStatus::Failed) => ExitStatus::GateFailed,
        Some(GateStatus::Undecided) => ExitStatus::Incomplete,
    }
}

/// The same of a part of the samples, which is complete with errors too, if those are kept: the whole decides what they mean.
pub(super) fn status_of_part(
    status: ExitStatus,
    settled: &Settlement,
    session: &mut Session,
    system: &dyn System,
) -> ExitStatus {
    let is_part = session.root.overrides(&session.db).partition.is_some();
    let is_open = settled.write_error.is_some() || !settled.in_vain.is_empty();
    if status != ExitStatus::Incomplete || !is_part || is_open {
        return status;
    }
    let outcomes = Arc::clone(&session.db.outcomes);
    let is_kept = planned_keys(session, system).iter().all(|key| outcomes.is_kept(*key));
    if is_kept { ExitStatus::Success } else { status }
}

/// What a record says of how a run was settled.
pub(super) fn facts_of(settled: &Settlement) -> RunFacts {
    RunFacts {
        interrupted: settled.interrupted,
        out_of_budget: settled.out_of_budget,
        store_failed: settled.write_error.is_some(),
        in_vain: settled.in_vain.len(),
        out: settled.out,
        actions: OrderedMap(settled.tallies.clone()),
        target: settled.conversations,
        spent: settled.spent(),
        saved: settled.saved(),
        sandbox: settled.sandbox.map(str::to_owned),
        warnings: settled.stopped.iter().chain(&settled.warnings).cloned().collect(),
        ..RunFacts::default()
    }
    .with_asked(&settled.asked)
}

/// That a run pays for a cache that it never reads, and what may help. Graders share caches: one of them may write what the others
/// read.
fn unread_cache(settled: &Settlement) -> Option<String> {
    let Usage { cache_read, cache_write, .. } = settled.spent();
    let writers = settled.tallies.iter().filter(|(_, tally)| tally.spent.cache_write > 0);
    let writers: Vec<String> = writers.map(|(name, _)| format!("`{name}`")).collect();
    (cache_write > 0 && cache_read == 0).then(|| {
        format!(
            "{} wrote {} to the provider's cache, and nothing was read, which costs more than no cache; \
             `prompt_caching: off` marks nothing",
            enumerated(&writers, "and"),
            count(cache_write, "token"),
        )
    })
}

pub(super) fn warn(settled: &Settlement, err: &mut dyn Write) -> std::io::Result<()> {
    for warning in settled.warnings.iter().take(10) {
        writeln!(err, "warning: {warning}")?;
    }
    if settled.warnings.len() > 10 {
        writeln!(err, "warning: {} more, see run.json", settled.warnings.len() - 10)?;
    }
    if let Some(message) = settled.in_vain.first() {
        let judgments = count(settled.in_vain.len(), "judgment");
        writeln!(
            err,
            "error: {judgments} could not be refreshed, so the cached ones stay: {message}"
        )?;
    }
    if let Some(error) = &settled.write_error {
        writeln!(
            err,
            "error: {error}; calls were stopped, because results that cannot be stored would be paid for again"
        )?;
    }
    if let Some(warning) = unread_cache(settled) {
        writeln!(err, "warning: {}", sanitize(&warning))?;
    }
    if settled.replayed_failures > 0 {
        let errors = count(settled.replayed_failures, "cached error");
        writeln!(err, "{errors}; `--retry-errors` retries them")?;
    }
    for stopped in &settled.stopped {
        writeln!(err, "{}", sanitize(stopped))?;
    }
    if settled.out_of_budget {
        writeln!(
            err,
            "stopped: the budget is used up; a rerun with a larger budget makes the remaining calls"
        )?;
    }
    if settled.interrupted {
        writeln!(err, "interrupted: finished calls are cached; rerun to continue")?;
    }
    Ok(())
}

/// The report of a run that grades nothing.
pub(super) fn only_targets(
    settled: &Settlement,
    console: &mut Console<'_>,
) -> Result<ExitStatus, Error> {
    warn(settled, console.err)?;
    let Some(tally) = settled.conversations else {
        let message = "`--only-targets` has nothing to run: the target is recorded";
        return Err(Error::plain(message, "leave it out to grade what is recorded"));
    };
    for line in target_lines(&tally) {
        writeln!(console.out, "{line}")?;
    }
    Ok(match (settled.interrupted, tally.failed + tally.pending) {
        (true, _) => ExitStatus::Interrupted,
        (false, 0) if settled.write_error.is_none() && settled.in_vain.is_empty() => {
            ExitStatus::Success
        }
        _ => ExitStatus::Incomplete,
    })
}

/// The summary of a settled session, while it is noted what the run with this id used. A trial is no query of held-out labels:
/// nobody sees them beside it.
pub(super) fn sum_up(
    session: &mut Session,
    surroundings: &SuiteContext,
    system: &dyn System,
    id: &str,
    warnings: &mut Vec<String>,
) -> Summary {
    if is_trial(id) {
        warnings.extend(note_tried(session, surroundings, system).warning());
        return results::summary(&session.db, session.root);
    }
    let noted = note_used(session, surroundings, system);
    let mut of_labels = Vec::new();
    let summary = holdout::summary(session, surroundings, system, &mut of_labels);
    warnings.extend(noted.warning().into_iter().chain(of_labels));
    summary
}
