//! A suite to start from over data of the user: what `init --from` and `import` make alike.
//!
//! The suite is evaluated once before it is written, without calling anything. So what is wrong with the data is told with
//! its place and nothing is written, and the gate is what the data reach today.

use super::import_files::{RootedFiles, root_of};
use evalrs_base::diagnostic::Diagnostic;
use evalrs_base::file_path::{folder_of, non_empty};
use evalrs_graph::inputs::Overrides;
use evalrs_graph::results;
use evalrs_import::imported::ImportError;
use evalrs_import::source::ImportSource;
use evalrs_import::starter::{StarterSuite, starter};
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
    let written = |path: &str| {
        escaped(&if suite.is_over_pattern() { plain_pattern(path) } else { path.to_owned() })
    };
    let here = written(non_empty(source.trim_end_matches('/')));
    let tried = tried(&suite.text(name, &here, Some(0.0)), system)?;
    let path = path_from(&folder, source, &written, system);
    let notes = suite.notes.iter().cloned().chain([NO_COPY.to_owned()]);
    let far = (path.starts_with(['/', '$'])).then(|| {
        format!("`{path}` is outside of this folder: for CI, copy the data beside the suite, and name the copy in its `path`")
    });
    Ok(Some(StartedSuite {
        text: suite.text(name, &path, tried.least),
        notes: notes.chain(far).collect(),
        samples: tried.samples,
        suite,
    }))
}

pub(super) fn error(error: ImportError) -> Error {
    match error {
        ImportError::Diagnostics(diagnostics) => Error::Diagnostics(diagnostics),
        ImportError::Unreadable { message, hint } => Error::plain(message, hint),
    }
}

/// What came of a suite that calls nothing.
struct TriedSuite {
    samples: usize,
    /// The least that the gate's value can be, rounded down.
    least: Option<f64>,
}

fn tried(text: &str, system: &dyn System) -> Result<TriedSuite, Error> {
    let overlay = OverlaySystem::new(system, [(TRIED.to_owned(), text.to_owned())]);
    let surroundings = SuiteContext::find(TRIED, None, &overlay)?;
    let mut session = new_session(TRIED, &surroundings, Overrides::default());
    let problems = session.load(&overlay);
    if problems.iter().any(Diagnostic::is_error) {
        return Err(Error::Diagnostics(
            problems.into_iter().filter(Diagnostic::is_error).collect(),
        ));
    }
    check_selected(&session, TRIED, Vec::new())?;
    let summary = results::summary(&session.db, session.root);
    let least = summary.gate.lowest.or(summary.gate.value);
    Ok(TriedSuite {
        samples: summary.samples,
        least: least.map(|least| (least * 100.0).floor() / 100.0),
    })
}

/// A text in which `${` names no variable.
fn escaped(text: &str) -> String {
    text.replace("${", "$${")
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

/// A path as a pattern that means it alone.
fn plain_pattern(path: &str) -> String {
    let plain = |c: char| if "[*?{".contains(c) { format!("[{c}]") } else { c.to_string() };
    path.chars().map(plain).collect()
}

/// How a suite in `folder` names `data`: as seen from there where both are in one project, else below the home of whoever
/// runs it, so that no name of a user is committed.
fn path_from(
    folder: &str,
    data: &str,
    written: &dyn Fn(&str) -> String,
    system: &dyn System,
) -> String {
    let data = whole(data, system);
    let here = whole("", system);
    let are_here = here.len() > 1 && is_below(&data, &here) && is_below(folder, &here);
    if are_here || is_below(&data, &root_of(folder, system)) {
        return written(&relative(folder, &data));
    }
    let home = system.environment().remove("HOME").filter(|home| home.len() > 1);
    match home.map(|home| home.trim_end_matches('/').to_owned()) {
        Some(home) if is_below(&data, &home) => {
            format!("${{HOME}}{}", written(&data[home.len()..]))
        }
        _ => written(&data),
    }
}

fn is_below(path: &str, folder: &str) -> bool {
    let rest = path.strip_prefix(folder.trim_end_matches('/'));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// An absolute path as seen from an absolute folder.
fn relative(folder: &str, path: &str) -> String {
    let from: Vec<&str> = folder.split('/').collect();
    let to: Vec<&str> = path.split('/').collect();
    let shared = from.iter().zip(&to).take_while(|(one, other)| one == other).count();
    let ups = std::iter::repeat_n("..", from.len() - shared);
    let path: Vec<&str> = ups.chain(to[shared..].iter().copied()).collect();
    if path.is_empty() { ".".to_owned() } else { path.join("/") }
}

#[cfg(test)]
mod tests {
    use super::{escaped, path_from, plain_pattern};
    use evalrs_system::memory::MemorySystem;

    #[test]
    fn data_are_named_from_the_suite_where_both_are_in_one_project() {
        let system = MemorySystem::with(&[("/w/repo/.git", ""), ("/w/repo/a/t.csv", "")]);
        for (folder, data, expected) in [
            ("/w/repo/evals/mine", "/w/repo/a/t.csv", "../../a/t.csv"),
            ("/w/repo/a", "/w/repo/a/t.csv", "t.csv"),
            ("/w/repo/a", "/w/repo/a", "."),
            ("/w/repo/evals", "/w/other/${X}.csv", "/w/other/$${X}.csv"),
        ] {
            let found = path_from(folder, data, &escaped, &system);
            assert_eq!(found, expected, "{folder} {data}");
        }
        assert_eq!(plain_pattern("a[1]/{x}"), "a[[]1]/[{]x}");
    }
}
