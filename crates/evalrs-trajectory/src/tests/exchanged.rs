//! Tables of formats that are made for exchange: samples of Inspect, and ATIF.

use serde_json::{Value, json};

use super::{check, check_problem, show};
use crate::{atif, inspect, openai, read};

#[test]
fn reads_inspect_messages() {
    let check = |value: Value, expected: &[&str]| check(&inspect::FORMAT, &value, expected);
    let call = json!({"id": "c", "function": "f", "arguments": {"x": 1}, "type": "function"});
    let messages = json!([
        {"role": "system", "content": "s"},
        {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "image", "image": "i"}], "source": "input"},
        {"role": "assistant", "source": "generate", "tool_calls": [call], "content": [
            {"type": "reasoning", "reasoning": "hm"}, {"type": "reasoning", "reasoning": "x", "redacted": true},
            {"type": "text", "text": "so"}, {"type": "text", "text": "then"}]},
        {"role": "tool", "tool_call_id": "c", "function": "f", "content": "", "error": {"type": "timeout", "message": "late"}},
        {"role": "tool", "tool_call_id": "c", "function": "f", "content": "ok"},
        {"role": "assistant", "reasoning": "old", "content": [
            {"type": "tool_use", "id": "w", "tool_type": "web_search", "name": "search", "arguments": "{}", "result": "found"},
            {"type": "tool_use", "id": "v", "tool_type": "web_search", "name": "search", "arguments": "{}", "result": "", "error": "no"}]},
        {"role": "user", "content": "more"},
        {"role": "assistant", "content": "attachment://1"},
    ]);
    let expected = [
        "sys s | user a | thought hm | thought  | said so then | call f({\"x\":1})#c | return late#c! | return ok#c | thought old | call search({})#w | return found#w | call search({})#v | return no#v!",
        "user more | said attachment://1",
    ];
    check(messages.clone(), &expected);
    let sample = json!({"id": 1, "epoch": 2, "input": "a", "target": "b", "messages": messages,
        "output": {}, "total_time": 1.5, "attachments": {"1": "long"}});
    let [first, second] = expected;
    check(sample.clone(), &[first, &second.replace("attachment://1", "long")]);
    assert_eq!(read(&sample, None).unwrap().totals.duration_ms, Some(1500.0));
    // Text alone is written as OpenAI does.
    super::check(
        &openai::FORMAT,
        &json!([{"role": "user", "content": "q", "source": "input"}]),
        &["user q"],
    );
}

#[test]
fn samples_of_inspect_without_messages_have_those_of_their_last_request() {
    let sample = |events: Value| {
        let sample = json!({"epoch": 1, "input": "q", "messages": [], "scores": null, "events": events,
            "events_data": {"messages": [{"role": "user", "content": "a"}, {"role": "user", "content": "b"}]}});
        show(&read(&sample, Some(&inspect::FORMAT)).unwrap())
    };
    let output = json!({"choices": [{"message": {"role": "assistant", "content": "yes"}}]});
    for (event, expected) in [
        (
            json!({"event": "model", "input": [{"role": "user", "content": "q"}], "output": output}),
            "user q | said yes",
        ),
        (
            json!({"event": "model", "input_refs": [[0, 2]], "output": output}),
            "user a\nuser b | said yes",
        ),
        (json!({"event": "model", "input_refs": [[0, 2], [0, 2]], "output": output}), "said yes"),
        (json!({"event": "model", "input_refs": [[1, 0]], "output": {"choices": []}}), ""),
        (json!({"event": "model", "input_refs": [[0, 9], "x"]}), ""),
        (json!({"event": "tool"}), ""),
    ] {
        assert_eq!(sample(json!([event])), expected, "{event}");
    }
}

#[test]
fn reads_atif() {
    let value = json!({
        "schema_version": "ATIF-v1.7", "session_id": "s", "agent": {"name": "a", "version": "1"},
        "steps": [
            {"step_id": 1, "source": "system", "message": "be brief"},
            {"step_id": 2, "source": "user", "message": [{"type": "text", "text": "q"}, {"type": "image", "source": {"path": "i.png"}}]},
            {"step_id": 3, "source": "agent", "message": "on it", "reasoning_content": "hm", "metrics": {"cost_usd": 0.25},
             "tool_calls": [{"tool_call_id": "c1", "function_name": "f", "arguments": {"x": 1}},
                            {"tool_call_id": "c2", "function_name": "g", "arguments": {}}],
             "observation": {"results": [
                {"source_call_id": "c2", "content": null, "subagent_trajectory_ref": [{"trajectory_id": "t", "session_id": "s"}]},
                {"source_call_id": "c1", "content": [{"type": "text", "text": "one"}], "extra": {"is_error": true}}]}},
            {"step_id": 4, "source": "agent", "message": "", "metrics": {"cost_usd": 0.5},
             "tool_calls": [{"tool_call_id": "c3", "function_name": "sh", "arguments": {"c": "ls"}}],
             "observation": {"results": [{"content": [{"file": "x"}]}]}},
            {"step_id": 5, "source": "agent", "message": null, "tool_calls": null, "observation": {"results": [{"content": "lost"}]}, "metrics": {"cost_usd": 0}},
            {"step_id": 6, "source": "user", "message": "aside", "extra": {"is_sidechain": true}},
            {"step_id": 7, "source": "user", "message": "next"},
            {"step_id": 8, "source": "agent", "message": "done", "metrics": {"cost_usd": 0.25}},
            {"step_id": 9, "source": "critic", "message": "?"},
        ],
        "subagent_trajectories": [
            {"trajectory_id": "u", "session_id": "s", "steps": [{"source": "agent", "message": "unasked"}]},
            {"trajectory_id": "t", "session_id": "s", "steps": [{"source": "user", "message": "go"}, {"source": "agent", "message": "went",
             "observation": {"results": [{"content": "", "subagent_trajectory_ref": {"trajectory_id": "t"}}]}}]},
        ],
    });
    check(
        &atif::FORMAT,
        &value,
        &[
            "sys be brief | user q | thought hm | said on it | call f({\"x\":1})#c1 | call g({})#c2 | ~user go | ~said went | ~return #- | return #c2 | return one#c1! | call sh({\"c\":\"ls\"})#c3 | return [{\"file\":\"x\"}]#c3 | return lost#- | ~user aside",
            "user next | said done | other  | ~said unasked",
        ],
    );
    let whole = read(&value, None).unwrap();
    let of_subagents =
        whole.turns.iter().flat_map(|turn| &turn.messages).filter(|one| one.subagent);
    let started: Vec<Option<&str>> = of_subagents.map(|one| one.started_by.as_deref()).collect();
    // By the call whose result refers to it; by its own id where none does; an aside by nothing.
    assert_eq!(started, [Some("c2"), Some("c2"), Some("c2"), None, Some("u")]);
    let cost = |value: &Value| read(value, None).unwrap().totals.cost_usd;
    assert_eq!(cost(&value), Some(1.0));
    let mut with_total = value.clone();
    with_total["final_metrics"] = json!({"total_cost_usd": 2.5});
    assert_eq!(cost(&with_total), Some(2.5));
    let mut unknown = value;
    unknown["steps"][3]["metrics"] = json!({"prompt_tokens": 1});
    assert_eq!(cost(&unknown), None);
}

/// Some write a call again in the step of its result; a call after that is another one.
#[test]
fn atif_calls_that_are_written_again_count_once() {
    let step = |result: Option<&str>| {
        json!({"source": "agent", "message": "", "tool_calls": [{"tool_call_id": "c", "function_name": "f", "arguments": {}}],
            "observation": result.map(|text| json!({"results": [{"source_call_id": "c", "content": text}]}))})
    };
    for (steps, expected) in [
        (json!([step(None), step(Some("r"))]), "call f({})#c | return r#c"),
        (
            json!([step(Some("r")), step(Some("s"))]),
            "call f({})#c | return r#c | call f({})#c | return s#c",
        ),
    ] {
        check(&atif::FORMAT, &json!({"schema_version": "ATIF-v1.4", "steps": steps}), &[expected]);
    }
}

#[test]
fn sub_agents_of_atif_in_circles_and_deep_ones_end() {
    let agent = |index: usize, next: usize| {
        json!({"trajectory_id": format!("t{index}"), "steps": [{"source": "agent", "message": format!("m{index}"),
            "observation": {"results": [{"subagent_trajectory_ref": [{"trajectory_id": format!("t{next}")}]}]}}]})
    };
    let of = |count: usize| {
        let agents: Vec<Value> =
            (0..count).map(|index| agent(index, (index + 1) % count)).collect();
        let steps = json!([{"source": "agent", "message": "go", "observation": {"results": [{"subagent_trajectory_ref": [{"trajectory_id": "t0"}]}]}}]);
        let value =
            json!({"schema_version": "ATIF-v1.7", "steps": steps, "subagent_trajectories": agents});
        read(&value, None).unwrap().messages(true).filter(|message| message.subagent).count()
    };
    // A message and an answer each.
    assert_eq!([of(1), of(2), of(5000)], [2, 4, 10_000]);
}

#[test]
fn problems_of_exchanged_formats_name_the_place() {
    let atif = |steps: Value| json!({"schema_version": "ATIF-v1.6", "steps": steps});
    for (format, value, expected) in [
        (None, atif(json!([5])), "expected a step (an object) at `/steps/0`, found a number"),
        (
            None,
            atif(json!([{"message": "x"}])),
            "expected a source (a string) at `/steps/0/source`, found nothing",
        ),
        (
            None,
            atif(json!([{"source": "agent", "tool_calls": [{"tool_call_id": "x"}]}])),
            "expected the name of a tool at `/steps/0/tool_calls/0/function_name`, found nothing",
        ),
        (
            None,
            json!({"schema_version": "ATIF-v1.7", "steps": [], "subagent_trajectories": [{"steps": 1}]}),
            "expected a list of steps at `/subagent_trajectories/0/steps`, found a number",
        ),
        (
            Some(&atif::FORMAT),
            json!("x"),
            "expected an ATIF trajectory (an object), found a string",
        ),
        (Some(&atif::FORMAT), json!({}), "expected a list of steps at `/steps`, found nothing"),
        (
            Some(&inspect::FORMAT),
            json!({"messages": [{"role": "assistant", "tool_calls": [{"function": {}}]}]}),
            "expected the name of a tool at `/messages/0/tool_calls/0/function`, found an object",
        ),
        (
            Some(&inspect::FORMAT),
            json!([{"role": 1}]),
            "expected a role (a string) at `/0/role`, found a number",
        ),
    ] {
        check_problem(format, &value, expected);
    }
}
