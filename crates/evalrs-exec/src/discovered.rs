//! What programs are seen to load and to write, which keys tell of.

use std::collections::{BTreeMap, BTreeSet};

/// What a program was seen to load. All paths are absolute, and of the workspace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DiscoveredFiles {
    /// Module files, and what says which ones are loaded.
    pub files: SeenFiles,
    /// Where it looked for a module file that was not there.
    pub missed: BTreeSet<String>,
    /// Other files that it opened to read them, each with its digest then; none of what is too large for one.
    pub reads: BTreeMap<String, Option<String>>,
    /// Files that its words name and that it writes: then it is told of nothing else.
    pub outputs: BTreeSet<String>,
}

/// Files that were loaded, each with its digest then, as keys tell of it; none where it was edited meanwhile, so that
/// nobody knows which state was loaded.
pub type SeenFiles = BTreeMap<String, Option<String>>;

/// Adds to the files that were seen what was seen of them since. Of what was loaded in two states none is known.
pub fn see(files: &mut SeenFiles, more: SeenFiles) {
    for (path, digest) in more {
        let seen = files.entry(path).or_insert_with(|| digest.clone());
        if *seen != digest {
            *seen = None;
        }
    }
}
