//! Results as a digest reads them: put together only if it shows more of them than that grades failed.
//!
//! Of hundreds of thousands of results a report for people shows a few failures, and groups errors; of all others it counts
//! verdicts, which cells tell.

use std::sync::Arc;

use super::cases::placed;
use super::inputs::{Chunk, Root};
use super::known::KnownGrades;
use super::known_grades;
use super::queries::{Cells, cells, graders, plans};
use super::results::line;
use super::{Database, Db};
use evalrs_eval::evaluate::GradePlan;
use evalrs_eval::grade::{is_of_nothing, speaks_of_nothing};
use evalrs_metrics::results::report::BriefResult;
use evalrs_model::delta::CellState;
use evalrs_model::key::ActionKey;
use evalrs_model::outcome::Outcome;

/// The plans of a grader for a chunk, and what they came to.
struct GraderPart<'a> {
    name: &'a str,
    /// None where they are not made: an earlier process has found the same.
    plans: Option<&'a Arc<[GradePlan]>>,
    known: Option<&'a KnownGrades>,
    cells: &'a Cells,
}

impl GraderPart<'_> {
    fn may_be_of_nothing(&self, db: &Database, case: usize) -> bool {
        match (self.known, self.plans.and_then(|plans| plans.get(case))) {
            (Some(known), _) => known.may_be_of_nothing(case),
            (None, Some(planned)) => may_be_of_nothing(db, planned),
            (None, None) => true,
        }
    }
}

/// The results in dataset order, for a digest that keeps the first `keep` failures of each grader.
pub fn briefs(
    db: &Database,
    root: Root,
    keep: usize,
) -> impl Iterator<Item = BriefResult<'_>> + '_ {
    let mut failed = vec![0; graders(db, root).len()];
    root.chunks(db).iter().flat_map(move |chunk| chunk_briefs(db, *chunk, keep, &mut failed))
}

/// The same of a chunk, after this many failures of each grader.
fn chunk_briefs<'a>(
    db: &'a Database,
    chunk: Chunk,
    keep: usize,
    failed: &mut [usize],
) -> Vec<BriefResult<'a>> {
    let parts = graders(db, chunk.root(db)).iter().map(|grader| {
        let known = known_grades::grades(db, chunk, *grader);
        GraderPart {
            name: grader.name(db),
            plans: known.is_none().then(|| plans(db, chunk, *grader)),
            known,
            cells: cells(db, chunk, *grader),
        }
    });
    let parts: Vec<GraderPart<'a>> = parts.collect();
    let evaluated = placed(db, chunk).enumerate().filter(|(_, (_, place))| place.is_in());
    let briefs = evaluated.filter_map(|(case, (who, _))| {
        let mut is_needed = false;
        let mut names = Vec::new();
        for (part, failed) in parts.iter().zip(failed.iter_mut()) {
            let state = part.cells.cells.get(case)?.state;
            is_needed |= matches!(state, CellState::Errored | CellState::Pending);
            is_needed |= part.may_be_of_nothing(db, case);
            if state == CellState::Failed {
                is_needed |= *failed < keep;
                *failed += 1;
                names.push(part.name);
            }
        }
        if !is_needed {
            return Some(BriefResult::Failed { trial: who.identity.trial, graders: names });
        }
        line(db, chunk, case).map(|line| BriefResult::Whole(Box::new(line)))
    });
    briefs.collect()
}

/// Whether a grade may say that there was nothing to grade: a judge or a program may say so in the same words.
fn may_be_of_nothing(db: &Database, planned: &GradePlan) -> bool {
    match planned {
        GradePlan::Graded(grade) => is_of_nothing(&grade.rationale),
        GradePlan::Ask(_) | GradePlan::Votes(_) | GradePlan::Confirmed { .. } => {
            let mut is_said = false;
            planned.each_key(&mut |_, key| is_said |= is_reply_of_nothing(db, key));
            is_said
        }
        GradePlan::Skipped => false,
        GradePlan::Extract(_)
        | GradePlan::Converse(_)
        | GradePlan::Turns(_)
        | GradePlan::Blocked => true,
    }
}

fn is_reply_of_nothing(db: &Database, key: ActionKey) -> bool {
    match db.outcome(key).as_deref() {
        Some(Outcome::Reply(reply)) => speaks_of_nothing(&reply.text),
        Some(Outcome::Failure(_)) | None => false,
    }
}
