//! What is known of the text of a file that a user wrote.

use std::sync::Arc;

use super::diagnostic::Diagnostic;

/// The text of a file, as far as it is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileText {
    /// Not read yet; the engine will.
    Unread,
    /// The file does not exist.
    Missing,
    /// It is there but cannot be read: why.
    Unreadable(String),
    /// It is there but no text: what is wrong with its bytes, and where.
    NoText(Box<Diagnostic>),
    /// What it says.
    Text(Arc<str>),
}
