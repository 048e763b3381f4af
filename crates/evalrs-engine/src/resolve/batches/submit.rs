//! Sends judgments in batches: claimed, noted, sent, and noted again.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use tokio::time::sleep;

use super::MOST_ATTEMPTS;
use super::access::of_judge;
use crate::progress::Event;
use crate::resolve::credentials::{access, judge_of};
use crate::resolve::launch::launch;
use crate::resolve::queues::QueueId;
use crate::resolve::resolver::Resolver;
use crate::resolve::shared_calls::are_shared;
use crate::resolve::waiting::WaitingAction;
use evalrs_base::price::Cost;
use evalrs_base::text::count;
use evalrs_eval::judge::provider::batches::{self, BatchLimits, NewBatch, RemoteBatch};
use evalrs_eval::judge::without_secrets;
use evalrs_exec::{
    BatchAccess, BatchError, BatchLine, BatchService, EndpointId, JudgeEndpointId, Launch,
    RequestHeader, Room,
};
use evalrs_graph::Db;
use evalrs_model::key::ActionKey;
use evalrs_model::outcome::{FailureKind, JudgeExchange, Outcome};
use evalrs_store::{BatchCreation, CallClaim, KeyMarks, OpenBatch};
use evalrs_system::file_lock::FileLock;

/// The most bytes of one batch, whatever the provider takes: they are in memory.
const MOST_BYTES: usize = 16 << 20;
/// How often is looked whether another process is done with its batches.
const BETWEEN_LOOKS: Duration = Duration::from_millis(200);

/// A batch that is being put together.
struct Draft {
    access: BatchAccess,
    model: String,
    limits: BatchLimits,
    path: String,
    exchange: Option<Box<JudgeExchange>>,
    lines: Vec<u8>,
    waiting: Vec<WaitingAction>,
}

impl Draft {
    fn takes(&self, line: &BatchLine) -> bool {
        let most = self.limits.bytes.min(MOST_BYTES);
        let is_alike = self.path == line.path && self.exchange == line.exchange;
        self.waiting.is_empty()
            || is_alike
                && self.waiting.len() < self.limits.requests - 1
                && self.lines.len() + line.text.len() <= most
    }

    fn add(&mut self, waiting: WaitingAction, line: BatchLine) {
        self.lines.extend_from_slice(&line.text);
        self.path = line.path;
        self.exchange = line.exchange;
        self.waiting.push(waiting);
    }
}

/// Who makes batches, and the right to.
#[derive(Clone, Copy)]
struct BatchMaker<'a> {
    service: &'a dyn BatchService,
    lock: &'a FileLock,
}

/// How an action that was held is called.
enum Way {
    /// In this draft, at about this cost.
    Batch(BatchLine, Cost),
    /// Alone.
    Other,
    /// The budget does not allow it.
    Unpaid,
}

/// Sends what is held. True if something is to be called alone now.
pub(crate) async fn submit(
    resolver: &mut Resolver<'_>,
    mut stop: Pin<&mut impl Future<Output = ()>>,
) -> bool {
    if resolver.batches.held.is_empty() {
        return false;
    }
    let Some(service) = resolver.world.executor.batches() else { return release_all(resolver) };
    if !resolver.may_ask() {
        return release_all(resolver);
    }
    let Some(lock) = locked(resolver, stop.as_mut()).await else { return release_all(resolver) };
    let settings = resolver.settings.batches.clone();
    resolver.batches.refresh(&settings, resolver.world.system);
    let mut held = std::mem::take(&mut resolver.batches.held);
    let others = held.extract_if(.., |(_, waiting)| resolver.batches.open.have(waiting.key));
    let others: Vec<WaitingAction> = others.map(|(_, waiting)| waiting).collect();
    resolver.batches.out.extend(others);
    held.sort_by_key(|(queue, _)| *queue);
    let mut has_live = false;
    for of_queue in held.chunk_by(|left, right| left.0 == right.0) {
        let queue = of_queue[0].0;
        let waiting: Vec<WaitingAction> = of_queue.iter().map(|(_, waiting)| *waiting).collect();
        if resolver.settled.interrupted {
            resolver.list.queue.extend(waiting);
        } else if waiting.len() < settings.least.unwrap_or_default() {
            resolver.batches.live.insert(queue);
            resolver.list.queue.extend(waiting);
            has_live = true;
        } else if let Some(why) = obstacle(resolver, queue) {
            refuse(resolver, waiting, &why);
        } else {
            let by = BatchMaker { service, lock: &lock };
            has_live |= send(resolver, by, waiting, stop.as_mut()).await;
        }
    }
    has_live && !resolver.settled.interrupted
}

/// Nothing is sent in batches: it is given up with the rest.
fn release_all(resolver: &mut Resolver<'_>) -> bool {
    let held = std::mem::take(&mut resolver.batches.held);
    resolver.list.queue.extend(held.into_iter().map(|(_, waiting)| waiting));
    false
}

/// Waits until no other process makes batches. None if it is interrupted, or there can be no lock.
async fn locked(
    resolver: &mut Resolver<'_>,
    mut stop: Pin<&mut impl Future<Output = ()>>,
) -> Option<FileLock> {
    let ledger = resolver.settings.batches.ledger.clone();
    let mut is_told = false;
    loop {
        match ledger.try_lock() {
            Ok(Some(lock)) => return Some(lock),
            Ok(None) => {}
            Err(error) => {
                let warning = format!("no batch is sent, because none can be noted: {error}");
                resolver.settled.warnings.push(warning);
                return None;
            }
        }
        if !std::mem::replace(&mut is_told, true) {
            let line = "waiting for another process that sends batches".to_owned();
            resolver.world.progress.event(&Event::Line(line));
        }
        tokio::select! {
            biased;
            () = stop.as_mut() => {
                resolver.settled.interrupted = true;
                return None;
            }
            () = sleep(BETWEEN_LOOKS) => {}
        }
    }
}

/// Why nothing is sent to an endpoint: it is closed, or what was called alone has failed in a way that the rest would.
fn obstacle(resolver: &Resolver<'_>, queue: QueueId) -> Option<String> {
    let id = resolver.admission.queues.endpoint(queue);
    if let Room::Closed(why) = resolver.world.executor.limits().room(id) {
        return Some(why);
    }
    let (_, first) = resolver.batches.first.iter().find(|(of, _)| *of == queue)?;
    match resolver.session.db.outcome(*first)?.as_ref() {
        Outcome::Failure(failure) if !failure.kind.policy().stored => {
            Some(format!("the first request failed: {}", failure.message))
        }
        Outcome::Failure(_) | Outcome::Reply(_) => None,
    }
}

/// These are not called.
fn refuse(resolver: &mut Resolver<'_>, waiting: Vec<WaitingAction>, why: &str) {
    let judgments = count(waiting.len(), "judgment");
    resolver.settled.stopped.push(format!("{judgments} not sent in a batch: {why}"));
    resolver.give_up(waiting, FailureKind::NotAsked, &format!("not called: {why}"));
}

/// Sends the actions of one queue in as many batches as it takes. True if some are to be called alone.
async fn send(
    resolver: &mut Resolver<'_>,
    by: BatchMaker<'_>,
    waiting: Vec<WaitingAction>,
    mut stop: Pin<&mut impl Future<Output = ()>>,
) -> bool {
    let Some(mut draft) = waiting.first().and_then(|first| draft_for(resolver, first)) else {
        resolver.list.queue.extend(waiting);
        return true;
    };
    let mut has_live = false;
    let mut rest = waiting.into_iter();
    for waiting in rest.by_ref() {
        let (line, expected) = match way(resolver, by.service, &waiting) {
            Way::Batch(line, expected) => (line, expected),
            Way::Other => {
                // It may be stored by now, or in flight elsewhere: that is found out where it is called.
                resolver.batches.attempts.insert(waiting.key, MOST_ATTEMPTS);
                resolver.list.queue.push(waiting);
                has_live = true;
                continue;
            }
            Way::Unpaid => {
                resolver.settled.out_of_budget = true;
                resolver.list.queue.push(waiting);
                break;
            }
        };
        let headers = headers_of(resolver, &waiting);
        if !draft.takes(&line) || headers != draft.access.headers && !draft.waiting.is_empty() {
            post(resolver, by, &mut draft, stop.as_mut()).await;
        }
        if resolver.settled.interrupted {
            resolver.world.store.release(&[waiting.key]);
            resolver.list.queue.push(waiting);
            break;
        }
        draft.access.headers = headers;
        draft.add(WaitingAction { expected, ..waiting }, line);
    }
    resolver.list.queue.extend(rest);
    if !draft.waiting.is_empty() {
        post(resolver, by, &mut draft, stop).await;
    }
    has_live
}

fn headers_of(resolver: &Resolver<'_>, waiting: &WaitingAction) -> Vec<RequestHeader> {
    let judge = judge_of(resolver.session, waiting);
    let access = judge.and_then(|(judge, at)| access(resolver.session, judge, at));
    access.map(|access| access.headers()).unwrap_or_default()
}

fn draft_for(resolver: &Resolver<'_>, waiting: &WaitingAction) -> Option<Draft> {
    let (judge, at) = judge_of(resolver.session, waiting)?;
    let access = access(resolver.session, judge, at)?;
    Some(Draft {
        limits: batches::find(&access.spec.provider)?.limits(),
        model: access.spec.model.clone(),
        access: of_judge(&access),
        path: String::new(),
        exchange: None,
        lines: Vec::new(),
        waiting: Vec::new(),
    })
}

/// Renders an action as a line, unless another process has it in flight or nothing may be spent on it.
fn way(resolver: &mut Resolver<'_>, service: &dyn BatchService, waiting: &WaitingAction) -> Way {
    let endpoint = EndpointId::Judge(JudgeEndpointId::default());
    let Ok(mut rendered) = launch(resolver.session, waiting, endpoint) else {
        return Way::Other;
    };
    let line = match &mut rendered {
        Launch::Judge(judge) => {
            // Requests of a batch come in any order, so nothing of them is read from a cache.
            judge.mark(false);
            judge.is_flex = false;
            service.line(judge, waiting.key)
        }
        Launch::Program(_) | Launch::Target(_) => None,
    };
    let Some(line) = line else { return Way::Other };
    if are_shared(&resolver.settings) {
        let claim = resolver.world.store.claim(waiting.key, waiting.generation);
        if claim != CallClaim::Own {
            return Way::Other;
        }
    }
    match resolver.admission.reserve(&rendered) {
        Some(expected) => Way::Batch(line, expected),
        None => {
            resolver.world.store.release(&[waiting.key]);
            Way::Unpaid
        }
    }
}

/// Makes a batch of a draft, which is empty then. What may have been sent counts as in flight.
async fn post(
    resolver: &mut Resolver<'_>,
    by: BatchMaker<'_>,
    draft: &mut Draft,
    stop: Pin<&mut impl Future<Output = ()>>,
) {
    let waiting = std::mem::take(&mut draft.waiting);
    let lines = std::mem::take(&mut draft.lines);
    let keys: Vec<ActionKey> = waiting.iter().map(|waiting| waiting.key).collect();
    let batch = intent(resolver, draft, &waiting);
    let made = tokio::select! {
        biased;
        () = stop => {
            resolver.settled.interrupted = true;
            None
        }
        made = make(resolver, by.service, draft, &batch, &lines) => Some(made),
    };
    let ledger = resolver.settings.batches.ledger.clone();
    match made {
        Some(Ok(remote)) => {
            let judgments = count(waiting.len(), "judgment");
            let line = format!("sent {judgments} to {} as batch {}", batch.provider, remote.id);
            resolver.world.progress.event(&Event::Line(line));
            for key in &keys {
                *resolver.batches.attempts.entry(*key).or_default() += 1;
            }
            resolver.batches.out.extend(waiting);
        }
        Some(Err(error)) if !error.may_be_done => {
            let closed = ledger.close_under(by.lock, &batch, resolver.world.system);
            resolver.settled.warnings.extend(closed.err().map(|error| error.to_string()));
            for waiting in &waiting {
                resolver.admission.unreserve(waiting);
            }
            refuse(resolver, waiting, &error.message);
        }
        Some(Err(error)) => {
            let warning = format!("a batch may have been made all the same: {}", error.message);
            resolver.settled.warnings.push(warning);
            resolver.batches.out.extend(waiting);
        }
        // It is found out later how far it came.
        None => resolver.batches.out.extend(waiting),
    }
    resolver.world.store.release(&keys);
}

fn intent(resolver: &Resolver<'_>, draft: &Draft, waiting: &[WaitingAction]) -> OpenBatch {
    let mut sent: Vec<(ActionKey, u32)> =
        waiting.iter().map(|waiting| (waiting.key, waiting.generation)).collect();
    sent.sort_unstable();
    let keys: Vec<ActionKey> = sent.iter().map(|(key, _)| *key).collect();
    let is_first = sent.iter().all(|(_, generation)| *generation == 0);
    let generations = sent.into_iter().filter(|_| !is_first).map(|(_, generation)| generation);
    let at = resolver.world.system.now().to_string();
    let mut digest = blake3::Hasher::new();
    digest.update(at.as_bytes());
    digest.update(&std::process::id().to_le_bytes());
    for key in &keys {
        digest.update(&key.0);
    }
    OpenBatch {
        digest: digest.finalize().to_hex().to_string(),
        suite: resolver.settings.batches.suite.clone(),
        provider: draft.access.provider.clone(),
        base_url: without_secrets(&draft.access.base_url),
        model: draft.model.clone(),
        requests: keys.len(),
        keys: KeyMarks::of(&keys),
        generations: generations.collect(),
        exchange: draft.exchange.clone(),
        at,
        creation: None,
        id: None,
        file: resolver.settings.batches.file.clone(),
    }
}

/// Writes the intent, sends the requests, and writes what the batch is called.
async fn make(
    resolver: &Resolver<'_>,
    service: &dyn BatchService,
    draft: &Draft,
    batch: &OpenBatch,
    lines: &[u8],
) -> Result<RemoteBatch, BatchError> {
    let ledger = &resolver.settings.batches.ledger;
    let system = resolver.world.system;
    let unwritten = |may_be_done: bool| {
        move |error: std::io::Error| BatchError {
            message: format!("the batch cannot be noted: {error}"),
            may_be_done,
        }
    };
    ledger.intend(batch, system).map_err(unwritten(false))?;
    let unsent = |error: BatchError| BatchError { may_be_done: false, ..error };
    let file = service.upload(&draft.access, &batch.digest, lines).await.map_err(unsent)?;
    let creation = BatchCreation { file: file.clone(), at: system.now().to_string() };
    ledger.create(batch, creation, system).map_err(unwritten(false))?;
    let new = NewBatch { digest: &batch.digest, model: &draft.model, path: &draft.path };
    let remote = service.create(&draft.access, new, file.as_deref(), lines).await?;
    ledger.name(batch, &remote.id, system).map_err(unwritten(true))?;
    Ok(remote)
}
