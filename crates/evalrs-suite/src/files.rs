//! Where the text of other files and of the environment comes from while a suite is read.

use evalrs_base::file_text::FileText;

/// Where the suite reader finds the text of other files and of the environment.
pub trait Files {
    fn text(&self, path: &str) -> FileText;
    fn env(&self, name: &str) -> Option<String>;
}
