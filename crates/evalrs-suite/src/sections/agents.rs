//! Judges that are agents: their files, and their settings.
//!
//! An agent file is a file of the suite: its text is in the spec, so that an edit of it grades again, and what is wrong with
//! it is said before anything is asked.

use crate::fields::FieldSet;
use crate::reader::Reader;
use evalrs_base::yaml::source::SourceSpan;
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
    let Some(file) = fields.take("agent_file") else {
        for field in ["judge_tool_name", "keep_agents"].iter().filter_map(|name| fields.take(name))
        {
            let message = format!("`{}` is a setting of judges that are agents", field.key);
            field.error_at_key(&message, "an agent that judges has an `agent_file`");
        }
        return None;
    };
    let tool = match fields.take("judge_tool_name") {
        Some(field) => field.text()?,
        None => JUDGE_TOOL.to_owned(),
    };
    let keep = fields.truth("keep_agents").unwrap_or(false);
    let own_model = fields.text("model");
    let path = file.path()?;
    let text = reader.looked.text(&path, Some(file.value.span), reader.files, reader.findings)?;
    let JudgeFile { model, mended } = match read_judge(&text, &tool, own_model.is_some()) {
        Ok(read) => read,
        Err(_) if text.trim().is_empty() => {
            return file.refuse(&format!("the agent file `{path}` is empty"), "");
        }
        Err(problems) => {
            // What is wrong with the file stands at its place in it.
            let index = reader.findings.add_source(&path, &text);
            for problem in problems {
                let span = SourceSpan::new(index, problem.span);
                let hint = problem.hint.unwrap_or_default();
                reader.findings.error(span, &problem.message, &hint);
            }
            return None;
        }
    };
    let model = own_model.clone().or(model);
    let text = mended.map_or(text, Into::into);
    Some(AgentJudge { spec: AgentSpec { path, text, tool, model: own_model, keep }, model })
}

/// Judges that are agents without a server are called at that of the target, in its name.
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
