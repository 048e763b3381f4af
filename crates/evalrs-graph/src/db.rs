//! What queries may ask of the database besides other queries.

use std::sync::Arc;

use super::inputs::{File, Program};
use evalrs_model::key::ActionKey;
use evalrs_model::outcome::Outcome;
use evalrs_model::spec::ProgramSpec;

/// What queries may ask of the database besides other queries.
#[salsa::db]
pub trait Db: salsa::Database {
    /// The file at `path`, made on first ask with nothing read yet.
    fn file(&self, path: &str) -> File;

    /// The program that a suite names, made on first ask with nothing read yet.
    fn program(&self, spec: &ProgramSpec) -> Program;

    /// What came of an action, if it is known. Only for queries that have read their chunk's epoch.
    fn outcome(&self, key: ActionKey) -> Option<Arc<Outcome>>;

    /// The digest of what was replied to an action, if something was; its text may have been let go of.
    fn reply_digest(&self, key: ActionKey) -> Option<u64>;
}
