//! The columns of the table of graders that say how far each agrees with people, and how that changed.

use ratatui::text::{Line, Span};

use super::agreement::kappa;
use super::paint::TableColumn;
use super::theme::{STRONG, Theme};
use crate::board::MetricRow;
use evalrs_base::text::{grouped, percent};
use evalrs_metrics::metric::label_change::AgreementChange;
use evalrs_metrics::metric::labels::LabelAgreement;

/// The ranks that the columns of agreement take, all but the last: other columns come after them.
pub(super) const RANKS: u8 = 6;

/// The columns, of which those that matter most have the lowest ranks. What changed since the start is told once it is
/// something else than what changed since the last save.
pub(super) fn all(metrics: &[MetricRow]) -> Vec<TableColumn<MetricRow>> {
    let differs = |metric: &MetricRow| metric.labels_since_start != metric.labels_since_last;
    let has_start = metrics.iter().any(differs);
    let mut columns = vec![
        TableColumn::number("agrees", 6, 1, |metric: &MetricRow, _, _| {
            let share = metric.labels.and_then(|labels| labels.accuracy);
            Span::styled(percent(share), STRONG).into()
        }),
        TableColumn::number("since last", 10, 2, |metric, _, theme| {
            points(metric.labels_since_last.as_ref(), theme)
        }),
    ];
    columns.extend(has_start.then(|| {
        since_start(5, |metric, _, theme| points(metric.labels_since_start.as_ref(), theme))
    }));
    columns.push(TableColumn::number("kappa", 5, 3, |metric, _, _| {
        metric.labels.map_or_else(|| "-".to_owned(), |labels| kappa(&labels)).into()
    }));
    columns.push(TableColumn::number("since last", 10, 6, |metric, _, theme| {
        kappa_change(metric.labels_since_last.as_ref(), theme)
    }));
    columns.extend(has_start.then(|| {
        since_start(17, |metric, _, theme| kappa_change(metric.labels_since_start.as_ref(), theme))
    }));
    columns.push(TableColumn::number("false passes", 12, 4, |metric, _, theme| {
        number(metric, |of| of.false_pass, theme)
    }));
    columns.extend(
        has_start
            .then(|| since_start(18, |metric, _, theme| more(metric, |of| of.false_pass, theme))),
    );
    columns.push(TableColumn::number("false fails", 11, 5, |metric, _, theme| {
        number(metric, |of| of.false_fail, theme)
    }));
    columns.extend(
        has_start
            .then(|| since_start(19, |metric, _, theme| more(metric, |of| of.false_fail, theme))),
    );
    columns
}

fn since_start(
    rank: u8,
    cell: fn(&MetricRow, usize, Theme) -> Line<'static>,
) -> TableColumn<MetricRow> {
    TableColumn::number("since start", 11, rank, cell)
}

/// How many more or fewer verdicts are wrong in one way than when the session began.
fn more(metric: &MetricRow, of: fn(&LabelAgreement) -> usize, theme: Theme) -> Line<'static> {
    let change = metric.labels_since_start;
    match change.map(|change| change.more(of)) {
        None => Span::styled("-", theme.faint()).into(),
        Some(0) => Span::styled("=", theme.faint()).into(),
        Some(by) if by > 0 => Span::styled(format!("{by:+}"), theme.bad()).into(),
        Some(by) => Span::styled(format!("{by:+}"), theme.good()).into(),
    }
}

/// How far the share of verdicts that agree moved, in percentage points.
fn points(change: Option<&AgreementChange>, theme: Theme) -> Line<'static> {
    signed(change.and_then(AgreementChange::by), theme, |by| format!("{:+.1}", by * 100.0))
}

fn kappa_change(change: Option<&AgreementChange>, theme: Theme) -> Line<'static> {
    let by = change.and_then(|change| Some(change.now.kappa? - change.before.kappa?));
    signed(by, theme, |by| format!("{by:+.2}"))
}

fn signed(by: Option<f64>, theme: Theme, text: fn(f64) -> String) -> Line<'static> {
    const NOTHING: f64 = 0.000_5;
    match by {
        None => Span::styled("-", theme.faint()).into(),
        Some(by) if by.abs() < NOTHING => Span::styled("=", theme.faint()).into(),
        Some(by) if by > 0.0 => Span::styled(format!("▲ {}", text(by)), theme.good()).into(),
        Some(by) => Span::styled(format!("▼ {}", text(by)), theme.bad()).into(),
    }
}

/// How many verdicts are wrong in one way, and how many more or fewer they are than before.
fn number(metric: &MetricRow, of: fn(&LabelAgreement) -> usize, theme: Theme) -> Line<'static> {
    let Some(labels) = metric.labels else { return "-".into() };
    let mut line = Line::from(grouped(of(&labels) as u64));
    let change = metric.labels_since_last;
    let by = change.map_or(0, |change| change.more(of));
    if by != 0 {
        let style = if by > 0 { theme.bad() } else { theme.good() };
        line.push_span(Span::styled(format!(" ({by:+})"), style));
    }
    line
}

/// Kappa and its 95 % interval.
pub(super) fn kappa_within(labels: &LabelAgreement) -> String {
    let interval = labels.kappa_interval;
    let interval =
        interval.map_or_else(String::new, |(low, high)| format!(" ({low:.2} to {high:.2})"));
    kappa(labels) + &interval
}
