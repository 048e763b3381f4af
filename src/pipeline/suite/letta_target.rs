//! Targets that are agents on a Letta server, in any dialect.

use super::FileText;
use super::fields::FieldSet;
use super::programs;
use super::reader::Reader;
use super::targets::{AroundTarget, TIMEOUT_MS, models, no_program, text_of};
use super::tree::YamlEntry;
use crate::pipeline::spec::{
    AgentKind, LettaAgentSource, LettaTarget, LiveTarget, ProgramSpec, TargetHooks, TargetSpec,
};

/// What a target on a Letta server may say that keeps it from being run here.
const LETTA_UNAVAILABLE: [&str; 2] = ["agent_script", "model_configs"];

/// Reads an agent on a Letta server, in any of its dialects: `agent_file` or `agent_id`. Where it cannot be run, its
/// recorded results can still be graded.
pub(super) fn letta(
    kind: &str,
    field: &YamlEntry,
    fields: FieldSet<'_>,
    around: AroundTarget,
    reader: &mut Reader<'_>,
) -> Option<TargetSpec> {
    let not_runnable =
        |why: String| TargetSpec::NotRunnable { kind: kind.to_owned(), why: Some(why) };
    let unavailable = LETTA_UNAVAILABLE.iter().find(|name| fields.take(name).is_some());
    if let Some(name) = unavailable {
        fields.finish(&mut reader.findings);
        return Some(not_runnable(format!("`{name}` is not available in this version")));
    }
    let file = fields.take("agent_file");
    let id = fields.take("agent_id");
    if let (Some(_), Some(id)) = (file, id) {
        let message = "say `agent_file` or `agent_id`, not both";
        reader.findings.error(id.key_span, message).hint = Some("keep one".to_owned());
    }
    let agent = match (file, id) {
        (Some(file), _) => {
            let path = reader.path(file)?;
            if reader.files.text(&path) == FileText::Missing {
                fields.finish(&mut reader.findings);
                return Some(not_runnable(format!("there is no file `{path}`")));
            }
            LettaAgentSource::File { text: text_of(file, reader)?, path }
        }
        (None, Some(id)) => LettaAgentSource::Id(reader.findings.text(id)?),
        (None, None) => {
            fields.finish(&mut reader.findings);
            return Some(not_runnable("it names no `agent_file` and no `agent_id`".to_owned()));
        }
    };
    let handles = fields.take("model_handles").map(|field| models(field, reader));
    let findings = &mut reader.findings;
    let target = LettaTarget {
        base_url: fields.text("base_url", findings),
        agent,
        api_key_env: fields.text("api_key_env", findings),
        project_id: fields.text("project_id", findings),
        keep_agents: fields.truth("keep_agents", findings).unwrap_or(false),
    };
    let retries = fields.whole("max_retries", findings).unwrap_or(0);
    let version = fields.text("version", findings);
    let program = ProgramSpec { timeout_ms: TIMEOUT_MS, ..no_program() };
    let program = programs::with_settings_and(Some(program), field, &fields, &[], reader);
    fields.finish(&mut reader.findings);
    let models = if around.models.is_empty() { handles.unwrap_or_default() } else { around.models };
    // All samples talk with one agent that is there: one after another, or its histories mix.
    let is_shared = matches!(target.agent, LettaAgentSource::Id(_));
    let max_concurrent = if is_shared { Some(1) } else { around.max_concurrent };
    Some(TargetSpec::Live(Box::new(LiveTarget {
        kind: AgentKind::LettaAgent(Box::new(target)),
        program: program?,
        models,
        version,
        retries,
        workspace: None,
        hooks: TargetHooks::default(),
        user: None,
        max_concurrent,
    })))
}
