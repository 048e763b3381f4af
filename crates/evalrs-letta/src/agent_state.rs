//! What a server says of an agent, and what tools take.
//!
//! Tools are one by name for a whole server: an agent may have got another one than its file holds, so what it has is
//! read back before it is asked anything.

use serde_json::{Map, Value, json};

use evalrs_base::text::enumerated;

/// What a judge's tool is called with.
const ARGUMENTS: [&str; 2] = ["score", "rationale"];
/// What is kept of an agent beside its memory. Not among it: what may be secret, such as the variables of its tools.
const KEPT: [&str; 9] = [
    "name",
    "agent_type",
    "description",
    "system",
    "model",
    "llm_config",
    "tags",
    "metadata",
    "tools",
];

/// The model that an agent is run by.
pub fn model_of(agent: &Value) -> Option<String> {
    agent["llm_config"]["model"].as_str().map(str::to_owned)
}

/// What extractors may look at of an agent: its memory, where older clients and where newer ones have it, and what it is.
pub fn kept(agent: &Value) -> Value {
    let blocks = agent.pointer("/memory/blocks").filter(|blocks| **blocks != json!([]));
    let blocks = blocks.or_else(|| agent.get("blocks")).cloned().unwrap_or_else(|| json!([]));
    let named =
        KEPT.iter().filter_map(|name| Some(((*name).to_owned(), agent.get(*name)?.clone())));
    let mut kept: Map<String, Value> = named.filter(|(_, value)| !value.is_null()).collect();
    kept.insert("memory".to_owned(), json!({"blocks": blocks}));
    kept.insert("blocks".to_owned(), blocks);
    Value::Object(kept)
}

/// Why the agent cannot give a verdict by `tool`, if it cannot.
pub fn unable(agent: &Value, tool: &str) -> Option<String> {
    let tools = agent["tools"].as_array().map(Vec::as_slice).unwrap_or_default();
    let Some(own) = tools.iter().find(|own| name_of(own) == tool) else {
        return Some(format!("at the server the judge has no tool `{tool}`"));
    };
    let lacking = lacking(own);
    (!lacking.is_empty()).then(|| {
        let lacking = quoted(&lacking);
        format!(
            "the server has another tool named `{tool}`, which does not take {lacking}: rename yours, and set `judge_tool_name` to the new name"
        )
    })
}

/// Names as a sentence has them.
pub(crate) fn quoted(names: &[&str]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    enumerated(&names, "and")
}

/// The name of a tool.
pub(crate) fn name_of(tool: &Value) -> &str {
    tool["name"].as_str().unwrap_or_default()
}

/// What a judge's tool must take and this one does not: by its schema, or by its source where it has none.
pub(crate) fn lacking(tool: &Value) -> Vec<&'static str> {
    let schema = &tool["json_schema"]["parameters"]["properties"];
    let source = tool["source_code"].as_str().unwrap_or_default();
    let takes = |name: &str| match schema {
        Value::Object(properties) => properties.contains_key(name),
        _ => [":", " :"].iter().any(|colon| source.contains(&format!("{name}{colon}"))),
    };
    ARGUMENTS.into_iter().filter(|name| !takes(name)).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{kept, lacking, model_of, unable};
    use evalrs_test_data as test_data;
    use evalrs_test_data::letta_agent::judge_file;

    #[test]
    fn a_tool_takes_what_its_schema_or_its_source_says() {
        let source = |source: &str| json!({"source_code": source});
        let schema =
            |properties: Value| json!({"json_schema": {"parameters": {"properties": properties}}});
        for (tool, expected) in [
            (schema(json!({"score": {}, "rationale": {}})), &[][..]),
            (schema(json!({"grade": {}})), &["score", "rationale"]),
            (source("def f(score: float, rationale : str):"), &[]),
            (source("def f(score: float):"), &["rationale"]),
            (json!({}), &["score", "rationale"]),
            (json!("text"), &["score", "rationale"]),
        ] {
            assert_eq!(lacking(&tool), expected, "{tool}");
        }
    }

    #[test]
    fn memory_is_kept_where_any_client_looks_for_it_and_secrets_are_not() {
        let blocks = json!([{"label": "human", "value": "likes figs"}]);
        for agent in [
            json!({"memory": {"blocks": blocks}}),
            json!({"blocks": blocks, "memory": {"blocks": []}}),
            json!({"blocks": blocks}),
        ] {
            let expected = json!({"memory": {"blocks": blocks}, "blocks": blocks});
            assert_eq!(kept(&agent), expected, "{agent}");
        }
        let agent = json!({
            "id": "agent-1", "name": "n", "system": null, "secrets": [{"key": "k", "value": "v"}],
            "tool_exec_environment_variables": [{"key": "k", "value": "v"}],
        });
        assert_eq!(kept(&agent), json!({"name": "n", "memory": {"blocks": []}, "blocks": []}));
    }

    #[test]
    fn an_agent_is_checked_by_what_the_server_says_of_it() {
        let tool = judge_file()["tools"][0].clone();
        let agent = |tools: Value| json!({"tools": tools});
        assert_eq!(unable(&agent(json!([tool])), "submit_grade"), None);
        for (agent, expected) in [
            (json!({}), "at the server the judge has no tool `submit_grade`"),
            (agent(json!([])), "at the server the judge has no tool `submit_grade`"),
            (
                agent(json!([{"name": "submit_grade", "source_code": "def submit_grade(x: int)"}])),
                "the server has another tool named `submit_grade`, which does not take `score` and `rationale`",
            ),
        ] {
            let said = unable(&agent, "submit_grade").unwrap();
            assert!(said.starts_with(expected), "{said}");
        }
    }

    #[test]
    fn the_recorded_agent_is_able() {
        let name = "0.16.8/import-tool-name-taken-then-get.json";
        let Some(text) = test_data::text("../letta-protocol", name) else { return };
        let recorded: Value = serde_json::from_str(&text).unwrap();
        let agent = &recorded["response"]["body"];
        assert_eq!(unable(agent, "submit_grade"), None);
        assert_eq!(model_of(agent).as_deref(), Some("gpt-4.1-mini"));
    }
}
