//! Functions of Letta suites that work with its server: one that prepares it, and one that makes agents.
//!
//! Both are handed a client of the server, which is the user's own package: their worker makes it of what it is told here.
//! That holds the key of the API, so it is no part of any key and nothing of it is kept.

use std::sync::Arc;

use serde_json::{Value, json};

#[cfg(feature = "judge")]
use super::talk::Talk;
use crate::launch::TargetLaunch;
use crate::programs::ProgramExecutor;
use crate::{ProgramLaunch, Secret, Start};
use evalrs_eval::program::{ProgramAction, ProgramIdentity};
use evalrs_letta::requests::PROJECT_HEADER;
use evalrs_model::outcome::{Failure, Outcome};

/// Runs the function that prepares the server, if there is one. Where it fails, no conversation begins.
pub(super) async fn set_up(
    launch: &TargetLaunch,
    programs: &ProgramExecutor,
) -> Result<(), Failure> {
    let identity = &launch.action.identity;
    let Some((start, setup)) = launch.setup.as_ref().zip(identity.setup.as_ref()) else {
        return Ok(());
    };
    let models: Vec<&str> = identity.spec.models.iter().map(|model| model.name.as_str()).collect();
    let input = json!({"server": server(launch), "models": models});
    let script = Script { start, identity: setup };
    let done = call(launch, script, &input, programs).await;
    done.map(drop).map_err(|failure| {
        let message = format!("`setup_script` failed: {}", failure.message);
        Failure { message, ..failure }
    })
}

/// Has an agent made for this conversation, and gives its id.
#[cfg(feature = "judge")]
pub(super) async fn make_agent(talk: &Talk<'_>) -> Result<String, Failure> {
    let launch = talk.launch;
    let action = &launch.action;
    (talk.steps)("makes an agent".to_owned());
    let mut sample: serde_json::Map<String, Value> =
        serde_json::from_str(&action.handed).unwrap_or_default();
    sample.remove("turns");
    sample.insert("id".to_owned(), Value::from(action.sample.as_str()));
    let input = json!({"server": server(launch), "sample": sample});
    let script = Script { start: &launch.start, identity: &action.identity.program };
    let text = call(launch, script, &input, talk.programs).await?;
    evalrs_eval::program::reply::agent_id(&text)
        .map_err(|why| Failure::new(evalrs_model::outcome::FailureKind::TargetFailed, why))
}

/// What the worker makes a client of.
fn server(launch: &TargetLaunch) -> Value {
    let access = launch.access.as_ref();
    let headers = access.map(|access| access.headers.as_slice()).unwrap_or_default();
    let project = headers.iter().find(|header| header.name == PROJECT_HEADER);
    json!({
        "base_url": access.map(|access| access.base_url.as_str()),
        "api_key": access.and_then(|access| access.api_key.as_ref()).map(Secret::reveal),
        "project_id": project.map(|header| header.value.reveal()),
        "timeout": launch.start.spec.timeout_ms as f64 / 1000.0,
    })
}

struct Script<'a> {
    start: &'a Arc<Start>,
    identity: &'a Arc<ProgramIdentity>,
}

async fn call(
    launch: &TargetLaunch,
    script: Script<'_>,
    input: &Value,
    programs: &ProgramExecutor,
) -> Result<String, Failure> {
    let identity = Arc::clone(script.identity);
    let action = ProgramAction { identity, input: input.to_string() };
    let start = Arc::clone(script.start);
    match programs.execute(ProgramLaunch { action, start }).await {
        Outcome::Reply(reply) => Ok(reply.text),
        Outcome::Failure(failure) => {
            let message = launch.without_secrets(&failure.message);
            let stderr = failure.stderr.as_deref().map(|text| launch.without_secrets(text));
            Err(super::function::of_target(Failure { message, stderr, ..failure }))
        }
    }
}
