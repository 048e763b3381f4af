//! The columns of the table of graders that say how far each agrees with people, and how that changed.

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::agreement::{kappa, points, signed};
use super::paint::TableColumn;
use super::theme::{STRONG, Theme};
use crate::board::MetricRow;
use evalrs_base::text::{grouped, percent};
use evalrs_metrics::metric::label_change::AgreementChange;
use evalrs_metrics::metric::labels::LabelAgreement;

/// The ranks that the columns of agreement take, all but the last: other columns come after them.
pub(super) const RANKS: u8 = 6;

const SINCE_START: &str = "since start";

/// The columns, of which those that matter most have the lowest ranks. What changed since the start is told once it is
/// something else than what changed since the last save.
pub(super) fn all(metrics: &[MetricRow]) -> Vec<TableColumn<MetricRow>> {
    let has_start =
        metrics.iter().any(|metric| metric.labels_since_start != metric.labels_since_last);
    let mut columns = vec![
        TableColumn::number("agrees", 6, 1, |metric: &MetricRow, _, _| {
            let share = metric.labels.and_then(|labels| labels.accuracy);
            Span::styled(percent(share), STRONG).into()
        }),
        TableColumn::number("since last", 10, 2, |metric, _, theme| {
            points(metric.labels_since_last.and_then(|change| change.by()), theme)
        }),
        TableColumn::number(SINCE_START, 11, 5, |metric, _, theme| {
            points(metric.labels_since_start.and_then(|change| change.by()), theme)
        }),
        TableColumn::number("kappa", 5, 3, |metric, _, _| {
            metric.labels.map_or_else(|| "-".to_owned(), |labels| kappa(&labels)).into()
        }),
        TableColumn::number("since last", 10, 6, |metric, _, theme| {
            kappa_change(metric.labels_since_last.as_ref(), theme)
        }),
        TableColumn::number(SINCE_START, 11, 17, |metric, _, theme| {
            kappa_change(metric.labels_since_start.as_ref(), theme)
        }),
        TableColumn::number("false passes", 12, 4, |metric, _, theme| {
            number(metric, |of| of.false_pass, theme)
        }),
        TableColumn::number(SINCE_START, 11, 18, |metric, _, theme| {
            more(metric, |of| of.false_pass, theme)
        }),
        TableColumn::number("false fails", 11, 5, |metric, _, theme| {
            number(metric, |of| of.false_fail, theme)
        }),
        TableColumn::number(SINCE_START, 11, 19, |metric, _, theme| {
            more(metric, |of| of.false_fail, theme)
        }),
    ];
    columns.retain(|column| has_start || column.title != SINCE_START);
    columns
}

/// How many more or fewer verdicts are wrong in one way than when the session began.
fn more(metric: &MetricRow, of: fn(&LabelAgreement) -> usize, theme: Theme) -> Line<'static> {
    match metric.labels_since_start.map(|change| change.more(of)) {
        None => Span::styled("-", theme.faint()).into(),
        Some(0) => Span::styled("=", theme.faint()).into(),
        Some(by) => Span::styled(format!("{by:+}"), worse(by > 0, theme)).into(),
    }
}

fn worse(is_worse: bool, theme: Theme) -> Style {
    if is_worse { theme.bad() } else { theme.good() }
}

fn kappa_change(change: Option<&AgreementChange>, theme: Theme) -> Line<'static> {
    let by = change.and_then(|change| Some(change.now.kappa? - change.before.kappa?));
    signed(by, theme, |by| format!("{by:+.2}"))
}

/// How many verdicts are wrong in one way, and how many more or fewer they are than before.
fn number(metric: &MetricRow, of: fn(&LabelAgreement) -> usize, theme: Theme) -> Line<'static> {
    let Some(labels) = metric.labels else { return "-".into() };
    let mut line = Line::from(grouped(of(&labels) as u64));
    let by = metric.labels_since_last.map_or(0, |change| change.more(of));
    if by != 0 {
        line.push_span(Span::styled(format!(" ({by:+})"), worse(by > 0, theme)));
    }
    line
}
