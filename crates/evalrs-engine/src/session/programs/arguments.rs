//! The files that the arguments of a command name.

use std::collections::BTreeSet;

use super::file_state::seen_from;
use super::program_context::ProgramContext;
use evalrs_base::file_path::{join, non_empty};
use evalrs_eval::program::{runtime_name, tells_version};
use evalrs_model::spec::{Language, ProgramSpec, Role};
use evalrs_system::{FileBytes, System, glob};

/// The arguments that name files, seen from the suite's folder: an agent that is `python3 agent.py` is that file. They
/// are looked for where the command runs.
pub(super) fn argument_files<'a>(
    spec: &'a ProgramSpec,
    place: &'a ProgramContext<'_>,
    system: &'a dyn System,
) -> impl Iterator<Item = String> + 'a {
    let home = system.absolute(non_empty(place.folder));
    let paths = spec.arguments.iter().filter_map(move |word| named(word, spec, place));
    let files = paths.filter(move |path| matches!(system.read(path), FileBytes::Bytes(_)));
    files.map(move |path| seen_from(&home, &system.absolute(&path)))
}

/// Where the file is that a word may name; none of flags.
fn named(word: &str, spec: &ProgramSpec, place: &ProgramContext<'_>) -> Option<String> {
    let folder = spec.cwd.as_deref().unwrap_or(place.folder);
    (!word.is_empty() && !word.starts_with('-')).then(|| join(folder, word))
}

/// The files that the words of a command name and that it may write, absolute: all but the script that it runs and
/// its declared inputs and outputs.
pub(super) fn may_write(
    spec: &ProgramSpec,
    place: &ProgramContext<'_>,
    system: &dyn System,
) -> Vec<String> {
    if spec.language != Language::Executable || spec.role != Role::Target {
        return Vec::new();
    }
    let said = [&spec.inputs, &spec.outputs].map(|said| files_of(said, place, system));
    let script = script(spec, place, system);
    let words = spec.arguments.iter().filter_map(|word| named(word, spec, place));
    let paths = words.filter(|path| script.as_ref() != Some(path));
    let mut paths: BTreeSet<String> = paths.map(|path| system.absolute(&path)).collect();
    paths.retain(|path| !said.iter().any(|said| said.contains(path)));
    paths.into_iter().collect()
}

/// The file that an interpreter runs: the first that its words name. Of other programs one that no flag stands before.
fn script(spec: &ProgramSpec, place: &ProgramContext<'_>, system: &dyn System) -> Option<String> {
    let runtime = spec.runtime.as_deref().filter(|_| spec.path.is_empty())?;
    let runtime = runtime_name(Language::Executable, runtime);
    let is_interpreter = tells_version(&runtime) || runtime == "sh";
    let before = std::iter::once("").chain(spec.arguments.iter().map(String::as_str));
    let found = spec.arguments.iter().zip(before).find_map(|(word, before)| {
        let path = named(word, spec, place)?;
        let is_file = matches!(system.read(&path), FileBytes::Bytes(_));
        is_file.then(|| (path, before.starts_with('-')))
    });
    found.filter(|(_, is_of_flag)| is_interpreter || !is_of_flag).map(|(path, _)| path)
}

/// What patterns of the suite match, absolute. One that matches nothing may be a file that is not there yet.
pub(super) fn files_of(
    patterns: &[String],
    place: &ProgramContext<'_>,
    system: &dyn System,
) -> BTreeSet<String> {
    let list = |folder: &str| system.list(non_empty(&join(place.folder, folder)));
    let expanded = glob::expand(patterns, &list);
    let files = expanded.files.iter().chain(&expanded.unmatched);
    files.map(|path| system.absolute(&join(place.folder, path))).collect()
}
