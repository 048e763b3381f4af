//! Targets that are run: how the agent is reached, and what is around its conversations.
//!
//! Everything that decides an answer is read here: the texts of prompts, adapters and tools are part of the suite, as
//! rubrics are. What files an agent rests on is said by `inputs`, and read with those of its program.

use serde_json::Value;

use super::fields::{FieldSet, Findings};
use super::headers::headers;
use super::judges;
use super::programs;
use super::reader::Reader;
use super::section::Section;
use super::seen_id;
use super::target_sections::{
    CHAT_TARGET, COMMAND_TARGET, FUNCTION_TARGET, HEADLESS_TARGET, HTTP_TARGET, KEEPS,
    TARGET_MODEL, USER, WORKSPACE,
};
use evalrs_base::json_path;
use evalrs_base::yaml::tree::{Yaml, YamlEntry};
use evalrs_eval::adapter::{Adapter, BUILT_IN};
use evalrs_eval::target::exchange;
use evalrs_model::spec::{
    AdapterSource, AgentKind, ChatTarget, HeaderSpec, HeaderValue, HttpTarget, KeepWorkspace,
    Language, LiveTarget, ProgramSpec, Role, SimulatedUser, TargetHooks, TargetModel,
    WorkspaceSpec,
};

/// Milliseconds a conversation may take where the suite does not say.
pub(super) const TIMEOUT_MS: u64 = 300_000;

/// The kinds of targets that are run here.
pub(super) const LIVE_KINDS: [(&str, &Section); 5] = [
    ("command", &COMMAND_TARGET),
    ("function", &FUNCTION_TARGET),
    ("headless", &HEADLESS_TARGET),
    ("http", &HTTP_TARGET),
    ("chat", &CHAT_TARGET),
];

/// What is said of all targets at the top of the suite.
#[derive(Debug, Default)]
pub(super) struct AroundTarget<'a> {
    /// `setup_script`, which agents on Letta servers have.
    pub setup_script: Option<&'a YamlEntry>,
    /// `models`.
    pub models: Vec<TargetModel>,
    /// `max_concurrent_targets`.
    pub max_concurrent: Option<usize>,
}

/// Reads a target of this kind, whose name is known to be one of [`LIVE_KINDS`].
pub(super) fn live(
    name: &str,
    field: &YamlEntry,
    mut fields: FieldSet<'_>,
    around: AroundTarget<'_>,
    reader: &mut Reader<'_>,
) -> Option<LiveTarget> {
    if let Some(script) = around.setup_script {
        let message = format!("a target of kind `{name}` has no `setup_script`");
        reader.findings.error(script.key_span, message).hint =
            Some("name a command by `setup` of the target".to_owned());
    }
    let found = LIVE_KINDS.iter().find(|(kind, _)| *kind == name);
    if let Some((_, section)) = found {
        fields.read_as(section);
    }
    let workspace = workspace(&fields, reader);
    let is_program = matches!(name, "command" | "function");
    if is_program {
        check_exchange(&fields, &[], &mut reader.findings);
    }
    let read = match name {
        "command" => command(&fields, reader).map(|spec| (AgentKind::Command, spec)),
        "function" => function(&fields, reader).map(|spec| (AgentKind::Function, spec)),
        "headless" => headless(&fields, reader),
        "http" => http(&mut fields, reader).map(|http| (http, no_program())),
        _ => chat(&mut fields, &around.models, reader),
    };
    let program = read.as_ref().map(|(_, program)| program.clone());
    let named = ["command", "path", "adapter", "tool_program"];
    let named = named.iter().find_map(|name| fields.take(name)).unwrap_or(field);
    let sees = seen_id::seen(&fields, reader);
    let spec = program.map(|program| ProgramSpec { timeout_ms: TIMEOUT_MS, sees, ..program });
    let program =
        programs::with_settings_and(spec, named, &fields, template(&fields, reader), reader);
    let user = user(&fields, reader);
    let findings = &mut reader.findings;
    let target = LiveTarget {
        kind: read.map_or(AgentKind::Command, |(kind, _)| kind),
        program: program.clone().unwrap_or_else(no_program),
        models: around.models,
        version: fields.text("version", findings),
        answer: is_program.then(|| fields.text("answer", findings)).flatten(),
        retries: fields.whole("retries", findings).unwrap_or(1),
        workspace,
        hooks: TargetHooks {
            script: None,
            setup: fields.texts("setup", findings).unwrap_or_default(),
            teardown: fields.texts("teardown", findings).unwrap_or_default(),
            setup_each: fields.texts("setup_each", findings).unwrap_or_default(),
            teardown_each: fields.texts("teardown_each", findings).unwrap_or_default(),
        },
        user,
        max_concurrent: around.max_concurrent,
    };
    fields.finish(findings);
    program.map(|_| target)
}

/// The program of a target that has none.
pub(super) fn no_program() -> ProgramSpec {
    ProgramSpec::new(String::new(), Language::Executable, "", Role::Target)
}

fn command(fields: &FieldSet<'_>, reader: &mut Reader<'_>) -> Option<ProgramSpec> {
    let field = fields.take("command")?;
    words(field, Role::Target, reader)
}

/// The program of a command: one with a slash is a file of the suite's folder, another is installed.
pub(super) fn words(field: &YamlEntry, role: Role, reader: &mut Reader<'_>) -> Option<ProgramSpec> {
    let words = reader.findings.texts(field)?;
    let Some((program, arguments)) = words.split_first() else {
        reader.findings.error(field.value.span, format!("`{}` is empty", field.key)).hint =
            Some("for example `[python3, agent.py]`".to_owned());
        return None;
    };
    if arguments.is_empty() && program.trim().contains(char::is_whitespace) {
        let list: Vec<&str> = program.split_whitespace().collect();
        let message = format!("`{}` is a list of words, not a line for a shell", field.key);
        reader.findings.error(field.value.span, message).hint =
            Some(format!("write `{}: [{}]`", field.key, list.join(", ")));
        return None;
    }
    let is_file = program.contains('/');
    let path = if is_file {
        reader.findings.sources.join(field.value.span.file, program)
    } else {
        String::new()
    };
    let mut spec = ProgramSpec::new(path, Language::Executable, "", role);
    spec.runtime = (!is_file).then(|| program.clone());
    spec.arguments = arguments.to_vec();
    Some(spec)
}

fn function(fields: &FieldSet<'_>, reader: &mut Reader<'_>) -> Option<ProgramSpec> {
    let field = fields.take("path")?;
    called(field, Role::Target, "run", reader)
}

/// A function of a Python file, or a module that exports `name`.
fn called(
    field: &YamlEntry,
    role: Role,
    name: &str,
    reader: &mut Reader<'_>,
) -> Option<ProgramSpec> {
    let text = reader.findings.text(field)?;
    if programs::is_python(&text) {
        return programs::python(field, &text, role, reader);
    }
    if Language::of_file(&text) == Language::JavaScript {
        let path = reader.path(field)?;
        return Some(ProgramSpec::new(path, Language::JavaScript, name, role));
    }
    let message = format!("`{text}` names neither a function of a Python file nor a module");
    reader.findings.error(field.value.span, message).hint = Some(format!(
        "write `agent.py:{name}`, or a `.ts`, `.js` or `.mjs` file that exports `{name}`"
    ));
    None
}

fn headless(fields: &FieldSet<'_>, reader: &mut Reader<'_>) -> Option<(AgentKind, ProgramSpec)> {
    let field = fields.take("adapter")?;
    let name = reader.findings.text(field)?;
    let built_in = BUILT_IN.iter().find(|(known, _)| *known == name);
    let text = match built_in {
        Some((_, text)) => (*text).to_owned(),
        None if !name.contains(['/', '.']) => {
            let known: Vec<&str> = BUILT_IN.iter().map(|(name, _)| *name).collect();
            reader.findings.unknown(field, &name, "adapter", &known);
            return None;
        }
        None => text_of(field, reader)?,
    };
    let adapter = match Adapter::read(&text) {
        Ok(adapter) => adapter,
        Err(why) => {
            reader.findings.error(field.value.span, format!("`{name}` is not an adapter: {why}"));
            return None;
        }
    };
    let Some(program) = adapter.program() else {
        reader.findings.error(field.value.span, format!("the `command` of `{name}` is empty"));
        return None;
    };
    let is_file = program.contains('/');
    let path = if is_file {
        reader.findings.sources.join(field.value.span.file, program)
    } else {
        String::new()
    };
    let mut spec = ProgramSpec::new(path, Language::Executable, "", Role::Target);
    spec.runtime = (!is_file).then(|| program.to_owned());
    // Arguments that name files are read with the program: `python3 agent.py` is that file.
    spec.arguments = adapter.arguments().to_vec();
    let name = if built_in.is_some() { name } else { reader.path(field)? };
    Some((AgentKind::Headless(AdapterSource { name, text }), spec))
}

/// The text of the file that `field` names, which then is part of the suite.
pub(super) fn text_of(field: &YamlEntry, reader: &mut Reader<'_>) -> Option<String> {
    let path = reader.path(field)?;
    let text =
        reader.looked.text(&path, Some(field.value.span), reader.files, &mut reader.findings)?;
    Some(text.to_string())
}

fn http(fields: &mut FieldSet<'_>, reader: &mut Reader<'_>) -> Option<AgentKind> {
    let headers = headers(fields, &mut reader.findings);
    let findings = &mut reader.findings;
    let url = fields.text("url", findings);
    if let (Some(url), Some(field)) = (&url, fields.take("url"))
        && !["http://", "https://"].iter().any(|scheme| url.starts_with(scheme))
    {
        findings.error(field.value.span, "`url` must begin with `http://` or `https://`");
    }
    check_exchange(fields, &headers, findings);
    Some(AgentKind::Http(Box::new(HttpTarget {
        method: fields.text("method", findings).unwrap_or_else(|| "POST".to_owned()),
        headers,
        body: fields.take("body").map(|field| field.value.to_json()),
        answer: fields.text("answer", findings),
        messages: fields.text("messages", findings),
        session: fields.text("session", findings),
        is_stream: fields.choice("stream", &[("sse", true)], findings).unwrap_or(false),
        endpoint: fields.text("endpoint", findings),
        url: url?,
    })))
}

/// Reports paths that are none, and placeholders that stand for nothing.
fn check_exchange(fields: &FieldSet<'_>, headers: &[HeaderSpec], findings: &mut Findings) {
    for name in ["answer", "messages", "session"] {
        if let Some(field) = fields.take(name)
            && let Yaml::Str(text) = &field.value.value
            && let Err(error) = json_path::parse(text)
        {
            let message = format!("`{name}` is not a JSONPath: {error}");
            findings.error(field.value.span, message).hint =
                Some("for example `$.output` or `$.messages[-1].content`".to_owned());
        }
    }
    let mut unknown = Vec::new();
    if let Some(field) = fields.take("url")
        && let Yaml::Str(text) = &field.value.value
    {
        unknown.extend(exchange::unknown_placeholders(text).into_iter().map(|name| (field, name)));
    }
    if let Some(field) = fields.take("body") {
        let of_body = exchange::unknown_in(&field.value.to_json());
        unknown.extend(of_body.into_iter().map(|name| (field, name)));
    }
    if let Some(field) = fields.take("headers") {
        let of_headers = headers.iter().filter_map(|header| match &header.value {
            HeaderValue::Text(text) => Some(exchange::unknown_placeholders(text)),
            HeaderValue::Variable(_) => None,
        });
        unknown.extend(of_headers.flatten().map(|name| (field, name)));
    }
    for (field, name) in unknown {
        let known = exchange::PLACEHOLDERS.map(|name| format!("{{{name}}}")).join(", ");
        let message = format!("`{{{name}}}` stands for nothing");
        findings.error(field.value.span, message).hint = Some(format!(
            "placeholders are {known}; the last three also with a member, such as {{metadata.tone}}"
        ));
    }
    if let Some(field) = fields.take("stream")
        && fields.take("answer").is_none()
    {
        findings.error(field.key_span, "`stream` needs an `answer`").hint = Some(
            "say where the text stands in each event, for example `answer: $.delta`".to_owned(),
        );
    }
    if let Some(field) = fields.take("user")
        && fields.take("session").is_none()
    {
        findings.error(field.key_span, "`user` needs a `session`").hint = Some(
            "say where the name of the conversation stands in a reply, for example `session: $.session_id`"
                .to_owned(),
        );
    }
}

fn chat(
    fields: &mut FieldSet<'_>,
    models: &[TargetModel],
    reader: &mut Reader<'_>,
) -> Option<(AgentKind, ProgramSpec)> {
    let model = judges::talking_model(fields, reader);
    if models.is_empty()
        && fields.take("model").is_none()
        && let Some(kind) = fields.take("kind")
    {
        reader.findings.error(kind.value.span, "a chat target needs a `model`").hint =
            Some("say `model` here, or `models` at the top of the suite".to_owned());
    }
    let system = either("system", "system_path", fields, reader);
    let tools = tools(fields, reader);
    let program = match fields.take("tool_program") {
        None => Some(no_program()),
        Some(field) => match &field.value.value {
            Yaml::Str(text)
                if programs::is_python(text) || Language::of_file(text).has_worker() =>
            {
                called(field, Role::Tool, "tool", reader)
            }
            _ => words(field, Role::Tool, reader),
        },
    };
    if !tools.is_empty()
        && fields.take("tool_program").is_none()
        && let Some(field) = fields.take("tools")
    {
        reader.findings.error(field.key_span, "nothing answers the calls of these tools").hint =
            Some(
                "name what does with `tool_program`, for example `tool_program: tools.py:answer`"
                    .to_owned(),
            );
    }
    let findings = &mut reader.findings;
    let max_turns = fields.whole("max_turns", findings).unwrap_or(20);
    let chat = ChatTarget { model, system, tools, max_turns };
    Some((AgentKind::Chat(Box::new(chat)), program?))
}

/// The text of `inline`, or that of the file which `path` names.
fn either(
    inline: &str,
    path: &str,
    fields: &FieldSet<'_>,
    reader: &mut Reader<'_>,
) -> Option<String> {
    match (fields.take(inline), fields.take(path)) {
        (Some(_), Some(file)) => {
            let message = format!("say `{inline}` or `{path}`, not both");
            reader.findings.error(file.key_span, message).hint = Some("keep one".to_owned());
            None
        }
        (Some(text), None) => reader.findings.text(text),
        (None, Some(file)) => text_of(file, reader),
        (None, None) => None,
    }
}

/// The tools of a chat: a list, or a JSON file with one.
fn tools(fields: &FieldSet<'_>, reader: &mut Reader<'_>) -> Vec<Value> {
    let Some(field) = fields.take("tools") else { return Vec::new() };
    let value = match &field.value.value {
        Yaml::Str(_) => {
            let Some(text) = text_of(field, reader) else { return Vec::new() };
            match serde_json::from_str::<Value>(&text) {
                Ok(value) => value,
                Err(error) => {
                    let message = format!("`tools` is not a JSON file: {error}");
                    reader.findings.error(field.value.span, message);
                    return Vec::new();
                }
            }
        }
        _ => field.value.to_json(),
    };
    let Value::Array(tools) = value else {
        reader.findings.error(field.value.span, "`tools` must be a list");
        return Vec::new();
    };
    let read: Result<Vec<Value>, String> = tools.into_iter().map(tool).collect();
    read.unwrap_or_else(|message| {
        reader.findings.error(field.value.span, message).hint =
            Some("a tool has `name`, `description` and `parameters`, a JSON Schema".to_owned());
        Vec::new()
    })
}

/// A tool in one form, whether it is written as OpenAI, Anthropic or Google want it.
fn tool(tool: Value) -> Result<Value, String> {
    let inner = match tool.get("function") {
        Some(function @ Value::Object(_)) => function.clone(),
        _ => tool,
    };
    let Some(name) = inner.get("name").and_then(Value::as_str) else {
        return Err("a tool has no `name`".to_owned());
    };
    let parameters = ["parameters", "input_schema"].iter().find_map(|key| inner.get(*key)).cloned();
    let parameters =
        parameters.unwrap_or_else(|| serde_json::json!({"type": "object", "properties": {}}));
    if !parameters.is_object() {
        return Err(format!("the `parameters` of the tool `{name}` are not a JSON Schema"));
    }
    let description = inner.get("description").cloned().unwrap_or_else(|| Value::from(""));
    Ok(serde_json::json!({"name": name, "description": description, "parameters": parameters}))
}

pub(super) fn workspace(fields: &FieldSet<'_>, reader: &mut Reader<'_>) -> Option<WorkspaceSpec> {
    let field = fields.take("workspace")?;
    if let Yaml::Bool(wanted) = field.value.value {
        let spec = WorkspaceSpec { template: None, is_git: false, keep: KeepWorkspace::default() };
        return wanted.then_some(spec);
    }
    let inner = reader.findings.fields(field, &WORKSPACE)?;
    let template = inner.take("template").and_then(|template| reader.path(template));
    let findings = &mut reader.findings;
    let is_git = inner.truth("git", findings).unwrap_or(false);
    let keep = inner.choice("keep", &KEEPS, findings).unwrap_or_default();
    inner.finish(findings);
    Some(WorkspaceSpec { template, is_git, keep })
}

/// The template of a workspace as an input: what is in it decides what an agent does.
pub(super) fn template(fields: &FieldSet<'_>, reader: &mut Reader<'_>) -> Option<String> {
    let node = fields.take("workspace")?.value.get("template")?;
    let Yaml::Str(text) = &node.value else { return None };
    let path = reader.findings.sources.relative_to_suite(node.span.file, text);
    // As the files in it are called.
    let parts = path.split('/').filter(|part| !matches!(*part, "" | "."));
    let plain = parts.collect::<Vec<_>>().join("/");
    Some(if path.starts_with('/') { format!("/{plain}") } else { plain })
}

fn user(fields: &FieldSet<'_>, reader: &mut Reader<'_>) -> Option<SimulatedUser> {
    let field = fields.take("user")?;
    let mut inner = reader.findings.fields(field, &USER)?;
    let model = judges::talking_model(&mut inner, reader);
    let persona = either("persona", "persona_path", &inner, reader);
    if inner.take("persona").is_none() && inner.take("persona_path").is_none() {
        reader.findings.error(field.key_span, "`user` has no `persona`").hint = Some(
            "say who the user is and what they want, or name a file with `persona_path`".to_owned(),
        );
    }
    if inner.take("model").is_none() {
        reader.findings.error(field.key_span, "`user` has no `model`");
    }
    let findings = &mut reader.findings;
    let max_turns = inner.whole("max_turns", findings).unwrap_or(10);
    let stop_when = inner.text("stop_when", findings);
    inner.finish(findings);
    Some(SimulatedUser { model, persona: persona?, max_turns, stop_when })
}

/// Reads `models: [NAME, {name, provider}]`.
pub(super) fn models(field: &YamlEntry, reader: &mut Reader<'_>) -> Vec<TargetModel> {
    let items = match &field.value.value {
        Yaml::Seq(items) => items.as_slice(),
        _ => std::slice::from_ref(&field.value),
    };
    let mut models: Vec<TargetModel> = Vec::new();
    for item in items {
        let model = match &item.value {
            Yaml::Str(name) if !name.is_empty() => {
                Some(TargetModel { name: name.clone(), provider: None })
            }
            Yaml::Map(entries) => {
                let inner = FieldSet::new(entries, &TARGET_MODEL);
                let name = inner.text("name", &mut reader.findings);
                let provider = inner.text("provider", &mut reader.findings);
                if name.is_none() && inner.take("name").is_none() {
                    reader.findings.error(item.span, "a model has no `name`");
                }
                if let (Some(provider), Some(entry)) = (&provider, inner.take("provider"))
                    && !reader.registry.providers.contains(&provider.as_str())
                {
                    reader.findings.unknown(entry, provider, "provider", reader.registry.providers);
                }
                inner.finish(&mut reader.findings);
                name.map(|name| TargetModel { name, provider })
            }
            _ => {
                let message = format!("a model of `models` must be a name, not {}", item.noun());
                reader.findings.error(item.span, message);
                None
            }
        };
        let Some(model) = model else { continue };
        if models.iter().any(|known| known.name == model.name) {
            let message = format!("`{}` stands twice in `models`", model.name);
            reader.findings.error(item.span, message);
        }
        models.push(model);
    }
    models
}
