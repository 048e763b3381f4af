//! What is known of the rows of chunks, if rows are read as they were.

use std::fmt::Debug;

use xxhash_rust::xxh3::Xxh3;

use super::Db;
use super::graders::{row_condition, row_needs, row_spec};
use super::inputs::{Chunk, Root};
use super::known::KnownRows;
use super::selection::SelectableCase;

/// The digest of what something is made of.
pub(crate) fn scope_of(parts: &[&dyn Debug]) -> u128 {
    let mut hasher = Xxh3::new();
    for part in parts {
        let text = format!("{part:?}");
        hasher.update(&(text.len() as u64).to_le_bytes());
        hasher.update(text.as_bytes());
    }
    hasher.digest128()
}

/// The scope of who the cases are, and of what is wrong with them.
#[salsa::tracked(returns(copy))]
pub(crate) fn check_scope(db: &dyn Db, root: Root) -> Option<u128> {
    let spec = row_spec(db, root).as_ref().filter(|spec| spec.live.is_none())?;
    Some(scope_of(&[spec, row_condition(db, root)]))
}

/// The scope of what rows lack.
#[salsa::tracked(returns(copy))]
pub(crate) fn need_scope(db: &dyn Db, root: Root) -> Option<u128> {
    Some(scope_of(&[&check_scope(db, root)?, row_needs(db, root)]))
}

/// What is known of the cases of a chunk.
pub(crate) fn rows(db: &dyn Db, chunk: Chunk) -> Option<&KnownRows> {
    let known = db.known_chunk(chunk.records(db).hash())?;
    (check_scope(db, chunk.root(db)) == Some(known.rows.scope)).then_some(&known.rows)
}

/// Who the cases of a chunk are, if nothing is wrong with its rows.
pub(crate) fn whos(db: &dyn Db, chunk: Chunk) -> Option<Vec<SelectableCase>> {
    rows(db, chunk)?.whos()
}

/// Whether the rows of a chunk are known to have all that graders need.
pub(crate) fn are_needs_met(db: &dyn Db, chunk: Chunk) -> bool {
    let needs = rows(db, chunk).and_then(|known| known.needs);
    needs.is_some() && needs == need_scope(db, chunk.root(db))
}
