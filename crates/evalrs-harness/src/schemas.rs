//! JSON Schemas of the records, draft 2020-12, each complete in itself.
//!
//! They are strict: what writes a record is checked with them. What reads records (`check`) is tolerant, as
//! agent-eval-harness is.

mod extensions;
mod imports;
mod runs;

use serde_json::{Map, Value, json};

/// Whose schemas there are: those of agent-eval-harness in its order, and behind them those of evalrs alone.
pub fn names() -> impl Iterator<Item = &'static str> {
    NAMES.into_iter().chain(extensions::NAMES).chain(runs::NAMES).chain(imports::NAMES)
}

const NAMES: [&str; 15] = [
    "PromptCase",
    "GraderResult",
    "TrajectoryStep",
    "CaptureResult",
    "SummaryResult",
    "TrialEntry",
    "TrialResult",
    "CalibrationSample",
    "BalanceAnalysis",
    "ValidationResult",
    "McpServerConfig",
    "Session",
    "JsonRpcRequest",
    "JsonRpcResponse",
    "JsonRpcError",
];

/// The schema of a record, if there is one of this name.
pub fn schema(name: &str) -> Option<Value> {
    let Value::Object(body) = body(name)? else { return None };
    let mut schema = Map::new();
    schema.insert("$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema"));
    schema.insert("title".to_owned(), json!(name));
    schema.extend(body);
    Some(Value::Object(schema))
}

fn body(name: &str) -> Option<Value> {
    Some(match name {
        "PromptCase" => prompt_case(),
        "GraderResult" => grader_result(),
        "TrajectoryStep" => trajectory_step(),
        "CaptureResult" => capture_result(),
        "SummaryResult" => summary_result(),
        "TrialEntry" => trial_entry(),
        "TrialResult" => trial_result(),
        "CalibrationSample" => calibration_sample(),
        "BalanceAnalysis" => balance_analysis(),
        "ValidationResult" => validation_result(),
        "McpServerConfig" => mcp_server_config(),
        "Session" => {
            object(&[("id", string()), ("_meta?", any_of(&[free_map(), json!({"type": "null"})]))])
        }
        "JsonRpcRequest" => object(&[
            ("jsonrpc", constant("2.0")),
            ("id", any_of(&[string(), number()])),
            ("method", string()),
            ("params?", any()),
        ]),
        "JsonRpcResponse" => json_rpc_response(),
        "JsonRpcError" => json_rpc_error(),
        other => {
            let body = extensions::body(other).or_else(|| runs::body(other));
            return body.or_else(|| imports::body(other));
        }
    })
}

fn prompt_case() -> Value {
    object(&[
        ("id", string()),
        ("input", input()),
        ("hint?", string()),
        ("reference?", string()),
        ("metadata?", free_map()),
        ("timeout?", number()),
    ])
}

fn grader_result() -> Value {
    object(&[
        ("pass", boolean()),
        ("score", json!({"type": "number", "minimum": 0, "maximum": 1})),
        ("reasoning?", string()),
        ("outcome?", free_map()),
    ])
}

fn trajectory_step() -> Value {
    let words = |kind| {
        object(&[
            ("type", constant(kind)),
            ("content", string()),
            ("timestamp", number()),
            ("stepId?", string()),
        ])
    };
    let call = object(&[
        ("type", constant("tool_call")),
        ("name", string()),
        ("status", string()),
        ("input?", any()),
        ("output?", any()),
        ("duration?", number()),
        ("timestamp", number()),
        ("stepId?", string()),
    ]);
    let plan = object(&[
        ("type", constant("plan")),
        ("entries", list(&any())),
        ("timestamp", number()),
        ("stepId?", string()),
    ]);
    json!({"oneOf": [words("thought"), words("message"), call, plan]})
}

fn capture_result() -> Value {
    let timing = object(&[
        ("start", number()),
        ("end", number()),
        ("firstResponse?", number()),
        ("sessionCreation", number()),
        ("total", number()),
        ("inputTokens?", number()),
        ("outputTokens?", number()),
    ]);
    object(&[
        ("id", string()),
        ("input", input()),
        ("output", string()),
        ("hint?", string()),
        ("trajectory", list(&trajectory_step())),
        ("metadata", free_map()),
        ("timing", timing),
        ("toolErrors", boolean()),
        ("errors?", list(&string())),
        ("score?", grader_result()),
        ("outcome?", free_map()),
    ])
}

fn summary_result() -> Value {
    object(&[
        ("id", string()),
        ("input", string()),
        ("output", string()),
        ("toolCalls", list(&string())),
        ("duration", number()),
    ])
}

fn trial_entry() -> Value {
    object(&[
        ("trialNum", number()),
        ("output", string()),
        ("trajectory", list(&trajectory_step())),
        ("duration", number()),
        ("pass?", boolean()),
        ("score?", number()),
        ("reasoning?", string()),
        ("outcome?", free_map()),
    ])
}

fn trial_result() -> Value {
    object(&[
        ("id", string()),
        ("input", input()),
        ("hint?", string()),
        ("k", number()),
        ("passRate?", number()),
        ("passAtK?", number()),
        ("passExpK?", number()),
        ("trials", list(&trial_entry())),
        ("metadata?", free_map()),
    ])
}

fn calibration_sample() -> Value {
    object(&[
        ("id", string()),
        ("input", input()),
        ("output", string()),
        ("hint?", string()),
        ("originalScore", grader_result()),
        ("rescoredResult?", grader_result()),
        ("trajectorySnippet", list(&trajectory_step())),
    ])
}

fn balance_analysis() -> Value {
    let category = object(&[("name", string()), ("count", number()), ("percentage", number())]);
    object(&[
        ("totalCases", number()),
        ("categories", list(&category)),
        ("underrepresented", list(&string())),
        ("suggestions", list(&string())),
    ])
}

fn validation_result() -> Value {
    object(&[
        ("id", string()),
        ("reference", string()),
        ("passes", boolean()),
        ("graderResult", grader_result()),
    ])
}

fn mcp_server_config() -> Value {
    let pairs = || list(&object(&[("name", string()), ("value", string())]));
    let stdio = object(&[
        ("type?", constant("stdio")),
        ("name", string()),
        ("command", string()),
        ("args", list(&string())),
        ("env", pairs()),
    ]);
    let http = object(&[
        ("type", constant("http")),
        ("name", string()),
        ("url", string()),
        ("headers", pairs()),
    ]);
    any_of(&[stdio, http])
}

fn json_rpc_response() -> Value {
    let success = object(&[
        ("jsonrpc", constant("2.0")),
        ("id", any_of(&[string(), number()])),
        ("result", any()),
    ]);
    let failure = object(&[
        ("jsonrpc", constant("2.0")),
        ("id", any_of(&[string(), number(), json!({"type": "null"})])),
        ("error", json_rpc_error()),
    ]);
    any_of(&[success, failure])
}

fn json_rpc_error() -> Value {
    object(&[("code", number()), ("message", string()), ("data?", any())])
}

fn input() -> Value {
    any_of(&[string(), list(&string())])
}

fn string() -> Value {
    json!({"type": "string"})
}

fn number() -> Value {
    json!({"type": "number"})
}

fn boolean() -> Value {
    json!({"type": "boolean"})
}

fn any() -> Value {
    json!({})
}

fn constant(text: &str) -> Value {
    json!({"type": "string", "const": text})
}

fn list(of: &Value) -> Value {
    json!({"type": "array", "items": of})
}

fn any_of(all: &[Value]) -> Value {
    json!({"anyOf": all})
}

/// An object of any members.
fn free_map() -> Value {
    json!({"type": "object", "propertyNames": {"type": "string"}, "additionalProperties": {}})
}

/// An object of these members and no others; a `?` behind its name says that one may be left out.
fn object(members: &[(&str, Value)]) -> Value {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for (name, schema) in members {
        let bare = name.trim_end_matches('?');
        if bare == *name {
            required.push(bare);
        }
        properties.insert(bare.to_owned(), schema.clone());
    }
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{names, schema};
    use evalrs_eval::adapter::BUILT_IN;

    fn accepts(name: &str, value: &Value) -> bool {
        jsonschema::draft202012::new(&schema(name).unwrap()).unwrap().is_valid(value)
    }

    #[test]
    fn every_name_has_a_schema_that_is_one() {
        assert_eq!(names().count(), 26);
        for name in names() {
            let schema = schema(name).unwrap();
            let heads: Vec<&String> = schema.as_object().unwrap().keys().take(2).collect();
            assert_eq!(heads, ["$schema", "title"]);
            assert_eq!(schema["title"], name);
            assert!(jsonschema::draft202012::meta::is_valid(&schema), "{name}");
            assert!(!schema.to_string().contains("$ref"), "{name} is complete in itself");
        }
        assert_eq!(schema("promptcase"), None);
    }

    #[test]
    fn schemas_take_what_is_written_and_nothing_else() {
        let score = json!({"pass": true, "score": 0.5, "reasoning": "r", "outcome": {"a": 1}});
        let step = json!({"type": "tool_call", "name": "Read", "status": "failed", "timestamp": 1});
        let timing = json!({"start": 1, "end": 2, "sessionCreation": 0, "total": 1});
        for (name, value, expected) in [
            ("GraderResult", score.clone(), true),
            ("GraderResult", json!({"pass": true, "score": 1.1}), false),
            ("GraderResult", json!({"pass": true, "score": 1, "more": 1}), false),
            ("GraderResult", json!({"score": 1}), false),
            ("TrajectoryStep", step.clone(), true),
            ("TrajectoryStep", json!({"type": "song", "content": "", "timestamp": 1}), false),
            ("PromptCase", json!({"id": "a", "input": ["q"], "metadata": {"k": [1]}}), true),
            ("PromptCase", json!({"id": "a", "input": [1]}), false),
            (
                "CaptureResult",
                json!({"id": "a", "input": "q", "output": "o", "trajectory": [step], "metadata": {}, "timing": timing, "toolErrors": true, "score": score}),
                true,
            ),
            ("CaptureResult", json!({"id": "a", "input": "q", "output": "o"}), false),
            (
                "ValidationResult",
                json!({"id": "a", "reference": "r", "passes": true, "graderResult": {"pass": true, "score": 1}}),
                true,
            ),
            (
                "McpServerConfig",
                json!({"name": "n", "command": "c", "args": [], "env": [{"name": "A", "value": "b"}]}),
                true,
            ),
            ("McpServerConfig", json!({"type": "http", "name": "n"}), false),
            (
                "JsonRpcResponse",
                json!({"jsonrpc": "2.0", "id": null, "error": {"code": 1, "message": "m"}}),
                true,
            ),
            ("JsonRpcResponse", json!({"jsonrpc": "2.0", "id": null, "result": 1}), false),
            ("Session", json!({"id": "s", "_meta": null}), true),
        ] {
            assert_eq!(accepts(name, &value), expected, "{name}: {value}");
        }
    }

    #[test]
    fn the_schema_of_adapters_takes_those_that_are_built_in() {
        for (name, text) in BUILT_IN {
            let mut adapter: Value = serde_json::from_str(text).unwrap();
            assert!(accepts("AdapterSchema", &adapter), "{name}");
            adapter["sessionMode"] = json!("once");
            assert!(!accepts("AdapterSchema", &adapter), "{name}");
        }
    }

    #[test]
    fn what_an_agent_wrote_becomes_steps_that_the_schema_takes() {
        let set = "agent-trajectories";
        let name = "claude-code-2.0.25-stream.jsonl";
        let Some(stream) = evalrs_test_data::text(set, name) else { return };
        let adapter = evalrs_eval::adapter::Adapter::read(BUILT_IN[0].1).unwrap();
        let lines: Vec<&str> = stream.lines().collect();
        let raw = json!({
            "id": "a", "input": "q", "rawLines": lines, "metadata": {"category": "real"},
            "timing": {"start": 0, "end": 9, "total": 9, "sessionCreation": 0},
        });
        let record = crate::extract::extracted(raw.as_object().unwrap(), &adapter);
        let record = json!(record.unwrap());
        let steps = record["trajectory"].as_array().unwrap();
        assert!(steps.len() > 20, "{}", steps.len());
        for step in steps {
            assert!(accepts("TrajectoryStep", step), "{step}");
        }
        assert!(accepts("CaptureResult", &record), "{record}");
    }
}
