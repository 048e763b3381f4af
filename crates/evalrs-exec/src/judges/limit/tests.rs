//! Tables for each rule, and whole runs against servers made up at random, on a clock that is only counted.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::time::Duration;

use super::{EndpointLimits, Hindrance, LimitSettings, RequestLanding, Ticket, Why};
use crate::breaker::EndedAction;
use evalrs_model::outcome::{Failure, FailureKind};

const SETTINGS: LimitSettings = LimitSettings {
    most: 8,
    requests_per_minute: None,
    tokens_per_minute: None,
    identical_failures: 10,
};

fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn ended(limits: &mut EndpointLimits, prompt: &str, failure: Option<&Failure>) {
    limits.breaker.ended(EndedAction { model: "judge-1", prompt, failure });
}

/// Admits as many as may be sent now.
fn fill(limits: &mut EndpointLimits) -> Vec<Ticket> {
    std::iter::from_fn(|| limits.admit(s(0), 1).ok()).collect()
}

/// How many are sent at once after each round of landings.
fn sizes(limits: &mut EndpointLimits, rounds: &[&[RequestLanding]]) -> Vec<usize> {
    let mut sizes = Vec::new();
    let mut under_way = VecDeque::from(fill(limits));
    for round in rounds {
        for landing in *round {
            limits.landed(under_way.pop_front().unwrap(), *landing, None);
        }
        under_way.extend(fill(limits));
        sizes.push(under_way.len());
    }
    sizes
}

#[test]
fn the_number_at_once_halves_once_a_round_and_grows_by_one_a_round() {
    use RequestLanding::{Answered as Ok, Failed as Not, Overloaded as Over};
    for (rounds, expected) in [
        (&[&[Ok; 8][..], &[Not; 8]][..], vec![8, 8]),
        (&[&[Over]], vec![7]),
        // Those that were sent together tell of one overload.
        (&[&[Over; 8][..], &[Over; 4], &[Over; 2], &[Over], &[Over]], vec![4, 2, 1, 1, 1]),
        (&[&[Over, Over, Ok, Ok, Ok, Ok, Ok, Ok], &[Ok, Ok, Ok], &[Ok]], vec![4, 4, 5]),
        (&[&[Over; 8], &[Ok; 4], &[Ok; 5], &[Ok; 6], &[Ok; 7], &[Ok; 8]], vec![4, 5, 6, 7, 8, 8]),
        (&[&[Over; 8], &[Ok, Ok, Not, Ok], &[Ok]], vec![4, 4, 5]),
    ] {
        assert_eq!(sizes(&mut EndpointLimits::new(SETTINGS), rounds), expected, "{rounds:?}");
    }
}

#[test]
fn statuses_tell_of_the_servers_load() {
    for (status, expected) in [
        (200, RequestLanding::Answered),
        (204, RequestLanding::Answered),
        (301, RequestLanding::Failed),
        (400, RequestLanding::Failed),
        (408, RequestLanding::Overloaded),
        (429, RequestLanding::Overloaded),
        (504, RequestLanding::Overloaded),
        (500, RequestLanding::Failed),
        (503, RequestLanding::Overloaded),
        (529, RequestLanding::Overloaded),
    ] {
        assert_eq!(RequestLanding::of(status), expected, "{status}");
    }
}

#[test]
fn a_pause_holds_for_everybody_and_is_not_shortened() {
    let mut limits = EndpointLimits::new(SETTINGS);
    limits.pause(s(5), Why::Asked(429));
    limits.pause(s(3), Why::Exhausted);
    let until = |moment, why| Some(Hindrance::Until(s(moment), why));
    assert_eq!(limits.hindrance(s(4), 1), until(5, Why::Asked(429)));
    limits.pause(s(7), Why::Exhausted);
    assert_eq!(limits.hindrance(s(5), 1), until(7, Why::Exhausted));
    assert_eq!(limits.hindrance(s(7), 1), None);
}

#[test]
fn the_later_of_pause_and_figure_counts() {
    let mut limits =
        EndpointLimits::new(LimitSettings { requests_per_minute: Some(6), ..SETTINGS });
    let ticket = limits.admit(s(0), 1).unwrap();
    limits.pause(s(4), Why::Asked(503));
    let hindrance = limits.hindrance(s(1), 1);
    assert_eq!(hindrance, Some(Hindrance::Until(s(10), Why::Requests(6))));
    limits.pause(s(11), Why::Asked(503));
    let hindrance = limits.hindrance(s(1), 1);
    assert_eq!(hindrance, Some(Hindrance::Until(s(11), Why::Asked(503))));
    limits.landed(ticket, RequestLanding::Answered, Some(3));
}

#[test]
fn who_gives_up_makes_room_and_says_nothing_of_the_server() {
    let mut limits = EndpointLimits::new(LimitSettings { most: 1, ..SETTINGS });
    let ticket = limits.admit(s(0), 1).unwrap();
    assert_eq!(limits.admit(s(0), 1), Err(Hindrance::UntilOneLands));
    limits.abandoned(ticket);
    assert!(limits.admit(s(0), 1).is_ok());
    assert_eq!(limits.at_once(), (1, 1));
}

#[test]
fn failures_that_are_alike_close_the_endpoint() {
    let mut limits = EndpointLimits::new(LimitSettings { identical_failures: 2, ..SETTINGS });
    let kind = FailureKind::Unauthorized;
    let message = "the judge answered 401: who".to_owned();
    let failure = Failure::new(kind, message);
    ended(&mut limits, "a", Some(&failure));
    ended(&mut limits, "b", None);
    ended(&mut limits, "c", Some(&failure));
    assert_eq!((limits.hindrance(s(0), 1), limits.breaker.reason()), (None, None));
    ended(&mut limits, "d", Some(&failure));
    let reason = "failed 2 times in the same way: the judge answered 401: who";
    assert_eq!(limits.admit(s(0), 1), Err(Hindrance::Closed(reason.into())));
    ended(&mut limits, "e", None);
    assert!(limits.breaker.reason().is_some(), "it stays closed");
}

#[test]
fn new_settings_keep_what_was_learnt() {
    let figures = LimitSettings { requests_per_minute: Some(1), identical_failures: 1, ..SETTINGS };
    let mut limits = EndpointLimits::new(figures);
    let ticket = limits.admit(s(0), 1).unwrap();
    limits.landed(ticket, RequestLanding::Overloaded, None);
    let kind = FailureKind::Server;
    let message = String::new();
    ended(&mut limits, "a", Some(&Failure::new(kind, message)));
    limits.set(LimitSettings { most: 6, ..figures });
    assert_eq!((limits.breaker.reason().is_some(), limits.at_once()), (true, (4, 6)));
    limits.breaker.reset();
    assert_eq!(limits.breaker.reason(), None);
    let minute = Some(Hindrance::Until(s(60), Why::Requests(1)));
    assert_eq!(limits.hindrance(s(1), 1), minute);
    limits.set(LimitSettings { most: 3, ..SETTINGS });
    assert_eq!((limits.hindrance(s(1), 1), limits.at_once()), (None, (3, 3)));
    limits.set(SETTINGS);
    assert_eq!(limits.at_once(), (8, 8));
}

#[test]
fn what_is_waited_for_is_told_in_words() {
    for (why, expected) in [
        (Why::Asked(429), "the server's 429 sets this delay"),
        (Why::Exhausted, "the server's rate limit is used up"),
        (Why::Requests(1), "limit of 1 request a minute"),
        (Why::Requests(60), "limit of 60 requests a minute"),
        (Why::Tokens(9000), "limit of 9000 tokens a minute"),
    ] {
        assert_eq!(why.to_string(), expected);
    }
}

/// A server: how much it can do, and how it says that it was too much.
struct Server {
    at_once: usize,
    a_minute: usize,
    says_when: bool,
    latency: u64,
}

/// One run of a client against a server.
struct Simulation {
    limits: EndpointLimits,
    settings: LimitSettings,
    server: Server,
    random: fastrand::Rng,
    now: Duration,
    /// Requests that wait to be sent.
    waiting: usize,
    /// When each of those that were refused will be tried again.
    backing_off: BinaryHeap<Reverse<Duration>>,
    /// When each of those under way lands, and how.
    under_way: BinaryHeap<Reverse<(Duration, u64, bool)>>,
    tickets: Vec<(u64, Ticket)>,
    /// When requests were sent.
    sent: Vec<Duration>,
    /// Those of them that were served.
    served: Vec<Duration>,
}

impl Simulation {
    fn new(seed: u64) -> Self {
        let mut random = fastrand::Rng::with_seed(seed);
        let settings = LimitSettings {
            most: random.usize(1..40),
            requests_per_minute: random.bool().then(|| random.u32(1..3000)),
            ..SETTINGS
        };
        let server = Server {
            at_once: random.usize(1..60),
            a_minute: random.usize(30..5000),
            says_when: random.bool(),
            latency: random.u64(1..4000),
        };
        Self {
            limits: EndpointLimits::new(settings),
            settings,
            server,
            random,
            now: Duration::ZERO,
            waiting: 400,
            backing_off: BinaryHeap::new(),
            under_way: BinaryHeap::new(),
            tickets: Vec::new(),
            sent: Vec::new(),
            served: Vec::new(),
        }
    }

    /// Sends what may be sent. Returns when to look again, if time alone will make room.
    fn send(&mut self) -> Option<Duration> {
        while self.waiting > 0 {
            match self.limits.admit(self.now, 100) {
                Ok(ticket) => self.receive(ticket),
                Err(Hindrance::Until(moment, _)) => {
                    assert!(moment > self.now, "a wait that does not end");
                    return Some(moment);
                }
                Err(Hindrance::UntilOneLands) => {
                    assert!(!self.under_way.is_empty(), "nothing lands any more");
                    return None;
                }
                Err(Hindrance::Closed(_)) => unreachable!("nothing failed for good"),
            }
        }
        None
    }

    /// The server's side of a request.
    fn receive(&mut self, ticket: Ticket) {
        self.waiting -= 1;
        self.sent.push(self.now);
        let minute = self.now.saturating_sub(Duration::from_mins(1));
        let recent = self.served.iter().rev().take_while(|at| **at > minute).count();
        let is_served = self.under_way.len() < self.server.at_once && recent < self.server.a_minute;
        self.served.extend(is_served.then_some(self.now));
        let latency = if is_served {
            self.random.u64(1..=self.server.latency)
        } else {
            self.random.u64(1..5)
        };
        let number = self.sent.len() as u64;
        let lands = self.now + Duration::from_millis(latency);
        self.under_way.push(Reverse((lands, number, is_served)));
        self.tickets.push((number, ticket));
        assert!(self.under_way.len() <= self.settings.most);
    }

    fn land(&mut self) {
        let Reverse((at, number, is_served)) = self.under_way.pop().unwrap();
        self.now = at;
        let place = self.tickets.iter().position(|(known, _)| *known == number).unwrap();
        let (_, ticket) = self.tickets.swap_remove(place);
        if is_served {
            self.limits.landed(ticket, RequestLanding::Answered, Some(80));
            return;
        }
        let back_off = Duration::from_millis(self.random.u64(1..4000));
        self.backing_off.push(Reverse(self.now + back_off));
        self.limits.landed(ticket, RequestLanding::Overloaded, None);
        if self.server.says_when {
            let wait = Duration::from_millis(self.random.u64(0..5000));
            self.limits.pause(self.now + wait, Why::Asked(429));
        }
    }

    fn run(&mut self) {
        for _ in 0..100_000 {
            while self.backing_off.peek().is_some_and(|Reverse(until)| *until <= self.now) {
                self.backing_off.pop();
                self.waiting += 1;
            }
            let room = self.send();
            let again = self.backing_off.peek().map(|Reverse(until)| *until);
            let look = [room, again].into_iter().flatten().min();
            let lands = self.under_way.peek().map(|Reverse((at, ..))| *at);
            match (look, lands) {
                (Some(look), Some(lands)) if look < lands => self.now = look,
                (_, Some(_)) => self.land(),
                (Some(look), None) => self.now = look,
                (None, None) => return,
            }
        }
        panic!("no end: {} wait at {:?}", self.waiting, self.now);
    }
}

#[test]
fn every_server_is_served_within_the_limits_and_to_the_end() {
    for seed in 0..60 {
        let mut simulation = Simulation::new(seed);
        simulation.run();
        assert_eq!((simulation.waiting, simulation.under_way.len()), (0, 0), "{seed}");
        if let Some(most) = simulation.settings.requests_per_minute {
            for (at, from) in simulation.sent.iter().enumerate() {
                let until = *from + Duration::from_mins(1);
                let inside = simulation.sent[at..].iter().take_while(|sent| **sent < until).count();
                assert!(inside <= most as usize, "{seed}: {inside} of {most}");
            }
        }
        // The server recovers, and after a while everything is as it was configured.
        simulation.server = Server { at_once: 1000, a_minute: 1_000_000, ..simulation.server };
        simulation.waiting = simulation.settings.most * simulation.settings.most;
        simulation.run();
        let most = simulation.settings.most;
        assert_eq!(simulation.limits.at_once(), (most, most), "{seed}: not at full again");
    }
}
