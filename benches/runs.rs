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

use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use self::fresh_process::{Measured, least, measure, measure_answer};
use self::scripted_judge::{VERDICT, serve};

mod child_memory;
mod fresh_process;
mod loopback;
mod scripted_judge;

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
    write_suite_with(folder, judge_at, None);
}

fn write_suite_with(folder: &Path, judge_at: Option<&str>, threshold: Option<f64>) {
    let mut graders = graders(judge_at);
    if let Some(threshold) = threshold {
        let _ = writeln!(graders, "    pass_threshold: {threshold}");
    }
    let text = format!(
        "name: bench\ndataset: data.jsonl\nmax_concurrent: {CONCURRENCY}\ngraders:\n{graders}"
    );
    std::fs::write(folder.join("suite.yaml"), text).unwrap();
    settle();
}

/// A file that has just changed may change again unseen, so that the next run would read it whatever it knows.
fn settle() {
    std::thread::sleep(Duration::from_millis(100));
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

/// A folder with rows, and the judge of its suite.
struct Rows<'a> {
    folder: &'a Path,
    count: usize,
    judge: &'a str,
}

impl Rows<'_> {
    fn run(&self, args: &[&str]) -> Measured {
        measure(evalrs(&["run", "suite.yaml", "--quiet"]).args(args), self.folder)
    }

    /// Everything is read: the index is gone.
    fn read_all(&self) -> Measured {
        let _ = std::fs::remove_dir_all(self.folder.join(".evalrs/index"));
        self.run(&[])
    }

    fn told(&self, what: &str, ours: Measured) {
        told(what, self.count, ours, None);
    }

    fn without_judge(&self) {
        write_suite(self.folder, None);
        let alone = least(|| measure(&mut plain(false), self.folder));
        told("no judge", self.count, least(|| self.read_all()), Some(alone));
        write_suite(self.folder, Some(self.judge));
    }

    fn first_and_unchanged(&self) {
        let latency = if self.count <= 1_000 { "50 ms a judgment" } else { "judge at once" };
        self.told(&format!("first, {latency}"), self.run(&[]));
        let judged = least(|| measure(&mut plain(true), self.folder));
        told("nothing changed, all read", self.count, least(|| self.read_all()), Some(judged));
        // The first one leaves digests.
        self.run(&["--verify"]);
        self.told("nothing changed, --verify", least(|| self.run(&["--verify"])));
        self.told("nothing changed", least(|| self.run(&[])));
    }

    fn edits(&self) {
        write_rows(self.folder, self.count, Some(self.count / 2));
        settle();
        self.told("plan of an edited row", self.inspect(&["plan", "suite.yaml"]));
        self.told("one row edited", self.run(&[]));
        // The judge gives 0.8, and all but 1.0 fails unless the suite says otherwise.
        for (what, threshold) in [("a threshold, none moves", 0.9), ("a threshold, all move", 0.7)]
        {
            write_suite_with(self.folder, Some(self.judge), Some(threshold));
            self.told(what, self.run(&[]));
        }
        write_suite(self.folder, Some(self.judge));
        self.run(&[]);
    }

    fn inspect(&self, args: &[&str]) -> Measured {
        measure(&mut evalrs(args), self.folder)
    }

    fn inspections(&self) {
        let id = format!("sample-{:06}", self.count / 3);
        for (what, args) in [
            ("plan", &["plan", "suite.yaml"][..]),
            ("explain of a sample", &["explain", "suite.yaml", &id]),
            ("report in the terminal", &["report"]),
            ("diff of two runs", &["diff"]),
        ] {
            self.told(what, least(|| self.inspect(args)));
        }
        let latest = std::fs::read_to_string(self.folder.join(".evalrs/latest")).unwrap();
        let page = format!("/api/runs/{}/samples?limit=50", latest.trim());
        let serve = |port: u16| evalrs(&["serve", "--read-only", "--port", &port.to_string()]);
        self.told("first page of `serve`", least(|| measure_answer(serve, self.folder, &page)));
    }

    fn fresh_clone(&self) {
        self.inspect(&["cache", "export", "suite.yaml"]);
        for made in [".evalrs", "cache/v1"] {
            std::fs::remove_dir_all(self.folder.join(made)).unwrap();
        }
        self.told("fresh clone, --frozen", self.run(&["--frozen"]));
    }

    /// The physical comparison: git looks at the same files.
    fn git_status(&self) {
        let git = |args: &[&str]| {
            let mut git = Command::new("git");
            git.args(["-c", "user.name=bench", "-c", "user.email=bench@localhost"]).args(args);
            measure(&mut git, self.folder)
        };
        for args in [&["init", "-q"][..], &["add", "."], &["commit", "-qm", "rows"], &["status"]] {
            git(args);
        }
        self.told("`git status` there", least(|| git(&["status"])));
    }
}

fn measure_rows(count: usize, judge: &str) {
    let folder = tempfile::tempdir().unwrap();
    let rows = Rows { folder: folder.path(), count, judge };
    write_rows(rows.folder, count, None);
    write_verdicts(rows.folder, count);
    rows.without_judge();
    rows.first_and_unchanged();
    rows.edits();
    rows.inspections();
    rows.fresh_clone();
    rows.git_status();
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
        measure_rows(count, if count <= 1_000 { &slow } else { &fast });
    }
}
