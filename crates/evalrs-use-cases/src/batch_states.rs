//! What providers say of batches that are out, and how one is cancelled.

use super::open::{ExecutorSettings, executor};
use crate::error::Error;
use evalrs_engine::resolve::batches::access::look;
use evalrs_engine::session::Session;
use evalrs_eval::judge::provider::batches::RemoteBatch;
use evalrs_store::OpenBatch;

/// What is asked of a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BatchRequest {
    /// What a batch is by now.
    Look,
    /// That it ends.
    Cancel,
}

/// Asks for each of these batches of a suite, and says what each is afterwards, or why that is not known.
pub fn batch_states(
    session: &Session,
    batches: &[&OpenBatch],
    request: BatchRequest,
    verbosity: u8,
) -> Result<Vec<Result<RemoteBatch, String>>, Error> {
    let executor = executor(&ExecutorSettings { concurrency: 1, verbosity, identical_failures: 0 });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let state = async |batch: &OpenBatch| -> Result<RemoteBatch, String> {
        let Some(id) = &batch.id else {
            return Err("its name is not known yet; a run looks for it".to_owned());
        };
        let service = executor.batches().ok_or("this evalrs was built without judges")?;
        let (access, remote) = look(session, service, batch).await?;
        if request == BatchRequest::Look {
            return Ok(remote);
        }
        service.cancel(&access, id).await.map_err(|error| error.to_string())?;
        service.look(&access, id).await.map_err(|error| error.to_string())
    };
    Ok(runtime.block_on(async {
        let mut states = Vec::new();
        for batch in batches {
            states.push(state(batch).await);
        }
        states
    }))
}
