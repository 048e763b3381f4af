//! The tutorials as a reader follows them: their commands run in the order of the page, in a clone and an empty home.
//!
//! - Blocks of `console` show what a terminal of 80 columns shows, or the beginning of it above `…`. The shell keeps its
//!   folder and exit code.
//! - A block after a line that ends with "`NAME`:" is written to that file.
//! - `evalrs watch` stays open. The code in a sentence that begins with *Press* is its keys, and a
//!   block of `text` its screen.
//!
//! `UPDATE_SPECS=1` writes what commands print, and screens show, into the page. Ids of runs and times may differ.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::output::{changes, masked};
use crate::space::{Space, has, lines};
use crate::terminal::{Terminal, key};

/// Rows and columns of a terminal as most systems open it.
const SCREEN: (u16, u16) = (24, 80);
/// The same for what commands print, as a reader scrolls.
const PRINTED: (u16, u16) = (200, SCREEN.1);
/// The last line of what shows a beginning.
const MORE: &str = "…";
/// How long a screen must stay the same.
const SETTLED: Duration = Duration::from_millis(400);
const IDLE: &str = "idle, waiting for a save";

/// Something that the reader does or sees, and the line after which it stands, counted from 0.
struct PageStep {
    line: usize,
    action: PageAction,
}

enum PageAction {
    Command { text: String, shown: Vec<String> },
    Write { path: String, text: String },
    Press(Vec<String>),
    Look(Vec<String>),
}

/// What the page has to do, in its order.
fn steps(page: &str) -> Vec<PageStep> {
    let mut steps = Vec::new();
    let mut paragraph = String::new();
    let mut before = String::new();
    let mut all = page.lines().enumerate();
    while let Some((line, text)) = all.next() {
        let info = text.strip_prefix("```");
        if !paragraph.is_empty() && (text.is_empty() || info.is_some()) {
            steps.extend(presses(line, &paragraph));
            before = std::mem::take(&mut paragraph);
        }
        let Some(info) = info else {
            if !text.is_empty() {
                paragraph.push_str(text);
                paragraph.push(' ');
            }
            continue;
        };
        let file = named_file(&std::mem::take(&mut before));
        let body: Vec<&str> =
            all.by_ref().map(|(_, text)| text).take_while(|text| *text != "```").collect();
        match (info, file) {
            ("console", _) => steps.extend(commands(line + 1, &body)),
            (_, Some(path)) => {
                steps
                    .push(PageStep { line, action: PageAction::Write { path, text: lines(body) } });
            }
            ("text", None) => {
                let shown = body.into_iter().map(str::to_owned).collect();
                steps.push(PageStep { line, action: PageAction::Look(shown) });
            }
            _ => {}
        }
    }
    steps
}

/// The file that a paragraph ends with: "`suite.yaml`:".
fn named_file(paragraph: &str) -> Option<String> {
    let rest = paragraph.trim_end().strip_suffix("`:")?;
    Some(rest.rsplit_once('`')?.1.to_owned())
}

/// The keys of the sentences that begin with *Press*.
fn presses(line: usize, paragraph: &str) -> Option<PageStep> {
    let sentences = paragraph.split_inclusive(". ").map(str::trim);
    let pressed = sentences.filter(|sentence| sentence.starts_with("Press "));
    let code = pressed.flat_map(|sentence| sentence.split('`').skip(1).step_by(2));
    let keys: Vec<String> = code.flat_map(|code| code.split(' ')).map(str::to_owned).collect();
    (!keys.is_empty()).then_some(PageStep { line, action: PageAction::Press(keys) })
}

fn commands(start: usize, body: &[&str]) -> Vec<PageStep> {
    let of_line = |(at, line): (usize, &&str)| {
        let text = line.strip_prefix("$ ")?.to_owned();
        let below = body[at + 1..].iter().take_while(|line| !line.starts_with("$ "));
        let shown = below.map(|line| (*line).to_owned()).collect();
        Some(PageStep { line: start + at, action: PageAction::Command { text, shown } })
    };
    body.iter().enumerate().filter_map(of_line).collect()
}

/// Somebody who has evalrs and follows a page.
struct Learner {
    name: &'static str,
    space: Space,
    /// The session of `evalrs watch`, and how often its files were saved.
    watch: Option<(Terminal, usize)>,
    /// What a session left on the terminal.
    left: Option<String>,
    page: Vec<String>,
    /// How many lines more the page has by now.
    longer: isize,
    differ: Vec<String>,
}

impl Learner {
    fn new(name: &'static str, page: &str) -> Self {
        let space = Space::new(&[("home/.gitconfig", GIT), (".shell/code", "0")]);
        for folder in ["examples/sessions", "examples/answers"] {
            for entry in std::fs::read_dir(root().join(folder)).unwrap() {
                let path = entry.unwrap().path();
                let name = path.strip_prefix(root()).unwrap().to_string_lossy().into_owned();
                space.write(&format!("evalrs/{name}"), std::fs::read(&path).unwrap());
            }
        }
        space.write(".shell/folder", space.path("evalrs").to_string_lossy().as_bytes());
        let page = page.lines().map(str::to_owned).collect();
        Self { name, space, watch: None, left: None, page, longer: 0, differ: Vec::new() }
    }

    fn folder(&self) -> PathBuf {
        PathBuf::from(self.space.read(".shell/folder").trim_end())
    }

    fn follow(&mut self, step: &PageStep) {
        match &step.action {
            PageAction::Command { text, .. } if text.starts_with("evalrs watch ") => {
                let watch = Terminal::of(&self.shell(&format!("exec {text}")), SCREEN);
                self.watch = Some((watch, 0));
            }
            PageAction::Command { text, shown } => {
                if let Some((_, saves)) = &mut self.watch {
                    *saves += usize::from(text.starts_with("git restore "));
                }
                let printed = self.printed(text);
                self.compare(step.line + 1, text, shown, &beginning(shown, printed));
            }
            PageAction::Write { path, text } => {
                let path = self.folder().join(path);
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(path, text).unwrap();
                if let Some((_, saves)) = &mut self.watch {
                    *saves += 1;
                }
            }
            PageAction::Press(keys) => self.press(keys),
            PageAction::Look(shown) => {
                let screen = match (&mut self.watch, self.left.take()) {
                    (Some((watch, saves)), _) => settled(watch, *saves),
                    (None, Some(left)) => left,
                    (None, None) => return,
                };
                self.compare(step.line + 1, "the screen", shown, &beginning(shown, screen));
            }
        }
    }

    /// A shell in the reader's folder, with their environment.
    fn shell(&self, script: &str) -> Command {
        let binary = Path::new(env!("CARGO_BIN_EXE_evalrs")).parent().unwrap().display();
        let mut command = Command::new("bash");
        command.args(["-c", script]).current_dir(self.folder()).env_clear();
        command.env("PATH", format!("{binary}:/usr/bin:/bin")).env("HOME", self.space.path("home"));
        command.env("GIT_PAGER", "cat").env("EVALRS_WHO", "ann");
        command
    }

    /// What a terminal shows after a command.
    fn printed(&self, text: &str) -> String {
        let state = self.space.path(".shell");
        let state = state.display();
        let script = format!(
            "(exit $(cat {state}/code))\n{text}\ncode=$?; pwd >{state}/folder; echo $code >{state}/code"
        );
        Terminal::of(&self.shell(&script), PRINTED).finish_printed()
    }

    fn press(&mut self, keys: &[String]) {
        for name in keys {
            let (watch, saves) = self.watch.as_mut().expect("keys are for `evalrs watch`");
            settled(watch, *saves);
            if name == "q" {
                watch.press("q");
                let (watch, _) = self.watch.take().unwrap();
                self.left = Some(watch.finish_printed());
                continue;
            }
            watch.press(if name == "Enter" { key::ENTER } else { name });
        }
    }

    /// A line for the page: the one that it has, if they differ in ids and times alone.
    fn kept(&self, line: &str, shown: &[String]) -> String {
        let is_same = |one: &&String| masked(one, &self.space) == masked(line, &self.space);
        let home = self.space.path("home").display().to_string();
        shown.iter().find(is_same).cloned().unwrap_or_else(|| line.replace(&home, "~"))
    }

    /// Compares what the page shows below a line with what there is, and keeps that for the page.
    fn compare(&mut self, below: usize, what: &str, shown: &[String], found: &str) {
        let [expected, printed] =
            [lines(shown), found.to_owned()].map(|text| masked(&text, &self.space));
        if expected == printed {
            return;
        }
        let expected: Vec<String> = expected.lines().map(str::to_owned).collect();
        let place = format!("{}:{below}: {what}", self.name);
        self.differ.push(format!("{place}\n{}", changes(&expected, &printed)));
        let start = below.strict_add_signed(self.longer);
        let found: Vec<String> =
            found.lines().map(|line| self.kept(line.trim_end(), shown)).collect();
        self.longer += found.len().cast_signed() - shown.len().cast_signed();
        self.page.splice(start..start + shown.len(), found);
    }
}

const GIT: &str = "[user]\nname = Ann\nemail = ann@example.com\n[init]\ndefaultBranch = main\n";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// As much of a text as the page shows.
fn beginning(shown: &[String], text: String) -> String {
    if shown.last().is_none_or(|last| last != MORE) {
        return text;
    }
    let rows = text.lines().take(shown.len() - 1);
    lines(rows.chain([MORE]))
}

/// The screen once nothing moves on it any more, and `saves` were seen.
fn settled(watch: &mut Terminal, saves: usize) -> String {
    let save = format!(" save {saves} ");
    let is_done =
        |screen: &str| screen.contains(IDLE) && (saves == 0 || screen.contains(save.as_str()));
    let mut before = watch.wait_until(&save, is_done);
    loop {
        std::thread::sleep(SETTLED);
        let now = watch.wait_until(&save, is_done);
        if now == before {
            return now;
        }
        before = now;
    }
}

fn check(name: &'static str) {
    if !has("git") || !has("python3") || !has("perl") {
        return;
    }
    let path = root().join(name);
    let page = std::fs::read_to_string(&path).unwrap();
    let mut learner = Learner::new(name, &page);
    let steps = steps(&page);
    assert!(steps.len() > 10, "{name} has steps");
    for step in &steps {
        learner.follow(step);
    }
    assert!(learner.watch.is_none(), "{name} ends `evalrs watch`");
    if std::env::var_os("UPDATE_SPECS").is_some() {
        std::fs::write(&path, lines(&learner.page)).unwrap();
        return;
    }
    assert!(learner.differ.is_empty(), "\n{}", learner.differ.join("\n"));
}

#[test]
fn a_folder_of_sessions_becomes_a_gate() {
    check("docs/tutorials/claude-code-gate.md");
}

#[test]
fn a_csv_of_answers_becomes_a_labelled_rubric() {
    check("docs/tutorials/label-a-rubric.md");
}
