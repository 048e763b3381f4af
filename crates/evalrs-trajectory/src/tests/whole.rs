//! Steps that are paired, left out and taken out, and whole recordings.

use super::*;

#[test]
fn calls_without_ids_are_paired_in_order() {
    let legacy = |name: &str| json!({"role": "assistant", "content": null, "function_call": {"name": name, "arguments": "{}"}});
    let answer = |text: &str| json!({"role": "function", "name": "f", "content": text});
    let value = json!([legacy("f"), answer("1"), legacy("g"), answer("2"), answer("3")]);
    let shown = read(&value, None).expect("readable").to_json(false);
    let calls: Vec<&Value> =
        shown[0].as_array().into_iter().flatten().map(|m| &m["call"]).collect();
    assert_eq!(calls, [1, 1, 2, 2, 2]);
}

#[test]
fn steps_come_out_as_they_went_in() {
    let steps = json!([
        {"type": "thought", "content": "hm"},
        {"type": "tool_call", "name": "f", "status": "pending", "input": {"a": 1}},
        {"type": "tool_call", "name": "f", "status": "failed", "input": [2], "output": "no"},
        {"type": "tool_call", "name": "f", "status": "completed"},
        {"type": "tool_call", "name": "f", "status": "failed"},
        {"type": "plan", "entries": [{"content": "x"}]},
        {"type": "message", "content": "done"},
    ]);
    let trajectory = read(&steps, None).expect("readable");
    assert_eq!(Value::from(trajectory.to_steps(true)), steps);
}

#[test]
fn sub_agents_are_seen_only_if_asked_for() {
    let value = json!([
        {"type": "assistant", "message": {"id": "m1", "content": [{"type": "tool_use", "id": "t1", "name": "Task", "input": {}}]}},
        {"type": "assistant", "message": {"id": "m2", "content": [{"type": "tool_use", "id": "t2", "name": "Read", "input": {}}, {"type": "text", "text": "inner"}]}, "parent_tool_use_id": "t1"},
        {"type": "assistant", "message": {"id": "m3", "content": [{"type": "tool_use", "id": "t3", "name": "Bash", "input": {}}]}},
    ]);
    let trajectory = read(&value, None).expect("readable");
    assert_eq!(
        trajectory.to_json(false),
        json!([[
            {"role": "tool_call", "call": 1, "name": "Task", "arguments": "{}"},
            {"role": "tool_call", "call": 2, "name": "Bash", "arguments": "{}"},
        ]])
    );
    assert_eq!(
        trajectory.to_json(true),
        json!([[
            {"role": "tool_call", "call": 1, "name": "Task", "arguments": "{}"},
            {"role": "tool_call", "call": 2, "name": "Read", "arguments": "{}", "subagent": true},
            {"role": "assistant", "content": "inner", "subagent": true},
            {"role": "tool_call", "call": 3, "name": "Bash", "arguments": "{}"},
        ]])
    );
    assert_eq!((trajectory.to_steps(false).len(), trajectory.to_steps(true).len()), (2, 4));
    assert_eq!(trajectory.final_output(), None);
}

#[test]
fn one_turn_can_be_taken_out() {
    let value = json!({"messages": [
        {"role": "user", "content": "q"}, {"role": "assistant", "content": "a"},
        {"role": "user", "content": "r"}, {"role": "assistant", "content": "b"},
    ], "agent_state": {"blocks": []}});
    let trajectory = read(&value, None).expect("readable");
    assert_eq!(trajectory.agent_state, Some(json!({"blocks": []})));
    assert_eq!(trajectory.final_output(), Some("b"));
    assert_eq!(show(&trajectory.turn(0)), "user q | said a");
    assert_eq!(trajectory.turn(0).final_output(), Some("a"));
    assert_eq!(trajectory.turn(1).agent_state, trajectory.agent_state);
    assert!(trajectory.turn(2).is_empty());
}

fn by_name(trajectories: &[Trajectory], include_subagents: bool) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for call in trajectories.iter().flat_map(|one| one.tool_calls(include_subagents)) {
        *counts.entry(call.name.clone()).or_default() += 1;
    }
    counts
}

fn count(trajectories: &[Trajectory], of: fn(&MessageBody) -> bool) -> u64 {
    let messages = trajectories.iter().flat_map(|one| one.messages(true));
    messages.filter(|message| of(&message.body)).count() as u64
}

fn expected(name: &str) -> Option<Value> {
    let text = test_data::text("agent-trajectories", "expected.json")?;
    serde_json::from_str::<Value>(&text).ok()?.get(name).cloned()
}

#[test]
fn real_openai_episodes_have_the_known_counts() {
    const FILE: &str = "tau-bench-gpt-4o-airline.json";
    let Some((text, expected)) = test_data::text("agent-trajectories", FILE).zip(expected(FILE))
    else {
        return;
    };
    let episodes: Vec<Value> = serde_json::from_str(&text).expect("JSON");
    let read = |episode: &Value| {
        read(&episode["traj"], None).unwrap_or_else(|problem| panic!("{problem}"))
    };
    let trajectories: Vec<Trajectory> = episodes.iter().map(read).collect();
    assert!(episodes.iter().all(|episode| detect(&episode["traj"]) == Some(&openai::FORMAT)
        || by_name(&[read(episode)], true).is_empty()));

    let roles = &expected["roles"];
    let said = count(&trajectories, |body| matches!(body, MessageBody::Assistant(_)));
    let silent = expected["assistant_messages_with_null_content"].as_u64().expect("a count");
    assert_eq!(
        json!(count(&trajectories, |body| matches!(body, MessageBody::System(_)))),
        roles["system"]
    );
    assert_eq!(
        json!(count(&trajectories, |body| matches!(body, MessageBody::User(_)))),
        roles["user"]
    );
    assert_eq!(
        json!(count(&trajectories, |body| matches!(body, MessageBody::ToolReturn(_)))),
        roles["tool"]
    );
    assert_eq!(json!(said + silent), roles["assistant"]);
    assert_eq!(
        count(&trajectories, |body| matches!(
            body,
            MessageBody::Other(_) | MessageBody::Reasoning(_)
        )),
        0
    );
    assert_eq!(json!(by_name(&trajectories, false)), expected["tool_calls_by_name"]);
    assert_eq!(json!(trajectories.iter().map(|one| one.turns.len()).sum::<usize>()), roles["user"]);
    let idle = trajectories.iter().filter(|one| one.tool_calls(false).next().is_none()).count();
    assert_eq!(json!(idle), expected["episodes_with_no_tool_call"]);
}

#[test]
fn a_real_claude_code_session_has_the_known_counts() {
    const FILE: &str = "claude-code-2.0.25-stream.jsonl";
    let Some((text, expected)) = test_data::text("agent-trajectories", FILE).zip(expected(FILE))
    else {
        return;
    };
    let trajectory = read(&Value::from(text.as_str()), None).expect("readable");
    let trajectories = [trajectory.clone()];
    assert_eq!(json!(by_name(&trajectories, true)), expected["tool_uses_by_name"]);
    assert_eq!(json!(trajectory.tool_calls(true).count()), expected["tool_uses"]);
    assert_eq!(json!(trajectory.tool_calls(false).count()), expected["tool_uses_top_level_only"]);
    let failed = count(
        &trajectories,
        |body| matches!(body, MessageBody::ToolReturn(answer) if answer.failed),
    );
    assert_eq!(json!(failed), expected["tool_results_is_error"]);
    assert_eq!(count(&trajectories, |body| matches!(body, MessageBody::ToolReturn(_))), 21);
    assert_eq!(count(&trajectories, |body| matches!(body, MessageBody::Other(_))), 0);
    assert_eq!(trajectory.turns.len(), 1);

    let last: Value = serde_json::from_str(text.lines().last().expect("a line")).expect("JSON");
    assert_eq!(last["result"].as_str(), trajectory.final_output(), "the result line repeats it");
    let shown = trajectory.to_json(true).to_string();
    let ids: Vec<&str> =
        trajectory.tool_calls(true).filter_map(|call| call.id.as_deref()).collect();
    assert_eq!(ids.len(), 21);
    assert!(ids.iter().all(|id| text.contains(id) && !shown.contains(id)), "no call id is shown");

    let events = super::claude_code::events(&text).expect("events");
    assert_eq!(
        json!(super::claude_code::assistant_messages(&events)),
        expected["distinct_assistant_message_ids"]
    );
}

#[test]
fn letta_messages_hold_ordinals_and_no_ids() {
    let value = json!([
        {"message_type": "system_message", "id": "m", "date": "2025", "content": "s"},
        {"message_type": "user_message", "otid": "o", "content": [{"type": "text", "text": "q"}]},
        {"message_type": "reasoning_message", "reasoning": "hm"},
        {"message_type": "tool_call_message", "tool_calls": [
            {"name": "f", "arguments": "{}", "tool_call_id": "x"},
            {"name": "g", "arguments": "", "tool_call_id": "y"}]},
        {"message_type": "tool_return_message", "tool_call_id": "y", "tool_return": "2", "status": "error"},
        {"message_type": "tool_return_message", "tool_call_id": "lost", "tool_return": "?", "status": "success"},
        {"message_type": "from_the_future", "id": "m", "anything": 1},
        {"message_type": "assistant_message", "content": "a"},
        {"message_type": "user_message", "content": "more"},
    ]);
    let call = |name: &str, arguments: &str, id: &str| {
        let call = json!({"name": name, "arguments": arguments, "tool_call_id": id});
        json!({"message_type": "tool_call_message", "tool_call": call, "tool_calls": [call]})
    };
    assert_eq!(
        read(&value, None).expect("readable").to_letta(false),
        json!([[
            {"message_type": "system_message", "content": "s"},
            {"message_type": "user_message", "content": "q"},
            {"message_type": "reasoning_message", "reasoning": "hm"},
            call("f", "{}", "call-1"),
            call("g", "", "call-2"),
            {"message_type": "tool_return_message", "tool_return": "2", "status": "error", "tool_call_id": "call-2"},
            {"message_type": "tool_return_message", "tool_return": "?", "status": "success", "tool_call_id": null},
            {"message_type": "from_the_future", "anything": 1},
            {"message_type": "assistant_message", "content": "a"},
        ], [{"message_type": "user_message", "content": "more"}]])
    );
    let critic =
        json!([{"role": "critic", "id": "c", "content": "x"}, {"role": "user", "content": "q"}]);
    assert_eq!(
        read(&critic, None).expect("readable").to_letta(false),
        json!([[
            {"role": "critic", "content": "x", "message_type": "other"},
            {"message_type": "user_message", "content": "q"},
        ]])
    );
    assert_eq!(Trajectory::default().to_letta(true), json!([]));
}
