//! Targets that are agents on a Letta server, in any dialect.

use serde_json::{Value, json};

use crate::fields::{Field, FieldSet};
use crate::reader::Reader;
use crate::sections::program_files::written_call;
use crate::sections::targets::around::{AroundTarget, TIMEOUT_MS, models, no_program, seen, setup};
use crate::sections::{program_files, programs};
use crate::written::extend;
use evalrs_base::file_text::FileText;
use evalrs_base::yaml::tree::Yaml;
use evalrs_model::spec::{
    AgentKind, LettaAgentSource, LettaModelConfig, LettaTarget, LiveTarget, ProgramSpec, Role,
    TargetHooks, TargetModel, TargetSpec,
};

/// The ways to say which agent is talked with.
const SOURCES: [&str; 3] = ["agent_file", "agent_id", "agent_script"];

/// Where the configurations of models lie beside a suite.
const CONFIG_FOLDER: &str = "llm_model_configs";

/// Reads an agent on a Letta server, in any of its dialects. Where it cannot be run, its recorded results can still be
/// graded.
pub(crate) fn letta(
    kind: &str,
    field: Field<'_>,
    fields: FieldSet<'_>,
    around: AroundTarget<'_>,
    reader: &mut Reader<'_>,
) -> Option<TargetSpec> {
    let not_runnable =
        |why: String| TargetSpec::NotRunnable { kind: kind.to_owned(), why: Some(why) };
    let AgentSource { agent, program } = match source(&fields, reader) {
        Ok(source) => source?,
        Err(why) => {
            fields.finish();
            return Some(not_runnable(why));
        }
    };
    let configs = match configs(&fields, reader) {
        Ok(configs) => configs,
        Err(why) => {
            fields.finish();
            return Some(not_runnable(why));
        }
    };
    let handles = fields.take("model_handles").map(|field| models(field, reader));
    let target = LettaTarget {
        base_url: fields.text("base_url"),
        agent,
        api_key_env: fields.text("api_key_env"),
        project_id: fields.text("project_id"),
        keep_agents: fields.truth("keep_agents").unwrap_or(false),
        model_configs: configs,
    };
    let retries = fields.whole("max_retries").unwrap_or(0);
    let version = fields.text("version");
    let named = fields.take("agent_script").unwrap_or(field);
    let sees = seen(&fields);
    let program = ProgramSpec { timeout_ms: TIMEOUT_MS, sees, ..program };
    let program = programs::with_settings(Some(program), named, &fields, reader)?;
    let script = around.setup_script.map(|script| setup(script, &program, reader));
    fields.finish();
    let configured = target.model_configs.iter();
    let configured = configured
        .map(|config| TargetModel { name: config.model.clone(), provider: None })
        .collect();
    let models = match (around.models.is_empty(), handles) {
        (false, _) => around.models,
        (true, Some(handles)) => handles,
        (true, None) => configured,
    };
    // All samples talk with one agent that is there: one after another, or its histories mix.
    let is_shared = matches!(target.agent, LettaAgentSource::Id(_));
    let max_concurrent = if is_shared { Some(1) } else { around.max_concurrent };
    Some(TargetSpec::Live(Box::new(LiveTarget {
        kind: AgentKind::LettaAgent(Box::new(target)),
        program,
        models,
        version,
        answer: None,
        retries,
        workspace: None,
        hooks: TargetHooks { script: script.flatten(), ..TargetHooks::default() },
        user: None,
        max_concurrent,
    })))
}

/// The agent, and the program that makes it where one does.
struct AgentSource {
    agent: LettaAgentSource,
    program: ProgramSpec,
}

/// Which agent is talked with. An error says why none can be.
fn source(fields: &FieldSet<'_>, reader: &mut Reader<'_>) -> Result<Option<AgentSource>, String> {
    let mut said = SOURCES.iter().filter_map(|name| fields.take(name));
    let Some(field) = said.next() else {
        return Err("it has no `agent_file`, `agent_id` or `agent_script`".to_owned());
    };
    for other in said {
        let message = format!("set `{}` or `{}`, not both", field.key, other.key);
        other.error_at_key(&message, "keep one");
    }
    let plain = |agent| AgentSource { agent, program: no_program() };
    match field.key.as_str() {
        "agent_id" => Ok(field.text().map(LettaAgentSource::Id).map(plain)),
        "agent_script" => {
            let Some(text) = field.text() else { return Ok(None) };
            let program = program_files::python(field, &text, Role::AgentFactory);
            Ok(program.map(|program| AgentSource { agent: LettaAgentSource::Script, program }))
        }
        _ => {
            let Some(path) = field.path() else { return Ok(None) };
            if reader.files.text(&path) == FileText::Missing {
                return Err(format!("the file `{path}` does not exist"));
            }
            let text = reader.text_of(field);
            Ok(text.map(|text| LettaAgentSource::File { text, path }).map(plain))
        }
    }
}

/// What `model_configs` names. An error says which of it cannot be found.
fn configs(
    fields: &FieldSet<'_>,
    reader: &mut Reader<'_>,
) -> Result<Vec<LettaModelConfig>, String> {
    let Some(field) = fields.take("model_configs") else { return Ok(Vec::new()) };
    if field.value.value == Yaml::Null {
        return Ok(Vec::new());
    }
    if let Some(handles) = fields.take("model_handles")
        && handles.value.value != Yaml::Null
    {
        handles.error_at_key("set `model_configs` or `model_handles`, not both", "keep one");
    }
    let mut all: Vec<LettaModelConfig> = Vec::new();
    for name in field.texts().unwrap_or_default() {
        let is_path = name.rsplit_once('.').is_some_and(|(_, ending)| ending == "json");
        let file = if is_path { name.clone() } else { format!("{CONFIG_FOLDER}/{name}.json") };
        let path = field.joined(&file);
        if reader.files.text(&path) == FileText::Missing {
            return Err(no_config(&name, &file));
        }
        let Some(config) = config(field, path, reader) else { continue };
        if all.iter().any(|known| known.model == config.model) {
            let message = format!("two of `model_configs` have the model `{}`", config.model);
            field.error(&message, "results are distinguished by the name of the model: keep one");
        }
        all.push(config);
    }
    Ok(all)
}

/// The model in the file at `path`.
fn config(field: Field<'_>, path: String, reader: &mut Reader<'_>) -> Option<LettaModelConfig> {
    let span = Some(field.value.span);
    let text = reader.looked.text(&path, span, reader.files, reader.findings)?;
    let mut config: Value = serde_json::from_str(&text).unwrap_or_default();
    config.sort_all_objects();
    let Some(model) = config.get("model").and_then(Value::as_str).map(str::to_owned) else {
        let message = format!("`{path}` is not the configuration of a model: it has no `model`");
        return field.refuse(&message, "it is a JSON object as Letta has it in `llm_config`");
    };
    Some(LettaModelConfig { path, model, text: config.to_string() })
}

/// Why a configuration cannot be used, and what to write in its place.
fn no_config(name: &str, file: &str) -> String {
    if file == name {
        return format!("the file `{file}` does not exist");
    }
    let handle = match name.split_once('-') {
        Some(("openai", model)) => format!("openai/{model}"),
        _ if name.starts_with("claude-") => format!("anthropic/{name}"),
        _ => "PROVIDER/MODEL".to_owned(),
    };
    format!(
        "`model_configs` names `{name}`, a file of the package letta-evals: copy it to `{file}` beside the suite, or \
         name the model as the server does, for example `model_handles: [{handle}]`"
    )
}

/// An agent on a Letta server as it is written back.
pub(crate) fn written(letta: &LettaTarget, program: &ProgramSpec) -> Value {
    let source = match &letta.agent {
        LettaAgentSource::File { path, .. } => json!({"agent_file": path}),
        LettaAgentSource::Id(id) => json!({"agent_id": id}),
        LettaAgentSource::Script => json!({"agent_script": written_call(program)}),
    };
    let mut all = json!(letta);
    extend(&mut all, source);
    all
}
