//! The columns of the list: which there are at which width, and what a row says in each.

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::list_title::ListContext;
use super::paint::{TableColumn, grader_name, span};
use super::theme::{Theme, label};
use crate::board::{HiddenLabel, RowText, VerdictFilter, VerdictRow};
use crate::list_query::ListOrder;
use evalrs_base::text::{columns, cut, cut_middle, grouped, sanitize, score};
use evalrs_metrics::metric::label_change::AgreementMove;
use evalrs_model::delta::{Cell, Movement};
use evalrs_model::spec::LabelPick;

/// The most columns of a sample's id, a model, a grader.
const SAMPLE: usize = 48;
const MODEL: usize = 20;
const GRADER: usize = 20;

/// The fewest columns of a sample's id if verdicts are otherwise ambiguous, and the greatest rank of the distinguishing
/// columns.
const LEAST_SAMPLE: usize = 12;
const MAX_TELLING: u8 = 5;

/// The fewest columns in which a sample's id or a model is recognizable, and those in which a text is useful.
const MIN_SAMPLE: usize = 20;
const MIN_MODEL: usize = 10;
const MIN_TEXT: usize = 18;

/// The most columns of a text.
const TEXT: usize = 240;

/// The sign before the id of a pinned sample.
const PIN: &str = "★ ";

/// The sign before the label of a verdict on which reviewers disagree.
pub(super) const DISPUTED: &str = "⇄";

/// A verdict in the list, with the texts that its line shows.
#[derive(Clone, Debug)]
pub(super) struct ListedRow {
    pub row: VerdictRow,
    pub text: RowText,
    /// Why it is to be labelled, where those are listed that are.
    pub to_label: Option<LabelPick>,
}

/// The widest texts so far: columns grow, and never shrink while one scrolls.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ColumnWidths {
    sample: usize,
    model: usize,
    grader: usize,
}

impl ColumnWidths {
    /// Takes in rows that are seen.
    pub(super) fn grow<'r>(&mut self, rows: impl Iterator<Item = &'r ListedRow>) {
        let width = |text: &str, most: usize| columns(&sanitize(text)).min(most);
        for ListedRow { row, .. } in rows {
            let pin = if row.pinned { columns(PIN) } else { 0 };
            self.sample = self.sample.max(width(&row.sample_id, SAMPLE) + pin);
            self.grader = self.grader.max(width(&row.grader, GRADER));
            self.model = self.model.max(width(&model_and_trial(row), MODEL));
        }
    }

    /// All columns of a list of this width, the most telling ones with the lowest ranks. What moved tells most by how far, all
    /// others by what they are of.
    pub(super) fn columns(
        self,
        look: ListContext<'_>,
        width: usize,
    ) -> Vec<TableColumn<ListedRow>> {
        let all = self.columns_with(MIN_SAMPLE, look, width);
        // What tells verdicts apart matters more than the whole of an id.
        let of_rows = all.iter().filter(|column| column.rank() <= MAX_TELLING);
        if of_rows.map(TableColumn::taken).sum::<usize>() + 2 > width {
            return self.columns_with(LEAST_SAMPLE, look, width);
        }
        all
    }

    fn columns_with(
        self,
        min_sample: usize,
        look: ListContext<'_>,
        width: usize,
    ) -> Vec<TableColumn<ListedRow>> {
        let Self { sample, model, grader } = self;
        let has_labels = look.overview.has_labels();
        let is_of_moves = look.query.filter == VerdictFilter::Moved;
        let ranks = if is_of_moves { [6, 7, 8] } else { [7, 8, 6] };
        let [by_rank, moved_rank, text_rank] = ranks;
        let mut all = vec![TableColumn::text("", 3, 3, 0, verdict)];
        if look.overview.newest > 0 {
            let most = if has_labels { 16 } else { 8 };
            all.push(TableColumn::text("moved", 8, most, moved_rank, moved));
            all.push(TableColumn::number("before    now", 13, 2, scores));
            all.push(TableColumn::number("by", 6, by_rank, change));
        } else {
            all.push(TableColumn::number("score", 5, 2, scores));
        }
        if look.query.filter == VerdictFilter::ToLabel {
            all.push(TableColumn::text("why", 8, 9, 3, why));
        } else if has_labels {
            all.push(TableColumn::text("person", 6, 6, 3, person));
        }
        if look.query.order() == ListOrder::Length {
            all.push(TableColumn::number("length", 7, 2, length));
        }
        all.push(TableColumn::text("sample", sample.min(min_sample), sample, 1, sample_id));
        if model > 0 {
            let rank = if look.has_models { 4 } else { 9 };
            let least = model.min(MIN_MODEL);
            all.push(TableColumn::text("model", least, model, rank, |listed, width, theme| {
                Span::styled(cut_middle(&model_and_trial(&listed.row), width), theme.faint()).into()
            }));
        }
        if look.overview.metrics.len() > 1 && look.query.grader.is_none() {
            let grader = grader.min(width / 6);
            all.push(TableColumn::text("grader", grader, grader, 5, |listed, width, theme| {
                Span::styled(grader_name(&listed.row.grader, width), theme.faint()).into()
            }));
        }
        all.push(TableColumn::text("submission", MIN_TEXT, TEXT, text_rank, text));
        all
    }
}

/// What did not move says nothing.
fn is_told(row: &VerdictRow) -> bool {
    let is_quiet = [Movement::Same, Movement::Pending, Movement::NotApplicable];
    !is_quiet.contains(&row.movement)
}

/// The sign of the verdict, and that of its movement. An error has the same for both. Beside the label of a person colours
/// say whether the verdict agrees with it, not whether it passes.
fn verdict(ListedRow { row, .. }: &ListedRow, _: usize, theme: Theme) -> Line<'static> {
    let (sign, style) = theme.verdict(row.now, row.under_way);
    let style = match row.label.filter(|_| row.now.is_verdict() && !row.under_way) {
        Some(_) if row.disagrees => theme.bad(),
        Some(_) => theme.good(),
        None => style,
    };
    let (movement, _, moved) = movement_of(row, theme);
    let movement = if is_told(row) && row.movement != Movement::Errored { movement } else { "" };
    Line::from_iter([Span::styled(sign, style), Span::raw(" "), Span::styled(movement, moved)])
}

/// How the verdict moved against the label of a person, else by itself. What has a label and agrees or disagrees as before
/// moved neither for the better nor for the worse.
pub(super) fn movement_of(row: &VerdictRow, theme: Theme) -> (&'static str, &'static str, Style) {
    match row.agreement {
        Some(moved) => theme.agreement(moved),
        None if row.label.is_some() && row.now.is_verdict() => {
            theme.neutral().movement(row.movement)
        }
        None => theme.movement(row.movement),
    }
}

fn moved(ListedRow { row, .. }: &ListedRow, width: usize, theme: Theme) -> Line<'static> {
    let (_, word, style) = movement_of(row, theme);
    let short = match row.agreement {
        Some(AgreementMove::NowAgrees) => "agrees",
        Some(AgreementMove::NoLongerAgrees) => "differs",
        None => word,
    };
    let word = if columns(word) > width { short } else { word };
    Span::styled(if is_told(row) { word } else { "" }, style).into()
}

/// Old score and new one; the old one only where it is another.
fn scores(ListedRow { row, .. }: &ListedRow, _: usize, theme: Theme) -> Line<'static> {
    let number = |cell: Cell| match (cell.is_verdict(), cell.is_known()) {
        (true, _) => score(cell.score),
        (false, true) => "error".to_owned(),
        (false, false) => "-".to_owned(),
    };
    let before = row.before.filter(|before| before.is_known() && Some(row.now) != row.before);
    let before = before.map_or_else(String::new, |before| format!("{} → ", number(before)));
    Line::from_iter([
        Span::styled(before, theme.faint()),
        Span::raw(format!("{:>5}", number(row.now))),
    ])
}

fn change(ListedRow { row, .. }: &ListedRow, _: usize, theme: Theme) -> Line<'static> {
    let by = score_change(row).filter(|by| *by != 0.0);
    let text = by.map_or_else(String::new, |by| format!("{by:+.3}"));
    let theme = if row.label.is_some() { theme.neutral() } else { theme };
    Span::styled(text, theme.change(by).style).into()
}

fn length(ListedRow { text, .. }: &ListedRow, _: usize, theme: Theme) -> Line<'static> {
    let length = text.length.map_or_else(String::new, |length| grouped(length as u64));
    Span::styled(length, theme.faint()).into()
}

/// The beginning of the submission; of the input in brackets where there is none.
fn text(ListedRow { text, .. }: &ListedRow, width: usize, theme: Theme) -> Line<'static> {
    let beginning = if text.is_input && !text.beginning.is_empty() {
        format!("({})", cut(&text.beginning, width.saturating_sub(2)))
    } else {
        cut(&text.beginning, width)
    };
    span(&beginning, theme.faint()).into()
}

fn why(ListedRow { to_label, .. }: &ListedRow, _: usize, theme: Theme) -> Line<'static> {
    let why = match to_label {
        Some(LabelPick::Random) => "random",
        Some(LabelPick::Disagreement) => "disagree",
        Some(LabelPick::Threshold) => "threshold",
        Some(LabelPick::Chosen) | None => "",
    };
    Span::styled(why, theme.faint()).into()
}

fn person(ListedRow { row, .. }: &ListedRow, _: usize, theme: Theme) -> Line<'static> {
    let says = match row.hidden_label {
        Some(HiddenLabel::Stale) => return Span::styled("  old", theme.faint()).into(),
        Some(HiddenLabel::HeldOut) => return Span::styled("hidden", theme.faint()).into(),
        None => row.label.map(label).unwrap_or_default(),
    };
    let dispute = if row.dispute.is_empty() { " " } else { DISPUTED };
    let (sign, style) = match (row.disagrees, row.dispute.is_empty()) {
        (true, _) => ("≠", theme.bad()),
        (false, true) => (" ", theme.faint()),
        (false, false) => (" ", theme.doubtful()),
    };
    Span::styled(format!("{sign}{dispute}{says}"), style).into()
}

fn sample_id(ListedRow { row, .. }: &ListedRow, width: usize, theme: Theme) -> Line<'static> {
    let pin = Span::styled(if row.pinned { PIN } else { "" }, theme.accent());
    let id = cut_middle(&row.sample_id, width.saturating_sub(pin.width()));
    Line::from_iter([pin, Span::raw(id)])
}

/// By how much the score changed, where both are verdicts.
pub(super) fn score_change(row: &VerdictRow) -> Option<f64> {
    let before = row.before.filter(|before| before.is_verdict() && row.now.is_verdict());
    before.map(|before| row.now.score - before.score)
}

/// The model and, from the second one on, the trial.
pub(super) fn model_and_trial(row: &VerdictRow) -> String {
    let model = row.model.as_deref().map(sanitize).unwrap_or_default();
    if row.trial == 0 { model } else { format!("{model}#{}", row.trial + 1) }
}
