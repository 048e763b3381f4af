//! The schema of what `evalrs import --json` prints.

use serde_json::{Value, json};

use super::extensions::{count, map_of};
use super::{list, object, string};

/// Whose schemas these are, in the order in which they are listed.
pub(super) const NAMES: [&str; 1] = ["ImportReport"];

/// What stands in the schema of this name, if there is one.
pub(super) fn body(name: &str) -> Option<Value> {
    (name == NAMES[0]).then(report)
}

fn report() -> Value {
    let suite = object(&[
        ("file", string()),
        ("rows", count()),
        ("outputs", count()),
        ("labels", count()),
        ("graders", count()),
    ]);
    let counts = object(&[("mapped", count()), ("not_mapped", count())]);
    let part = object(&[
        ("part", string()),
        ("file", string()),
        ("line", count()),
        ("what", string()),
        ("reason", string()),
    ]);
    let secret = object(&[("file", string()), ("line", count()), ("what", string())]);
    object(&[
        ("format", json!({"const": 1})),
        ("kind", string()),
        ("source", string()),
        ("folder", string()),
        ("suites", list(&suite)),
        ("parts", map_of(&counts)),
        ("not_mapped", list(&part)),
        ("secrets", list(&secret)),
        ("notes", list(&string())),
        ("next", list(&string())),
    ])
}
