//! What may start, and in which order.

use std::cell::RefCell;

use super::{ClosedQueue, QueueOwner, Queues};
use evalrs_exec::{
    ChangeFuture, Endpoint, EndpointId, ExecutionLimits, JudgeEndpointId, LimitSettings, Notice,
    Room,
};

const SETTINGS: LimitSettings = LimitSettings {
    most: 4,
    requests_per_minute: None,
    tokens_per_minute: Some(9),
    identical_failures: 5,
};

/// Knows endpoints and their room.
#[derive(Default)]
struct Doorkeeper {
    opened: RefCell<Vec<(String, LimitSettings)>>,
    rooms: RefCell<Vec<Room>>,
}

impl ExecutionLimits for Doorkeeper {
    fn begin(&self) {}

    fn halt(&self, _reason: &str) {}

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

    fn changed(&self) -> ChangeFuture<'_> {
        unreachable!("nobody waits")
    }

    fn take_notices(&self) -> Vec<Notice> {
        Vec::new()
    }
}

fn endpoint(url: &str) -> Endpoint {
    let provider = "openai".to_owned();
    Endpoint { provider, base_url: url.to_owned(), api_key: None }
}

fn all(_owner: &QueueOwner) -> bool {
    true
}

/// A queue whose actions are named after their endpoints, `a` or `b`.
fn queue(actions: &[&'static str]) -> (Doorkeeper, Queues<&'static str>) {
    let executor = Doorkeeper::default();
    let mut queues = Queues::new();
    for action in actions {
        let queue = queues.queue(QueueOwner::Judges(endpoint(&action[..1])), "open", SETTINGS);
        queues.push(queue, 0, None, *action);
    }
    queues.open(&executor);
    (executor, queues)
}

/// Everything that starts before anything lands.
fn started(executor: &Doorkeeper, queues: &mut Queues<&'static str>) -> Vec<&'static str> {
    std::iter::from_fn(|| Some(queues.next(executor, all)?.action)).collect()
}

#[test]
fn graders_that_share_an_endpoint_share_the_smaller_figures() {
    let executor = Doorkeeper::default();
    let mut queues = Queues::<()>::new();
    let other = LimitSettings {
        most: 7,
        requests_per_minute: Some(60),
        tokens_per_minute: Some(8),
        identical_failures: 0,
    };
    let first = queues.queue(QueueOwner::Judges(endpoint("a")), "m", SETTINGS);
    assert_eq!(queues.queue(QueueOwner::Judges(endpoint("a")), "m", other), first);
    assert_ne!(queues.queue(QueueOwner::Judges(endpoint("b")), "m", other), first);
    queues.open(&executor);
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
        let (executor, mut queues) = queue(actions);
        assert_eq!(started(&executor, &mut queues), expected, "{actions:?}");
    }
}

#[test]
fn a_slow_endpoint_keeps_its_places_and_no_more() {
    let (executor, mut queues) = queue(&["a1", "a2", "a3", "b1", "b2", "b3"]);
    let next = |queues: &mut Queues<_>| queues.next(&executor, all).map(|next| next.action);
    assert_eq!([next(&mut queues), next(&mut queues)], [Some("a1"), Some("b1")]);
    for expected in ["b2", "b3"] {
        queues.landed(EndpointId::Judge(JudgeEndpointId(1)), None, true);
        assert_eq!(next(&mut queues), Some(expected));
    }
}

#[test]
fn an_endpoint_without_room_is_passed_over_and_a_closed_one_emptied() {
    let (executor, mut queues) = queue(&["a1", "b1", "a2", "b2"]);
    executor.rooms.borrow_mut()[0] = Room::Later;
    assert_eq!(started(&executor, &mut queues), ["b1", "b2"]);
    assert!(queues.take_closed(&executor).is_empty() && !queues.is_empty());
    executor.rooms.borrow_mut().fill(Room::Closed("gone".to_owned()));
    assert_eq!(started(&executor, &mut queues), Vec::<&str>::new());
    let closed = queues.take_closed(&executor);
    assert_eq!(closed.len(), 1, "nothing is left for the other");
    assert_eq!((closed[0].reason.as_str(), &closed[0].rest[..]), ("gone", &["a1", "a2"][..]));
    assert!(queues.is_empty());
}

#[test]
fn a_model_that_is_closed_leaves_others_of_its_endpoint_alone() {
    let (executor, mut queues) = queue(&["a1", "b1"]);
    let closed = queues.queue(QueueOwner::Judges(endpoint("a")), "closed", SETTINGS);
    queues.push(closed, 0, None, "a2");
    queues.push(closed, 0, None, "a3");
    let open = queues.queue(QueueOwner::Judges(endpoint("a")), "open", SETTINGS);
    queues.push(open, 0, None, "a4");
    let first = queues.next(&executor, all).unwrap();
    queues.put_back(first);
    let closed = queues.take_closed(&executor);
    assert_eq!(closed.len(), 1);
    let ClosedQueue { reason, rest } = &closed[0];
    assert_eq!((reason.as_str(), &rest[..]), ("it says nothing", &["a2", "a3"][..]));
    assert_eq!(started(&executor, &mut queues), ["a1", "b1", "a4"]);
}

#[test]
fn models_of_one_endpoint_are_asked_in_the_order_of_the_queue() {
    let executor = Doorkeeper::default();
    let mut queues = Queues::new();
    for (action, model) in [("a1", "m"), ("a2", "n"), ("a3", "m"), ("a4", "n")] {
        let queue = queues.queue(QueueOwner::Judges(endpoint("a")), model, SETTINGS);
        queues.push(queue, 0, None, action);
    }
    queues.open(&executor);
    assert_eq!(queues.len(), 4);
    assert_eq!(started(&executor, &mut queues), ["a1", "a2", "a3", "a4"]);
}

#[test]
fn an_action_that_is_put_back_comes_next() {
    let (executor, mut queues) = queue(&["a1", "b1", "a2"]);
    let next = queues.next(&executor, all).unwrap();
    queues.put_back(next);
    assert_eq!(queues.next(&executor, all), Some(next));
    assert_eq!(queues.take_rest(), ["b1", "a2"]);
}

#[test]
fn what_is_left_is_in_its_first_order() {
    let (executor, mut queues) = queue(&["a1", "b1", "a2", "b2", "a3"]);
    queues.next(&executor, all);
    assert_eq!(queues.take_rest(), ["b1", "a2", "b2", "a3"]);
}

/// Actions with prefixes: `x1` and `x2` begin alike.
fn begun(actions: &[&'static str]) -> (Queues<&'static str>, Doorkeeper) {
    let mut queues = Queues::new();
    let settings = LimitSettings { most: 9, ..SETTINGS };
    let queue = queues.queue(QueueOwner::Judges(endpoint("a")), "open", settings);
    for action in actions {
        queues.push(queue, 0, Some(u64::from(action.as_bytes()[0])), *action);
    }
    let executor = Doorkeeper::default();
    queues.open(&executor);
    (queues, executor)
}

#[test]
fn the_first_of_those_that_begin_alike_goes_alone() {
    let (mut queues, executor) = begun(&["x1", "x2", "y1", "x3", "z1", "y2"]);
    let started = |queues: &mut Queues<&'static str>| {
        let next = std::iter::from_fn(|| queues.next(&executor, all));
        next.map(|next| (next.action, next.prefix.is_some())).collect::<Vec<_>>()
    };
    let a = EndpointId::Judge(JudgeEndpointId(0));
    let of = |name: u8| Some(u64::from(name));
    // One that nobody begins like waits for nobody, and nobody for it.
    assert_eq!(started(&mut queues), [("x1", true), ("y1", true), ("z1", false)]);
    assert_eq!((queues.len(), queues.is_empty()), (3, false));
    queues.landed(a, of(b'x'), true);
    assert_eq!(started(&mut queues), [("x2", true), ("x3", true)]);
    // It came to nothing: the next one is the first.
    queues.landed(a, of(b'y'), false);
    assert_eq!(started(&mut queues), [("y2", false)]);
    assert!(queues.is_empty());
}

#[test]
fn those_that_wait_for_another_one_are_never_lost() {
    let (mut queues, executor) = begun(&["x1", "x2", "x3", "x4"]);
    let first = queues.next(&executor, all).unwrap();
    assert_eq!((first.action, queues.next(&executor, all)), ("x1", None));
    assert!(queues.promote(0, &|action| *action == "x3"));
    queues.put_back(first);
    let first = queues.next(&executor, all).unwrap();
    assert_eq!((first.action, queues.next(&executor, all)), ("x1", None));
    // What it begins with is too short to be cached.
    queues.go_on(u64::from(b'x'), true);
    assert_eq!(queues.next(&executor, all).unwrap().action, "x2");
    let (mut queues, executor) = begun(&["x1", "x2", "x3"]);
    let first = queues.next(&executor, all).unwrap();
    assert_eq!(queues.next(&executor, all), None);
    // One that comes later is one of them, whatever becomes of the first.
    queues.push(first.queue, 0, first.prefix, "x4");
    assert_eq!((queues.next(&executor, all), queues.len()), (None, 3));
    queues.landed(first.endpoint, first.prefix, false);
    assert_eq!(queues.next(&executor, all).unwrap().action, "x2");
    assert_eq!((queues.next(&executor, all), queues.len()), (None, 2));
    assert_eq!(queues.take_rest(), ["x3", "x4"]);
    assert!(queues.is_empty());
    let (mut queues, executor) = begun(&["x1", "x2", "x3"]);
    queues.next(&executor, all).unwrap();
    assert_eq!(queues.next(&executor, all), None);
    executor.rooms.borrow_mut()[0] = Room::Closed("it is gone".to_owned());
    let closed = queues.take_closed(&executor);
    assert_eq!(closed.iter().map(|queue| queue.rest.clone()).collect::<Vec<_>>(), [["x2", "x3"]]);
}
