//! A comparison as Markdown, for a comment on a pull request. What others wrote is shown as code.

use std::io::{self, Write};

use serde_json::Value;

use super::tables::ROWS;
use super::words::{
    CONTEXT, NAME, Rationales, case_label, files, grade, has_trials, long_change, methods,
    not_compared, rationales, regressions, tally, word,
};
use super::{agreement_words, declared_words, tables};
use crate::markdown_page::{MarkdownPage, code};
use crate::verdict;
use evalrs_base::text::cut;
use evalrs_base::text::word_diff::{render, word_diff};
use evalrs_metrics::diff::{Diff, SettingChange, VerdictMove};

/// The columns that a rationale may take.
const RATIONALE: usize = 200;

/// Writes the comparison with at most `most` verdicts that moved.
pub fn write(diff: &Diff, most: usize, out: &mut dyn Write) -> io::Result<()> {
    let coded = |texts: Vec<String>| texts.into_iter().map(|text| code(&text));
    let people = agreement_words::tally(diff);
    let heading = format!("{}: {}{people}", code(&diff.now.suite), tally(diff));
    let mut page = MarkdownPage::under(&heading);
    page.lines(sides(diff));
    tables::agreement(diff).add_beside(tables::kappa(diff), &mut page);
    page.paragraphs(coded(agreement_words::remarks(diff)));
    let scores = tables::scores(diff);
    if !scores.is_empty() {
        scores.add_beside(tables::passes(diff), &mut page);
        page.paragraphs(methods(diff));
        page.paragraphs(regressions(diff).map(|names| code(&names)));
    }
    tables::add_declared(diff, &mut page);
    page.paragraphs(coded(declared_words::remarks(diff)));
    page.lines(diff.settings.iter().take(ROWS).map(setting));
    page.rest(diff.settings.len(), ROWS, "setting");
    page.paragraphs(files(diff).map(|files| code(&files)));
    page.paragraphs(coded(not_compared(diff)));
    add_moved(diff, most, &mut page);
    out.write_all(page.into_text().as_bytes())
}

/// What both evaluations are and what their gates say, a line each.
fn sides(diff: &Diff) -> [String; 2] {
    let both = [("old", &diff.before, &diff.gate.before), ("new", &diff.now, &diff.gate.now)];
    both.map(|(side, name, gate)| {
        let known = if name.complete { "" } else { ", not every grade is known" };
        let finding = verdict::finding(gate);
        let finding = if finding.is_empty() { finding } else { format!(": {}", code(&finding)) };
        let reference = code(&name.reference());
        format!("- {side}: {reference}, {}{known}{finding}", verdict::word(gate))
    })
}

fn setting(change: &SettingChange) -> String {
    let SettingChange { path, before, now } = change;
    let text = |value: &Option<Value>| match value {
        None | Some(Value::Null) => "absent".to_owned(),
        Some(Value::String(text)) => code(&cut(text, NAME)),
        Some(value) => code(&cut(&value.to_string(), NAME)),
    };
    let path = code(&cut(path, NAME));
    match long_change(change, RATIONALE) {
        Some(changed) => format!("- {path}: {}", on_one_line(&changed)),
        None => format!("- {path}: {} → {}", text(before), text(now)),
    }
}

/// What changed in a text: the first of the lines that say it.
fn on_one_line(changed: &[String]) -> String {
    let more = if changed.len() > 1 { " …" } else { "" };
    // The marks stay, the styles do not: code holds no control sequence.
    changed.first().map_or_else(String::new, |line| format!("{}{more}", code(line)))
}

fn add_moved(diff: &Diff, most: usize, page: &mut MarkdownPage) {
    if diff.moved.is_empty() {
        return;
    }
    let trials = has_trials(diff);
    let items = diff.moved.iter().take(most).flat_map(|moved| verdict_lines(moved, trials));
    page.folded(&tally(diff), items, diff.moved.len().saturating_sub(most), "verdict");
}

/// A verdict that moved, and below it what changed in the judge's words.
fn verdict_lines(moved: &VerdictMove, trials: bool) -> Vec<String> {
    let VerdictMove { case, grader, movement, before, now, .. } = moved;
    let [name, grader] = [&case_label(case, trials), grader].map(|text| code(&cut(text, NAME)));
    let people = match agreement_words::word(moved) {
        "" => String::new(),
        people => format!(", {people} with people"),
    };
    let scores = format!("{} → {}", grade(before), grade(now));
    let words = match rationales(moved) {
        Rationales::Unknown => None,
        Rationales::One(text) => Some(code(&cut(&text, RATIONALE))),
        Rationales::Both(before, now) => {
            let changed = render(&word_diff(before, now), RATIONALE, CONTEXT);
            (!changed.is_empty()).then(|| on_one_line(&changed))
        }
    };
    let verdict = format!("- {} {name} {grader} {scores}{people}", word(*movement));
    std::iter::once(verdict).chain(words.map(|words| format!("  - {words}"))).collect()
}
