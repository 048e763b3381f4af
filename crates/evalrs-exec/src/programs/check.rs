//! Looks whether a file can be executed, or defines what is to be called in it, by its syntax alone: nothing of it is
//! executed.
#![expect(clippy::disallowed_methods, reason = "a process that reads the file")]

use std::process::{Command, Stdio};

use serde::Deserialize;

use super::endings::who;
use super::{command, files};
use crate::Start;
use evalrs_model::spec::Language;
use evalrs_typescript as typescript;

/// Why what is to be called is not there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct Problem {
    /// In one sentence.
    pub message: String,
    /// The line, from 1; 0 where there is none.
    #[serde(default)]
    pub line: usize,
    /// The column, from 1.
    #[serde(default)]
    pub column: usize,
    /// A name that is there and looks alike.
    pub suggestion: Option<String>,
}

/// What is wrong with the file of a program, if anything; `source` is its text.
pub fn check(start: &Start, source: &str) -> Option<Problem> {
    match start.spec.language {
        Language::Executable => executable(start),
        Language::JavaScript => module(start, source),
        Language::Python => function(start),
    }
}

fn executable(start: &Start) -> Option<Problem> {
    let message = command::problem_of(start)?;
    Some(Problem { message, ..Problem::default() })
}

fn module(start: &Start, source: &str) -> Option<Problem> {
    // Without the feature nothing can be said; runtimes that read TypeScript themselves will.
    if !cfg!(feature = "typescript") {
        return None;
    }
    let name = start.spec.function.as_str();
    match typescript::strip(&start.path, source) {
        Err(problem) => Some(Problem {
            message: format!("syntax error: {}", problem.message),
            line: problem.line,
            column: problem.column,
            suggestion: None,
        }),
        Ok(stripped) if stripped.is_module && stripped.lacks(name) => Some(Problem {
            message: format!("{} module must export a '{name}' function", who(start.spec.role)),
            ..Problem::default()
        }),
        Ok(_) => None,
    }
}

/// Where the interpreter cannot tell, nothing is wrong that is known.
fn function(start: &Start) -> Option<Problem> {
    #[derive(Deserialize)]
    struct SyntaxReply {
        problem: Option<Problem>,
    }
    let worker = files::of(Language::Python)?;
    let folder = tempfile::Builder::new().prefix("evalrs-").tempdir().ok()?;
    files::write(worker.files, folder.path()).ok()?;
    let output = Command::new(&start.runtime.as_ref()?.path)
        .arg(folder.path().join(worker.entry))
        .args(["--check", &start.path, &start.spec.function])
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    serde_json::from_slice::<SyntaxReply>(&output.stdout).ok()?.problem
}
