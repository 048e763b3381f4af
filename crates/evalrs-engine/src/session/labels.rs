//! Loads the file of labels, and reports what is wrong with labels or probably not meant.
//!
//! Only a file that the command line names and a field that the suite names can be wrong; a field that happens to be
//! called `label` can at most be none.

use super::Session;
use super::files_read::SmallFile;
use super::shortened::shortened;
use evalrs_base::diagnostic::{Diagnostic, Place, clipped};
use evalrs_base::file_text::FileText;
use evalrs_eval::dataset::label_file::some_of;
use evalrs_eval::dataset::label_value::{LabelValue, not_a_label};
use evalrs_graph::inputs::Root;
use evalrs_graph::{Database, labels, queries};
use evalrs_model::spec::{GraderKind, Scale, Suite};
use evalrs_system::System;

impl Session {
    /// Reads the labels of the file, and reports what is wrong with them. What is of no sample is
    /// said only where the dataset `is_good`.
    pub(crate) fn load_labels(&mut self, system: &dyn System, is_good: bool) -> Vec<Diagnostic> {
        let file = labels::file(&self.db, self.root);
        // One that was there before was read with all others.
        if *file.text(&self.db) == FileText::Unread {
            self.read_small(system, file);
        }
        let problems = labels::label_reading(&self.db, self.root).problems.clone();
        let is_good = is_good && !problems.iter().any(Diagnostic::is_error);
        let mut found = shortened(problems);
        if is_good {
            found.extend(unused_lines(&self.db, self.root));
            found.extend(self.no_labels());
        }
        found
    }

    /// Reads the file of labels again, and uses it if nothing is wrong with it: else the next reload says what is. True if it
    /// says something new. Nothing else is looked at, so that a label that a person gives is compared at once.
    pub fn reload_labels(&mut self, system: &dyn System) -> bool {
        let file = labels::file(&self.db, self.root);
        let path = file.path(&self.db).clone();
        let new = SmallFile::read(system, &path, self.is_big(file));
        if new.text == *file.text(&self.db) {
            return false;
        }
        let text = file.text(&self.db).clone();
        let held = SmallFile { text, digest: self.digests.get(&path).cloned() };
        self.set_small(vec![(path.clone(), new)]);
        let problems = &labels::label_reading(&self.db, self.root).problems;
        let is_good = !problems.iter().any(Diagnostic::is_error);
        if !is_good {
            self.set_small(vec![(path, held)]);
        }
        is_good
    }

    /// Says that what rows have as labels is none for any grader.
    pub(crate) fn no_labels(&self) -> Option<Diagnostic> {
        let db = &self.db;
        let root = self.root;
        let suite = queries::suite(db, root).suite.as_ref()?;
        let scales = labels::scales(db, root);
        let extents = labels::row_extents(db, root);
        let is_mapped = labels::are_rows_labelled(db, root);
        if scales.iter().any(|(name, scale)| extents.read_for(name, *scale))
            || !is_mapped && (uses_label(suite) || !extents.are_meant(scales))
        {
            return None;
        }
        let message = if extents.is_empty() {
            let foreign = clipped(extents.foreign.as_deref()?);
            format!(
                "`label` is for no grader of the suite, but for `{foreign}`: labels are not compared"
            )
        } else {
            // Of several graders the one whose scale held for the most rows is probably meant.
            let unread =
                scales.iter().filter_map(|of| Some((first_unread(db, root, &of.0, of.1)?, of)));
            let (record, scale) = unread.rev().max_by_key(|(record, _)| *record)?;
            let row = self.row(record);
            let what = not_a_label(std::slice::from_ref(scale));
            format!("`label` of row {row} is {what}: labels are not compared")
        };
        let hint = if is_mapped {
            "name the grader that a label is for: {\"label\": {\"GRADER\": …}}"
        } else {
            "name the field that holds labels: `fields: {label: NAME}`"
        };
        Some(Diagnostic::warning(Place::file(&suite.dataset.path), message).hint(hint))
    }

    /// The number, from 1, of the row that a record was made of: a row with several recordings is several records.
    fn row(&self, record: usize) -> usize {
        let chunks = self.root.chunks(&self.db).iter();
        let records = chunks.flat_map(|chunk| chunk.records(&self.db).iter()).take(record + 1);
        let mut before = None;
        let firsts = records.filter(|(row, recorded)| {
            let is_same = !recorded.is_empty() && before == Some(*row);
            before = Some(*row);
            !is_same
        });
        firsts.count()
    }
}

fn unused_lines(db: &Database, root: Root) -> Option<Diagnostic> {
    let (count, samples) = labels::unused_lines(db, root);
    if *count == 0 {
        return None;
    }
    let path = labels::file(db, root).path(db);
    let match_none = if *count == 1 { "label matches" } else { "labels match" };
    let message = format!("{count} {match_none} no row: {}", some_of(samples));
    Some(Diagnostic::warning(Place::file(path), message).hint("ids are those of results.jsonl"))
}

/// The first row, from 0, whose label is none on the scale of a grader.
fn first_unread(db: &Database, root: Root, name: &str, scale: Scale) -> Option<usize> {
    let mut before = 0;
    for chunk in root.chunks(db) {
        let said = labels::row_labels(db, *chunk).said.iter();
        let mut unread = said.map(|said: &Option<LabelValue>| {
            let mut all = said.iter().flat_map(|said| said.all_for(name));
            all.any(|one| one.on(scale).is_none())
        });
        if let Some(at) = unread.position(|is_unread| is_unread) {
            return Some(before + at);
        }
        before += chunk.records(db).len();
    }
    None
}

/// Whether the suite already uses what rows have as `label` for something else.
fn uses_label(suite: &Suite) -> bool {
    suite.graders.iter().any(|grader| match &grader.kind {
        GraderKind::Rubric(rubric) => rubric.prompt.contains("{row.label"),
        kind => labels::takes_label(kind),
    })
}
