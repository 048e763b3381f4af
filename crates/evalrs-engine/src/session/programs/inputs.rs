//! The declared inputs of programs: which files they are, and what keys say of each.
//!
//! Of a file it is what it says. A folder of which a program gets a copy is more than that: the copy keeps what the owner of a
//! file may do with it, and folders that hold nothing. What others may do is another matter on every machine.

use super::arguments::argument_files;
use super::file_state;
use super::program_context::ProgramContext;
use evalrs_base::file_path::{join, non_empty};
use evalrs_eval::program::{FOLDER, Uncallable, UncallablePart};
use evalrs_model::spec::ProgramSpec;
use evalrs_system::System;
use evalrs_system::glob::{self, ExpandedPatterns};

/// What the owner of most files may do: read and write.
const USUAL_MODE: u32 = 6;

/// What a program declares to read, from the suite's folder.
pub(super) struct DeclaredInputs {
    /// Files, and lock files instead of installed packages.
    pub files: Vec<String>,
    /// The folders in its template that hold nothing.
    pub empty: Vec<String>,
}

pub(super) fn declared(
    spec: &ProgramSpec,
    place: &ProgramContext<'_>,
    system: &dyn System,
) -> Result<DeclaredInputs, Uncallable> {
    let error = |input: Option<&String>, message: String| {
        Uncallable::new(UncallablePart::Inputs(input.cloned()), format!("`inputs`: {message}"))
    };
    let list = |folder: &str| system.list(non_empty(&join(place.folder, folder)));
    let ExpandedPatterns { mut files, mut empty, packages, unmatched, problem } =
        glob::expand(&spec.inputs, &list);
    if let Some(problem) = problem {
        return Err(error(None, problem));
    }
    // A template may hold no file.
    let is_there = |input: &String| spec.template.as_ref() == Some(input) && list(input).is_some();
    if let Some(pattern) = unmatched.iter().find(|input| !is_there(input)) {
        return Err(error(Some(pattern), format!("nothing matches `{pattern}`")));
    }
    files.extend(argument_files(spec, place, system));
    for folder in packages {
        let lock = glob::lock_file(&folder, &list);
        files.push(lock.ok_or_else(|| {
            error(None, format!("no lock file covers the packages in `{folder}`"))
        })?);
    }
    empty.retain(|folder| is_copied(spec, folder));
    Ok(DeclaredInputs { files, empty })
}

/// What keys say of an input: the digest of a file, followed by what its owner may do with it where that is copied and
/// unusual.
pub(crate) fn state(spec: &ProgramSpec, folder: &str, path: &str, system: &dyn System) -> String {
    let place = join(folder, path);
    let state = file_state::state(&place, system);
    if state == FOLDER || !is_copied(spec, path) {
        return state;
    }
    match system.owner_mode(&place).filter(|mode| *mode != USUAL_MODE) {
        Some(mode) => format!("{state}:{mode:o}"),
        None => state,
    }
}

/// Whether a path, from the suite's folder, is in the folder that the program gets a copy of.
fn is_copied(spec: &ProgramSpec, path: &str) -> bool {
    let Some(template) = spec.template.as_deref() else { return false };
    let rest = path.strip_prefix(template);
    rest.is_some_and(|rest| template.is_empty() || rest.is_empty() || rest.starts_with('/'))
}
