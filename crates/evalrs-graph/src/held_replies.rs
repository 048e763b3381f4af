//! Replies of a chunk that the graph has let go of, while somebody reads them: the store is asked once, not for each.

use super::Database;
use super::graders::graders;
use super::inputs::Chunk;
use super::known::KnownGrades;
use super::known_grades::grades_then;
use evalrs_model::key::ActionKey;

/// They are let go of again when this is dropped.
pub(crate) struct HeldReplies<'a> {
    db: &'a Database,
    keys: Vec<ActionKey>,
}

impl<'a> HeldReplies<'a> {
    pub(crate) fn of(db: &'a Database, chunk: Chunk) -> Self {
        let graders = graders(db, chunk.root(db)).iter();
        let known = graders.filter_map(|grader| grades_then(db, chunk, *grader));
        Self { db, keys: db.outcomes.bring_back(known.flat_map(KnownGrades::keys)) }
    }

    pub(crate) fn db(&self) -> &'a Database {
        self.db
    }
}

impl Drop for HeldReplies<'_> {
    fn drop(&mut self) {
        for key in &self.keys {
            self.db.outcomes.release(*key);
        }
    }
}
