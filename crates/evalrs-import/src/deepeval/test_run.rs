//! A run as `DeepEval` wrote it: its name, where a text stands in it, and what it says of itself as a whole.

use serde_json::Value;

use crate::imported::{ImportedSource, SourcePlace};
use crate::reading::{as_text, first, line_of, text_at};

/// A run, and the text it was read from, for places.
pub(super) struct TestRun {
    pub path: String,
    pub text: String,
    pub value: Value,
}

impl TestRun {
    /// Where a text stands, such as the name of a metric.
    pub(super) fn place_of(&self, text: &str) -> SourcePlace {
        let quoted = Value::from(text).to_string();
        SourcePlace::new(&self.path, line_of(&self.text, &quoted))
    }

    pub(super) fn name(&self) -> String {
        let names = ["/identifier", "/testFile", "/datasetAlias"];
        text_at(&self.value, &names).unwrap_or("deepeval").to_owned()
    }

    /// What the run says of itself as a whole.
    pub(super) fn notes(&self, imported: &mut ImportedSource) {
        let count = |key: &str| self.value.get(key).and_then(Value::as_u64);
        if let Some((passed, failed)) = count("testPassed").zip(count("testFailed")) {
            imported.note(format!("The run `{}` says: passed {passed}, failed {failed}. The grader `deepeval` repeats which.", self.path));
        }
        let settings = first(&self.value, &["/hyperparameters"]).and_then(Value::as_object);
        let told: Vec<String> = settings
            .into_iter()
            .flatten()
            .take(50)
            .map(|(name, value)| format!("{name} {}", as_text(value)))
            .collect();
        if !told.is_empty() {
            imported.note(format!(
                "The run `{}` was made with these hyperparameters: {}.",
                self.path,
                told.join(", ")
            ));
        }
        let prompts = self.value.get("prompts").and_then(Value::as_array).map_or(0, Vec::len);
        if prompts > 0 {
            imported.leave_out(
                "prompts",
                self.place_of("prompts"),
                "prompts of the application",
                "the rows hold what came of them",
            );
        }
    }
}
