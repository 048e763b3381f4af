//! What is under way: actions being executed, and outcomes on their way to the disk.
//!
//! The store travels: while a batch is written it is away on another thread, and what lands meanwhile
//! gathers into the next batch. So a slow disk makes larger batches, and only at last a slower judge: what is
//! paid for and not safe yet has a bound.

use std::future::Future;
use std::pin::Pin;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;

use super::waiting::Waiting;
use crate::action::{Action, ActionKey};
use crate::exec::{Changed, EndpointId, Executor, Launch};
use crate::outcome::{FailureKind, Outcome, Stored, Usage, read_body};
use crate::price::Prices;
use crate::store::{Entry, OutcomeStore, StoreError};
use crate::system::System;

/// The most outcomes that have landed and wait for the disk before nothing more is asked.
const MOST_UNWRITTEN: usize = 100;

/// An action that landed.
#[derive(Debug)]
pub(super) struct Landed {
    /// What waited for it.
    pub(super) waiting: Waiting,
    /// What came of it.
    pub(super) outcome: Outcome,
    action: Action,
    endpoint: EndpointId,
}

/// What happened next.
pub(super) enum Step {
    /// Somebody said stop: nothing is under way any more. What was, is dropped.
    Stopped(Vec<Waiting>),
    /// An action landed; it is not durable yet.
    Landed(Arrival),
    /// The executor has something new.
    Changed,
    /// A batch was written, or could not be.
    Written(Vec<Landed>, Result<(), StoreError>),
}

/// What is known of an action as soon as it lands.
#[derive(Debug)]
pub(super) struct Arrival {
    /// What waited for it.
    pub(super) waiting: Waiting,
    /// Who was asked.
    pub(super) endpoint: EndpointId,
    /// What it used.
    pub(super) usage: Usage,
    /// Why it has no reply, if it has none.
    pub(super) failure: Option<(FailureKind, String)>,
}

type Flying<'a> = Pin<Box<dyn Future<Output = Landed> + 'a>>;
type Writing =
    tokio::task::JoinHandle<(Box<dyn OutcomeStore>, Vec<Landed>, Result<(), StoreError>)>;

/// Actions being executed, and outcomes being written.
pub(super) struct Flight<'a> {
    flying: FuturesUnordered<Flying<'a>>,
    under_way: Vec<Waiting>,
    landed: Vec<Landed>,
    store: Store,
    stopped: bool,
    interrupted: bool,
}

/// Where the store is.
enum Store {
    Here(Box<dyn OutcomeStore>),
    Writing(Writing),
    /// Only while it is handed over.
    Moving,
}

impl<'a> Flight<'a> {
    /// A flight that writes to `store`.
    pub(super) fn new(store: Box<dyn OutcomeStore>) -> Self {
        Self {
            flying: FuturesUnordered::new(),
            under_way: Vec::new(),
            landed: Vec::new(),
            store: Store::Here(store),
            stopped: false,
            interrupted: false,
        }
    }

    /// Whether one more action may start, as far as the disk has a say.
    pub(super) fn has_room(&self) -> bool {
        !self.stopped && self.landed.len() < MOST_UNWRITTEN
    }

    /// Whether no action will start any more.
    pub(super) fn is_stopped(&self) -> bool {
        self.stopped
    }

    /// Starts an action.
    pub(super) fn launch(
        &mut self,
        waiting: Waiting,
        launch: Launch,
        executor: &'a dyn Executor,
        prices: &'a Prices,
    ) {
        let (action, endpoint) = (launch.action.clone(), launch.endpoint);
        // It takes its place at once, before anybody asks for room again.
        let executing = executor.execute(launch);
        let flying = async move {
            let outcome = executing.await.priced(prices, &action.model);
            Landed { waiting, action: Action::Judge(action), endpoint, outcome }
        };
        self.under_way.push(waiting);
        self.flying.push(Box::pin(flying));
    }

    /// Sends what has landed to the disk, unless a batch is on its way.
    pub(super) fn write_landed(&mut self, system: &dyn System) {
        if self.landed.is_empty() {
            return;
        }
        match std::mem::replace(&mut self.store, Store::Moving) {
            Store::Here(mut store) => {
                let (mut batch, at) = (std::mem::take(&mut self.landed), system.now());
                self.store = Store::Writing(tokio::task::spawn_blocking(move || {
                    let result = keep(store.as_mut(), &mut batch, &at);
                    (store, batch, result)
                }));
            }
            away => self.store = away,
        }
    }

    /// Whether nothing is under way, neither executed nor written.
    pub(super) fn is_over(&self) -> bool {
        self.flying.is_empty() && self.landed.is_empty() && matches!(self.store, Store::Here(_))
    }

    /// Gives the store back, once it is over.
    pub(super) fn into_store(self) -> Box<dyn OutcomeStore> {
        match self.store {
            Store::Here(store) => store,
            Store::Writing(_) | Store::Moving => Box::new(crate::store::MemoryStore::default()),
        }
    }

    /// Waits for what happens next. Being told to stop drops what is under way; what has landed is still written.
    pub(super) async fn next(
        &mut self,
        stop: Pin<&mut impl Future<Output = ()>>,
        changed: Changed<'_>,
    ) -> Step {
        let writing = async {
            match &mut self.store {
                Store::Writing(writing) => writing.await,
                Store::Here(_) | Store::Moving => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = stop, if !self.interrupted => {
                self.stopped = true;
                self.interrupted = true;
                self.flying.clear();
                Step::Stopped(std::mem::take(&mut self.under_way))
            }
            written = writing => match written {
                Ok((store, batch, result)) => {
                    self.store = Store::Here(store);
                    self.stopped |= result.is_err();
                    Step::Written(batch, result)
                }
                Err(panicked) => std::panic::resume_unwind(panicked.into_panic()),
            },
            Some(landed) = self.flying.next() => self.land(landed),
            () = changed, if !self.stopped => Step::Changed,
        }
    }

    fn land(&mut self, landed: Landed) -> Step {
        let failure = match &landed.outcome {
            Outcome::Reply(_) => None,
            Outcome::Failure(failure) => Some((failure.kind, failure.message.clone())),
        };
        let (waiting, endpoint) = (landed.waiting, landed.endpoint);
        let usage = landed.outcome.usage();
        self.under_way.retain(|flying| flying.key != waiting.key);
        self.landed.push(landed);
        Step::Landed(Arrival { waiting, endpoint, usage, failure })
    }
}

/// Makes a batch durable. Where another process has kept an outcome meanwhile, that one stands: then both report
/// the same.
fn keep(store: &mut dyn OutcomeStore, batch: &mut [Landed], at: &str) -> Result<(), StoreError> {
    let keys: Vec<ActionKey> = batch.iter().map(|landed| landed.waiting.key).collect();
    let mut entries = Vec::with_capacity(batch.len());
    for (landed, held) in batch.iter_mut().zip(store.get_many(&keys)) {
        let generation = landed.waiting.generation;
        let held = held.filter(|held| held.generation >= generation);
        if let Some(outcome) = held.and_then(|held| read_body(&held.body).ok()) {
            landed.outcome = outcome;
        } else if landed.outcome.is_kept() {
            // Failures that may pass are not kept.
            let stored = Stored::new(&landed.action, landed.outcome.clone(), at.to_owned());
            let key = landed.waiting.key;
            entries.push(Entry { key, generation, body: stored.to_body() });
        }
    }
    store.put_many(&entries)
}
