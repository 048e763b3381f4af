//! Judges that are agents: their files, and what is said of them.
//!
//! An agent file is a file of the suite: its text is in the spec, so that an edit of it grades again, and what is wrong with
//! it is said before anything is asked.

use crate::fields::FieldSet;
use crate::reader::Reader;
use evalrs_base::yaml::source::SourceSpan;
use evalrs_base::yaml::tree::YamlEntry;
use evalrs_letta::JUDGE_TOOL;
use evalrs_letta::agent_file::{JudgeFile, read_judge};
use evalrs_letta::requests::PROJECT_HEADER;
use evalrs_model::spec::{
    AgentKind, AgentSpec, GraderKind, GraderSpec, HeaderSpec, HeaderValue, JudgeSpec, TargetSpec,
};

/// An agent that judges, and the model that it is run by as far as that is known.
pub(crate) struct AgentJudge {
    pub spec: AgentSpec,
    pub model: Option<String>,
}

/// Reads the agent that judges, if one does and its file is right.
pub(crate) fn agent(fields: &FieldSet<'_>, reader: &mut Reader<'_>) -> Option<AgentJudge> {
    let tool_field = fields.take("judge_tool_name");
    let keep_field = fields.take("keep_agents");
    let Some(file) = fields.take("agent_file") else {
        for field in [tool_field, keep_field].into_iter().flatten() {
            let message = format!("`{}` is of judges that are agents", field.key);
            reader.findings.error(field.key_span, message).hint =
                Some("an agent that judges has an `agent_file`".to_owned());
        }
        return None;
    };
    let tool = match tool_field {
        Some(field) => reader.findings.text(field)?,
        None => JUDGE_TOOL.to_owned(),
    };
    let keep = keep_field.and_then(|field| reader.findings.truth(field)).unwrap_or(false);
    let own_model = fields.take("model").and_then(|field| reader.findings.text(field));
    let path = reader.path(file)?;
    let text =
        reader.looked.text(&path, Some(file.value.span), reader.files, &mut reader.findings)?;
    let JudgeFile { model, mended } =
        judge_file(file, &path, &text, &tool, own_model.is_some(), reader)?;
    let model = own_model.clone().or(model);
    let text = mended.map_or(text, Into::into);
    Some(AgentJudge { spec: AgentSpec { path, text, tool, model: own_model, keep }, model })
}

/// Judges that are agents and name no server are asked where the target is, in its name.
pub(crate) fn join_target(target: Option<&TargetSpec>, graders: &mut [GraderSpec]) {
    let kind = target.and_then(TargetSpec::live).map(|live| &live.kind);
    let judges = graders.iter_mut().flat_map(|grader| match &mut grader.kind {
        GraderKind::Rubric(rubric) => rubric.judges.as_mut_slice(),
        _ => &mut [],
    });
    let judges = judges.filter(|judge| judge.agent.is_some() && judge.base_url.is_none());
    for judge in judges {
        match kind {
            Some(AgentKind::LettaAgent(letta)) => {
                judge.base_url.clone_from(&letta.base_url);
                if judge.api_key_env.is_none() {
                    judge.api_key_env.clone_from(&letta.api_key_env);
                }
                if let Some(project) = &letta.project_id {
                    say_project(judge, project);
                }
            }
            Some(AgentKind::LettaCode(letta)) => judge.base_url.clone_from(&letta.base_url),
            _ => {}
        }
    }
}

fn say_project(judge: &mut JudgeSpec, project: &str) {
    if !judge.headers.iter().any(|header| header.name.eq_ignore_ascii_case(PROJECT_HEADER)) {
        let value = HeaderValue::Text(project.to_owned());
        judge.headers.push(HeaderSpec { name: PROJECT_HEADER.to_owned(), value });
    }
}

/// Reads the text of an agent file; what is wrong with it stands at its place in it.
fn judge_file(
    field: &YamlEntry,
    path: &str,
    text: &str,
    tool: &str,
    has_model: bool,
    reader: &mut Reader<'_>,
) -> Option<JudgeFile> {
    let problems = match read_judge(text, tool, has_model) {
        Ok(file) => return Some(file),
        Err(problems) => problems,
    };
    if text.trim().is_empty() {
        reader.findings.error(field.value.span, format!("the agent file `{path}` is empty"));
        return None;
    }
    let file = reader.findings.sources.add(path, text);
    for problem in problems {
        let span = SourceSpan::new(file, problem.span);
        reader.findings.error(span, problem.message).hint = problem.hint;
    }
    None
}
