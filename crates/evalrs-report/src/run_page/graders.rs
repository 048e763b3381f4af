//! What each grader found: one row each, its trials, and how models and tags differ.

use super::matrix::ResultMatrix;
use crate::digest::case_name;
use crate::human::listed;
use crate::intervals::{is_pass_fail, mean_within, methods, native_mean, rate_within};
use crate::page::{Block, Column, Page, Table, Text, doubtful, faint, quoted, text};
use evalrs_base::ordered_map::OrderedMap;
use evalrs_base::text::{count, score_or_dash};
use evalrs_metrics::metric::Metric;
use evalrs_metrics::results::Summary;
use evalrs_metrics::results::trials::{FlakySample, TrialsSummary};

/// How many graders, and models or tags, are shown.
const GRADERS: usize = 60;
const GROUPS: usize = 8;

/// Adds a row for each grader: of one that passes and fails its pass rate, of one that scores its mean.
pub(super) fn add(
    metrics: &OrderedMap<Metric>,
    matrix: Option<&ResultMatrix<'_>>,
    details: bool,
    page: &mut Page,
) {
    // What a grader of one result says stands in the matrix.
    let is_told = |metric: &Metric| matrix.is_some_and(ResultMatrix::is_sparse) && metric.n == 1;
    let told: Vec<_> = metrics.0.iter().filter(|(_, metric)| is_told(metric)).collect();
    let shown: Vec<_> = metrics.0.iter().filter(|(_, metric)| !is_told(metric)).collect();
    let rates = shown.iter().filter(|(_, metric)| is_pass_fail(metric)).count();
    let title = match rates {
        0 => "mean [95 %]",
        all if all == shown.len() => "pass rate [95 %]",
        _ => "pass rate or mean [95 %]",
    };
    let numbers = ["passed", title, "errors", "n/a"].map(Column::numbers);
    let mut table = Table::new([Column::names("grader")].into_iter().chain(numbers));
    let most = if details { usize::MAX } else { GRADERS };
    for (grader, metric) in shown.iter().take(most) {
        table.row([
            quoted(grader),
            passed(metric).into(),
            estimate(metric, is_pass_fail(metric)).into(),
            match metric.errors {
                0 => Text::default(),
                errors => doubtful(&errors.to_string()),
            },
            if metric.not_applicable == 0 {
                "".into()
            } else {
                metric.not_applicable.to_string().into()
            },
        ]);
    }
    table.extend_notes(methods(shown.iter().map(|(_, metric)| metric)).map(|text| faint(&text)));
    table.extend_notes(not_shown(shown.len().saturating_sub(most), "grader"));
    let singles = (!told.is_empty()).then(|| {
        let graders = count(told.len(), "grader");
        let passed = told.iter().filter(|(_, metric)| metric.accuracy == Some(1.0)).count();
        format!("{graders} of one result each: {passed} passed, see below")
    });
    table.extend_notes(singles.map(|text| faint(&text)));
    for (grader, metric) in &shown {
        let native = metric.native.as_ref().map(native_mean);
        table.extend_notes(native.map(|native| text![quoted(grader), ": ", native]));
    }
    page.add(Block::Table(table.without_empty_columns()));
}

fn passed(metric: &Metric) -> String {
    let passes = metric.accuracy.map(|share| (share * metric.attempted as f64).round());
    passes.map_or_else(|| "-".to_owned(), |passes| format!("{passes}/{}", metric.attempted))
}

/// The number that a grader is known by.
fn estimate(metric: &Metric, is_rate: bool) -> String {
    if is_rate { rate_within(metric) } else { mean_within(metric) }
}

fn not_shown(rest: usize, noun: &str) -> Option<Text> {
    let all = text![faint(&format!("{} not shown: ", count(rest, noun))), quoted("--details")];
    (rest > 0).then_some(all)
}

/// Adds pass@k and pass^k of graders with trials, and their flaky samples.
pub(super) fn add_trials(summary: &Summary, details: bool, page: &mut Page) {
    let trials = summary.metrics.0.iter().filter_map(|(grader, metric)| {
        let trials = summary.trials.get(grader)?;
        Some((grader, trials, [metric.pass_at.as_ref()?, metric.pass_hat.as_ref()?]))
    });
    let trials: Vec<_> = trials.collect();
    let fewest = trials.iter().map(|(_, trials, _)| trials.fewest).min().unwrap_or_default();
    let most = trials.iter().map(|(_, trials, _)| trials.most).max().unwrap_or_default();
    let each = if fewest == most { most.to_string() } else { format!("{fewest} to {most}") };
    // The chance of one trial is the pass rate.
    let is_shown = |k: &usize| details || *k == most || (*k > 1 && k.is_power_of_two());
    let counts: Vec<usize> = (1..=most).filter(is_shown).collect();
    let title = |sign: char| move |k: &usize| Column::numbers(format!("pass{sign}{k}"));
    let curves = counts.iter().map(title('@')).chain(counts.iter().map(title('^')));
    let first = Column::names(format!("{each} trials"));
    let flaky = Column::words("flaky");
    let mut table = Table::new([first].into_iter().chain(curves).chain([flaky]));
    let shown = if details { usize::MAX } else { GRADERS };
    for (grader, trials, curves) in trials.iter().take(shown) {
        let points = curves.iter().flat_map(|curve| {
            counts.iter().map(|k| Text::from(score_or_dash(curve.get(&k.to_string()).copied())))
        });
        let cells = [quoted(grader)].into_iter().chain(points).chain([flaky_samples(trials)]);
        table.row(cells);
    }
    table.extend_notes(not_shown(trials.len().saturating_sub(shown), "grader"));
    page.add(Block::Table(table));
}

/// `2 of 6: a 1/2, b 1/2`.
fn flaky_samples(trials: &TrialsSummary) -> Text {
    let TrialsSummary { samples, flaky, .. } = trials;
    let name = |flaky: &FlakySample| {
        let name = case_name(&flaky.sample_id, flaky.model.as_deref(), None);
        text![quoted(&name), format!(" {}/{}", flaky.passes, flaky.trials)]
    };
    text![format!("{} of {samples}", flaky.len()), listed(flaky, name)]
}

/// Adds a row for each model or tag, and a column for each grader.
pub(super) fn add_groups(noun: &str, summary: &Summary, details: bool, page: &mut Page) {
    let groups = if noun == "tag" { &summary.by_tag } else { &summary.by_model };
    let groups = groups.as_ref().map_or(&[][..], |groups| &groups.0);
    let Some((_, first)) = groups.first() else { return };
    let graders: Vec<&str> = first.0.iter().map(|(grader, _)| grader.as_str()).collect();
    let columns = graders.iter().map(|grader| Column::numbers(quoted(grader)));
    let titles = [Column::names(noun), Column::numbers("n")];
    let mut table = Table::new(titles.into_iter().chain(columns)).folding_columns();
    let most = if details { usize::MAX } else { GROUPS };
    for (group, metrics) in groups.iter().take(most) {
        let n = metrics.0.first().map_or(0, |(_, metric)| metric.n + metric.not_applicable);
        let estimates = graders.iter().map(|grader| {
            let is_rate = summary.metrics.get(grader).is_some_and(is_pass_fail);
            let metric = metrics.get(grader);
            metric.map_or_else(Text::default, |metric| estimate(metric, is_rate).into())
        });
        table.row([quoted(group), n.to_string().into()].into_iter().chain(estimates));
    }
    table.extend_notes(not_shown(groups.len().saturating_sub(most), noun));
    page.add(Block::Table(table));
}
