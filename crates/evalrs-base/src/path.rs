//! Dotted paths into a JSON row: `metadata.reward`, `outputs[0].text`.
//!
//! Used by the `fields` mapping, `recorded_score` and rubric placeholders. A key that itself contains
//! a dot is found too: at each level the longest matching key wins.

use serde_json::Value;

/// One row of a dataset, as the JSON text it was written in (CSV rows become an object of strings).
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    /// The text of a JSON object.
    pub text: &'a str,
    /// The same of what a target that is run has answered, which is looked at where the row has nothing.
    pub answer: Option<&'a str>,
}

impl<'a> Row<'a> {
    /// A row of which nothing else is known.
    pub fn new(text: &'a str) -> Self {
        Self { text, answer: None }
    }

    /// The whole row. Null if the text is no JSON, which the dataset reader has reported by then.
    pub fn value(self) -> Value {
        serde_json::from_str(self.text).unwrap_or_default()
    }

    /// The value at `path`, if any.
    pub fn get(self, path: &str) -> Option<Value> {
        let value = self.value();
        if let Some(found) = lookup(&value, path) {
            return Some(found.clone());
        }
        let answer: Value = serde_json::from_str(self.answer?).ok()?;
        lookup(&answer, path).cloned()
    }
}

/// The value at `path` inside `value`. The empty path is `value` itself.
pub fn lookup<'v>(value: &'v Value, path: &str) -> Option<&'v Value> {
    let path = path.strip_prefix('.').unwrap_or(path);
    if path.is_empty() {
        return Some(value);
    }
    match value {
        Value::Object(map) => {
            key_ends(path).filter_map(|end| lookup(map.get(&path[..end])?, &path[end..])).last()
        }
        Value::Array(items) => {
            let (index, rest) = index(path)?;
            lookup(items.get(index)?, rest)
        }
        _ => None,
    }
}

/// The ends of every prefix of `path` that may be one key, shortest first.
pub fn key_ends(path: &str) -> impl Iterator<Item = usize> {
    let inner = path.char_indices().filter(|(_, c)| matches!(c, '.' | '[')).map(|(at, _)| at);
    inner.filter(|at| *at > 0).chain([path.len()])
}

/// A leading `[3]` or `3` and what follows it.
pub fn index(path: &str) -> Option<(usize, &str)> {
    if let Some(rest) = path.strip_prefix('[') {
        let (digits, rest) = rest.split_once(']')?;
        return Some((digits.parse().ok()?, rest));
    }
    let end = path.find(['.', '[']).unwrap_or(path.len());
    Some((path[..end].parse().ok()?, &path[end..]))
}

/// A path as YAML takes it between braces: in quotes where it has signs that mean something there.
pub fn in_braces(path: &str) -> String {
    let is_plain = |char: char| char.is_alphanumeric() || matches!(char, '.' | '_' | '$');
    let begins = path.starts_with(|char: char| char.is_alphabetic() || char == '_');
    if begins && path.chars().all(|char| is_plain(char) || char == '-') {
        return path.to_owned();
    }
    Value::from(path).to_string()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    #[test]
    fn paths_reach_objects_arrays_and_dotted_keys() {
        let value = json!({"a": {"b": [10, {"c": 1}], "b.d": 2}, "x.y": 3, "": 4});
        for (path, expected) in [
            ("a.b[0]", json!(10)),
            ("a.b.0", json!(10)),
            ("a.b[1].c", json!(1)),
            ("a.b.d", json!(2)),
            ("x.y", json!(3)),
        ] {
            assert_eq!(super::lookup(&value, path), Some(&expected), "{path}");
        }
        for path in ["a.c", "a.b[2]", "a.b[x]", "a.b[", "z", "a.b[0].c"] {
            assert_eq!(super::lookup(&value, path), None, "{path}");
        }
    }
}
