//! Makes what is known of chunks out of an evaluation that is settled, for processes to come.
//!
//! Of plain chunks alone: all of their cases are evaluated, and nothing is wrong with their rows or special about them. Of
//! graders with one grade or one judgment a case, all of them verdicts. The rest is read again each time.

use super::Db;
use super::cases::{CheckedRecords, checked, mask, unmet};
use super::graders::{Grader, Threshold, graders, ready};
use super::inputs::{Chunk, Root};
use super::known::{
    KnownChunk, KnownGrades, KnownReply, KnownResults, KnownRows, KnownScore, KnownUsage,
};
use super::known_grades::{grader_scope, grades, is_alone, results_scope, verdicts};
use super::known_rows::{check_scope, need_scope, rows};
use super::queries::plans;
use evalrs_eval::evaluate::{self, GradePlan};
use evalrs_eval::grade::{is_of_nothing, speaks_of_nothing};
use evalrs_model::key::ActionKey;
use evalrs_model::outcome::Outcome;

/// What is known of each chunk by now, by the digest of its rows. `questions` are the digests of what the evaluated cases ask,
/// in dataset order; nothing where nobody knows them. `places` are the first byte and the length of the results of each chunk;
/// nothing where nobody knows them.
pub fn collect(
    db: &dyn Db,
    root: Root,
    questions: &[[u8; 32]],
    places: &[Option<(u64, u64)>],
) -> Vec<(u128, KnownChunk)> {
    let scope = results_scope(db, root);
    let mut left = questions;
    let known = root.chunks(db).iter().enumerate().filter_map(|(at, chunk)| {
        let evaluated = mask(db, *chunk).iter().filter(|is_in| **is_in).count();
        let (asked, rest) = left.split_at(evaluated.min(left.len()));
        left = rest;
        let rows = known_rows(db, *chunk, asked)?;
        let graders = graders(db, root);
        let of_graders = graders.iter();
        let grades: Vec<KnownGrades> =
            of_graders.filter_map(|grader| known_grades(db, *chunk, *grader)).collect();
        let is_whole = grades.len() == graders.len() && is_alone(db, *chunk);
        let place = places.get(at).copied().flatten().filter(|_| is_whole);
        let results = place.zip(scope).map(|((from, bytes), scope)| KnownResults {
            scope,
            verdicts: verdicts(db, root, &grades),
            from,
            bytes,
        });
        Some((chunk.records(db).hash(), KnownChunk { rows, grades, results }))
    });
    known.collect()
}

fn known_rows(db: &dyn Db, chunk: Chunk, asked: &[[u8; 32]]) -> Option<KnownRows> {
    let scope = check_scope(db, chunk.root(db))?;
    let CheckedRecords { whos, problems, rubric_files, named_graders, left_out } =
        checked(db, chunk);
    let is_plain = problems.is_empty()
        && rubric_files.is_empty()
        && named_graders.is_empty()
        && left_out.is_empty();
    let is_whole = !whos.is_empty() && mask(db, chunk).iter().all(|is_in| *is_in);
    if !is_plain || !is_whole {
        return None;
    }
    let questions = match rows(db, chunk) {
        Some(known) if asked.is_empty() => known.questions.clone(),
        _ if is_alone(db, chunk) => asked.to_vec(),
        _ => Vec::new(),
    };
    let needs = unmet(db, chunk).is_empty().then(|| need_scope(db, chunk.root(db))).flatten();
    Some(KnownRows { scope, needs, whos: whos.clone(), questions })
}

fn known_grades<'db>(db: &'db dyn Db, chunk: Chunk, grader: Grader<'db>) -> Option<KnownGrades> {
    if let Some(known) = grades(db, chunk, grader) {
        return Some(known.clone());
    }
    let scope = (*grader_scope(db, grader))?;
    let mut found =
        KnownGrades { scope, scores: Vec::new(), models: Vec::new(), actions: Vec::new() };
    for planned in plans(db, chunk, grader).iter() {
        let score = match planned {
            GradePlan::Graded(grade) if grade.error.is_none() => KnownScore {
                score: grade.score,
                pass: grade.pass,
                applies: grade.applies,
                of_nothing: is_of_nothing(&grade.rationale),
            },
            GradePlan::Ask(key) => known_score(db, grader, planned, *key, &mut found)?,
            _ => return None,
        };
        found.scores.push(score);
    }
    Some(found)
}

/// The score of a judgment, and what it rests on.
fn known_score<'db>(
    db: &'db dyn Db,
    grader: Grader<'db>,
    planned: &GradePlan,
    key: ActionKey,
    found: &mut KnownGrades,
) -> Option<KnownScore> {
    let outcome = db.outcome(key)?;
    let Outcome::Reply(reply) = outcome.as_ref() else { return None };
    let Threshold(threshold) = grader.pass_threshold(db);
    let cell = evaluate::cell(planned, ready(db, grader), &|key| db.outcome(key), threshold)?;
    if !cell.is_verdict() {
        return None;
    }
    let place = reply.model.as_deref().map(|model| place_of(model, &mut found.models));
    // Nobody has so many models that there are no numbers left.
    let model = place.map(u16::try_from).transpose().ok()?;
    found.actions.push(KnownReply {
        key: key.0,
        reply: db.archived_reply(key)?,
        usage: reply.usage.map(KnownUsage::of),
        model,
    });
    let of_nothing = speaks_of_nothing(&reply.text);
    Some(KnownScore { score: cell.score, pass: None, applies: true, of_nothing })
}

/// The place of a model among those that replied, to which it is added.
fn place_of(model: &str, models: &mut Vec<String>) -> usize {
    models.iter().position(|known| known == model).unwrap_or_else(|| {
        models.push(model.to_owned());
        models.len() - 1
    })
}
