//! Targets that are a model with a system prompt and tools.

use serde_json::{Value, json};

use crate::fields::FieldSet;
use crate::reader::Reader;
use crate::section::FieldShape::{AnyOf, Anything, Choice, ListOf, Text, Texts, Whole};
use crate::section::{Section, fields};
use crate::sections::model::talking_model;
use crate::sections::program_files::{
    is_python, module_or_function, words, written_call, written_words,
};
use crate::sections::targets::around::{COMMON, TOLD_ID, WITH_USER, no_program};
use crate::sections::targets::user::{MODEL, either, written_model};
use crate::written::extend;
use evalrs_base::yaml::tree::Yaml;
use evalrs_model::spec::{AgentKind, ChatTarget, Language, ProgramSpec, Role, TargetModel};

pub(crate) static CHAT_TARGET: Section = Section::new(
    "a chat target",
    &[
        fields![
            "kind": Choice(&["chat"]), required => "a model with a system prompt and tools";
            "system": Text => "the system prompt";
            "system_path": Text => "a file with the system prompt";
            "tools": AnyOf(&[Text, ListOf(&Anything)]) => "a list of `{name, description, parameters}`, or a JSON file with such a list";
            "tool_program": AnyOf(&[Text, Texts]) => "the program that answers tool calls: `file.py:name`, a module that exports `tool`, or a command";
            "max_turns": Whole(1, 1000, "between 1 and 1000"), or "20" => "the most requests to the model in one conversation";
        ],
        MODEL,
        COMMON,
        TOLD_ID,
        WITH_USER,
    ],
);

pub(crate) fn chat(
    fields: &mut FieldSet<'_>,
    models: &[TargetModel],
    reader: &mut Reader<'_>,
) -> Option<(AgentKind, ProgramSpec)> {
    let model = talking_model(fields, reader);
    if models.is_empty()
        && fields.take("model").is_none()
        && let Some(kind) = fields.take("kind")
    {
        let hint = "set `model` here, or `models` at the top of the suite";
        kind.error("a chat target needs a `model`", hint);
    }
    let system = either("system", "system_path", fields, reader);
    let tools = tools(fields, reader).unwrap_or_default();
    let program = match fields.take("tool_program") {
        None => Some(no_program()),
        Some(field) => match &field.value.value {
            Yaml::Str(text) if is_python(text) || Language::of_file(text).has_worker() => {
                module_or_function(field, Role::Tool, "tool")
            }
            _ => words(field, Role::Tool),
        },
    };
    if !tools.is_empty()
        && fields.take("tool_program").is_none()
        && let Some(field) = fields.take("tools")
    {
        let hint =
            "name a program with `tool_program`, for example `tool_program: tools.py:answer`";
        field.error_at_key("no program answers the calls of these tools", hint);
    }
    let max_turns = fields.whole("max_turns").unwrap_or(20);
    let chat = ChatTarget { model, system, tools, max_turns };
    Some((AgentKind::Chat(Box::new(chat)), program?))
}

/// The tools of a chat: a list, or a JSON file with one.
fn tools(fields: &FieldSet<'_>, reader: &mut Reader<'_>) -> Option<Vec<Value>> {
    let field = fields.take("tools")?;
    let value = match &field.value.value {
        Yaml::Str(_) => match serde_json::from_str(&reader.text_of(field)?) {
            Ok(value) => value,
            Err(error) => {
                return field.refuse(&format!("`tools` is not a JSON file: {error}"), "");
            }
        },
        _ => field.value.to_json(),
    };
    let Value::Array(tools) = value else { return field.refuse("`tools` must be a list", "") };
    let read: Result<Vec<Value>, String> = tools.into_iter().map(tool).collect();
    let hint = "a tool has `name`, `description` and `parameters`, a JSON Schema";
    read.map_or_else(|message| field.refuse(&message, hint), Some)
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

/// A chat as it is written back.
pub(crate) fn written(chat: &ChatTarget, program: &ProgramSpec) -> Value {
    let tool_program = match program.language {
        Language::Executable => json!(written_words(program)),
        Language::JavaScript | Language::Python => json!(written_call(program)),
    };
    let mut all = json!({
        "system": chat.system,
        "tools": chat.tools,
        "tool_program": tool_program,
        "max_turns": chat.max_turns,
    });
    extend(&mut all, written_model(&chat.model));
    all
}
