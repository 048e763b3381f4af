//! What is known of the grades and results of chunks, if graders grade as they did and outcomes are what they were.

use super::Db;
use super::cases::{mask, occurrences};
use super::graders::{Grader, Threshold, criteria_of, environment_base_urls, graders};
use super::inputs::{Chunk, Root};
use super::known::{KnownGrades, KnownResults};
use super::known_rows::{check_scope, rows, scope_of};
use xxhash_rust::xxh3::xxh3_128;

use evalrs_eval::evaluate::{GradePlan, criteria};
use evalrs_eval::grade::Grade;
use evalrs_eval::grade::votes::vote_file;
use evalrs_model::delta::Cell;
use evalrs_model::key::ActionKey;
use evalrs_model::spec::{CompareTo, GraderKind, RewardSpec};

/// The scope of grades before the threshold decides. None where they are made of more than rows and outcomes, such as the files
/// of a program or the rows of another run. What criteria say together is made of their grades, whatever these are made of.
#[salsa::tracked]
pub(crate) fn grader_scope<'db>(db: &'db dyn Db, grader: Grader<'db>) -> Option<u128> {
    let root = grader.root(db);
    let is_of_rows = match grader.kind(db) {
        GraderKind::Tool(tool) => vote_file(tool).is_none(),
        GraderKind::Rubric(rubric) => {
            let compares_with_run = matches!(rubric.compare_to, Some(CompareTo::Run(_)));
            !compares_with_run && rubric.programs().next().is_none()
        }
        GraderKind::Reward(RewardSpec::Criteria(_)) => true,
        GraderKind::Program(_) | GraderKind::Reward(_) => false,
    };
    let of_criteria = criteria_of(db, grader).iter().map(|it| *grader_scope(db, *it));
    let of_criteria: Vec<u128> = of_criteria.collect::<Option<_>>()?;
    if !is_of_rows || grader.extractor(db).program.is_some() {
        return None;
    }
    Some(scope_of(&[
        &check_scope(db, root)?,
        grader.name(db),
        grader.extractor(db),
        grader.kind(db),
        grader.ground_truth_pattern(db),
        grader.ground_truth(db),
        &grader.negated(db),
        grader.only(db),
        environment_base_urls(db, root),
        &of_criteria,
    ]))
}

/// Whether no case of a chunk is named by how many equal ones without ids come before it.
pub(crate) fn is_alone(db: &dyn Db, chunk: Chunk) -> bool {
    occurrences(db, chunk).iter().all(|occurrence| *occurrence == 1)
}

/// The digests of what the cases of a chunk ask, if all of them are evaluated and named as they were.
pub fn questions(db: &dyn Db, chunk: Chunk) -> Option<&[[u8; 32]]> {
    let known = rows(db, chunk)?;
    let is_whole = is_alone(db, chunk) && mask(db, chunk).iter().all(|is_in| *is_in);
    let questions = known.questions();
    (is_whole && questions.len() == known.cases).then_some(questions)
}

/// The scope of results before thresholds decide. None where that of a grader is none.
#[salsa::tracked(returns(copy))]
pub fn results_scope(db: &dyn Db, root: Root) -> Option<u128> {
    let of_grader = |grader: &Grader<'_>| *grader_scope(db, *grader);
    let of_graders: Option<Vec<u128>> = graders(db, root).iter().map(of_grader).collect();
    Some(scope_of(&[&check_scope(db, root)?, &of_graders?, root.prices(db)]))
}

/// The results of a chunk in those of the last run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LastResults {
    /// They are the same by now.
    Same(KnownResults),
    /// They are the same but for which grades pass.
    Judged(KnownResults),
}

/// Where the results of a chunk stand in those of the last run, if nothing but verdicts has changed.
pub fn results(db: &dyn Db, chunk: Chunk) -> Option<LastResults> {
    let known = db.known_chunk(chunk.records(db).hash())?;
    let scope = results_scope(db, chunk.root(db))?;
    let results = known.results.filter(|results| results.scope == scope)?;
    let graders = graders(db, chunk.root(db)).iter();
    let grades: Option<Vec<_>> = graders.map(|grader| grades(db, chunk, *grader)).collect();
    let now = verdicts(db, chunk.root(db), grades?);
    if rows(db, chunk).is_none() || !is_alone(db, chunk) {
        return None;
    }
    Some(if now == results.verdicts {
        LastResults::Same(results)
    } else {
        LastResults::Judged(results)
    })
}

/// Grader → which grades of a chunk pass, of those that are known.
pub fn passes(db: &dyn Db, chunk: Chunk) -> Vec<(&str, Vec<bool>)> {
    let graders = graders(db, chunk.root(db)).iter();
    let known = graders.filter_map(|grader| {
        let Threshold(threshold) = grader.pass_threshold(db);
        let cells = grades(db, chunk, *grader)?.cells(threshold);
        Some((grader.name(db).as_str(), cells.map(Cell::passes).collect()))
    });
    known.collect()
}

/// The digest of which grades pass, of all graders in their order.
pub(crate) fn verdicts<'a>(
    db: &dyn Db,
    root: Root,
    grades: impl IntoIterator<Item = &'a KnownGrades>,
) -> u128 {
    let mut states = Vec::new();
    for (grader, grades) in graders(db, root).iter().zip(grades) {
        let Threshold(threshold) = grader.pass_threshold(db);
        states.extend(grades.cells(threshold).map(|cell| u8::from(cell.passes())));
    }
    xxh3_128(&states)
}

/// The digest of the rows of a chunk whose grades by a grader are known, whether outcomes are the same or not. It is a query, so
/// that an edit of rows of which nothing is known has no cells made again.
#[salsa::tracked(returns(copy))]
fn known_by<'db>(db: &'db dyn Db, chunk: Chunk, grader: Grader<'db>) -> Option<u128> {
    let hash = chunk.records(db).hash();
    let known = db.known_chunk(hash)?;
    let scope = (*grader_scope(db, grader))?;
    let is_whole = mask(db, chunk).iter().all(|is_in| *is_in);
    (is_whole && known.grades.iter().any(|grades| grades.scope == scope)).then_some(hash)
}

/// The grades of a chunk by a grader, whether the outcomes are those that they were made of or not.
pub fn grades_then<'db>(
    db: &'db dyn Db,
    chunk: Chunk,
    grader: Grader<'db>,
) -> Option<&'db KnownGrades> {
    let known = db.known_chunk(known_by(db, chunk, grader)?)?;
    let scope = (*grader_scope(db, grader))?;
    known.grades.iter().find(|grades| grades.scope == scope)
}

/// The grades of a chunk by a grader, if the outcomes are those that they were made of.
pub fn grades<'db>(db: &'db dyn Db, chunk: Chunk, grader: Grader<'db>) -> Option<&'db KnownGrades> {
    let grades = grades_then(db, chunk, grader)?;
    are_outcomes_same(db, chunk, grader).then_some(grades)
}

/// The actions that grade the cases of a chunk, in their order, if there is one for each: rows say no more of them.
pub(crate) fn actions<'db>(
    db: &'db dyn Db,
    chunk: Chunk,
    grader: Grader<'db>,
) -> Option<impl Iterator<Item = ActionKey> + 'db> {
    let grades = grades_then(db, chunk, grader)?;
    (grades.keys().len() == grades.cases()).then(|| grades.keys())
}

/// What is said of a chunk by criteria that are known, combined in another way: without its rationales, for those need the
/// replies.
pub(crate) fn combined<'db>(
    db: &'db dyn Db,
    chunk: Chunk,
    grader: Grader<'db>,
) -> Option<Vec<GradePlan>> {
    let GraderKind::Reward(RewardSpec::Criteria(spec)) = grader.kind(db) else { return None };
    if grader.only(db).is_some() {
        return None;
    }
    let of_criterion = |it: &Grader<'db>| Some(grades(db, chunk, *it)?.without_rationales());
    let known: Vec<Vec<Grade>> =
        criteria_of(db, grader).iter().map(of_criterion).collect::<Option<_>>()?;
    let cases = known.first().map_or(0, Vec::len);
    let of_case = |case: usize| {
        let of_criteria: Vec<Option<&Grade>> =
            known.iter().map(|grades| grades.get(case)).collect();
        criteria::combined(spec, &of_criteria).map(GradePlan::Graded)
    };
    (0..cases).map(of_case).collect()
}

/// Whether the outcomes are those that the grades of a chunk by a grader were made of. It is a query because every fold asks.
#[salsa::tracked(returns(copy))]
fn are_outcomes_same<'db>(db: &'db dyn Db, chunk: Chunk, grader: Grader<'db>) -> bool {
    // Both were found at once, so what criteria say together is known as long as they are.
    if criteria_of(db, grader).iter().any(|it| grades(db, chunk, *it).is_none()) {
        return false;
    }
    // Reading the epoch is what makes a query run again when outcomes arrive.
    let _ = chunk.epoch(db);
    let mut actions = grades_then(db, chunk, grader).into_iter().flat_map(KnownGrades::actions);
    actions.all(|action| db.archived_reply(action.key()) == Some(action.reply))
}
