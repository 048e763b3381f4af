//! Running targets, against the plain loop over the same agent: `cargo bench --bench targets`, `-- --quick` for a tenth of
//! it, `-- http`, `-- processes` and `-- memory` for a part.
//!
//! Conversations over HTTP: a server on loopback answers every request after 50 ms with a trajectory; the plain loop sends
//! the same requests with reqwest, 64 at once, and reads each answer. Processes: an agent that is a shell script, against
//! `xargs -P2` over the same script. evalrs is the binary, which plans, keeps every trajectory on disk, grades it and
//! writes the record of the run. Both take turns, each time in a process of its own; what is told is the median.
//!
//! Memory: the peak of the binary while it runs conversations of 200 KB each, and while it replays them, for some and
//! for four times as many.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a bench measures the outside"
)]

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use futures_util::stream;

use self::child_memory::run_watched;
use self::loopback::runtime;

mod child_memory;
mod loopback;

/// Conversations under way at once.
const CONCURRENCY: usize = 64;
/// How long the server takes for an answer.
const LATENCY: Duration = Duration::from_millis(50);
/// Bytes of a trajectory, where time is measured.
const SMALL: usize = 4_000;
/// Bytes of a trajectory, where memory is measured.
const LARGE: usize = 200_000;
/// How often each is measured.
const TURNS: usize = 3;
/// What the output of every answer holds.
const VERDICT: &str = "accepted";
/// An agent that is a process, as a compiled one would be: a shell starts in a millisecond.
const AGENT: &str = "#!/bin/sh\ncat > /dev/null\necho '{\"output\": \"It is accepted.\"}'\n";

fn rows(count: usize) -> String {
    let question = "What happens to my order if the warehouse is closed on the day of return? ";
    let row = |at: usize| {
        let input = format!("{question}({at})");
        serde_json::json!({"id": format!("s{at}"), "input": input, "ground_truth": VERDICT})
    };
    let rows: Vec<String> = (0..count).map(|at| row(at).to_string()).collect();
    rows.join("\n")
}

/// A folder with a suite of one target and one grader.
fn folder(count: usize, target: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    let grader = "{kind: tool, function: contains}";
    write(
        "suite.yaml",
        &format!("name: bench\ndataset: data.jsonl\n{target}graders:\n  right: {grader}\n"),
    );
    write("data.jsonl", &rows(count));
    write("agent.sh", AGENT);
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(folder.path().join("agent.sh"), mode).unwrap();
    folder
}

fn http_target(url: &str) -> String {
    format!("target: {{kind: http, url: '{url}'}}\nmax_concurrent_targets: {CONCURRENCY}\n")
}

/// A run of the suite in a folder.
fn evalrs(folder: &Path, flags: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_evalrs"));
    command.args(["run", "suite.yaml", "--quiet"]).args(flags).current_dir(folder);
    command.stdout(Stdio::null());
    command
}

/// Seconds that a command takes.
fn seconds(command: &mut Command) -> f64 {
    let start = Instant::now();
    assert!(command.status().unwrap().success(), "{command:?}");
    start.elapsed().as_secs_f64()
}

/// Seconds that a command takes, and the most memory that it had, as far as can be seen from outside.
fn seconds_and_peak(command: &mut Command) -> [f64; 2] {
    let start = Instant::now();
    let peak = run_watched(command);
    [start.elapsed().as_secs_f64(), peak]
}

/// A server that answers everything after a moment with a trajectory; returns where it is asked.
fn serve(latency: Duration, bytes: usize) -> String {
    let steps = steps(bytes);
    loopback::serve("/chat", latency, move |asked| answer(asked, &steps))
}

/// Steps of a trajectory, as JSON without the brackets.
fn steps(bytes: usize) -> String {
    let mut random = fastrand::Rng::with_seed(7);
    let mut steps = String::new();
    while steps.len() < bytes {
        let words: Vec<String> = (0..24).map(|_| format!("w{:x}", random.u16(..))).collect();
        let order = random.u32(..);
        let step = serde_json::json!({
            "type": "tool_call", "name": "find_order", "status": "completed",
            "input": {"order": order}, "output": words.join(" "),
        });
        steps.push_str(&step.to_string());
        steps.push_str(", ");
    }
    steps
}

/// An answer, unlike any other: it says what was asked.
fn answer(asked: &str, steps: &str) -> String {
    let asked = serde_json::Value::from(asked);
    format!(
        "{{\"output\": \"It is {VERDICT}.\", \"trajectory\": [{steps}{{\"type\": \"message\", \"content\": {asked}}}]}}"
    )
}

/// Sends `count` requests and reads the answers.
fn ask_plainly(count: usize, url: &str) {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = reqwest::Client::builder().http1_only().pool_max_idle_per_host(CONCURRENCY);
    let client = client.build().unwrap();
    let rows = rows(count);
    let ask = |row: &str| {
        let row: serde_json::Value = serde_json::from_str(row).unwrap();
        let request = client.post(url).json(&row);
        async move {
            let reply: serde_json::Value = request.send().await.unwrap().json().await.unwrap();
            usize::from(reply["output"].as_str().unwrap().contains(VERDICT))
        }
    };
    let asking = stream::iter(rows.lines().map(ask)).buffer_unordered(CONCURRENCY);
    let right = runtime().block_on(asking.fold(0, |sum, is_right| async move { sum + is_right }));
    assert_eq!(right, count);
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// What is told of two sides that did the same.
fn told(what: &str, count: usize, plain: Vec<f64>, ours: Vec<f64>) {
    let ratios = plain.iter().zip(&ours).map(|(plain, ours)| plain / ours).collect();
    let [plain, ours] = [plain, ours].map(median);
    println!(
        "{what:<28} evalrs {ours:>6.2} s, {:>6.0} a second; plain {plain:>6.2} s, {:>6.0} a second; {:>5.1} % of its rate",
        count as f64 / ours,
        count as f64 / plain,
        100.0 * median(ratios)
    );
}

fn measure_http(count: usize) {
    let url = serve(LATENCY, SMALL);
    let [mut plain, mut ours, mut replayed] = [const { Vec::new() }; 3];
    let mut peak = 0.0_f64;
    for _ in 0..TURNS {
        let mut command = Command::new(std::env::current_exe().unwrap());
        plain.push(seconds(command.args(["--plain", &count.to_string(), &url])));
        let folder = folder(count, &http_target(&url));
        let measured = seconds_and_peak(&mut evalrs(folder.path(), &[]));
        ours.push(measured[0]);
        peak = peak.max(measured[1]);
        replayed.push(seconds(&mut evalrs(folder.path(), &["--offline"])));
    }
    let ideal = count as f64 / CONCURRENCY as f64 * LATENCY.as_secs_f64();
    told(&format!("{count} over HTTP, 50 ms"), count, plain, ours);
    println!(
        "{:<28} the latency allows {ideal:.2} s; peak memory {:.1} MB; replayed in {:.2} s",
        "",
        peak / 1e6,
        median(replayed)
    );
}

fn measure_processes(count: usize) {
    let target = "target: {kind: command, command: [./agent.sh]}\nmax_concurrent_targets: 2\n";
    let [mut plain, mut ours] = [const { Vec::new() }; 2];
    for _ in 0..TURNS {
        let folder = folder(count, target);
        let script = format!("seq {count} | xargs -P2 -n1 ./agent.sh");
        let mut shell = Command::new("sh");
        shell.args(["-c", &script]).current_dir(folder.path()).stdin(Stdio::null());
        plain.push(seconds(shell.stdout(Stdio::null())));
        ours.push(seconds(&mut evalrs(folder.path(), &[])));
    }
    told(&format!("{count} processes, 2 at once"), count, plain, ours);
}

fn measure_memory(count: usize) {
    let url = serve(Duration::from_millis(5), LARGE);
    let mut first: Option<[f64; 2]> = None;
    for count in [count, 4 * count] {
        let folder = folder(count, &http_target(&url));
        let run = seconds_and_peak(&mut evalrs(folder.path(), &[]));
        let replay = seconds_and_peak(&mut evalrs(folder.path(), &["--offline"]));
        let peaks = [run[1], replay[1]];
        let [of_run, of_replay] =
            first.map_or([1.0, 1.0], |[run, replay]| [peaks[0] / run, peaks[1] / replay]);
        println!(
            "{:<28} run {:.2} s, peak {:.1} MB (× {of_run:.2}); replay {:.2} s, peak {:.1} MB (× {of_replay:.2})",
            format!("{count} of {} KB", LARGE / 1000),
            run[0],
            peaks[0] / 1e6,
            replay[0],
            peaks[1] / 1e6
        );
        first = first.or(Some(peaks));
    }
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let [what, count, url] = &args[..]
        && what == "--plain"
    {
        ask_plainly(count.parse().unwrap(), url);
        return;
    }
    let parts = ["http", "processes", "memory"];
    let is_any_named = args.iter().any(|arg| parts.contains(&arg.as_str()));
    let is_wanted = |part: &str| !is_any_named || args.iter().any(|arg| arg == part);
    let part_of_all = if args.iter().any(|arg| arg == "--quick") { 10 } else { 1 };
    if is_wanted("http") {
        measure_http(10_000 / part_of_all);
    }
    if is_wanted("processes") {
        measure_processes(2_000 / part_of_all);
    }
    if is_wanted("memory") {
        measure_memory(500 / part_of_all);
    }
}
