//! Judges of the same family as the models whose answers they judge.
//!
//! Judges favour what they, or models that are trained like them, would have written (`docs/rubrics.md` names the papers). A
//! family is told by the name of the model alone; a name that says nothing belongs to none.

use super::linted_rubric::{LintedRubric, RowFacts};
use evalrs_base::diagnostic::{Diagnostic, clipped};
use evalrs_base::text::enumerated;
use evalrs_model::spec::Lint;

/// How the names of models begin, by family.
const FAMILIES: [(&str, &[&str]); 12] = [
    ("gpt", &["gpt", "chatgpt", "davinci", "codex"]),
    ("claude", &["claude"]),
    ("gemini", &["gemini"]),
    ("gemma", &["gemma"]),
    ("llama", &["llama"]),
    ("mistral", &["mistral", "mixtral", "ministral", "codestral", "magistral"]),
    ("qwen", &["qwen", "qwq"]),
    ("deepseek", &["deepseek"]),
    ("grok", &["grok"]),
    ("phi", &["phi"]),
    ("kimi", &["kimi"]),
    ("glm", &["glm", "chatglm"]),
];

/// The prefix of a model's name.
const MAKERS: [&str; 14] = [
    "openai",
    "azure",
    "anthropic",
    "google",
    "models",
    "meta",
    "mistralai",
    "us",
    "eu",
    "apac",
    "global",
    "vertex",
    "microsoft",
    "xai",
];

/// The most models that are named in a message.
const MAX_NAMED: usize = 3;

/// The family of a model, if its name shows it.
pub fn family(model: &str) -> Option<&'static str> {
    let name = model.rsplit('/').next()?.to_lowercase();
    let mut words = name.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let first = words.find(|word| !MAKERS.contains(word))?;
    if matches!(first, "o1" | "o3" | "o4") {
        return Some("gpt");
    }
    // `llama3` and `gpt4o` are of the family, `gpt4all` is not.
    let is_of = |start: &str| {
        let rest = first.strip_prefix(start);
        rest.is_some_and(|rest| rest.chars().all(|c| c.is_ascii_digit() || c == 'o'))
    };
    let of_family = FAMILIES.iter().find(|(_, starts)| starts.iter().any(|start| is_of(start)));
    of_family.map(|(family, _)| *family)
}

/// Warns of it, unless a judge of another family is called too.
pub(super) fn same_family(linted: LintedRubric<'_>, facts: &RowFacts) -> Option<Diagnostic> {
    let judges = &linted.rubric.judges;
    let first = judges.first()?;
    let own = family(&first.model)?;
    let is_own =
        judges.iter().all(|judge| judge.program.is_none() && family(&judge.model) == Some(own));
    let judged: Vec<String> = facts
        .models
        .iter()
        .filter(|model| family(model) == Some(own))
        .map(|model| format!("`{}`", clipped(model)))
        .collect();
    if !is_own || judged.is_empty() {
        return None;
    }
    let more = judged.len().saturating_sub(MAX_NAMED);
    let mut named: Vec<String> = judged.into_iter().take(MAX_NAMED).collect();
    if more > 0 {
        named.push(format!("{more} more"));
    }
    let message = format!(
        "`{}` judges answers of {}, of its own family: judges favour those",
        clipped(&first.model),
        enumerated(&named, "and"),
    );
    let warning = linted.at(Lint::SameFamily, linted.places.model.clone(), message);
    Some(warning.hint(
        "use a judge of another family, or a `panel` of several, and compare it with human `labels`",
    ))
}
