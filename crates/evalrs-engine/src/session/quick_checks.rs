//! Whether an edit of rows leaves the dataset good, seen from the new rows alone.
//!
//! Most saves touch a few rows of a good dataset. These checks are sufficient, not necessary: where they fail, everything
//! is loaded apart, which says what is wrong, if something is. Where they pass, loading apart would find nothing.

use std::collections::HashSet;

use super::Session;
use evalrs_eval::dataset::chunk::{ChunkedDataset, HeldChunks, Records};
use evalrs_eval::dataset::fields::RowSpec;
use evalrs_eval::evaluate::sought::{SoughtName, found_in};
use evalrs_graph::inputs::Chunk;
use evalrs_graph::labels::are_rows_labelled;
use evalrs_graph::queries::{self, CheckedRecords};
use evalrs_graph::rows;
use evalrs_graph::selection::SelectableCase;

/// An edit of rows: what is new, and which chunks stay and go.
struct RowEdit<'a> {
    fresh: Vec<&'a Records>,
    checked: Vec<CheckedRecords>,
    stay: Vec<Chunk>,
    go: Vec<Chunk>,
}

impl Session {
    /// Whether the dataset is surely good once it is made of these chunks.
    pub(crate) fn pass_quick_checks(&self, chunks: &[ChunkedDataset]) -> bool {
        let Some(spec) = queries::row_spec(&self.db, self.root) else { return false };
        // Labels that the suite names are wrong where no grader can read them, which rows alone do not tell.
        if are_rows_labelled(&self.db, self.root) {
            return false;
        }
        let suite = queries::suite(&self.db, self.root).suite.as_ref();
        let mut metrics = suite.iter().flat_map(|suite| &suite.metrics);
        // That some row is of a class only all of them tell.
        if metrics.any(|metric| metric.class().is_some()) {
            return false;
        }
        let edit = self.row_edit(chunks, spec);
        self.are_new_rows_good(&edit, spec)
            && self.is_every_name_found(&edit, spec)
            && self.are_new_cases_others(&edit)
    }

    fn row_edit<'a>(&self, chunks: &'a [ChunkedDataset], spec: &RowSpec) -> RowEdit<'a> {
        let fresh: Vec<&Records> = chunks.iter().filter_map(|chunk| chunk.fresh.as_ref()).collect();
        let condition = queries::row_condition(&self.db, self.root).as_ref();
        let checked =
            fresh.iter().map(|records| CheckedRecords::of(records, spec, condition)).collect();
        let kept = chunks.iter().filter(|chunk| chunk.fresh.is_none());
        let mut kept: HeldChunks = kept.map(|chunk| chunk.hash).collect();
        let all = self.root.chunks(&self.db).iter().copied();
        let (stay, go) = all.partition(|chunk| kept.take(chunk.records(&self.db).hash()));
        RowEdit { fresh, checked, stay, go }
    }

    /// Whether every new row can be read, lacks nothing that graders need, and names only rubrics and graders that are known.
    fn are_new_rows_good(&self, edit: &RowEdit<'_>, spec: &RowSpec) -> bool {
        let needs = queries::row_needs(&self.db, self.root);
        let rubrics = rows::rubric_files(&self.db, self.root);
        let suite = queries::suite(&self.db, self.root).suite.as_ref();
        let graders = suite.map(|suite| suite.graders.as_slice()).unwrap_or_default();
        let mut fresh = edit.fresh.iter().zip(&edit.checked);
        fresh.all(|(rows, checked)| {
            let mut named = checked.named_graders.iter().flat_map(|(_, named)| named);
            checked.problems.is_empty()
                && checked.rubric_files.iter().all(|(_, path)| rubrics.contains(path))
                && named.all(|name| graders.iter().any(|grader| grader.name == *name))
                && queries::unmet_in(rows, spec, needs, checked).is_empty()
        })
    }

    /// Whether every path that the suite maps is in a row, a new one or one that stays, and every name that a rubric, a
    /// condition or a metric found in the rows before.
    fn is_every_name_found(&self, edit: &RowEdit<'_>, spec: &RowSpec) -> bool {
        let in_vain = rows::in_vain(&self.db, self.root);
        let all = rows::sought(&self.db, self.root);
        let names = all.iter().filter(|sought| !matches!(sought, SoughtName::Path(_)));
        let names = names.filter(|name| !in_vain.contains(name)).cloned();
        let fields: Vec<SoughtName> = SoughtName::by_fields(spec).chain(names).collect();
        let fresh = edit.fresh.iter().zip(&edit.checked);
        let in_fresh = fresh.map(|(records, checked)| {
            found_in(records, spec, &fields, &|at| checked.is_left_out(at, spec))
        });
        let in_fresh: Vec<Box<[bool]>> = in_fresh.collect();
        fields.iter().enumerate().all(|(at, field)| {
            let ordinal = all.iter().position(|other| other == field);
            in_fresh.iter().any(|found| found[at])
                || ordinal.is_some_and(|at| {
                    edit.stay.iter().any(|chunk| rows::found(&self.db, *chunk)[at])
                })
        })
    }

    /// Whether no case of the new rows claims to be one that stays, or another new one.
    fn are_new_cases_others(&self, edit: &RowEdit<'_>) -> bool {
        let mut cases = HashSet::new();
        let named = edit.checked.iter().flat_map(CheckedRecords::counted);
        for who in named.filter(|who| who.content_id.is_none()) {
            if !cases.insert(who.case()) {
                return false;
            }
        }
        let whos = |chunk: &Chunk| queries::checked(&self.db, *chunk).counted();
        // Mostly the new cases are those of the rows that were edited: then the others need no look.
        let gone: HashSet<u128> = edit.go.iter().flat_map(whos).map(SelectableCase::case).collect();
        cases.is_subset(&gone)
            || !edit.stay.iter().flat_map(whos).any(|who| cases.contains(&who.case()))
    }
}
