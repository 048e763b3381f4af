//! The `target` section: recorded trajectories, or an agent that is run.
//!
//! A target of a kind that cannot be run is accepted, since its recorded results can still be graded.

pub(crate) mod around;
pub(crate) mod chat;
pub(crate) mod http;
pub(crate) mod letta_agent;
pub(crate) mod letta_code;
pub(crate) mod live;
pub(crate) mod recorded;
pub(crate) mod user;
pub(crate) mod workspace;

use serde_json::{Value, json};

use crate::fields::Field;
use crate::reader::Reader;
use crate::section::FieldShape::{AnyOf, Anything, Choice, Mapping};
use crate::section::{FieldShape, FieldSpec, Section, fields};
use crate::sections::program_files::{written_call, written_words};
use crate::sections::programs;
use crate::sections::targets::around::AroundTarget;
use crate::sections::targets::chat::CHAT_TARGET;
use crate::sections::targets::http::HTTP_TARGET;
use crate::sections::targets::live::{
    COMMAND_TARGET, FUNCTION_TARGET, HEADLESS_TARGET, LIVE_KINDS,
};
use crate::sections::targets::recorded::RECORDED;
use crate::written::{extend, leave_out, rename, without_empty};
use evalrs_model::spec::{AgentKind, LiveTarget, TargetSpec};

/// A target, identified by its `kind`.
pub(crate) const TARGET: FieldShape = AnyOf(&[
    Mapping(&RECORDED),
    Mapping(&COMMAND_TARGET),
    Mapping(&FUNCTION_TARGET),
    Mapping(&HEADLESS_TARGET),
    Mapping(&HTTP_TARGET),
    Mapping(&CHAT_TARGET),
    Mapping(&AGENT),
]);

/// A target that runs an agent, in any dialect: it cannot be run, and what is recorded of it can be graded.
pub(crate) static AGENT: Section =
    Section::new("a target that runs an agent", &[AGENT_KIND, AGENT_FIELDS]);

const AGENT_KIND: &[FieldSpec] = fields![
    "kind": Choice(AGENT_KINDS), required => "an agent on a Letta server (`letta_agent`, or `agent`), Letta's coding agent (`letta_code`), or a `program`, of which only recorded results can be graded";
];

const AGENT_FIELDS: &[FieldSpec] = fields![
    "base_url": Anything => "the URL of the server; `LETTA_BASE_URL` if absent";
    "api_key": Anything => "not read: name the variable with `api_key_env`";
    "timeout": Anything => "seconds one conversation may take; 300 if absent";
    "project_id": Anything => "the project on the server; `LETTA_PROJECT_ID` if absent";
    "max_retries": Anything => "more attempts after a transient failure; 0 if absent";
    "model_configs": Anything => "model configurations, one result each: `NAME` is `llm_model_configs/NAME.json` beside the suite, a path ends in `.json`";
    "model_handles": Anything => "models by the server's handles, one result each";
    "agent_id": Anything => "an agent on the server, which all samples talk to one after another";
    "agent_file": Anything => "the agent's file (`.af`), imported for every conversation";
    "agent_script": Anything => "a Python function, `file.py:name`, that makes an agent for every conversation";
    "working_dir": Anything => "the folder of the coding agent, which works in `DIR/MODEL`";
    "allowed_tools": Anything => "the only tools of the coding agent";
    "disallowed_tools": Anything => "tools that the coding agent may not use";
    "skills_dir": Anything => "of Letta Evals: only recorded results can be graded";
    "flags": Anything => "further arguments of the coding agent's command line";
    "permission_mode": Anything => "the coding agent's permission mode; it may do everything if absent";
    "sandbox": Anything => "of Letta Evals: only recorded results can be graded";
    "memory_dir": Anything => "of Letta Evals: only recorded results can be graded";
    "memory_workspace": Anything => "of Letta Evals: only recorded results can be graded";
    "max_steps": Anything => "of Letta Evals: only recorded results can be graded";
    "command": Anything => "of Letta Evals: only recorded results can be graded";
    "path": Anything => "of Letta Evals: only recorded results can be graded";
    "model": Anything => "of Letta Evals: not read";
    "env": Anything => "more environment variables to pass on: names, `{NAME: secret}` to keep the value out of keys, or `{NAME: plain}` to put it in";
    "api_key_env": Anything => "the environment variable with the API key; `LETTA_API_KEY` if absent";
    "keep_agents": Anything => "whether agents stay on the server after their conversation";
    "version": Anything => "any text; a new one runs the target again, such as the day of a deployment";
    "inputs": Anything => "files, folders and patterns that the target depends on; a change runs it again";
    "runtime": Anything => "the Python that runs `agent_script` and `setup_script`";
    "workspace": Anything => "a fresh folder for every conversation of the coding agent";
    "sees": Anything => "`[id]` puts the sample's id into the key, for answers that depend on it";
];

/// The kinds of targets that run an agent.
pub(crate) const AGENT_KINDS: &[&str] = &["agent", "letta_agent", "letta_code", "program"];

/// The kinds that are agents on a Letta server, by their old name and their new one.
const LETTA_KINDS: [&str; 2] = ["agent", "letta_agent"];

pub(crate) fn target(
    field: Field<'_>,
    around: AroundTarget<'_>,
    reader: &mut Reader<'_>,
) -> Option<TargetSpec> {
    let mut fields = field.fields(&RECORDED)?;
    let Some(kind) = fields.take("kind") else {
        let hint = "`kind: recorded` grades recorded results";
        return field.refuse_at_key("the target has no `kind`", hint);
    };
    let name = kind.text()?;
    if LIVE_KINDS.iter().any(|(kind, _)| *kind == name) {
        let live = live::live(&name, field, fields, around, reader)?;
        return Some(TargetSpec::Live(Box::new(live)));
    }
    if AGENT_KINDS.contains(&name.as_str()) {
        fields.read_as(&AGENT);
        if LETTA_KINDS.contains(&name.as_str()) {
            return letta_agent::letta(&name, field, fields, around, reader);
        }
        if name == "letta_code" {
            return letta_code::letta_code(field, fields, around, reader);
        }
        fields.finish();
        return Some(TargetSpec::NotRunnable { kind: name, why: None });
    }
    if name != "recorded" {
        let live = LIVE_KINDS.iter().map(|(kind, _)| *kind);
        let kinds = std::iter::once("recorded").chain(live).chain(AGENT_KINDS.iter().copied());
        let kinds: Vec<&str> = kinds.collect();
        return kind.unknown(&name, "target kind", &kinds);
    }
    Some(recorded::recorded(fields))
}

/// A target as it is written back.
pub(crate) fn written(spec: &TargetSpec, path: &str) -> Value {
    match spec {
        TargetSpec::Recorded { path, format, join } => {
            let mut recorded = json!({"kind": "recorded", "path": path, "format": format});
            extend(&mut recorded, json!(join));
            without_empty(recorded)
        }
        TargetSpec::Live(live) => written_live(live, path),
        TargetSpec::NotRunnable { kind, .. } => json!({"kind": kind}),
    }
}

/// The target of the suite at `path`.
fn written_live(target: &LiveTarget, path: &str) -> Value {
    let mut all = json!({"kind": target.kind.name()});
    let own = match &target.kind {
        AgentKind::Command => json!({"command": written_words(&target.program)}),
        AgentKind::Function => json!({"path": written_call(&target.program)}),
        AgentKind::Headless(adapter) => json!({"adapter": adapter.name}),
        AgentKind::Http(http) => json!(http),
        AgentKind::Chat(chat) => chat::written(chat, &target.program),
        AgentKind::LettaAgent(letta) => letta_agent::written(letta, &target.program),
        AgentKind::LettaCode(letta) => json!(letta),
    };
    extend(&mut all, without_empty(own));
    let mut program = programs::written(&target.program, path);
    match &target.kind {
        AgentKind::Function | AgentKind::LettaAgent(_) => {}
        AgentKind::Command => leave_out(&mut program, &["runtime"]),
        _ => leave_out(&mut program, &["runtime", "sandbox"]),
    }
    extend(&mut all, program);
    extend(&mut all, without_empty(json!(target)));
    if let (Some(user), Some(members)) = (&target.user, all.as_object_mut()) {
        members.insert("user".to_owned(), user::written(user));
    }
    // Servers of Letta have had their own word for it.
    if let AgentKind::LettaAgent(_) | AgentKind::LettaCode(_) = target.kind {
        rename(&mut all, "retries", "max_retries");
    }
    all
}
