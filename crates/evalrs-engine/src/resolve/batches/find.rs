//! Finds out at its provider what became of a batch whose name nobody has noted: its process ended, or the reply was lost.

use jiff::{SignedDuration, Timestamp};

use super::access::accesses_to;
use crate::resolve::resolver::Resolver;
use crate::session::Session;
use evalrs_base::text::count;
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

/// A batch that is looked for, and when it was made.
#[derive(Clone, Copy)]
struct SoughtBatch<'a> {
    batch: &'a OpenBatch,
    creation: &'a BatchCreation,
    made: Timestamp,
}

/// Looks for the batches of this suite that have no name. Nobody may be making one. What there is to say of
/// them.
pub(crate) async fn find_lost(resolver: &Resolver<'_>, service: &dyn BatchService) -> Vec<String> {
    let mut told_of = Vec::new();
    let settings = resolver.settings.batches.clone();
    // Whoever has the lock is making some now.
    let Ok(Some(lock)) = settings.ledger.try_lock() else { return told_of };
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
                let judgments = count(batch.requests, "judgment");
                let told = format!("a batch of {judgments} may have been made at {}", batch.at);
                told_of.push(format!("{told}: its name is not known yet"));
                Ok(())
            }
            Err(why) => {
                told_of.push(format!("cannot look for a batch at {}: {why}", batch.base_url));
                Ok(())
            }
        };
        if let Err(error) = noted {
            told_of.push(format!("cannot note a batch: {error}"));
        }
    }
    told_of
}

async fn fate(
    session: &Session,
    service: &dyn BatchService,
    batch: &OpenBatch,
    names: &[String],
    now: Timestamp,
) -> Result<LostBatch, String> {
    let Some(creation) = &batch.creation else { return Ok(LostBatch::Nothing) };
    let made: Timestamp = creation.at.parse().unwrap_or(now);
    let sought = SoughtBatch { batch, creation, made };
    let mut is_unknown = now.duration_since(made) < GRACE;
    for access in accesses_to(session, batch)? {
        let fate = search(service, &access, sought, names).await;
        match fate.map_err(|error| error.to_string())? {
            LostBatch::Named(id) => return Ok(LostBatch::Named(id)),
            LostBatch::Unknown => is_unknown = true,
            LostBatch::Nothing => {}
        }
    }
    Ok(if is_unknown { LostBatch::Unknown } else { LostBatch::Nothing })
}

/// Searches the list of one account.
async fn search(
    service: &dyn BatchService,
    access: &BatchAccess,
    sought: SoughtBatch<'_>,
    names: &[String],
) -> Result<LostBatch, BatchError> {
    let SoughtBatch { batch, creation, made } = sought;
    let since = made.checked_sub(GRACE).unwrap_or(Timestamp::MIN);
    let is_enough =
        |page: &[RemoteBatch]| page.last().and_then(time).is_some_and(|time| time < since);
    let listed = service.list(access, &is_enough).await?;
    if let Some(found) = listed.iter().find(|found| is_it(found, batch, creation)) {
        return Ok(LostBatch::Named(found.id.clone()));
    }
    // Where a provider keeps no digest, only the results of a batch show whose it is.
    let unnamed = listed.iter().filter(|found| {
        let is_as_large = found.requests == (batch.requests as u64).saturating_add(1);
        let is_new = time(found).is_none_or(|time| time >= since);
        found.digest.is_none() && is_as_large && is_new && !names.contains(&found.id)
    });
    let mut is_one_running = false;
    for candidate in unnamed.filter(|_| batch.provider == "anthropic") {
        match &candidate.state {
            BatchState::Running => is_one_running = true,
            BatchState::Ended { results, .. } => {
                if has_sentinel(service, access, results, &batch.digest).await? {
                    return Ok(LostBatch::Named(candidate.id.clone()));
                }
            }
        }
    }
    Ok(if is_one_running { LostBatch::Unknown } else { LostBatch::Nothing })
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
