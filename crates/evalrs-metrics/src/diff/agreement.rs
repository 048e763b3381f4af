//! How far the verdicts of two evaluations agree with people: with the same labels, as they are now, so that an edited label does
//! not look like a judge that changed.
//!
//! Only labelled cases count that both judged, and of which both graded the same answer. What they agree on is compared case by
//! case, as scores are.

use std::collections::HashMap;

use serde::Serialize;

use super::side::{CaseName, Match, SideGrade, cell};
use crate::metric::label_change::AgreementMove;
use crate::metric::labels::LabelAgreement;
use crate::metric::paired::{Pair, PairedSummary, PairedVerdict};
use evalrs_model::spec::Label;
use evalrs_statistics::LEVEL;
use evalrs_statistics::interval::{ConfidenceInterval, IntervalMethod, ValueRange};
use evalrs_statistics::poisson_bootstrap::{DrawnTwice, change_interval, copies, seed_of};

/// The resamples behind the interval of a change of kappa.
const DRAWS: u64 = 400;

/// How far apart two kappas can lie.
const KAPPA_CHANGE: ValueRange = ValueRange { least: -2.0, greatest: 2.0 };

/// The labels that two evaluations are compared with, by grader.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DiffLabels(pub HashMap<String, DiffGraderLabels>);

/// The labels for a grader.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DiffGraderLabels {
    /// The least score of a label that passes.
    pub threshold: f64,
    /// Human labels of each case.
    pub labels: HashMap<CaseName, Label>,
}

/// How far the verdicts of a grader agree with people, before and now.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct AgreementDiff {
    /// Labelled cases that both judged, and on which all else rests.
    pub n: usize,
    /// Cases with a label that either has.
    pub labelled: usize,
    /// Those with a verdict in the first.
    pub judged_before: usize,
    /// Those with a verdict in the second.
    pub judged_now: usize,
    /// Those that both judged, but not the same answer: they are left out.
    pub other_answers: usize,
    /// How far the first agrees.
    pub before: LabelAgreement,
    /// How far the second agrees.
    pub now: LabelAgreement,
    /// The share of verdicts that agree, second minus first (-1.0..=1.0); null if there is none.
    pub difference: Option<f64>,
    /// The bounds of its 95 % confidence interval.
    pub interval: Option<(f64, f64)>,
    /// How it was made.
    pub interval_method: Option<IntervalMethod>,
    /// How often chance alone would change agreement at least so far (0.0..=1.0): McNemar's exact test, by samples. Null where
    /// nothing changed.
    pub p_value: Option<f64>,
    /// Kappa, second minus first; null where one of the two is not defined.
    pub kappa_difference: Option<f64>,
    /// The bounds of its 95 % confidence interval: from 400 resamples of samples, the same in both.
    pub kappa_interval: Option<(f64, f64)>,
    /// Cases whose verdict says now what people say, and did not.
    pub now_agree: Vec<CaseName>,
    /// Cases whose verdict agreed with their label and no longer does.
    pub no_longer_agree: Vec<CaseName>,
}

/// Human labels of a verdict that moved.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct MovedLabel {
    /// Whether it passes.
    pub passes: bool,
    /// How good it is, 0.0..=1.0; null where they say no more than whether it passes.
    pub score: Option<f64>,
    /// Whether the first verdict agreed; null where there was none.
    pub agreed: Option<bool>,
    /// Whether the second does.
    pub agrees: Option<bool>,
}

impl MovedLabel {
    /// Whether the verdict says now what people say, and did not: or the other way round. None where that is as it was.
    pub fn movement(self) -> Option<AgreementMove> {
        AgreementMove::between(self.agreed?, self.agrees?)
    }
}

impl DiffGraderLabels {
    /// Human labels of a verdict that moved.
    pub(super) fn of_moved(
        &self,
        name: &CaseName,
        before: SideGrade,
        now: SideGrade,
    ) -> Option<MovedLabel> {
        let label = *self.labels.get(name)?;
        let passes = label.passes(self.threshold);
        let agrees = |grade: SideGrade| grade.is_verdict().then_some(grade.pass == passes);
        Some(MovedLabel {
            passes,
            score: label.score(),
            agreed: agrees(before).filter(|_| same_answer(before, now)),
            agrees: agrees(now),
        })
    }

    /// How far the grades in these columns agree; none where no case has a label.
    pub fn compared(
        &self,
        [in_before, in_now]: [usize; 2],
        matches: &[Match<'_>],
    ) -> Option<AgreementDiff> {
        let mut found = AgreementDiff::default();
        let mut cases = Vec::new();
        for pair in matches {
            let Some(label) = self.labels.get(&pair.now.name) else { continue };
            let [before, now] = [pair.before.grade(in_before), pair.now.grade(in_now)]
                .map(|grade| grade.filter(|grade| grade.is_verdict()));
            found.labelled += 1;
            found.judged_before += usize::from(before.is_some());
            found.judged_now += usize::from(now.is_some());
            let (Some(before), Some(now)) = (before, now) else { continue };
            if !same_answer(before, now) {
                found.other_answers += 1;
                continue;
            }
            let passes = label.passes(self.threshold);
            cases.push(AgreementPair { pair, label: *label, passes, before, now });
        }
        let AgreementDiff { labelled, judged_before, judged_now, other_answers, .. } = found;
        (labelled > 0).then(|| AgreementDiff {
            labelled,
            judged_before,
            judged_now,
            other_answers,
            ..self.changes(&cases)
        })
    }

    fn changes(&self, cases: &[AgreementPair<'_>]) -> AgreementDiff {
        let agreement = |of: fn(&AgreementPair<'_>) -> SideGrade| {
            let pairs = cases.iter().map(|case| (cell(of(case)), case.label));
            LabelAgreement::of(pairs, self.threshold).unwrap_or_default()
        };
        let [before, now] = [agreement(|case| case.before), agreement(|case| case.now)];
        let verdict = |agrees: bool| PairedVerdict { score: f64::from(agrees), pass: agrees };
        let pairs: Vec<Pair> = cases
            .iter()
            .map(|case| Pair {
                sample: case.pair.sample,
                before: verdict(case.before.pass == case.passes),
                now: verdict(case.now.pass == case.passes),
            })
            .collect();
        let paired = PairedSummary::of(&pairs);
        let named = |moved: fn(&Pair) -> bool| {
            let those = cases.iter().zip(&pairs).filter(|(_, pair)| moved(pair));
            those.map(|(case, _)| case.pair.now.name.clone()).collect()
        };
        let kappa_difference = now.kappa.zip(before.kappa).map(|(now, before)| now - before);
        let kappa_interval = kappa_difference.and_then(|change| kappa_interval(change, cases));
        AgreementDiff {
            n: cases.len(),
            before,
            now,
            difference: paired.difference,
            interval: paired.interval,
            interval_method: paired.interval_method,
            p_value: paired.p_value,
            kappa_difference,
            kappa_interval: kappa_interval.map(|found| (found.low, found.high)),
            now_agree: named(|pair| !pair.before.pass && pair.now.pass),
            no_longer_agree: named(|pair| pair.before.pass && !pair.now.pass),
            ..AgreementDiff::default()
        }
    }
}

/// A labelled case that both judged.
struct AgreementPair<'a> {
    pair: &'a Match<'a>,
    label: Label,
    passes: bool,
    before: SideGrade,
    now: SideGrade,
}

/// Whether both graded the same text, as far as that is recorded.
fn same_answer(before: SideGrade, now: SideGrade) -> bool {
    // A question with the same key has the same answer in it.
    let is_same_question = before.key.is_some() && before.key == now.key;
    is_same_question || before.answer.zip(now.answer).is_none_or(|(before, now)| before == now)
}

/// The interval of a change of kappa, by resampling samples with all their cases.
fn kappa_interval(change: f64, cases: &[AgreementPair<'_>]) -> Option<ConfidenceInterval> {
    let seed = |case: &AgreementPair<'_>| seed_of(&case.pair.now.name.sample_id);
    let seeds: Vec<u64> = cases.iter().map(seed).collect();
    let mut distinct = seeds.clone();
    distinct.sort_unstable();
    distinct.dedup();
    let drawn = (0..DRAWS).map(|draw| {
        let mut before = LabelAgreement::default();
        let mut now = LabelAgreement::default();
        for (case, seed) in cases.iter().zip(&seeds) {
            let copies = copies(*seed, draw);
            before.add(case.before.pass, case.passes, copies);
            now.add(case.now.pass, case.passes, copies);
        }
        let kappa = |side: LabelAgreement| side.kappa_with_interval().map(|found| found.0);
        (kappa(before), kappa(now))
    });
    let (befores, nows): (Vec<Option<f64>>, Vec<Option<f64>>) = drawn.unzip();
    let drawn =
        DrawnTwice { before: &befores, now: &nows, samples: distinct.len(), range: KAPPA_CHANGE };
    change_interval(change, drawn, LEVEL)
}
