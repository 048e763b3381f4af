//! Programs for the tests of their execution.

use std::collections::BTreeMap;

use crate::{Runtime, Start};
use evalrs_model::spec::{Language, ProgramSpec, Role};

/// An executable at `path`, with nothing else said.
pub(super) fn start_of(path: &str) -> Start {
    let folder = evalrs_base::file_path::folder_of(path).to_owned();
    let spec = ProgramSpec::new(path.to_owned(), Language::Executable, "", Role::Grade);
    Start {
        spec,
        path: path.to_owned(),
        runtime: None,
        cwd: folder.clone(),
        workspace: folder,
        inputs: Vec::new(),
        may_write: Vec::new(),
        env: Vec::new(),
    }
}

/// A function of the file at `path`, run by `runtime` at a path of its own.
pub(super) fn function_of(path: &str, runtime: (&str, &str)) -> Start {
    let spec = ProgramSpec::new(path.to_owned(), Language::Python, "grade", Role::Grade);
    let name = runtime.0.to_owned();
    let file = runtime.1.to_owned();
    let runtime = Some(Runtime { name, path: file, version: String::new() });
    Start { spec, runtime, ..start_of(path) }
}

/// An environment.
pub(super) fn environment(all: &[(&str, &str)]) -> BTreeMap<String, String> {
    all.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}
