//! Schemas of what is written of a run: the lines and files of its record, and `--format json`, which is all of them.

use serde_json::{Value, json};

use super::extensions::{count, map_of, or_null};
use super::{any, boolean, free_map, list, number, object, string};
use evalrs_model::record_format::LINE_FORMAT;

/// Whose schemas these are, in the order in which they are listed.
pub(super) const NAMES: [&str; 5] =
    ["RunReport", "RunHeader", "RunResult", "RunSummary", "RunRollup"];

/// What stands in the schema of this name, if there is one.
pub(super) fn body(name: &str) -> Option<Value> {
    Some(match name {
        "RunReport" => {
            object(&[("header", header()), ("results", list(&result())), ("summary", summary())])
        }
        "RunHeader" => header(),
        "RunResult" => result(),
        "RunSummary" => summary(),
        "RunRollup" => rollup(),
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
        ("format", json!({"const": LINE_FORMAT})),
        ("sample_id", string()),
        ("input", any()),
        ("ground_truth", any()),
        ("model", or_null(string())),
        ("trial", count()),
        ("conversation?", string()),
        ("submission", string()),
        ("submissions?", map_of(&string())),
        ("grades", map_of(&grade())),
        ("not_applicable?", map_of(&string())),
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
        ("declared?", map_of(&declared())),
        ("labels?", map_of(&string())),
        ("by_model", by_group()),
        ("by_tag", by_group()),
        ("gate", gate()),
        ("trials?", map_of(&free_map())),
        ("agreement?", map_of(&free_map())),
        ("label_agreement?", map_of(&free_map())),
        ("held_out?", map_of(&free_map())),
        ("annotators?", map_of(&annotators())),
        ("disputed?", map_of(&list(&disputed_case()))),
        ("calibration?", map_of(&free_map())),
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
    members.push(("not_applicable?", count()));
    members.extend(numbers.map(|name| (name, or_null(number()))));
    members.extend([("interval?", interval()), ("accuracy_interval?", interval())]);
    let native = object(&[
        ("mean", number()),
        ("low", or_null(number())),
        ("high", or_null(number())),
        ("min", number()),
        ("max", number()),
    ]);
    members.push(("native?", native));
    members.extend([("pass_at?", map_of(&share())), ("pass_hat?", map_of(&share()))]);
    object(&members)
}

fn interval() -> Value {
    object(&[("low", number()), ("high", number()), ("level", share()), ("method", string())])
}

/// A metric that a suite or a roll-up declares.
fn declared() -> Value {
    let group = object(&[
        ("value", or_null(number())),
        ("n", count()),
        ("interval", or_null(interval())),
        ("weight?", number()),
    ]);
    let ungrouped = object(&[("n", count()), ("values", list(&string()))]);
    object(&[
        ("kind", string()),
        ("value", or_null(number())),
        ("native?", number()),
        ("n", count()),
        ("errors", count()),
        ("interval", or_null(interval())),
        ("problem?", string()),
        ("interval_problem?", string()),
        ("groups?", map_of(&group)),
        ("ungrouped?", ungrouped),
        ("confusion?", free_map()),
        ("classes?", list(&free_map())),
        ("lowest?", number()),
        ("highest?", number()),
        ("undefined?", list(&string())),
        ("definition?", string()),
    ])
}

/// What several suites came to together.
fn rollup() -> Value {
    let suite = object(&[("suite", string()), ("path", string()), ("run", string())]);
    object(&[
        ("format", format()),
        ("name", string()),
        ("description", or_null(string())),
        ("evalrs", string()),
        ("suites", list(&suite)),
        ("metrics", map_of(&declared())),
        ("gate", gate()),
    ])
}

fn annotators() -> Value {
    object(&[
        ("cases", count()),
        ("people", count()),
        ("pairs", count()),
        ("agreement", or_null(share())),
        ("alpha", or_null(number())),
        ("alpha_of_scores", or_null(number())),
    ])
}

fn disputed_case() -> Value {
    object(&[
        ("sample_id", string()),
        ("model", or_null(string())),
        ("trial", count()),
        ("passes", list(&string())),
        ("fails", list(&string())),
    ])
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
