//! A folder to run the binary in, and what came of it as one text.
#![expect(clippy::disallowed_methods, reason = "tests touch their own files and start the binary")]

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use evalrs_store::{Entry, OutcomeStore, SegmentStore};

use crate::judge::PATIENCE;

/// A temporary workspace.
pub(crate) struct Space {
    dir: tempfile::TempDir,
}

impl Space {
    /// A workspace with these files.
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        let space = Self { dir: tempfile::tempdir().unwrap() };
        for (path, text) in files {
            space.write(path, text);
        }
        space
    }

    /// Where it is.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Writes a file, making its folder.
    pub(crate) fn write(&self, path: &str, contents: impl AsRef<[u8]>) {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        if std::fs::metadata(&path).is_ok_and(|before| before.permissions().readonly()) {
            std::fs::remove_file(&path).unwrap();
        }
        std::fs::write(path, contents).unwrap();
    }

    /// Reads a file.
    pub(crate) fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.path(path)).unwrap()
    }

    /// The folder of the last run's record.
    pub(crate) fn latest(&self) -> PathBuf {
        let id = self.read(".evalrs/latest");
        self.path(".evalrs/runs").join(id.trim())
    }

    /// A file of the last run's record.
    pub(crate) fn record(&self, name: &str) -> String {
        std::fs::read_to_string(self.latest().join(name)).unwrap()
    }

    /// `run.json` of the last run: asked, cached, failed, pending of one grader.
    pub(crate) fn actions(&self, grader: &str) -> [u64; 4] {
        let run: serde_json::Value = serde_json::from_str(&self.record("run.json")).unwrap();
        ["asked", "cached", "failed", "pending"]
            .map(|name| run["actions"][grader][name].as_u64().unwrap())
    }

    /// The binary, in this folder and with nothing of this process's environment that it reads.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = evalrs(self.dir.path());
        command.args(args);
        command
    }

    /// Runs the binary.
    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        Ran(self.command(args).output().unwrap())
    }

    /// Runs a line of a shell that finds the binary as `evalrs`, and the last record in `$RUN`.
    pub(crate) fn shell(&self, line: &str, judge: Option<&crate::judge::Judge>) -> Ran {
        let mut command = program("sh", self.dir.path());
        let binary = Path::new(env!("CARGO_BIN_EXE_evalrs")).parent().unwrap().display();
        command.args(["-c", line]).env("PATH", format!("{binary}:/usr/bin:/bin"));
        if let Some(judge) = judge {
            command.env("OPENAI_BASE_URL", judge.url());
            command.env("ANTHROPIC_BASE_URL", judge.root());
            command.env("GOOGLE_GEMINI_BASE_URL", judge.root());
        }
        if let Ok(id) = std::fs::read_to_string(self.path(".evalrs/latest")) {
            command.env("RUN", format!(".evalrs/runs/{}", id.trim()));
        }
        Ran(command.output().unwrap())
    }

    /// Starts the binary against a judge.
    pub(crate) fn start(&self, judge: &crate::judge::Judge, args: &[&str]) -> Running {
        let mut command = self.command(args);
        command.env("OPENAI_BASE_URL", judge.url());
        Running::new(command)
    }

    /// The segments of the store, in the order of their creation.
    pub(crate) fn segments(&self) -> Vec<PathBuf> {
        let Ok(files) = std::fs::read_dir(self.path("cache/v1/seg")) else { return Vec::new() };
        let paths = files.map(|file| file.unwrap().path());
        let mut paths: Vec<PathBuf> = paths
            .filter(|path| path.extension().is_some_and(|extension| extension == "jsonl"))
            .collect();
        paths.sort();
        paths
    }

    /// The whole lines of the store.
    pub(crate) fn stored_lines(&self) -> Vec<String> {
        let whole = |path: PathBuf| {
            let text = std::fs::read_to_string(path).unwrap();
            let end = text.rfind('\n').map_or(0, |at| at + 1);
            text[..end].lines().map(str::to_owned).collect::<Vec<_>>()
        };
        self.segments().into_iter().flat_map(whole).collect()
    }

    /// The entries of the store, with all that their lines share.
    pub(crate) fn stored_entries(&self) -> Vec<Entry> {
        let store = SegmentStore::open(self.path("cache"));
        store.get_many(&store.keys()).into_iter().flatten().collect()
    }

    /// The rationales of the stored verdicts, each of which must be there once. Reads the files, asks no evalrs.
    pub(crate) fn stored(&self) -> BTreeSet<String> {
        let mut rationales = BTreeSet::new();
        for line in self.stored_lines() {
            let entry: serde_json::Value = serde_json::from_str(&line).unwrap();
            let text = entry["v"]["outcome"]["reply"]["text"].as_str().unwrap();
            let verdict: serde_json::Value = serde_json::from_str(text).unwrap();
            let rationale = verdict["rationale"].as_str().unwrap().to_owned();
            assert!(rationales.insert(rationale), "stored twice: {line}");
        }
        rationales
    }

    /// Waits until the store has so many lines, and says how long that took.
    pub(crate) fn wait_stored(&self, count: usize) -> Duration {
        let since = Instant::now();
        while self.stored_lines().len() < count {
            assert!(since.elapsed() < PATIENCE, "waited in vain for {count} stored outcomes");
            std::thread::yield_now();
        }
        since.elapsed()
    }

    /// How long this machine takes to make one line of a new file durable.
    pub(crate) fn sync_time(&self) -> Duration {
        let since = Instant::now();
        let mut file = std::fs::File::create(self.path("sync")).unwrap();
        file.write_all(b"a line\n").unwrap();
        file.sync_all().unwrap();
        since.elapsed()
    }

    /// The names of what a folder holds, sorted; none if there is no such folder.
    pub(crate) fn names(&self, folder: &str) -> Vec<String> {
        let files = std::fs::read_dir(self.path(folder)).into_iter().flatten();
        let mut names: Vec<String> =
            files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// Runs the binary against a judge.
    pub(crate) fn run_with(&self, judge: &crate::judge::Judge, args: &[&str]) -> Ran {
        Ran(self.command(args).env("OPENAI_BASE_URL", judge.url()).output().unwrap())
    }
}

/// Whether a program is installed; if not, that is said.
pub(crate) fn has(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_there = std::env::split_paths(&path).any(|folder| folder.join(program).exists());
    if !is_there {
        // Not `eprintln`: the test harness would keep it to itself.
        let _ = writeln!(std::io::stderr(), "skipped: `{program}` is not installed");
    }
    is_there
}

/// Whether tests may take long: `EVALRS_SLOW=1`.
pub(crate) fn is_slow() -> bool {
    std::env::var_os("EVALRS_SLOW").is_some_and(|value| value == "1")
}

/// Each item as a line.
pub(crate) fn lines(items: impl IntoIterator<Item = impl ToString>) -> String {
    let mut text = String::new();
    for item in items {
        text.push_str(&item.to_string());
        text.push('\n');
    }
    text
}

fn evalrs(dir: &Path) -> Command {
    program(env!("CARGO_BIN_EXE_evalrs"), dir)
}

fn program(name: &str, dir: &Path) -> Command {
    let mut command = Command::new(name);
    command.current_dir(dir).env_clear().env("PATH", "/usr/bin:/bin").env("HOME", dir);
    command.env("COLUMNS", "100");
    command
}

/// The binary while it runs; it is killed with the test.
pub(crate) struct Running(Option<Child>);

impl Running {
    /// Starts the binary as `command` says.
    pub(crate) fn new(mut command: Command) -> Self {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Self::of(command.spawn().unwrap())
    }

    /// A binary that somebody else started, and reads what it says.
    pub(crate) fn of(child: Child) -> Self {
        Self(Some(child))
    }

    /// Kills it as the system does: it can do nothing about it.
    pub(crate) fn kill(mut self) {
        let mut child = self.0.take().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
    }

    /// Whether it has ended by itself.
    pub(crate) fn has_ended(&mut self) -> bool {
        self.0.as_mut().unwrap().try_wait().unwrap().is_some()
    }

    /// Presses Ctrl-C.
    pub(crate) fn interrupt(&self) {
        let id = self.0.as_ref().unwrap().id().to_string();
        assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    }

    /// Waits for the next line that it prints.
    #[cfg(unix)]
    pub(crate) fn read_line(&mut self) -> String {
        let stdout = self.0.as_mut().unwrap().stdout.as_mut().unwrap();
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line).unwrap();
        assert!(line.ends_with('\n'), "it ended before it printed a line");
        line
    }

    /// Reads its messages until one holds `text`; returns them.
    pub(crate) fn read_until(&mut self, text: &str) -> String {
        let stderr = self.0.as_mut().unwrap().stderr.take().unwrap();
        let (send, receive) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            BufReader::new(stderr)
                .lines()
                .map_while(Result::ok)
                .try_for_each(|line| send.send(line))
        });
        let mut read = String::new();
        while !read.contains(text) {
            let line = receive.recv_timeout(PATIENCE);
            read.extend([
                line.unwrap_or_else(|_| panic!("`{text}` never came: {read}")),
                "\n".to_owned(),
            ]);
        }
        read
    }

    /// Waits for its end.
    pub(crate) fn finish(self) -> Ran {
        self.finish_within(PATIENCE)
    }

    /// Waits so long for its end.
    pub(crate) fn finish_within(mut self, most: Duration) -> Ran {
        let child = self.0.take().unwrap();
        let id = child.id();
        let (send, receive) = std::sync::mpsc::channel();
        std::thread::spawn(move || send.send(child.wait_with_output().unwrap()));
        receive.recv_timeout(most).map_or_else(
            |_| {
                let _ = Command::new("kill").args(["-KILL", &id.to_string()]).status();
                panic!("the binary did not end within {most:?}")
            },
            Ran,
        )
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// What came of running the binary.
pub(crate) struct Ran(pub(crate) Output);

impl Ran {
    /// The exit code.
    pub(crate) fn code(&self) -> i32 {
        self.0.status.code().unwrap_or(-1)
    }

    /// Standard output.
    pub(crate) fn stdout(&self) -> String {
        String::from_utf8_lossy(&self.0.stdout).into_owned()
    }

    /// Standard error.
    pub(crate) fn stderr(&self) -> String {
        String::from_utf8_lossy(&self.0.stderr).into_owned()
    }

    /// Exit code, stdout and stderr as one text, without what differs from run to run.
    pub(crate) fn shown(&self) -> String {
        let text = format!(
            "exit: {}\n--- stdout\n{}--- stderr\n{}",
            self.code(),
            self.stdout(),
            self.stderr()
        );
        let seconds = regex::Regex::new(r"in \d+\.\d s").unwrap();
        let run = regex::Regex::new(r"\d{8}T\d{6}-[0-9a-f]{6}").unwrap();
        let text = seconds.replace_all(&text, "in N s");
        run.replace_all(&text, "RUN").into_owned()
    }
}

/// What a grader graded, from a line of results.
pub(crate) fn submission_of<'l>(
    line: &'l serde_json::Value,
    grader: &str,
) -> &'l serde_json::Value {
    line["submissions"].get(grader).unwrap_or(&line["submission"])
}

/// Rows as the text of a JSON Lines file.
pub(crate) fn jsonl(rows: impl IntoIterator<Item = serde_json::Value>) -> String {
    rows.into_iter().map(|row| row.to_string() + "\n").collect::<Vec<_>>().concat()
}
