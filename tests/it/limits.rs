//! How judges are asked: retries, waits, limits and when to stop, against judges that misbehave on purpose.
//!
//! Requests are counted and put in order, and waits are read from the messages; nothing here measures time.

use crate::judge::{Answer, Judge, Order};
use crate::space::{Space, lines};

const SUITE: &str = "\
name: support
dataset: data.jsonl
graders:
  quality: {kind: rubric, prompt: 'Is {submission} polite?', model: judge-1, endpoint: test, max_retries: 2}
";

fn space(count: usize) -> Space {
    let rows = (0..count)
        .map(|at| format!("{{\"id\": \"s{at}\", \"input\": \"q\", \"output\": \"answer {at}\"}}"));
    Space::new(&[("suite.yaml", SUITE), ("data.jsonl", &lines(rows))])
}

fn with_headers(status: u16, headers: &[(&'static str, &str)]) -> Answer {
    let headers = headers.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
    let body = "{\"error\": {\"message\": \"slow down\"}}";
    Answer::Http(status, headers, body.to_owned())
}

#[test]
fn what_a_server_asks_for_is_waited_for_and_shown() {
    for (status, headers) in [
        (429, &[("retry-after-ms", "20")][..]),
        (429, &[("Retry-After", "0.02")]),
        (503, &[("retry-after", "0.02")]),
        (529, &[("retry-after-ms", "20"), ("retry-after", "60")]),
        (429, &[("x-ratelimit-remaining-requests", "0"), ("x-ratelimit-reset-requests", "20ms")]),
        (429, &[("x-ratelimit-remaining-tokens", "0"), ("x-ratelimit-reset-tokens", "0.02s")]),
        (429, &[("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "0.02")]),
        (500, &[("retry-after-ms", "20")]),
    ] {
        let judge = Judge::new(move |number, _| match number {
            0 => with_headers(status, headers),
            _ => Answer::score(1.0),
        });
        let ran = space(1).run_with(&judge, &["run", "suite.yaml"]);
        assert_eq!((ran.code(), judge.count()), (0, 2), "{status} {headers:?}: {}", ran.shown());
        let waited = match status {
            429 => format!("  rate limited by {} (429); retrying in 20 ms\n", judge.url()),
            _ => format!("  {} answered {status}; retrying in 20 ms\n", judge.url()),
        };
        assert_eq!(ran.stderr().matches(&waited).count(), 1, "{}", ran.stderr());
    }
}

#[test]
fn a_budget_that_an_answer_used_up_is_waited_for() {
    let exhausted = [
        ("x-ratelimit-remaining-requests", "0".to_owned()),
        ("x-ratelimit-reset-requests", "6m0s".to_owned()),
    ];
    let judge = Judge::new(move |_, _| match Answer::score(1.0) {
        Answer::Http(status, _, body) => Answer::Http(status, exhausted.to_vec(), body),
        other => other,
    });
    let space = space(3);
    let mut running = space.start(&judge, &["run", "suite.yaml", "--max-concurrent", "1"]);
    running.read_until(&format!("rate limit of {} used up", judge.url()));
    running.interrupt();
    assert_eq!((running.finish().code(), judge.count()), (130, 1));
}

#[test]
fn a_server_may_forbid_a_retry_or_ask_for_one() {
    for (status, should, count) in [(500, "false", 1), (429, "false", 1), (404, "true", 2)] {
        let judge = Judge::new(move |number, _| match number {
            0 => with_headers(status, &[("x-should-retry", should), ("retry-after-ms", "1")]),
            _ => Answer::score(1.0),
        });
        let ran = space(1).run_with(&judge, &["run", "suite.yaml"]);
        assert_eq!(judge.count(), count, "{status}: {}", ran.shown());
    }
}

#[test]
fn an_overloaded_server_is_asked_less_at_once_and_then_more_again() {
    check_overloaded(|| with_headers(503, &[("retry-after-ms", "1")]));
    // A gateway passes on what the server behind it says.
    check_overloaded(|| {
        let body = "{\"error\": {\"code\": 503, \"message\": \"slow down\"}}".to_owned();
        Answer::Http(200, vec![("retry-after-ms", "1".to_owned())], body)
    });
}

fn check_overloaded(overloaded: fn() -> Answer) {
    let judge = Judge::new(move |number, _| match number {
        0..8 => overloaded(),
        _ => Answer::score(1.0),
    })
    .in_order(Order::UpTo(0));
    let running = space(30);
    let running = running.start(&judge, &["run", "suite.yaml", "--max-concurrent", "8"]);
    let mut asked = 0;
    let rounds = [8, 4, 5, 6, 7, 8];
    for at_once in rounds {
        asked += at_once;
        judge.wait_asked(asked);
        judge.order(Order::UpTo(asked));
        judge.wait_given(asked);
    }
    let ran = running.finish();
    assert_eq!((ran.code(), judge.count()), (0, asked), "{}", ran.shown());
    let mut seen = judge.at_once().into_iter();
    for at_once in rounds {
        let most = seen.by_ref().take(at_once).max();
        assert!(most <= Some(at_once), "{most:?} requests at once instead of {at_once}");
    }
    let told =
        format!("{} is overloaded: concurrency 8 → 4 (`max_concurrent` sets it)\n", judge.url());
    assert_eq!(ran.stderr().matches(&told).count(), 1, "{}", ran.stderr());
}

#[test]
fn an_endpoint_that_fails_again_and_again_is_asked_no_more() {
    for (args, settings, expected) in [
        (&[][..], "", 10),
        (&["--max-identical-failures", "3"], "", 3),
        (&[], "max_identical_failures = 4", 4),
        (&["--max-identical-failures", "50"], "max_identical_failures = 4", 30),
    ] {
        let judge = Judge::new(|number, _| Answer::error(401, &format!("who? (request {number})")));
        let space = space(30);
        space.write("evalrs.toml", format!("[run]\n{settings}\n"));
        let args = [&["run", "suite.yaml", "--max-concurrent", "1"], args].concat();
        let ran = space.run_with(&judge, &args);
        let (asked, left) = (expected as u64, 30 - expected as u64);
        assert_eq!((ran.code(), judge.count()), (3, expected), "{}", ran.shown());
        assert_eq!(space.actions("quality"), [asked, 0, asked, left]);
        let reason = format!(
            "`{}` failed {asked} times in the same way: the judge answered 401: who? (request {})",
            judge.url(),
            asked - 1
        );
        let said = format!("calls stopped: {reason}; {left} judgments were not made\n");
        let not_asked = format!("\"message\":\"not called: {reason}\"");
        let stopped = usize::from(left > 0);
        assert_eq!(ran.stderr().matches(&said).count(), stopped, "{}", ran.stderr());
        assert_eq!(space.record("results.jsonl").matches(&not_asked).count(), left as usize);
        assert_eq!(space.record("run.json").matches("calls stopped").count(), stopped);
    }
}

#[test]
fn a_judge_that_never_gives_a_verdict_is_asked_no_more_and_others_of_its_endpoint_are() {
    const TWO: &str = "\
name: support
dataset: data.jsonl
graders:
  bad: {kind: rubric, prompt: 'Is {submission} polite?', model: talker, endpoint: test}
  good: {kind: rubric, prompt: 'Is {submission} polite?', model: judge-1, endpoint: test}
";
    let judge = Judge::new(|number, asked| match asked.body["model"].as_str() {
        Some("talker") => Answer::text(&format!("Score: {}/10. Nice.", number % 10)),
        _ => Answer::score(1.0),
    });
    let space = space(30);
    space.write("suite.yaml", TWO);
    let ran = space.run_with(&judge, &["run", "suite.yaml", "--max-concurrent", "1"]);
    assert_eq!(ran.code(), 3, "{}", ran.shown());
    assert_eq!(space.actions("bad"), [10, 0, 10, 20]);
    assert_eq!(space.actions("good"), [30, 0, 0, 0]);
    assert_eq!(judge.count(), 3 * 10 + 30);
    let said = format!(
        "calls stopped: `talker` at `{}` gave no verdict 10 times in a row: invalid reply, asked 3 \
         times: the reply is not a JSON object: expected value; it replied \"Score: ",
        judge.url()
    );
    assert_eq!(ran.stderr().matches(&said).count(), 1, "{}", ran.stderr());
    assert!(
        ran.stderr().contains("/10. Nice.\"; 20 judgments were not made\n"),
        "{}",
        ran.stderr()
    );
    assert_eq!(ran.stdout().matches("/10. Nice.\": invalid").count(), 1, "{}", ran.stdout());
}

#[test]
fn a_server_that_is_late_is_asked_less_at_once() {
    let judge = Judge::new(|_, _| Answer::Silence);
    let space = space(8);
    space.write(
        "suite.yaml",
        SUITE.replace("max_retries: 2", "max_retries: 0, timeout: 0.2, max_tokens: null"),
    );
    let ran = space.run_with(&judge, &["run", "suite.yaml", "--max-concurrent", "8"]);
    let said = format!(
        "{} gave no answer within 0.2 s: concurrency 8 → 4 (`max_concurrent` sets it)\n",
        judge.url()
    );
    assert_eq!(ran.stderr().matches(&said).count(), 1, "{}", ran.stderr());
    assert!(!ran.stderr().contains("overloaded"), "{}", ran.stderr());
    let advice = "failed: no answer within 0.2 s; a lower `max_concurrent` may help, and \
                  `max_tokens` if replies do not end\n";
    assert!(ran.stderr().contains(advice), "{}", ran.stderr());
}

#[test]
fn a_retry_is_shown_with_the_failure_that_it_follows() {
    let judge = Judge::new(|_, _| with_headers(500, &[]));
    let space = space(1);
    space.write("suite.yaml", SUITE.replace("max_retries: 2", "max_retries: 9"));
    let mut running = space.start(&judge, &["run", "suite.yaml"]);
    let said = running.read_until("; retry ");
    let start = format!("  retrying {} in ", judge.url());
    let line = said.lines().find(|line| line.starts_with(&start)).unwrap_or_default();
    assert!(line.contains(" s (the judge answered 500: slow down; retry "), "{said}");
    assert!(line.ends_with(" of 9)"), "{said}");
    running.interrupt();
    assert_eq!(running.finish().code(), 130);
}

#[test]
fn samples_that_fail_on_their_own_stop_nothing() {
    let judge = Judge::new(|number, _| match number {
        0 => Answer::score(1.0),
        _ => Answer::error(400, "this prompt is no text"),
    });
    let space = space(30);
    space.run_with(&judge, &["run", "suite.yaml", "--max-concurrent", "1"]);
    assert_eq!((judge.count(), space.actions("quality")), (30, [30, 0, 29, 0]));
}

const TWO_JUDGES: &str = "\
name: support
dataset: data.jsonl
graders:
  slow: {kind: rubric, prompt: 'Is {submission} polite?', model: judge-1, endpoint: slow, base_url: 'SLOW', max_retries: 2}
  fast: {kind: rubric, prompt: 'Is {submission} polite?', model: judge-1, endpoint: fast, base_url: 'FAST', max_retries: 2}
";

fn two_judges(slow: &Judge, fast: &Judge) -> Space {
    let space = space(20);
    space.write("suite.yaml", TWO_JUDGES.replace("SLOW", &slow.url()).replace("FAST", &fast.url()));
    space
}

#[test]
fn a_slow_endpoint_holds_up_no_other() {
    let slow = Judge::new(|_, _| Answer::score(1.0)).in_order(Order::UpTo(0));
    let fast = Judge::new(|_, _| Answer::score(1.0));
    let space = two_judges(&slow, &fast);
    let running = space.start(&fast, &["run", "suite.yaml", "--max-concurrent", "2"]);
    fast.wait_given(20);
    assert!(slow.count() <= 2);
    slow.order(Order::AtOnce);
    assert_eq!((running.finish().code(), slow.count()), (0, 20));
}

#[test]
fn an_endpoint_that_asks_to_wait_holds_up_no_other() {
    let paused = Judge::new(|_, _| with_headers(429, &[("retry-after", "600")]));
    let fast = Judge::new(|_, _| Answer::score(1.0));
    let space = two_judges(&paused, &fast);
    let mut running = space.start(&fast, &["run", "suite.yaml", "--max-concurrent", "2"]);
    fast.wait_given(20);
    let waited = format!("rate limited by {} (429); retrying in 10 min", paused.url());
    running.read_until(&waited);
    space.wait_stored(20);
    running.interrupt();
    assert_eq!((running.finish().code(), space.actions("fast")), (130, [20, 0, 0, 0]));
    assert!(paused.count() <= 2, "{} asked in spite of it", paused.count());
}

#[test]
fn a_figure_of_a_minute_is_kept_and_shown() {
    for (setting, in_suite, told) in [
        ("max_requests_per_minute = 1", "", "limit of 1 request a minute: next request to"),
        ("max_tokens_per_minute = 1", "", "limit of 1 token a minute: next request to"),
        ("", ", max_requests_per_minute: 1", "limit of 1 request a minute: next request to"),
        ("", ", max_tokens_per_minute: 1", "limit of 1 token a minute: next request to"),
        ("max_requests_per_minute = 1", ", max_requests_per_minute: 50", "limit of 1 request"),
        ("max_requests_per_minute = 50", ", max_requests_per_minute: 1", "limit of 1 request"),
    ] {
        let judge = Judge::new(|_, _| Answer::score(1.0));
        let space = space(2);
        space.write("evalrs.toml", format!("[run]\n{setting}\n"));
        space.write("suite.yaml", SUITE.replace(", max_retries: 2", in_suite));
        let mut running = space.start(&judge, &["run", "suite.yaml"]);
        running.read_until(told);
        judge.wait_given(1);
        running.interrupt();
        assert_eq!((running.finish().code(), judge.count()), (130, 1), "{setting}");
    }
}

#[test]
fn requests_are_told_where_that_is_wanted_and_never_a_secret() {
    for (flag, bodies) in [("-v", false), ("-vv", true)] {
        let judge = Judge::new(|number, _| match number {
            0 => Answer::Http(
                500,
                vec![("retry-after-ms", "1".to_owned())],
                "my-secret-key?\n\u{1b}[2J".to_owned(),
            ),
            _ => Answer::score(1.0),
        });
        let space = space(1);
        let mut command = space.command(&["run", "suite.yaml", flag]);
        command.env("OPENAI_API_KEY", "my-secret-key").env("OPENAI_BASE_URL", judge.url());
        let ran = crate::space::Ran(command.output().unwrap());
        let (said, url) = (ran.stderr(), judge.url());
        assert_eq!(ran.code(), 0, "{said}");
        for line in [
            format!("  {url} judge-1 for quality of s0: request 1: 500 after "),
            format!(
                "  {url} judge-1 for quality of s0: retry 1 of 2 in 1 ms: the judge answered 500: [secret]?"
            ),
            format!("  {url} judge-1 for quality of s0: request 2: 200 after "),
        ] {
            assert_eq!(said.matches(&line).count(), 1, "{line} in {said}");
        }
        for body in [
            "    sent: {\"model\":\"judge-1\"",
            "    received: [secret]?",
            "    received: {\"model\":\"scripted-1\"",
        ] {
            assert_eq!(said.contains(body), bodies, "{body} in {said}");
        }
        assert!(!said.contains("my-secret-key") && !said.contains('\u{1b}'), "{said}");
    }
}

/// The error of the one grade, where the grader has these settings.
fn failed(judge: &Judge, settings: &str) -> serde_json::Value {
    let space = space(1);
    space.write("suite.yaml", SUITE.replace("max_retries: 2", settings));
    space.run_with(judge, &["run", "suite.yaml"]);
    let line: serde_json::Value = serde_json::from_str(&space.record("results.jsonl")).unwrap();
    line["grades"]["quality"]["error"].clone()
}

#[test]
fn an_action_ends_where_its_deadline_would_pass() {
    for headers in [
        &[("retry-after", "60")][..],
        &[("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "60")],
    ] {
        let judge = Judge::new(move |_, _| with_headers(429, headers));
        let error = failed(&judge, "deadline: 30");
        let message = "no verdict within the deadline of 30 s: the next attempt is due in 60 s: \
                       the server's 429 sets this delay; before, the judge answered 429: slow down";
        assert_eq!((error["message"].as_str(), judge.count()), (Some(message), 1));
        assert_eq!(error["kind"], "deadline");
    }
    let silent = Judge::new(|_, _| Answer::Silence);
    let error = failed(&silent, "deadline: 0.05, max_tokens: null");
    let message = "no verdict within the deadline of 0.05 s: a request was in flight; a lower \
                   `max_concurrent` may help, and `max_tokens` if replies do not end";
    assert_eq!((error["message"].as_str(), silent.count()), (Some(message), 1));
    assert_eq!(error["kind"], "deadline");
}
