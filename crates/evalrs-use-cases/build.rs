//! Gives the binary a name of what it was built from: results that another build has written are not taken over unread.
//!
//! The digest is of texts alone, so that the same sources give the same binary wherever they are built.
#![expect(clippy::disallowed_methods, reason = "it runs before there is a program")]

use std::collections::BTreeSet;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

/// Beside this crate are those that it rests on, and these, which decide nothing of how results come out.
const ABOVE: [&str; 6] = [
    "evalrs-harness",
    "evalrs-import",
    "evalrs-serve",
    "evalrs-test-data",
    "evalrs-test-runs",
    "evalrs-watch",
];

fn main() {
    let mut hasher = DefaultHasher::new();
    // The lock file and the other crates are not there where this one is built alone.
    let mut sources = vec![PathBuf::from("../../Cargo.lock"), PathBuf::from("Cargo.toml")];
    let beside = fs::read_dir("..").into_iter().flatten().flatten();
    sources.extend(beside.map(|entry| entry.path()).filter(|path| {
        let is_above = |name: &str| path.ends_with(name);
        !ABOVE.into_iter().any(is_above)
    }));
    sources.sort();
    for source in &sources {
        println!("cargo:rerun-if-changed={}", source.display());
        add(source, &mut hasher);
    }
    let features = std::env::vars().filter(|(name, _)| name.starts_with("CARGO_FEATURE_"));
    features.collect::<BTreeSet<_>>().hash(&mut hasher);
    std::env::var("TARGET").ok().hash(&mut hasher);
    println!("cargo:rustc-env=EVALRS_BUILD={:016x}", hasher.finish());
}

/// Adds a file, or all files of a folder, each with its path.
fn add(path: &Path, hasher: &mut DefaultHasher) {
    if let Ok(entries) = fs::read_dir(path) {
        let paths: BTreeSet<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        for path in paths {
            add(&path, hasher);
        }
    } else if let Ok(bytes) = fs::read(path) {
        path.to_string_lossy().replace('\\', "/").hash(hasher);
        bytes.hash(hasher);
    }
}
