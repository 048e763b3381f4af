//! The verdicts that moved, and what changed in the words of their judges.

use super::graders::is_pass_fail;
use super::names::case_label;
use crate::movement::{scores, word};
use crate::page::{Block, Column, Page, Table, Text, changed, faint, quoted, strong, text};
use evalrs_base::text::{count, cut};
use evalrs_eval::grade::is_bare_mismatch;
use evalrs_metrics::diff::{Diff, MovedGrade, VerdictMove};
use evalrs_metrics::metric::label_change::AgreementMove;

/// The columns that a rationale takes which stands alone.
const RATIONALE: usize = 150;

/// Adds the first of them.
pub(super) fn add(diff: &Diff, most: usize, trials: bool, page: &mut Page) {
    let mut table = Table::new([
        Column::names(""),
        Column::names("sample"),
        Column::names("grader"),
        Column::numbers("old → new"),
        Column::words("label"),
        Column::words("call"),
    ]);
    // A grader that knows nothing but passes and fails has no scores to show.
    let is_plain = |moved: &VerdictMove| {
        let found = diff.graders.get(&moved.grader);
        found.is_some_and(|found| found.paired.n > 0 && is_pass_fail(&found.paired))
    };
    for moved in diff.moved.iter().take(most) {
        let score = |grade: &MovedGrade| (!grade.error).then_some(grade.score);
        let agrees = moved.against_people().map(|moved| moved == AgreementMove::NowAgrees);
        table.row([
            word(moved.movement, agrees),
            case_label(&moved.case, trials),
            quoted(&moved.grader),
            if is_plain(moved) {
                Text::default()
            } else {
                scores([&moved.before, &moved.now].map(score))
            },
            match agrees {
                Some(true) => "now agrees".into(),
                Some(false) => "no longer agrees".into(),
                None => Text::default(),
            },
            if moved.is_repeated() { "repeated".into() } else { Text::default() },
        ]);
        let rationale = rationale(moved);
        if !(rationale.is_empty() || is_plain(moved) && only_compares(moved)) {
            table.below(rationale);
        }
    }
    let all = diff.moved.len();
    let rest = all.saturating_sub(most);
    if rest > 0 {
        let option = quoted(&format!("--moved {all}"));
        table.note(text![faint(&format!("{rest} more: ")), option]);
    }
    let summary = strong(&format!("{} moved", count(all, "verdict")));
    page.add(Block::Fold(summary, vec![Block::Table(table.without_empty_columns())]));
}

/// Whether its rationales say that an answer is the expected one and that it is not, and nothing else.
fn only_compares(moved: &VerdictMove) -> bool {
    let both = [&moved.before.rationale, &moved.now.rationale];
    both.into_iter().flatten().any(|rationale| is_bare_mismatch(rationale))
}

/// What changed in the judge's words; of words that are known on one side only, their beginning.
fn rationale(moved: &VerdictMove) -> Text {
    let alone = |side: &str, text: &str| text![faint(side), quoted(&cut(text, RATIONALE))];
    match (&moved.before.rationale, &moved.now.rationale) {
        (Some(before), Some(now)) => changed(before, now),
        (Some(before), None) => alone("old: ", before),
        (None, Some(now)) => alone("new: ", now),
        (None, None) => Text::default(),
    }
}
