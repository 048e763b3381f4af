//! Where a verdict comes from, as plain data: the shape of `explain --json`. Reports write it for people.
//!
//! Knows what was found, not how: the engine finds it, and nothing here reads a file.

pub mod conversation;
pub mod label;
pub mod sent;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::results::GradeLine;
use evalrs_base::ordered_map::OrderedMap;
use evalrs_model::key::Ingredient;

use conversation::ExplainedConversation;
pub use label::{ExplainedLabel, ExplainedOpinion};
pub use sent::ExplainedOutcome;

/// The longest value that is shown beside its name, in characters.
pub const SHORT: usize = 40;

/// The text for a missing value.
const ABSENT: &str = "(absent)";

/// Everything that is known of the grades of one sample.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ExplainReport {
    /// The version of this shape.
    pub format: u32,
    /// The suite's name.
    pub suite: String,
    /// The sample.
    pub sample_id: String,
    /// Its results: one for each model and trial.
    pub results: Vec<ExplainedResult>,
}

/// One result of the sample.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ExplainedResult {
    /// The model that was run.
    pub model: Option<String>,
    /// The repetition, from 0.
    pub trial: u32,
    /// What the target was given.
    pub input: Value,
    /// The reference answer: text, a list of texts, or null.
    pub ground_truth: Value,
    /// The conversation of the target, where it is run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conversation: Option<ExplainedConversation>,
    /// Grader → where its grade comes from.
    pub graders: OrderedMap<ExplainedGrade>,
}

/// Where one grade comes from.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ExplainedGrade {
    /// The grader's settings, as `header.json` holds them.
    pub settings: Map<String, Value>,
    /// What it looked at.
    pub looked_at: Vec<&'static str>,
    /// What was graded.
    pub submission: String,
    /// The current grade; null while a judgment is missing.
    pub grade: Option<GradeLine>,
    /// What the grade waits for, where that is not a judgment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pending: Option<&'static str>,
    /// Human labels of the case; absent where nobody does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<ExplainedLabel>,
    /// The judgments it is made of; none of a function's grade.
    pub actions: Vec<ExplainedAction>,
    /// What differs from an earlier run; null if none is recorded.
    pub against: Option<Against>,
}

/// One judgment.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ExplainedAction {
    /// The turn that is judged, where turns are judged one by one.
    pub turn: Option<usize>,
    /// The model that is called.
    pub model: String,
    /// Which of its independent judgments it is, from 0.
    pub vote: u32,
    /// Whether the two submissions are shown the other way round; null where there is one.
    pub reversed: Option<bool>,
    /// The key.
    pub key: String,
    /// What the key is made of.
    pub ingredients: Vec<Ingredient>,
    /// The texts that are too long to stand among the ingredients, whole, by name.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub texts: Map<String, Value>,
    /// Its result; null if that is not stored.
    pub outcome: Option<ExplainedOutcome>,
    /// Why the next run would ask it; null if it would not.
    pub to_ask: Option<&'static str>,
    /// The endpoint that it is stored for, where that is another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stored_for: Option<String>,
}

/// What differs from an earlier run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Against {
    /// The run.
    pub run: String,
    /// The key of its first judgment; null where it had none.
    pub key: Option<String>,
    /// Whether nothing differs.
    pub is_same: bool,
    /// Whether keys were compared ingredient by ingredient; else the records were.
    pub by_ingredients: bool,
    /// The names of what differs.
    pub differs: Vec<String>,
    /// What of it is short, before and after.
    pub values: Vec<ValueChange>,
    /// The texts that differ.
    pub texts: Vec<TextChange>,
}

/// A text that differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TextChange {
    /// What it is.
    pub name: &'static str,
    /// What it was.
    pub before: String,
    /// What it is now.
    pub after: String,
}

/// A short value that differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ValueChange {
    /// What it is.
    pub name: String,
    /// What it was.
    pub before: String,
    /// What it is now.
    pub after: String,
}

/// What is short both before and after, in the order of `names`. Both give the value of a name as text, if that is short.
pub fn changed_values(
    names: &[String],
    before: impl Fn(&str) -> Option<String>,
    after: impl Fn(&str) -> Option<String>,
) -> Vec<ValueChange> {
    let changes = names.iter().filter_map(|name| {
        let before = before(name)?;
        let after = after(name)?;
        (before != after).then(|| ValueChange { name: name.clone(), before, after })
    });
    changes.collect()
}

/// The text of the ingredient `name`, if it is short.
pub fn short_ingredient(list: &[Ingredient], name: &str) -> Option<String> {
    match list.iter().find(|part| part.name == name) {
        Some(Ingredient { preview: Some(_), digest: Some(_), .. }) => None,
        Some(Ingredient { preview: Some(text), .. }) => short(text),
        Some(Ingredient { preview: None, .. }) | None => Some(ABSENT.to_owned()),
    }
}

/// A setting of a record as text, if it is short. An object stands for a text that is long, or is one.
pub fn short_setting(value: Option<&Value>) -> Option<String> {
    match value {
        None | Some(Value::Null) => Some(ABSENT.to_owned()),
        Some(Value::String(text)) => short(text),
        Some(Value::Object(_)) => None,
        Some(other) => short(&other.to_string()),
    }
}

fn short(text: &str) -> Option<String> {
    let is_short = text.chars().count() <= SHORT && !text.contains(char::is_control);
    is_short.then(|| if text.is_empty() { "(empty)".to_owned() } else { text.to_owned() })
}

/// The names of the ingredients in which two keys differ, in the order of the walk.
pub fn differing(before: &[Ingredient], after: &[Ingredient]) -> Vec<String> {
    let has = |part: &Ingredient, other: &Ingredient| part.name == other.name;
    let gone = before.iter().filter(|part| !after.iter().any(|other| has(part, other)));
    let changed =
        after.iter().filter(|part| before.iter().find(|other| has(part, other)) != Some(*part));
    changed.chain(gone).map(|part| part.name.clone()).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{ValueChange, changed_values, differing, short_ingredient, short_setting};
    use evalrs_model::key::Ingredient;

    fn part(name: &str, text: Option<&str>) -> Ingredient {
        let preview = text.map(str::to_owned);
        Ingredient { name: name.to_owned(), preview, digest: None, number: false }
    }

    #[test]
    fn values_are_shown_where_both_are_short() {
        let change = |name: &str, before: &str, after: &str| ValueChange {
            name: name.to_owned(),
            before: before.to_owned(),
            after: after.to_owned(),
        };
        let names = ["a", "b", "long", "lines", "gone", "same"].map(str::to_owned);
        let digest = Some("0123".to_owned());
        let long = Ingredient { digest, ..part("long", Some("Is it")) };
        let before = [
            part("a", Some("0")),
            part("b", None),
            long,
            part("lines", Some("x\ny")),
            part("gone", Some("x")),
        ];
        let after = [part("a", Some("0.5")), part("b", Some("")), part("long", Some("s"))];
        let changes = changed_values(
            &names,
            |name| short_ingredient(&before, name),
            |name| short_ingredient(&after, name),
        );
        let gone = change("gone", "x", "(absent)");
        assert_eq!(changes, [change("a", "0", "0.5"), change("b", "(absent)", "(empty)"), gone]);
        for (value, expected) in [
            (json!(null), Some("(absent)")),
            (json!(0.5), Some("0.5")),
            (json!([1, 5]), Some("[1,5]")),
            (json!("x".repeat(40)), Some("x".repeat(40).as_str())),
            (json!("x".repeat(41)), None),
            (json!({"blake3": "0123"}), None),
        ] {
            assert_eq!(short_setting(Some(&value)).as_deref(), expected, "{value}");
        }
    }

    #[test]
    fn ingredients_are_compared_by_name() {
        let before = [part("a", Some("1")), part("b", None), part("gone", Some("x"))];
        let after = [part("b", Some("")), part("new", None), part("a", Some("1"))];
        assert_eq!(differing(&before, &after), ["b", "new", "gone"]);
        assert_eq!(differing(&after, &after), Vec::<String>::new());
    }
}
