//! ATIF, the Agent Trajectory Interchange Format of Harbor, versions 1.0 to 1.7: one object with `steps`.
//!
//! A step holds what an agent thought, said and called, and what came back. What sub-agents did stands under
//! `subagent_trajectories`, and comes before the answer that refers to it; each once, so that references in a circle end.
//! A call may be written again in the step that holds its result: of calls that are alike, id included, the first counts
//! as long as nothing answered it.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::content::{flatten, json_text, tool_call};
use super::node::RecordedNode;
use super::step_facts::StepFacts;
use super::turns::Turns;
use super::{
    MessageBody, ReadResult, ToolReturn, Trajectory, TrajectoryFormat, TrajectoryProblem,
    TrajectoryTotals,
};
use evalrs_base::exact;

/// An object with `steps` whose `schema_version` begins with `ATIF-`.
pub(super) static FORMAT: TrajectoryFormat = TrajectoryFormat {
    name: "atif",
    owns_object: is_own,
    has_kinds: true,
    read,
    ..TrajectoryFormat::TEXT
};

/// What results refer to sub-agents by: since 1.7, and before.
const REFERENCES: [&str; 2] = ["trajectory_id", "session_id"];

fn is_own(object: &Map<String, Value>) -> bool {
    let version = object.get("schema_version").and_then(Value::as_str);
    version.is_some_and(|version| version.starts_with("ATIF-"))
        && object.get("steps").is_some_and(Value::is_array)
}

fn read(root: RecordedNode<'_, '_>) -> ReadResult<Trajectory> {
    root.object("an ATIF trajectory (an object)")?;
    let mut reader = AtifReader::default();
    reader.gather(root.value(), "");
    reader.steps(root, false)?;
    // What no answer refers to was done all the same.
    while let Some(index) = reader.unread.pop_first() {
        reader.subagent(index, None)?;
    }
    let totals = TrajectoryTotals { duration_ms: None, cost_usd: cost(root.value()) };
    Ok(Trajectory { totals, ..reader.turns.into_trajectory() })
}

/// What all of it cost: as it says, else the sum of its steps if each of the agent's says it.
fn cost(trajectory: &Value) -> Option<f64> {
    let number = |value: &Value| value.as_f64().filter(|number| *number >= 0.0);
    if let Some(total) = trajectory.pointer("/final_metrics/total_cost_usd").and_then(number) {
        return Some(total);
    }
    let steps = trajectory.get("steps")?.as_array()?;
    let of_agent =
        steps.iter().filter(|step| step.get("source").and_then(Value::as_str) == Some("agent"));
    let costs: Option<Vec<f64>> =
        of_agent.map(|step| step.pointer("/metrics/cost_usd").and_then(number)).collect();
    costs.filter(|costs| !costs.is_empty()).map(|costs| exact::sum(costs.into_iter()))
}

/// How deep sub-agents are read where an answer refers to them; deeper ones come last.
const MAX_DEPTH: usize = 32;

#[derive(Default)]
struct AtifReader<'v> {
    turns: Turns,
    /// What sub-agents did, in the order of the file.
    subagents: Vec<Subagent<'v>>,
    by_id: BTreeMap<&'v str, usize>,
    /// The sub-agents that have not been read yet.
    unread: BTreeSet<usize>,
    depth: usize,
}

/// What a sub-agent did, and its JSON Pointer.
struct Subagent<'v> {
    trajectory: &'v Value,
    pointer: String,
}

/// The calls that nothing has answered yet, as text, by their id.
type OpenCalls = BTreeMap<String, BTreeSet<String>>;

impl<'v> AtifReader<'v> {
    /// Gathers what sub-agents did, at whatever depth.
    fn gather(&mut self, trajectory: &'v Value, pointer: &str) {
        let list = trajectory.get("subagent_trajectories").and_then(Value::as_array);
        for (place, subagent) in list.into_iter().flatten().enumerate() {
            let index = self.subagents.len();
            let pointer = format!("{pointer}/subagent_trajectories/{place}");
            self.unread.insert(index);
            for id in REFERENCES.iter().filter_map(|key| subagent.get(*key)?.as_str()) {
                self.by_id.entry(id).or_insert(index);
            }
            self.subagents.push(Subagent { trajectory: subagent, pointer: pointer.clone() });
            self.gather(subagent, &pointer);
        }
    }

    fn steps(&mut self, trajectory: RecordedNode<'_, 'v>, subagent: bool) -> ReadResult {
        let mut open = OpenCalls::new();
        for step in trajectory.get("steps").items("a list of steps")? {
            self.step(step, subagent, &mut open)?;
        }
        Ok(())
    }

    fn step(
        &mut self,
        step: RecordedNode<'_, 'v>,
        subagent: bool,
        open: &mut OpenCalls,
    ) -> ReadResult {
        step.object("a step (an object)")?;
        self.turns.at_step(StepFacts::of(step.value()));
        // Claude Code has its sub-agents among the steps.
        let aside = step.value().pointer("/extra/is_sidechain") == Some(&Value::Bool(true));
        let subagent = subagent || aside;
        let text = content(step.get("message"))?;
        match step.get("source").text("a source (a string)")? {
            "user" => {
                if !subagent {
                    self.turns.start();
                }
                self.turns.push_of(MessageBody::User(text), subagent);
            }
            "system" if text.is_empty() => {}
            "system" => self.turns.push_of(MessageBody::System(text), subagent),
            "agent" => {
                let thought = step.get("reasoning_content").as_str().unwrap_or_default();
                if !thought.is_empty() {
                    self.turns.push_of(MessageBody::Reasoning(thought.to_owned()), subagent);
                }
                if !text.is_empty() {
                    self.turns.push_of(MessageBody::Assistant(text), subagent);
                }
            }
            _ => self.turns.push_of(MessageBody::Other(step.value().clone()), subagent),
        }
        let calls = self.calls(step.get("tool_calls"), subagent, open)?;
        self.results(step.get("observation"), &calls, subagent, open)
    }

    /// Reads the calls of a step, and gives the ids of all of them.
    fn calls(
        &mut self,
        calls: RecordedNode<'_, 'v>,
        subagent: bool,
        open: &mut OpenCalls,
    ) -> ReadResult<Vec<Option<String>>> {
        let mut ids = Vec::new();
        if calls.is_nothing() {
            return Ok(ids);
        }
        for call in calls.items("a list of tool calls")? {
            call.object("a tool call (an object)")?;
            let call = tool_call(call, "tool_call_id", "function_name", "arguments")?;
            ids.push(call.id.clone());
            let is_again = call.id.as_ref().is_some_and(|id| {
                let text = format!("{}\n{}", call.name, call.arguments);
                !open.entry(id.clone()).or_default().insert(text)
            });
            if !is_again {
                self.turns.push_of(MessageBody::ToolCall(call), subagent);
            }
        }
        Ok(ids)
    }

    fn results(
        &mut self,
        observation: RecordedNode<'_, 'v>,
        calls: &[Option<String>],
        subagent: bool,
        open: &mut OpenCalls,
    ) -> ReadResult {
        let results = observation.get("results");
        if results.is_nothing() {
            return Ok(());
        }
        let count = results.value().as_array().map_or(0, Vec::len);
        for (index, result) in results.items("a list of results")?.enumerate() {
            result.object("a result (an object)")?;
            let named = result.get("source_call_id").to_text();
            // As many answers as calls answer them in order.
            let by_order = || calls.get(index).filter(|_| count == calls.len()).cloned().flatten();
            let call_id = named.or_else(by_order);
            self.references(result.get("subagent_trajectory_ref"), call_id.as_deref())?;
            if let Some(id) = &call_id {
                open.remove(id);
            }
            let extra = result.get("extra");
            let failed = result.get("is_error").is_true() || extra.get("is_error").is_true();
            let output = content(result.get("content"))?;
            let answer = ToolReturn::new(call_id, output, failed);
            self.turns.push_of(MessageBody::ToolReturn(answer), subagent);
        }
        Ok(())
    }

    /// Reads the sub-agents that a result refers to, as far as they are in this file.
    fn references(&mut self, references: RecordedNode<'_, 'v>, call: Option<&str>) -> ReadResult {
        let one = std::slice::from_ref(references.value());
        let list = references.value().as_array().map_or(one, Vec::as_slice);
        for reference in list {
            let id = |key: &&str| reference.get(*key)?.as_str();
            let mut known = REFERENCES.iter().filter_map(|key| self.by_id.get(id(key)?).copied());
            if let Some(index) = known.next()
                && self.depth < MAX_DEPTH
                && self.unread.remove(&index)
            {
                self.subagent(index, call)?;
            }
        }
        Ok(())
    }

    /// Reads what the sub-agent did that `call` started; without one it is told apart by its own id.
    fn subagent(&mut self, index: usize, call: Option<&str>) -> ReadResult {
        let Some(Subagent { trajectory, pointer }) = self.subagents.get(index) else {
            return Ok(());
        };
        let inside = pointer.clone();
        let own = REFERENCES.iter().find_map(|key| trajectory.get(*key)?.as_str());
        let before = self.turns.begin_subagent(call.or(own));
        self.depth += 1;
        let read = self.steps(RecordedNode::root(trajectory), true);
        self.depth -= 1;
        self.turns.end_subagent(before);
        read.map_err(|problem| TrajectoryProblem {
            pointer: format!("{inside}{}", problem.pointer),
            ..problem
        })
    }
}

/// A message or a content: text, parts, or JSON that a tool answered.
fn content(node: RecordedNode<'_, '_>) -> ReadResult<String> {
    match node.value() {
        Value::Array(parts)
            if parts.iter().all(|part| part.is_string() || part.get("type").is_some()) =>
        {
            flatten(node)
        }
        value => Ok(json_text(value)),
    }
}
