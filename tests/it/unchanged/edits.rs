//! A workspace with every kind of file that a suite can name, and all ways to change such a file that its time and size do not
//! show.
#![expect(clippy::disallowed_methods, reason = "tests touch the files of the user")]

use std::fs::{self, File, FileTimes};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use evalrs_store::{Entry, render};

use crate::judge::Judge;
use crate::space::{Running, Space};

/// A file and the texts that it may have. They are padded to one length.
type NamedTexts = (&'static str, &'static [&'static str]);

/// Files that a suite is made of, or names.
const FILES: &[NamedTexts] = &[
    (SUITE, SUITES),
    (
        "base.yaml",
        &[
            "description: one\ngraders: {kind: {pass_threshold: 0.5}}\n",
            "description: one\ngraders: {kind: {pass_threshold: 0.9}}\n",
            "description: two\ngraders: {kind: {pass_threshold: 0.5}}\n",
        ],
    ),
    (
        "kind.md",
        &[
            "---\ninclude: house.md\n---\nIs {submission} kind?\n",
            "---\ninclude: house.md\n---\nIs {submission} curt?\n",
            "Is {submission} kind?\n",
        ],
    ),
    ("house.md", &["Be strict.\n", "Be gentle.\n"]),
    ("own.md", &["Is {submission} short?\n", "Is {submission} sweet?\n"]),
    (
        "data/a.json",
        &[
            r#"{"id": "a", "input": "Hello"}"#,
            r#"{"id": "a", "input": "Howdy"}"#,
            r#"{"id": "z", "input": "Hello"}"#,
            "{\"id\": \"a\", \"input\": ",
        ],
    ),
    (
        "data/b.jsonl",
        &[
            "{\"id\": \"b\", \"input\": \"Bye\", \"rubric_path\": \"own.md\"}\n{\"id\": \"c\", \"input\": \"Who?\"}\n",
            "{\"id\": \"b\", \"input\": \"Bye\"}\n{\"id\": \"c\", \"input\": \"Who?\"}\n",
            "{\"id\": \"b\", \"input\": \"Bye\"}\n",
        ],
    ),
    ("data/d.csv", &["id,input\nd,Where?\n", "id,input\nd,Whence\n", "id,input\ne,Where?\n"]),
    (
        "said.jsonl",
        &[
            "{\"id\":\"a\",\"output\":\"Good day\"}\n{\"id\":\"b\",\"output\":\"So long\"}\n{\"id\":\"c\",\"output\":\"Me\"}\n{\"id\":\"d\",\"output\":\"Here\"}\n",
            "{\"id\":\"a\",\"output\":\"Bad days\"}\n{\"id\":\"b\",\"output\":\"So long\"}\n{\"id\":\"c\",\"output\":\"We\"}\n{\"id\":\"d\",\"output\":\"Here\"}\n",
            "{\"id\":\"a\",\"output\":\"Good day\"}\n{\"id\":\"b\",\"output\":\"\"}\n",
        ],
    ),
    ("votes.csv", &["id,judge,score\na,ann,1\nb,ann,0\n", "id,judge,score\na,ann,0\nb,ann,0\n"]),
    (
        "suite.labels.jsonl",
        &[
            "{\"id\":\"a\",\"label\":1}\n{\"id\":\"b\",\"label\":1}\n",
            "{\"id\":\"a\",\"label\":0}\n{\"id\":\"b\",\"label\":1}\n",
            "",
        ],
    ),
    (
        "evalrs.toml",
        &[
            "[run]\nkeep_runs = 3\n[prices.judge-1]\ninput = 1.0\noutput = 2.0\n",
            "[run]\nkeep_runs = 3\n[prices.judge-1]\ninput = 9.0\noutput = 2.0\n",
            "[run]\nkeep_runs = 4\nmax_calls = 2\n",
        ],
    ),
    (".env", &["LEAST=0.5\n", "LEAST=0.9\n", "OTHER=0.5\n"]),
    (
        "score.py",
        &[
            "import helper\ndef f(sample, submission):\n    return helper.SCORE\n",
            "import helper\ndef f(sample, submission):\n    return helper.OTHER\n",
        ],
    ),
    ("helper.py", &["SCORE = 0.25\nOTHER = 1.0\n", "SCORE = 0.75\nOTHER = 1.0\n"]),
    (COMMITTED, &[]),
];

pub(super) const SUITE: &str = "suite.yaml";

const COMMITTED: &str = "cache/bot.judgments.jsonl";

const HEAD: &str = "\
extends: base.yaml
name: bot
dataset: data
target: {kind: recorded, path: said.jsonl}
graders:
  short: {kind: tool, function: length, config: {max: MOST}}
  kind: {kind: rubric, prompt_path: kind.md, model: judge-1}
  people: {kind: recorded_votes, path: votes.csv}
gate: {metric_key: GATED, metric: avg_score, op: gte, value: \"${LEAST:-0.2}\"}
";

/// What replaces parts of the suite.
const SUITES: &[&str] = &["7", "5", "kind", "program"];

/// How many texts of the suite have no program: only those can be repeated.
const WITHOUT_PROGRAM: usize = 3;

/// How a text gets to its place.
#[derive(Clone, Copy, Debug)]
enum Manner {
    InPlace,
    /// With the time that the file had before.
    InPlaceForged,
    Renamed,
    RenamedForged,
    /// The number of the file may be the same.
    RemovedAndMade,
    /// Another text comes before it, at the same moment.
    Twice,
    /// The clock is an hour behind.
    SetBack,
    /// The clock is an hour ahead.
    Ahead,
    ThroughHardLink,
    SwappedLink,
    /// The file takes the place of another one with all that the folder has.
    WithItsFolder,
    /// The folder is a link to another one.
    WithLinkedFolder,
}

const MANNERS: [Manner; 12] = [
    Manner::InPlace,
    Manner::InPlaceForged,
    Manner::Renamed,
    Manner::RenamedForged,
    Manner::RemovedAndMade,
    Manner::Twice,
    Manner::SetBack,
    Manner::Ahead,
    Manner::ThroughHardLink,
    Manner::SwappedLink,
    Manner::WithItsFolder,
    Manner::WithLinkedFolder,
];

/// A workspace that is edited.
pub(super) struct EditedWorkspace {
    pub(super) space: Space,
    random: fastrand::Rng,
    /// Each file with its texts.
    files: Vec<(&'static str, Vec<String>)>,
    /// What is missing, and where it is meanwhile.
    gone: Option<(&'static str, PathBuf)>,
    /// What claims to be of the future.
    ahead: Option<&'static str>,
    has_program: bool,
    /// Numbers names of files.
    made: usize,
}

impl EditedWorkspace {
    /// A workspace with its first run.
    pub(super) fn new(judge: &Judge, seed: u64) -> Self {
        let space = Space::new(&[("cache/.gitignore", "v1/\n"), ("cache/v1/seg/.keep", "")]);
        space.write(".evalrs/.gitignore", "*\n");
        fs::create_dir(space.path("aside")).unwrap();
        // So that links mean the same below `data` and below what takes its place.
        symlink(".", space.path("aside/aside")).unwrap();
        let files = FILES.iter().map(|(path, texts)| (*path, texts_of(path, texts))).collect();
        let mut workspace = Self {
            space,
            random: fastrand::Rng::with_seed(seed),
            files,
            gone: None,
            ahead: None,
            has_program: false,
            made: 0,
        };
        for (path, texts) in &workspace.files {
            workspace.space.write(path, texts.first().map_or("", String::as_str));
        }
        let ran = workspace.space.run_with(judge, &["run", SUITE]);
        assert!(ran.code() < 2, "{}", ran.shown());
        let texts = judgments(&workspace.space);
        workspace.files.last_mut().unwrap().1 = padded(texts);
        workspace
    }

    /// One or two edits, or none. Returns what they were.
    pub(super) fn edit(&mut self) -> Vec<String> {
        let mut edits = Vec::new();
        if let Some(path) = self.ahead.take() {
            let _ = set_modified(&self.space.path(path), SystemTime::now());
            edits.push(format!("{path} is of now"));
        }
        if let Some((path, aside)) = self.gone.take() {
            fs::rename(aside, self.space.path(path)).unwrap();
            edits.push(format!("{path} is put back"));
        }
        let more = self.random.usize(0..3);
        edits.extend((0..more).map(|_| self.edit_once()));
        edits
    }

    /// Whether a run of which nothing has changed may be repeated now.
    pub(super) fn is_repeatable(&self) -> bool {
        !self.has_program && self.ahead.is_none()
    }

    fn edit_once(&mut self) -> String {
        match self.random.u32(..20) {
            0 => self.put_away(),
            1 => self.put_away_and_back(),
            2..=3 => self.edit_record(),
            4 => self.touch(),
            5 if self.random.bool() => {
                let _ = fs::remove_file(self.space.path(".evalrs/bot.history.jsonl"));
                "the history is gone".to_owned()
            }
            _ => self.save(),
        }
    }

    /// Writes a file in some way.
    fn save(&mut self) -> String {
        let at = self.pick();
        let (path, texts) = &self.files[at];
        let text = self.random.usize(..texts.len());
        if at == 0 {
            self.has_program = text >= WITHOUT_PROGRAM;
        }
        let manner = MANNERS[self.random.usize(..MANNERS.len())];
        let manner = if matches!(manner, Manner::Ahead) && self.ahead.is_some() {
            Manner::InPlaceForged
        } else {
            manner
        };
        let said = format!("{path} gets text {text}: {manner:?}");
        let text = texts[text].clone();
        let path = *path;
        self.write(path, &text, manner);
        said
    }

    /// A file to edit; often the suite while it has a program.
    fn pick(&mut self) -> usize {
        if self.has_program && self.random.u32(..3) == 0 {
            return 0;
        }
        self.random.usize(..self.files.len())
    }

    fn write(&mut self, path: &'static str, text: &str, manner: Manner) {
        self.made += 1;
        let target = self.space.path(path);
        let aside = self.space.path(&format!("aside/{}", self.made));
        let now = SystemTime::now();
        let hour = Duration::from_hours(1);
        let before = modified(&target).unwrap_or(now - hour);
        match manner {
            Manner::InPlace => fs::write(&target, text).unwrap(),
            Manner::InPlaceForged => write_at(&target, text, before),
            Manner::Twice => {
                write_at(&target, &text.replace(['a', 'e'], "o"), before);
                write_at(&target, text, before);
            }
            Manner::SetBack => write_at(&target, text, now - hour),
            Manner::Ahead => {
                write_at(&target, text, now + hour);
                self.ahead = Some(path);
            }
            Manner::Renamed => {
                fs::write(&aside, text).unwrap();
                fs::rename(aside, target).unwrap();
            }
            Manner::RenamedForged => {
                write_at(&aside, text, before);
                fs::rename(aside, target).unwrap();
            }
            Manner::RemovedAndMade => {
                let _ = fs::remove_file(&target);
                write_at(&target, text, before);
            }
            Manner::ThroughHardLink => {
                if fs::hard_link(fs::canonicalize(&target).unwrap(), &aside).is_ok() {
                    write_at(&aside, text, before);
                }
            }
            Manner::SwappedLink => {
                write_at(&aside, text, before);
                let up = if path.contains('/') { "../" } else { "" };
                let link = aside.with_extension("link");
                symlink(format!("{up}aside/{}", self.made), &link).unwrap();
                fs::rename(link, target).unwrap();
            }
            Manner::WithItsFolder | Manner::WithLinkedFolder => {
                self.swap_folder(text, is_linked(manner));
            }
        }
    }

    /// Another folder takes the place of that of the rows, with `text` in one of its files if that may have it.
    fn swap_folder(&self, text: &str, is_linked: bool) {
        let data = self.space.path("data");
        let aside = self.space.path(&format!("aside/{}", self.made));
        fs::create_dir(&aside).unwrap();
        let all = data.join(".");
        assert!(Command::new("cp").arg("-a").args([&all, &aside]).status().unwrap().success());
        let of_text = |(_, texts): &&(&str, Vec<String>)| texts.iter().any(|other| other == text);
        let file = self.files.iter().find(of_text).map(|(path, _)| *path);
        if let Some(name) = file.and_then(|path| path.strip_prefix("data/")) {
            let before = modified(&aside.join(name)).unwrap_or(SystemTime::now());
            let _ = fs::remove_file(aside.join(name));
            write_at(&aside.join(name), text, before);
        }
        fs::rename(&data, aside.with_extension("old")).unwrap();
        if is_linked {
            symlink(format!("aside/{}", self.made), data).unwrap();
        } else {
            fs::rename(aside, data).unwrap();
        }
    }

    fn put_away(&mut self) -> String {
        if self.gone.is_some() {
            return "nothing".to_owned();
        }
        let (path, aside) = self.aside();
        fs::rename(self.space.path(path), &aside).unwrap();
        self.gone = Some((path, aside));
        format!("{path} is gone")
    }

    fn put_away_and_back(&mut self) -> String {
        let (path, aside) = self.aside();
        if fs::rename(self.space.path(path), &aside).is_ok() {
            fs::rename(aside, self.space.path(path)).unwrap();
        }
        format!("{path} is put away and back")
    }

    fn aside(&mut self) -> (&'static str, PathBuf) {
        self.made += 1;
        let at = self.random.usize(..self.files.len());
        (self.files[at].0, self.space.path(&format!("aside/{}", self.made)))
    }

    fn touch(&mut self) -> String {
        let (path, _) = self.aside();
        let _ = set_modified(&self.space.path(path), SystemTime::now());
        format!("{path} is touched")
    }

    /// Changes a digit in a file of the last record.
    fn edit_record(&mut self) -> String {
        let names = ["header.json", "summary.json", "results.jsonl", "run.json"];
        let name = names[self.random.usize(..names.len())];
        let path = self.space.latest().join(name);
        let Ok(text) = fs::read_to_string(&path) else { return "nothing".to_owned() };
        let before = modified(&path).unwrap();
        let text = text.replacen("0.5", "0.6", 1).replacen("1.0", "0.0", 1);
        write_at(&path, &text, before);
        format!("{name} of the record is edited")
    }

    /// Writes one file again and again while a run reads it, always with the same time and length.
    pub(super) fn edit_during(&mut self, running: &mut Running) -> String {
        let at = self.pick();
        let (path, texts) = &self.files[at];
        let target = self.space.path(path);
        let Some(before) = modified(&target).filter(|_| at > 0) else { return String::new() };
        let most = self.random.usize(..3_000);
        let mut times = 0;
        while times < most && !running.has_ended() {
            write_at(&target, &texts[times % texts.len()], before);
            times += 1;
        }
        format!("{path} is written {times} times meanwhile")
    }

    /// A copy of all files, without the index.
    pub(super) fn copy(&self) -> Space {
        let copy = Space::new(&[]);
        let from = self.space.path(".");
        let status = Command::new("cp").arg("-a").args([&from, &copy.path(".")]).status();
        assert!(status.unwrap().success());
        let _ = fs::remove_dir_all(copy.path(".evalrs/index"));
        copy
    }
}

fn is_linked(manner: Manner) -> bool {
    matches!(manner, Manner::WithLinkedFolder)
}

fn texts_of(path: &str, texts: &[&str]) -> Vec<String> {
    if path == SUITE {
        return padded(texts.iter().map(|part| suite(part)).collect());
    }
    padded(texts.iter().map(|text| (*text).to_owned()).collect())
}

fn suite(part: &str) -> String {
    let [most, gated] = match part {
        "kind" => ["7", "kind"],
        "program" => ["7", "score"],
        most => [most, "short"],
    };
    let suite = HEAD.replace("MOST", most).replace("GATED", gated);
    let program = "  score: {kind: program, path: 'score.py:f'}\ngate:";
    if part == "program" { suite.replace("gate:", program) } else { suite }
}

/// The same texts, with spaces and line ends that say nothing.
fn padded(texts: Vec<String>) -> Vec<String> {
    let most = texts.iter().map(String::len).max().unwrap_or_default();
    let pad = |text: String| {
        let missing = most - text.len();
        text + &"\n".repeat(missing)
    };
    texts.into_iter().map(pad).collect()
}

/// Judgments as somebody could have committed them, newer than what is stored.
fn judgments(space: &Space) -> Vec<String> {
    let entries = space.stored_entries();
    let line = |generation: u32, score: &str| {
        let entry = Entry { generation, ..entries[0].clone() };
        let body = regex::Regex::new(r#"score\\":[0-9.]+"#).unwrap();
        let with_score = format!("score\\\":{score}");
        let body = body.replace(&entry.body, with_score.as_str()).into_owned();
        render(&Entry { body, ..entry }).unwrap()
    };
    vec![String::new(), line(7, "0.25"), line(7, "0.75"), line(8, "0.75")]
}

fn modified(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).ok()?.modified().ok()
}

/// Writes a file in place, with this time.
fn write_at(path: &Path, text: &str, time: SystemTime) {
    if fs::metadata(path).is_ok_and(|before| before.permissions().readonly()) {
        let mut open = fs::metadata(path).unwrap().permissions();
        std::os::unix::fs::PermissionsExt::set_mode(&mut open, 0o644);
        fs::set_permissions(path, open).unwrap();
    }
    fs::write(path, text).unwrap();
    set_modified(path, time).unwrap();
}

fn set_modified(path: &Path, time: SystemTime) -> std::io::Result<()> {
    File::options().write(true).open(path)?.set_times(FileTimes::new().set_modified(time))
}
