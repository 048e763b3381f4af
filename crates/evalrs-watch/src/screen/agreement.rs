//! How far a grader agrees with people, as the first thing that is read.

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::theme::{STRONG, Theme};
use crate::board::MetricRow;
use evalrs_base::text::{cut, grouped, percent};
use evalrs_metrics::metric::label_change::AgreementChange;
use evalrs_metrics::metric::labels::LabelAgreement;

/// The most columns of a grader's name.
const GRADER: usize = 20;

/// The agreement of a grader, ever shorter; it is named if there are others. Of a preview only the cases count that are
/// judged both times, and the line says so.
pub(super) fn headlines(metric: &MetricRow, is_named: bool, theme: Theme) -> Vec<Line<'static>> {
    let name = if is_named { cut(&metric.label, GRADER) + " " } else { String::new() };
    (0..5).map(|shorter| headline(metric, &name, shorter, theme)).collect()
}

fn headline(metric: &MetricRow, name: &str, shorter: usize, theme: Theme) -> Line<'static> {
    let labels = metric.labels.unwrap_or_default();
    let change = metric.labels_since_last;
    let now = change.map_or(labels, |change| change.now);
    let style = change.map_or(Style::new(), |change| direction(&change, theme));
    let word = change.map_or("agrees", |change| direction_word(&change));
    let mut line = Line::from(Span::styled(format!("{name}{word} "), STRONG.patch(style)));
    let gap = if shorter == 0 { "   " } else { "  " };
    let mut parts = vec![
        was(percent(now.accuracy), change.map(|of| percent(of.before.accuracy)), shorter),
        format!("kappa {}", was(kappa(&now), change.map(|of| kappa(&of.before)), shorter)),
    ];
    let number = |of: fn(&LabelAgreement) -> usize| {
        let by = change.map_or(0, |change| change.more(of));
        let by = if by == 0 { String::new() } else { format!(" ({by:+})") };
        format!("{}{by}", grouped(of(&now) as u64))
    };
    parts.push(format!("false passes {}", number(|of| of.false_pass)));
    parts.push(format!("false fails {}", number(|of| of.false_fail)));
    parts.truncate([4, 4, 4, 3, 1][shorter]);
    // What holds however much was edited is left out last.
    let held_out = metric.held_out.filter(|_| shorter < 4);
    let held_out = held_out.map(|told| match shorter {
        0 => format!("held out {}", told.shown()),
        _ => format!("held out {}", told.shown_short()),
    });
    parts.splice(1..1, held_out);
    line.push_span(Span::styled(parts.join(gap), style));
    if let Some(note) = partial(&labels, change.as_ref()) {
        line.push_span(Span::styled(format!("{gap}{note}"), theme.doubtful()));
    }
    line
}

/// `46.7% (was 60.0%)`; what did not change is not said twice.
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

fn direction(change: &AgreementChange, theme: Theme) -> Style {
    match change.by() {
        Some(by) if by > 0.0 => theme.good(),
        Some(by) if by < 0.0 => theme.bad(),
        _ => Style::new(),
    }
}

fn direction_word(change: &AgreementChange) -> &'static str {
    match change.by() {
        Some(by) if by > 0.0 => "▲ agrees more",
        Some(by) if by < 0.0 => "▼ agrees less",
        _ => "= agrees",
    }
}

/// Kappa in two digits; `-` where it is not defined.
pub(super) fn kappa(labels: &LabelAgreement) -> String {
    // What is rounded to nothing has no sign.
    labels.kappa.map_or_else(|| "-".to_owned(), |kappa| format!("{:.2}", rounded(kappa)))
}

fn rounded(kappa: f64) -> f64 {
    (kappa * 100.0).round() / 100.0 + 0.0
}
