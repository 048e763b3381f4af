//! Schemas of what agent-eval-harness has none for: adapters, comparisons, and what comparison graders are handed and give.

use serde_json::{Value, json};

use super::{
    any_of, boolean, constant, free_map, grader_result, input, list, number, object, string,
    trajectory_step, trial_entry,
};

/// Whose schemas these are, in the order in which they are listed.
pub(super) const NAMES: [&str; 5] = [
    "AdapterSchema",
    "ComparisonInput",
    "ComparisonResult",
    "ComparisonReport",
    "TrialsComparisonReport",
];

/// What stands in the schema of this name, if there is one.
pub(super) fn body(name: &str) -> Option<Value> {
    Some(match name {
        "AdapterSchema" => adapter(),
        "ComparisonInput" => comparison_input(),
        "ComparisonResult" => comparison_result(),
        "ComparisonReport" => comparison_report(),
        "TrialsComparisonReport" => trials_comparison_report(),
        _ => return None,
    })
}

fn adapter() -> Value {
    let one_of = |names: &[&str]| json!({"type": "string", "enum": names});
    let condition = || object(&[("path", string()), ("value", string())]);
    let matches = object(&[("path", string()), ("value", string()), ("when?", list(&condition()))]);
    let paths =
        ["content", "title", "status", "id", "input", "output", "failed", "delta", "entries"];
    let paths: Vec<String> = paths.iter().map(|name| format!("{name}?")).collect();
    let paths: Vec<(&str, Value)> = paths.iter().map(|name| (name.as_str(), string())).collect();
    let kind = || one_of(&["thought", "tool_call", "message", "plan"]);
    let mapping = object(&[("match", matches), ("emitAs", kind()), ("extract?", object(&paths))]);
    let history = object(&[("system?", string()), ("turnFormat", string())]);
    let usage = object(&[
        ("inputTokens", list(&string())),
        ("outputTokens", list(&string())),
        ("cost?", string()),
    ]);
    object(&[
        ("version", json!({"const": 1})),
        ("name", string()),
        ("command", list(&string())),
        ("sessionMode", one_of(&["stream", "iterative"])),
        ("timeout?", number()),
        (
            "prompt",
            object(&[
                ("flag?", string()),
                ("stdin?", boolean()),
                ("stdinFormat?", one_of(&["text", "json"])),
            ]),
        ),
        ("output", object(&[("flag", string()), ("value", string())])),
        ("autoApprove?", list(&string())),
        ("resume?", object(&[("flag", string()), ("sessionIdPath", string())])),
        ("cwdFlag?", string()),
        ("modelFlag?", string()),
        ("outputMode?", one_of(&["jsonpath", "passthrough"])),
        ("outputEvents?", list(&mapping)),
        (
            "passthroughTypeMap?",
            object(&[("typeField?", string()), ("typeValues?", map_of(&kind()))]),
        ),
        (
            "result",
            object(&[
                ("matchPath", string()),
                ("matchValue", string()),
                ("contentPath", string()),
                ("failedPath?", any_of(&[string(), list(&string())])),
            ]),
        ),
        ("historyTemplate?", any_of(&[string(), history])),
        ("usage?", usage),
    ])
}

fn comparison_input() -> Value {
    let result = object(&[
        ("output", string()),
        ("trajectory?", list(&trajectory_step())),
        ("score?", grader_result()),
        ("duration?", number()),
        ("toolErrors", boolean()),
    ]);
    let trials = object(&[
        ("passRate?", number()),
        ("passAtK?", number()),
        ("passExpK?", number()),
        ("k", number()),
        ("trials", list(&trial_entry())),
    ]);
    object(&[
        ("id", string()),
        ("input", input()),
        ("hint?", string()),
        ("metadata?", free_map()),
        ("runs", map_of(&any_of(&[result, trials]))),
    ])
}

fn comparison_result() -> Value {
    let rank = json!({"type": "integer", "minimum": 1});
    let ranking = object(&[("run", string()), ("rank", rank), ("score", number())]);
    object(&[("rankings", list(&ranking)), ("reasoning?", string())])
}

fn comparison_report() -> Value {
    let meta = object(&[
        ("generatedAt", string()),
        ("runs", list(&string())),
        ("promptCount", count()),
        ("promptsWithAllRuns", count()),
    ]);
    let shares = ["0.0-0.2", "0.2-0.4", "0.4-0.6", "0.6-0.8", "0.8-1.0"];
    let quality = object(&[
        ("type", constant("run")),
        ("avgScore", number()),
        ("passRate", number()),
        ("passCount", count()),
        ("failCount", count()),
        ("scoreDistribution", object(&shares.map(|share| (share, count())))),
        ("confidenceIntervals?", object(&[("avgScore", interval()), ("passRate", interval())])),
    ]);
    let performance = object(&[
        ("latency", latency()),
        ("firstResponse?", latency()),
        ("totalDuration", number()),
        ("confidenceIntervals?", object(&[("latencyMean", interval())])),
    ]);
    let reliability = object(&[
        ("type", constant("run")),
        ("toolErrors", count()),
        ("toolErrorRate", number()),
        ("timeouts", count()),
        ("timeoutRate", number()),
        ("completionRate", number()),
    ]);
    let prompt = object(&[
        ("id", string()),
        ("winner", or_null(string())),
        ("scores", map_of(&number())),
        ("latencies", map_of(&or_null(number()))),
        ("hadErrors", map_of(&boolean())),
    ]);
    object(&[
        ("meta", meta),
        ("quality", map_of(&quality)),
        ("performance", map_of(&performance)),
        ("reliability", map_of(&reliability)),
        ("trajectoryInfo", map_of(&object(&[("richness", string()), ("avgStepCount", number())]))),
        ("headToHead", object(&[("prompts", list(&prompt)), ("pairwise", pairwise())])),
    ])
}

fn trials_comparison_report() -> Value {
    let meta = object(&[
        ("generatedAt", string()),
        ("runs", list(&string())),
        ("promptCount", count()),
        ("trialsPerPrompt", number()),
        ("inputFormat", constant("trials")),
    ]);
    let flaky = object(&[("id", string()), ("flakiness", number())]);
    let flakiness = object(&[
        ("avgFlakiness", number()),
        ("medianFlakiness", number()),
        ("flakyPromptCount", count()),
        ("topFlakyPrompts", list(&flaky)),
    ]);
    let performance = object(&[
        ("latency", latency()),
        ("totalDuration", number()),
        ("confidenceIntervals?", object(&[("latencyMean", interval())])),
    ]);
    let won = || object(&["capability", "reliability", "overall"].map(|name| (name, pairwise())));
    let prompt = object(&[
        ("id", string()),
        ("capabilityWinner", or_null(string())),
        ("reliabilityWinner", or_null(string())),
        ("passAtK", map_of(&number())),
        ("passExpK", map_of(&number())),
        ("flakiness", map_of(&number())),
    ]);
    object(&[
        ("meta", meta),
        ("capability", map_of(&spread("PassAtK", false))),
        ("reliability", map_of(&spread("PassExpK", true))),
        ("flakiness", map_of(&flakiness)),
        ("quality?", map_of(&spread("Score", true))),
        ("performance", map_of(&performance)),
        ("headToHead", won()),
        ("perPrompt", list(&prompt)),
    ])
}

/// The mean and the spread of a metric.
fn spread(metric: &str, has_type: bool) -> Value {
    let names = ["avg", "median", "p25", "p75"].map(|name| format!("{name}{metric}"));
    let mut members: Vec<(&str, Value)> = Vec::new();
    members.extend(has_type.then(|| ("type", constant("trial"))));
    members.extend(names.iter().map(|name| (name.as_str(), number())));
    members.push(("confidenceIntervals?", object(&[(names[0].as_str(), interval())])));
    object(&members)
}

fn latency() -> Value {
    object(&["p50", "p90", "p99", "mean", "min", "max"].map(|name| (name, number())))
}

fn pairwise() -> Value {
    list(&object(&[
        ("runA", string()),
        ("runB", string()),
        ("aWins", count()),
        ("bWins", count()),
        ("ties", count()),
    ]))
}

fn interval() -> Value {
    json!({"type": "array", "prefixItems": [number(), number()], "items": false, "minItems": 2})
}

/// A whole number from 0.
pub(super) fn count() -> Value {
    json!({"type": "integer", "minimum": 0})
}

/// What it is, or null.
pub(super) fn or_null(schema: Value) -> Value {
    any_of(&[schema, json!({"type": "null"})])
}

/// An object of members of this kind, whatever they are called.
pub(super) fn map_of(schema: &Value) -> Value {
    json!({"type": "object", "propertyNames": {"type": "string"}, "additionalProperties": schema})
}
