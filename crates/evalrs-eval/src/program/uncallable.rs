//! Why a program cannot be called, and what of it is to blame.
//!
//! Pure. Where a suite says that is known elsewhere: here it is only named.

use std::fmt;

/// Why a program cannot be called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Uncallable {
    /// What is to blame.
    pub part: UncallablePart,
    /// What is wrong: a lower-case fragment with names in backticks.
    pub message: String,
    /// The likely fix.
    pub hint: Option<String>,
}

/// What of a program is to blame that it cannot be called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UncallablePart {
    /// Its file.
    File,
    /// What runs it, where that is said.
    Runtime,
    /// Its inputs: one, as [`evalrs_model::spec::ProgramSpec::inputs`] has it, or all.
    Inputs(Option<String>),
    /// The folder it runs in.
    Cwd,
}

impl Uncallable {
    /// What is wrong with a part.
    pub fn new(part: UncallablePart, message: impl Into<String>) -> Self {
        Self { part, message: message.into(), hint: None }
    }

    /// The same with the likely fix.
    #[must_use]
    pub fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }
}

impl fmt::Display for Uncallable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.hint {
            None => f.write_str(&self.message),
            Some(hint) => write!(f, "{}; {hint}", self.message),
        }
    }
}

impl From<Uncallable> for String {
    fn from(uncallable: Uncallable) -> Self {
        uncallable.to_string()
    }
}
