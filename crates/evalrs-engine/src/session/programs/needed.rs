//! What has to be there for programs to run, beside their files.

use evalrs_model::spec::ProgramSpec;
use evalrs_system::System;

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
