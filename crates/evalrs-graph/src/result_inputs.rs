//! What the results of an evaluation are made of, as one digest: all that is in the database, and the result of every
//! action.
//!
//! Results are a pure function of it. So where it is what it was when an earlier run wrote its results, by the same program,
//! these are the results of this run too, and need not be put together to be told.

use super::Database;
use super::graders::{environment_base_urls, suite};
use super::inputs::Root;
use evalrs_base::file_text::FileText;

/// The digest of everything that results are made of. It means something to the same program alone.
pub fn digest(db: &Database, root: Root) -> blake3::Hash {
    let mut inputs = InputHasher::default();
    // With the environment filled in: what else stands there does not matter.
    inputs.add(&format!("{:?}", suite(db, root)));
    inputs.add(&format!("{:?}", environment_base_urls(db, root)));
    inputs.add(&format!("{:?}", root.overrides(db)));
    inputs.add(&format!("{:?}", root.prices(db)));
    for (path, file) in db.files() {
        inputs.add(&path);
        match file.text(db) {
            FileText::Text(text) => inputs.add(text),
            other => inputs.add(&format!("{other:?}")),
        }
    }
    for (spec, program) in db.programs() {
        inputs.add(&spec);
        inputs.add(&format!("{:?}", program.state(db)));
    }
    for chunk in root.chunks(db) {
        inputs.0.update(&chunk.records(db).hash().to_le_bytes());
    }
    inputs.0.update(&db.outcomes.digest().to_le_bytes());
    inputs.0.finalize()
}

/// Texts one after the other, each with its length.
#[derive(Default)]
struct InputHasher(blake3::Hasher);

impl InputHasher {
    fn add(&mut self, text: &str) {
        self.0.update(&(text.len() as u64).to_le_bytes());
        self.0.update(text.as_bytes());
    }
}
