//! Rubrics that are part of evalrs: `builtin: factuality@1`. A version never changes, so that its judgments stay.

use crate::fields::Field;
use evalrs_base::yaml::tree::{Yaml, YamlEntry};

/// One version of a rubric.
struct BuiltinRubric {
    /// As a suite names it, with the version.
    name: &'static str,
    /// A mapping with the keys of a rubric in criteria.
    text: &'static str,
}

macro_rules! rubrics {
    ($($name:literal: $path:literal),* $(,)?) => {
        [$(BuiltinRubric { name: $name, text: include_str!(concat!("../builtin/", $path)) }),*]
    };
}

static RUBRICS: [BuiltinRubric; 8] = rubrics![
    "answer_relevance@1": "answer_relevance-1.yaml",
    "completeness@1": "completeness-1.yaml",
    "conciseness@1": "conciseness-1.yaml",
    "factuality@1": "factuality-1.yaml",
    "faithfulness@1": "faithfulness-1.yaml",
    "harmlessness@1": "harmlessness-1.yaml",
    "task_completion@1": "task_completion-1.yaml",
    "tool_use@1": "tool_use-1.yaml",
];

/// The names of all rubrics, each with its version, and their text.
pub fn builtin_rubrics() -> impl Iterator<Item = (&'static str, &'static str)> {
    RUBRICS.iter().map(|rubric| (rubric.name, rubric.text))
}

/// The keys of the rubric that `field` names.
pub(crate) fn entries_of(field: Field<'_>) -> Option<Vec<YamlEntry>> {
    let said = field.text()?;
    let Some(rubric) = RUBRICS.iter().find(|rubric| rubric.name == said) else {
        return unknown(field, &said);
    };
    let node = field.findings.parse(rubric.name, rubric.text)?;
    match node.value {
        Yaml::Map(entries) => Some(entries),
        _ => None,
    }
}

fn unknown<T>(field: Field<'_>, said: &str) -> Option<T> {
    let names: Vec<&str> = RUBRICS.iter().map(|rubric| rubric.name).collect();
    let bare = said.split('@').next().unwrap_or_default();
    let is_version = |name: &&&str| name.split('@').next() == Some(bare);
    let versions: Vec<&str> = names.iter().filter(is_version).copied().collect();
    if versions.is_empty() {
        return field.unknown(said, "ready-made rubric", &names);
    }
    let message = match said.split_once('@') {
        None => format!("`builtin: {said}` has no version"),
        Some((_, version)) => format!("`{bare}` has no version {version}"),
    };
    field.refuse(&message, &format!("write `{}`", versions.join("` or `")))
}
