//! A queue for each endpoint and model: an endpoint that has to wait does not delay others, and one model of an endpoint
//! may be disabled while others are called.
//!
//! Requests that begin alike share the provider's cache: the first goes alone until it has landed, and the others wait for it
//! ([`PrefixState`]). Meanwhile other actions start.
//!
//! Actions of a lower rank come first. Of the endpoints that have room for one of them, the one with the fewest actions
//! in flight comes next, so that a slow one does not fill every place; among equals, the earliest action.

use std::collections::{BTreeMap, HashMap};

use evalrs_exec::{Endpoint, EndpointId, ExecutionLimits, JudgeEndpointId, LimitSettings, Room};

/// Programs have no limits but those of the machine, which the executor knows: as many calls as keep workers busy.
pub(crate) const PROGRAM_LIMITS: LimitSettings = LimitSettings {
    most: 256,
    requests_per_minute: None,
    tokens_per_minute: None,
    identical_failures: 0,
};

/// The place of an action in the whole queue: those of a lower rank come first, among equals the earlier one.
type At = (u8, usize);

/// Who executes the actions of a queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum QueueOwner {
    Programs,
    Target,
    Judges(Endpoint),
}

#[derive(Debug)]
pub(crate) struct Queues<T> {
    endpoints: Vec<EndpointQueue<T>>,
    /// The actions that were put in so far.
    count: usize,
}

/// The part of the queue for one endpoint.
#[derive(Debug)]
struct EndpointQueue<T> {
    owner: QueueOwner,
    /// None where the queue was dropped and the endpoint was not named since.
    limits: Option<LimitSettings>,
    id: EndpointId,
    models: Vec<ModelQueue<T>>,
    under_way: usize,
}

#[derive(Debug)]
struct ModelQueue<T> {
    model: String,
    actions: BTreeMap<At, QueuedAction<T>>,
    begun: HashMap<PrefixDigest, PrefixState<T>>,
    /// How many wait for another one.
    held: usize,
}

/// What the requests of some actions begin with, by its digest.
pub(crate) type PrefixDigest = u64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct QueuedAction<T> {
    prefix: Option<PrefixDigest>,
    action: T,
}

/// The actions with one prefix, from when there are two of them.
#[derive(Debug)]
enum PrefixState<T> {
    /// None is under way, and so many wait.
    Queued(usize),
    /// The first is under way: those that were to start wait for it, and so many are still queued.
    First { held: Vec<(At, QueuedAction<T>)>, queued: usize },
    /// The provider may have it by now.
    Sent,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct QueueId {
    endpoint: usize,
    model: usize,
}

/// An action that may start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Next<T> {
    pub endpoint: EndpointId,
    queue: QueueId,
    at: At,
    /// What its request begins with, if others begin like it.
    pub prefix: Option<PrefixDigest>,
    pub action: T,
}

/// A disabled endpoint, or a disabled model of it, and the actions that it will not get.
#[derive(Debug)]
pub(crate) struct ClosedQueue<T> {
    /// Why, in a sentence that names which.
    pub reason: String,
    pub rest: Vec<T>,
}

impl<T> PrefixState<T> {
    /// One of those that are queued starts, and the others wait for it.
    fn start(&mut self) {
        if let Self::Queued(n) = self {
            *self = Self::First { held: Vec::new(), queued: n.saturating_sub(1) };
        }
    }
}

impl<T> ModelQueue<T> {
    fn new(model: &str) -> Self {
        let model = model.to_owned();
        Self { model, actions: BTreeMap::new(), begun: HashMap::new(), held: 0 }
    }

    fn len(&self) -> usize {
        self.actions.len() + self.held
    }

    fn is_empty(&self) -> bool {
        self.actions.is_empty() && self.held == 0
    }

    /// What waits for the first action with the same prefix.
    fn held(&self) -> impl Iterator<Item = &(At, QueuedAction<T>)> {
        self.begun.values().flat_map(|begun| match begun {
            PrefixState::First { held, .. } => held.as_slice(),
            PrefixState::Queued(_) | PrefixState::Sent => &[],
        })
    }

    fn push(&mut self, at: At, prefix: Option<PrefixDigest>, action: T) {
        if let Some(prefix) = prefix {
            match self.begun.entry(prefix).or_insert(PrefixState::Queued(0)) {
                PrefixState::Queued(n) | PrefixState::First { queued: n, .. } => *n += 1,
                PrefixState::Sent => {}
            }
        }
        self.actions.insert(at, QueuedAction { prefix, action });
    }

    /// Takes out the first action. None if it has to wait for another one, as it does from then on.
    fn pop(&mut self) -> Option<(At, QueuedAction<T>)> {
        let (at, mut queued) = self.actions.pop_first()?;
        let Some(prefix) = queued.prefix else { return Some((at, queued)) };
        match self.begun.get_mut(&prefix) {
            Some(PrefixState::First { held, queued: left }) => {
                held.push((at, queued));
                *left = left.saturating_sub(1);
                self.held += 1;
                return None;
            }
            Some(PrefixState::Sent) => {}
            Some(begun @ PrefixState::Queued(2..)) => begun.start(),
            // It is alone.
            Some(PrefixState::Queued(_)) | None => {
                self.begun.remove(&prefix);
                queued.prefix = None;
            }
        }
        Some((at, queued))
    }

    /// The first action with this prefix is not under way any more. If it `is_sent`, the others follow; else one of them is
    /// the first.
    fn go_on(&mut self, prefix: PrefixDigest, is_sent: bool) {
        let Some(begun) = self.begun.get_mut(&prefix) else { return };
        let PrefixState::First { held, queued } = begun else { return };
        let held = std::mem::take(held);
        self.held -= held.len();
        *begun =
            if is_sent { PrefixState::Sent } else { PrefixState::Queued(*queued + held.len()) };
        self.actions.extend(held);
    }

    /// Takes out everything that waits.
    fn take(&mut self) -> BTreeMap<At, QueuedAction<T>> {
        let mut all = std::mem::take(&mut self.actions);
        self.held = 0;
        for begun in std::mem::take(&mut self.begun).into_values() {
            if let PrefixState::First { held, .. } = begun {
                all.extend(held);
            }
        }
        all
    }
}

impl<T> EndpointQueue<T> {
    /// Whether its actions run here and cost nothing.
    fn is_free(&self) -> bool {
        self.owner == QueueOwner::Programs
    }

    fn has_place(&self) -> bool {
        self.limits.is_some_and(|limits| self.under_way < limits.most)
    }

    fn len(&self) -> usize {
        self.models.iter().map(ModelQueue::len).sum()
    }

    fn is_empty(&self) -> bool {
        self.models.iter().all(ModelQueue::is_empty)
    }

    /// The action that comes first, and the ordinal of its queue.
    fn first(&self) -> Option<(At, usize)> {
        let firsts = self.models.iter().zip(0..);
        firsts.filter_map(|(model, at)| Some((*model.actions.keys().next()?, at))).min()
    }
}

/// Takes out everything that waits for these models, in the order of the queue.
fn take_all<'a, T: 'a>(models: impl Iterator<Item = &'a mut ModelQueue<T>>) -> Vec<T> {
    let mut all: Vec<(At, QueuedAction<T>)> = models.flat_map(ModelQueue::take).collect();
    all.sort_by_key(|(at, _)| *at);
    all.into_iter().map(|(_, queued)| queued.action).collect()
}

impl<T> Queues<T> {
    pub(crate) fn new() -> Self {
        Self { endpoints: Vec::new(), count: 0 }
    }

    /// Where the actions of a model of an endpoint wait. Where the endpoint is known already, the smaller figures hold.
    pub(crate) fn queue(
        &mut self,
        owner: QueueOwner,
        model: &str,
        limits: LimitSettings,
    ) -> QueueId {
        let known = self.endpoints.iter().position(|queue| queue.owner == owner);
        let at = known.unwrap_or_else(|| {
            // That of judges is known once it is open.
            let id = match owner {
                QueueOwner::Judges(_) => EndpointId::Judge(JudgeEndpointId::default()),
                QueueOwner::Programs => EndpointId::Program,
                QueueOwner::Target => EndpointId::Target,
            };
            let models = Vec::new();
            self.endpoints.push(EndpointQueue { owner, limits: None, id, models, under_way: 0 });
            self.endpoints.len() - 1
        });
        let queue = &mut self.endpoints[at];
        queue.limits = Some(queue.limits.map_or(limits, |held| held.and(limits)));
        let known = queue.models.iter().position(|queue| queue.model == model);
        let model = known.unwrap_or_else(|| {
            queue.models.push(ModelQueue::new(model));
            queue.models.len() - 1
        });
        QueueId { endpoint: at, model }
    }

    /// Puts an action behind those of its rank and of lower ones.
    pub(crate) fn push(
        &mut self,
        queue: QueueId,
        rank: u8,
        prefix: Option<PrefixDigest>,
        waiting: T,
    ) {
        let at = (rank, self.count);
        self.model(queue).push(at, prefix, waiting);
        self.count += 1;
    }

    fn model(&mut self, id: QueueId) -> &mut ModelQueue<T> {
        &mut self.endpoints[id.endpoint].models[id.model]
    }

    /// Where the actions of a queue go.
    pub(crate) fn endpoint(&self, queue: QueueId) -> EndpointId {
        self.endpoints[queue.endpoint].id
    }

    /// Makes every endpoint known to the executor.
    pub(crate) fn open(&mut self, limits: &dyn ExecutionLimits) {
        for queue in &mut self.endpoints {
            if let (QueueOwner::Judges(endpoint), Some(settings)) = (&queue.owner, queue.limits) {
                queue.id = EndpointId::Judge(limits.open(endpoint, settings));
            }
        }
    }

    /// Drops everything that waits, and the limits of all endpoints. What is under way still counts.
    pub(crate) fn drop_queue(&mut self) {
        self.count = 0;
        for queue in &mut self.endpoints {
            queue.models.clear();
            queue.limits = None;
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.endpoints.iter().all(EndpointQueue::is_empty)
    }

    /// Whether a call is left that may cost something.
    pub(crate) fn has_paid_to_ask(&self) -> bool {
        self.endpoints.iter().any(|queue| !queue.is_free() && !queue.is_empty())
    }

    pub(crate) fn has_conversations(&self) -> bool {
        self.endpoints.iter().any(|queue| queue.owner == QueueOwner::Target && !queue.is_empty())
    }

    pub(crate) fn len(&self) -> usize {
        self.endpoints.iter().map(EndpointQueue::len).sum()
    }

    /// Takes out the next action that may start. It counts as under way until `landed`.
    pub(crate) fn next(
        &mut self,
        limits: &dyn ExecutionLimits,
        may_start: impl Fn(&QueueOwner) -> bool,
    ) -> Option<Next<T>> {
        loop {
            let queues = self.endpoints.iter_mut().zip(0..).filter(|(queue, _)| {
                may_start(&queue.owner)
                    && queue.first().is_some()
                    && queue.has_place()
                    && limits.room(queue.id) == Room::Now
            });
            let (queue, ordinal) = queues.min_by_key(|(queue, _)| {
                let ((rank, at), _) = queue.first().unwrap_or_default();
                (rank, queue.under_way, at)
            })?;
            let (_, model) = queue.first()?;
            let Some((at, QueuedAction { prefix, action })) = queue.models[model].pop() else {
                continue;
            };
            queue.under_way += 1;
            let id = QueueId { endpoint: ordinal, model };
            return Some(Next { endpoint: queue.id, queue: id, at, prefix, action });
        }
    }

    pub(crate) fn put_back(&mut self, next: Next<T>) {
        self.landed(next.endpoint, next.prefix, false);
        let Next { queue, at, prefix, action, .. } = next;
        self.model(queue).push(at, prefix, action);
    }

    /// An action of this endpoint is not under way any more. If it `is_sent`, those that begin like it follow.
    pub(crate) fn landed(
        &mut self,
        endpoint: EndpointId,
        prefix: Option<PrefixDigest>,
        is_sent: bool,
    ) {
        if let Some(queue) = self.endpoints.iter_mut().find(|queue| queue.id == endpoint) {
            queue.under_way = queue.under_way.saturating_sub(1);
        }
        if let Some(prefix) = prefix {
            self.go_on(prefix, is_sent);
        }
    }

    /// Nobody waits for the first of those with this prefix any more.
    pub(crate) fn go_on(&mut self, prefix: PrefixDigest, is_sent: bool) {
        for model in self.endpoints.iter_mut().flat_map(|queue| &mut queue.models) {
            model.go_on(prefix, is_sent);
        }
    }

    /// The endpoints for which something waits that could start if one under way landed.
    pub(crate) fn full(&self, limits: &dyn ExecutionLimits) -> Vec<EndpointId> {
        let full = self.endpoints.iter().filter(|queue| {
            let room = limits.room(queue.id);
            !queue.is_empty() && (room == Room::Full || room == Room::Now && !queue.has_place())
        });
        full.map(|queue| queue.id).collect()
    }

    /// Moves these up to the end of those of `rank`, if they are behind them. Whether it was anywhere.
    pub(crate) fn promote(&mut self, rank: u8, is_meant: &dyn Fn(&T) -> bool) -> bool {
        let mut is_there = false;
        for model in self.endpoints.iter_mut().flat_map(|queue| &mut queue.models) {
            // What waits for another action starts once that has landed, before all others.
            is_there |= model.held().any(|(_, queued)| is_meant(&queued.action));
            let actions = &mut model.actions;
            let is_meant = |(_, queued): &(&At, &QueuedAction<T>)| is_meant(&queued.action);
            is_there |= actions.range(..(rank + 1, 0)).any(|queued| is_meant(&queued));
            let later = actions.range((rank + 1, 0)..);
            let meant: Vec<At> = later.filter(is_meant).map(|(at, _)| *at).collect();
            is_there |= !meant.is_empty();
            for at in meant {
                if let Some(waiting) = actions.remove(&at) {
                    actions.insert((rank, at.1), waiting);
                }
            }
        }
        is_there
    }

    /// Takes out every action whose endpoint, or model there, is disabled.
    pub(crate) fn take_closed(&mut self, limits: &dyn ExecutionLimits) -> Vec<ClosedQueue<T>> {
        let mut closed = Vec::new();
        for queue in self.endpoints.iter_mut().filter(|queue| !queue.is_empty()) {
            if let Room::Closed(reason) = limits.room(queue.id) {
                closed.push(ClosedQueue { reason, rest: take_all(queue.models.iter_mut()) });
                continue;
            }
            let EndpointId::Judge(id) = queue.id else { continue };
            for model in queue.models.iter_mut().filter(|model| !model.is_empty()) {
                if let Some(reason) = limits.closed_model(id, &model.model) {
                    let rest = model.take().into_values().map(|queued| queued.action).collect();
                    closed.push(ClosedQueue { reason, rest });
                }
            }
        }
        closed
    }

    /// Takes out everything that waits, in the order of the queue.
    pub(crate) fn take_rest(&mut self) -> Vec<T> {
        take_all(self.endpoints.iter_mut().flat_map(|queue| &mut queue.models))
    }
}

#[cfg(test)]
mod tests;
