//! A run as `DeepEval` wrote it: its name, the place of a text in it, and its own summary.

use serde_json::Value;

use crate::imported::{ImportedSource, SourcePlace};
use crate::reading::{as_text, first, items_in, line_of, text_at};

/// A run, and the text it was read from, for places.
pub(super) struct TestRun {
    pub path: String,
    pub text: String,
    pub value: Value,
}

impl TestRun {
    /// The place of a text, such as the name of a metric.
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
            imported.note(format!("The run `{}` reports: passed {passed}, failed {failed}. The grader `deepeval` repeats its verdicts.", self.path));
        }
        let settings = first(&self.value, &["/hyperparameters"]).and_then(Value::as_object);
        let settings = settings.into_iter().flatten().take(50);
        let told: Vec<String> =
            settings.map(|(name, value)| format!("{name} {}", as_text(value))).collect();
        if !told.is_empty() {
            let path = &self.path;
            let told = told.join(", ");
            imported.note(format!("The run `{path}` was made with these hyperparameters: {told}."));
        }
        if items_in(&self.value, "prompts").next().is_some() {
            let place = self.place_of("prompts");
            let why = "the rows contain their results";
            imported.leave_out("prompts", place, "prompts of the application", why);
        }
    }
}
