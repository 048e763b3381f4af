//! Asking judges, against the plain loop over the same client and server: `cargo bench --bench judges`.
//!
//! A server on loopback answers every request after 50 ms. evalrs loads a suite, plans, asks, keeps every outcome on
//! disk and folds; the plain loop sends the same number of requests of the same size with reqwest, 64 at once, and
//! reads each verdict. Both take turns against one server, each time in a process of its own.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a bench measures the outside"
)]

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use evalrs_engine::progress::Quiet;
use evalrs_engine::resolve::resolver::Effects;
use evalrs_engine::resolve::settings::Settings;
use evalrs_engine::resolve::settle::SettledPlans;
use evalrs_engine::resolve::settle::settle;
use evalrs_engine::session::Session;
use evalrs_exec::judges::http::HttpExecutor;
use evalrs_graph::Database;
use evalrs_graph::inputs::Overrides;
use evalrs_graph::results;
use evalrs_store::SegmentStore;
use evalrs_system::os::OsSystem;
use futures_util::StreamExt;
use futures_util::stream;

use self::loopback::runtime;
use self::scripted_judge::serve;

mod loopback;
mod scripted_judge;

/// Requests under way at once.
const CONCURRENCY: usize = 64;
/// How long the server takes for a reply.
const LATENCY: Duration = Duration::from_millis(50);

fn suite(url: &str) -> String {
    let rubric = "You grade answers of a support agent.\\n\\nIs the answer correct, complete and polite?\\n\\nQuestion: {input}\\nExpected: {ground_truth}\\nAnswer: {submission}\\n";
    format!(
        "name: bench\ndataset: data.jsonl\nmax_concurrent: {CONCURRENCY}\ngraders:\n  judge:\n    kind: rubric\n    \
         model: judge-1\n    base_url: {url}\n    prompt: \"{rubric}\"\n"
    )
}

fn row(at: usize) -> String {
    let question =
        "What happens to my order if the warehouse is closed on the day I return it? ".repeat(3);
    let answer =
        "Your return is accepted on the next working day and the refund follows within five days. "
            .repeat(3);
    format!(
        "{{\"id\": \"sample-{at:06}\", \"input\": \"{question}({at})\", \"ground_truth\": \"accepted on the next working day\", \"output\": \"{answer}({at})\"}}"
    )
}

/// Seconds of one evaluation from nothing to the summary, and the peak of resident memory in bytes.
fn ask_with_evalrs(folder: &Path) -> [f64; 2] {
    let start = Instant::now();
    let suite = folder.join("suite.yaml").to_string_lossy().into_owned();
    let environment = BTreeMap::from([("OPENAI_API_KEY".to_owned(), "none".to_owned())]);
    let mut session = Session::new(Database::default(), &suite, environment, Overrides::default());
    assert!(session.load(&OsSystem).is_empty());
    let executor = HttpExecutor::new(CONCURRENCY);
    let world = Effects {
        store: Arc::new(SegmentStore::open(folder.join("cache"))),
        system: &OsSystem,
        executor: &executor,
        progress: &mut Quiet,
        grades: &mut Quiet,
    };
    let settings = Settings { max_concurrent: CONCURRENCY, ..Settings::default() };
    let mut plans = SettledPlans::default();
    let stop = std::future::pending();
    let settling = settle(&mut session, world, &settings, &mut plans, stop);
    let settled = runtime().block_on(settling).unwrap();
    let summary = results::summary(&session.db, session.root);
    assert_eq!(settled.asked.len(), summary.samples);
    assert_eq!(summary.metrics.0[0].1.errors, 0);
    [start.elapsed().as_secs_f64(), peak_memory()]
}

/// Seconds of sending `count` requests and reading the verdicts.
fn ask_plainly(count: usize, url: &str) -> f64 {
    let start = Instant::now();
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = reqwest::Client::builder().http1_only().pool_max_idle_per_host(CONCURRENCY);
    let client = client.build().unwrap();
    let ask = |at: usize| {
        let client = &client;
        async move {
            let body = serde_json::json!({
                "model": "judge-1",
                "messages": [{"role": "system", "content": "x".repeat(700)}, {"role": "user", "content": row(at)}],
                "temperature": 0.0,
            });
            let reply = client.post(format!("{url}/chat/completions")).json(&body).send().await;
            let reply: serde_json::Value = reply.unwrap().json().await.unwrap();
            let text = reply["choices"][0]["message"]["content"].as_str().unwrap().to_owned();
            let verdict: serde_json::Value = serde_json::from_str(&text).unwrap();
            verdict["score"].as_f64().unwrap()
        }
    };
    let asking = stream::iter((0..count).map(ask)).buffer_unordered(CONCURRENCY);
    let sum = runtime().block_on(asking.fold(0.0, |sum, score| async move { sum + score }));
    assert!((sum / count as f64 - 0.8).abs() < 1e-9);
    start.elapsed().as_secs_f64()
}

/// The peak of this process's resident memory, in bytes; 0 where the system does not say.
fn peak_memory() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    line.and_then(|line| line.split_whitespace().nth(1)?.parse::<f64>().ok()).unwrap_or(0.0)
        * 1024.0
}

fn child(args: &[&str]) -> Vec<f64> {
    let output = Command::new(std::env::current_exe().unwrap()).args(args).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    text.split_whitespace().map(|number| number.parse().unwrap()).collect()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    match args.get(1..).unwrap_or_default() {
        [what, folder] if what == "--evalrs" => {
            let [seconds, memory] = ask_with_evalrs(Path::new(folder));
            println!("{seconds} {memory}");
            return;
        }
        [what, count, url] if what == "--plain" => {
            println!("{}", ask_plainly(count.parse().unwrap(), url));
            return;
        }
        _ => {}
    }
    let count = if args.iter().any(|arg| arg == "--quick") { 1_000 } else { 10_000 };
    let url = serve(LATENCY);
    let (mut plain, mut ours, mut memory) = (Vec::new(), Vec::new(), 0.0_f64);
    for _ in 0..3 {
        plain.push(child(&["--plain", &count.to_string(), &url])[0]);
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("suite.yaml"), suite(&url)).unwrap();
        let rows: Vec<String> = (0..count).map(row).collect();
        std::fs::write(folder.path().join("data.jsonl"), rows.join("\n")).unwrap();
        let measured = child(&["--evalrs", folder.path().to_str().unwrap()]);
        ours.push(measured[0]);
        memory = memory.max(measured[1]);
    }
    let ideal = count as f64 / CONCURRENCY as f64 * LATENCY.as_secs_f64();
    let (plain, ours) = (median(plain), median(ours));
    println!("{count} judgments, {CONCURRENCY} at once, {} ms each", LATENCY.as_millis());
    println!("plain loop {plain:.2} s, {:.1} % of the ideal {ideal:.2} s", 100.0 * ideal / plain);
    println!(
        "evalrs     {ours:.2} s, {:.1} % of the ideal; {:.1} % of the plain loop's rate; peak memory {:.1} MB",
        100.0 * ideal / ours,
        100.0 * plain / ours,
        memory / 1e6
    );
}
