//! `evalrs watch` against running again: `cargo bench --bench watch`.
//!
//! A judge that answers at once, and a file that is saved. Measured is the time from the end of the write to the first
//! new verdict on the display and until all are there, the debounce of 10 ms included, and for comparison a fresh `run` of
//! the same edit over the same store. The last line is the memory after 1,000 saves over that after 10. Each size runs in a
//! process of its own.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a bench measures the outside"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use evalrs_base::diagnostic::Diagnostic;
use evalrs_engine::progress::Quiet;
use evalrs_engine::resolve::live::Live;
use evalrs_engine::resolve::resolver::Effects;
use evalrs_engine::resolve::settings::Settings;
use evalrs_engine::resolve::settle::SettledPlans;
use evalrs_engine::resolve::settle::settle;
use evalrs_engine::session::Session;
use evalrs_eval::dataset::label_edit::NewLabel;
use evalrs_exec::ActionFuture;
use evalrs_exec::Executor;
use evalrs_exec::Launch;
use evalrs_graph::Database;
use evalrs_graph::inputs::Overrides;
use evalrs_graph::results;
use evalrs_metrics::metric::holdout::HeldOutAgreement;
use evalrs_model::outcome::Outcome;
use evalrs_model::outcome::Reply;
use evalrs_model::spec::LabelPick;
use evalrs_model::spec::LabelsSpec;
use evalrs_store::OutcomeStore;
use evalrs_store::SegmentStore;
use evalrs_system::changed_paths::ChangedPaths;
use evalrs_system::os::OsSystem;
use evalrs_watch::board::Board;
use evalrs_watch::board::Display;
use evalrs_watch::board::LabelInput;
use evalrs_watch::board::UserCommand;
use evalrs_watch::board::VerdictFilter;
use evalrs_watch::board::WatchEvent;
use evalrs_watch::control::Control;
use evalrs_watch::frontend::FinishedSave;
use evalrs_watch::frontend::Frontend;
use evalrs_watch::frontend::UserInput;
use evalrs_watch::frontend::WatchContext;
use evalrs_watch::fs_watch::FileWatch;
use evalrs_watch::list_query::ListQuery;
use evalrs_watch::take_back::FileEdit;

const SUITE: &str = "name: bench\ndataset: data.jsonl\ngraders:\n  contains: {kind: tool, function: contains}\n  judge:\n    \
                     kind: rubric\n    model: judge-1\n    endpoint: bench\n    prompt_path: rubric.txt\n\
                     gate: {metric_key: judge, metric: avg_score, op: gte, value: 0.5}\n";

fn rubric(version: usize) -> String {
    format!(
        "You grade answers of a support agent.\n\nQuestion: {{input}}\nExpected: {{ground_truth}}\nAnswer: {{submission}}\n\nVersion {version}.\n"
    )
}

fn row(at: usize, version: usize) -> String {
    let question =
        "What happens to my order if the warehouse is closed on the day I return it? ".repeat(3);
    let answer =
        "Your return is accepted on the next working day and the refund follows within five days. "
            .repeat(3);
    format!(
        "{{\"id\": \"sample-{at:06}\", \"input\": \"{question}({at})\", \"ground_truth\": \"accepted on the next working day\", \"output\": \"{answer}({at}.{version})\"}}"
    )
}

/// A folder with a suite, and what is saved there.
struct Desk {
    folder: PathBuf,
    rows: Vec<String>,
}

impl Desk {
    fn new(folder: &Path, count: usize) -> Self {
        let desk =
            Self { folder: folder.to_owned(), rows: (0..count).map(|at| row(at, 0)).collect() };
        desk.write("suite.yaml", SUITE.to_owned());
        desk.write("rubric.txt", rubric(0));
        desk.write("data.jsonl", desk.rows.join("\n"));
        desk
    }

    /// Writes a file; says when it was there.
    fn write(&self, name: &str, text: String) -> Instant {
        std::fs::write(self.folder.join(name), text).unwrap();
        Instant::now()
    }

    fn save(&mut self, edit: Edit, version: usize) -> Instant {
        match edit {
            Edit::Rubric => self.write("rubric.txt", rubric(version)),
            // It is given by a key, and written by whoever surrounds the session.
            Edit::Label => Instant::now(),
            // Another one than the last, or nothing would be evaluated.
            Edit::AnyRubric => {
                let next = if version <= 4 { version } else { version / 10 };
                self.write("rubric.txt", rubric(next % 4))
            }
            Edit::Sample => {
                let at = (self.rows.len() / 2 + version) % self.rows.len();
                self.rows[at] = row(at, version);
                let text = self.rows.join("\n");
                self.write("data.jsonl", text)
            }
        }
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Edit {
    Sample,
    Rubric,
    /// A label of one more answer.
    Label,
    /// One of four, so that the store has what it takes and only the session could grow.
    AnyRubric,
}

/// Answers at once; a score that is another for another prompt.
struct Instantly;

impl Executor for Instantly {
    fn execute(&self, launch: Launch) -> ActionFuture<'_> {
        let Launch::Judge(launch) = launch else { unreachable!("only judges are asked") };
        let sum: usize = launch.action.user.bytes().map(usize::from).sum();
        let score = (sum % 11) as f64 / 10.0;
        let text = format!(
            "{{\"score\": {score}, \"rationale\": \"The answer is correct and polite but leaves one question open.\"}}"
        );
        let model = Some("judge-1".to_owned());
        Box::pin(std::future::ready(Outcome::Reply(Reply { model, ..Reply::new(text) })))
    }
}

/// Somebody who saves as soon as everything is evaluated.
struct Script {
    desk: Desk,
    edits: Vec<Edit>,
    done: usize,
    saved: Option<Instant>,
    first: Option<Duration>,
    /// Milliseconds to the first and the last verdict of each edit.
    times: Vec<(f64, f64)>,
    /// Resident memory after each save, in bytes.
    memory: Vec<u64>,
    /// Whether a key is pressed next that labels an answer.
    labels: bool,
    /// Whether it was pressed.
    pressed: bool,
    quit: bool,
}

impl Script {
    fn new(desk: Desk, edits: Vec<Edit>) -> Self {
        let (times, memory) = (Vec::new(), Vec::new());
        Self {
            desk,
            edits,
            done: 0,
            saved: None,
            first: None,
            times,
            memory,
            labels: false,
            pressed: false,
            quit: false,
        }
    }

    fn evaluated(&mut self) {
        if std::mem::take(&mut self.labels) {
            self.first = Some(Duration::ZERO);
        }
        if let (Some(first), Some(saved)) = (self.first.take(), self.saved.take()) {
            // Single verdicts are told up to a thousand; the last one is there when everything is.
            self.times.push((first.as_secs_f64() * 1e3, saved.elapsed().as_secs_f64() * 1e3));
            self.memory.push(resident());
        }
        match self.edits.get(self.done) {
            Some(edit) => {
                self.done += 1;
                self.labels = *edit == Edit::Label;
                self.pressed = false;
                self.saved = Some(self.desk.save(*edit, self.done));
            }
            None => self.quit = true,
        }
    }
}

impl Display for Script {
    fn event(&mut self, event: &WatchEvent, _board: &dyn Board) -> std::io::Result<()> {
        match event {
            WatchEvent::Verdict(_) => {
                if let Some(saved) = self.saved {
                    self.first.get_or_insert_with(|| saved.elapsed());
                }
            }
            WatchEvent::Evaluated => self.evaluated(),
            _ => {}
        }
        Ok(())
    }
}

impl Frontend for Script {
    fn display(&mut self) -> &mut dyn Display {
        self
    }

    fn input(&mut self) -> Pin<Box<dyn Future<Output = UserInput> + '_>> {
        if self.quit {
            Box::pin(std::future::ready(UserInput::Interrupted))
        } else if self.labels && !self.pressed {
            Box::pin(std::future::ready(UserInput::Line("y".to_owned())))
        } else {
            Box::pin(std::future::pending())
        }
    }

    fn command(
        &mut self,
        input: UserInput,
        board: &dyn Board,
    ) -> std::io::Result<Option<UserCommand>> {
        if matches!(input, UserInput::Interrupted) {
            return Ok(Some(UserCommand::Quit));
        }
        self.pressed = true;
        let rows = board.rows(&ListQuery::of(VerdictFilter::All));
        let mut unlabelled =
            rows.into_iter().filter(|id| board.row(*id).is_some_and(|row| row.label.is_none()));
        let row = unlabelled.next().unwrap();
        self.saved = Some(Instant::now());
        let label = LabelInput::Pass(true);
        Ok(Some(UserCommand::Label { row, label, picked: LabelPick::Chosen, next: None }))
    }
}

/// Nothing surrounds the suite.
#[derive(Default)]
struct Nothing {
    paths: BTreeSet<String>,
    layers: Vec<(String, Arc<dyn OutcomeStore>)>,
    /// The file of labels.
    labels: String,
}

impl WatchContext for Nothing {
    fn label(&mut self, path: &str, _: &LabelsSpec, given: NewLabel) -> Result<(), String> {
        let NewLabel { id, grader, submission, label, .. } = given;
        let [grader, submission] = [grader, submission].map(Option::unwrap_or_default);
        let label = label.unwrap();
        writeln!(
            self.labels,
            "{{\"id\":\"{id}\",\"grader\":\"{grader}\",\"submission_digest\":\"{submission}\",\"label\":{label}}}"
        )
        .unwrap();
        std::fs::write(path, &self.labels).map_err(|error| error.to_string())
    }

    fn read_again(
        &mut self,
        _touched: &ChangedPaths,
    ) -> Result<Option<BTreeMap<String, String>>, Vec<Diagnostic>> {
        Ok(None)
    }

    fn settings(&self, _session: &Session) -> Settings {
        settings()
    }

    fn paths(&self) -> &BTreeSet<String> {
        &self.paths
    }

    fn record(&mut self, _saved: &FinishedSave<'_>) -> std::io::Result<()> {
        Ok(())
    }

    fn held_out(&mut self, _: &Session) -> Result<Vec<(String, HeldOutAgreement)>, String> {
        Ok(Vec::new())
    }

    fn layers(&mut self) -> &mut Vec<(String, Arc<dyn OutcomeStore>)> {
        &mut self.layers
    }

    fn write(&mut self, _: &[FileEdit]) -> Result<(), String> {
        Ok(())
    }

    fn time_of_day(&self) -> String {
        String::new()
    }

    fn diff_command(&self) -> String {
        String::new()
    }

    fn waiting(&self) -> Vec<String> {
        Vec::new()
    }

    fn lines(&self) -> Vec<String> {
        Vec::new()
    }
}

fn settings() -> Settings {
    Settings { max_concurrent: 64, ..Settings::default() }
}

fn session(folder: &Path) -> Session {
    let environment = BTreeMap::from([("OPENAI_API_KEY".to_owned(), "none".to_owned())]);
    let suite = folder.join("suite.yaml").to_string_lossy().into_owned();
    Session::new(Database::default(), &suite, environment, Overrides::default())
}

fn store(folder: &Path) -> Arc<dyn OutcomeStore> {
    Arc::new(SegmentStore::open(folder.join("cache")))
}

/// Carries a script out.
fn watch(script: &mut Script) {
    let folder = script.desk.folder.clone();
    let mut session = session(&folder);
    let mut around = Nothing::default();
    let mut quiet = Quiet;
    let world = Effects {
        store: store(&folder),
        system: &OsSystem,
        executor: &Instantly,
        progress: &mut quiet,
        grades: &mut Quiet,
    };
    let live = Live::new(&mut session, world, settings());
    let files = FileWatch::new(None).unwrap();
    let control = Control::new(live, script, &mut around, files, u64::MAX);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    assert!(runtime.block_on(control.run()).is_ok());
}

/// A fresh run: milliseconds until its summary is there.
fn run(folder: &Path) -> f64 {
    let start = Instant::now();
    let mut session = session(folder);
    assert!(session.load(&OsSystem).is_empty());
    let world = Effects {
        store: store(folder),
        system: &OsSystem,
        executor: &Instantly,
        progress: &mut Quiet,
        grades: &mut Quiet,
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let settings = settings();
    let mut plans = SettledPlans::default();
    let stop = std::future::pending();
    let settling = settle(&mut session, world, &settings, &mut plans, stop);
    assert!(runtime.block_on(settling).is_ok());
    let _ = results::summary(&session.db, session.root);
    start.elapsed().as_secs_f64() * 1e3
}

/// The resident memory of this process, in bytes; 0 where the system does not say.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok()).unwrap_or(0) * 1024
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn measure(count: usize, folder: &Path) {
    let edits =
        [Edit::Sample, Edit::Sample, Edit::Sample, Edit::Rubric, Edit::Rubric, Edit::Rubric];
    let mut script = Script::new(Desk::new(folder, count), edits.to_vec());
    watch(&mut script);
    let of = |edits: std::ops::Range<usize>| {
        let times = &script.times[edits];
        let of = |part: fn(&(f64, f64)) -> f64| median(times.iter().map(part).collect());
        (of(|time| time.0), of(|time| time.1))
    };
    let (sample, rubric) = (of(0..3), of(3..6));
    let mut again = |edit| {
        script.desk.save(edit, 100);
        run(folder)
    };
    let (run_sample, run_rubric) = (again(Edit::Sample), again(Edit::Rubric));
    println!("{} {} {run_sample} {} {} {run_rubric}", sample.0, sample.1, rubric.0, rubric.1);
}

/// 1,000 saves: at first four rubrics, then mostly another text of a sample, and each tenth one of the four.
fn measure_memory(count: usize, folder: &Path) {
    let edit = |at: usize| if at < 4 || at % 10 == 9 { Edit::AnyRubric } else { Edit::Sample };
    let mut script = Script::new(Desk::new(folder, count), (0..1_000).map(edit).collect());
    watch(&mut script);
    let memory = &script.memory;
    println!("{} {}", memory[9], memory[memory.len() - 1]);
}

/// The time from a label key to the new agreement, milliseconds: the median, and the longest.
fn measure_labels(count: usize, folder: &Path) {
    let mut script = Script::new(Desk::new(folder, count), vec![Edit::Label; 31]);
    watch(&mut script);
    let times: Vec<f64> = script.times.iter().skip(1).map(|(_, last)| *last).collect();
    let longest = times.iter().copied().fold(0.0, f64::max);
    println!("{} {longest}", median(times));
}

fn child(count: usize, what: &str) -> Vec<f64> {
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--child", what, &count.to_string()])
        .arg(folder.path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    text.split_whitespace().map(|number| number.parse().unwrap()).collect()
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    if let Some(at) = args.iter().position(|arg| arg == "--child") {
        let (count, folder) = (args[at + 2].parse().unwrap(), Path::new(&args[at + 3]));
        return match args[at + 1].as_str() {
            "memory" => measure_memory(count, folder),
            "labels" => measure_labels(count, folder),
            _ => measure(count, folder),
        };
    }
    println!("         one sample edited, ms       rubric edited, ms");
    println!("samples   first    last   run again    first      last   run again");
    let most = if args.iter().any(|arg| arg == "--quick") { 1_000 } else { 100_000 };
    for count in [1_000, 10_000, 100_000].into_iter().filter(|count| *count <= most) {
        let times = child(count, "time");
        let [first, last, run, rubric_first, rubric_last, rubric_run] = times[..] else {
            panic!("{times:?}")
        };
        println!(
            "{count:>7} {first:>7.1} {last:>7.1} {run:>11.1} {rubric_first:>8.1} {rubric_last:>9.1} {rubric_run:>11.1}"
        );
    }
    let labels = child(10_000.min(most), "labels");
    println!(
        "from a label key to the new agreement, at {} samples: {:.1} ms, at most {:.1} ms of 30",
        10_000.min(most),
        labels[0],
        labels[1]
    );
    let memory = child(1_000, "memory");
    let (early, late) = (memory[0] / 1e6, memory[1] / 1e6);
    println!(
        "memory at 1,000 samples: {early:.1} MB after 10 saves, {late:.1} MB after 1,000: {:.3} times",
        late / early
    );
}
