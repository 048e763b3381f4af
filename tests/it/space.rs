//! A folder to run the binary in, and what came of it as one text.
#![expect(clippy::disallowed_methods, reason = "tests touch their own files and start the binary")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

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

    /// Runs the binary against a judge.
    pub(crate) fn run_with(&self, judge: &crate::judge::Judge, args: &[&str]) -> Ran {
        Ran(self.command(args).env("OPENAI_BASE_URL", judge.url()).output().unwrap())
    }
}

fn evalrs(dir: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_evalrs"));
    command.current_dir(dir).env_clear().env("PATH", "/usr/bin:/bin").env("HOME", dir);
    command
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
