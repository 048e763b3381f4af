//! The title of the list: the filters, what narrows it, its order, and where in it one is; and what it says where it is empty.

use ratatui::text::{Line, Span};
use ratatui::widgets::Block;

use super::paint::panel;
use super::theme::{STRONG, Theme};
use crate::board::{Activity, Overview, VerdictFilter};
use crate::list_query::{ListOrder, ListQuery};
use evalrs_base::text::{cut, grouped};
use evalrs_metrics::metric::label_queue::narrowed;
use evalrs_metrics::metric::people::FEWEST_LABELS;

/// The most columns of a search, a tag or a grader.
const NARROWING: usize = 20;

/// The fewest columns in which there is room for every order.
const MIN_WITH_ORDER: u16 = 50;

/// The fewest columns beside what more labels would tell.
const MIN_BESIDE: usize = 44;

/// The labels that are spoken of as more.
const MORE: usize = 20;

/// What more random labels would tell of the first grader that has some: how much narrower the estimate of what people would pass
/// gets.
pub(super) fn more_labels(overview: &Overview) -> Option<String> {
    let people = overview.metrics.iter().find_map(|metric| metric.people)?;
    let labels = people.labels;
    let Some(rate) = people.pass_rate else {
        return Some(format!("{labels} of {FEWEST_LABELS} sampled labels"));
    };
    let half = 100.0 * (rate.interval.high - rate.interval.low) / 2.0;
    let then = narrowed(half, labels, MORE);
    Some(format!("{labels} sampled ±{half:.1} points; {MORE} more ±{then:.1}"))
}

/// Every filter with its key and its name, in the order of the tab key.
pub(super) static FILTERS: [(VerdictFilter, char, &str); 9] = [
    (VerdictFilter::Moved, 'm', "moved"),
    (VerdictFilter::Failing, 'f', "failing"),
    (VerdictFilter::Disagreeing, 'd', "disagree"),
    (VerdictFilter::FalsePass, 'P', "false pass"),
    (VerdictFilter::FalseFail, 'F', "false fail"),
    (VerdictFilter::Disputed, 'c', "disputed"),
    (VerdictFilter::ToLabel, 'L', "to label"),
    (VerdictFilter::Errors, 'E', "errors"),
    (VerdictFilter::All, 'a', "all"),
];

/// The filters that may list something, and the one of `now`: some do only where there are labels, or people differ.
pub(super) fn filters_of_use(
    now: VerdictFilter,
    overview: &Overview,
) -> impl Iterator<Item = &'static (VerdictFilter, char, &'static str)> {
    let has_labels = overview.has_labels();
    let has_disputes = overview.has_disputes();
    FILTERS.iter().filter(move |(filter, ..)| match filter {
        filter if *filter == now => true,
        VerdictFilter::FalsePass | VerdictFilter::FalseFail => has_labels,
        VerdictFilter::Disputed => has_disputes,
        _ => true,
    })
}

/// What the whole list has in common.
#[derive(Clone, Copy, Debug)]
pub(super) struct ListContext<'a> {
    pub overview: &'a Overview,
    /// What is listed now.
    pub query: &'a ListQuery,
    /// Whether samples are of several models.
    pub(super) has_models: bool,
    /// What more labels would tell, where those to label are listed.
    pub(super) more_labels: Option<&'a str>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct ListPlace {
    /// The line of the selected row, from 0; none while that is not listed.
    pub at: Option<usize>,
    pub all: usize,
}

impl ListPlace {
    fn shown(self) -> String {
        let all = grouped(self.all as u64);
        match self.at {
            _ if self.all == 0 => " 0 ".to_owned(),
            Some(at) => format!(" {} of {all} ", grouped(at as u64 + 1)),
            None => format!(" - of {all} "),
        }
    }
}

/// The filters on a line across, what narrows them, by what they are ordered, and which of how many rows is selected.
pub(super) fn list_panel(
    width: u16,
    look: ListContext<'_>,
    place: ListPlace,
    theme: Theme,
) -> Block<'static> {
    let narrowings = narrowings(look.query).into_iter();
    let mut parts: Vec<Span<'static>> = narrowings
        .map(|text| Span::styled(format!(" {} ", cut(&text, NARROWING)), theme.accent()))
        .collect();
    // There is room for it where the orders are left out.
    let more = look.more_labels.filter(|more| usize::from(width) >= more.len() + MIN_BESIDE);
    parts.extend(more.map(|more| Span::styled(format!(" {more} "), theme.accent())));
    let has_own = look.query.order.is_some() || look.query.is_reversed;
    let style = if has_own { theme.accent() } else { theme.faint() };
    // On the narrowest screens the order that a filter has by itself is not worth the filters.
    if has_own || (width >= MIN_WITH_ORDER && more.is_none()) {
        parts.push(Span::styled(order(look.query), style));
    }
    parts.push(Span::styled(place.shown(), theme.faint()));
    let across = Span::styled("─", theme.faint());
    let mut at_right = Line::default();
    for part in parts {
        if !at_right.spans.is_empty() {
            at_right.push_span(across.clone());
        }
        at_right.push_span(part);
    }
    let room = usize::from(width).saturating_sub(at_right.width() + 2);
    panel(width, false, tabs(look, room, theme), at_right, theme)
}

/// The filters of use in `room` columns: by their names as far as there is room, the others by their keys.
fn tabs(look: ListContext<'_>, room: usize, theme: Theme) -> Line<'static> {
    let filter = look.query.filter;
    let all: Vec<_> = filters_of_use(filter, look.overview).collect();
    let short = all.iter().map(|(of, _, name)| if *of == filter { name.len() } else { 1 } + 2);
    let mut left = room.saturating_sub(short.sum());
    let tabs = all.into_iter().map(|(of, key, name)| {
        if *of == filter {
            return Span::styled(format!("[{name}]"), STRONG.patch(theme.accent()));
        }
        let with_name = left.checked_sub(name.len() - 1);
        left = with_name.unwrap_or(left);
        let shown = if with_name.is_some() { format!(" {name} ") } else { format!(" {key} ") };
        Span::styled(shown, theme.faint())
    });
    tabs.collect()
}

fn order(query: &ListQuery) -> String {
    let reversed = if query.is_reversed { ", reversed" } else { "" };
    match query.order() {
        ListOrder::Dataset => format!(" dataset order{reversed} "),
        order => format!(" by {}{reversed} ", order.name()),
    }
}

/// What leaves only a part of the list.
fn narrowings(query: &ListQuery) -> Vec<String> {
    let search = (!query.search.is_empty()).then(|| format!("/{}", query.search));
    let tag = query.tag.as_ref().map(|tag| format!("tag {tag}"));
    let grader = query.grader.as_ref().map(|grader| format!("grader {grader}"));
    search.into_iter().chain(tag).chain(grader).collect()
}

/// Why nothing is listed.
pub(super) fn nothing(look: ListContext<'_>) -> String {
    let overview = look.overview;
    let narrowings: Vec<String> =
        narrowings(look.query).iter().map(|text| cut(text, NARROWING)).collect();
    if !narrowings.is_empty() {
        return format!("   nothing here matches {}; Esc shows all", narrowings.join(", "));
    }
    let is_open = overview.save == overview.newest
        && matches!(overview.state, Activity::Planning | Activity::Asking);
    let so_far = if is_open { " so far" } else { "" };
    format!("   {}{so_far}", nothing_of(look.query.filter, overview))
}

fn nothing_of(filter: VerdictFilter, overview: &Overview) -> &'static str {
    let has_labels = overview.has_labels();
    match filter {
        _ if overview.has_no_verdicts => "the verdicts of this save are not kept",
        VerdictFilter::Moved => "nothing moved",
        VerdictFilter::Failing => "nothing fails",
        VerdictFilter::Disagreeing if has_labels => "nothing disagrees with its label",
        VerdictFilter::FalsePass if has_labels => "no false passes",
        VerdictFilter::FalseFail if has_labels => "no false fails",
        VerdictFilter::Disagreeing | VerdictFilter::FalsePass | VerdictFilter::FalseFail => {
            "no row has a label"
        }
        VerdictFilter::Disputed => "no disputed labels",
        VerdictFilter::ToLabel => "every verdict of a judge has a label",
        VerdictFilter::Errors => "no errors",
        VerdictFilter::All => "no verdicts",
    }
}
