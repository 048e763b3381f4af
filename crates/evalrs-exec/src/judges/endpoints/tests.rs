//! Who is sent when, on a clock that moves only when everybody sleeps.

use std::cell::RefCell;
use std::future::Future;
use std::time::Duration;

use futures_util::future::join_all;

use super::{Endpoints, Refusal, RequestEntry, RequestSlot};
use crate::LimitSettings;
use crate::judges::pause::Pause;
use crate::{Endpoint, ExecutionLimits, JudgeEndpointId, Notice, Room, Secret};
use evalrs_model::outcome::{Failure, FailureKind, Outcome, Reply};

const SETTINGS: LimitSettings = LimitSettings {
    most: 4,
    requests_per_minute: None,
    tokens_per_minute: None,
    identical_failures: 2,
};

/// Runs `test` on a clock of its own.
fn on_still_clock<T>(test: impl Future<Output = T>) -> T {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_time().start_paused(true).build().unwrap().block_on(test)
}

fn endpoint(url: &str) -> Endpoint {
    let provider = "openai".to_owned();
    let api_key = Some(Secret::new("key".to_owned()));
    Endpoint { provider, base_url: url.to_owned(), api_key }
}

fn open(endpoints: &Endpoints, url: &str, settings: LimitSettings) -> JudgeEndpointId {
    endpoints.open(&endpoint(url), settings)
}

async fn slot(endpoints: &Endpoints, id: JudgeEndpointId) -> RequestSlot<'_> {
    endpoints.enter(id, 1).slot(Duration::MAX).await.unwrap()
}

fn failed(kind: FailureKind) -> Outcome {
    let failure = Failure::new(kind, "boom");
    Outcome::Failure(failure)
}

fn ended(endpoints: &Endpoints, id: JudgeEndpointId, prompt: &str, outcome: &Outcome) {
    endpoints.ended(id, &crate::judges::test_data::action("judge-1", prompt), outcome);
}

fn asks(seconds: u64) -> Pause {
    Pause { retry_after: Some(Duration::from_secs(seconds)), ..Pause::default() }
}

/// What was said: the lines, and in brackets what is not worth one.
fn said(endpoints: &Endpoints) -> Vec<String> {
    let shown = |notice| match notice {
        Notice::Waiting { what, is_new: true, .. } => what,
        Notice::Waiting { what, .. } => format!("({what})"),
        Notice::Going(id) => format!("{} goes on", id.0),
        Notice::Line(line) => line,
        Notice::Agent { who, .. } => who,
    };
    endpoints.take_notices().into_iter().map(shown).collect()
}

#[test]
fn an_endpoint_is_opened_once_and_shown_without_secrets() {
    on_still_clock(async {
        let endpoints = Endpoints::new(4);
        let url = "https://me:password@judge.example/v1?key=secret";
        let id = open(&endpoints, url, SETTINGS);
        assert_eq!(open(&endpoints, url, SETTINGS), id);
        assert_eq!(endpoints.url(id), "https://judge.example/v1");
        let other = Endpoint { api_key: None, ..endpoint(url) };
        assert_ne!(endpoints.open(&other, SETTINGS), id, "another key has other limits");
    });
}

#[test]
fn requests_at_once_are_counted_by_endpoint_and_over_all() {
    on_still_clock(async {
        let endpoints = Endpoints::new(3);
        let a = open(&endpoints, "a", LimitSettings { most: 2, ..SETTINGS });
        let b = open(&endpoints, "b", SETTINGS);
        let one = slot(&endpoints, a).await;
        let two = slot(&endpoints, a).await;
        assert_eq!((endpoints.room_at(a), endpoints.room_at(b)), (Room::Full, Room::Now));
        let three = slot(&endpoints, b).await;
        assert_eq!((endpoints.room_at(a), endpoints.room_at(b)), (Room::Full, Room::Full));
        two.landed(Some(200), &Pause::default(), None);
        assert_eq!((endpoints.room_at(a), endpoints.room_at(b)), (Room::Now, Room::Now));
        drop((one, three));
        let many = join_all([slot(&endpoints, b), slot(&endpoints, b), slot(&endpoints, b)]).await;
        assert_eq!((many.len(), endpoints.room_at(a)), (3, Room::Full), "who gave up makes room");
        assert_eq!(said(&endpoints), Vec::<String>::new(), "nothing unusual is waited for");
    });
}

#[test]
fn who_waits_is_sent_before_new_actions() {
    on_still_clock(async {
        let endpoints = Endpoints::new(4);
        let id = open(&endpoints, "a", LimitSettings { most: 1, ..SETTINGS });
        let first = slot(&endpoints, id).await;
        let queued = endpoints.enter(id, 1);
        assert!(matches!(queued, RequestEntry::Queued(_)));
        first.landed(Some(200), &Pause::default(), None);
        assert_eq!(endpoints.room_at(id), Room::Later);
        let second = queued.slot(Duration::MAX).await.unwrap();
        second.landed(Some(200), &Pause::default(), None);
        assert_eq!(endpoints.room_at(id), Room::Now);
    });
}

#[test]
fn a_place_belongs_to_who_waits_for_it_at_another_endpoint() {
    on_still_clock(async {
        let endpoints = Endpoints::new(2);
        let limits = LimitSettings { tokens_per_minute: Some(600), ..SETTINGS };
        let a = open(&endpoints, "a", limits);
        let b = open(&endpoints, "b", SETTINGS);
        let one = slot(&endpoints, b).await;
        let two = slot(&endpoints, b).await;
        let again = endpoints.enter(a, 600);
        let more = endpoints.enter(a, 600);
        one.landed(Some(200), &Pause::default(), None);
        assert_eq!((endpoints.room_at(a), endpoints.room_at(b)), (Room::Later, Room::Later));
        let again = again.slot(Duration::MAX).await.unwrap();
        two.landed(Some(200), &Pause::default(), None);
        assert_eq!(endpoints.room_at(b), Room::Now, "the other one has no tokens left");
        drop((again, more));
        let one = slot(&endpoints, b).await;
        let two = slot(&endpoints, b).await;
        let c = open(&endpoints, "c", SETTINGS);
        let waits = endpoints.enter(c, 1);
        drop(one);
        assert_eq!(endpoints.room_at(b), Room::Later);
        drop(two);
        assert_eq!(endpoints.room_at(b), Room::Now, "one waits, and there are two places");
        drop(waits);
    });
}

#[test]
fn what_one_reply_asks_for_holds_for_all_and_is_said_once() {
    on_still_clock(async {
        let endpoints = Endpoints::new(4);
        let id = open(&endpoints, "http://a", SETTINGS);
        let one = slot(&endpoints, id).await;
        let two = slot(&endpoints, id).await;
        one.landed(Some(429), &asks(12), None);
        two.landed(Some(200), &Pause::default(), None);
        assert_eq!(endpoints.room_at(id), Room::Later);
        assert_eq!(endpoints.room_at(id), Room::Later);
        endpoints.changed().await;
        assert_eq!(
            said(&endpoints),
            [
                "http://a is overloaded: concurrency 4 → 2 (`max_concurrent` sets it)",
                "rate limited by http://a (429); retrying in 12 s"
            ]
        );
        endpoints.changed().await;
        assert_eq!((endpoints.now().as_secs(), endpoints.room_at(id)), (12, Room::Now));
        let three = slot(&endpoints, id).await;
        three.landed(Some(429), &asks(5), None);
        assert_eq!(endpoints.room_at(id), Room::Later);
        assert_eq!(
            said(&endpoints),
            [
                "(http://a is overloaded: concurrency 4 → 2 (`max_concurrent` sets it))",
                "(http://a is overloaded: concurrency 2 → 1 (`max_concurrent` sets it))",
                "(rate limited by http://a (429); retrying in 5.0 s)"
            ],
            "within a minute it is no news"
        );
    });
}

#[test]
fn one_endpoint_waits_and_another_does_not() {
    on_still_clock(async {
        let endpoints = Endpoints::new(4);
        let a = open(&endpoints, "a", SETTINGS);
        let b = open(&endpoints, "b", SETTINGS);
        slot(&endpoints, a).await.landed(Some(503), &asks(600), None);
        let queued = endpoints.enter(a, 1);
        for _ in 0..20 {
            assert_eq!(endpoints.room_at(b), Room::Now);
            slot(&endpoints, b).await.landed(Some(200), &Pause::default(), None);
        }
        assert_eq!((endpoints.room_at(a), endpoints.now()), (Room::Later, Duration::ZERO));
        drop(queued);
    });
}

#[test]
fn a_budget_that_a_success_used_up_is_waited_for() {
    on_still_clock(async {
        let endpoints = Endpoints::new(4);
        let id = open(&endpoints, "a", SETTINGS);
        let exhausted = Pause { exhausted: Some(Duration::from_millis(20)), ..Pause::default() };
        slot(&endpoints, id).await.landed(Some(200), &exhausted, None);
        slot(&endpoints, id).await.landed(Some(200), &Pause::default(), None);
        assert_eq!(endpoints.now(), Duration::from_millis(20));
        assert_eq!(
            said(&endpoints),
            ["rate limit of a used up; next request in 20 ms", "0 goes on"]
        );
    });
}

#[test]
fn a_long_back_off_is_shown_until_something_is_sent() {
    on_still_clock(async {
        let endpoints = Endpoints::new(4);
        let id = open(&endpoints, "a", SETTINGS);
        endpoints.back_off(id, Duration::from_millis(999), Duration::MAX, "").await.unwrap();
        assert_eq!(said(&endpoints), Vec::<String>::new());
        endpoints
            .back_off(id, Duration::from_secs(20), Duration::MAX, "no answer; retry 1 of 2")
            .await
            .unwrap();
        drop(slot(&endpoints, id).await);
        assert_eq!(said(&endpoints), ["retrying a in 20 s (no answer; retry 1 of 2)", "0 goes on"]);
        slot(&endpoints, id).await.landed(Some(500), &asks(3), None);
        endpoints.back_off(id, Duration::from_secs(3), Duration::MAX, "").await.unwrap();
        assert_eq!(said(&endpoints), ["a answered 500; retrying in 3.0 s"]);
    });
}

/// Sends requests of so many tokens, all at once; returns the seconds at which they were sent.
fn sent_at(settings: LimitSettings, tokens: &[u64], used: Option<u64>) -> (Vec<u64>, Vec<String>) {
    on_still_clock(async {
        let endpoints = Endpoints::new(100);
        let id = open(&endpoints, "a", settings);
        let times = RefCell::new(Vec::new());
        let send = |tokens: u64| {
            let endpoints = &endpoints;
            let times = &times;
            async move {
                let slot = endpoints.enter(id, tokens).slot(Duration::MAX).await.unwrap();
                times.borrow_mut().push(endpoints.now().as_secs());
                slot.landed(Some(200), &Pause::default(), used);
            }
        };
        join_all(tokens.iter().map(|tokens| send(*tokens))).await;
        (times.into_inner(), said(&endpoints))
    })
}

#[test]
fn figures_of_a_minute_are_kept_and_said() {
    let per_minute = |requests, tokens| LimitSettings {
        most: 100,
        requests_per_minute: requests,
        tokens_per_minute: tokens,
        ..SETTINGS
    };
    let (times, said) = sent_at(per_minute(Some(12), None), &[1; 14], None);
    assert_eq!(times, [0, 0, 10, 10, 20, 20, 30, 30, 40, 40, 50, 50, 60, 60]);
    assert_eq!(said[0], "limit of 12 requests a minute: next request to a in 10 s");
    assert!(said[1..].iter().all(|line| !line.starts_with("limit")), "{said:?}");
    let (times, said) = sent_at(per_minute(None, Some(1000)), &[600; 4], None);
    assert_eq!(times, [0, 60, 120, 180]);
    assert_eq!(said[0], "limit of 1000 tokens a minute: next request to a in 60 s");
    let (times, _) = sent_at(per_minute(None, Some(1000)), &[600; 4], Some(100));
    assert_eq!(times, [0, 0, 10, 10], "what was really used counts");
}

#[test]
fn a_wait_that_ends_too_late_is_not_begun() {
    on_still_clock(async {
        let endpoints = Endpoints::new(4);
        let id = open(&endpoints, "a", LimitSettings { most: 1, ..SETTINGS });
        let until = Duration::from_secs(30);
        slot(&endpoints, id).await.landed(Some(429), &asks(60), None);
        let late = endpoints.enter(id, 1).slot(until).await.unwrap_err();
        let what = "the next attempt is due in 60 s: the server's 429 sets this delay";
        assert_eq!(late, Refusal::TooLate(what.to_owned()));
        let late = endpoints.back_off(id, Duration::ZERO, until, "").await.unwrap_err();
        assert_eq!(late, Refusal::TooLate(what.to_owned()));
        let id = open(&endpoints, "b", LimitSettings { most: 1, ..SETTINGS });
        let late = endpoints.back_off(id, Duration::from_secs(31), until, "").await.unwrap_err();
        assert_eq!(late, Refusal::TooLate("the next attempt is due in 31 s".to_owned()));
        assert_eq!(endpoints.now(), Duration::ZERO);
        endpoints.back_off(id, until, until, "").await.unwrap();
        assert_eq!(endpoints.now(), until);
        let held = slot(&endpoints, id).await;
        let until = endpoints.now() + Duration::from_secs(5);
        let late = endpoints.enter(id, 1).slot(until).await.unwrap_err();
        assert_eq!(late, Refusal::TooLate("its requests had to wait for others".to_owned()));
        assert_eq!(endpoints.now(), until);
        drop(held);
    });
}

#[test]
fn nobody_waits_for_an_endpoint_that_is_closed() {
    on_still_clock(async {
        let endpoints = Endpoints::new(4);
        let id = open(&endpoints, "http://a", LimitSettings { most: 1, ..SETTINGS });
        let held = slot(&endpoints, id).await;
        let queued = endpoints.enter(id, 1).slot(Duration::MAX);
        let sleeping = endpoints.back_off(id, Duration::from_mins(1), Duration::MAX, "");
        let closing = async {
            ended(&endpoints, id, "1", &failed(FailureKind::NotAsked));
            ended(&endpoints, id, "2", &failed(FailureKind::Unauthorized));
            tokio::time::sleep(Duration::from_secs(1)).await;
            assert_eq!(endpoints.room_at(id), Room::Full);
            ended(&endpoints, id, "3", &failed(FailureKind::Unauthorized));
        };
        let (queued, sleeping, ()) = tokio::join!(queued, sleeping, closing);
        let reason = "`http://a` failed 2 times in the same way: boom".to_owned();
        assert_eq!(queued.unwrap_err(), Refusal::Closed(reason.clone()));
        assert_eq!(sleeping.unwrap_err(), Refusal::Closed(reason.clone()));
        assert_eq!(endpoints.room_at(id), Room::Closed(reason));
        assert_eq!(endpoints.now(), Duration::from_secs(1));
        open(&endpoints, "http://a", SETTINGS);
        assert!(matches!(endpoints.room_at(id), Room::Closed(_)));
        endpoints.begin();
        assert_eq!(endpoints.room_at(id), Room::Now, "the next evaluation asks again");
        drop(held);
    });
}

#[test]
fn nothing_is_sent_after_a_halt_but_what_is_under_way_lands() {
    on_still_clock(async {
        let endpoints = Endpoints::new(4);
        let limits = LimitSettings { most: 1, ..SETTINGS };
        let a = open(&endpoints, "a", limits);
        let b = open(&endpoints, "b", limits);
        let held = slot(&endpoints, a).await;
        let queued = endpoints.enter(a, 1).slot(Duration::MAX);
        let sleeping = endpoints.back_off(b, Duration::from_mins(1), Duration::MAX, "");
        let halting = async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            endpoints.halt("the disk is full");
        };
        let (queued, sleeping, ()) = tokio::join!(queued, sleeping, halting);
        let refused = Refusal::Closed("the disk is full".to_owned());
        assert_eq!((queued.unwrap_err(), sleeping.unwrap_err()), (refused.clone(), refused));
        assert_eq!(endpoints.now(), Duration::from_secs(1));
        assert_eq!(endpoints.room_at(b), Room::Closed("the disk is full".to_owned()));
        held.landed(Some(200), &Pause::default(), None);
        endpoints.begin();
        assert_eq!((endpoints.room_at(a), endpoints.room_at(b)), (Room::Now, Room::Now));
    });
}

#[test]
fn requests_that_time_out_lower_the_concurrency() {
    on_still_clock(async {
        let endpoints = Endpoints::new(4);
        let id = open(&endpoints, "http://a", SETTINGS);
        let four: Vec<_> = join_all((0..4).map(|_| slot(&endpoints, id))).await;
        let late = Failure::new(FailureKind::Timeout, "no answer within 2 s");
        let pause = Pause::default();
        for slot in four {
            slot.failed(&late, None, &pause, 1);
        }
        assert_eq!(
            said(&endpoints),
            ["http://a gave no answer within 2 s; retrying: concurrency 4 → 2 \
                 (`max_concurrent` sets it)"],
            "those that were sent together count once"
        );
        slot(&endpoints, id).await.failed(&late, None, &pause, 0);
        assert_eq!(
            said(&endpoints),
            ["(http://a gave no answer within 2 s: concurrency 2 → 1 (`max_concurrent` sets it))"]
        );
        slot(&endpoints, id).await.landed(Some(504), &pause, None);
        slot(&endpoints, id).await.landed(Some(200), &pause, None);
        slot(&endpoints, id).await.landed(Some(504), &pause, None);
        assert_eq!(
            said(&endpoints),
            [
                "(http://a answers again: concurrency 1 → 2 (`max_concurrent` sets it))",
                "(http://a was too late (504): concurrency 2 → 1 (`max_concurrent` sets it))"
            ]
        );
    });
}

#[test]
fn a_change_of_the_concurrency_is_said_on_one_line_however_long_it_lasts() {
    on_still_clock(async {
        let endpoints = Endpoints::new(15);
        let id = open(&endpoints, "http://a", LimitSettings { most: 15, ..SETTINGS });
        let pause = Pause::default();
        slot(&endpoints, id).await.landed(Some(503), &pause, None);
        let told = ["http://a is overloaded: concurrency 15 → 7 (`max_concurrent` sets it)"];
        assert_eq!(said(&endpoints), told);
        for _ in 0..3 {
            let wait = Duration::from_mins(2);
            endpoints.back_off(id, wait, Duration::MAX, "no answer").await.unwrap();
            slot(&endpoints, id).await.landed(Some(500), &pause, None);
        }
        let lines = said(&endpoints);
        assert!(!lines.iter().any(|line| line == told[0]), "{lines:?}");
        slot(&endpoints, id).await.landed(Some(503), &pause, None);
        assert_eq!(
            said(&endpoints),
            ["http://a is overloaded: concurrency 7 → 3 (`max_concurrent` sets it)"]
        );
    });
}

#[test]
fn an_account_without_credit_slows_nobody_down() {
    on_still_clock(async {
        let endpoints = Endpoints::new(4);
        let id = open(&endpoints, "http://a", SETTINGS);
        let failure = Failure::new(FailureKind::NoCredit, "pay");
        slot(&endpoints, id).await.failed(&failure, Some(429), &asks(60), 5);
        assert_eq!((said(&endpoints), endpoints.room_at(id)), (Vec::new(), Room::Now));
    });
}

#[test]
fn a_model_is_closed_alone() {
    on_still_clock(async {
        let endpoints = Endpoints::new(4);
        let id = open(&endpoints, "http://a", SETTINGS);
        let invalid = failed(FailureKind::InvalidReply);
        assert_eq!(endpoints.closed_model(id, "judge-1"), None);
        for prompt in ["1", "2"] {
            ended(&endpoints, id, prompt, &invalid);
        }
        let reason = "`judge-1` at `http://a` gave no verdict 2 times in a row: boom";
        assert_eq!(endpoints.closed_model(id, "judge-1").as_deref(), Some(reason));
        assert_eq!(
            (endpoints.closed_model(id, "judge-2"), endpoints.room_at(id)),
            (None, Room::Now)
        );
        endpoints.begin();
        assert_eq!(endpoints.closed_model(id, "judge-1"), None);
    });
}

#[test]
fn an_answer_between_failures_keeps_an_endpoint_open() {
    on_still_clock(async {
        let endpoints = Endpoints::new(4);
        let id = open(&endpoints, "a", SETTINGS);
        let reply = Reply::new("");
        ended(&endpoints, id, "1", &failed(FailureKind::Server));
        ended(&endpoints, id, "2", &Outcome::Reply(reply));
        ended(&endpoints, id, "3", &failed(FailureKind::Server));
        assert_eq!(endpoints.room_at(id), Room::Now);
    });
}
