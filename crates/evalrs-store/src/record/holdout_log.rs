//! The reported results for held-out labels, kept in a file beside the judgments: a query counts only once it is written.

use evalrs_base::file_path::join;
use evalrs_metrics::metric::holdout::{HeldOutAgreement, HeldOutQuestion, HoldoutLog};
use evalrs_system::file_lock::FileLock;
use evalrs_system::{FileBytes, System};

/// The owner of the queries of a log: suites of one name share the file.
pub struct LogOwner<'a> {
    /// The path of the suite.
    pub suite: &'a str,
    /// Whether a line that says such a path is of another suite.
    pub is_other: &'a dyn Fn(&str) -> bool,
}

/// Answers the queries in their order, each by grader, and adds new ones to the log at `path`; the lock is in the folder `home`.
/// An error is a sentence: then nothing is told.
pub fn ask(
    system: &dyn System,
    home: &str,
    path: &str,
    owner: &LogOwner<'_>,
    questions: &[HeldOutQuestion],
) -> Result<Vec<(String, HeldOutAgreement)>, String> {
    if questions.is_empty() {
        return Ok(Vec::new());
    }
    let untold = |why: String| format!("agreement on held-out labels is not shown: {why}");
    let _lock = FileLock::wait(&join(home, "holdout.lock"))
        .map_err(|error| untold(format!("its log cannot be locked: {error}")))?;
    let mut text = match system.read(path) {
        FileBytes::Bytes(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        FileBytes::Missing => String::new(),
        FileBytes::Folder => return Err(untold(format!("`{path}` is a folder"))),
        FileBytes::Unreadable(why) => {
            return Err(untold(format!("`{path}` cannot be read: {why}")));
        }
    };
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    let known = text.len();
    let mut told = Vec::new();
    for asked in questions {
        let mut log = HoldoutLog::read(&text, &asked.grader, owner.is_other);
        let Some((answer, line)) = log.ask(asked, owner.suite) else { continue };
        if let Some(line) = line {
            text.push_str(&line);
            text.push('\n');
        }
        told.push((asked.grader.clone(), answer));
    }
    if text.len() > known {
        system
            .write(path, &mut |file| file.write_all(text.as_bytes()))
            .map_err(|error| untold(format!("`{path}` cannot be written: {error}")))?;
    }
    Ok(told)
}
