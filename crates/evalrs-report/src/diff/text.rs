//! A comparison for a terminal. Texts of samples and judges are made harmless and shortened; `--json` has all of them.

use std::io::{self, Write};

use serde_json::Value;

use super::words::{
    CONTEXT, NAME, Rationales, case_label, files, grade, has_trials, long_change, methods,
    not_compared, rationales, regressions, tally, word,
};
use super::{agreement_words, declared_words, tables};
use crate::terminal_page::{BAD, DOUBTFUL, GOOD, TITLE, faint, paragraphs, title, write_sections};
use crate::verdict;
use evalrs_base::text::table::{TableCell, lines, words};
use evalrs_base::text::word_diff::{render, word_diff};
use evalrs_base::text::{count, cut, sanitize, wrapped};
use evalrs_metrics::diff::{Diff, SettingChange, SideName, VerdictMove};
use evalrs_metrics::gate::GateReport;
use evalrs_metrics::metric::label_change::AgreementMove;
use evalrs_model::delta::Movement;

/// How many settings that differ are shown.
const SETTINGS: usize = 20;

/// The lines of a rationale that stands alone.
const LINES: usize = 2;

/// The digits of a digest that are shown.
const DIGITS: usize = 12;

/// Writes the comparison with at most `most` verdicts that moved, for a terminal of `width` columns.
pub fn write(diff: &Diff, most: usize, width: usize, out: &mut dyn Write) -> io::Result<()> {
    let methods = methods(diff).map(|methods| faint(&cut(&methods, width)));
    let scores = tables::scores(diff).lines(width);
    let declared = tables::declared_lines(diff, width);
    let sections = [
        head(diff, width),
        settings(diff, width),
        tables::agreement(diff).lines(width),
        tables::kappa(diff).lines(width),
        paragraphs(agreement_words::remarks(diff), width),
        scores.into_iter().chain(methods).collect(),
        tables::passes(diff).lines(width),
        declared.into_iter().chain(paragraphs(declared_words::remarks(diff), width)).collect(),
        paragraphs(regressions(diff), width),
        paragraphs(not_compared(diff), width),
        moved(diff, most, width),
    ];
    write_sections(sections, out)
}

fn head(diff: &Diff, width: usize) -> Vec<String> {
    let suite = if diff.before.suite == diff.now.suite {
        sanitize(&diff.now.suite)
    } else {
        format!("{} and {}", sanitize(&diff.before.suite), sanitize(&diff.now.suite))
    };
    let heading = cut(&suite, width.saturating_sub("diff  ".len()));
    let row = |side: &str, name: &SideName, gate: &GateReport| {
        let mut notes = vec![verdict::word(gate).to_owned()];
        if !name.complete {
            notes.push("not every grade is known".to_owned());
        }
        let finding = verdict::finding(gate);
        notes.extend((!finding.is_empty()).then_some(finding));
        if !name.files.is_empty() {
            notes.push(format!("after an edit of {}", name.files.join(", ")));
        }
        let at = name.at.as_deref().unwrap_or("-");
        let cells = [title(side), words(&name.reference()), words(at)];
        cells.into_iter().chain([words(&notes.join("; "))]).collect::<Vec<TableCell>>()
    };
    let rows = [row("old", &diff.before, &diff.gate.before), row("new", &diff.now, &diff.gate.now)];
    let mut shown = vec![format!("{TITLE}diff{TITLE:#}  {heading}"), String::new()];
    shown.extend(lines(&rows, width));
    shown
}

fn settings(diff: &Diff, width: usize) -> Vec<String> {
    let mut shown = Vec::new();
    let mut changes = diff.settings.iter();
    while shown.len() < SETTINGS
        && let Some(change) = changes.next()
    {
        shown.extend(setting(change, width));
    }
    let rest = changes.len();
    shown.extend((rest > 0).then(|| faint(&format!("{} more", count(rest, "setting")))));
    shown.extend(paragraphs(files(diff), width));
    shown
}

fn setting(change: &SettingChange, width: usize) -> Vec<String> {
    let path = cut(&change.path, NAME.min(width / 2));
    if let Some(changed) = long_change(change, width.saturating_sub(2)) {
        let changed = changed.iter().map(|line| format!("  {line}"));
        return std::iter::once(format!("{TITLE}{path}{TITLE:#}")).chain(changed).collect();
    }
    let text = |value: &Option<Value>| match value {
        None | Some(Value::Null) => "(absent)".to_owned(),
        Some(Value::String(text)) if change.path.ends_with(".blake3") => {
            text.chars().take(DIGITS).collect()
        }
        Some(value) => value.to_string(),
    };
    let room = width.saturating_sub(path.len() + 2);
    let values = format!("{} → {}", text(&change.before), text(&change.now));
    vec![format!("{TITLE}{path}{TITLE:#}  {}", cut(&values, room))]
}

fn moved(diff: &Diff, most: usize, width: usize) -> Vec<String> {
    let mut shown = vec![format!("{TITLE}{}{TITLE:#}", cut(&tally(diff), width))];
    let trials = has_trials(diff);
    for moved in diff.moved.iter().take(most) {
        shown.extend(verdict_lines(moved, trials, width));
    }
    let rest = diff.moved.len().saturating_sub(most);
    if rest > 0 {
        shown.push(faint(&cut(&format!("{rest} more: --moved {}, or --json", most + rest), width)));
    }
    shown
}

fn verdict_lines(moved: &VerdictMove, trials: bool, width: usize) -> Vec<String> {
    let style = match (moved.against_people(), moved.movement) {
        (Some(AgreementMove::NowAgrees), _) | (None, Movement::Fixed | Movement::Raised) => GOOD,
        (Some(AgreementMove::NoLongerAgrees), _) | (None, Movement::Broken | Movement::Lowered) => {
            BAD
        }
        _ => DOUBTFUL,
    };
    let name = case_label(&moved.case, trials);
    let scores = format!("{} → {}", grade(&moved.before), grade(&moved.now));
    let scores = match agreement_words::word(moved) {
        "" => scores,
        against_people => format!("{scores}  {against_people}"),
    };
    let room = width.saturating_sub(10 + 2 + scores.len()) / 2;
    let [name, grader] = [name, moved.grader.clone()].map(|text| cut(&text, room.min(NAME)));
    let movement = word(moved.movement);
    let mut shown = vec![format!("{style}{movement:<8}{style:#}  {name}  {grader}  {scores}")];
    shown.extend(
        rationale_lines(moved, width.saturating_sub(2)).iter().map(|line| format!("  {line}")),
    );
    shown
}

/// What changed in the judge's words; of words that are known on one side only, their beginning.
fn rationale_lines(moved: &VerdictMove, width: usize) -> Vec<String> {
    let alone = |text: String| -> Vec<String> {
        let text = cut(&text, width * LINES);
        wrapped(&text, width).iter().map(|line| faint(line)).collect()
    };
    match rationales(moved) {
        Rationales::Unknown => Vec::new(),
        Rationales::One(text) => alone(text),
        Rationales::Both(before, now) => render(&word_diff(before, now), width, CONTEXT),
    }
}
