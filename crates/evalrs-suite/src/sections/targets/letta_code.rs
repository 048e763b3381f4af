//! Targets that are Letta's coding agent: a command line, whose arguments follow from what the suite says.

use serde_json::{Value, json};

use crate::fields::{Field, FieldSet};
use crate::reader::Reader;
use crate::sections::programs;
use crate::sections::targets::around::{AroundTarget, TIMEOUT_MS, models, no_program, setup};
use crate::sections::targets::workspace::{template, workspace};
use evalrs_eval::adapter::LETTA_CODE;
use evalrs_model::spec::{
    AdapterSource, AgentKind, LettaCodeTarget, LiveTarget, ProgramSpec, TargetHooks, TargetSpec,
};

/// What keeps such a target from being run here.
const UNAVAILABLE: [&str; 9] = [
    "agent_id",
    "agent_file",
    "agent_script",
    "model_configs",
    "sandbox",
    "skills_dir",
    "memory_dir",
    "memory_workspace",
    "max_steps",
];

/// Reads Letta's coding agent. Where it cannot be run, its recorded results can still be graded.
pub(crate) fn letta_code(
    field: Field<'_>,
    fields: FieldSet<'_>,
    around: AroundTarget<'_>,
    reader: &mut Reader<'_>,
) -> Option<TargetSpec> {
    let unavailable = UNAVAILABLE.iter().find(|name| fields.take(name).is_some());
    let has_folder = fields.take("working_dir").is_some() || fields.take("workspace").is_some();
    let why = match unavailable {
        Some(name) => Some(format!("`{name}` is not available for `letta_code`")),
        None if !has_folder => Some(
            "set its folder: `working_dir: DIR`, or `workspace: true` for a fresh folder each time"
                .to_owned(),
        ),
        None => None,
    };
    if why.is_some() {
        fields.finish();
        return Some(TargetSpec::NotRunnable { kind: "letta_code".to_owned(), why });
    }
    let handles = fields.take("model_handles").map(|field| models(field, reader));
    let working_dir = fields.path("working_dir");
    let workspace = workspace(&fields);
    let target = LettaCodeTarget {
        base_url: fields.text("base_url"),
        working_dir,
        allowed_tools: fields.texts("allowed_tools"),
        disallowed_tools: fields.texts("disallowed_tools"),
        permission_mode: fields.text("permission_mode"),
        flags: fields.texts("flags").unwrap_or_default(),
        adapter: AdapterSource { name: "letta-code".to_owned(), text: String::new() },
    };
    let text = adapter(&target);
    let adapter = AdapterSource { text, ..target.adapter };
    let target = LettaCodeTarget { adapter, ..target };
    let retries = fields.whole("max_retries").unwrap_or(0);
    let version = fields.text("version");
    let runtime = Some("letta".to_owned());
    let program = ProgramSpec { runtime, timeout_ms: TIMEOUT_MS, ..no_program() };
    let copied = template(&fields);
    let program = programs::with_settings_and(Some(program), field, &fields, copied, reader)?;
    let script = around.setup_script.and_then(|script| {
        let own = ProgramSpec { runtime: None, ..program.clone() };
        setup(script, &own, reader)
    });
    fields.finish();
    let handles = handles.unwrap_or_default();
    Some(TargetSpec::Live(Box::new(LiveTarget {
        kind: AgentKind::LettaCode(Box::new(target)),
        program,
        models: if around.models.is_empty() { handles } else { around.models },
        version,
        answer: None,
        retries,
        workspace,
        hooks: TargetHooks { script, ..TargetHooks::default() },
        user: None,
        max_concurrent: around.max_concurrent,
    })))
}

/// The adapter with the arguments that the suite sets.
fn adapter(target: &LettaCodeTarget) -> String {
    let mut words = vec!["--new-agent".to_owned()];
    match &target.permission_mode {
        Some(mode) => words.extend(["--permission-mode".to_owned(), mode.clone()]),
        None => words.push("--yolo".to_owned()),
    }
    let tools = [
        ("--allowedTools", &target.allowed_tools),
        ("--disallowedTools", &target.disallowed_tools),
    ];
    for (flag, tools) in tools {
        words.extend(tools.iter().flat_map(|tools| [flag.to_owned(), tools.join(",")]));
    }
    words.extend(target.flags.iter().cloned());
    words.push("-p".to_owned());
    let mut adapter: Value = serde_json::from_str(LETTA_CODE).unwrap_or_default();
    adapter["autoApprove"] = json!(words);
    adapter.to_string()
}
