//! The queue of a run, parted by who is asked: an endpoint that has to wait holds up no other, and of an endpoint one model
//! may be asked no more while others are.
//!
//! Actions of a lower rank come first. Of the endpoints that have room for one of them, the one with the fewest actions
//! under way comes next, so that a slow one does not fill every place; among equals, the earliest action.

use std::collections::{BTreeMap, VecDeque};

use crate::effects::exec::limit::LimitSettings;
use crate::effects::exec::{Endpoint, EndpointId, Executor, JudgeEndpointId, Room};

/// Where an action stands in the whole queue: those of a lower rank come first, among equals the earlier one.
type At = (u8, usize);

/// The queue, parted.
#[derive(Debug)]
pub(crate) struct Lanes<T> {
    lanes: Vec<Lane<T>>,
    /// The actions that were put in so far.
    count: usize,
}

/// The part of the queue that one endpoint is asked.
#[derive(Debug)]
struct Lane<T> {
    /// Where judges are asked; none for programs.
    endpoint: Option<Endpoint>,
    /// None where the queue was dropped and nobody has named the endpoint since.
    limits: Option<LimitSettings>,
    id: EndpointId,
    queues: Vec<ModelQueue<T>>,
    under_way: usize,
}

/// The actions that wait for one model of an endpoint.
#[derive(Debug)]
struct ModelQueue<T> {
    model: String,
    actions: BTreeMap<At, T>,
}

/// Where actions of one model of an endpoint wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct QueueId {
    lane: usize,
    queue: usize,
}

/// An action that may start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Next<T> {
    /// Who is asked.
    pub(crate) endpoint: EndpointId,
    queue: QueueId,
    at: At,
    /// The action.
    pub(crate) action: T,
}

/// An endpoint or a model of it that is asked no more, and the actions that it will not be asked.
#[derive(Debug)]
pub(crate) struct ClosedLane<T> {
    /// Why, in a sentence that names which.
    pub(crate) reason: String,
    /// What was left.
    pub(crate) rest: Vec<T>,
}

impl<T> Lane<T> {
    fn is_of_programs(&self) -> bool {
        self.endpoint.is_none()
    }

    fn has_place(&self) -> bool {
        self.limits.is_some_and(|limits| self.under_way < limits.most)
    }

    /// How many actions wait.
    fn len(&self) -> usize {
        self.queues.iter().map(|queue| queue.actions.len()).sum()
    }

    fn is_empty(&self) -> bool {
        self.queues.iter().all(|queue| queue.actions.is_empty())
    }

    /// The action that comes first, and the ordinal of its queue.
    fn first(&self) -> Option<(At, usize)> {
        let firsts = self.queues.iter().zip(0..);
        firsts.filter_map(|(queue, at)| Some((*queue.actions.keys().next()?, at))).min()
    }

    /// Takes out everything that waits, in its order.
    fn take_all(&mut self) -> Vec<T> {
        let queues = self.queues.iter_mut();
        let mut all: Vec<(At, T)> =
            queues.flat_map(|queue| std::mem::take(&mut queue.actions)).collect();
        all.sort_by_key(|(at, _)| *at);
        all.into_iter().map(|(_, action)| action).collect()
    }
}

impl<T> Lanes<T> {
    /// An empty queue.
    pub(crate) fn new() -> Self {
        Self { lanes: Vec::new(), count: 0 }
    }

    /// Where the actions of a model of an endpoint wait. Where the endpoint is known already, the smaller figures hold.
    pub(crate) fn queue(
        &mut self,
        endpoint: Option<Endpoint>,
        model: &str,
        limits: LimitSettings,
    ) -> QueueId {
        let known = self.lanes.iter().position(|lane| lane.endpoint == endpoint);
        let at = known.unwrap_or_else(|| {
            // That of judges is known once it is open.
            let id = match endpoint {
                Some(_) => EndpointId::Judge(JudgeEndpointId::default()),
                None => EndpointId::Program,
            };
            let queues = Vec::new();
            self.lanes.push(Lane { endpoint, limits: None, id, queues, under_way: 0 });
            self.lanes.len() - 1
        });
        let lane = &mut self.lanes[at];
        lane.limits = Some(lane.limits.map_or(limits, |held| held.and(limits)));
        let known = lane.queues.iter().position(|queue| queue.model == model);
        let queue = known.unwrap_or_else(|| {
            lane.queues.push(ModelQueue { model: model.to_owned(), actions: BTreeMap::new() });
            lane.queues.len() - 1
        });
        QueueId { lane: at, queue }
    }

    /// Puts an action behind those of its rank and of lower ones.
    pub(crate) fn push(&mut self, queue: QueueId, rank: u8, waiting: T) {
        let at = (rank, self.count);
        self.actions(queue).insert(at, waiting);
        self.count += 1;
    }

    fn actions(&mut self, QueueId { lane, queue }: QueueId) -> &mut BTreeMap<At, T> {
        &mut self.lanes[lane].queues[queue].actions
    }

    /// Makes every endpoint known to the executor.
    pub(crate) fn open(&mut self, executor: &dyn Executor) {
        for lane in &mut self.lanes {
            if let (Some(endpoint), Some(limits)) = (&lane.endpoint, lane.limits) {
                lane.id = EndpointId::Judge(executor.open(endpoint, limits));
            }
        }
    }

    /// Drops everything that waits, and the limits of all endpoints. What is under way still counts.
    pub(crate) fn drop_queue(&mut self) {
        self.count = 0;
        for lane in &mut self.lanes {
            lane.queues.clear();
            lane.limits = None;
        }
    }

    /// Whether nothing waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.lanes.iter().all(Lane::is_empty)
    }

    /// Whether a judge is still to be asked for something.
    pub(crate) fn has_judges_to_ask(&self) -> bool {
        self.lanes.iter().any(|lane| !lane.is_of_programs() && !lane.is_empty())
    }

    /// How many actions wait.
    pub(crate) fn len(&self) -> usize {
        self.lanes.iter().map(Lane::len).sum()
    }

    /// Takes out the next action that may start. It counts as under way until `landed`.
    /// With `only_programs`, one of those that nobody is paid for.
    pub(crate) fn next(&mut self, executor: &dyn Executor, only_programs: bool) -> Option<Next<T>> {
        let has_room = |(lane, _): &(&mut Lane<T>, usize)| {
            (!only_programs || lane.is_of_programs())
                && !lane.is_empty()
                && lane.has_place()
                && executor.room(lane.id) == Room::Now
        };
        let order = |(lane, _): &(&mut Lane<T>, usize)| {
            let ((rank, at), _) = lane.first().unwrap_or_default();
            (rank, lane.under_way, at)
        };
        let lanes = self.lanes.iter_mut().zip(0..);
        let (lane, ordinal) = lanes.filter(has_room).min_by_key(order)?;
        let (_, queue) = lane.first()?;
        let (at, action) = lane.queues[queue].actions.pop_first()?;
        lane.under_way += 1;
        Some(Next { endpoint: lane.id, queue: QueueId { lane: ordinal, queue }, at, action })
    }

    /// Puts an action back in the place that it had.
    pub(crate) fn put_back(&mut self, next: Next<T>) {
        self.landed(next.endpoint);
        self.actions(next.queue).insert(next.at, next.action);
    }

    /// An action of this endpoint landed.
    pub(crate) fn landed(&mut self, endpoint: EndpointId) {
        if let Some(lane) = self.lanes.iter_mut().find(|lane| lane.id == endpoint) {
            lane.under_way = lane.under_way.saturating_sub(1);
        }
    }

    /// The endpoints for which something waits that could start if one under way landed.
    pub(crate) fn full(&self, executor: &dyn Executor) -> Vec<EndpointId> {
        let is_full = |lane: &&Lane<T>| {
            let room = executor.room(lane.id);
            !lane.is_empty() && (room == Room::Full || room == Room::Now && !lane.has_place())
        };
        self.lanes.iter().filter(is_full).map(|lane| lane.id).collect()
    }

    /// Moves what is meant up to the end of those of `rank`, if it stands behind them. Whether it was anywhere.
    pub(crate) fn promote(&mut self, rank: u8, is_meant: &dyn Fn(&T) -> bool) -> bool {
        let mut is_there = false;
        for ModelQueue { actions, .. } in self.lanes.iter_mut().flat_map(|lane| &mut lane.queues) {
            is_there |= actions.range(..(rank + 1, 0)).any(|(_, waiting)| is_meant(waiting));
            let later = actions.range((rank + 1, 0)..);
            let meant: Vec<At> =
                later.filter(|(_, waiting)| is_meant(waiting)).map(|(at, _)| *at).collect();
            is_there |= !meant.is_empty();
            for at in meant {
                if let Some(waiting) = actions.remove(&at) {
                    actions.insert((rank, at.1), waiting);
                }
            }
        }
        is_there
    }

    /// Takes out everything that will not be asked because its endpoint is closed, or the model there.
    pub(crate) fn take_closed(&mut self, executor: &dyn Executor) -> Vec<ClosedLane<T>> {
        let mut closed = Vec::new();
        for lane in self.lanes.iter_mut().filter(|lane| !lane.is_empty()) {
            if let Room::Closed(reason) = executor.room(lane.id) {
                closed.push(ClosedLane { reason, rest: lane.take_all() });
                continue;
            }
            let EndpointId::Judge(id) = lane.id else { continue };
            for queue in lane.queues.iter_mut().filter(|queue| !queue.actions.is_empty()) {
                if let Some(reason) = executor.closed_model(id, &queue.model) {
                    let rest = std::mem::take(&mut queue.actions).into_values().collect();
                    closed.push(ClosedLane { reason, rest });
                }
            }
        }
        closed
    }

    /// Everything that waits, in the order in which it would be asked.
    pub(crate) fn into_rest(self) -> VecDeque<T> {
        let queues = self.lanes.into_iter().flat_map(|lane| lane.queues);
        let mut rest: Vec<_> = queues.flat_map(|queue| queue.actions).collect();
        rest.sort_by_key(|(at, _)| *at);
        rest.into_iter().map(|(_, waiting)| waiting).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::{ClosedLane, Lanes};
    use crate::effects::exec::limit::LimitSettings;
    use crate::effects::exec::{
        Endpoint, EndpointId, Executing, Executor, JudgeEndpointId, Launch, Room,
    };

    const SETTINGS: LimitSettings = LimitSettings {
        most: 4,
        requests_per_minute: None,
        tokens_per_minute: Some(9),
        identical_failures: 5,
    };

    /// Knows endpoints and their room, and executes nothing.
    #[derive(Default)]
    struct Doorkeeper {
        opened: RefCell<Vec<(String, LimitSettings)>>,
        rooms: RefCell<Vec<Room>>,
    }

    impl Executor for Doorkeeper {
        fn execute(&self, _launch: Launch) -> Executing<'_> {
            unreachable!("nothing is launched")
        }

        fn open(&self, endpoint: &Endpoint, limits: LimitSettings) -> JudgeEndpointId {
            self.opened.borrow_mut().push((endpoint.base_url.clone(), limits));
            self.rooms.borrow_mut().push(Room::Now);
            JudgeEndpointId(self.opened.borrow().len() - 1)
        }

        fn room(&self, endpoint: EndpointId) -> Room {
            let EndpointId::Judge(JudgeEndpointId(at)) = endpoint else { return Room::Now };
            self.rooms.borrow()[at].clone()
        }

        fn closed_model(&self, _endpoint: JudgeEndpointId, model: &str) -> Option<String> {
            (model == "closed").then(|| "it says nothing".to_owned())
        }
    }

    fn endpoint(url: &str) -> Option<Endpoint> {
        let provider = "openai".to_owned();
        Some(Endpoint { provider, base_url: url.to_owned(), api_key: None })
    }

    /// A queue whose actions are named after their endpoints, `a` or `b`.
    fn queue(actions: &[&'static str]) -> (Doorkeeper, Lanes<&'static str>) {
        let (executor, mut lanes) = (Doorkeeper::default(), Lanes::new());
        for action in actions {
            let queue = lanes.queue(endpoint(&action[..1]), "open", SETTINGS);
            lanes.push(queue, 0, *action);
        }
        lanes.open(&executor);
        (executor, lanes)
    }

    /// Everything that starts before anything lands.
    fn started(executor: &Doorkeeper, lanes: &mut Lanes<&'static str>) -> Vec<&'static str> {
        std::iter::from_fn(|| Some(lanes.next(executor, false)?.action)).collect()
    }

    #[test]
    fn graders_that_share_an_endpoint_share_the_smaller_figures() {
        let (executor, mut lanes) = (Doorkeeper::default(), Lanes::<()>::new());
        let other = LimitSettings {
            most: 7,
            requests_per_minute: Some(60),
            tokens_per_minute: Some(8),
            identical_failures: 0,
        };
        let first = lanes.queue(endpoint("a"), "m", SETTINGS);
        assert_eq!(lanes.queue(endpoint("a"), "m", other), first);
        assert_ne!(lanes.queue(endpoint("b"), "m", other), first);
        lanes.open(&executor);
        let shared = LimitSettings { most: 4, identical_failures: 5, ..other };
        let opened = executor.opened.into_inner();
        assert_eq!(opened, [("a".to_owned(), shared), ("b".to_owned(), other)]);
    }

    #[test]
    fn the_fewest_under_way_come_next_and_then_the_earliest() {
        for (actions, expected) in [
            (&["a1", "a2", "a3"][..], &["a1", "a2", "a3"][..]),
            (&["a1", "a2", "b1", "a3", "b2"], &["a1", "b1", "a2", "b2", "a3"]),
            (&["b1", "b2", "a1"], &["b1", "a1", "b2"]),
            (&["a1", "a2", "a3", "a4", "a5"], &["a1", "a2", "a3", "a4"]),
        ] {
            let (executor, mut lanes) = queue(actions);
            assert_eq!(started(&executor, &mut lanes), expected, "{actions:?}");
        }
    }

    #[test]
    fn a_slow_endpoint_keeps_its_places_and_no_more() {
        let (executor, mut lanes) = queue(&["a1", "a2", "a3", "b1", "b2", "b3"]);
        let next = |lanes: &mut Lanes<_>| lanes.next(&executor, false).map(|next| next.action);
        assert_eq!([next(&mut lanes), next(&mut lanes)], [Some("a1"), Some("b1")]);
        for expected in ["b2", "b3"] {
            lanes.landed(EndpointId::Judge(JudgeEndpointId(1)));
            assert_eq!(next(&mut lanes), Some(expected));
        }
    }

    #[test]
    fn an_endpoint_without_room_is_passed_over_and_a_closed_one_emptied() {
        let (executor, mut lanes) = queue(&["a1", "b1", "a2", "b2"]);
        executor.rooms.borrow_mut()[0] = Room::Later;
        assert_eq!(started(&executor, &mut lanes), ["b1", "b2"]);
        assert!(lanes.take_closed(&executor).is_empty() && !lanes.is_empty());
        executor.rooms.borrow_mut().fill(Room::Closed("gone".to_owned()));
        assert_eq!(started(&executor, &mut lanes), Vec::<&str>::new());
        let closed = lanes.take_closed(&executor);
        assert_eq!(closed.len(), 1, "nothing is left for the other");
        assert_eq!((closed[0].reason.as_str(), &closed[0].rest[..]), ("gone", &["a1", "a2"][..]));
        assert!(lanes.is_empty());
    }

    #[test]
    fn a_model_that_is_closed_leaves_others_of_its_endpoint_alone() {
        let (executor, mut lanes) = queue(&["a1", "b1"]);
        let closed = lanes.queue(endpoint("a"), "closed", SETTINGS);
        lanes.push(closed, 0, "a2");
        lanes.push(closed, 0, "a3");
        let open = lanes.queue(endpoint("a"), "open", SETTINGS);
        lanes.push(open, 0, "a4");
        let first = lanes.next(&executor, false).unwrap();
        lanes.put_back(first);
        let closed = lanes.take_closed(&executor);
        assert_eq!(closed.len(), 1);
        let ClosedLane { reason, rest } = &closed[0];
        assert_eq!((reason.as_str(), &rest[..]), ("it says nothing", &["a2", "a3"][..]));
        assert_eq!(started(&executor, &mut lanes), ["a1", "b1", "a4"]);
    }

    #[test]
    fn models_of_one_endpoint_are_asked_in_the_order_of_the_queue() {
        let (executor, mut lanes) = (Doorkeeper::default(), Lanes::new());
        for (action, model) in [("a1", "m"), ("a2", "n"), ("a3", "m"), ("a4", "n")] {
            let queue = lanes.queue(endpoint("a"), model, SETTINGS);
            lanes.push(queue, 0, action);
        }
        lanes.open(&executor);
        assert_eq!(lanes.len(), 4);
        assert_eq!(started(&executor, &mut lanes), ["a1", "a2", "a3", "a4"]);
    }

    #[test]
    fn an_action_that_is_put_back_comes_next() {
        let (executor, mut lanes) = queue(&["a1", "b1", "a2"]);
        let next = lanes.next(&executor, false).unwrap();
        lanes.put_back(next);
        assert_eq!(lanes.next(&executor, false), Some(next));
        assert_eq!(lanes.into_rest(), ["b1", "a2"]);
    }

    #[test]
    fn what_is_left_is_in_its_first_order() {
        let (executor, mut lanes) = queue(&["a1", "b1", "a2", "b2", "a3"]);
        lanes.next(&executor, false);
        assert_eq!(lanes.into_rest(), ["b1", "a2", "b2", "a3"]);
    }
}
