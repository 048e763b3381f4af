//! How far a grader agrees with people, as the first thing that is read.

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::paint::grader_name;
use super::theme::{STRONG, Theme};
use crate::board::MetricRow;
use evalrs_base::text::{grouped, percent};
use evalrs_metrics::metric::label_change::AgreementChange;
use evalrs_metrics::metric::labels::LabelAgreement;

/// The most columns of a grader's name.
const GRADER: usize = 20;

/// The agreement of a grader, ever shorter; it is named if there are others. Of a preview only the cases count that are
/// judged both times, and the line says so.
pub(super) fn headlines(metric: &MetricRow, is_named: bool, theme: Theme) -> [Line<'static>; 5] {
    let name = if is_named { grader_name(&metric.label, GRADER) + " " } else { String::new() };
    [0, 1, 2, 3, 4].map(|shorter| headline(metric, &name, shorter, theme))
}

fn headline(metric: &MetricRow, name: &str, shorter: usize, theme: Theme) -> Line<'static> {
    let labels = metric.labels.unwrap_or_default();
    let change = metric.labels_since_last;
    let now = change.map_or(labels, |change| change.now);
    let (word, style) = match change {
        None => ("agrees", Style::new()),
        Some(change) => direction(&change, theme),
    };
    let mut line = Line::from(Span::styled(format!("{name}{word} "), STRONG.patch(style)));
    let gap = if shorter == 0 { "   " } else { "  " };
    let number = |of: fn(&LabelAgreement) -> usize| {
        let by = change.map_or(0, |change| change.more(of));
        let by = if by == 0 { String::new() } else { format!(" ({by:+})") };
        format!("{}{by}", grouped(of(&now) as u64))
    };
    let mut parts = vec![
        was(percent(now.accuracy), change.map(|of| percent(of.before.accuracy)), shorter),
        format!("kappa {}", was(kappa(&now), change.map(|of| kappa(&of.before)), shorter)),
        format!("false passes {}", number(|of| of.false_pass)),
        format!("false fails {}", number(|of| of.false_fail)),
    ];
    parts.truncate([4, 4, 4, 3, 1][shorter]);
    // What holds however much was edited is left out last.
    if let Some(told) = metric.held_out.filter(|_| shorter < 4) {
        let shown = if shorter == 0 { told.shown() } else { told.shown_short() };
        parts.insert(1, format!("held out {shown}"));
    }
    line.push_span(Span::styled(parts.join(gap), style));
    if let Some(note) = partial(&labels, change.as_ref()) {
        line.push_span(Span::styled(format!("{gap}{note}"), theme.doubtful()));
    }
    line
}

/// `46.7% (was 60.0%)`; an unchanged value is not repeated.
fn was(now: String, before: Option<String>, shorter: usize) -> String {
    match before {
        Some(before) if before != now && shorter < 2 => format!("{now} (was {before})"),
        _ => now,
    }
}

/// Whether only some of the labels are compared.
fn partial(labels: &LabelAgreement, change: Option<&AgreementChange>) -> Option<String> {
    let all = labels.n + labels.without_verdict;
    let compared = change.map_or(labels.n, |change| change.n);
    let of = || format!("on {} of {} labels", grouped(compared as u64), grouped(all as u64));
    (compared < all).then(of)
}

fn direction(change: &AgreementChange, theme: Theme) -> (&'static str, Style) {
    match change.by() {
        Some(by) if by > 0.0 => ("▲ agrees more", theme.good()),
        Some(by) if by < 0.0 => ("▼ agrees less", theme.bad()),
        _ => ("= agrees", Style::new()),
    }
}

/// Kappa in two digits; `-` where it is not defined.
pub(super) fn kappa(labels: &LabelAgreement) -> String {
    let Some(kappa) = labels.kappa else { return "-".to_owned() };
    // What is rounded to nothing has no sign.
    format!("{:.2}", (kappa * 100.0).round() / 100.0 + 0.0)
}

/// Kappa and its 95 % interval.
pub(super) fn kappa_within(labels: &LabelAgreement) -> String {
    let interval = labels.kappa_interval;
    let interval =
        interval.map_or_else(String::new, |(low, high)| format!(" ({low:.2} to {high:.2})"));
    kappa(labels) + &interval
}

/// How far a share of verdicts that agree moved, in percentage points.
pub(super) fn points(by: Option<f64>, theme: Theme) -> Line<'static> {
    signed(by, theme, |by| format!("{:+.1}", by * 100.0))
}

/// A change for the better or for the worse.
pub(super) fn signed(by: Option<f64>, theme: Theme, text: fn(f64) -> String) -> Line<'static> {
    const NOTHING: f64 = 0.000_5;
    match by {
        None => Span::styled("-", theme.faint()).into(),
        Some(by) if by.abs() < NOTHING => Span::styled("=", theme.faint()).into(),
        Some(by) if by > 0.0 => Span::styled(format!("▲ {}", text(by)), theme.good()).into(),
        Some(by) => Span::styled(format!("▼ {}", text(by)), theme.bad()).into(),
    }
}

/// How many of its results a grader has judged.
pub(super) fn judged_of_all(metric: &MetricRow) -> String {
    format!("{}/{}", grouped(metric.judged as u64), grouped(metric.total as u64))
}
