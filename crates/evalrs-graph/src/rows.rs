//! What rows have of what the suite looks for, and the files that they name: folds that an edit of one row, or of a
//! rubric that looks for the same things, does not walk again.

use std::collections::BTreeSet;

use super::Db;
use super::cases::{cases, checked};
use super::graders::{row_spec, suite};
use super::inputs::{Chunk, Root};
use evalrs_eval::dataset::fields::{RowFields, RowSpec};
use evalrs_eval::dataset::row::OpenedRow;
use evalrs_eval::evaluate::sought::{SoughtName, found_in};
use evalrs_trajectory::CallMarks;

/// The first row that counts, whose names hints tell.
pub fn first<'db>(db: &'db dyn Db, root: Root, spec: &'db RowSpec) -> Option<RowFields<'db>> {
    let mut first = root.chunks(db).iter().filter_map(|chunk| {
        let mut rows = chunk.records(db).iter().enumerate();
        let (_, (row, _)) = rows.find(|(at, _)| !checked(db, *chunk).is_left_out(*at, spec))?;
        Some(row)
    });
    RowFields::new(first.next()?, spec).ok()
}

/// What the suite looks for in rows, each once.
#[salsa::tracked]
pub fn sought(db: &dyn Db, root: Root) -> Vec<SoughtName> {
    let (Some(suite), Some(spec)) = (&suite(db, root).suite, row_spec(db, root)) else {
        return Vec::new();
    };
    let by_graders = suite.graders.iter().flat_map(SoughtName::by_grader);
    let conditions = suite.graders.iter().map(|grader| grader.only.as_ref());
    let conditions = conditions.chain([suite.dataset.condition.as_ref()]);
    let by_conditions = conditions.flat_map(SoughtName::by_condition);
    let by_metrics = suite.metrics.iter().flat_map(SoughtName::by_metric);
    let all = by_graders.chain(by_conditions).chain(by_metrics).chain(SoughtName::by_fields(spec));
    let all: BTreeSet<SoughtName> = all.collect();
    all.into_iter().collect()
}

/// For each of [`sought`], whether a row of this chunk has it.
#[salsa::tracked]
pub fn found(db: &dyn Db, chunk: Chunk) -> Box<[bool]> {
    let root = chunk.root(db);
    let Some(spec) = row_spec(db, root) else { return Box::default() };
    let checked = checked(db, chunk);
    let is_left_out = |at| checked.is_left_out(at, spec);
    found_in(chunk.records(db), spec, sought(db, root), &is_left_out)
}

/// How the rows of a chunk tell of failed calls.
#[salsa::tracked(returns(copy))]
fn call_marks(db: &dyn Db, chunk: Chunk) -> CallMarks {
    let Some(spec) = row_spec(db, chunk.root(db)) else { return CallMarks::default() };
    let checked = checked(db, chunk);
    let counted =
        cases(chunk.records(db), spec).zip(checked.counts()).filter(|(_, counts)| *counts);
    counted.fold(CallMarks::default(), |marks, ((_, record), _)| {
        OpenedRow::new(record, spec).map_or(marks, |row| marks.or(row.call_marks()))
    })
}

/// Whether tools answered in rows whose format has no sign of a failed call, and none of them says so all the same.
pub fn are_calls_unmarked(db: &dyn Db, root: Root) -> bool {
    let chunks = root.chunks(db).iter().map(|chunk| call_marks(db, *chunk));
    let all = chunks.fold(CallMarks::default(), CallMarks::or);
    all.unmarked && !all.marked
}

/// What no row has. Looks no further than the first chunks that have everything.
#[salsa::tracked]
pub fn in_vain(db: &dyn Db, root: Root) -> Vec<SoughtName> {
    let sought = sought(db, root);
    let mut missing: Vec<usize> = (0..sought.len()).collect();
    for chunk in root.chunks(db) {
        if missing.is_empty() {
            break;
        }
        let found = found(db, *chunk);
        missing.retain(|at| !found[*at]);
    }
    // Of no rows nothing is said.
    let mut counts = root.chunks(db).iter().flat_map(|chunk| checked(db, *chunk).counts());
    if !missing.is_empty() && !counts.any(|counts| counts) {
        missing.retain(|at| !sought[*at].is_of_counted());
    }
    missing.into_iter().map(|at| sought[at].clone()).collect()
}

/// The rubrics that rows name, from the suite's folder, sorted, each once.
#[salsa::tracked]
pub fn rubric_files(db: &dyn Db, root: Root) -> Vec<String> {
    let chunks = root.chunks(db).iter();
    let named = chunks.flat_map(|chunk| checked(db, *chunk).rubric_files.iter());
    let all: BTreeSet<&String> = named.map(|(_, path)| path).collect();
    all.into_iter().cloned().collect()
}
