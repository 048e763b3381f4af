//! The files that the arguments of a command name.

use super::ProgramContext;
use crate::base::system::{FileBytes, System, join};
use crate::pipeline::spec::ProgramSpec;

/// The arguments that name files of the suite's folder: an agent that is `python3 agent.py` is that file.
pub(super) fn argument_files<'a>(
    spec: &'a ProgramSpec,
    place: &'a ProgramContext<'_>,
    system: &'a dyn System,
) -> impl Iterator<Item = String> + 'a {
    let is_file = |argument: &&String| {
        let may_be = !argument.is_empty() && !argument.starts_with(['-', '/']);
        may_be && matches!(system.read(&join(place.folder, argument)), FileBytes::Bytes(_))
    };
    spec.arguments.iter().filter(is_file).cloned()
}
