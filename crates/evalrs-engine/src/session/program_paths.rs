//! Where programs of a session may change: the files that they rest on, and the folders in which others may be made.

use std::collections::BTreeSet;

use super::Session;
use super::programs::program_set::known_of;
use evalrs_base::file_path::{join, non_empty};
use evalrs_eval::program::Depfile;
use evalrs_graph::inputs::Program;

impl Session {
    /// Every file that a program of the suite rests on.
    pub(crate) fn program_paths(&self) -> BTreeSet<String> {
        self.named_programs().into_iter().flat_map(|program| self.paths_of(program)).collect()
    }

    pub(crate) fn paths_of(&self, program: Program) -> BTreeSet<String> {
        let folder = self.folder();
        let spec = program.spec(&self.db);
        let mut paths = BTreeSet::new();
        paths.extend((!spec.path.is_empty()).then(|| spec.path.clone()));
        paths.extend(spec.runtime_path().cloned());
        // A folder or a pattern may match other files tomorrow: so its folder is looked at.
        paths.extend(spec.inputs.iter().map(|input| join(folder, fixed_part(input))));
        let known = known_of(program.state(&self.db));
        let known = known.iter().flat_map(|known| known.inputs.iter().chain(&known.dependencies));
        paths.extend(known.map(|(path, _)| join(folder, path)));
        let seen = self.programs.seen(program).into_iter().flat_map(|seen| &seen.files);
        paths.extend(seen.map(|path| join(folder, path)));
        paths
    }

    /// The folders in which programs of the suite looked for files that were not there. What is made in one may be what
    /// they load from then on.
    pub(crate) fn program_folders(&self) -> BTreeSet<String> {
        self.named_programs().into_iter().flat_map(|program| self.folders_of(program)).collect()
    }

    pub(crate) fn folders_of(&self, program: Program) -> BTreeSet<String> {
        let folder = self.folder();
        let seen = self.programs.seen(program).map(Depfile::folders).unwrap_or_default();
        seen.into_iter().map(|path| non_empty(&join(folder, path)).to_owned()).collect()
    }
}

/// The part of a pattern before the first of its folders that holds a wildcard.
fn fixed_part(pattern: &str) -> &str {
    match pattern.find(['*', '?', '[', '{']) {
        None => pattern,
        Some(at) => &pattern[..pattern[..at].rfind('/').unwrap_or(0)],
    }
}
