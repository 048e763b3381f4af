//! Agreement with human labels in two evaluations.

use super::graders::change;
use super::names::{NAMED, case_label, listed};
use crate::intervals::{FEWEST, kappa_or_dash, p_value};
use crate::page::{Column, Table, Text, bad, good, quoted, text};
use evalrs_base::text::{count, percent};
use evalrs_metrics::diff::agreement::AgreementDiff;
use evalrs_metrics::diff::{CaseName, Diff};

/// The graders that have labels.
fn labelled(diff: &Diff) -> impl Iterator<Item = (&String, &AgreementDiff)> {
    let graders = diff.graders.0.iter();
    graders.filter_map(|(name, grader)| Some((name, grader.agreement.as_ref()?)))
}

/// Those with labelled results that both judged.
pub(super) fn compared(diff: &Diff) -> impl Iterator<Item = (&String, &AgreementDiff)> {
    labelled(diff).filter(|(_, agreement)| agreement.n > 0)
}

/// On which results each grader no longer agrees with labels, and on which it does now.
pub(super) fn moved(diff: &Diff, trials: bool) -> Vec<Text> {
    let line = |grader: &str, word: Text, cases: &[CaseName]| {
        let names = cases.iter().take(NAMED).map(|case| case_label(case, trials)).collect();
        let labels = count(cases.len(), "label");
        let line = text![quoted(grader), " ", word, format!(" with {labels}: ")];
        (!cases.is_empty()).then(|| text![line, listed(names, cases.len())])
    };
    let lines = labelled(diff).flat_map(|(grader, agreement)| {
        [
            line(grader, bad("no longer agrees"), &agreement.no_longer_agree),
            line(grader, good("now agrees"), &agreement.now_agree),
        ]
    });
    lines.flatten().collect()
}

/// The share of labelled verdicts that agree, and the verdicts against the label.
pub(super) fn table(diff: &Diff) -> Table {
    let titles = ["n", "agreement", "change [95 %]", "false passes", "false fails"];
    let numbers = titles.map(Column::numbers);
    let mut table = Table::new([Column::names("grader")].into_iter().chain(numbers));
    for (grader, agreement) in compared(diff) {
        let AgreementDiff { n, before, now, difference, interval, .. } = agreement;
        table.row([
            quoted(grader),
            n.to_string().into(),
            [before.accuracy, now.accuracy].map(percent).join(" → ").into(),
            change(*difference, interval.filter(|_| *n >= FEWEST), 1),
            format!("{} → {}", before.false_pass, now.false_pass).into(),
            format!("{} → {}", before.false_fail, now.false_fail).into(),
        ]);
    }
    for (grader, agreement) in labelled(diff) {
        table.extend_notes(coverage(grader, agreement));
    }
    table
}

/// Agreement beyond chance, and how likely chance alone changes agreement as much.
pub(super) fn details(diff: &Diff) -> Table {
    let numbers = ["kappa", "change [95 %]", "p"].map(Column::numbers);
    let mut table = Table::new([Column::names("agreement")].into_iter().chain(numbers));
    for (grader, agreement) in compared(diff) {
        let AgreementDiff { before, now, kappa_difference, kappa_interval, .. } = agreement;
        table.row([
            quoted(grader),
            [before.kappa, now.kappa].map(kappa_or_dash).join(" → ").into(),
            change(*kappa_difference, *kappa_interval, 2),
            p_value(agreement.p_value).into(),
        ]);
    }
    table
}

/// How many labelled results are compared, where those are not all of them.
fn coverage(grader: &str, agreement: &AgreementDiff) -> Option<Text> {
    let AgreementDiff { n, labelled, judged_before, judged_now, other_answers, .. } = *agreement;
    if n == labelled {
        return None;
    }
    let sides = [("old", judged_before), ("new", judged_now)].into_iter();
    let mut why: Vec<String> = sides
        .filter(|(_, judged)| *judged < labelled)
        .map(|(side, judged)| format!("the {side} judged {judged}"))
        .collect();
    if other_answers > 0 {
        why.push(format!("the answer of {other_answers} changed"));
    }
    let results = count(labelled, "labelled result");
    Some(text![quoted(grader), format!(": {n} of {results} compared: {}", why.join(", "))])
}
