//! Two evaluations compared, for people: what moved, what was edited in between, then the numbers behind it.

mod agreement;
mod declared;
mod graders;
mod moved;
mod names;
mod settings;
#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, HashMap};

use crate::intervals::{FEWEST, named_methods};
use crate::movement::changes;
use crate::origin::shared_outcomes;
use crate::page::{Block, Page, Text, bad, faint, quoted, strong, text};
use crate::verdict;
use evalrs_base::ordered_map::OrderedMap;
use evalrs_base::text::{count, cut};
use evalrs_metrics::diff::since::{MovedAgreement, RunMoves};
use evalrs_metrics::diff::{Diff, GraderDiff, OnlyCases, SideName};
use evalrs_metrics::gate::GateReport;
use evalrs_statistics::interval::IntervalMethod;
use names::{NAME, NAMED, case_label, has_trials, listed};

/// How much is shown of a comparison.
#[derive(Clone, Copy, Debug)]
pub struct DiffView {
    /// How many verdicts that moved are listed.
    pub moved: usize,
    /// Whether every number is shown.
    pub details: bool,
}

/// The comparison.
pub fn page(diff: &Diff, view: DiffView) -> Page {
    let mut page = Page::default();
    page.add(Block::Heading(heading(diff)));
    page.join(Block::Paragraph(regressions(diff).unwrap_or_default()));
    let mut sides = side("old", &diff.before, &diff.gate.before);
    sides.extend(side("new", &diff.now, &diff.gate.now));
    page.add(Block::Lines(sides));
    let trials = has_trials(diff);
    moved::add(diff, view.moved, trials, &mut page);
    page.add(Block::lines(agreement::moved(diff, trials)));
    settings::add(diff, &mut page);
    page.add(Block::Table(agreement::table(diff)));
    let mut numbers = graders::table(diff, view.details);
    numbers.extend_notes(methods(diff, view.details).map(|methods| faint(&methods)));
    page.add(Block::Table(numbers));
    page.add(Block::Table(declared::table(diff)));
    if view.details {
        page.add(Block::Table(agreement::details(diff)));
        page.add(Block::Table(graders::details(diff)));
    }
    page.add(Block::lines(not_compared(diff, trials)));
    page
}

/// The suite, and how much moved.
fn heading(diff: &Diff) -> Text {
    let [before, now] = [&diff.before.suite, &diff.now.suite].map(|suite| quoted(suite));
    let suite = if before == now { now } else { text![before, " and ", now] };
    let agreement = agreement::compared(diff).filter_map(|(grader, found)| {
        let [before, now] = [found.before.accuracy?, found.now.accuracy?];
        (found.difference? != 0.0).then(|| (grader.clone(), MovedAgreement { before, now }))
    });
    let agreement = OrderedMap(agreement.collect());
    let changes = changes(&RunMoves { agreement, ..RunMoves::of(diff, &HashMap::new()) });
    let changes =
        if changes.is_empty() { faint("nothing moved") } else { Text::joined(changes, ", ") };
    text![strong("diff"), "  ", suite, ": ", changes]
}

/// Which graders became worse; none unless that was tested.
fn regressions(diff: &Diff) -> Option<Text> {
    let graders = || diff.graders.0.iter();
    graders().find(|(_, grader)| grader.is_regression.is_some())?;
    let worse = graders().filter(|(_, grader)| grader.is_regression == Some(true));
    let names: Vec<Text> = worse.map(|(name, _)| quoted(name)).collect();
    Some(if names.is_empty() {
        "no grader became worse by more than chance explains".into()
    } else {
        text![bad("worse by more than chance explains"), ": ", Text::joined(names, ", ")]
    })
}

/// Which evaluation it is, and what its gate found.
fn side(side: &str, name: &SideName, gate: &GateReport) -> Vec<(usize, Text)> {
    let mut line = text![strong(side), "  ", quoted(&name.reference()), "  "];
    if let Some(at) = &name.at {
        line.push(text![quoted(at), "  "]);
    }
    line.push(verdict::status(gate));
    line.push(if name.complete { "" } else { ", not every grade is known" });
    if !name.files.is_empty() {
        line.push(text![", after an edit of ", quoted(&name.files.join(", "))]);
    }
    let mut lines = vec![(0, line)];
    let finding = verdict::finding(gate);
    lines.extend((!finding.is_empty()).then(|| (1, quoted(&finding))));
    lines.extend(shared_outcomes(&name.writers).map(|line| (1, quoted(&line))));
    verdict::push_conditions(&gate.conditions, 2, &mut lines);
    lines
}

/// How the intervals that are shown were made.
fn methods(diff: &Diff, details: bool) -> Option<String> {
    let graders = diff.graders.0.iter();
    let of_grader = |(_, grader): &(String, GraderDiff)| {
        let paired = &grader.paired;
        let agreement = grader.agreement.as_ref();
        let of_agreement = agreement.filter(|found| found.n >= FEWEST);
        let of_kappa = agreement.filter(|found| details && found.kappa_interval.is_some());
        [
            paired.interval_method.filter(|_| paired.n >= FEWEST),
            of_agreement.and_then(|found| found.interval_method),
            of_kappa.map(|_| IntervalMethod::PairedBootstrap),
        ]
    };
    let declared = diff.declared.0.iter().filter_map(|(_, metric)| metric.interval);
    let found = graders.flat_map(of_grader).flatten().chain(declared.map(|found| found.method));
    named_methods(&found.collect::<BTreeSet<IntervalMethod>>())
}

/// What is not compared, a line each.
fn not_compared(diff: &Diff, trials: bool) -> Vec<Text> {
    let line = |side: &str, noun: &str, all: usize, names: Vec<Text>| {
        let counted = format!("only in the {side}: {}: ", count(all, noun));
        (all > 0).then(|| text![counted, listed(names, all)])
    };
    let cases = |side: &str, only: &OnlyCases| {
        let names = only.first.iter().map(|case| case_label(case, trials));
        line(side, "result", only.count, names.collect())
    };
    let graders = |side: &str, names: &[String]| {
        let shown = names.iter().take(NAMED).map(|name| quoted(&cut(name, NAME)));
        line(side, "grader", names.len(), shown.collect())
    };
    let lines = [
        graders("old", &diff.graders_only_before),
        graders("new", &diff.graders_only_now),
        cases("old", &diff.cases.only_before),
        cases("new", &diff.cases.only_now),
    ];
    lines.into_iter().flatten().collect()
}
