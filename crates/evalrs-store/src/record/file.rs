//! A file of a record: read as JSON, or as bytes that have a digest.

use std::io;

use serde::de::DeserializeOwned;

use evalrs_system::System;

/// The name of the file of results.
pub const RESULTS: &str = "results.jsonl";

/// A file of JSON; none if it is not there, or says something else.
pub fn read_json<T: DeserializeOwned>(system: &dyn System, path: &str) -> Option<T> {
    serde_json::from_slice(&system.read(path).into_bytes().ok()?).ok()
}

/// The blake3 digest of a file, in hexadecimal digits; none where it cannot be read.
pub(super) fn digest_of(system: &dyn System, path: &str) -> Option<String> {
    let mut file = system.open(path).ok()?;
    let mut hasher = blake3::Hasher::new();
    io::copy(&mut file, &mut hasher).ok()?;
    Some(hasher.finalize().to_hex().to_string())
}
