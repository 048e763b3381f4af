//! A comparison in words: the sentences and numbers that a terminal and a comment show alike.

use serde_json::Value;

use crate::digest::label;
use crate::intervals::named_methods;
use evalrs_base::text::word_diff::{render, word_diff};
use evalrs_base::text::{count, cut, score};
use evalrs_metrics::diff::{
    CaseName, Diff, GraderDiff, MovedGrade, OnlyCases, SettingChange, VerdictMove,
};
use evalrs_model::delta::Movement;
use evalrs_statistics::interval::IntervalMethod;

/// The columns of a name.
pub(super) const NAME: usize = 60;

/// The files that are named of those that differ.
const FILES: usize = 20;

/// From so many columns on, a setting is shown as what changed in it.
const LONG: usize = 40;

/// The words shown on either side of a change.
pub(super) const CONTEXT: usize = 8;

/// Which files differ, a sentence; none where none is known to.
pub(super) fn files(diff: &Diff) -> Option<String> {
    let named = diff.files.iter().take(FILES).map(|change| match (&change.before, &change.now) {
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
    let methods =
        graders.flat_map(of_grader).flatten().chain(declared.map(|found| found.method)).collect();
    named_methods(&methods)
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

/// What is not compared, a sentence each.
pub(super) fn not_compared(diff: &Diff) -> Vec<String> {
    let trials = has_trials(diff);
    let cases = |which: &str, only: &OnlyCases| {
        let names: Vec<String> =
            only.first.iter().map(|name| cut(&case_label(name, trials), NAME)).collect();
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

/// Whether results are to be told apart by their trials.
pub(super) fn has_trials(diff: &Diff) -> bool {
    let cases = [&diff.cases.only_before, &diff.cases.only_now].map(|only| &only.first);
    let names = cases.into_iter().flatten().chain(diff.moved.iter().map(|moved| &moved.case));
    names.into_iter().any(|name| name.trial > 0)
}

/// The name of a result: its sample, its model, and its trial where there are several.
pub(super) fn case_label(case: &CaseName, trials: bool) -> String {
    label(&case.sample_id, case.model.as_deref(), trials.then_some(case.trial))
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

pub(crate) fn word(movement: Movement) -> &'static str {
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

/// What is known of the judge's words.
pub(super) enum Rationales<'a> {
    /// Neither side's.
    Unknown,
    /// Those of one side, which is said.
    One(String),
    /// Those of both.
    Both(&'a str, &'a str),
}

pub(super) fn rationales(moved: &VerdictMove) -> Rationales<'_> {
    match (&moved.before.rationale, &moved.now.rationale) {
        (Some(before), Some(now)) => Rationales::Both(before, now),
        (Some(before), None) => Rationales::One(format!("old: {before}")),
        (None, Some(now)) => Rationales::One(format!("new: {now}")),
        (None, None) => Rationales::Unknown,
    }
}
