//! Reads the shared cache before a run, where an outcome is missing. A run that lacks nothing opens no connection.

use super::context::SuiteContext;
use super::shared_cache::pulled_lines;
use crate::console::Console;
use crate::error::Error;
use crate::open::new_session;
use evalrs_base::diagnostic::Diagnostic;
use evalrs_base::text::sanitize;
use evalrs_engine::inspect::preview::preview;
use evalrs_engine::resolve::settings::{AskPolicy, Settings};
use evalrs_engine::session::Session;
use evalrs_graph::inputs::Overrides;

/// Brings what believed writers have written here, if the session lacks an outcome. A cache that cannot be read is a warning: the
/// run goes on as without it.
pub(super) fn pull_missing(
    session: &mut Session,
    surroundings: &SuiteContext,
    settings: &Settings,
    need: CacheNeed,
    console: &mut Console<'_>,
) -> Result<(), Error> {
    if surroundings.shared_cache()?.is_none() && !need.is_required {
        return Ok(());
    }
    if settings.ask == AskPolicy::Offline || !lacks(session, surroundings, settings, console)? {
        return Ok(());
    }
    pull_now(surroundings, need, console)
}

/// The same for a session that is opened later, as `watch` does with a suite that may have errors. Those are its own business.
pub fn pull_before(
    suite: &str,
    surroundings: &SuiteContext,
    over: Overrides,
    console: &mut Console<'_>,
) -> Result<(), Error> {
    if surroundings.shared_cache()?.is_none() {
        return Ok(());
    }
    let mut session = new_session(suite, surroundings, over);
    if session.load(console.system).iter().any(Diagnostic::is_error) {
        return Ok(());
    }
    let need = CacheNeed { is_required: false };
    pull_missing(&mut session, surroundings, &Settings::default(), need, console)
}

/// What a cache that cannot be read means.
#[derive(Clone, Copy, Debug)]
pub struct CacheNeed {
    /// It is an error, and otherwise a warning.
    pub is_required: bool,
}

/// Brings what believed writers have written here.
pub fn pull_now(
    surroundings: &SuiteContext,
    need: CacheNeed,
    console: &mut Console<'_>,
) -> Result<(), Error> {
    let shared = surroundings.needed_shared_cache()?;
    match shared.pull(console.system) {
        Ok(report) => {
            console.warn(report.problems.iter().map(|problem| sanitize(problem)))?;
            let has_news =
                report.writers.iter().any(|log| log.new > 0) || !report.others.is_empty();
            for line in pulled_lines(shared.url(), &report).iter().filter(|_| has_news) {
                writeln!(console.err, "{line}")?;
            }
        }
        Err(reason) if need.is_required => {
            let message = format!("the shared cache cannot be read: {}", sanitize(&reason));
            return Err(Error::plain(message, "without `--cache-remote-only` that is a warning"));
        }
        Err(reason) => writeln!(
            console.err,
            "warning: the shared cache cannot be read, and the run goes on without it: {}",
            sanitize(&reason)
        )?,
    }
    Ok(())
}

/// Whether an outcome is missing.
fn lacks(
    session: &mut Session,
    surroundings: &SuiteContext,
    settings: &Settings,
    console: &mut Console<'_>,
) -> Result<bool, Error> {
    let store = surroundings.store(console)?;
    let found = preview(session, store.as_ref(), console.system, settings);
    let conversations = found.conversations.is_some_and(|tally| tally.cached < tally.total);
    Ok(!found.to_ask.is_empty() || conversations)
}
