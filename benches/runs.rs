//! `evalrs run` as its users run it, against the plain loop that does the same work: `cargo bench --bench runs`.
//!
//! Each figure is of a fresh process: it reads the files, grades, writes the record and the report, and ends. Rows have 1 KB;
//! two deterministic graders read them, and one judge, which a server on loopback answers. The plain loop is a process of
//! this bench: it reads the same rows, grades them, takes the verdicts out of a file of its own by the digest of the prompt,
//! and writes a result line a row. It has no record, no history and no statistics.
//!
//! Processor time is that of a process with all its threads; memory is its peak, seen from outside every 2 ms; bytes are
//! those that the folder has more afterwards, files of several names counted once. `-- 1000 10000` gives the sizes.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a bench measures the outside"
)]

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use self::child_memory::peak_memory;
use self::scripted_judge::{VERDICT, serve};

mod child_memory;
mod loopback;
mod scripted_judge;

/// How often a figure is measured; the least counts.
const ROUNDS: usize = 3;
/// Requests in flight at once.
const CONCURRENCY: usize = 64;

fn graders(judge_at: Option<&str>) -> String {
    let mut graders = "  contains: {kind: tool, function: contains}\n  ascii: {kind: tool, function: ascii_printable_only}\n".to_owned();
    if let Some(url) = judge_at {
        let rubric = "You grade answers of a support agent.\\n\\nQuestion: {input}\\nExpected: {ground_truth}\\nAnswer: {submission}\\n";
        let _ = write!(
            graders,
            "  judge:\n    kind: rubric\n    model: judge-1\n    base_url: {url}\n    endpoint: bench\n    prompt: \"{rubric}\"\n"
        );
    }
    graders
}

fn row(at: usize, version: usize) -> serde_json::Value {
    let question =
        "What happens to my order if the warehouse is closed on the day I return it? ".repeat(4);
    let answer =
        "Your return is accepted on the next working day and the refund follows within five days. "
            .repeat(6);
    serde_json::json!({
        "id": format!("sample-{at:06}"),
        "input": format!("{question}({at})"),
        "ground_truth": "accepted on the next working day",
        "output": format!("{answer}({at}.{version})"),
    })
}

fn write_rows(folder: &Path, count: usize, edited: Option<usize>) {
    let mut file = BufWriter::new(std::fs::File::create(folder.join("data.jsonl")).unwrap());
    for at in 0..count {
        writeln!(file, "{}", row(at, usize::from(edited == Some(at)))).unwrap();
    }
}

fn write_suite(folder: &Path, judge_at: Option<&str>) {
    let graders = graders(judge_at);
    let text = format!(
        "name: bench\ndataset: data.jsonl\nmax_concurrent: {CONCURRENCY}\ngraders:\n{graders}"
    );
    std::fs::write(folder.join("suite.yaml"), text).unwrap();
}

/// What one process took.
#[derive(Clone, Copy)]
struct Measured {
    cpu: f64,
    wall: f64,
    peak: f64,
    written: f64,
}

/// The least of several measures, of each figure by itself.
fn least(mut measure: impl FnMut() -> Measured) -> Measured {
    let all: Vec<Measured> = (0..ROUNDS).map(|_| measure()).collect();
    let least = |of: fn(&Measured) -> f64| all.iter().map(of).fold(f64::INFINITY, f64::min);
    Measured {
        cpu: least(|one| one.cpu),
        wall: least(|one| one.wall),
        peak: least(|one| one.peak),
        written: least(|one| one.written),
    }
}

fn measure(command: &mut Command, folder: &Path) -> Measured {
    command.current_dir(folder).stdout(Stdio::null()).env("OPENAI_API_KEY", "none");
    command.env_remove("EVALRS_CACHE_DIR");
    let bytes = bytes_in(folder);
    let cpu = cpu_of_children();
    let start = Instant::now();
    let mut child = command.spawn().unwrap();
    let mut peak = 0.0_f64;
    let status = loop {
        peak = peak.max(peak_memory(&child));
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    let wall = start.elapsed().as_secs_f64();
    assert!(status.success(), "{command:?}");
    let written = bytes_in(folder) - bytes;
    Measured { cpu: cpu_of_children() - cpu, wall, peak, written }
}

/// Seconds of processor time of all children that ended, in steps of 10 ms; 0 where the system does not say.
fn cpu_of_children() -> f64 {
    const TICKS: f64 = 100.0;
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit_once(") ").map_or("", |(_, fields)| fields);
    let children = fields.split(' ').skip(13).take(2);
    children.filter_map(|field| field.parse::<f64>().ok()).sum::<f64>() / TICKS
}

/// The bytes of the files in a folder, those of several names once.
fn bytes_in(folder: &Path) -> f64 {
    fn add(folder: &Path, seen: &mut HashSet<u64>) -> u64 {
        let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
        entries
            .map(|entry| match entry.metadata().unwrap() {
                metadata if metadata.is_dir() => add(&entry.path(), seen),
                metadata if is_new(&metadata, seen) => metadata.len(),
                _ => 0,
            })
            .sum()
    }
    add(folder, &mut HashSet::new()) as f64
}

#[cfg(unix)]
fn is_new(metadata: &std::fs::Metadata, seen: &mut HashSet<u64>) -> bool {
    seen.insert(std::os::unix::fs::MetadataExt::ino(metadata))
}

#[cfg(not(unix))]
fn is_new(_metadata: &std::fs::Metadata, _seen: &mut HashSet<u64>) -> bool {
    true
}

fn evalrs(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_evalrs"));
    command.args(args);
    command
}

/// The plain loop in a process of its own; `judged` if it reads verdicts.
fn plain(judged: bool) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--plain", if judged { "judged" } else { "alone" }]);
    command
}

#[derive(serde::Deserialize)]
struct Verdict {
    score: f64,
    rationale: String,
}

fn prompt(input: &str, truth: &str, output: &str) -> String {
    format!(
        "You grade answers of a support agent.\n\nQuestion: {input}\nExpected: {truth}\nAnswer: {output}\n"
    )
}

/// The verdicts that the plain loop keeps: a line with the digest of the prompt and the reply.
fn write_verdicts(folder: &Path, count: usize) {
    let mut file = BufWriter::new(std::fs::File::create(folder.join("verdicts.jsonl")).unwrap());
    for at in 0..count {
        let row = row(at, 0);
        let field = |name: &str| row[name].as_str().unwrap();
        let prompt = prompt(field("input"), field("ground_truth"), field("output"));
        let key = blake3::hash(prompt.as_bytes()).to_hex().to_string();
        writeln!(file, "{}", serde_json::json!([key, VERDICT])).unwrap();
    }
}

/// Reads, grades, and writes a line a row, in the working directory.
fn plain_loop(judged: bool) {
    let verdicts: HashMap<String, String> = if judged {
        let text = std::fs::read_to_string("verdicts.jsonl").unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    } else {
        HashMap::new()
    };
    let text = std::fs::read_to_string("data.jsonl").unwrap();
    let mut file = BufWriter::new(std::fs::File::create("plain.jsonl").unwrap());
    let mut sums = [0.0; 3];
    for line in text.lines() {
        let row: serde_json::Value = serde_json::from_str(line).unwrap();
        let field = |name: &str| row[name].as_str().unwrap();
        let [input, truth, output] = ["input", "ground_truth", "output"].map(field);
        let contains = f64::from(u8::from(output.to_lowercase().contains(&truth.to_lowercase())));
        let ascii = f64::from(u8::from(output.chars().all(|c| matches!(c, ' '..='~'))));
        let mut grades =
            serde_json::json!({"contains": {"score": contains}, "ascii": {"score": ascii}});
        sums[0] += contains;
        sums[1] += ascii;
        if judged {
            let key = blake3::hash(prompt(input, truth, output).as_bytes()).to_hex();
            let verdict: Verdict = serde_json::from_str(&verdicts[key.as_str()]).unwrap();
            sums[2] += verdict.score;
            grades["judge"] =
                serde_json::json!({"score": verdict.score, "rationale": verdict.rationale});
        }
        let result = serde_json::json!({"id": row["id"], "input": input, "ground_truth": truth, "output": output, "grades": grades});
        writeln!(file, "{result}").unwrap();
    }
    println!("{sums:?}");
}

fn told(what: &str, count: usize, ours: Measured, plain: Option<Measured>) {
    let beside = plain.map_or_else(String::new, |plain| {
        format!(
            "; plain loop {:.2} s, {:.0} MB: {:.1} times its processor time",
            plain.cpu,
            plain.peak / 1e6,
            ours.cpu / plain.cpu.max(0.01)
        )
    });
    println!(
        "{count:>7} rows, {what:<26} {:.2} s of processor time, {:.2} s, {:.0} MB, {:.1} MB written{beside}",
        ours.cpu,
        ours.wall,
        ours.peak / 1e6,
        ours.written / 1e6
    );
}

fn measure_rows(count: usize, slow: &str, fast: &str) {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    write_rows(folder, count, None);
    write_verdicts(folder, count);
    let run = |args: &[&str]| measure(evalrs(&["run", "suite.yaml", "--quiet"]).args(args), folder);
    let whole = || {
        let _ = std::fs::remove_dir_all(folder.join(".evalrs/index"));
        run(&[])
    };

    write_suite(folder, None);
    let alone = least(|| measure(&mut plain(false), folder));
    told("no judge", count, least(whole), Some(alone));

    write_suite(folder, Some(if count <= 1_000 { slow } else { fast }));
    let judged = least(|| measure(&mut plain(true), folder));
    let latency = if count <= 1_000 { "first, 50 ms a judgment" } else { "first, judge at once" };
    told(latency, count, run(&[]), None);
    told("nothing changed, all read", count, least(whole), Some(judged));
    // The first one leaves digests.
    run(&["--verify"]);
    told("nothing changed, --verify", count, least(|| run(&["--verify"])), None);
    told("nothing changed", count, least(|| run(&[])), None);
    let plan = || measure(&mut evalrs(&["plan", "suite.yaml"]), folder);
    told("plan", count, least(plan), None);
    write_rows(folder, count, Some(count / 2));
    told("one row edited", count, run(&[]), None);
    let id = format!("sample-{:06}", count / 3);
    let explain = || measure(&mut evalrs(&["explain", "suite.yaml", &id]), folder);
    told("explain of a sample", count, least(explain), None);
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let [what, judged] = args.as_slice()
        && what == "--plain"
    {
        return plain_loop(judged == "judged");
    }
    let sizes: Vec<usize> = args.iter().filter_map(|arg| arg.parse().ok()).collect();
    let [slow, fast] = [Duration::from_millis(50), Duration::ZERO].map(serve);
    for count in if sizes.is_empty() { vec![1_000, 10_000, 100_000] } else { sizes } {
        measure_rows(count, &slow, &fast);
    }
}
