//! The text of a suite, with what a person has to know as comments.

use std::fmt::Write as _;

use serde_json::Value;

use super::{Rubric, StarterDataset, StarterSuite};
use evalrs_base::path::in_braces;

impl StarterSuite {
    /// The suite `name` over the data at `path`, which is YAML as it is. `least` is what the gate's grader has today.
    pub fn text(&self, name: &str, path: &str, least: Option<f64>) -> String {
        let mut text =
            "# What is graded, how, and what must hold:  evalrs run suite.yaml\n".to_owned();
        let _ = writeln!(text, "name: {}", scalar(name));
        self.dataset.write(&format!("{path}{}", self.dataset.pattern), &mut text);
        text.push_str("graders:\n");
        for grader in &self.graders {
            let _ = writeln!(text, "  # {}\n  {}: {}", grader.comment, grader.name, grader.spec);
        }
        self.rubric.write(&mut text);
        if let (Some(first), Some(least)) = (self.graders.first(), least) {
            let _ = write!(
                text,
                "# The mean score of today, rounded down: raise it as your agent improves. Exit code 0 if the gate passes, 1 if not.\n\
                 gate: {{metric_key: {}, metric: avg_score, op: gte, value: {least}}}\n",
                first.name
            );
        }
        text
    }
}

impl StarterDataset {
    fn write(&self, path: &str, text: &mut String) {
        text.push_str("# The data stay where they are: nothing was copied.\ndataset:\n");
        let _ = writeln!(text, "  path: {}", path_scalar(path));
        if self.is_by_file {
            text.push_str("  sample: file                # each file is one sample\n");
        }
        if !self.fields.is_empty() {
            let fields = self.fields.iter();
            let fields = fields.map(|(ours, column)| format!("{ours}: {}", column_scalar(column)));
            let _ = writeln!(text, "  fields: {{{}}}", fields.collect::<Vec<_>>().join(", "));
        }
        if self.has_trials {
            text.push_str(
                "  trials: by_order            # rows with one id are trials of one sample\n",
            );
        }
        if self.lacks_answers {
            text.push_str("  missing: empty              # a row without an answer scores 0\n");
        }
        if let Some(condition) = self.condition() {
            let _ = writeln!(text, "  where: {}", Value::from(condition));
        }
    }

    /// Which files of the pattern are samples; none if all are.
    fn condition(&self) -> Option<String> {
        let names: Vec<String> = self.left_out.iter().map(|file| quoted(file)).collect();
        let others =
            (!names.is_empty()).then(|| format!("file.path not in [{}]", names.join(", ")));
        let agents = self.leaves_out_agents.then(|| "not matches(file.name, '^agent-')".to_owned());
        let parts: Vec<String> = others.into_iter().chain(agents).collect();
        (!parts.is_empty()).then(|| parts.join(" and "))
    }
}

impl Rubric {
    /// A grader as a comment.
    fn write(&self, text: &mut String) {
        let lines = [
            "A judge grades what no rule can. Fill in the rubric, remove these #, and set OPENAI_API_KEY:",
            "good:",
            "  kind: rubric",
            "  model: gpt-4o-mini",
            "  pass_threshold: 0.7",
            "  prompt: |",
        ];
        let scale = ["1.0: yes", "0.5: partly", "0.0: no"];
        let prompt = [self.question].into_iter().chain(self.fields.iter().copied()).chain(scale);
        let prompt = prompt.map(|line| format!("    {line}"));
        for line in lines.map(str::to_owned).into_iter().chain(prompt) {
            let _ = writeln!(text, "  # {line}");
        }
    }
}

/// Words that YAML does not read as texts.
const NO_TEXTS: [&str; 8] = ["true", "false", "yes", "no", "on", "off", "null", "~"];

fn is_plain(text: &str, more: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c) || more.contains(c);
    text.starts_with(|c: char| c.is_ascii_alphabetic() || more.contains(c))
        && text.chars().all(is_plain)
        && !NO_TEXTS.contains(&text.to_ascii_lowercase().as_str())
}

/// A text as a scalar of a suite, in which `${` would name a variable.
fn scalar(text: &str) -> String {
    let text = text.replace("${", "$${");
    if is_plain(&text, "") { text } else { Value::from(text).to_string() }
}

/// The same of a path, which may name a variable.
fn path_scalar(path: &str) -> String {
    let is_plain =
        is_plain(path, "./*$") || path.starts_with("${HOME}/") && is_plain(&path[8..], "./*");
    if is_plain && !path.starts_with('*') { path.to_owned() } else { Value::from(path).to_string() }
}

/// The path of a column in a flow mapping.
fn column_scalar(column: &str) -> String {
    if NO_TEXTS.contains(&column.to_ascii_lowercase().as_str()) {
        return Value::from(column).to_string();
    }
    in_braces(&column.replace("${", "$${"))
}

/// A text in a condition.
fn quoted(text: &str) -> String {
    let quote = if text.contains('\'') { '"' } else { '\'' };
    format!("{quote}{text}{quote}")
}
