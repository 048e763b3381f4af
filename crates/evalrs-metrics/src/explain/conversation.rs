//! The conversation that an answer comes from, as plain data and in words.

use serde::Serialize;

use super::sent::ExplainedOutcome;
use evalrs_model::key::Ingredient;

/// The conversation of a live target with a case.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ExplainedConversation {
    /// The key.
    pub key: String,
    /// What the key is made of.
    pub ingredients: Vec<Ingredient>,
    /// Its result; null if that is not stored.
    pub outcome: Option<ExplainedOutcome>,
    /// The earlier run that it is compared with; null if none is recorded.
    pub earlier: Option<String>,
    /// Whether that run had the same conversation.
    pub is_same: bool,
    /// What differs from that run: files by their paths, other ingredients by their names.
    pub differs: Vec<String>,
}

/// The ingredients that name a file: its path, then its digest.
const FILES: [&str; 2] = ["input_file", "loaded_file"];

/// What differs between two lists of ingredients, each thing once, in the order of the new list.
pub fn changes(before: &[Ingredient], after: &[Ingredient]) -> Vec<String> {
    let changed = |from: &[Ingredient], to: &[Ingredient]| {
        to.iter().filter(|part| !from.contains(part)).map(name_of).collect::<Vec<String>>()
    };
    let mut names = changed(before, after);
    for name in changed(after, before) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names.dedup();
    names
}

fn name_of(part: &Ingredient) -> String {
    if FILES.contains(&part.name.as_str())
        && let Some((path, _)) = part.preview.as_deref().and_then(|text| text.rsplit_once(' '))
    {
        return format!("the file {path}");
    }
    if part.name == "program" { "the program".to_owned() } else { part.name.clone() }
}

#[cfg(test)]
mod tests {
    use super::changes;
    use evalrs_model::key::Ingredient;

    #[test]
    fn files_are_told_by_their_paths_and_other_things_by_their_names() {
        let list = |parts: &[(&str, &str)]| -> Vec<Ingredient> {
            let part = |(name, text): &(&str, &str)| Ingredient {
                name: (*name).to_owned(),
                preview: Some((*text).to_owned()),
                digest: None,
                number: false,
            };
            parts.iter().map(part).collect()
        };
        let before = [("input_file", "a b.txt 1"), ("input_file", "c.txt 1"), ("version", "1")];
        for (after, expected) in [
            (&before[..], &[][..]),
            (&[("input_file", "a b.txt 2"), before[1], before[2]], &["the file a b.txt"]),
            (&[before[1], ("version", "2")], &["version", "the file a b.txt"]),
            (&[before[0], before[1], before[2], ("loaded_file", "d.py 1")], &["the file d.py"]),
        ] {
            assert_eq!(changes(&list(&before), &list(after)), expected, "{after:?}");
        }
    }
}
