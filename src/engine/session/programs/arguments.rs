//! The files that the arguments of a command name.

use super::{ProgramContext, seen_from};
use crate::base::system::{FileBytes, System, join, non_empty};
use crate::pipeline::spec::ProgramSpec;

/// The arguments that name files, seen from the suite's folder: an agent that is `python3 agent.py` is that file. They
/// are looked for where the command runs.
pub(super) fn argument_files<'a>(
    spec: &'a ProgramSpec,
    place: &'a ProgramContext<'_>,
    system: &'a dyn System,
) -> impl Iterator<Item = String> + 'a {
    let folder = spec.cwd.as_deref().unwrap_or(place.folder);
    let home = system.absolute(non_empty(place.folder));
    let file = move |argument: &String| {
        let may_be = !argument.is_empty() && !argument.starts_with('-');
        let path = join(folder, argument);
        let is_file = may_be && matches!(system.read(&path), FileBytes::Bytes(_));
        is_file.then(|| seen_from(&home, &system.absolute(&path)))
    };
    spec.arguments.iter().filter_map(file)
}
