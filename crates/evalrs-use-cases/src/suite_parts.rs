//! Parts of a suite that are read alone, whatever is wrong with the rest.

use super::context::SuiteContext;
use evalrs_base::file_text::FileText;
use evalrs_suite::{Files, has_one_grader};
use evalrs_system::{FileBytes, System};

/// Whether the suite at `suite` has one grader.
pub fn is_of_one_grader(suite: &str, surroundings: &SuiteContext, system: &dyn System) -> bool {
    has_one_grader(suite, &SuiteFiles { surroundings, system })
}

/// What the text of a suite is made of.
pub struct SuiteFiles<'a> {
    pub surroundings: &'a SuiteContext,
    pub system: &'a dyn System,
}

impl Files for SuiteFiles<'_> {
    fn text(&self, path: &str) -> FileText {
        match self.system.read(path) {
            FileBytes::Bytes(bytes) => String::from_utf8(bytes)
                .map_or(FileText::Missing, |text| FileText::Text(text.into())),
            _ => FileText::Missing,
        }
    }

    fn env(&self, name: &str) -> Option<String> {
        self.surroundings.environment.get(name).cloned()
    }
}
