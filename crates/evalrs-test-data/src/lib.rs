//! Where tests find real data, and a file of an agent. Only tests use it: a user's clone has no such data, and they skip.
#![expect(clippy::disallowed_methods, reason = "tests read their data themselves")]

pub mod letta_agent;

use std::io::Write;
use std::path::PathBuf;

/// The file `name` of the data set `set`, or nothing, having said so, where the data is absent.
pub fn path(set: &str, name: &str) -> Option<PathBuf> {
    let root = std::env::var_os("EVALRS_TEST_DATA").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"),
        PathBuf::from,
    );
    let path = root.join(set).join(name);
    if path.exists() {
        return Some(path);
    }
    // Not `eprintln`: the test harness would keep it to itself.
    let _ = writeln!(
        std::io::stderr(),
        "skipped: no {set}/{name}; set EVALRS_TEST_DATA to the folder that holds the data sets"
    );
    None
}

/// The text of that file.
pub fn text(set: &str, name: &str) -> Option<String> {
    path(set, name).map(|path| std::fs::read_to_string(path).expect("readable test data"))
}
