//! Renders an action that waits as something that can be executed: plans keep keys, not prompts.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::credentials::{JudgeAccess, access, judge_of, put_all};
use super::queues::PROGRAM_LIMITS;
use super::settings::Settings;
use super::waiting::WaitingAction;
use crate::session::Session;
use evalrs_eval::action::Action;
use evalrs_eval::judge::{JudgeEndpoint, provider};
use evalrs_eval::target::TargetAction;
use evalrs_exec::targets::{ChatCaching, TargetAccess, TargetLaunch};
use evalrs_exec::{
    EndpointId, JudgeLaunch, Launch, LimitSettings, ProgramLaunch, RequestHeader, Secret, Start,
};
use evalrs_graph::inputs::CellId;
use evalrs_graph::{answers, queries, results};
use evalrs_letta::requests::PROJECT_HEADER;
use evalrs_model::key::KeyVersion;
use evalrs_model::spec::{AgentKind, CachingChoice, GraderSpec, JudgeSpec, Role, TierChoice};

/// Conversations in flight at once where nobody says: agents are large, and their APIs have limits.
const CONVERSATIONS: usize = 4;

/// Variables that say how a Letta server is reached.
const LETTA_API_KEY: &str = "LETTA_API_KEY";
const LETTA_BASE_URL: &str = "LETTA_BASE_URL";
const LETTA_PROJECT_ID: &str = "LETTA_PROJECT_ID";

/// Renders `waiting`. An error names the promise of the graph that does not hold.
pub(crate) fn launch(
    session: &Session,
    waiting: &WaitingAction,
    endpoint: EndpointId,
) -> Result<Launch, &'static str> {
    let db = &session.db;
    let CellId { chunk, case, grader } = waiting.cell;
    let grader = session.grader(grader).ok_or("its grader is gone")?;
    let WaitingAction { ballot, purpose, .. } = *waiting;
    let wanted = results::RenderedAction { ballot, purpose, version: KeyVersion::Current };
    let action = results::action_for(db, chunk, case, grader, wanted);
    let action = match action.ok_or("its plan does not have it")? {
        Action::Judge(action) => action,
        Action::Program(action) => {
            let start = session.start_of(&action.identity.spec);
            let start = start.ok_or("its program was not read")?;
            return Ok(Launch::Program(ProgramLaunch { action, start }));
        }
        Action::Dependencies(_) => return Err("it is a list of files"),
        Action::Target(action) => return conversation(session, waiting, action),
    };
    let EndpointId::Judge(endpoint) = endpoint else {
        return Err("a judge waits among programs");
    };
    let (judge, at) = judge_of(session, waiting).ok_or("its grader has no judge")?;
    let access = access(session, judge, at).ok_or("its judge is not on the panel")?;
    let program = access.spec.program.as_ref();
    let start =
        program.map(|judge| session.start_of(&judge.program).ok_or("its command was not read"));
    let sample = results::sample_id(db, chunk, case).unwrap_or_default();
    let what_for = format!("{} of {sample}", grader.name(db));
    Ok(Launch::Judge(JudgeLaunch {
        action,
        endpoint,
        what_for,
        base_url: access.base_url.to_owned(),
        caching: provider::caching(access.spec, access.base_url),
        mark: None,
        is_flex: access.spec.service_tier == TierChoice::Flex,
        is_wider: false,
        api_key: access.api_key(),
        headers: access.headers(),
        patience: access.spec.patience.clone(),
        agent: access.spec.agent.clone(),
        start: start.transpose()?,
    }))
}

/// A conversation, and how the target is reached.
fn conversation(
    session: &Session,
    waiting: &WaitingAction,
    action: TargetAction,
) -> Result<Launch, &'static str> {
    let db = &session.db;
    let identity = &action.identity;
    let mut start = session.start_of(&identity.program.spec).ok_or("its program was not read")?;
    let environment = session.root.environment(db);
    let is_shared = queries::selection(db, session.root).cases > 1;
    let reached = |spec: &JudgeSpec, endpoint: &JudgeEndpoint| {
        let access = JudgeAccess { spec, base_url: &endpoint.base_url, environment };
        TargetAccess {
            base_url: endpoint.base_url.clone(),
            api_key: access.api_key(),
            headers: access.headers(),
            price: None,
            caching: provider::caching(spec, &endpoint.base_url)
                .filter(|_| spec.prompt_caching != CachingChoice::Off)
                .map(|terms| ChatCaching { terms, is_shared }),
        }
    };
    let access = match &identity.spec.kind {
        AgentKind::Chat(chat) => {
            let run = action.model.as_ref();
            identity.model_of(run).map(|endpoint| reached(&chat.model_of(run), endpoint))
        }
        AgentKind::Http(http) => Some(TargetAccess {
            base_url: String::new(),
            api_key: None,
            headers: put_all(Vec::new(), &http.headers, environment),
            price: None,
            caching: None,
        }),
        AgentKind::LettaAgent(letta) => {
            let api_key = letta.api_key_env.as_deref().unwrap_or(LETTA_API_KEY);
            let project = letta.project_id.as_ref();
            Some(letta_access(identity.letta_server.as_ref(), api_key, project, environment))
        }
        AgentKind::LettaCode(_) => {
            let server = identity.letta_server.as_ref();
            start = told_of_server(&start, server, environment);
            Some(letta_access(server, LETTA_API_KEY, None, environment))
        }
        AgentKind::Command | AgentKind::Function | AgentKind::Headless(_) => None,
    };
    let user = identity.spec.user.as_ref().zip(identity.user.as_ref());
    let user = user.map(|(user, endpoint)| reached(&user.model, endpoint));
    let setup = identity.spec.hooks.script.as_ref().map(|script| {
        session.start_of(script).ok_or("the script that prepares its server was not read")
    });
    let setup = setup.transpose()?;
    let CellId { chunk, case, .. } = waiting.cell;
    let spec = queries::row_spec(db, session.root).as_ref().ok_or("its rows cannot be read")?;
    let who = queries::checked(db, chunk).whos.get(case).ok_or("its case is gone")?;
    let what_for = answers::case_name(spec, &who.identity, &action.sample);
    Ok(Launch::Target(Box::new(TargetLaunch {
        action,
        start,
        access,
        user,
        setup,
        what_for,
        turn_limit: None,
    })))
}

/// The start of a program that gets a Letta server by its environment, if any is set.
fn told_of_server(
    start: &Start,
    base_url: Option<&String>,
    environment: &BTreeMap<String, String>,
) -> Arc<Start> {
    let mut told = start.clone();
    for name in [LETTA_API_KEY, LETTA_BASE_URL, LETTA_PROJECT_ID] {
        let value = if name == LETTA_BASE_URL { base_url } else { environment.get(name) };
        if let Some(value) = value {
            told.env.retain(|(held, _)| held != name);
            told.env.push((name.to_owned(), Secret::new(value.clone())));
        }
    }
    Arc::new(told)
}

/// How the Letta server of a target is reached in this environment; `api_key` is the variable that holds its key.
fn letta_access(
    base_url: Option<&String>,
    api_key: &str,
    project: Option<&String>,
    environment: &BTreeMap<String, String>,
) -> TargetAccess {
    let project = project.or_else(|| environment.get(LETTA_PROJECT_ID));
    let headers = project.into_iter().map(|project| RequestHeader {
        name: PROJECT_HEADER.to_owned(),
        value: Secret::new(project.clone()),
        is_secret: false,
    });
    TargetAccess {
        base_url: base_url.map_or("http://localhost:8283", String::as_str).to_owned(),
        api_key: environment.get(api_key).map(|key| Secret::new(key.clone())),
        headers: headers.collect(),
        price: None,
        caching: None,
    }
}

/// How many conversations are in flight at once: as the suite sets it, else [`CONVERSATIONS`].
pub(crate) fn target_limits(session: &Session, settings: &Settings) -> LimitSettings {
    let live = session.suite().and_then(|suite| suite.target.live());
    let said = settings.max_concurrent_targets.or_else(|| live?.max_concurrent);
    LimitSettings { most: said.unwrap_or(CONVERSATIONS).max(1), ..PROGRAM_LIMITS }
}

/// The noun for actions: judgments, or calls if programs or conversations are among them.
pub(crate) fn noun(session: &Session) -> &'static str {
    if answers::is_live(&session.db, session.root) {
        return "call";
    }
    let graders = session.suite().into_iter().flat_map(|suite| &suite.graders);
    let mut programs = graders.flat_map(GraderSpec::programs);
    if programs.any(|program| program.role != Role::Judge) { "call" } else { "judgment" }
}
