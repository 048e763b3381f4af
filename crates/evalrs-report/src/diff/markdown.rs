//! A comparison as Markdown, for a comment on a pull request. What others wrote is shown as code.

use std::io::{self, Write};

use serde_json::Value;

use super::agreement_words;
use super::declared_words::{cells, remarks};
use super::text::{
    CONTEXT, Rationales, files, grade, has_trials, long_change, methods, not_compared, pass_cells,
    rationales, regressions, score_cells, tally, word,
};
use crate::digest::label;
use crate::markdown::code;
use crate::verdict;
use evalrs_base::text::word_diff::{render, word_diff};
use evalrs_base::text::{count, cut};
use evalrs_metrics::diff::{Diff, GraderDiff, Moved, SettingChange};

/// How many graders, settings and files are shown.
const ROWS: usize = 30;

/// The columns that a name or a setting may take.
const NAME: usize = 60;

/// The columns that a rationale may take.
const RATIONALE: usize = 200;

/// Writes the comparison with at most `most` verdicts that moved.
pub fn write(diff: &Diff, most: usize, out: &mut dyn Write) -> io::Result<()> {
    let before = &diff.before;
    let now = &diff.now;
    let people = agreement_words::tally(diff);
    writeln!(out, "### {}: {}{people}", code(&now.suite), tally(diff))?;
    writeln!(out)?;
    for (side, name, gate) in [("old", before, &diff.gate.before), ("new", now, &diff.gate.now)] {
        let reference = code(&name.reference());
        let gate_word = verdict::word(gate);
        let known = if name.complete { "" } else { ", not every grade is known" };
        write!(out, "- {side}: {reference}, {gate_word}{known}")?;
        let finding = verdict::finding(gate);
        let finding = if finding.is_empty() { finding } else { format!(": {}", code(&finding)) };
        writeln!(out, "{finding}")?;
    }
    write_agreement(diff, out)?;
    write_table(diff, out)?;
    write_declared(diff, out)?;
    write_settings(diff, out)?;
    for sentence in not_compared(diff) {
        writeln!(out, "\n{}", code(&sentence))?;
    }
    write_moved(diff, most, out)
}

fn write_table(diff: &Diff, out: &mut dyn Write) -> io::Result<()> {
    let judged = |(_, grader): &&(String, GraderDiff)| grader.paired.n > 0;
    if !diff.graders.0.iter().any(|grader| judged(&grader)) {
        return Ok(());
    }
    writeln!(
        out,
        "\n| grader | n | score | difference ± stderr | 95 % interval | detects | passes | fixed | broken | p |"
    )?;
    writeln!(out, "|:--|--:|--:|--:|--:|--:|--:|--:|--:|--:|")?;
    for (name, grader) in diff.graders.0.iter().filter(judged).take(ROWS) {
        let mut cells = score_cells(&grader.paired);
        cells.extend(pass_cells(&grader.paired));
        writeln!(out, "| {} | {} |", code(&cut(name, NAME)), cells.join(" | "))?;
    }
    write_rest(diff.graders.0.len().saturating_sub(ROWS), "grader", out)?;
    let sentences = methods(diff).into_iter().chain(regressions(diff).map(|names| code(&names)));
    sentences.into_iter().try_for_each(|sentence| writeln!(out, "\n{sentence}"))
}

fn write_agreement(diff: &Diff, out: &mut dyn Write) -> io::Result<()> {
    for (at, (name, agreement)) in agreement_words::compared(diff).take(ROWS).enumerate() {
        if at == 0 {
            writeln!(
                out,
                "\n| grader | n | agreement | change, points | 95 % interval | p | kappa | change | 95 % interval | false passes | false fails |"
            )?;
            writeln!(out, "|:--|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|")?;
        }
        let mut cells = agreement_words::agreement_cells(agreement);
        cells.extend(agreement_words::kappa_cells(agreement));
        writeln!(out, "| {} | {} |", code(&cut(name, NAME)), cells.join(" | "))?;
    }
    let sentences = agreement_words::remarks(diff);
    sentences.iter().try_for_each(|sentence| writeln!(out, "\n{}", code(sentence)))
}

fn write_declared(diff: &Diff, out: &mut dyn Write) -> io::Result<()> {
    if !diff.declared.0.is_empty() {
        writeln!(out, "\n| metric | kind | old → new | change | 95 % interval |")?;
        writeln!(out, "|:--|:--|--:|--:|--:|")?;
    }
    for (name, metric) in diff.declared.0.iter().take(ROWS) {
        writeln!(out, "| {} | {} |", code(&cut(name, NAME)), cells(metric).join(" | "))?;
    }
    write_rest(diff.declared.0.len().saturating_sub(ROWS), "metric", out)?;
    remarks(diff).iter().try_for_each(|sentence| writeln!(out, "\n{}", code(sentence)))
}

fn write_settings(diff: &Diff, out: &mut dyn Write) -> io::Result<()> {
    if !diff.settings.is_empty() {
        writeln!(out)?;
    }
    for change in diff.settings.iter().take(ROWS) {
        let SettingChange { path, before, now } = change;
        let text = |value: &Option<Value>| match value {
            None | Some(Value::Null) => "absent".to_owned(),
            Some(Value::String(text)) => code(&cut(text, NAME)),
            Some(value) => code(&cut(&value.to_string(), NAME)),
        };
        let path = code(&cut(path, NAME));
        if let Some(changed) = long_change(change, RATIONALE) {
            writeln!(out, "- {path}: {}", on_one_line(&changed))?;
            continue;
        }
        writeln!(out, "- {path}: {} → {}", text(before), text(now))?;
    }
    write_rest(diff.settings.len().saturating_sub(ROWS), "setting", out)?;
    files(diff).map_or(Ok(()), |files| writeln!(out, "\n{}", code(&files)))
}

/// What changed in a text: the first of the lines that say it.
fn on_one_line(changed: &[String]) -> String {
    let more = if changed.len() > 1 { " …" } else { "" };
    // The marks stay, the styles do not: code holds no control sequence.
    changed.first().map_or_else(String::new, |line| format!("{}{more}", code(line)))
}

fn write_moved(diff: &Diff, most: usize, out: &mut dyn Write) -> io::Result<()> {
    if diff.moved.is_empty() {
        return Ok(());
    }
    let trials = has_trials(diff);
    writeln!(out, "\n<details><summary>{}</summary>\n", tally(diff))?;
    for moved in diff.moved.iter().take(most) {
        let Moved { case, grader, movement, before, now, .. } = moved;
        let name = label(&case.sample_id, case.model.as_deref(), trials.then_some(case.trial));
        let name = code(&cut(&name, NAME));
        let grader = code(&cut(grader, NAME));
        let movement = word(*movement);
        let old = grade(before);
        let new = grade(now);
        let people = match agreement_words::word(moved) {
            "" => String::new(),
            people => format!(", {people} with people"),
        };
        writeln!(out, "- {movement} {name} {grader} {old} → {new}{people}")?;
        match rationales(moved) {
            Rationales::Unknown => {}
            Rationales::One(text) => {
                writeln!(out, "  - {}", code(&cut(&text, RATIONALE)))?;
            }
            Rationales::Both(before, now) => {
                let changed = render(&word_diff(before, now), RATIONALE, CONTEXT);
                if !changed.is_empty() {
                    writeln!(out, "  - {}", on_one_line(&changed))?;
                }
            }
        }
    }
    write_rest(diff.moved.len().saturating_sub(most), "verdict", out)?;
    writeln!(out, "\n</details>")
}

fn write_rest(rest: usize, noun: &str, out: &mut dyn Write) -> io::Result<()> {
    if rest == 0 { Ok(()) } else { writeln!(out, "\n{} not shown", count(rest, noun)) }
}
