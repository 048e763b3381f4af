//! Opens a file in the user's editor, and waits until that is closed; starts other programs that show something.
#![expect(clippy::disallowed_methods, reason = "processes are started here")]

use std::process::Command;

/// The default editor.
const USUAL: &str = "vi";

/// Opens `path` in `editor`, a program with its arguments. Says why that did not work.
pub async fn edit(editor: Option<String>, path: String) -> Result<(), String> {
    let editor = editor.unwrap_or_else(|| USUAL.to_owned());
    let opened = tokio::task::spawn_blocking(move || {
        let mut words = editor.split_whitespace();
        let program = words.next().unwrap_or(USUAL);
        match Command::new(program).args(words).arg(&path).status() {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(format!("the editor `{program}` ended with {status}")),
            Err(error) => Err(format!(
                "cannot start the editor `{program}`: {error}; set `EDITOR` to another one"
            )),
        }
    });
    opened.await.unwrap_or_else(|_| Err("the editor could not be waited for".to_owned()))
}

/// Starts `program` with one argument and does not wait for its end. Says why it did not start.
pub fn start(program: &str, argument: &str) -> Result<(), String> {
    let quiet = std::process::Stdio::null;
    let started =
        Command::new(program).arg(argument).stdin(quiet()).stdout(quiet()).stderr(quiet()).spawn();
    started.map(drop).map_err(|error| error.to_string())
}
