//! What two evaluations were set to do differently, value by value.
//!
//! Reads the settings that `header.json` holds, whatever their shape: they may be of another version.

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::DiffSide;

/// A setting or a file that differs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SettingChange {
    /// Its place: the grader's name or the setting, then the members in it, with dots between.
    pub path: String,
    /// What it was; null where it was not there.
    pub before: Option<Value>,
    /// What it is; null where it is not there.
    pub now: Option<Value>,
}

/// The settings that differ: those of the evaluation, then those of `graders`.
///
/// Of evaluations in the middle of a session only the rubrics are known: their texts, of earlier versions their digests.
pub(super) fn changes(before: &DiffSide, now: &DiffSide, graders: &[&str]) -> Vec<SettingChange> {
    let mut found = Vec::new();
    let (Some(old), Some(new)) = (&before.settings, &now.settings) else {
        for grader in graders {
            let (Some(old), Some(new)) = (before.rubric(grader), now.rubric(grader)) else {
                continue;
            };
            if let (Some(old), Some(new)) = (&old.text, &new.text) {
                push(&format!("{grader}.prompt"), Some(&json!(old)), Some(&json!(new)), &mut found);
            } else {
                let digests = [old, new].map(|rubric| json!({"blake3": rubric.digest}));
                let [old, new] = &digests;
                push(&format!("{grader}.rubric"), Some(old), Some(new), &mut found);
            }
        }
        return found;
    };
    let general = |settings: &Map<String, Value>| {
        let members = settings.iter().filter(|(name, _)| *name != "graders");
        Value::Object(members.map(|(name, value)| (name.clone(), value.clone())).collect())
    };
    push("", Some(&general(old)), Some(&general(new)), &mut found);
    for grader in graders {
        if let (Some(old), Some(new)) = (of_grader(old, grader), of_grader(new, grader)) {
            push(grader, Some(&old), Some(&new), &mut found);
        }
    }
    found
}

/// The most settings of a grader that a sentence names.
const NAMED: usize = 3;

/// The most characters of a value that a sentence shows.
const SHORT: usize = 40;

/// Which settings of a grader differ, besides its rubric and its judges' models, in a few words: `max: 8 → 6`. Empty where
/// that is not known.
pub fn changes_in_words(
    before: &Map<String, Value>,
    now: &Map<String, Value>,
    grader: &str,
) -> String {
    let (Some(before), Some(now)) = (of_grader(before, grader), of_grader(now, grader)) else {
        return String::new();
    };
    let mut found = Vec::new();
    push("", Some(&before), Some(&now), &mut found);
    let is_other = |change: &&SettingChange| {
        let last = change.path.rsplit('.').next().unwrap_or_default();
        let is_of_judge = change.path.starts_with("judges.") || change.path == "model";
        change.path != "prompt"
            && !(is_of_judge && ["provider", "endpoint", "model"].contains(&last))
    };
    let all: Vec<String> = found.iter().filter(is_other).map(change_in_words).collect();
    let more = match all.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    all[..all.len().min(NAMED)].join(", ") + &more
}

fn change_in_words(change: &SettingChange) -> String {
    let path = change.path.strip_prefix("config.").unwrap_or(&change.path);
    let path = path.strip_suffix(".blake3").unwrap_or(path);
    let text = |value: &Option<Value>| match value {
        None | Some(Value::Null) => Some("(absent)".to_owned()),
        Some(Value::Object(_) | Value::Array(_)) => None,
        Some(value) => Some(value.to_string()).filter(|text| text.chars().count() <= SHORT),
    };
    match text(&change.before).zip(text(&change.now)) {
        Some((before, now)) => format!("{path}: {before} → {now}"),
        None => path.to_owned(),
    }
}

/// The files that differ, by the digests of their bytes.
pub(super) fn file_changes(before: &DiffSide, now: &DiffSide) -> Vec<SettingChange> {
    let mut found = Vec::new();
    if let (Some(old), Some(new)) = (&before.inputs, &now.inputs) {
        let old = Value::Object(old.clone());
        let new = Value::Object(new.clone());
        push("", Some(&old), Some(&new), &mut found);
    }
    found
}

fn of_grader(settings: &Map<String, Value>, name: &str) -> Option<Value> {
    let graders = settings.get("graders")?.as_array()?;
    let own = graders.iter().find(|grader| grader.get("name").is_some_and(|own| own == name))?;
    let mut own = own.as_object()?.clone();
    // It is the model of the first of the judges, where they are recorded.
    if own.get("judges").is_some_and(Value::is_array) {
        own.shift_remove("model");
    }
    Some(Value::Object(own))
}

fn push(path: &str, before: Option<&Value>, now: Option<&Value>, found: &mut Vec<SettingChange>) {
    let inner = |name: &str| {
        if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
    };
    match (before, now) {
        (Some(before), Some(now)) if is_same(before, now) => {}
        (Some(Value::Object(before)), Some(Value::Object(now))) => {
            for (name, value) in now {
                push(&inner(name), before.get(name), Some(value), found);
            }
            for (name, value) in before.iter().filter(|(name, _)| !now.contains_key(*name)) {
                push(&inner(name), Some(value), None, found);
            }
        }
        (Some(Value::Array(before)), Some(Value::Array(now)))
            if before.len() == now.len() && now.iter().all(Value::is_object) =>
        {
            for (at, (before, now)) in before.iter().zip(now).enumerate() {
                push(&inner(&at.to_string()), Some(before), Some(now), found);
            }
        }
        // A setting that is absent is one that is not set.
        (None | Some(Value::Null), None | Some(Value::Null)) => {}
        (before, now) => found.push(SettingChange {
            path: path.to_owned(),
            before: before.cloned(),
            now: now.cloned(),
        }),
    }
}

/// Whether two values say the same: `1` and `1.0` do.
fn is_same(before: &Value, now: &Value) -> bool {
    match (before.as_f64(), now.as_f64()) {
        (Some(before), Some(now)) => before.total_cmp(&now).is_eq(),
        _ => before == now,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{changes, changes_in_words, file_changes};
    use crate::diff::{DiffSide, SideRubric};

    fn side(settings: &Value) -> DiffSide {
        DiffSide { settings: settings.as_object().cloned(), ..DiffSide::default() }
    }

    fn shown(before: &DiffSide, now: &DiffSide) -> Vec<String> {
        let all = changes(before, now, &["g", "k"]).into_iter().chain(file_changes(before, now));
        let text = |value: Option<Value>| value.map_or_else(|| "-".to_owned(), |v| v.to_string());
        all.map(|change| format!("{} {} {}", change.path, text(change.before), text(change.now)))
            .collect()
    }

    #[test]
    fn settings_are_compared_value_by_value() {
        let table = [
            (json!({}), json!({}), &[][..]),
            (json!({"gate": null}), json!({"tags": null}), &[]),
            (json!({"a": 1, "b": -0.5}), json!({"a": 1.0, "b": -0.5}), &[]),
            (json!({"gate": "a"}), json!({"gate": "b"}), &["gate \"a\" \"b\""]),
            (json!({"tags": ["x"]}), json!({"tags": ["x", "y"]}), &["tags [\"x\"] [\"x\",\"y\"]"]),
            (json!({"max": 3}), json!({}), &["max 3 -"]),
            (
                json!({"graders": [7, {"name": "g", "pass_threshold": 0.5}, {"name": "old"}]}),
                json!({"graders": [{"name": "new", "x": 1}, {"name": "g", "pass_threshold": 0.7}]}),
                &["g.pass_threshold 0.5 0.7"],
            ),
            (
                json!({"graders": [{"name": "g", "model": "a", "judges": [{"model": "a", "system": {"blake3": "1"}}]}]}),
                json!({"graders": [{"name": "g", "model": "b", "judges": [{"model": "b", "system": {"blake3": "2"}}]}]}),
                &["g.judges.0.model \"a\" \"b\"", "g.judges.0.system.blake3 \"1\" \"2\""],
            ),
            (
                json!({"graders": [{"name": "k", "judges": [{"model": "a"}]}]}),
                json!({"graders": [{"name": "k", "judges": [{"model": "a"}, {"model": "b"}]}]}),
                &["k.judges [{\"model\":\"a\"}] [{\"model\":\"a\"},{\"model\":\"b\"}]"],
            ),
            (json!({"graders": "none"}), json!({"graders": [{}]}), &[]),
        ];
        for (before, now, expected) in table {
            assert_eq!(shown(&side(&before), &side(&now)), expected, "{before} and {now}");
        }
    }

    #[test]
    fn what_changed_is_said_in_a_few_words() {
        let long = "x".repeat(50);
        for (before, now, expected) in [
            (json!({"config": {"max": 8}}), json!({"config": {"max": 6}}), "max: 8 → 6"),
            (json!({"prompt": "a", "model": "m"}), json!({"prompt": "b", "model": "n"}), ""),
            (
                json!({"judges": [{"model": "a", "temperature": 0.0}]}),
                json!({"judges": [{"model": "b", "temperature": 1.0}]}),
                "judges.0.temperature: 0.0 → 1.0",
            ),
            (json!({"script": {"blake3": long}}), json!({"script": {"blake3": "y"}}), "script"),
            (json!({"config": {"a": [1]}}), json!({"config": {"a": [1, 2]}}), "a"),
            (json!({"pass_threshold": 0.5}), json!({}), "pass_threshold: 0.5 → (absent)"),
            (
                json!({"a": 1, "b": 1, "c": 1, "d": 1, "e": 1}),
                json!({"a": 2, "b": 2, "c": 2, "d": 2, "e": 2}),
                "a: 1 → 2, b: 1 → 2, c: 1 → 2, and 2 more",
            ),
        ] {
            let settings = |mut grader: Value| {
                grader["name"] = json!("g");
                json!({"graders": [grader]}).as_object().cloned().unwrap()
            };
            let said = changes_in_words(&settings(before), &settings(now), "g");
            assert_eq!(said, expected);
        }
        assert_eq!(changes_in_words(&serde_json::Map::new(), &serde_json::Map::new(), "g"), "");
    }

    #[test]
    fn in_the_middle_of_a_session_rubrics_are_compared_by_text_or_digest() {
        let side_of = |digest: &str, text: Option<&str>| DiffSide {
            rubrics: vec![SideRubric {
                grader: "g".to_owned(),
                digest: digest.to_owned(),
                text: text.map(str::to_owned),
            }],
            ..DiffSide::default()
        };
        let of = |digest| side_of(digest, None);
        let [kind, strict] = ["Kind?", "Strict?"].map(|text| side_of(text, Some(text)));
        assert_eq!(shown(&kind, &strict), ["g.prompt \"Kind?\" \"Strict?\""]);
        assert_eq!(shown(&kind, &kind), Vec::<String>::new());
        // A record of an earlier version has no texts.
        assert_eq!(shown(&of("a"), &kind), ["g.rubric.blake3 \"a\" \"Kind?\""]);
        assert_eq!(shown(&of("a"), &of("b")), ["g.rubric.blake3 \"a\" \"b\""]);
        assert_eq!(shown(&of("a"), &of("a")), Vec::<String>::new());
        assert_eq!(shown(&of("a"), &side(&json!({}))), Vec::<String>::new());
    }

    #[test]
    fn files_are_compared_by_digest() {
        let of =
            |inputs: Value| DiffSide { inputs: inputs.as_object().cloned(), ..DiffSide::default() };
        let old = of(json!({"a": "1", "b": "2"}));
        let new = of(json!({"b": "3", "c": "4"}));
        let expected = ["b \"2\" \"3\"", "c - \"4\"", "a \"1\" -"];
        assert_eq!(shown(&old, &new), expected);
        assert_eq!(shown(&old, &DiffSide::default()), Vec::<String>::new());
    }
}
