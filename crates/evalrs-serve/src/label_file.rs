//! Where the labels of a suite are, whatever is wrong with the rest of it.

use crate::view::labels::LabelFile;
use evalrs_suite::suite_labels;
use evalrs_system::System;
use evalrs_use_cases::context::SuiteContext;
use evalrs_use_cases::suite_parts::SuiteFiles;

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
