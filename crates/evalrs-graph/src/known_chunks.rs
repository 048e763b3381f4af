//! Makes what is known of chunks out of an evaluation that is settled, for processes to come.
//!
//! Of plain chunks alone: all of their cases are evaluated, and nothing is wrong with their rows or special about them. Of
//! graders with one grade or one judgment a case, all of them verdicts. The rest is read again each time.

use bytes::Bytes;

use super::Db;
use super::cases::{CheckedRecords, checked, mask, unmet};
use super::graders::{Grader, Threshold, graders, ready};
use super::inputs::{Chunk, Root};
use super::known::{KnownChunk, KnownGrades, KnownResults};
use super::known_bytes::{ChunkParts, DIGEST, GradeParts, KnownReply, KnownScore, KnownUsage};
use super::known_grades::{combined, grader_scope, grades, is_alone, results_scope, verdicts};
use super::known_rows::{check_scope, need_scope, rows};
use super::labels::given::{RowLabels, label_scope, row_labels};
use super::queries::plans;
use evalrs_eval::evaluate::{self, GradePlan};
use evalrs_eval::grade::{is_of_nothing, speaks_of_nothing};
use evalrs_model::key::ActionKey;
use evalrs_model::outcome::Outcome;

/// A chunk of which something is known by now.
#[derive(Clone, Debug)]
pub struct CollectedChunk {
    /// The digest of its rows.
    pub hash: u128,
    /// What [`KnownChunk::read`] reads. Those of an earlier process where they say the same.
    pub bytes: Bytes,
    /// Where its results stand.
    pub results: Option<KnownResults>,
}

/// What is known of each chunk by now. `questions` are the digests of what the evaluated cases ask, in dataset order; nothing
/// where nobody knows them. `places` are the first byte and the length of the results of each chunk; nothing where nobody knows
/// them.
pub fn collect(
    db: &dyn Db,
    root: Root,
    questions: &[[u8; DIGEST]],
    places: &[Option<(u64, u64)>],
) -> Vec<CollectedChunk> {
    let scope = results_scope(db, root);
    let mut left = questions;
    let known = root.chunks(db).iter().enumerate().filter_map(|(at, chunk)| {
        let evaluated = mask(db, *chunk).iter().filter(|is_in| **is_in).count();
        let (asked, rest) = left.split_at(evaluated.min(left.len()));
        left = rest;
        let hash = chunk.records(db).hash();
        let is_alone = is_alone(db, *chunk);
        let asked = if is_alone { asked } else { &[] };
        let bytes = match unchanged(db, *chunk, asked) {
            Some(known) => known.bytes.clone(),
            None => Bytes::from(found(db, *chunk, asked)?),
        };
        let place = places.get(at).copied().flatten().filter(|_| is_alone);
        let results = place.zip(scope).and_then(|((from, length), scope)| {
            let known = KnownChunk::read(bytes.clone(), None)?;
            let is_whole = known.grades.len() == graders(db, root).len();
            let verdicts = verdicts(db, root, &known.grades);
            is_whole.then_some(KnownResults { scope, verdicts, from, bytes: length })
        });
        Some(CollectedChunk { hash, bytes, results })
    });
    known.collect()
}

/// What an earlier process found of a chunk, if this one found the same and nothing more.
fn unchanged<'db>(
    db: &'db dyn Db,
    chunk: Chunk,
    asked: &[[u8; DIGEST]],
) -> Option<&'db KnownChunk> {
    let known = db.known_chunk(chunk.records(db).hash())?;
    let held = rows(db, chunk)?;
    let has_same_rows = held.needs == needs(db, chunk)
        && held.unlabelled == unlabelled(db, chunk)
        && mask(db, chunk).iter().all(|is_in| *is_in)
        && (asked.is_empty() || asked == held.questions());
    let graders = graders(db, chunk.root(db));
    let is_same = |(grader, known): (&Grader<'_>, &KnownGrades)| {
        grades(db, chunk, *grader).is_some_and(|grades| grades.scope == known.scope)
    };
    let has_same_grades =
        graders.len() == known.grades.len() && graders.iter().zip(&known.grades).all(is_same);
    (has_same_rows && has_same_grades).then_some(known)
}

/// The scope of what graders need of rows, if the rows of a chunk have it.
fn needs(db: &dyn Db, chunk: Chunk) -> Option<u128> {
    unmet(db, chunk).is_empty().then(|| need_scope(db, chunk.root(db))).flatten()
}

/// The scope of labels, if no row of a chunk has one.
fn unlabelled(db: &dyn Db, chunk: Chunk) -> Option<u128> {
    (*row_labels(db, chunk) == RowLabels::default())
        .then(|| label_scope(db, chunk.root(db)))
        .flatten()
}

/// What is found of a chunk, as bytes; none if it is no plain one, or part of it is not evaluated.
fn found(db: &dyn Db, chunk: Chunk, asked: &[[u8; DIGEST]]) -> Option<Vec<u8>> {
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
        Some(known) if asked.is_empty() => known.questions(),
        _ => asked,
    };
    let of_graders = graders(db, chunk.root(db)).iter();
    let grades: Vec<FoundGrades> =
        of_graders.filter_map(|grader| found_grades(db, chunk, *grader)).collect();
    let parts = ChunkParts {
        scope,
        needs: needs(db, chunk),
        unlabelled: unlabelled(db, chunk),
        cases: whos.len(),
        whos: &postcard::to_allocvec(whos).ok()?,
        questions: questions.as_flattened(),
        grades: grades.iter().map(FoundGrades::parts).collect(),
    };
    Some(parts.written())
}

/// The grades of a chunk by one grader, as they are written.
#[derive(Default)]
struct FoundGrades {
    scope: u128,
    models: Vec<String>,
    scores: Vec<u8>,
    actions: Vec<u8>,
}

impl FoundGrades {
    fn parts(&self) -> GradeParts<'_> {
        let Self { scope, models, scores, actions } = self;
        GradeParts { scope: *scope, models: models.clone(), scores, actions }
    }
}

fn found_grades<'db>(db: &'db dyn Db, chunk: Chunk, grader: Grader<'db>) -> Option<FoundGrades> {
    if let Some(known) = grades(db, chunk, grader) {
        let KnownGrades { scope, models, scores, actions } = known;
        return Some(FoundGrades {
            scope: *scope,
            models: models.clone(),
            scores: scores.to_vec(),
            actions: actions.to_vec(),
        });
    }
    let mut found = FoundGrades { scope: (*grader_scope(db, grader))?, ..FoundGrades::default() };
    let combined = combined(db, chunk, grader);
    for planned in combined.as_deref().unwrap_or_else(|| plans(db, chunk, grader)) {
        let score = match planned {
            GradePlan::Graded(grade) if grade.error.is_none() => KnownScore {
                score: grade.score,
                pass: grade.pass,
                applies: grade.applies,
                of_nothing: is_of_nothing(&grade.rationale),
            },
            GradePlan::Ask(key) => found_score(db, grader, planned, *key, &mut found)?,
            _ => return None,
        };
        score.write(&mut found.scores);
    }
    Some(found)
}

/// The score of a judgment, and what it rests on.
fn found_score<'db>(
    db: &'db dyn Db,
    grader: Grader<'db>,
    planned: &GradePlan,
    key: ActionKey,
    found: &mut FoundGrades,
) -> Option<KnownScore> {
    let outcome = db.outcome(key)?;
    let Outcome::Reply(reply) = outcome.as_ref() else { return None };
    let Threshold(threshold) = grader.pass_threshold(db);
    let cell = evaluate::cell(planned, ready(db, grader), &|key| db.outcome(key), threshold)?;
    if !cell.is_verdict() {
        return None;
    }
    let usage = match reply.usage {
        Some(usage) => Some(KnownUsage::of(usage)?),
        None => None,
    };
    let place = reply.model.as_deref().map(|model| place_of(model, &mut found.models));
    // Nobody has so many models that there are no numbers left.
    let model = place.map(u16::try_from).transpose().ok()?;
    let reply_digests = db.archived_reply(key)?;
    KnownReply { key: key.0, reply: reply_digests, usage, model }.write(&mut found.actions);
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
