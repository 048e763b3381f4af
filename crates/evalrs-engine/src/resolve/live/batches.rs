//! Batches that end while files change: they are fetched beside everything else, and brought in between two steps.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use crate::resolve::batches::access::{accesses_to, look_by};
use crate::resolve::batches::collect::{CollectedBatch, EndedBatch, own, tell};
use crate::resolve::in_flight::WrittenAction;
use crate::resolve::resolver::Resolver;
use crate::resolve::waiting::WaitingAction;
use evalrs_eval::judge::provider::batches::{BatchResult, BatchState};
use evalrs_exec::{BatchAccess, BatchService};
use evalrs_model::key::KeyMap;
use evalrs_store::OpenBatch;

/// How often is looked whether batches have ended.
const BETWEEN_LOOKS: Duration = Duration::from_mins(1);

/// A batch that has ended, with all of its results.
struct FetchedBatch {
    batch: OpenBatch,
    results: Vec<BatchResult>,
    /// How many its provider says that it has answered.
    answered: u64,
    trouble: Option<String>,
}

type FetchedBatches = Vec<Result<FetchedBatch, String>>;

/// The batches that a session waits for.
#[derive(Default)]
pub(super) struct LiveBatches<'a> {
    fetching: Option<Pin<Box<dyn Future<Output = FetchedBatches> + 'a>>>,
    fetched: FetchedBatches,
    /// When is looked again.
    due: Option<Instant>,
}

impl<'a> LiveBatches<'a> {
    /// Waits until something was fetched, or it is time to look; for ever where nothing is out.
    pub(super) async fn next(&mut self, is_one_out: bool) {
        if let Some(fetching) = &mut self.fetching {
            self.fetched = fetching.await;
            self.fetching = None;
        } else if !is_one_out {
            std::future::pending::<()>().await;
        } else if let Some(due) = self.due {
            sleep_until(due).await;
        }
    }

    /// Begins to look at the batches that something waits for, if it is time; and brings in what was fetched.
    pub(super) fn go_on(&mut self, resolver: &mut Resolver<'a>) -> Vec<String> {
        let mut news = Vec::new();
        let fetched = std::mem::take(&mut self.fetched);
        let has_fetched = !fetched.is_empty();
        for fetched in fetched {
            let brought = fetched.and_then(|fetched| bring_in(resolver, fetched));
            news.extend(brought.err());
        }
        if has_fetched {
            // What is out in none any more is called now.
            resolver.list.queue.append(&mut resolver.batches.out);
        }
        let is_due = self.due.is_none_or(|due| Instant::now() >= due);
        if is_due && self.fetching.is_none() && !resolver.batches.out.is_empty() {
            self.due = Some(Instant::now() + BETWEEN_LOOKS);
            self.fetching = begin(resolver);
        }
        news
    }
}

fn begin<'a>(
    resolver: &Resolver<'a>,
) -> Option<Pin<Box<dyn Future<Output = FetchedBatches> + 'a>>> {
    let service = resolver.world.executor.batches()?;
    let own = own(resolver, &wanted(resolver)).into_iter().filter(|batch| batch.id.is_some());
    let reached =
        own.filter_map(|batch| Some((accesses_to(resolver.session, &batch).ok()?, batch)));
    let reached: Vec<(Vec<BatchAccess>, OpenBatch)> = reached.collect();
    Some(Box::pin(async move {
        let mut all = Vec::new();
        for (accesses, batch) in reached {
            let id = batch.id.clone().unwrap_or_default();
            match fetch(service, accesses, batch, &id).await {
                Ok(None) => {}
                Ok(Some(fetched)) => all.push(Ok(fetched)),
                Err(error) => all.push(Err(format!("batch {id} is not collected: {error}"))),
            }
        }
        all
    }))
}

/// A batch with its results, if it has ended.
async fn fetch(
    service: &dyn BatchService,
    accesses: Vec<BatchAccess>,
    batch: OpenBatch,
    id: &str,
) -> Result<Option<FetchedBatch>, String> {
    let (access, remote) = look_by(service, accesses, id).await?;
    let answered = remote.ended;
    let BatchState::Ended { results: paths, trouble } = remote.state else { return Ok(None) };
    let mut results = Vec::new();
    for path in paths {
        let mut lines = service.results(&access, &path).await.map_err(|error| error.to_string())?;
        while let Some(result) = lines.next().await.map_err(|error| error.to_string())? {
            results.push(result);
        }
    }
    Ok(Some(FetchedBatch { batch, results, answered, trouble }))
}

/// Makes the results of a batch durable, and has them arrive.
fn bring_in(resolver: &mut Resolver<'_>, fetched: FetchedBatch) -> Result<(), String> {
    let FetchedBatch { batch, results, answered, trouble } = fetched;
    let Some(service) = resolver.world.executor.batches() else { return Ok(()) };
    let wanted = wanted(resolver);
    let ended = EndedBatch { service, batch: &batch };
    let mut collected = CollectedBatch::default();
    for result in results {
        collected.take(resolver, ended, &wanted, result)?;
    }
    collected.close(resolver, ended, answered, trouble)?;
    tell(resolver, &batch, &collected);
    resolver.batches.refresh(&resolver.settings.batches, resolver.world.system);
    let mut found = KeyMap::default();
    for (waiting, outcome) in collected.outcomes {
        found.insert(waiting.key, outcome);
    }
    for waiting in std::mem::take(&mut resolver.batches.out) {
        match found.remove(&waiting.key).map(Arc::unwrap_or_clone) {
            Some(outcome) => resolver.arrived.push(WrittenAction {
                waiting,
                key: waiting.key,
                kept_under: waiting.key,
                outcome,
                in_vain: None,
                superseded: false,
            }),
            None => resolver.batches.out.push(waiting),
        }
    }
    Ok(())
}

/// What waits for batches.
fn wanted(resolver: &Resolver<'_>) -> KeyMap<WaitingAction> {
    resolver.batches.out.iter().map(|waiting| (waiting.key, *waiting)).collect()
}
