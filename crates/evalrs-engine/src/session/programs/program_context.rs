//! Where programs of a suite run, what they may see, and what has to be there beside their files.

use std::collections::BTreeMap;

use evalrs_model::spec::ProgramSpec;
use evalrs_system::System;

#[derive(Clone, Copy, Debug)]
pub struct ProgramContext<'a> {
    /// The folder of the suite: paths in keys are seen from it, and programs run there.
    pub folder: &'a str,
    /// The folder in which the loaded files of programs are tracked.
    pub workspace: &'a str,
    pub environment: &'a BTreeMap<String, String>,
    /// Whether programs see all of it, as if they were run by hand. Only what a spec names decides keys.
    pub sees_all: bool,
}

/// What programs need to run that may not be there: what runs them, and the folders that they run in. A folder that is
/// there is not looked at, because programs write into it.
pub(crate) fn needed<'a>(
    specs: impl Iterator<Item = &'a ProgramSpec>,
    system: &dyn System,
) -> impl Iterator<Item = String> {
    let is_missing = |cwd: &&String| !cwd.is_empty() && system.list(cwd).is_none();
    specs.flat_map(move |spec| {
        spec.runtime_path().into_iter().chain(spec.cwd.as_ref().filter(is_missing)).cloned()
    })
}
