//! Graders with another batching than their suite has: so a plan can say what each way would cost.

use super::criteria::{CriteriaPerRequest, CriteriaSpec};
use super::criterion::CriterionQuestion;
use super::grader::{GraderKind, GraderSpec, RewardSpec};

/// The graders of a suite, as they are where all rubrics in criteria have another batching.
pub fn with_batching(graders: &[GraderSpec], batching: CriteriaPerRequest) -> Vec<GraderSpec> {
    let mut changed = graders.to_vec();
    for rubric in graders {
        let GraderKind::Reward(RewardSpec::Criteria(spec)) = &rubric.kind else { continue };
        let spec = CriteriaSpec { batching, ..spec.as_ref().clone() };
        let names: Vec<String> = spec.graders(&rubric.name).collect();
        let is_own = |grader: &&GraderSpec| names.contains(&grader.name);
        let own = graders.iter().filter(is_own);
        let questions: Vec<CriterionQuestion> =
            own.filter_map(|grader| Some(grader.criterion()?.question.clone())).collect();
        let mut batches = spec.batches(&questions).into_iter();
        for grader in changed.iter_mut().filter(|grader| names.contains(&grader.name)) {
            if let (GraderKind::Rubric(judged), Some(batch)) = (&mut grader.kind, batches.next())
                && let Some(criterion) = &mut judged.criterion
            {
                criterion.batch = batch;
            }
        }
    }
    changed
}
