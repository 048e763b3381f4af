//! Warns where passes are counted of a judge whose grader does not say what a pass is.
//!
//! Without `pass_threshold` only the full score is one, as in the systems whose suites are read here: on a scale that judges
//! use in between, that is seldom meant.

use crate::findings::Findings;
use evalrs_base::yaml::source::SourceSpan;
use evalrs_model::spec::{Aggregation, Gate, GraderKind, GraderSpec};

/// What a suite does with the passes of its graders.
pub(crate) struct Passes<'a> {
    pub gate: Option<&'a Gate>,
    /// The trials of each sample.
    pub num_runs: u32,
}

impl Passes<'_> {
    /// Warns of each of `graders` that has none of its own threshold, and whose passes are used.
    pub(crate) fn check(
        &self,
        graders: &[GraderSpec],
        without: &[(String, SourceSpan)],
        findings: &Findings,
    ) {
        for (name, span) in without {
            let grader = graders.iter().find(|grader| grader.name == *name);
            let Some(used) = grader.and_then(|grader| self.used(grader)) else { continue };
            let message = format!(
                "`{name}` has no `pass_threshold`, so only the full score is a pass, and {used}"
            );
            let hint =
                "write the least score that is good enough, from 0 to 1: `pass_threshold: 0.7`";
            findings.warning(*span, &message, hint);
        }
    }

    /// What uses the passes of a grader whose scores may lie in between.
    fn used(&self, grader: &GraderSpec) -> Option<&'static str> {
        let GraderKind::Rubric(rubric) = &grader.kind else { return None };
        if rubric.compare_to.is_some() {
            return None;
        }
        if self.gate.is_some_and(|gate| counts_passes(gate, &grader.name)) {
            Some("the gate counts passes")
        } else if rubric.confirm_fails > 0 {
            Some("`confirm_fails` judges everything else again")
        } else if self.num_runs > 1 {
            Some("the passes of several runs are counted")
        } else {
            None
        }
    }
}

fn is_of_passes(aggregation: Aggregation) -> bool {
    aggregation == Aggregation::Accuracy || aggregation.needs_labels()
}

fn counts_passes(gate: &Gate, name: &str) -> bool {
    match gate {
        Gate::Simple(condition) => {
            condition.metric_key == name
                && is_of_passes(condition.aggregation)
                && condition.pass.is_none()
        }
        Gate::WeightedAverage { aggregation, weights, .. } => {
            is_of_passes(*aggregation) && weights.iter().any(|(key, _)| key == name)
        }
        Gate::Logical { conditions, .. } => {
            conditions.iter().any(|condition| counts_passes(condition, name))
        }
    }
}
