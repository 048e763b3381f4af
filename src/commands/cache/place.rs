//! Where the store is that a subcommand means.

use crate::cli::PlaceArgs;
use evalrs_use_cases::args::StoreArgs;
use evalrs_use_cases::console::Console;
use evalrs_use_cases::context::SuiteContext;
use evalrs_use_cases::error::Error;

/// Where the store that is meant lies, and what surrounds it.
pub(super) fn surroundings(
    suite: Option<&str>,
    store: &StoreArgs,
    console: &Console<'_>,
) -> Result<SuiteContext, Error> {
    let suite = suite.unwrap_or("suite.yaml");
    SuiteContext::find(suite, store.cache_dir.as_deref(), console.system)
}

/// The same, where the suite is among the arguments.
pub(super) fn surroundings_of(
    place: &PlaceArgs,
    console: &Console<'_>,
) -> Result<SuiteContext, Error> {
    surroundings(place.suite.as_deref(), &place.store, console)
}
