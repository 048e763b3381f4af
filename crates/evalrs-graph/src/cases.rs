//! The cases of chunks: who they are, what is wrong with them, and which are evaluated.

use super::Db;
use super::graders::{row_condition, row_needs, row_spec, suite};
use super::inputs::{Chunk, Overrides, Root};
use super::known_rows;
use super::selection::{CaseOrdinals, Narrowing, SelectableCase, Selection, select};
use evalrs_eval::dataset::Sample;
use evalrs_eval::dataset::chunk::Records;
use evalrs_eval::dataset::condition::is_left_out;
use evalrs_eval::dataset::content_id::content_id;
use evalrs_eval::dataset::fields::{RowProblem, RowSpec};
use evalrs_eval::dataset::join::NOT_RECORDED;
use evalrs_eval::dataset::row::{self, OpenedRow, RowId, RowRecord};
use evalrs_eval::evaluate::needs::RowNeeds;
use evalrs_model::expression::RowCondition;

/// What a chunk's records say about themselves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckedRecords {
    /// Who each case is.
    pub whos: Vec<SelectableCase>,
    /// What is wrong: record, problem.
    pub problems: Vec<(usize, RowProblem)>,
    /// Rubrics that rows name: record, path from the suite's folder.
    pub rubric_files: Vec<(usize, String)>,
    /// Graders that rows name, each list once: the first record, names.
    pub named_graders: Vec<(usize, Vec<String>)>,
    /// The cases that the filter leaves out, whose shapes do not matter; nothing without a filter.
    pub left_out: Box<[bool]>,
}

impl CheckedRecords {
    /// What `records` say, whether the database holds them or not.
    pub fn of(records: &Records, spec: &RowSpec, condition: Option<&RowCondition>) -> Self {
        let mut checked = Self::default();
        if condition.is_some() {
            let cases = cases(records, spec);
            checked.left_out = cases.map(|(_, it)| is_left_out(it, spec, condition)).collect();
        }
        for (case, (at, record)) in cases(records, spec).enumerate() {
            if checked.left_out.get(case) == Some(&true) {
                checked.whos.push(left_out(record, spec));
                continue;
            }
            checked.add_named_graders(at, record, spec);
            match row::check(record, spec) {
                Ok(Sample { id, model, trial, tags, rubric_path, .. }) => {
                    let content_id = id.is_none().then(|| content_id(record, spec));
                    checked.whos.push(SelectableCase {
                        identity: RowId { id, model, trial, tags },
                        content_id,
                    });
                    checked.rubric_files.extend(rubric_path.map(|path| (at, path)));
                }
                // What is wrong with the row is wrong with all its cases, and reported once.
                Err(problem) => {
                    let problem = (at, problem);
                    if checked.problems.last() != Some(&problem) {
                        checked.problems.push(problem);
                    }
                }
            }
        }
        checked
    }

    /// Whether each case counts.
    pub fn counts(&self) -> impl Iterator<Item = bool> {
        (0..self.whos.len()).map(|case| self.left_out.get(case) != Some(&true))
    }

    /// Who the cases that count are.
    pub fn counted(&self) -> impl Iterator<Item = &SelectableCase> {
        self.whos.iter().zip(self.counts()).filter(|(_, counts)| *counts).map(|(who, _)| who)
    }

    /// Whether a record does not count, whichever of its cases is meant.
    pub fn is_left_out(&self, at: usize, spec: &RowSpec) -> bool {
        let per_record = spec.cases();
        let cases = self.left_out.get(at * per_record..(at + 1) * per_record);
        cases.is_some_and(|cases| cases.iter().all(|left_out| *left_out))
    }

    fn add_named_graders(&mut self, at: usize, record: RowRecord<'_>, spec: &RowSpec) {
        // Hardly any row names some.
        if record.case > 0 || !row::may_name_graders(record.row, spec) {
            return;
        }
        let named = OpenedRow::new(record, spec).ok().and_then(|row| row.named_graders());
        if let Some(named) = named
            && !self.named_graders.iter().any(|(_, known)| *known == named)
        {
            self.named_graders.push((at, named));
        }
    }
}

/// Who a case is that does not count, as far as that can be read.
fn left_out(record: RowRecord<'_>, spec: &RowSpec) -> SelectableCase {
    let identity = OpenedRow::new(record, spec).and_then(|row| row.identity());
    let unknown = RowId { id: None, model: None, trial: 0, tags: Vec::new() };
    let identity = identity.unwrap_or(unknown);
    let content_id = identity.id.is_none().then(|| content_id(record, spec));
    SelectableCase { identity, content_id }
}

/// The cases of a chunk and everything that is wrong with them.
#[salsa::tracked]
pub fn checked(db: &dyn Db, chunk: Chunk) -> CheckedRecords {
    let root = chunk.root(db);
    let Some(spec) = row_spec(db, root) else { return CheckedRecords::default() };
    if let Some(whos) = known_rows::whos(db, chunk) {
        return CheckedRecords { whos, ..CheckedRecords::default() };
    }
    CheckedRecords::of(chunk.records(db), spec, row_condition(db, root).as_ref())
}

/// The cases of some records: the position of the record, and the case.
pub fn cases<'a>(
    records: &'a Records,
    spec: &RowSpec,
) -> impl Iterator<Item = (usize, RowRecord<'a>)> {
    let cases = 0..records.len() * spec.cases();
    cases.filter_map(move |case| Some((case / spec.cases(), record_at(records, spec, case)?)))
}

/// The record of a case, without what a target that is run has answered.
pub fn record_of(db: &dyn Db, chunk: Chunk, case: usize) -> Option<RowRecord<'_>> {
    let spec = row_spec(db, chunk.root(db)).as_ref()?;
    record_at(chunk.records(db), spec, case)
}

pub(super) fn record_at<'a>(
    records: &'a Records,
    spec: &RowSpec,
    case: usize,
) -> Option<RowRecord<'a>> {
    let at = case / spec.cases();
    let (row, recorded) = (at < records.len()).then(|| records.get(at))?;
    // What a row records itself is not what a target that is run has answered.
    let recorded = if spec.live.is_some() { NOT_RECORDED } else { recorded };
    Some(RowRecord { row, recorded, case: case % spec.cases() })
}

/// What rows lack of what graders need: record, problem.
#[salsa::tracked]
pub fn unmet(db: &dyn Db, chunk: Chunk) -> Vec<(usize, RowProblem)> {
    let root = chunk.root(db);
    let Some(spec) = row_spec(db, root) else { return Vec::new() };
    if known_rows::are_needs_met(db, chunk) {
        return Vec::new();
    }
    unmet_in(chunk.records(db), spec, row_needs(db, root), checked(db, chunk))
}

/// What records that count lack, whether the database holds them or not.
pub fn unmet_in(
    records: &Records,
    spec: &RowSpec,
    needs: &RowNeeds,
    checked: &CheckedRecords,
) -> Vec<(usize, RowProblem)> {
    if *needs == RowNeeds::default() {
        return Vec::new();
    }
    let problems = |at: usize| {
        let record = record_at(records, spec, at * spec.cases());
        let problems = record.map(|record| needs.problems(record, spec)).unwrap_or_default();
        problems.into_iter().map(move |problem| (at, problem))
    };
    let counted = (0..records.len()).filter(|at| !checked.is_left_out(*at, spec));
    counted.flat_map(problems).collect()
}

#[salsa::tracked]
pub fn narrowing(db: &dyn Db, root: Root) -> Narrowing {
    let overrides: &Overrides = root.overrides(db);
    let suite = suite(db, root).suite.as_ref();
    let tags = match suite {
        Some(suite) if overrides.tags.is_empty() => suite.sample_tags.clone(),
        _ => overrides.tags.clone(),
    };
    Narrowing {
        max_samples: overrides.max_samples.or_else(|| suite?.max_samples),
        tags,
        samples: overrides.samples.clone(),
        trials: overrides
            .trials
            .or_else(|| suite.map(|suite| suite.num_runs).filter(|runs| *runs > 1)),
        one_in: overrides.batching.map(|planned| planned.one_in),
        cases_per_record: row_spec(db, root).as_ref().map_or(1, RowSpec::cases),
        partition: overrides.partition.clone(),
    }
}

/// Which cases are evaluated.
#[salsa::tracked]
pub fn selection(db: &dyn Db, root: Root) -> Selection {
    let chunks = root.chunks(db).iter().map(|chunk| checked(db, *chunk));
    let chunks: Vec<(&[SelectableCase], &[bool])> =
        chunks.map(|checked| (&checked.whos[..], &checked.left_out[..])).collect();
    select(&chunks, narrowing(db, root))
}

#[salsa::tracked]
fn ordinals(db: &dyn Db, root: Root) -> std::collections::HashMap<Chunk, usize> {
    root.chunks(db).iter().enumerate().map(|(at, chunk)| (*chunk, at)).collect()
}

/// Which of a chunk's cases are evaluated: all that plans need to know of the selection.
#[salsa::tracked]
pub fn mask(db: &dyn Db, chunk: Chunk) -> Box<[bool]> {
    places(db, chunk).iter().map(|place| place.is_in()).collect()
}

/// Which of several identical rows without ids each of a chunk's cases is, from 1: all that ids need of the selection.
#[salsa::tracked]
pub fn occurrences(db: &dyn Db, chunk: Chunk) -> Box<[u32]> {
    places(db, chunk).iter().map(|place| place.occurrence).collect()
}

/// Who a chunk's cases are, evaluated or not, each with its place.
pub fn placed(db: &dyn Db, chunk: Chunk) -> impl Iterator<Item = (&SelectableCase, &CaseOrdinals)> {
    checked(db, chunk).whos.iter().zip(places(db, chunk))
}

/// The same of one case.
pub fn placed_at(
    db: &dyn Db,
    chunk: Chunk,
    case: usize,
) -> Option<(&SelectableCase, &CaseOrdinals)> {
    Some((checked(db, chunk).whos.get(case)?, places(db, chunk).get(case)?))
}

/// The places of a chunk's cases.
pub fn places(db: &dyn Db, chunk: Chunk) -> &[CaseOrdinals] {
    let root = chunk.root(db);
    let at = ordinals(db, root).get(&chunk);
    at.and_then(|at| selection(db, root).places.get(*at)).map_or(&[], |places| &places[..])
}
