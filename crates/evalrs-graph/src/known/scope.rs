//! The scopes of what is known of chunks: the digest of all that it is made of besides rows and outcomes.
//!
//! None where it is made of more than that, such as the files of a program or the rows of other chunks.

use std::fmt::Debug;

use xxhash_rust::xxh3::Xxh3;

use super::super::Db;
use super::super::cases::{row_condition, row_needs};
use super::super::graders::{Grader, environment_base_urls, row_spec};
use super::super::inputs::Root;
use super::super::row_files::reads_row_file;
use evalrs_model::spec::GraderKind;

fn digest(parts: &[&dyn Debug]) -> u128 {
    let mut hasher = Xxh3::new();
    for part in parts {
        let text = format!("{part:?}");
        hasher.update(&(text.len() as u64).to_le_bytes());
        hasher.update(text.as_bytes());
    }
    hasher.digest128()
}

/// Of who the cases are, and what is wrong with them.
#[salsa::tracked(returns(copy))]
pub(super) fn check_scope(db: &dyn Db, root: Root) -> Option<u128> {
    let spec = row_spec(db, root).as_ref().filter(|spec| spec.live.is_none())?;
    Some(digest(&[spec, row_condition(db, root)]))
}

/// Of what rows lack.
#[salsa::tracked(returns(copy))]
pub(super) fn need_scope(db: &dyn Db, root: Root) -> Option<u128> {
    Some(digest(&[&check_scope(db, root)?, row_needs(db, root)]))
}

/// Of grades before the threshold decides.
#[salsa::tracked]
pub(super) fn grader_scope<'db>(db: &'db dyn Db, grader: Grader<'db>) -> Option<u128> {
    let root = grader.root(db);
    let is_of_rows = match grader.kind(db) {
        GraderKind::Tool(_) => true,
        GraderKind::Rubric(rubric) => rubric.programs().next().is_none(),
        GraderKind::Program(_) | GraderKind::Reward(_) => false,
    };
    if !is_of_rows || reads_row_file(db, grader) || grader.extractor(db).program.is_some() {
        return None;
    }
    Some(digest(&[
        &check_scope(db, root)?,
        grader.name(db),
        grader.extractor(db),
        grader.kind(db),
        grader.ground_truth_pattern(db),
        grader.ground_truth(db),
        &grader.negated(db),
        grader.only(db),
        environment_base_urls(db, root),
    ]))
}
