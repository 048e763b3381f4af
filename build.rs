//! Gives the binary a name of what it was built from: results that another build has written are not taken over unread.
//!
//! The digest is of texts alone, so that the same sources give the same binary wherever they are built.
#![expect(clippy::disallowed_methods, reason = "it runs before there is a program")]

use std::collections::BTreeSet;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

/// What decides how results come out. The lock file is not there where a library is built.
const SOURCES: [&str; 4] = ["Cargo.toml", "Cargo.lock", "src", "crates"];

fn main() {
    let mut hasher = DefaultHasher::new();
    for source in SOURCES {
        println!("cargo:rerun-if-changed={source}");
        add(Path::new(source), &mut hasher);
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
