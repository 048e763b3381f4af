//! Batches that end while files change: they are fetched beside everything else, and brought in between two steps.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use crate::resolve::batches::access::access_to;
use crate::resolve::batches::collect::{CollectedBatch, EndedBatch, tell};
use crate::resolve::in_flight::WrittenAction;
use crate::resolve::resolver::Resolver;
use crate::resolve::waiting::WaitingAction;
use evalrs_eval::judge::provider::batches::{BatchResult, BatchState};
use evalrs_exec::{BatchAccess, BatchError, BatchService};
use evalrs_model::key::KeyMap;
use evalrs_store::OpenBatch;

/// How often is looked whether batches have ended.
const BETWEEN_LOOKS: Duration = Duration::from_mins(1);

/// A batch that has ended, with all of its results.
struct FetchedBatch {
    batch: OpenBatch,
    results: Vec<BatchResult>,
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
        for fetched in std::mem::take(&mut self.fetched) {
            let brought = fetched.and_then(|fetched| bring_in(resolver, fetched));
            news.extend(brought.err());
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
    let suite = &resolver.settings.batches.suite;
    let own = resolver.batches.open.batches.iter().filter(|batch| batch.suite == *suite);
    let reached = own.filter_map(|batch| {
        let id = batch.id.clone()?;
        Some((access_to(resolver.session, batch).ok()?, batch.clone(), id))
    });
    let reached: Vec<(BatchAccess, OpenBatch, String)> = reached.collect();
    Some(Box::pin(async move {
        let mut all = Vec::new();
        for (access, batch, id) in reached {
            match fetch(service, &access, batch, &id).await {
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
    access: &BatchAccess,
    batch: OpenBatch,
    id: &str,
) -> Result<Option<FetchedBatch>, BatchError> {
    let remote = service.look(access, id).await?;
    let BatchState::Ended { results: paths, trouble } = remote.state else { return Ok(None) };
    let mut results = Vec::new();
    for path in paths {
        let mut lines = service.results(access, &path).await?;
        while let Some(result) = lines.next().await? {
            results.push(result);
        }
    }
    Ok(Some(FetchedBatch { batch, results, trouble }))
}

/// Makes the results of a batch durable, and has them arrive. What is to be sent again waits for its turn.
fn bring_in(resolver: &mut Resolver<'_>, fetched: FetchedBatch) -> Result<(), String> {
    let FetchedBatch { batch, results, trouble } = fetched;
    let Some(service) = resolver.world.executor.batches() else { return Ok(()) };
    let wanted: KeyMap<WaitingAction> =
        resolver.batches.out.iter().map(|waiting| (waiting.key, *waiting)).collect();
    let ended = EndedBatch { service, batch: &batch };
    let mut collected = CollectedBatch::default();
    for result in results {
        collected.take(resolver, ended, &wanted, result)?;
    }
    collected.close(resolver, ended, trouble)?;
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
            // It is called now, unless it is out in another one.
            None => resolver.list.queue.push(waiting),
        }
    }
    Ok(())
}
