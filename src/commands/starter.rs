//! A suite to start from over data of the user: what `init --from` and `import` make alike.
//!
//! The suite is evaluated once before it is written, without calling anything. So evalrs reports what is wrong with the data
//! with its place, writes nothing then, and sets the gate to what the data reach today.

use super::import_files::{RootedFiles, check_is_there, is_below, root_of};
use evalrs_base::diagnostic::Diagnostic;
use evalrs_base::file_path::{folder_of, non_empty};
use evalrs_graph::inputs::Overrides;
use evalrs_graph::results;
use evalrs_import::imported::ImportError;
use evalrs_import::recognized;
use evalrs_import::source::ImportSource;
use evalrs_import::starter::{StarterSuite, starter, unrecognized};
use evalrs_system::overlay::OverlaySystem;
use evalrs_system::{FileBytes, System};
use evalrs_use_cases::context::{SuiteContext, whole};
use evalrs_use_cases::error::Error;
use evalrs_use_cases::open::{check_selected, new_session};

/// The name of the suite while it is tried. Nothing of this name is read or written.
const TRIED: &str = "init.evalrs.yaml";
const NO_COPY: &str = "nothing was copied: a key in the data stays there, and a judge gets only the fields that a rubric names";

/// A suite, and what is known of its data.
pub(super) struct StartedSuite {
    pub suite: StarterSuite,
    pub text: String,
    pub samples: usize,
    /// What a person has to know, a sentence each.
    pub notes: Vec<String>,
}

/// The suite in `folder` over `source`, which must be something to start from.
pub(super) fn over_data(
    source: &str,
    folder: &str,
    given: &[(String, String)],
    system: &dyn System,
) -> Result<StartedSuite, Error> {
    let files = RootedFiles::new(source, None, system);
    check_is_there(source, &files, system)?;
    if let Some(started) = started(source, &files, folder, given, system)? {
        return Ok(started);
    }
    let data = ImportSource::new(source, &files);
    Err(match recognized(&data) {
        Some(importer) => Error::plain(
            format!("`{source}` needs a conversion: it is {}", importer.reads),
            format!("convert it: `evalrs import {source} -o {folder}`"),
        ),
        None => error(unrecognized(&data)),
    })
}

/// The suite in `folder` over `source`, with the columns that the user named; none if the source is nothing of the kind.
pub(super) fn started(
    source: &str,
    files: &RootedFiles<'_>,
    folder: &str,
    given: &[(String, String)],
    system: &dyn System,
) -> Result<Option<StartedSuite>, Error> {
    let read = starter(&ImportSource::new(source, files), given).map_err(error)?;
    let Some(suite) = read else { return Ok(None) };
    let folder = real(folder, system);
    let name = folder.rsplit('/').next().filter(|name| !name.is_empty()).unwrap_or("starter");
    let is_pattern = !suite.pattern.is_empty();
    let here = written(non_empty(source.trim_end_matches('/')), is_pattern);
    let TriedSuite { samples, least } = tried(&suite.text(name, &here, 1.0), system)?;
    let DataPath { home, rest } = path_from(&folder, source, system);
    let path = format!("{home}{}", written(&rest, is_pattern));
    let text = suite.text(name, &path, least);
    let mut notes = suite.notes.clone();
    notes.push(NO_COPY.to_owned());
    if path.starts_with(['/', '$']) {
        notes.push(format!("`{path}` is outside of this folder: for CI, copy the data beside the suite, and name the copy in its `path`"));
    }
    Ok(Some(StartedSuite { suite, text, samples, notes }))
}

pub(super) fn error(error: ImportError) -> Error {
    match error {
        ImportError::Diagnostics(diagnostics) => Error::Diagnostics(diagnostics),
        ImportError::Unreadable { message, hint } => Error::plain(message, hint),
    }
}

/// The result of a suite that calls nothing.
struct TriedSuite {
    samples: usize,
    /// The least that the gate's value can be, rounded down.
    least: f64,
}

fn tried(text: &str, system: &dyn System) -> Result<TriedSuite, Error> {
    let overlay = OverlaySystem::new(system, [(TRIED.to_owned(), text.to_owned())]);
    let surroundings = SuiteContext::find(TRIED, None, &overlay)?;
    let mut session = new_session(TRIED, &surroundings, Overrides::default());
    let mut problems = session.load(&overlay);
    problems.retain(Diagnostic::is_error);
    if !problems.is_empty() {
        return Err(Error::Diagnostics(problems));
    }
    check_selected(&session, TRIED, Vec::new())?;
    let summary = results::summary(&session.db, session.root);
    let least = summary.gate.lowest.or(summary.gate.value).unwrap_or_default();
    let least = (least * 100.0).floor() / 100.0;
    Ok(TriedSuite { samples: summary.samples, least })
}

/// A path as a suite takes it: `${` names no variable, and in a pattern each sign means itself.
fn written(path: &str, is_pattern: bool) -> String {
    let plain = |c: char| match c {
        '[' | '*' | '?' | '{' if is_pattern => format!("[{c}]"),
        c => c.to_string(),
    };
    path.replace("${", "$${").chars().map(plain).collect()
}

/// An absolute path without links, of what need not be there.
fn real(path: &str, system: &dyn System) -> String {
    let whole = whole(path, system);
    let mut there = whole.as_str();
    while there.len() > 1 && system.read(there) == FileBytes::Missing {
        there = folder_of(there);
    }
    let rest = whole.get(there.len()..).unwrap_or_default();
    format!("{}{rest}", system.resolved(there).trim_end_matches('/'))
}

/// How a suite names data.
#[derive(Debug, PartialEq)]
struct DataPath {
    /// The variable of the home folder, if the path is below it.
    home: &'static str,
    rest: String,
}

/// The path of `data` as seen from a suite in `folder` where both are in one project. Otherwise it is below the home folder, so
/// that nobody commits the name of a user.
fn path_from(folder: &str, data: &str, system: &dyn System) -> DataPath {
    let home = system.environment().remove("HOME").unwrap_or_default();
    let home = home.trim_end_matches('/');
    let is_project = |root: &&String| root.len() > 1 && (*root != home || !data.starts_with('/'));
    let roots = [whole("", system), root_of(folder, system)];
    let data = whole(data, system);
    let are_in = |root: &String| is_below(&data, root) && is_below(folder, root);
    if roots.iter().filter(is_project).any(are_in) {
        return DataPath { home: "", rest: relative(folder, &data) };
    }
    match data.strip_prefix(home) {
        Some(rest) if !home.is_empty() && rest.starts_with('/') => {
            DataPath { home: "${HOME}", rest: rest.to_owned() }
        }
        _ => DataPath { home: "", rest: data },
    }
}

/// An absolute path as seen from an absolute folder.
fn relative(folder: &str, path: &str) -> String {
    let from: Vec<&str> = folder.split('/').collect();
    let to: Vec<&str> = path.split('/').collect();
    let shared = from.iter().zip(&to).take_while(|(one, other)| one == other).count();
    let ups = std::iter::repeat_n("..", from.len() - shared);
    let path: Vec<&str> = ups.chain(to[shared..].iter().copied()).collect();
    non_empty(&path.join("/")).to_owned()
}

#[cfg(test)]
mod tests {
    use super::{path_from, written};
    use evalrs_system::memory::MemorySystem;

    #[test]
    fn data_are_named_from_the_suite_where_both_are_in_one_project() {
        let system = MemorySystem::with(&[("/w/repo/.git", ""), ("/w/repo/a/t.csv", "")]);
        for (folder, data, expected) in [
            ("/w/repo/evals/mine", "/w/repo/a/t.csv", "../../a/t.csv"),
            ("/w/repo/a", "/w/repo/a/t.csv", "t.csv"),
            ("/w/repo/a", "/w/repo/a", "."),
            ("/w/repo/evals", "/w/other/t.csv", "/w/other/t.csv"),
        ] {
            let found = path_from(folder, data, &system);
            assert_eq!((found.home, found.rest.as_str()), ("", expected), "{folder} {data}");
        }
        for (path, is_pattern, expected) in [
            ("a[1]/{x}", true, "a[[]1]/[{]x}"),
            ("a[1].csv", false, "a[1].csv"),
            ("${X}.csv", false, "$${X}.csv"),
        ] {
            assert_eq!(written(path, is_pattern), expected);
        }
    }
}
