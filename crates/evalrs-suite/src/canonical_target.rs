//! Targets that are run, as the canonical form of a suite writes them. Texts of files stand inline.

use serde_json::{Value, json};

use super::canonical::{called, extend, judge, settings, without_empty, words};
use evalrs_model::spec::{
    AgentKind, ChatTarget, HeaderSpec, HttpTarget, Language, LettaAgentSource, LettaCodeTarget,
    LettaTarget, LiveTarget, ProgramSpec, SimulatedUser, WorkspaceSpec,
};

/// The target of the suite at `path`.
pub(super) fn live(target: &LiveTarget, path: &str) -> Value {
    let mut all = json!({"kind": target.kind.name()});
    let own = match &target.kind {
        AgentKind::Command => json!({"command": words(&target.program)}),
        AgentKind::Function => json!({"path": called(&target.program)}),
        AgentKind::Headless(adapter) => json!({"adapter": adapter.name}),
        AgentKind::Http(http) => self::http(http),
        AgentKind::Chat(chat) => self::chat(chat, &target.program),
        AgentKind::LettaAgent(letta) => self::letta(letta, &target.program),
        AgentKind::LettaCode(letta) => letta_code(letta),
    };
    extend(&mut all, without_empty(own));
    let mut program = settings(&target.program, path);
    if let Some(members) = program.as_object_mut() {
        let has_runtime = matches!(target.kind, AgentKind::Function | AgentKind::LettaAgent(_));
        members.retain(|name, _| name != "runtime" || has_runtime);
        let has_sandbox = has_runtime || matches!(target.kind, AgentKind::Command);
        members.retain(|name, _| name != "sandbox" || has_sandbox);
    }
    extend(&mut all, program);
    let hooks = &target.hooks;
    let is_letta = matches!(target.kind, AgentKind::LettaAgent(_) | AgentKind::LettaCode(_));
    let retries = if is_letta { "max_retries" } else { "retries" };
    let around = json!({
        "version": target.version,
        "answer": target.answer,
        (retries): target.retries,
        "workspace": target.workspace.as_ref().map(workspace),
        "setup": hooks.setup,
        "teardown": hooks.teardown,
        "setup_each": hooks.setup_each,
        "teardown_each": hooks.teardown_each,
        "user": target.user.as_ref().map(user),
    });
    extend(&mut all, without_empty(around));
    all
}

fn workspace(spec: &WorkspaceSpec) -> Value {
    let keep = super::target_sections::KEEPS.iter().find(|(_, keep)| *keep == spec.keep);
    without_empty(json!({
        "template": spec.template,
        "git": spec.is_git,
        "keep": keep.map(|(name, _)| *name),
    }))
}

fn http(http: &HttpTarget) -> Value {
    json!({
        "url": http.url,
        "method": http.method,
        "headers": headers(&http.headers),
        "body": http.body,
        "answer": http.answer,
        "messages": http.messages,
        "session": http.session,
        "stream": http.is_stream.then_some("sse"),
        "endpoint": http.endpoint,
    })
}

fn headers(headers: &[HeaderSpec]) -> Value {
    Value::Object(headers.iter().map(|header| (header.name.clone(), json!(header.value))).collect())
}

fn chat(chat: &ChatTarget, program: &ProgramSpec) -> Value {
    let tool_program = match program.language {
        Language::Executable => json!(words(program)),
        Language::JavaScript | Language::Python => json!(called(program)),
    };
    let mut all = json!({
        "system": chat.system,
        "tools": chat.tools,
        "tool_program": tool_program,
        "max_turns": chat.max_turns,
    });
    extend(&mut all, model(judge(&chat.model)));
    all
}

/// A model without what is said of judges alone.
fn model(mut judge: Value) -> Value {
    if let Some(members) = judge.as_object_mut() {
        const OF_JUDGES: [&str; 6] = [
            "response_format",
            "max_retries",
            "timeout",
            "deadline",
            "max_requests_per_minute",
            "max_tokens_per_minute",
        ];
        members.retain(|name, value| !OF_JUDGES.contains(&name.as_str()) && !value.is_null());
    }
    judge
}

/// An agent on a Letta server.
fn letta(letta: &LettaTarget, program: &ProgramSpec) -> Value {
    let source = match &letta.agent {
        LettaAgentSource::File { path, .. } => json!({"agent_file": path}),
        LettaAgentSource::Id(id) => json!({"agent_id": id}),
        LettaAgentSource::Script => json!({"agent_script": called(program)}),
    };
    let paths = letta.model_configs.iter().map(|config| config.path.as_str());
    let mut all = json!({
        "base_url": letta.base_url,
        "api_key_env": letta.api_key_env,
        "project_id": letta.project_id,
        "keep_agents": letta.keep_agents.then_some(true),
        "model_configs": paths.collect::<Vec<_>>(),
    });
    extend(&mut all, source);
    all
}

fn letta_code(letta: &LettaCodeTarget) -> Value {
    json!({
        "base_url": letta.base_url,
        "working_dir": letta.working_dir,
        "allowed_tools": letta.allowed_tools,
        "disallowed_tools": letta.disallowed_tools,
        "permission_mode": letta.permission_mode,
        "flags": letta.flags,
    })
}

fn user(user: &SimulatedUser) -> Value {
    let mut all = without_empty(json!({
        "persona": user.persona,
        "max_turns": user.max_turns,
        "stop_when": user.stop_when,
    }));
    extend(&mut all, model(judge(&user.model)));
    all
}
