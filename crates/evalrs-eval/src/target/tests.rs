//! What is in the key of a conversation, kind by kind, and what is not.

use std::sync::Arc;

use serde_json::json;

use super::{TargetAction, TargetIdentity};
use crate::action::Action;
use crate::program::{ProgramFingerprint, ProgramIdentity};
use evalrs_model::key::ActionKey;
use evalrs_model::spec::{
    AdapterSource, AgentKind, ChatTarget, HeaderSpec, HeaderValue, HttpTarget, JudgeSpec,
    KeepWorkspace, Language, LettaAgentSource, LettaCodeTarget, LettaModelConfig, LettaTarget,
    LiveTarget, ProgramSpec, Repeat, ReplyLimit, Role, SampleMember, SimulatedUser, TargetHooks,
    TargetModel, WorkspaceSpec,
};

/// A conversation before it is an action: all that its key may depend on.
#[derive(Clone)]
struct Case {
    target: LiveTarget,
    known: ProgramFingerprint,
    model: Option<TargetModel>,
    handed: String,
    trial: u32,
    sample: String,
    /// What the environment names as the base URL of every provider, and of Letta.
    base_url: Option<&'static str>,
    /// The function that prepares its server.
    setup: Option<Arc<ProgramIdentity>>,
}

impl Case {
    fn key(&self) -> ActionKey {
        let spec = self.target.program.clone();
        let program = Arc::new(ProgramIdentity { spec, known: self.known.clone() });
        let base_url = self.base_url.map(str::to_owned);
        let identity =
            TargetIdentity::new(self.target.clone(), program, self.setup.clone(), &|_: &str| {
                base_url.clone()
            });
        let action = TargetAction {
            identity: Arc::new(identity),
            model: self.model.clone(),
            handed: self.handed.clone(),
            trial: self.trial,
            sample: self.sample.clone(),
        };
        let action = Action::Target(action);
        let mut names: Vec<String> =
            action.ingredients().into_iter().map(|part| part.name).collect();
        let count = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), count, "an ingredient has a name of its own");
        action.key()
    }
}

fn header(value: HeaderValue) -> HeaderSpec {
    HeaderSpec { name: "x-team".to_owned(), value }
}

fn case(kind: AgentKind, language: Language, role: Role) -> Case {
    let known = ProgramFingerprint {
        path: "agent".to_owned(),
        program: "p".to_owned(),
        runtime: "python 3.11".to_owned(),
        inputs: vec![("prompts/a.txt".to_owned(), "d".to_owned())],
        dependencies: Vec::new(),
        missed: Arc::default(),
        env: vec![("MODE".to_owned(), Some("m".to_owned())), ("TOKEN".to_owned(), None)],
        cwd: None,
    };
    let target = LiveTarget {
        kind,
        program: ProgramSpec::new("agent".to_owned(), language, "run", role),
        models: Vec::new(),
        version: Some("1".to_owned()),
        answer: None,
        retries: 1,
        workspace: None,
        hooks: TargetHooks::default(),
        user: None,
        max_concurrent: None,
    };
    Case {
        target,
        known,
        model: Some(TargetModel { name: "m".to_owned(), provider: None }),
        handed: r#"{"input":"hi"}"#.to_owned(),
        trial: 0,
        sample: "s".to_owned(),
        base_url: None,
        setup: None,
    }
}

fn model() -> JudgeSpec {
    JudgeSpec {
        model: "m".to_owned(),
        base_url: Some("https://one.example/v1".to_owned()),
        seed: Some(1),
        max_tokens: ReplyLimit::Tokens(9),
        top_p: Some(0.5),
        headers: vec![header(HeaderValue::Text("a".to_owned()))],
        ..JudgeSpec::default()
    }
}

fn chat() -> Case {
    let chat = ChatTarget {
        model: model(),
        system: Some("Be brief.".to_owned()),
        tools: vec![json!({"name": "find", "parameters": {"a": 1, "b": 2}})],
        max_turns: 5,
    };
    let case = case(AgentKind::Chat(Box::new(chat)), Language::Python, Role::Tool);
    Case { model: None, ..case }
}

fn http() -> Case {
    let http = HttpTarget {
        url: "https://one.example/chat?key=secret&v=1".to_owned(),
        method: "POST".to_owned(),
        headers: vec![header(HeaderValue::Text("a".to_owned()))],
        body: Some(json!({"b": "{input}", "a": 1})),
        answer: Some("$.a".to_owned()),
        messages: None,
        session: None,
        is_stream: false,
        endpoint: None,
    };
    let case = case(AgentKind::Http(Box::new(http)), Language::Executable, Role::Target);
    Case { known: ProgramFingerprint { runtime: String::new(), ..case.known }, ..case }
}

fn with_user(case: Case) -> Case {
    let user = SimulatedUser {
        model: model(),
        persona: "Wants boots.".to_owned(),
        max_turns: 4,
        stop_when: Some("[done]".to_owned()),
    };
    Case { target: LiveTarget { user: Some(user), ..case.target }, ..case }
}

fn headless() -> Case {
    let adapter = AdapterSource { name: "codex".to_owned(), text: ADAPTER.to_owned() };
    case(AgentKind::Headless(adapter), Language::Executable, Role::Target)
}

const ADAPTER: &str = r#"{"name": "a", "y": {}, "x": [1, 2], "command": ["agent"]}"#;

fn of_adapter(case: &mut Case) -> &mut AdapterSource {
    match &mut case.target.kind {
        AgentKind::Headless(adapter) => adapter,
        AgentKind::LettaCode(letta) => &mut letta.adapter,
        _ => panic!("it has no adapter"),
    }
}

fn of_http(case: &mut Case) -> &mut HttpTarget {
    match &mut case.target.kind {
        AgentKind::Http(http) => http,
        _ => panic!("no server"),
    }
}

fn of_chat(case: &mut Case) -> &mut ChatTarget {
    match &mut case.target.kind {
        AgentKind::Chat(chat) => chat,
        _ => panic!("no chat"),
    }
}

fn of_user(case: &mut Case) -> &mut SimulatedUser {
    case.target.user.as_mut().expect("a user")
}

type Change = fn(&mut Case);

/// What changes the key of every kind.
const CHANGES: &[(&str, Change)] = &[
    ("program", |it| it.known.program.push('2')),
    ("runtime", |it| it.known.runtime = "python 3.12".to_owned()),
    ("arguments", |it| it.target.program.arguments = vec!["-v".to_owned()]),
    ("inputs", |it| it.known.inputs[0].1.push('2')),
    ("inputs", |it| it.known.inputs.clear()),
    ("env", |it| it.known.env[0].1 = Some("other".to_owned())),
    ("env", |it| it.known.env.truncate(1)),
    ("version", |it| it.target.version = Some("2".to_owned())),
    ("version", |it| it.target.version = None),
    ("repeat", |it| it.target.program.repeat = Repeat::Always),
    ("workspace", |it| it.target.workspace = Some(workspace())),
    ("setup_script", |it| it.setup = Some(setup("digest"))),
    ("sees", |it| it.target.program.sees = vec![SampleMember::Id]),
    ("model", |it| it.model = Some(TargetModel { name: "n".to_owned(), provider: None })),
    ("model_provider", |it| {
        it.model = Some(TargetModel { name: "m".to_owned(), provider: Some("google".to_owned()) });
    }),
    ("handed", |it| it.handed = r#"{"input":"ho"}"#.to_owned()),
    ("trial", |it| it.trial = 1),
    ("kind", |it| it.target.kind = AgentKind::Function),
];

fn workspace() -> WorkspaceSpec {
    WorkspaceSpec { template: None, is_git: false, keep: KeepWorkspace::Failed }
}

fn in_workspace(case: Case) -> Case {
    Case { target: LiveTarget { workspace: Some(workspace()), ..case.target }, ..case }
}

fn of_workspace(case: &mut Case) -> &mut WorkspaceSpec {
    case.target.workspace.as_mut().expect("a workspace")
}

/// What else changes the key where there is a workspace.
const OF_WORKSPACE: &[(&str, Change)] = &[
    ("no workspace", |it| it.target.workspace = None),
    ("git", |it| of_workspace(it).is_git = true),
    // Its files are among the inputs; they may have been before.
    ("template", |it| it.target.program.template = Some("shop".to_owned())),
];

const NOT_OF_WORKSPACE: &[(&str, Change)] = &[
    ("keep", |it| of_workspace(it).keep = KeepWorkspace::Always),
    // As the suite's folder sees it, it is in keys.
    ("place of the suite", |it| of_workspace(it).template = Some("moved/shop".to_owned())),
];

/// The cases whose answers rest on the id.
const WITH_ID: [&str; 2] = ["a program that sees", "a placeholder"];

fn setup(program: &str) -> Arc<ProgramIdentity> {
    let spec =
        ProgramSpec::new("setup.py".to_owned(), Language::Python, "prepare", Role::SuiteSetup);
    let program = program.to_owned();
    let known = ProgramFingerprint { program, ..ProgramFingerprint::default() };
    Arc::new(ProgramIdentity { spec, known })
}

fn letta() -> Case {
    let config = LettaModelConfig {
        path: "llm_model_configs/m.json".to_owned(),
        model: "m".to_owned(),
        text: r#"{"model":"m"}"#.to_owned(),
    };
    let target = LettaTarget {
        base_url: Some("http://localhost:8283".to_owned()),
        agent: LettaAgentSource::Script,
        api_key_env: None,
        project_id: None,
        keep_agents: false,
        model_configs: vec![config],
    };
    let kind = AgentKind::LettaAgent(Box::new(target));
    Case { setup: Some(setup("one")), ..case(kind, Language::Python, Role::AgentFactory) }
}

fn of_letta(case: &mut Case) -> &mut LettaTarget {
    match &mut case.target.kind {
        AgentKind::LettaAgent(letta) => letta,
        _ => panic!("it is no agent on a Letta server"),
    }
}

const OF_LETTA: &[(&str, Change)] = &[
    ("base_url", |it| of_letta(it).base_url = Some("http://localhost:8284".to_owned())),
    ("LETTA_BASE_URL", |it| {
        of_letta(it).base_url = None;
        it.base_url = Some("http://localhost:8284");
    }),
    ("agent", |it| of_letta(it).agent = LettaAgentSource::Id("agent-1".to_owned())),
    ("model_config", |it| of_letta(it).model_configs[0].text.push(' ')),
    ("model_config", |it| of_letta(it).model_configs.clear()),
    ("setup_script", |it| it.setup = Some(setup("two"))),
    ("setup_script", |it| it.setup = None),
    ("loaded files", |it| it.known.dependencies = vec![("n.py".to_owned(), "d".to_owned())]),
];

const NOT_OF_LETTA: &[(&str, Change)] = &[
    ("the server of nobody who says", |it| of_letta(it).base_url = None),
    ("the server by another way", |it| {
        of_letta(it).base_url = None;
        it.base_url = Some("http://me:secret@localhost:8283/");
    }),
    ("LETTA_BASE_URL that the suite overrides", |it| it.base_url = Some("http://elsewhere")),
    ("api_key_env", |it| of_letta(it).api_key_env = Some("MINE".to_owned())),
    ("keep_agents", |it| of_letta(it).keep_agents = true),
    ("file of the model", |it| of_letta(it).model_configs[0].path.push('2')),
];

/// What changes the key of none; the id that of those [`WITH_ID`].
const NO_CHANGES: &[(&str, Change)] = &[
    ("id", |it| it.sample = "other".to_owned()),
    ("timeout", |it| it.target.program.timeout_ms = 1),
    ("retries", |it| it.target.retries = 9),
    ("max_concurrent_targets", |it| it.target.max_concurrent = Some(9)),
    ("setup", |it| it.target.hooks.setup = vec!["./seed".to_owned()]),
    ("teardown", |it| it.target.hooks.teardown = vec!["./end".to_owned()]),
    ("setup_each", |it| it.target.hooks.setup_each = vec!["./reset".to_owned()]),
    ("teardown_each", |it| it.target.hooks.teardown_each = vec!["./end".to_owned()]),
    ("place", |it| it.target.program.path = "moved/agent".to_owned()),
];

const OF_HTTP: &[(&str, Change)] = &[
    ("url", |it| of_http(it).url = "https://two.example/chat?key=secret&v=1".to_owned()),
    ("url", |it| of_http(it).url.push('2')),
    ("method", |it| of_http(it).method = "PUT".to_owned()),
    ("headers", |it| of_http(it).headers[0].value = HeaderValue::Text("b".to_owned())),
    ("body", |it| of_http(it).body = Some(json!({"b": "{input}", "a": 2}))),
    ("body", |it| of_http(it).body = None),
    ("answer", |it| of_http(it).answer = Some("$.b".to_owned())),
    ("messages", |it| of_http(it).messages = Some("$.m".to_owned())),
    ("session", |it| of_http(it).session = Some("$.s".to_owned())),
    ("stream", |it| of_http(it).is_stream = true),
    ("endpoint", |it| of_http(it).endpoint = Some("bot".to_owned())),
];

const NOT_OF_HTTP: &[(&str, Change)] = &[
    ("secret parameter", |it| {
        of_http(it).url = "https://one.example/chat?key=another&v=1".to_owned();
    }),
    ("password", |it| {
        of_http(it).url = "https://me:secret@one.example/chat?key=secret&v=1".to_owned();
    }),
    ("order of members", |it| of_http(it).body = Some(json!({"a": 1, "b": "{input}"}))),
    ("secret header", |it| {
        of_http(it).headers.push(header(HeaderValue::Variable("TOKEN".to_owned())));
    }),
];

/// A model that talks, as the agent and as its user.
macro_rules! of_model {
    ($of:expr) => {
        &[
            ("model", |it| $of(it).model.push('2')),
            ("provider", |it| $of(it).provider = "google".to_owned()),
            ("base_url", |it| $of(it).base_url = Some("https://two.example/v1".to_owned())),
            ("base_url", |it| $of(it).base_url = None),
            ("endpoint", |it| $of(it).endpoint = Some("gateway".to_owned())),
            ("temperature", |it| $of(it).temperature = Some(0.25)),
            ("seed", |it| $of(it).seed = Some(2)),
            ("max_tokens", |it| $of(it).max_tokens = ReplyLimit::Tokens(10)),
            ("top_p", |it| $of(it).top_p = None),
            ("extra_body", |it| drop($of(it).extra_body.insert("a".to_owned(), json!(1)))),
            ("headers", |it| $of(it).headers[0].value = HeaderValue::Text("b".to_owned())),
        ]
    };
}

const MODEL_OF_CHAT: &[(&str, Change)] = of_model!(chat_model);
const MODEL_OF_USER: &[(&str, Change)] = of_model!(user_model);

const NOT_OF_MODEL: &[(&str, Change)] = &[
    ("api_key_env", |it| chat_model(it).api_key_env = Some("MINE".to_owned())),
    ("patience", |it| chat_model(it).patience.max_retries = 9),
    ("secret header", |it| {
        chat_model(it).headers.push(header(HeaderValue::Variable("TOKEN".to_owned())));
    }),
    ("environment", |it| it.base_url = Some("https://three.example")),
];

fn chat_model(case: &mut Case) -> &mut JudgeSpec {
    &mut of_chat(case).model
}

fn user_model(case: &mut Case) -> &mut JudgeSpec {
    &mut of_user(case).model
}

const OF_CHAT: &[(&str, Change)] = &[
    ("system", |it| of_chat(it).system = None),
    ("system", |it| of_chat(it).system = Some("Be brief!".to_owned())),
    ("tools", |it| of_chat(it).tools.clear()),
    ("tools", |it| of_chat(it).tools[0]["parameters"]["a"] = json!(2)),
    ("max_turns", |it| of_chat(it).max_turns = 6),
    ("user", |it| *it = with_user(it.clone())),
];

const NOT_OF_CHAT: &[(&str, Change)] = &[("order of members", |it| {
    of_chat(it).tools = vec![json!({"parameters": {"b": 2, "a": 1}, "name": "find"})];
})];

const OF_USER: &[(&str, Change)] = &[
    ("persona", |it| of_user(it).persona.push('!')),
    ("max_turns", |it| of_user(it).max_turns = 5),
    ("stop_when", |it| of_user(it).stop_when = None),
    ("user", |it| it.target.user = None),
];

const OF_HEADLESS: &[(&str, Change)] = &[
    ("command", |it| of_adapter(it).text = ADAPTER.replace("agent", "other")),
    ("order of arguments", |it| of_adapter(it).text = ADAPTER.replace("[1, 2]", "[2, 1]")),
    ("a timeout within", |it| of_adapter(it).text = ADAPTER.replace("{}", "{\"timeout\": 1}")),
    ("no JSON", |it| of_adapter(it).text = "{".to_owned()),
];

const NOT_OF_HEADLESS: &[(&str, Change)] = &[
    ("name of its file", |it| of_adapter(it).name = "other".to_owned()),
    ("layout", |it| of_adapter(it).text = ADAPTER.replace(", ", ",\n    ")),
    ("order of members", |it| {
        of_adapter(it).text =
            r#"{"command": ["agent"], "x": [1, 2], "y": {}, "name": "a"}"#.to_owned();
    }),
    ("name", |it| of_adapter(it).text = ADAPTER.replace("\"a\"", "\"b\"")),
    ("timeout", |it| of_adapter(it).text = ADAPTER.replacen('{', "{\"timeout\": 5000, ", 1)),
];

fn check(kind: &str, case: &Case, changes: &[(&str, Change)], others: &[(&str, Change)]) {
    let key = case.key();
    let changed = |change: &Change| {
        let mut changed = case.clone();
        change(&mut changed);
        changed.key()
    };
    for (name, change) in CHANGES.iter().chain(changes) {
        let is_itself = match *name {
            "kind" => kind == "function",
            "workspace" => kind == "a workspace",
            "sees" => WITH_ID.contains(&kind),
            _ => false,
        };
        assert_eq!(changed(change) == key, is_itself, "{kind}: {name} decides the answer");
    }
    for (name, change) in NO_CHANGES.iter().chain(others) {
        let is_in_key = *name == "id" && WITH_ID.contains(&kind);
        assert_eq!(changed(change) != key, is_in_key, "{kind}: {name} does not");
    }
}

fn letta_code(adapter: &str, base_url: Option<&str>) -> Case {
    let adapter = AdapterSource { name: "letta-code".to_owned(), text: adapter.to_owned() };
    let target = LettaCodeTarget {
        base_url: base_url.map(str::to_owned),
        working_dir: Some("sandbox".to_owned()),
        allowed_tools: None,
        disallowed_tools: None,
        permission_mode: None,
        flags: Vec::new(),
        adapter,
    };
    let kind = AgentKind::LettaCode(Box::new(target));
    case(kind, Language::Executable, Role::Target)
}

const OF_LETTA_CODE: &[(&str, Change)] = &[
    ("arguments", |it| of_adapter(it).text = r#"{"autoApprove": ["--yolo"]}"#.to_owned()),
    ("base_url", |it| it.target.kind = letta_code("{}", Some("http://a")).target.kind),
    ("LETTA_BASE_URL", |it| it.base_url = Some("http://a")),
];

#[test]
fn every_ingredient_of_every_kind_changes_the_key_and_nothing_else_does() {
    let command = case(AgentKind::Command, Language::Executable, Role::Target);
    let function = case(AgentKind::Function, Language::Python, Role::Target);
    let answer: &[(&str, Change)] = &[("answer", |it| it.target.answer = Some("$.a".to_owned()))];
    check("command", &command, answer, &[]);
    check("function", &function, answer, &[]);
    check("a workspace", &in_workspace(command.clone()), OF_WORKSPACE, NOT_OF_WORKSPACE);
    let mut seeing = command;
    seeing.target.program.sees = vec![SampleMember::Id];
    check("a program that sees", &seeing, &[], &[]);
    let mut naming = http();
    of_http(&mut naming).url.push_str("&user={id}");
    check("a placeholder", &naming, &[], &[]);
    check("letta_code", &letta_code("{}", None), OF_LETTA_CODE, &[]);
    check("letta_agent", &letta(), OF_LETTA, NOT_OF_LETTA);
    check("headless", &headless(), OF_HEADLESS, NOT_OF_HEADLESS);
    check("http", &http(), OF_HTTP, NOT_OF_HTTP);
    check(
        "chat",
        &chat(),
        &[OF_CHAT, MODEL_OF_CHAT].concat(),
        &[NOT_OF_CHAT, NOT_OF_MODEL].concat(),
    );
    let talking = with_user(chat());
    check("chat with a user", &talking, &[OF_USER, MODEL_OF_USER].concat(), NOT_OF_MODEL);
}

#[test]
fn where_a_model_is_served_is_in_no_key_under_an_endpoint() {
    let mut one = with_user(chat());
    for model in [chat_model, user_model] {
        model(&mut one).endpoint = Some("gateway".to_owned());
    }
    let mut other = one.clone();
    for model in [chat_model, user_model] {
        model(&mut other).base_url = Some("https://two.example/v1".to_owned());
    }
    assert_eq!(one.key(), other.key());
    let mut server = http();
    of_http(&mut server).endpoint = Some("bot".to_owned());
    let mut moved = server.clone();
    of_http(&mut moved).url = "https://two.example/".to_owned();
    assert_eq!(server.key(), moved.key());
}

#[test]
fn a_model_of_another_provider_is_known_by_where_that_is_asked() {
    let run = TargetModel { name: "claude-two".to_owned(), provider: Some("anthropic".to_owned()) };
    let mut one = chat();
    one.target.models = vec![TargetModel { name: "m".to_owned(), provider: None }, run.clone()];
    one.model = Some(run);
    let elsewhere = Case { base_url: Some("https://gateway.example"), ..one.clone() };
    assert_ne!(one.key(), elsewhere.key(), "the environment says where it is asked");
    let mut own = one.clone();
    chat_model(&mut own).base_url = Some("https://two.example/v1".to_owned());
    assert_eq!(one.key(), own.key(), "the target says so of its own provider only");
}
