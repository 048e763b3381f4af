//! Parts of a suite that are read alone, whatever is wrong with the rest: what its text is made of, and its file of labels.

use super::context::SuiteContext;
use crate::view::labels::LabelFile;
use evalrs_base::file_text::FileText;
use evalrs_suite::{Files, has_one_grader, suite_labels};
use evalrs_system::{FileBytes, System};

/// The file of labels of the suite at `suite`: the one that is `named`, else that of the suite, else the one beside it.
pub(super) fn label_file(
    named: Option<&str>,
    suite: &str,
    cache_dir: Option<&str>,
    system: &dyn System,
) -> LabelFile {
    let surroundings = SuiteContext::find(suite, cache_dir, system).ok();
    let said = surroundings.and_then(|surroundings| {
        suite_labels(suite, &SuiteFiles { surroundings: &surroundings, system })
    });
    LabelFile::of(named, suite, said)
}

/// Whether the suite at `suite` has one grader.
pub(super) fn is_of_one_grader(
    suite: &str,
    surroundings: &SuiteContext,
    system: &dyn System,
) -> bool {
    has_one_grader(suite, &SuiteFiles { surroundings, system })
}

/// What the text of a suite is made of.
pub(super) struct SuiteFiles<'a> {
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
