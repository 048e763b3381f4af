//! What changed of each grader, over the results with a verdict on both sides.

use crate::intervals::{FEWEST, p_value, signed};
use crate::page::{Column, Table, Text, bad, good, not_shown, quoted};
use evalrs_base::text::{percent, score_or_dash};
use evalrs_metrics::diff::Diff;
use evalrs_metrics::metric::paired::PairedSummary;

/// How many graders are shown.
const GRADERS: usize = 60;

/// A row for each grader: of one that passes and fails its pass rate, of one that scores its mean.
pub(super) fn table(diff: &Diff, details: bool) -> Table {
    let mut judged = judged(diff);
    let rates = judged.iter().filter(|(_, paired)| is_pass_fail(paired)).count();
    let title = match rates {
        0 => "mean",
        all if all == judged.len() => "pass rate",
        _ => "pass rate or mean",
    };
    let numbers = ["n", title, "change [95 %]", "fixed", "broken"].map(Column::numbers);
    let mut table = Table::new([Column::names("grader")].into_iter().chain(numbers));
    let most = if details { usize::MAX } else { GRADERS };
    if judged.len() > most {
        judged.sort_by_key(|(_, paired)| paired.difference == Some(0.0));
    }
    for (grader, paired) in judged.iter().take(most) {
        let counted = |count: usize, show: fn(&str) -> Text| match count {
            0 => Text::default(),
            count => show(&count.to_string()),
        };
        let is_rate = is_pass_fail(paired);
        let interval = paired.interval.filter(|_| paired.n >= FEWEST);
        table.row([
            quoted(grader),
            paired.n.to_string().into(),
            if is_rate { rates_of(paired) } else { means_of(paired) },
            change(paired.difference, interval, if is_rate { 1 } else { 3 }),
            counted(paired.fixed, good),
            counted(paired.broken, bad),
        ]);
    }
    table.extend_notes(not_shown(judged.len().saturating_sub(most), "grader"));
    table.without_empty_columns()
}

/// The numbers that only somebody who doubts the others wants to know.
pub(super) fn details(diff: &Diff) -> Table {
    let numbers = ["mean", "pass rate", "stderr", "detects", "p"].map(Column::numbers);
    let mut table = Table::new([Column::names("numbers")].into_iter().chain(numbers));
    for (grader, paired) in judged(diff) {
        table.row([
            quoted(grader),
            means_of(paired),
            rates_of(paired),
            score_or_dash(paired.stderr).into(),
            score_or_dash(paired.minimum_detectable_effect).into(),
            p_value(paired.p_value).into(),
        ]);
    }
    table
}

fn judged(diff: &Diff) -> Vec<(&str, &PairedSummary)> {
    let graders = diff.graders.0.iter().map(|(name, grader)| (name.as_str(), &grader.paired));
    graders.filter(|(_, paired)| paired.n > 0).collect()
}

/// Whether the means of a grader are its pass rates.
pub(super) fn is_pass_fail(paired: &PairedSummary) -> bool {
    paired.mean_before == paired.pass_rate_before && paired.mean_now == paired.pass_rate_now
}

fn means_of(paired: &PairedSummary) -> Text {
    [paired.mean_before, paired.mean_now].map(score_or_dash).join(" → ").into()
}

fn rates_of(paired: &PairedSummary) -> Text {
    [paired.pass_rate_before, paired.pass_rate_now].map(percent).join(" → ").into()
}

/// A difference and its interval: `+0.100 [-0.237, +0.370]`; with one decimal, of shares in points.
pub(super) fn change(
    difference: Option<f64>,
    interval: Option<(f64, f64)>,
    decimals: usize,
) -> Text {
    let scale = if decimals == 1 { 100.0 } else { 1.0 };
    let shown = |value: f64| signed(value * scale, decimals);
    let bounds = interval.map(|(low, high)| format!(" [{}, {}]", shown(low), shown(high)));
    let difference = difference.map_or_else(|| "-".to_owned(), shown);
    (difference + &bounds.unwrap_or_default()).into()
}
