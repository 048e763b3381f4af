//! Every number that a report has, for whoever doubts one.

use super::graders;
use crate::intervals::{mean_within, rate_within};
use crate::page::{Block, Column, Page, Table, Text, quoted};
use crate::rater_pairs;
use evalrs_base::text::score_or_dash;
use evalrs_metrics::metric::Metric;
use evalrs_metrics::results::Summary;

/// Adds all numbers of graders, of tags, of trials and of raters.
pub(super) fn add(summary: &Summary, page: &mut Page) {
    let titles = [
        "n",
        "mean [95 %]",
        "pass [95 %]",
        "stderr",
        "naive",
        "min",
        "median",
        "max",
        "errors as 0",
    ];
    let mut table =
        Table::new([Column::names("numbers")].into_iter().chain(titles.map(Column::numbers)));
    for (grader, metric) in &summary.metrics.0 {
        table.row([quoted(grader)].into_iter().chain(numbers(metric).map(Text::from)));
    }
    page.add(Block::Table(table.without_empty_columns()));
    page.add(Block::Table(variances(summary)));
    page.add(Block::Table(rater_pairs::table(summary)));
    graders::add_groups("tag", summary, true, page);
}

fn numbers(metric: &Metric) -> [String; 9] {
    let fine =
        |error: Option<f64>| error.map_or_else(|| "-".to_owned(), |error| format!("{error:.4}"));
    let as_zero = metric.avg_score_total.filter(|_| metric.errors > 0);
    [
        metric.n.to_string(),
        mean_within(metric),
        rate_within(metric),
        fine(metric.stderr),
        fine(metric.stderr_naive),
        score_or_dash(metric.min),
        score_or_dash(metric.median),
        score_or_dash(metric.max),
        as_zero.map_or_else(String::new, |mean| score_or_dash(Some(mean))),
    ]
}

/// Where the variance of scores comes from.
fn variances(summary: &Summary) -> Table {
    let numbers = ["between samples", "within", "ICC(1)", "stderr"].map(Column::numbers);
    let mut table = Table::new([Column::names("variance")].into_iter().chain(numbers));
    for (grader, trials) in &summary.trials.0 {
        let Some(found) = trials.variance else { continue };
        let fine = |value: f64| Text::from(format!("{value:.4}"));
        let icc = crate::human::coefficient(found.icc).into();
        table.row([
            quoted(grader),
            fine(found.between),
            fine(found.within),
            icc,
            fine(found.stderr),
        ]);
    }
    table
}
