//! The text of a suite, with what a person has to know as comments.

use std::fmt::Write as _;

use serde_json::Value;

use super::StarterSuite;
use evalrs_base::path::in_braces;

/// What is over the text of a rubric.
const RUBRIC: &str =
    "A judge grades what no rule can. Fill in the rubric, remove these #, and set OPENAI_API_KEY:
good:
  kind: rubric
  model: gpt-4o-mini
  pass_threshold: 0.7
  prompt: |";
/// What is over the gate, and what makes it a comment.
const TODAY: (&str, &str) = (
    "The mean score of today, rounded down: raise it as your agent improves. Exit code 0 if the gate passes, 1 if not.",
    "",
);
const NOTHING: (&str, &str) =
    ("The mean score of today is 0. Once it is higher, set a gate:", "# ");
const SCALE: [&str; 3] = ["1.0: yes", "0.5: partly", "0.0: no"];

impl StarterSuite {
    /// The suite `name` over the data at `path`. `least` is what the gate's grader has today.
    pub fn text(&self, name: &str, path: &str, least: f64) -> String {
        let mut text = format!(
            "# What is graded, how, and what must hold:  evalrs run suite.yaml\n\
             name: {}\n\
             # The data stay where they are: nothing was copied.\n\
             dataset:\n  path: {}\n",
            scalar(&name.replace("${", "$${")),
            scalar(&format!("{path}{}", self.pattern))
        );
        for line in &self.dataset {
            let _ = writeln!(text, "  {line}");
        }
        text.push_str("graders:\n");
        for grader in &self.graders {
            let _ = writeln!(text, "  # {}\n  {}: {}", grader.comment, grader.name, grader.spec);
        }
        let prompt = self.rubric.iter().chain(&SCALE).map(|line| format!("    {line}"));
        for line in RUBRIC.lines().map(str::to_owned).chain(prompt) {
            let _ = writeln!(text, "  # {line}");
        }
        let first = self.graders.first().map(|grader| grader.name).unwrap_or_default();
        let (comment, sign) = if least > 0.0 { TODAY } else { NOTHING };
        let value = if least > 0.0 { least } else { 0.5 };
        let _ = writeln!(text, "# {comment}");
        let _ = writeln!(
            text,
            "{sign}gate: {{metric_key: {first}, metric: avg_score, op: gte, value: {value}}}"
        );
        text
    }
}

/// Whether YAML reads a text as something else.
fn is_word(text: &str) -> bool {
    const WORDS: [&str; 8] = ["true", "false", "yes", "no", "on", "off", "null", "y"];
    WORDS.contains(&text.to_ascii_lowercase().as_str())
}

/// A text as YAML. A name or path stays as it is.
pub(super) fn scalar(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./*${}".contains(c);
    let begins = |c: char| c.is_ascii_alphabetic() || "./$".contains(c);
    if text.starts_with(begins) && text.chars().all(is_plain) && !is_word(text) {
        return text.to_owned();
    }
    Value::from(text).to_string()
}

/// A column in braces.
pub(super) fn column(path: &str) -> String {
    if is_word(path) {
        Value::from(path).to_string()
    } else {
        in_braces(&path.replace("${", "$${"))
    }
}

/// Texts in a condition.
pub(super) fn quoted(texts: &[&str]) -> String {
    let quote = |text: &&str| {
        let quote = if text.contains('\'') { '"' } else { '\'' };
        format!("{quote}{text}{quote}")
    };
    texts.iter().map(quote).collect::<Vec<_>>().join(", ")
}
