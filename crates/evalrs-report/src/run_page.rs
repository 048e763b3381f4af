//! The report of a run for people: what happened, what moved, what to do, then numbers, then failures.
//!
//! It is short; what only somebody who doubts a number wants to know waits behind `--details`.

mod details;
mod errors;
mod graders;
mod matrix;
mod moves;
#[cfg(test)]
mod tests;
mod view;

use super::declared;
use super::digest::{ReportDigest, label};
use super::format::{ProcessFacts, ReportedRun};
use super::intervals::is_pass_fail;
use super::origin::shared_outcomes;
use super::page::{Block, Column, Page, Table, Text, bad, faint, quoted, strong, text};
use super::verdict::{gate_lines, status};
use super::{human, usage};
use evalrs_base::text::{count, score};
use evalrs_metrics::results::Summary;
use evalrs_model::outcome::Usage;
use view::RATIONALE_LINES;
pub(super) use view::ReportView;

/// The report.
pub(super) fn page(run: &ReportedRun<'_, '_>, view: ReportView) -> Page {
    let summary = run.report.summary;
    let digest = view.lists.then(|| ReportDigest::of(run.report, view.failures));
    let mut page = Page::default();
    page.add(Block::Heading(heading(run)));
    gate_lines(&summary.gate, &mut page);
    if let Some(moved) = run.facts.moved.as_ref().filter(|_| view.moves) {
        moves::add(moved, run.origin, view.against, &mut page);
    }
    if let Some(digest) = &digest {
        errors::add(run, digest, view, &mut page);
    }
    let matrix = matrix::ResultMatrix::of(run, view.details);
    graders::add(&summary.metrics, matrix.as_ref(), view.details, &mut page);
    declared::add(&summary.declared, &mut page);
    graders::add_trials(summary, view.details, &mut page);
    graders::add_groups("model", summary, view.details, &mut page);
    if let Some(matrix) = &matrix {
        page.add(Block::Table(matrix.table()));
    }
    if let Some(digest) = &digest {
        add_failures(digest, run, &mut page);
    }
    if view.details {
        details::add(summary, &mut page);
    }
    let closing = closing(summary, digest.as_ref(), view.details).into_iter();
    let facts = if view.facts { fact_lines(run.facts) } else { Vec::new() };
    page.add(Block::lines(closing.chain(facts.iter().map(|line| faint(line)))));
    // The path is there to be copied.
    let path = run.facts.report.iter().filter(|_| view.facts);
    path.for_each(|path| page.join(Block::Unbroken(faint(&format!("report: {path}")))));
    page
}

fn heading(run: &ReportedRun<'_, '_>) -> Text {
    let summary = run.report.summary;
    let samples = count(summary.samples, "sample");
    let results = count(summary.results, "result");
    // An error of a criterion is one of its rubric already.
    let graders = summary.metrics.0.iter().filter(|(name, _)| !summary.is_of_rubric(name));
    let errors: usize = graders.map(|(_, metric)| metric.errors).sum();
    let errors = if errors == 0 { String::new() } else { format!(", {}", count(errors, "error")) };
    let header = run.report.header;
    let suite = quoted(&header.suite);
    let part = header.part().map_or_else(String::new, |part| format!(", part {part}"));
    text![status(&summary.gate), "  ", suite, part, ": ", samples, ", ", results, errors]
}

fn add_failures(digest: &ReportDigest, run: &ReportedRun<'_, '_>, page: &mut Page) {
    if digest.failed == 0 {
        return;
    }
    let mut table = Table::new([
        Column::names("sample"),
        Column::numbers("trial"),
        Column::names("grader"),
        Column::numbers("score"),
        Column::words("rationale").of_lines(RATIONALE_LINES),
    ]);
    for failure in &digest.failures {
        let metric = run.report.summary.metrics.get(&failure.grader);
        // A grader that knows nothing but passes and fails gives all failures the same score.
        let is_plain = metric.is_some_and(is_pass_fail);
        let name = run.origin.named(failure.at, &failure.sample_id, &failure.input);
        let trial = digest.trials.then(|| failure.trial.to_string());
        table.row([
            quoted(&label(&name, failure.model.as_deref(), None)),
            trial.unwrap_or_default().into(),
            quoted(&failure.grader),
            if is_plain { Text::default() } else { bad(&score(failure.score)) },
            quoted(&failure.rationale),
        ]);
    }
    let rest = digest.failed - digest.failures.len();
    if rest > 0 {
        let all = format!("--failures {}", digest.failed);
        table.note(text![faint(&format!("{rest} more: ")), quoted(&all)]);
    }
    let summary = strong(&count(digest.failed, "failure"));
    page.add(Block::Fold(summary, vec![Block::Table(table.without_empty_columns())]));
}

/// How far verdicts can be relied on, and what judgments used.
fn closing(summary: &Summary, digest: Option<&ReportDigest>, details: bool) -> Vec<Text> {
    let empty = digest.and_then(ReportDigest::empty_line).map(Text::from);
    let trust = human::lines(summary, details);
    empty.into_iter().chain(trust).chain(usage::lines(summary, details)).collect()
}

/// What the process did.
fn fact_lines(facts: &ProcessFacts) -> Vec<String> {
    let counts = [("made", facts.asked), ("cached", facts.cached), ("failed", facts.failed)];
    let counts = counts.into_iter().filter_map(|(name, count)| Some(format!("{} {name}", count?)));
    let mut parts: Vec<String> = counts.collect();
    let title = if parts.is_empty() { "graded" } else { "calls:" };
    parts.extend(facts.seconds.map(|seconds| format!("in {seconds:.1} s")));
    let calls = (!parts.is_empty()).then(|| format!("{title} {}", parts.join(", ")));
    let target = facts.target.iter().flat_map(usage::target_lines);
    calls
        .into_iter()
        .chain(money(facts))
        .chain(target)
        .chain(shared_outcomes(&facts.writers))
        .collect()
}

/// What the run spent and saved; nothing where neither is known.
fn money(facts: &ProcessFacts) -> Option<String> {
    let part = |name: &str, usage: Usage| {
        let cost = usage.cost.map_or_else(String::new, |cost| format!("{cost}, "));
        let tokens = usage.input + usage.output;
        (tokens > 0).then(|| format!("{name} {cost}{}", count(tokens, "token")))
    };
    let cheaper = facts.list_cost.filter(|list| facts.spent.cost.is_some_and(|paid| paid < *list));
    let cheaper = cheaper.map(|list| format!("{list} at list price"));
    let details: Vec<String> = usage::cached(facts.spent).into_iter().chain(cheaper).collect();
    let spent = part("spent", facts.spent).map(|spent| match details.as_slice() {
        [] => spent,
        details => format!("{spent} ({})", details.join(", ")),
    });
    // What was cached when judgments were made says nothing of this run.
    let parts = [spent, part("saved", facts.saved)];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}
