//! Which keys there are: those that matter now in the last line, all of them over the screen.

use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::detail::DetailView;
use super::paint::{Canvas, boxed, fitting, middle};
use super::theme::{STRONG, Theme};
use crate::board::{Activity, Overview, VerdictFilter};
use evalrs_base::text::{columns, cut, enumerated, sanitize};

/// All keys, by what they are for. An empty key is a title.
const KEYS: &[(&str, &str)] = &[
    ("", "judgments"),
    ("Enter", "resume: make the paused judgments"),
    ("N", "judge the next 200, then pause again"),
    ("r", "make the judgments of this verdict again"),
    ("p", "pin this sample: listed and judged first"),
    ("e", "open the rubric in an editor"),
    ("", "saves"),
    ("u", "show the previous save; again: go back"),
    ("[ ]", "show the save before, after"),
    ("D", "what the save changed in the rubric"),
    ("s", "list all saves"),
    ("Enter t", "in the list: show a save, revert to it"),
    ("", "labels"),
    ("y n", "label this answer pass, fail"),
    ("0 … 9", "a score: the digit, 0 for 10, or tenths"),
    ("!", "the top of a scale of tenths"),
    ("x", "remove your label"),
    ("space", "skip: the next one without a label"),
    ("L", "what to label next, and why"),
    ("", "verdicts"),
    ("j k ↓ ↑", "next, previous"),
    ("PgDn PgUp", "a page down, up"),
    ("g G Home End", "first, last"),
    ("m", "those that moved"),
    ("f", "those that fail"),
    ("d", "those that disagree with a label"),
    ("P", "false passes: label fail, verdict pass"),
    ("F", "false fails: label pass, verdict fail"),
    ("c", "disputed: reviewers disagree"),
    ("E", "errors"),
    ("a", "all"),
    ("Tab ⇧Tab", "next, previous of these"),
    ("/", "search id, grader, input, submission"),
    ("t", "those of samples with a tag"),
    ("b", "those of one grader"),
    ("Esc", "all again: no tag, grader, search"),
    ("o", "another order: movement, score, length …"),
    ("O", "reverse the order"),
    ("", "detail"),
    ("J K", "a line down, up"),
    ("^D ^U", "half a page down, up"),
    ("v l →", "detail alone; again: sent and replied"),
    ("h ← Esc", "back to list and detail"),
    ("", "signs"),
    ("✓ ✗ !", "passes, fails, error"),
    ("… ·", "being judged, not judged yet"),
    ("▲ ▼", "fixed, broken: the verdict is another"),
    ("△ ▽", "raised, lowered: the score is another"),
    ("≠", "disagrees with a human label"),
    ("⇄", "reviewers disagree"),
    ("colours", "with a label: whether the verdict agrees"),
    ("", ""),
    ("?", "this help"),
    ("q", "quit; finished judgments are cached"),
    ("^C", "interrupt"),
    ("^Z", "suspend; `fg` in the shell resumes"),
    ("mouse", "wheel scrolls, click selects, ⇧drag copies"),
];

/// The columns of the keys, and of both.
const KEY: usize = 14;
const WIDTH: u16 = 64;

/// Renders all keys in the middle of the area, from the line `offset` on. Returns the offset that was
/// possible.
pub(super) fn draw(canvas: &mut Canvas<'_>, area: Rect, offset: usize) -> usize {
    let theme = canvas.theme;
    let line = |(key, words): &(&str, &'static str)| {
        if key.is_empty() {
            return Line::styled(*words, STRONG.patch(theme.accent()));
        }
        let gap = " ".repeat(KEY.saturating_sub(columns(key)));
        Line::from_iter([Span::styled(format!(" {key}{gap}"), STRONG), Span::raw(*words)])
    };
    let height = KEYS.len() as u16 + 2;
    let place = middle(area, WIDTH, height);
    let offset = offset.min(usize::from(height.saturating_sub(place.height)));
    let scrolls = if place.height < height { "j k PgDn PgUp scroll, " } else { "" };
    let block = boxed(theme.accent())
        .title(" keys of evalrs watch ")
        .title_style(STRONG)
        .title_bottom(format!(" {scrolls}? or Esc closes "));
    let inner = canvas.over(place, block);
    canvas.render(Paragraph::new(KEYS[offset..].iter().map(line).collect::<Vec<_>>()), inner);
    offset
}

/// The search that is typed, in a line of `width` columns.
pub(super) fn search(search: &str, width: usize, theme: Theme) -> Line<'static> {
    const HINT: &str = "   Enter keeps it, Esc ends it";
    // The end of what is typed is seen, however long it is.
    let mut shown = sanitize(search);
    while columns(&shown) + 3 > width && !shown.is_empty() {
        shown.remove(0);
    }
    let mut line = Line::from_iter([
        Span::styled(" /", STRONG.patch(theme.accent())),
        Span::styled(shown, STRONG),
        Span::styled("▏", theme.accent()),
    ]);
    if line.width() + HINT.len() <= width {
        line.push_span(Span::styled(HINT, theme.faint()));
    }
    line
}

pub(super) fn menu(theme: Theme) -> Line<'static> {
    let mut line = Line::from(" ");
    for (key, word) in [("↑ ↓", "choose"), ("Enter", "list these"), ("Esc", "close")] {
        line.push_span(Span::styled(key, STRONG.patch(theme.accent())));
        line.push_span(Span::styled(format!(" {word}  "), theme.faint()));
    }
    line
}

/// What the last line has to know.
#[derive(Clone, Copy, Debug)]
pub(super) struct HelpState {
    pub(super) has_selection: bool,
    /// How much is seen of it.
    pub view: DetailView,
    pub filter: VerdictFilter,
    /// Whether only a part of what the filter lists is shown.
    pub is_narrowed: bool,
    pub(super) has_tags: bool,
    /// Whether the changes of a save in the rubric are shown instead of the detail.
    pub(super) shows_rubric: bool,
    /// Whether that has the place of the list too.
    pub(super) is_rubric_alone: bool,
}

/// The keys that matter now, as many as fit into `width` columns.
pub(super) fn footer(
    overview: &Overview,
    now: HelpState,
    width: usize,
    theme: Theme,
) -> Line<'static> {
    let is_held = matches!(overview.state, Activity::Paused { .. });
    let has_labels = overview.has_labels();
    let is_newest = overview.save == overview.newest;
    let has_saves = overview.newest > 0;
    let undo = if is_newest { "prev save" } else { "back" };
    let rubric = if now.shows_rubric { "detail" } else { "diff" };
    let has_list = now.view == DetailView::WithList && !now.is_rubric_alone;
    let more = match now.view {
        DetailView::WithList => "detail",
        DetailView::Alone => "as sent",
        DetailView::AsSent => "list",
    };
    let lists = |filter: VerdictFilter| has_list && now.filter != filter;
    let mut labels = overview.metrics.iter().filter_map(|metric| metric.labels);
    let has_false_passes = labels.clone().any(|labels| labels.false_pass > 0);
    let has_false_fails = labels.any(|labels| labels.false_fail > 0);
    let has_errors = overview.metrics.iter().any(|metric| metric.errors > 0);
    // Whether it matters, its rank, the key, what it does.
    let all = [
        (true, 0, "q", "quit"),
        (is_held, 1, "Enter", "the rest"),
        (overview.next_held().is_some(), 3, "N", "next 200"),
        (now.view == DetailView::Alone, 3, "h", "list"),
        (now.is_narrowed && has_list, 3, "Esc", "list all"),
        (now.has_selection && has_labels && is_newest, 4, "y n", "label"),
        (now.has_selection && has_labels && is_newest, 19, "space", "skip"),
        (!has_list, 5, "j k", "scroll"),
        (lists(VerdictFilter::Disagreeing) && has_labels, 3, "d", "disagree"),
        (lists(VerdictFilter::FalsePass) && has_false_passes, 17, "P", "false passes"),
        (lists(VerdictFilter::FalseFail) && has_false_fails, 18, "F", "false fails"),
        (lists(VerdictFilter::Disputed) && overview.has_disputes(), 18, "c", "disputed"),
        (lists(VerdictFilter::ToLabel) && is_newest, 11, "L", "to label"),
        (lists(VerdictFilter::Moved) && has_saves, 5, "m", "moved"),
        (lists(VerdictFilter::Failing), 4, "f", "failing"),
        (lists(VerdictFilter::Errors) && has_errors, 16, "E", "errors"),
        (lists(VerdictFilter::All), 5, "a", "all"),
        (has_list, 7, "/", "search"),
        (has_list && now.has_tags, 14, "t", "tag"),
        (has_list && overview.metrics.len() > 1, 15, "b", "grader"),
        (has_list, 13, "o", "order"),
        (now.has_selection && is_newest, 20, "p", "pin"),
        (has_saves, if is_newest { 10 } else { 2 }, "u", undo),
        (has_saves && !is_newest, 2, "[ ]", "before, after"),
        (has_saves, 9, "s", "saves"),
        (has_saves, 8, "D", rubric),
        (is_newest, 7, "e", "edit"),
        (now.has_selection && is_newest, 12, "r", "refresh"),
        (now.has_selection, if has_list { 6 } else { 3 }, "v", more),
        (true, 2, "?", "help"),
    ];
    let matter = all.into_iter().filter(|(matters, ..)| *matters);
    let matter = matter.map(|(_, rank, key, word)| FooterKey { rank, key, word });
    keys(matter.collect(), width, theme)
}

pub(super) fn saves_footer(
    selected: u32,
    overview: &Overview,
    width: usize,
    theme: Theme,
) -> Line<'static> {
    let graders = overview.metrics.len();
    let is_other = selected != overview.newest;
    let all = [
        (true, 0, "q", "quit"),
        (true, 1, "Enter", "show it"),
        (is_other, 1, "t", "revert to it"),
        (true, 3, "s", "close"),
        (true, 6, "[ ]", "before, after"),
        (true, 4, "J K", "scroll"),
        (graders > 1, 5, "Tab", "next grader"),
        (true, 2, "?", "help"),
    ];
    let matter = all.into_iter().filter(|(matters, ..)| *matters);
    let matter = matter.map(|(_, rank, key, word)| FooterKey { rank, key, word });
    keys(matter.collect(), width, theme)
}

/// Whether to write files as they were in a save.
pub(super) fn question(save: u32, files: &[String], width: usize, theme: Theme) -> Line<'static> {
    const ANSWERS: &str = "  y yes  n no";
    let was = if files.len() == 1 { "it was" } else { "they were" };
    let when = if save == 0 { "at the start".to_owned() } else { format!("in save {save}") };
    let end = format!(" as {was} {when}?");
    let room = width.saturating_sub(" write ".len() + columns(&end) + ANSWERS.len());
    let names = cut(&enumerated(files, "and"), room);
    Line::from_iter([
        Span::styled(format!(" write {names}{end}"), STRONG.patch(theme.doubtful())),
        Span::styled("  y", STRONG.patch(theme.accent())),
        Span::styled(" yes", theme.faint()),
        Span::styled("  n", STRONG.patch(theme.accent())),
        Span::styled(" no", theme.faint()),
    ])
}

#[derive(Clone, Copy, Debug)]
struct FooterKey {
    /// The greater, the earlier it is left out.
    rank: u8,
    key: &'static str,
    /// What it does.
    word: &'static str,
}

/// As many of the keys as fit into `width` columns.
fn keys(all: Vec<FooterKey>, width: usize, theme: Theme) -> Line<'static> {
    let mut line = Line::from(" ");
    let size = |of: &FooterKey| (of.key.len() + of.word.len() + 3, of.rank);
    for FooterKey { key, word, .. } in fitting(all, width, size) {
        let is_loud = key == "Enter" || key == "N" || word == "back";
        let style = if is_loud { theme.doubtful() } else { theme.accent() };
        line.push_span(Span::styled(key, STRONG.patch(style)));
        line.push_span(" ");
        line.push_span(Span::styled(word, if is_loud { STRONG } else { theme.faint() }));
        line.push_span("  ");
    }
    line
}
