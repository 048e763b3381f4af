//! Schemas of what is written of a run: the lines and files of its record, and `--format json`, which is all of them.

use serde_json::{Value, json};

use super::extensions::{count, map_of, or_null};
use super::{any, boolean, free_map, list, number, object, string};

/// Whose schemas these are, in the order in which they are listed.
pub(super) const NAMES: [&str; 4] = ["RunReport", "RunHeader", "RunResult", "RunSummary"];

/// What stands in the schema of this name, if there is one.
pub(super) fn body(name: &str) -> Option<Value> {
    Some(match name {
        "RunReport" => {
            object(&[("header", header()), ("results", list(&result())), ("summary", summary())])
        }
        "RunHeader" => header(),
        "RunResult" => result(),
        "RunSummary" => summary(),
        _ => return None,
    })
}

fn header() -> Value {
    object(&[
        ("format", format()),
        ("suite", string()),
        ("description", or_null(string())),
        ("evalrs", string()),
        ("inputs", map_of(&string())),
        ("settings", free_map()),
    ])
}

fn result() -> Value {
    object(&[
        ("format", format()),
        ("sample_id", string()),
        ("input", any()),
        ("ground_truth", any()),
        ("model", or_null(string())),
        ("trial", count()),
        ("conversation?", string()),
        ("submissions", map_of(&string())),
        ("grades", map_of(&grade())),
    ])
}

fn grade() -> Value {
    let turn = object(&[
        ("turn", count()),
        ("score", share()),
        ("rationale", string()),
        ("submission", string()),
    ]);
    object(&[
        ("score", share()),
        ("pass", boolean()),
        ("rationale", string()),
        ("error", or_null(object(&[("kind", string()), ("message", string())]))),
        ("key", or_null(string())),
        ("metadata", free_map()),
        ("per_turn?", list(&turn)),
    ])
}

fn summary() -> Value {
    let by_group = || or_null(map_of(&map_of(&metric())));
    object(&[
        ("format", format()),
        ("suite", string()),
        ("samples", count()),
        ("results", count()),
        ("metrics", map_of(&metric())),
        ("labels?", map_of(&string())),
        ("by_model", by_group()),
        ("by_tag", by_group()),
        ("gate", gate()),
        ("trials?", map_of(&free_map())),
        ("agreement?", map_of(&free_map())),
        ("label_agreement?", map_of(&free_map())),
        ("people?", map_of(&free_map())),
        ("usage", map_of(&usage(Some(map_of(&usage(None)))))),
        ("cost", or_null(number())),
    ])
}

fn metric() -> Value {
    let numbers = [
        "avg_score_attempted",
        "avg_score_total",
        "stderr",
        "stderr_naive",
        "accuracy",
        "min",
        "max",
        "median",
        "p95",
        "p99",
    ];
    let mut members = vec![("n", count()), ("attempted", count()), ("errors", count())];
    members.extend(numbers.map(|name| (name, or_null(number()))));
    let interval =
        object(&[("low", number()), ("high", number()), ("level", share()), ("method", string())]);
    members.extend([("interval?", interval.clone()), ("accuracy_interval?", interval)]);
    members.extend([("pass_at?", map_of(&share())), ("pass_hat?", map_of(&share()))]);
    object(&members)
}

fn gate() -> Value {
    let one_of = |names: &[&str]| json!({"type": "string", "enum": names});
    object(&[
        ("status", or_null(one_of(&["passed", "failed", "undecided"]))),
        ("value", or_null(number())),
        ("op", or_null(one_of(&["gt", "gte", "lt", "lte", "eq"]))),
        ("threshold", or_null(number())),
        ("lowest", or_null(number())),
        ("highest", or_null(number())),
        ("rule", or_null(string())),
        ("lacks?", one_of(&["labels", "different_labels", "different_verdicts"])),
        ("conditions?", list(&free_map())),
    ])
}

/// What judgments used; those of a grader also by model.
fn usage(by_model: Option<Value>) -> Value {
    let last = match by_model {
        Some(models) => ("by_model", models),
        None => ("unpriced?", count()),
    };
    object(&[
        ("judgments", count()),
        ("input_tokens", count()),
        ("output_tokens", count()),
        ("cost", or_null(number())),
        last,
    ])
}

fn format() -> Value {
    json!({"const": 1})
}

fn share() -> Value {
    json!({"type": "number", "minimum": 0, "maximum": 1})
}
