//! Agreement with people in two evaluations, in the words of tables and sentences.

use super::words::{case_label, has_trials};
use crate::intervals::{kappa_or_dash, or_dash, p_value, signed, signed_range};
use evalrs_base::text::{count, cut, percent};
use evalrs_metrics::diff::agreement::AgreementDiff;
use evalrs_metrics::diff::{CaseName, Diff, VerdictMove};
use evalrs_metrics::metric::label_change::AgreementMove;

/// How many cases that moved a sentence names.
const NAMED: usize = 8;

/// The columns of a name.
const NAME: usize = 40;

/// The graders with labelled cases that both judged.
pub(super) fn compared(diff: &Diff) -> impl Iterator<Item = (&String, &AgreementDiff)> {
    let graders = diff.graders.0.iter();
    let agreements = graders.filter_map(|(name, grader)| Some((name, grader.agreement.as_ref()?)));
    agreements.filter(|(_, agreement)| agreement.n > 0)
}

/// The share of labelled verdicts that agree, and its change in percentage points.
pub(super) fn agreement_cells(agreement: &AgreementDiff) -> Vec<String> {
    let rates = [agreement.before.accuracy, agreement.now.accuracy].map(percent);
    let points = agreement.interval.map(|(low, high)| (low * 100.0, high * 100.0));
    vec![
        agreement.n.to_string(),
        rates.join(" → "),
        or_dash(agreement.difference, |share| signed(share * 100.0, 1)),
        signed_range(points, 1),
        p_value(agreement.p_value),
    ]
}

/// Cohen's kappa and its change, and the verdicts against the label.
pub(super) fn kappa_cells(agreement: &AgreementDiff) -> Vec<String> {
    let AgreementDiff { before, now, kappa_difference, kappa_interval, .. } = agreement;
    vec![
        [before.kappa, now.kappa].map(kappa_or_dash).join(" → "),
        or_dash(*kappa_difference, |change| signed(change, 2)),
        signed_range(*kappa_interval, 2),
        format!("{} → {}", before.false_pass, now.false_pass),
        format!("{} → {}", before.false_fail, now.false_fail),
    ]
}

/// Which labelled cases count, and which of them agree now and do no longer, a sentence each.
pub(super) fn remarks(diff: &Diff) -> Vec<String> {
    let trials = has_trials(diff);
    let graders = diff.graders.0.iter();
    let agreements = graders.filter_map(|(name, grader)| Some((name, grader.agreement.as_ref()?)));
    let sentences = agreements.flat_map(|(grader, agreement)| {
        let grader = cut(grader, NAME);
        let on = |what: &str, cases: &[CaseName]| {
            let names = named(cases, trials);
            (!cases.is_empty())
                .then(|| format!("{grader} {what} with people on {}: {names}", cases.len()))
        };
        [
            coverage(&grader, agreement),
            on("no longer agrees", &agreement.no_longer_agree),
            on("now agrees", &agreement.now_agree),
        ]
    });
    sentences.flatten().collect()
}

/// Which labelled cases are compared, where those are not all of them.
fn coverage(grader: &str, agreement: &AgreementDiff) -> Option<String> {
    let AgreementDiff { n, labelled, judged_before, judged_now, other_answers, .. } = *agreement;
    if n == labelled {
        return None;
    }
    let mut why = Vec::new();
    for (side, judged) in [("old", judged_before), ("new", judged_now)] {
        why.extend((judged < labelled).then(|| format!("the {side} judged {judged}")));
    }
    if other_answers > 0 {
        why.push(format!("{other_answers} with another answer now left out"));
    }
    let cases = count(labelled, "labelled case");
    Some(format!("{grader}: {n} of {cases} compared: {}", why.join(", ")))
}

fn named(cases: &[CaseName], trials: bool) -> String {
    let shown = cases.iter().take(NAMED);
    let names: Vec<String> = shown.map(|case| cut(&case_label(case, trials), NAME)).collect();
    let more = if cases.len() > NAMED { ", …" } else { "" };
    format!("{}{more}", names.join(", "))
}

/// How many of the verdicts that moved say now what people say, and how many do no longer; empty where nobody labelled one.
pub(super) fn tally(diff: &Diff) -> String {
    let of = |wanted: AgreementMove| {
        diff.moved.iter().filter(|moved| moved.against_people() == Some(wanted)).count()
    };
    let now = of(AgreementMove::NowAgrees);
    let no_longer = of(AgreementMove::NoLongerAgrees);
    if now + no_longer == 0 {
        return String::new();
    }
    let verb = if now == 1 { "agrees" } else { "agree" };
    let other = if no_longer == 1 { "agrees" } else { "agree" };
    format!("; with people, {now} now {verb} and {no_longer} no longer {other}")
}

/// How a verdict moved against what people say, in words behind its scores; empty where that is as it was, or not known.
pub(super) fn word(moved: &VerdictMove) -> &'static str {
    match moved.against_people() {
        Some(AgreementMove::NowAgrees) => "now agrees",
        Some(AgreementMove::NoLongerAgrees) => "no longer agrees",
        None => "",
    }
}
