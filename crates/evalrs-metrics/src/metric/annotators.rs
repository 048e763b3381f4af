//! How far people agree among themselves on what they labelled: what a grader's agreement with them is to be measured by.
//!
//! Two formulas over the cases that several people labelled. Percent agreement counts pairs of people; chance is taken out by
//! Krippendorff's alpha, which needs neither the same people in all cases nor as many.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use evalrs_base::text::count;
use evalrs_eval::dataset::people::UNKNOWN;
use evalrs_model::spec::Label;
use evalrs_statistics::krippendorff::{MeasurementLevel, krippendorff_alpha};

/// How far the people agree who labelled the same cases.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct AnnotatorAgreement {
    /// Cases with labels of two people or more.
    pub cases: usize,
    /// The people who gave these, as far as they have names.
    pub people: usize,
    /// Pairs of labels of one case.
    pub pairs: usize,
    /// Share of these pairs that both pass or both fail (0.0..=1.0).
    pub agreement: Option<f64>,
    /// Krippendorff's alpha of pass and fail, nominal, at most 1; null where all values are the same, so that nothing
    /// separates agreement from chance.
    pub alpha: Option<f64>,
    /// Krippendorff's alpha of scores, interval, at most 1; null unless every label is a score.
    pub alpha_of_scores: Option<f64>,
}

/// How many labels there are for a grader.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LabelCount {
    /// Cases with a label, of those that are evaluated.
    pub labels: usize,
    /// The people who gave these, as far as they have names.
    pub people: usize,
    /// Further cases whose label is held out; absent where the suite holds none out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held_out: Option<usize>,
}

impl LabelCount {
    /// The count in words: `12 labels of 3 people`.
    pub fn shown(self) -> String {
        let labels = count(self.labels, "label");
        let shown = match self.people {
            0 => labels,
            1 => format!("{labels} by 1 reviewer"),
            people => format!("{labels} by {people} reviewers"),
        };
        match self.held_out {
            None => shown,
            Some(held_out) => format!("{shown}, {held_out} more held out"),
        }
    }
}

/// A case on which people differ: some say that the answer passes, others that it does not.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DisputedCase {
    /// Its sample.
    pub sample_id: String,
    /// The model that was run.
    pub model: Option<String>,
    /// The repetition, from 0.
    pub trial: u32,
    /// Who says that it passes.
    pub passes: Vec<String>,
    /// Who says that it does not.
    pub fails: Vec<String>,
}

impl DisputedCase {
    /// What people differ on, without the case; none where they do not. A label passes by `threshold`.
    pub fn of<'a>(labels: impl Iterator<Item = NamedLabel<'a>>, threshold: f64) -> Option<Self> {
        let mut found = Self::default();
        for (who, label) in labels {
            let side = if label.passes(threshold) { &mut found.passes } else { &mut found.fails };
            side.push(who.unwrap_or(UNKNOWN).to_owned());
        }
        (!found.passes.is_empty() && !found.fails.is_empty()).then_some(found)
    }
}

/// What a person says of a case: their name, if that is known.
pub(crate) type NamedLabel<'a> = (Option<&'a str>, Label);

impl AnnotatorAgreement {
    /// Of what people say, case by case, in any order; none where no case has labels of two. A label passes by `threshold`.
    pub fn of<'a>(
        cases: impl Iterator<Item = Vec<NamedLabel<'a>>>,
        threshold: f64,
    ) -> Option<Self> {
        let several: Vec<Vec<NamedLabel<'a>>> = cases.filter(|labels| labels.len() > 1).collect();
        if several.is_empty() {
            return None;
        }
        let verdicts = units(&several, |label| f64::from(label.passes(threshold)));
        // What is not a number has no alpha.
        let scores = units(&several, |label| label.score().unwrap_or(f64::NAN));
        let pairs_of = |count: usize| count * count.saturating_sub(1) / 2;
        let mut pairs = 0;
        let mut agreeing = 0;
        for unit in &verdicts {
            let passes = unit.iter().filter(|verdict| **verdict > 0.5).count();
            pairs += pairs_of(unit.len());
            agreeing += pairs_of(passes) + pairs_of(unit.len() - passes);
        }
        let names: HashSet<Option<&str>> = several.iter().flatten().map(|(who, _)| *who).collect();
        Some(Self {
            cases: several.len(),
            people: names.iter().flatten().count(),
            pairs,
            agreement: Some(agreeing as f64 / pairs as f64),
            alpha: krippendorff_alpha(&verdicts, MeasurementLevel::Nominal),
            alpha_of_scores: krippendorff_alpha(&scores, MeasurementLevel::Interval),
        })
    }
}

fn units(cases: &[Vec<NamedLabel<'_>>], number: impl Fn(Label) -> f64) -> Vec<Vec<f64>> {
    cases.iter().map(|labels| labels.iter().map(|(_, label)| number(*label)).collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::{AnnotatorAgreement, DisputedCase, Label};

    fn of(cases: &[&[(Option<&'static str>, Label)]]) -> Option<AnnotatorAgreement> {
        AnnotatorAgreement::of(cases.iter().map(|labels| labels.to_vec()), 0.5)
    }

    fn close(found: Option<f64>, expected: f64) -> bool {
        found.is_some_and(|found| (found - expected).abs() < 1e-12)
    }

    #[test]
    fn alpha_is_that_of_the_package_krippendorff() {
        let [ann, bob, cem] = ["ann", "bob", "cem"].map(Some);
        let yes = Label::Pass(true);
        let no = Label::Pass(false);
        // krippendorff 0.8, `alpha(level_of_measurement="nominal")`.
        let found = of(&[
            &[(ann, yes), (bob, yes), (cem, no)],
            &[(ann, yes), (bob, yes)],
            &[(ann, no), (bob, no), (cem, no)],
            &[(ann, no), (bob, yes)],
            &[(ann, yes)],
            &[(ann, yes), (bob, yes), (cem, yes)],
            &[(ann, no), (cem, no)],
        ])
        .unwrap();
        assert_eq!((found.cases, found.people, found.pairs), (6, 3, 12));
        assert_eq!(found.agreement, Some(9.0 / 12.0));
        assert!(close(found.alpha, 0.5), "{found:?}");
        assert_eq!(found.alpha_of_scores, None);
        // The same of scores, at the level of intervals, and of whether they reach 0.5.
        let score = Label::Score;
        let found = of(&[
            &[(ann, score(0.25)), (bob, score(0.5))],
            &[(ann, score(1.0)), (bob, score(0.75)), (cem, score(1.0))],
            &[(ann, score(0.0)), (bob, score(0.0)), (cem, score(0.25))],
            &[(ann, score(0.5))],
            &[(ann, score(1.0)), (bob, score(0.0))],
        ])
        .unwrap();
        assert!(close(found.alpha_of_scores, 0.364_312_267_657_992_63), "{found:?}");
        assert!(close(found.alpha, 0.28), "{found:?}");
    }

    #[test]
    fn people_differ_where_some_pass_what_others_fail() {
        let [pass, fail] = [true, false].map(Label::Pass);
        let [high, low, middle] = [1.0, 0.25, 0.5].map(Label::Score);
        for (labels, expected) in [
            (vec![], None),
            (vec![("ann", pass)], None),
            (vec![("ann", pass), ("bob", pass)], None),
            (vec![("ann", high), ("bob", middle)], None),
            (vec![("ann", pass), ("bob", fail)], Some("ann / bob")),
            (vec![("ann", fail), ("bob", pass), ("", fail)], Some("bob / ann, unknown")),
            (vec![("ann", low), ("bob", middle)], Some("bob / ann")),
            (vec![("ann", pass), ("bob", low)], Some("ann / bob")),
        ] {
            let named = labels.iter().map(|(who, label)| {
                let who: Option<&str> = Some(*who).filter(|who| !who.is_empty());
                (who, *label)
            });
            let found = DisputedCase::of(named, 0.5);
            let shown =
                found.map(|case| format!("{} / {}", case.passes.join(", "), case.fails.join(", ")));
            assert_eq!(shown.as_deref(), expected, "{labels:?}");
        }
    }

    #[test]
    fn what_is_not_defined_is_none() {
        let yes = Label::Pass(true);
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[&[(Some("ann"), yes)], &[(Some("bob"), yes)]]), None);
        let found = of(&[&[(Some("ann"), yes), (None, yes)]]).unwrap();
        assert_eq!((found.people, found.pairs, found.agreement), (1, 1, Some(1.0)));
        assert_eq!((found.alpha, found.alpha_of_scores), (None, None));
    }
}
