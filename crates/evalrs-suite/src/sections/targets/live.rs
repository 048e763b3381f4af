//! Targets that are run by command, by function or by the command line of an agent, and what all live targets share.
//!
//! Everything that decides an answer is read here: the texts of prompts, adapters and tools are part of the suite, as
//! rubrics are. What files an agent rests on is said by `inputs`, and read with those of its program.

use crate::fields::{Field, FieldSet};
use crate::reader::Reader;
use crate::section::FieldShape::{Choice, Text, Texts};
use crate::section::{Section, fields};
use crate::sections::environment::SANDBOX_SHAPE;
use crate::sections::program_files::{command_line, module_or_function, words};
use crate::sections::programs;
use crate::sections::targets::around::{
    AroundTarget, COMMON, IN_FOLDER, TIMEOUT_MS, TOLD_ID, WITH_USER, no_program, seen,
};
use crate::sections::targets::chat::{CHAT_TARGET, chat};
use crate::sections::targets::http::{HTTP_TARGET, check_exchange, http};
use crate::sections::targets::user::user;
use crate::sections::targets::workspace::{template, workspace};
use evalrs_eval::adapter::{Adapter, BUILT_IN};
use evalrs_model::spec::{AdapterSource, AgentKind, LiveTarget, ProgramSpec, Role, TargetHooks};

pub(crate) static COMMAND_TARGET: Section = Section::new(
    "a command target",
    &[
        fields![
            "kind": Choice(&["command"]), required => "a process for each conversation";
            "command": Texts, needed "a command target needs a `command`", "for example `command: [python3, agent.py]`" => "its words, run without a shell; a program with a slash is in the suite's folder";
            "answer": Text => "the path of the answer in the JSON that it prints, such as `$.reply`";
            "sandbox": SANDBOX_SHAPE => "the sandbox: a kind, or `{kind, memory, cpu}`; if absent, that of the suite, then of `evalrs.toml`";
            "cwd": Text => "the folder it runs in without a workspace; the suite's if absent";
        ],
        COMMON,
        TOLD_ID,
        IN_FOLDER,
    ],
);

pub(crate) static FUNCTION_TARGET: Section = Section::new(
    "a function target",
    &[
        fields![
            "kind": Choice(&["function"]), required => "a function in a worker";
            "path": Text, needed "a function target needs a `path`", "for example `path: agent.py:run`" => "`file.py:name`, or a module that exports `run`";
            "answer": Text => "the path of the answer in the value that it returns, such as `$.reply`";
            "runtime": Text => "its runtime: a name such as `python3.12` or `bun`, or a path; evalrs finds one if absent";
            "sandbox": SANDBOX_SHAPE => "the sandbox: a kind, or `{kind, memory, cpu}`; if absent, that of the suite, then of `evalrs.toml`";
            "cwd": Text => "the folder it runs in; the suite's if absent";
        ],
        COMMON,
        TOLD_ID,
        IN_FOLDER,
    ],
);

pub(crate) static HEADLESS_TARGET: Section = Section::new(
    "a headless target",
    &[
        fields![
            "kind": Choice(&["headless"]), required => "the command line of an agent";
            "adapter": Text, needed "a headless target needs an `adapter`", "`claude-code`, `gemini-cli`, `codex` or a JSON file" => "how to start it and read its output: `claude-code`, `gemini-cli`, `codex`, or a JSON file";
            "cwd": Text => "the folder it runs in without a workspace; the suite's if absent";
        ],
        COMMON,
        IN_FOLDER,
        WITH_USER,
    ],
);

/// The kinds of targets that are run here.
pub(crate) const LIVE_KINDS: [(&str, &Section); 5] = [
    ("command", &COMMAND_TARGET),
    ("function", &FUNCTION_TARGET),
    ("headless", &HEADLESS_TARGET),
    ("http", &HTTP_TARGET),
    ("chat", &CHAT_TARGET),
];

/// Reads a target of this kind, whose name is known to be one of [`LIVE_KINDS`].
pub(crate) fn live(
    name: &str,
    field: Field<'_>,
    mut fields: FieldSet<'_>,
    around: AroundTarget<'_>,
    reader: &mut Reader<'_>,
) -> Option<LiveTarget> {
    if let Some(script) = around.setup_script {
        let message = format!("a target of kind `{name}` has no `setup_script`");
        script.error_at_key(&message, "name a command by `setup` of the target");
    }
    let found = LIVE_KINDS.iter().find(|(kind, _)| *kind == name);
    if let Some((_, section)) = found {
        fields.read_as(section);
    }
    let workspace = workspace(&fields);
    let is_program = matches!(name, "command" | "function");
    if is_program {
        check_exchange(&fields, &[]);
    }
    let read = match name {
        "command" => {
            let spec = fields.take("command").and_then(|field| words(field, Role::Target));
            spec.map(|spec| (AgentKind::Command, spec))
        }
        "function" => {
            let path = fields.take("path");
            let spec = path.and_then(|path| module_or_function(path, Role::Target, "run"));
            spec.map(|spec| (AgentKind::Function, spec))
        }
        "headless" => headless(&fields, reader),
        "http" => http(&mut fields).map(|http| (http, no_program())),
        _ => chat(&mut fields, &around.models, reader),
    };
    let program = read.as_ref().map(|(_, program)| program.clone());
    let named = ["command", "path", "adapter", "tool_program"];
    let named = named.iter().find_map(|name| fields.take(name)).unwrap_or(field);
    let sees = seen(&fields);
    let spec = program.map(|program| ProgramSpec { timeout_ms: TIMEOUT_MS, sees, ..program });
    let program = programs::with_settings_and(spec, named, &fields, template(&fields), reader);
    let user = user(&fields, reader);
    let target = LiveTarget {
        kind: read.map_or(AgentKind::Command, |(kind, _)| kind),
        program: program.clone().unwrap_or_else(no_program),
        models: around.models,
        version: fields.text("version"),
        answer: is_program.then(|| fields.text("answer")).flatten(),
        retries: fields.whole("retries").unwrap_or(1),
        workspace,
        hooks: TargetHooks {
            script: None,
            setup: fields.texts("setup").unwrap_or_default(),
            teardown: fields.texts("teardown").unwrap_or_default(),
            setup_each: fields.texts("setup_each").unwrap_or_default(),
            teardown_each: fields.texts("teardown_each").unwrap_or_default(),
        },
        user,
        max_concurrent: around.max_concurrent,
    };
    fields.finish();
    program.map(|_| target)
}

fn headless(fields: &FieldSet<'_>, reader: &mut Reader<'_>) -> Option<(AgentKind, ProgramSpec)> {
    let field = fields.take("adapter")?;
    let name = field.text()?;
    let built_in = BUILT_IN.iter().find(|(known, _)| *known == name);
    let text = match built_in {
        Some((_, text)) => (*text).to_owned(),
        None if !name.contains(['/', '.']) => {
            let known: Vec<&str> = BUILT_IN.iter().map(|(name, _)| *name).collect();
            return field.unknown(&name, "adapter", &known);
        }
        None => reader.text_of(field)?,
    };
    let adapter = match Adapter::read(&text) {
        Ok(adapter) => adapter,
        Err(why) => return field.refuse(&format!("`{name}` is not an adapter: {why}"), ""),
    };
    let Some(program) = adapter.program() else {
        return field.refuse(&format!("the `command` of `{name}` is empty"), "");
    };
    // Arguments that name files are read with the program: `python3 agent.py` is that file.
    let spec = command_line(field, program, adapter.arguments(), Role::Target);
    let name = if built_in.is_some() { name } else { field.path()? };
    Some((AgentKind::Headless(AdapterSource { name, text }), spec))
}
