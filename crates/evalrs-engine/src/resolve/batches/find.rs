//! Finds out at its provider what became of a batch whose name nobody has noted: its process ended, or the reply was lost.

use jiff::{SignedDuration, Timestamp};

use super::access::access_to;
use crate::resolve::resolver::Resolver;
use crate::session::Session;
use evalrs_eval::judge::provider::batches::{BatchState, RemoteBatch};
use evalrs_exec::{BatchAccess, BatchError, BatchService};
use evalrs_store::{BatchCreation, OpenBatch};

/// After this long a batch that is in no list was never made.
const GRACE: SignedDuration = SignedDuration::from_mins(5);

/// The fate of a batch without a name.
enum LostBatch {
    /// Nothing was made.
    Nothing,
    /// It may have been made.
    Unknown,
    Named(String),
}

/// Looks for the batches of this suite that have no name. Nobody may be making one.
pub(crate) async fn find_lost(resolver: &mut Resolver<'_>, service: &dyn BatchService) {
    let settings = resolver.settings.batches.clone();
    // Whoever has the lock is making some now.
    let Ok(Some(lock)) = settings.ledger.try_lock() else { return };
    let system = resolver.world.system;
    let open = resolver.batches.open.batches.clone();
    let names: Vec<String> = open.iter().filter_map(|batch| batch.id.clone()).collect();
    let lost = open.iter().filter(|batch| batch.id.is_none() && batch.suite == settings.suite);
    for batch in lost {
        let fate = fate(resolver.session, service, batch, &names, system.now()).await;
        let noted = match fate {
            Ok(LostBatch::Nothing) => settings.ledger.close_under(&lock, batch, system),
            Ok(LostBatch::Named(id)) => settings.ledger.name(batch, &id, system),
            Ok(LostBatch::Unknown) => {
                let warning = format!(
                    "a batch of {} judgments may have been made at {}: its name is not known yet",
                    batch.requests, batch.at
                );
                resolver.settled.warnings.push(warning);
                Ok(())
            }
            Err(why) => {
                let warning = format!("cannot look for a batch at {}: {why}", batch.base_url);
                resolver.settled.warnings.push(warning);
                Ok(())
            }
        };
        if let Err(error) = noted {
            resolver.settled.warnings.push(format!("cannot note a batch: {error}"));
        }
    }
}

async fn fate(
    session: &Session,
    service: &dyn BatchService,
    batch: &OpenBatch,
    names: &[String],
    now: Timestamp,
) -> Result<LostBatch, String> {
    let Some(creation) = &batch.creation else { return Ok(LostBatch::Nothing) };
    let access = access_to(session, batch)?;
    let made: Timestamp = creation.at.parse().unwrap_or(now);
    let since = made - GRACE;
    let is_enough =
        |page: &[RemoteBatch]| page.last().and_then(time).is_some_and(|time| time < since);
    let listed = service.list(&access, &is_enough).await.map_err(|error| error.to_string())?;
    if let Some(found) = listed.iter().find(|found| is_it(found, batch, creation)) {
        return Ok(LostBatch::Named(found.id.clone()));
    }
    // Where a provider keeps no digest, only the results of a batch show whose it is.
    let unnamed = listed.iter().filter(|found| {
        let is_as_large = found.requests == batch.requests as u64 + 1;
        let is_new = time(found).is_none_or(|time| time >= since);
        found.digest.is_none() && is_as_large && is_new && !names.contains(&found.id)
    });
    let unnamed: Vec<&RemoteBatch> = unnamed.filter(|_| batch.provider == "anthropic").collect();
    let mut is_one_running = false;
    for candidate in unnamed {
        match &candidate.state {
            BatchState::Running => is_one_running = true,
            BatchState::Ended { results, .. } => {
                let has_it = has_sentinel(service, &access, results, &batch.digest).await;
                if has_it.map_err(|error| error.to_string())? {
                    return Ok(LostBatch::Named(candidate.id.clone()));
                }
            }
        }
    }
    let is_early = now.duration_since(made) < GRACE;
    Ok(if is_one_running || is_early { LostBatch::Unknown } else { LostBatch::Nothing })
}

fn is_it(found: &RemoteBatch, batch: &OpenBatch, creation: &BatchCreation) -> bool {
    let has_file = creation.file.is_some() && found.file == creation.file;
    found.digest.as_ref() == Some(&batch.digest) || has_file
}

async fn has_sentinel(
    service: &dyn BatchService,
    access: &BatchAccess,
    results: &[String],
    digest: &str,
) -> Result<bool, BatchError> {
    for path in results {
        let mut results = service.results(access, path).await?;
        while let Some(result) = results.next().await? {
            if result.id == digest {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// When a batch was made.
fn time(batch: &RemoteBatch) -> Option<Timestamp> {
    let seconds = batch.created.parse().ok().and_then(|it| Timestamp::from_second(it).ok());
    seconds.or_else(|| batch.created.parse().ok())
}
