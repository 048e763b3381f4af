//! What moved: how many verdicts in which way, and the first of them, each with what its rationale says otherwise.

use std::fmt::Write as _;

use anstyle::Style;

use super::metrics::signed;
use super::styles::faint;
use super::words::{INDENT, prose};
use crate::board::{Board, VerdictDetail, VerdictFilter, VerdictRow};
use crate::list_query::ListQuery;
use evalrs_base::text::table::{TableCell, lines as table_lines, number, words};
use evalrs_base::text::word_diff::{Piece, render, word_diff};
use evalrs_base::text::{count, cut, score};
use evalrs_metrics::metric::label_change::AgreementMove;
use evalrs_model::delta::{Cell as Grade, CellState, Movement, MovementCounts};
use evalrs_report::digest::case_name;
use evalrs_report::page::terminal::{BAD, DOUBTFUL, FAINT, GOOD};

const MAX_ROWS: usize = 20;

/// The most lines that a rationale takes.
const MAX_LINES: usize = 2;

/// How many words of what stayed the same stand around a change.
const CONTEXT: usize = 4;

/// The bytes of a rationale that are compared: two lines show the first difference, and it is near.
const COMPARED: usize = 8 * 1024;

/// The columns below which a row has no difference, and those below which it names no grader.
const WITHOUT_CHANGE: usize = 70;
const WITHOUT_GRADER: usize = 52;

/// The counts and the verdicts. Of the first evaluation only how many there are: nothing was before it.
pub(super) fn lines(board: &dyn Board, width: usize) -> Vec<String> {
    let overview = board.overview();
    if overview.save == 0 {
        return prose(&first_counts(&overview.counts), Style::new(), width);
    }
    let mut shown = prose(&counts(&overview.counts), Style::new(), width);
    let ids = board.rows(&ListQuery::of(VerdictFilter::Moved));
    let details: Vec<VerdictDetail> =
        ids.iter().take(MAX_ROWS).filter_map(|id| board.detail(*id)).collect();
    for (line, detail) in row_lines(&details, width).into_iter().zip(&details) {
        shown.push(line);
        let rationale = rationale_lines(detail, width.saturating_sub(INDENT.len() * 2));
        shown.extend(rationale.iter().map(|line| format!("{INDENT}{INDENT}{line}")));
    }
    if ids.len() > MAX_ROWS {
        shown.push(faint(&format!("… and {} more", ids.len() - MAX_ROWS)));
    }
    shown
}

fn first_counts(counts: &MovementCounts) -> String {
    let known = counts.moved() + counts.new + counts.unchanged;
    let pending = match counts.pending {
        0 => String::new(),
        pending => format!(", {pending} pending"),
    };
    format!("{}{pending}", count(known, "grade"))
}

/// `2 fixed, 1 broken, 3 raised, 1 lowered, 93 unchanged`.
pub(super) fn counts(counts: &MovementCounts) -> String {
    let all = [
        (counts.fixed, "fixed", "fixed"),
        (counts.broken, "broken", "broken"),
        (counts.errored, "became an error", "became errors"),
        (counts.answered, "error was answered", "errors were answered"),
        (counts.raised, "raised", "raised"),
        (counts.lowered, "lowered", "lowered"),
        (counts.new, "new", "new"),
        (counts.unchanged, "unchanged", "unchanged"),
        (counts.pending, "pending", "pending"),
        (counts.not_applicable, "not applicable", "not applicable"),
    ];
    let some = all.into_iter().filter(|(number, ..)| *number > 0);
    let some = some
        .map(|(number, one, many)| format!("{number} {}", if number == 1 { one } else { many }));
    let some = some.collect::<Vec<_>>().join(", ");
    match (counts.moved(), some.is_empty()) {
        (0, true) => "no verdict moved".to_owned(),
        (0, false) => format!("no verdict moved: {some}"),
        _ => some,
    }
}

/// A line a row: `broken  quality  gift-card  1.000 → 0.500  (-0.500)`.
fn row_lines(details: &[VerdictDetail], width: usize) -> Vec<String> {
    let trials = details.iter().any(|detail| detail.row.trial > 0);
    let rows = details.iter().map(|VerdictDetail { row, .. }| {
        let (name, style) = match row.agreement {
            Some(AgreementMove::NowAgrees) => ("now agrees", GOOD),
            Some(AgreementMove::NoLongerAgrees) => ("no longer agrees", BAD),
            None => movement(row.movement),
        };
        let mut cells = vec![words(name).styled(style)];
        if width >= WITHOUT_GRADER {
            cells.push(words(&row.grader));
        }
        cells.push(words(&case(row, trials)));
        let before = row.before.map_or_else(|| "-".to_owned(), grade);
        cells.push(number(format!("{before} → {}", grade(row.now))));
        if width >= WITHOUT_CHANGE {
            cells.push(change(row));
        }
        cells
    });
    table_lines(&rows.collect::<Vec<_>>(), width)
}

/// The name of what was graded.
pub(super) fn case(row: &VerdictRow, trials: bool) -> String {
    let pin = if row.pinned { "* " } else { "" };
    let trial = trials.then_some(row.trial);
    format!("{pin}{}", case_name(&row.sample_id, row.model.as_deref(), trial))
}

fn movement(movement: Movement) -> (&'static str, Style) {
    match movement {
        Movement::Broken => ("broken", BAD),
        Movement::Errored => ("errored", DOUBTFUL),
        Movement::Fixed => ("fixed", GOOD),
        Movement::Answered => ("answered", Style::new()),
        Movement::Lowered => ("lowered", Style::new()),
        Movement::Raised => ("raised", Style::new()),
        Movement::New => ("new", Style::new()),
        Movement::Same => ("same", Style::new()),
        Movement::Pending => ("pending", Style::new()),
        Movement::NotApplicable => ("not applicable", Style::new()),
    }
}

/// The verdict before, where both are verdicts.
fn verdict_before(row: &VerdictRow) -> Option<Grade> {
    row.before.filter(|before| before.is_verdict() && row.now.is_verdict())
}

/// The score of a verdict, or the word for what is not one.
fn grade(grade: Grade) -> String {
    match grade.state {
        CellState::Passed | CellState::Failed => score(grade.score),
        CellState::Errored => "error".to_owned(),
        CellState::Pending => "pending".to_owned(),
        CellState::Skipped => "skipped".to_owned(),
        CellState::NotApplicable => "not applicable".to_owned(),
    }
}

fn change(row: &VerdictRow) -> TableCell {
    let by = verdict_before(row).map(|before| signed(row.now.score - before.score));
    number(by.map_or_else(String::new, |by| format!("({by})"))).styled(FAINT)
}

/// What the rationale says otherwise than before, in a line or two. Of an error its message, for it has nothing in
/// common with what a judge said; nothing where the words are the same.
fn rationale_lines(detail: &VerdictDetail, width: usize) -> Vec<String> {
    let Some(now) = &detail.rationale else { return Vec::new() };
    let before = verdict_before(&detail.row).and(detail.rationale_before.as_deref());
    let Some(before) = before else {
        let line = cut(beginning(now), width);
        return if line.is_empty() { Vec::new() } else { vec![faint(&line)] };
    };
    let pieces = word_diff(beginning(before), beginning(now));
    let whole = render(&pieces, width, CONTEXT);
    if whole.len() <= MAX_LINES { whole } else { first_change(pieces, width) }
}

fn beginning(text: &str) -> &str {
    &text[..text.floor_char_boundary(COMPARED)]
}

/// The first change of many, each side of it cut to a line.
fn first_change(pieces: Vec<Piece>, width: usize) -> Vec<String> {
    let room = width.saturating_sub("[--] …".len());
    let is_change = |piece: &Piece| !matches!(piece, Piece::Same(_));
    let mut rest = pieces.into_iter().skip_while(|piece| !is_change(piece));
    let mut lines = Vec::new();
    for piece in rest.by_ref().take_while(is_change) {
        let shorter = match piece {
            Piece::Same(text) => Piece::Same(text),
            Piece::Removed(text) => Piece::Removed(cut(&text, room)),
            Piece::Added(text) => Piece::Added(cut(&text, room)),
        };
        lines.extend(render(&[shorter], width, 0));
    }
    lines.truncate(MAX_LINES);
    if rest.any(|piece| is_change(&piece))
        && let Some(last) = lines.last_mut()
    {
        let _ = write!(last, " {}", faint("…"));
    }
    lines
}
