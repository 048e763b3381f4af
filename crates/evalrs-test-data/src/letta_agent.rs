//! An agent file for tests.

use serde_json::{Value, json};

/// The file of a judge that imports and grades, and holds no more than it needs for that.
pub fn judge_file() -> Value {
    let properties = json!({"score": {"type": "number"}, "rationale": {"type": "string"}});
    json!({
        "agents": [{
            "id": "agent-0",
            "name": "judge",
            "agent_type": "letta_v1_agent",
            "system": "You grade answers.",
            "include_base_tools": false,
            "tool_ids": ["tool-0"],
            "llm_config": {"model": "gpt-4.1-mini", "model_endpoint_type": "openai", "context_window": 8000},
            "in_context_message_ids": ["message-0"],
            "messages": [{
                "type": "message",
                "id": "message-0",
                "role": "system",
                "content": [{"type": "text", "text": "You grade answers."}],
            }],
        }],
        "groups": [],
        "blocks": [],
        "files": [],
        "sources": [],
        "mcp_servers": [],
        "tools": [{
            "id": "tool-0",
            "name": "submit_grade",
            "tool_type": "custom",
            "source_type": "python",
            "source_code": "def submit_grade(score: float, rationale: str) -> dict:\n    \"\"\"Grade.\"\"\"\n    return {}\n",
            "json_schema": {
                "name": "submit_grade",
                "parameters": {"type": "object", "properties": properties},
            },
        }],
    })
}
