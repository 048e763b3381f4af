//! What was told of held-out labels, kept in a file beside the judgments: a query that is not written down was not asked.

use crate::base::system::file_lock::FileLock;
use crate::base::system::{FileBytes, System, join};
use crate::pipeline::metric::holdout::{HeldOutAgreement, HeldOutQuestion, HoldoutLog};

/// The log of a suite.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LogFiles<'a> {
    /// The file.
    pub path: &'a str,
    /// The file that it shared with another suite of the same name before it had its own: what was told then stays told.
    pub before: &'a str,
}

/// Answers the questions in their order, each by grader, and adds what was not asked before to the log; the lock is in the
/// folder `home`. An error is a sentence: then nothing is told.
pub(crate) fn ask(
    system: &dyn System,
    home: &str,
    files: LogFiles<'_>,
    questions: &[HeldOutQuestion],
) -> Result<Vec<(String, HeldOutAgreement)>, String> {
    if questions.is_empty() {
        return Ok(Vec::new());
    }
    let untold = |why: String| format!("agreement on held-out labels is not told: {why}");
    let _lock = FileLock::wait(&join(home, "holdout.lock"))
        .map_err(|error| untold(format!("its log cannot be locked: {error}")))?;
    let path = files.path;
    let mut text = match read(system, path).map_err(untold)? {
        Some(text) => text,
        None => read(system, files.before).map_err(untold)?.unwrap_or_default(),
    };
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    let known = text.len();
    let mut told = Vec::new();
    for asked in questions {
        let mut log = HoldoutLog::read(&text, &asked.grader);
        let Some((answer, line)) = log.ask(asked) else { continue };
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

/// The text of a log; none where there is no such file.
fn read(system: &dyn System, path: &str) -> Result<Option<String>, String> {
    match system.read(path) {
        FileBytes::Bytes(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
        FileBytes::Missing => Ok(None),
        FileBytes::Folder => Err(format!("`{path}` is a folder")),
        FileBytes::Unreadable(why) => Err(format!("`{path}` cannot be read: {why}")),
    }
}
