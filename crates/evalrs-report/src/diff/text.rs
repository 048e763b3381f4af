//! A comparison for a terminal. Texts of samples and judges are made harmless and shortened; `--json` has all of them.

use std::collections::BTreeSet;
use std::io::{self, Write};

use anstyle::{AnsiColor, Style};
use serde_json::Value;

use super::agreement_words;
use super::declared_words::{cells, remarks};
use crate::digest::label;
use crate::verdict;
use evalrs_base::text::table::{TableCell, lines, number, words};
use evalrs_base::text::word_diff::{render, word_diff};
use evalrs_base::text::{count, cut, enumerated, percent, sanitize, score, score_or_dash, wrapped};
use evalrs_metrics::diff::agreement::AgreementMovement;
use evalrs_metrics::diff::{
    AgreementDiff, Diff, GraderDiff, Moved, MovedGrade, OnlyCases, SettingChange, SideName,
};
use evalrs_metrics::gate::GateReport;
use evalrs_metrics::metric::paired::Paired;
use evalrs_model::delta::Movement;
use evalrs_statistics::interval::IntervalMethod;

const TITLE: Style = Style::new().bold();
const FAINT: Style = Style::new().dimmed();
const GOOD: Style = AnsiColor::Green.on_default().bold();
const BAD: Style = AnsiColor::Red.on_default().bold();
const DOUBTFUL: Style = AnsiColor::Yellow.on_default().bold();

/// How many settings and files that differ are shown.
const SETTINGS: usize = 20;

/// From so many columns on, a setting is shown as what changed in it.
const LONG: usize = 40;

/// The columns of a name.
const NAME: usize = 60;

/// The lines of a rationale that stands alone.
const LINES: usize = 2;

/// The words shown on either side of a change.
pub(super) const CONTEXT: usize = 8;

/// The digits of a digest that are shown.
const DIGITS: usize = 12;

/// Writes the comparison with at most `most` verdicts that moved, for a terminal of `width` columns.
pub fn write(diff: &Diff, most: usize, width: usize, out: &mut dyn Write) -> io::Result<()> {
    let sections = [
        head(diff, width),
        settings(diff, width),
        agreement(diff, width),
        kappa(diff, width),
        agreement_remarks(diff, width),
        scores(diff, width),
        passes(diff, width),
        declared_lines(diff, width),
        regression_lines(diff, width),
        left_out(diff, width),
        moved(diff, most, width),
    ];
    for (at, section) in sections.iter().filter(|lines| !lines.is_empty()).enumerate() {
        if at > 0 {
            writeln!(out)?;
        }
        section.iter().try_for_each(|line| writeln!(out, "{line}"))?;
    }
    Ok(())
}

fn title(text: &str) -> TableCell {
    words(text).styled(TITLE)
}

fn titles(names: &[&str], numbers: &[&str]) -> Vec<TableCell> {
    let numbers = numbers.iter().map(|name| number(*name).styled(TITLE));
    names.iter().map(|name| title(name)).chain(numbers).collect()
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
    let mut rest = 0;
    for change in &diff.settings {
        if shown.len() >= SETTINGS {
            rest += 1;
        } else {
            shown.extend(setting(change, width));
        }
    }
    if rest > 0 {
        shown.push(faint(&format!("{} more", count(rest, "setting"))));
    }
    if let Some(files) = files(diff) {
        shown.extend(wrapped(&files, width));
    }
    shown
}

/// Which files differ, a sentence; none where none is known to.
pub(super) fn files(diff: &Diff) -> Option<String> {
    let named =
        diff.files.iter().take(SETTINGS).map(|change| match (&change.before, &change.now) {
            (None, _) => format!("{} (new)", change.path),
            (_, None) => format!("{} (gone)", change.path),
            _ => change.path.clone(),
        });
    let named: Vec<String> = named.collect();
    let more = match diff.files.len() - named.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    (!named.is_empty()).then(|| format!("files that differ: {}{more}", named.join(", ")))
}

/// What changed in a setting that is a long text, as lines of at most `width` columns; none if it is no such setting.
pub(super) fn long_change(change: &SettingChange, width: usize) -> Option<Vec<String>> {
    let (Some(Value::String(before)), Some(Value::String(now))) = (&change.before, &change.now)
    else {
        return None;
    };
    let is_long = |text: &str| text.len() > LONG || text.contains('\n');
    let is_text = !change.path.ends_with(".blake3") && (is_long(before) || is_long(now));
    is_text.then(|| render(&word_diff(before, now), width, CONTEXT))
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

/// A table of the graders that have a verdict in both.
fn table(
    diff: &Diff,
    header: Vec<TableCell>,
    row: &dyn Fn(&GraderDiff) -> Vec<String>,
    width: usize,
) -> Vec<String> {
    let judged = || diff.graders.0.iter().filter(|(_, grader)| grader.paired.n > 0);
    let mut rows = vec![header];
    rows.extend(judged().map(|(name, grader)| {
        let numbers = row(grader).into_iter().map(number);
        std::iter::once(words(&cut(name, NAME))).chain(numbers).collect()
    }));
    if rows.len() > 1 { lines(&rows, width) } else { Vec::new() }
}

fn scores(diff: &Diff, width: usize) -> Vec<String> {
    let header =
        titles(&["score"], &["n", "old → new", "difference ± stderr", "95 % interval", "detects"]);
    let mut shown = table(diff, header, &|grader| score_cells(&grader.paired), width);
    shown.extend(methods(diff).map(|methods| faint(&cut(&methods, width))));
    shown
}

/// How the intervals were made, a sentence; none where there is none.
pub(super) fn methods(diff: &Diff) -> Option<String> {
    let graders = diff.graders.0.iter();
    let declared = diff.declared.0.iter().filter_map(|(_, metric)| metric.interval);
    let of_grader = |(_, grader): &(String, GraderDiff)| {
        let agreement = grader.agreement.as_ref();
        let kappa = agreement.and_then(|found| found.kappa_interval);
        let of_kappa = kappa.map(|_| IntervalMethod::PairedBootstrap);
        let of_agreement = agreement.and_then(|found| found.interval_method);
        [grader.paired.interval_method, of_agreement, of_kappa]
    };
    let methods: BTreeSet<IntervalMethod> =
        graders.flat_map(of_grader).flatten().chain(declared.map(|found| found.method)).collect();
    let names: Vec<&str> = methods.into_iter().map(IntervalMethod::label).collect();
    (!names.is_empty()).then(|| format!("95 % intervals: {}", enumerated(&names, "and")))
}

/// Which graders became worse, a sentence; none unless that was asked.
pub(super) fn regressions(diff: &Diff) -> Option<String> {
    let graders = || diff.graders.0.iter();
    graders().find(|(_, grader)| grader.is_regression.is_some())?;
    let worse = graders().filter(|(_, grader)| grader.is_regression == Some(true));
    let names: Vec<&str> = worse.map(|(name, _)| name.as_str()).collect();
    Some(match names.as_slice() {
        [] => "no grader became worse by more than chance explains".to_owned(),
        names => format!("worse by more than chance explains: {}", names.join(", ")),
    })
}

fn regression_lines(diff: &Diff, width: usize) -> Vec<String> {
    regressions(diff).iter().flat_map(|sentence| wrapped(sentence, width)).collect()
}

/// n, the two means, their difference, its interval, and the least difference that would be told from chance.
pub(super) fn score_cells(paired: &Paired) -> Vec<String> {
    let difference = match (paired.difference, paired.stderr) {
        (Some(difference), Some(stderr)) => format!("{} ± {}", signed(difference), score(stderr)),
        (difference, _) => difference.map_or_else(|| "-".to_owned(), signed),
    };
    let interval = paired.interval.map_or_else(
        || "-".to_owned(),
        |(low, high)| format!("{} to {}", signed(low), signed(high)),
    );
    let means = [paired.mean_before, paired.mean_now].map(score_or_dash);
    let detectable = paired.minimum_detectable_effect.map_or_else(|| "-".to_owned(), score);
    vec![paired.n.to_string(), means.join(" → "), difference, interval, detectable]
}

fn passes(diff: &Diff, width: usize) -> Vec<String> {
    let header = titles(&["passes"], &["old → new", "fixed", "broken", "p"]);
    table(diff, header, &|grader| pass_cells(&grader.paired), width)
}

/// The two pass rates, how many were fixed and broken, and how likely chance alone does that.
pub(super) fn pass_cells(paired: &Paired) -> Vec<String> {
    let rates = [paired.pass_rate_before, paired.pass_rate_now].map(percent);
    let p = p_value(paired.p_value);
    vec![rates.join(" → "), paired.fixed.to_string(), paired.broken.to_string(), p]
}

/// How likely chance alone does as much.
pub(super) fn p_value(p: Option<f64>) -> String {
    match p {
        None => "-".to_owned(),
        Some(p) if p < 0.001 => "< 0.001".to_owned(),
        Some(p) => score(p),
    }
}

/// A table of the graders that are compared with people.
fn people_table(
    diff: &Diff,
    header: Vec<TableCell>,
    row: fn(&AgreementDiff) -> Vec<String>,
    width: usize,
) -> Vec<String> {
    let mut rows = vec![header];
    rows.extend(agreement_words::compared(diff).map(|(name, agreement)| {
        let numbers = row(agreement).into_iter().map(number);
        std::iter::once(words(&cut(name, NAME))).chain(numbers).collect()
    }));
    if rows.len() > 1 { lines(&rows, width) } else { Vec::new() }
}

fn agreement(diff: &Diff, width: usize) -> Vec<String> {
    let header = titles(&["agreement"], &agreement_words::AGREEMENT_TITLES);
    people_table(diff, header, agreement_words::agreement_cells, width)
}

fn kappa(diff: &Diff, width: usize) -> Vec<String> {
    let header = titles(&["kappa"], &agreement_words::KAPPA_TITLES);
    people_table(diff, header, agreement_words::kappa_cells, width)
}

fn agreement_remarks(diff: &Diff, width: usize) -> Vec<String> {
    let sentences = agreement_words::remarks(diff);
    sentences.iter().flat_map(|sentence| wrapped(sentence, width)).collect()
}

/// The metrics that both declare, and what is to be said of others.
fn declared_lines(diff: &Diff, width: usize) -> Vec<String> {
    let mut rows = vec![titles(&["metric", "kind"], &["old → new", "change", "95 % interval"])];
    rows.extend(diff.declared.0.iter().map(|(name, metric)| {
        let [kind, numbers @ ..] = cells(metric);
        let numbers = numbers.into_iter().map(number);
        [words(&cut(name, NAME)), words(&kind)].into_iter().chain(numbers).collect()
    }));
    let mut shown = if rows.len() > 1 { lines(&rows, width) } else { Vec::new() };
    shown.extend(remarks(diff).iter().flat_map(|sentence| wrapped(sentence, width)));
    shown
}

/// A difference of scores.
pub(super) fn signed(value: f64) -> String {
    // What rounds to zero has no sign.
    match format!("{:+.3}", value + 0.0).as_str() {
        "-0.000" | "+0.000" => "0.000".to_owned(),
        text => text.to_owned(),
    }
}

/// What is not compared, a sentence each.
pub(super) fn not_compared(diff: &Diff) -> Vec<String> {
    let trials = has_trials(diff);
    let cases = |which: &str, only: &OnlyCases| {
        let names = only.first.iter().map(|name| {
            label(&name.sample_id, name.model.as_deref(), trials.then_some(name.trial))
        });
        let names: Vec<String> = names.map(|name| cut(&name, NAME)).collect();
        let more = if only.count > names.len() { ", …" } else { "" };
        let counted = count(only.count, "result");
        (only.count > 0)
            .then(|| format!("only in the {which}: {counted}: {}{more}", names.join(", ")))
    };
    let graders = |which: &str, names: &[String]| {
        (!names.is_empty()).then(|| {
            format!("only in the {which}: {}: {}", count(names.len(), "grader"), names.join(", "))
        })
    };
    let sentences = [
        graders("old", &diff.graders_only_before),
        graders("new", &diff.graders_only_now),
        cases("old", &diff.cases.only_before),
        cases("new", &diff.cases.only_now),
    ];
    sentences.into_iter().flatten().collect()
}

fn left_out(diff: &Diff, width: usize) -> Vec<String> {
    let sentences = not_compared(diff).into_iter();
    sentences.flat_map(|sentence| wrapped(&sentence, width)).collect()
}

/// Whether results are to be told apart by their trials.
pub(super) fn has_trials(diff: &Diff) -> bool {
    let cases = [&diff.cases.only_before, &diff.cases.only_now].map(|only| &only.first);
    let names = cases.into_iter().flatten().chain(diff.moved.iter().map(|moved| &moved.case));
    names.into_iter().any(|name| name.trial > 0)
}

/// How many verdicts moved, and how.
pub(super) fn tally(diff: &Diff) -> String {
    let total = diff.moved.len();
    if total == 0 {
        return "no verdict moved".to_owned();
    }
    let kinds = [
        Movement::Broken,
        Movement::Errored,
        Movement::Fixed,
        Movement::Answered,
        Movement::Lowered,
        Movement::Raised,
    ];
    let parts: Vec<String> = kinds
        .into_iter()
        .map(|kind| (kind, diff.moved.iter().filter(|moved| moved.movement == kind).count()))
        .filter(|(_, n)| *n > 0)
        .map(|(kind, n)| format!("{n} {}", word(kind)))
        .collect();
    format!("{} moved: {}", count(total, "verdict"), parts.join(", "))
}

/// The movement in one word.
pub(super) fn word(movement: Movement) -> &'static str {
    match movement {
        Movement::Broken => "broken",
        Movement::Errored => "errored",
        Movement::Fixed => "fixed",
        Movement::Answered => "answered",
        Movement::Lowered => "lowered",
        Movement::Raised => "raised",
        Movement::New => "new",
        Movement::Same => "unchanged",
        Movement::Pending => "pending",
        Movement::NotApplicable => "not applicable",
    }
}

/// A score, or what stands for it.
pub(super) fn grade(grade: &MovedGrade) -> String {
    if grade.error { "error".to_owned() } else { score(grade.score) }
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

fn verdict_lines(moved: &Moved, trials: bool, width: usize) -> Vec<String> {
    let style = match (moved.against_people(), moved.movement) {
        (Some(AgreementMovement::NowAgrees), _) | (None, Movement::Fixed | Movement::Raised) => {
            GOOD
        }
        (Some(AgreementMovement::NoLongerAgrees), _)
        | (None, Movement::Broken | Movement::Lowered) => BAD,
        _ => DOUBTFUL,
    };
    let case = &moved.case;
    let name = label(&case.sample_id, case.model.as_deref(), trials.then_some(case.trial));
    let mut scores = format!("{} → {}", grade(&moved.before), grade(&moved.now));
    let against_people = agreement_words::word(moved);
    if !against_people.is_empty() {
        scores = format!("{scores}  {against_people}");
    }
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
fn rationale_lines(moved: &Moved, width: usize) -> Vec<String> {
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

/// What is known of the judge's words.
pub(super) enum Rationales<'a> {
    /// Neither side's.
    Unknown,
    /// Those of one side, which is said.
    One(String),
    /// Those of both.
    Both(&'a str, &'a str),
}

pub(super) fn rationales(moved: &Moved) -> Rationales<'_> {
    match (&moved.before.rationale, &moved.now.rationale) {
        (Some(before), Some(now)) => Rationales::Both(before, now),
        (Some(before), None) => Rationales::One(format!("old: {before}")),
        (None, Some(now)) => Rationales::One(format!("new: {now}")),
        (None, None) => Rationales::Unknown,
    }
}

fn faint(text: &str) -> String {
    format!("{FAINT}{text}{FAINT:#}")
}
