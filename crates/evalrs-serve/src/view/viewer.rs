//! The viewer: a page, its style, and the modules that are its script.
//!
//! The modules are plain files in `viewer`. They are joined in the order of `modules.txt`, without the lines by which they import
//! one another, so that the same script serves a page of the server and a report that is one file.

/// The modules, in an order in which each uses those before it alone.
macro_rules! modules {
    ($($name:literal)*) => {
        &[$(($name, include_str!(concat!("../viewer/", $name)))),*]
    };
}

const MODULES: &[(&str, &str)] = modules!(
    "text.js" "words.js" "dom.js" "address.js" "preferences.js" "notices.js" "keyboard.js"
    "source_api.js" "embedded_groups.js" "source_embedded.js" "states.js" "charts.js"
    "paged_rows.js" "printing.js" "virtual_rows.js" "runs_list.js" "trends.js" "markdown.js"
    "conversation.js" "conversation_time.js" "conversation_tools.js" "judgments.js" "labeller.js"
    "label_note.js" "labels.js" "grade_card.js" "people_figures.js" "run_parts.js" "case_columns.js"
    "case_filters.js" "case_list.js" "case_groups.js" "case_scatter.js" "matrix.js" "live.js"
    "page_runs.js" "page_suite.js" "calibration_parts.js" "page_calibration.js" "word_changes.js"
    "page_answers.js" "diff_agreement.js" "diff_moved.js" "page_diff.js" "rubric_tries.js"
    "repeats.js" "page_run.js" "page_case.js" "page_rubric.js" "main.js"
);

pub(crate) fn page() -> &'static str {
    include_str!("../viewer/index.html")
}

pub(crate) fn style() -> &'static str {
    include_str!("../viewer/viewer.css")
}

/// The script: all modules as one.
pub(crate) fn script() -> String {
    let mut script = String::new();
    for line in MODULES.iter().flat_map(|(_, text)| text.lines()) {
        if !line.starts_with("import ") {
            script.push_str(line.strip_prefix("export ").unwrap_or(line));
            script.push('\n');
        }
    }
    script
}

#[cfg(test)]
mod tests {
    use super::{MODULES, script};

    #[test]
    fn the_modules_are_those_of_the_list_and_import_nothing_once_joined() {
        let listed = include_str!("../viewer/modules.txt");
        let names: Vec<&str> = MODULES.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, listed.split_whitespace().collect::<Vec<_>>());
        let script = script();
        let is_left = |line: &str| line.starts_with("import ") || line.starts_with("export ");
        assert!(!script.lines().any(is_left));
    }
}
