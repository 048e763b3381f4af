//! Processes that overlap over one store, some of which are killed: no more requests than distinct keys, and those that were in
//! flight when a process was killed.
//!
//! Which moment a process starts or is killed at is decided by what its judge was sent. `EVALRS_OVERLAPS=20` says how many
//! rounds there are of random kinds at random moments of up to ten seconds.
#![expect(clippy::disallowed_methods, reason = "the environment says how many rounds there are")]

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::events::Telling;
use crate::judge::{Answer, Asked, Judge, Order};
#[cfg(feature = "serve")]
use crate::serve::exchange;
use crate::space::{Running, Space, lines};

/// Requests of one process in flight at once.
const AT_ONCE: usize = 8;

const SUITE: &str = "\
name: shared
dataset: data.jsonl
graders:
  quality: {kind: rubric, prompt: 'Is «{submission}» polite?', model: judge-1, endpoint: test, max_retries: 0}
max_concurrent: 8
";

fn space(rows: usize) -> Space {
    let row = |at| json!({"id": format!("s{at}"), "input": "q", "output": format!("answer {at}")});
    Space::new(&[("suite.yaml", SUITE), ("data.jsonl", &lines((0..rows).map(row)))])
}

/// A judge that says who it is.
fn judge(name: usize, latency: Duration) -> Judge {
    Judge::new(move |_, asked| {
        wait(latency);
        let rationale = format!("{name}: {}", submission(asked));
        Answer::text(&json!({"score": 0.5, "rationale": rationale}).to_string())
    })
}

/// Waits, for tests that somebody starts by hand.
fn wait(time: Duration) {
    let since = Instant::now();
    while since.elapsed() < time {
        std::thread::park_timeout(time.saturating_sub(since.elapsed()));
    }
}

fn submission(asked: &Asked) -> String {
    asked.prompt().split(['«', '»']).nth(1).unwrap_or_default().to_owned()
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Run,
    Watch,
    #[cfg(feature = "serve")]
    Serve,
}

/// A process that evaluates the suite.
enum Process {
    Run(Running),
    Watch(Telling),
    /// With its address, and the run that it was sent.
    #[cfg(feature = "serve")]
    Serve(Running, String, String),
}

impl Process {
    fn start(kind: Kind, space: &Space, judge: &Judge) -> Self {
        let command = |args: &[&str]| {
            let mut command = space.command(args);
            command.env("OPENAI_BASE_URL", judge.url());
            command
        };
        match kind {
            Kind::Run => Self::Run(Running::new(command(&["run", "suite.yaml"]))),
            Kind::Watch => {
                Self::Watch(Telling::new(command(&["watch", "suite.yaml", "--json", "--yes"])))
            }
            #[cfg(feature = "serve")]
            Kind::Serve => {
                let mut running = Running::new(command(&["serve", "--port", "0", "suite.yaml"]));
                let said = running.read_until("serving http://");
                let host = said.split("serving http://").nth(1).unwrap();
                let host = host.split('/').next().unwrap().to_owned();
                let body = json!({"suite": "shared"}).to_string();
                let begun = exchange(&host, "POST", "/api/runs", &[], &body).data();
                Self::Serve(running, host, begun["id"].as_str().unwrap().to_owned())
            }
        }
    }

    fn kill(self) {
        match self {
            Self::Run(running) => running.kill(),
            Self::Watch(telling) => drop(telling),
            #[cfg(feature = "serve")]
            Self::Serve(running, ..) => running.kill(),
        }
    }

    /// Waits until it has evaluated everything.
    fn finish(self) {
        match self {
            Self::Run(running) => {
                let ran = running.finish();
                assert_eq!(ran.code(), 0, "{}", ran.shown());
            }
            Self::Watch(mut telling) => drop(telling.wait_event("evaluated")),
            #[cfg(feature = "serve")]
            Self::Serve(_running, host, id) => {
                let told = exchange(&host, "GET", &format!("/api/runs/{id}/events"), &[], "");
                assert!(told.body().contains("event: ended"), "{}", told.body());
            }
        }
    }
}

/// The outcomes that are stored, each with the judge that said it.
fn stored(space: &Space) -> Vec<usize> {
    let judge = |line: &String| {
        let entry: Value = serde_json::from_str(line).unwrap();
        let text = entry["v"]["outcome"]["reply"]["text"].as_str().unwrap();
        let verdict: Value = serde_json::from_str(text).unwrap();
        let rationale = verdict["rationale"].as_str().unwrap();
        rationale.split(':').next().unwrap().parse().unwrap()
    };
    space.stored_lines().iter().map(judge).collect()
}

/// Fails unless requests were as many as keys, and those whose outcome was lost with a process that was `killed`. Returns how many
/// were lost.
fn lost(space: &Space, judges: &[Judge], killed: &[usize], state: &str) -> usize {
    let rows = space.read("data.jsonl").lines().count();
    let stored = stored(space);
    assert_eq!(stored.len(), rows, "each outcome is stored once; {state}");
    let lost_by = |judge: &usize| {
        judges[*judge].count() - stored.iter().filter(|other| *other == judge).count()
    };
    let lost: usize = killed.iter().map(lost_by).sum();
    let requests: usize = judges.iter().map(Judge::count).sum();
    assert_eq!(requests, rows + lost, "{state}");
    let frozen = space.run(&["run", "suite.yaml", "--frozen"]);
    assert_eq!(frozen.code(), 0, "{state}: {}", frozen.shown());
    lost
}

/// Two processes are killed with calls in flight while a third waits for these.
fn check_killed(kinds: [Kind; 3]) {
    const STORED: usize = 5;
    let rows = 2 * (STORED + AT_ONCE) + 14;
    let space = space(rows);
    let judges: Vec<Judge> = (0..3).map(|name| judge(name, Duration::ZERO)).collect();
    let mut killed = Vec::new();
    for at in 0..2 {
        judges[at].order(Order::UpTo(STORED));
        killed.push(Process::start(kinds[at], &space, &judges[at]));
        judges[at].wait_asked(STORED + AT_ONCE);
        space.wait_stored((at + 1) * STORED);
    }
    let last = Process::start(kinds[2], &space, &judges[2]);
    let mut made = 14;
    judges[2].wait_given(made);
    for process in killed {
        process.kill();
        made += AT_ONCE;
        judges[2].wait_given(made);
    }
    last.finish();
    assert_eq!(lost(&space, &judges, &[0, 1], &format!("{kinds:?}")), 2 * AT_ONCE, "{kinds:?}");
}

#[test]
fn what_two_killed_runs_had_in_flight_is_called_by_a_third() {
    check_killed([Kind::Run, Kind::Run, Kind::Run]);
}

#[test]
fn what_a_killed_session_had_in_flight_is_called_by_a_run() {
    check_killed([Kind::Watch, Kind::Run, Kind::Run]);
}

#[test]
fn what_a_killed_run_had_in_flight_is_called_by_a_session() {
    check_killed([Kind::Run, Kind::Watch, Kind::Watch]);
}

#[cfg(feature = "serve")]
#[test]
fn what_a_killed_server_had_in_flight_is_called_by_a_session() {
    check_killed([Kind::Serve, Kind::Run, Kind::Watch]);
}

#[cfg(feature = "serve")]
#[test]
fn what_a_killed_session_had_in_flight_is_called_by_a_server() {
    check_killed([Kind::Watch, Kind::Run, Kind::Serve]);
}

/// Three processes that are not killed make each call once, whatever their judges answer first.
#[test]
fn three_at_once_make_each_call_once() {
    const ROWS: usize = 120;
    let space = space(ROWS);
    let judges: Vec<Judge> = (0..3).map(|name| judge(name, Duration::ZERO)).collect();
    let kinds = [Kind::Run, Kind::Watch, Kind::Run];
    let start = |at: usize| {
        judges[at].order(Order::UpTo(at));
        let process = Process::start(kinds[at], &space, &judges[at]);
        judges[at].wait_asked(at + AT_ONCE);
        process
    };
    let processes: Vec<Process> = (0..3).map(start).collect();
    for judge in &judges {
        judge.order(Order::AtOnce);
    }
    processes.into_iter().for_each(Process::finish);
    assert_eq!(lost(&space, &judges, &[], "nobody is killed"), 0);
}

/// One round: two or three processes that start and are killed at random moments of ten seconds, and one that is not killed.
fn overlap(random: &mut fastrand::Rng, round: usize) {
    const ROWS: usize = 600;
    let kinds = [
        Kind::Run,
        Kind::Watch,
        #[cfg(feature = "serve")]
        Kind::Serve,
    ];
    let space = space(ROWS);
    let count = random.usize(2..=3);
    let latency = Duration::from_millis(random.u64(20..300));
    let judges: Vec<Judge> = (0..count).map(|name| judge(name, latency)).collect();
    let kinds: Vec<Kind> = (0..count).map(|_| kinds[random.usize(..kinds.len())]).collect();
    let mut processes = Vec::new();
    let mut killed = Vec::new();
    let pause = |random: &mut fastrand::Rng| wait(Duration::from_millis(random.u64(..5_000)));
    for (at, kind) in kinds.iter().enumerate() {
        processes.push(Some(Process::start(*kind, &space, &judges[at])));
        pause(random);
        let victim = random.usize(..=at);
        if random.bool()
            && victim + 1 < count
            && let Some(process) = processes[victim].take()
        {
            process.kill();
            killed.push(victim);
        }
    }
    processes.into_iter().flatten().for_each(Process::finish);
    let state = format!("round {round}: {kinds:?}, {killed:?} killed, {latency:?} a call");
    let lost = lost(&space, &judges, &killed, &state);
    // In flight, on the way to the disk, and waiting for that.
    assert!(lost <= killed.len() * 3 * AT_ONCE, "{lost} were lost; {state}");
}

#[test]
fn whoever_overlaps_and_is_killed_no_call_is_made_in_vain() {
    let rounds = std::env::var("EVALRS_OVERLAPS").map_or(0, |rounds| rounds.parse().unwrap());
    let seed = std::env::var("EVALRS_SEED").map_or(1, |seed| seed.parse().unwrap());
    let mut random = fastrand::Rng::with_seed(seed);
    (0..rounds).for_each(|round| overlap(&mut random, round));
}
