//! Which batches belong to a suite, and whether a run sends further ones.

use super::args::{BatchArgs, BatchChoice};
use super::committed_names::committed_name;
use super::context::SuiteContext;
use crate::error::Error;
use evalrs_engine::resolve::settings::{BatchSettings, USUAL_LEAST};
use evalrs_engine::session::Session;
use evalrs_store::BatchLedger;
use evalrs_system::System;

/// How a run over `session` uses batches.
pub fn batch_settings(
    args: &BatchArgs,
    surroundings: &SuiteContext,
    session: &Session,
    system: &dyn System,
) -> Result<BatchSettings, Error> {
    let least = match args.batch.filter(|_| !args.finish) {
        None => None,
        Some(BatchChoice::Worth) => Some(USUAL_LEAST),
        Some(BatchChoice::Always) => Some(1),
    };
    let open = open_batches(surroundings, session, system);
    let file = match least {
        // Only then the other suites of the workspace are looked through.
        Some(_) => open.ledger.file_of(&committed_name(session, surroundings, system, false)?),
        None => String::new(),
    };
    Ok(BatchSettings { file, least, wait: args.wait, ..open })
}

/// The batches of a suite, for who sends none.
pub fn open_batches(
    surroundings: &SuiteContext,
    session: &Session,
    system: &dyn System,
) -> BatchSettings {
    let path = session.root.suite(&session.db).path(&session.db);
    BatchSettings {
        ledger: BatchLedger::of(&surroundings.committed_dir),
        suite: surroundings.in_workspace(path, system),
        ..BatchSettings::default()
    }
}
