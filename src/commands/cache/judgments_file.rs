//! Reads a file of judgments.

use evalrs_use_cases::console::Console;
use evalrs_use_cases::error::Error;

/// The bytes of a file of judgments.
pub(super) fn read(path: &str, console: &Console<'_>) -> Result<Vec<u8>, Error> {
    console.system.read(path).into_bytes().map_err(|reason| {
        Error::plain(format!("cannot read `{path}`: {reason}"), "nothing was imported")
    })
}
