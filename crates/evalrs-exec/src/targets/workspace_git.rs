//! What an agent changed in its workspace, by a repository that is evalrs' own.
//!
//! The agent may write whatever git reads in the workspace: `.git`, `.gitignore`, `.gitattributes`, repositories inside. So
//! git is told which files there are, by a list that is made here. Its folder stands beside the workspace and is made anew
//! once the agent has ended; there it finds neither hooks nor filters, and the attributes that it finds undo those of the
//! workspace. What the template ignores is ignored, what the agent ignores is not. Git runs in the environment of programs.
#![expect(clippy::disallowed_methods, reason = "the files of the workspace are listed here")]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::Command;
use tokio::task::spawn_blocking;

/// How long git may take for one thing.
const OF_GIT: Duration = Duration::from_mins(1);
/// The most bytes of a diff that are kept.
pub(super) const MOST_DIFF: usize = 1 << 20;
/// The most paths that are named whose content is not shown.
const MOST_NAMED: usize = 20;
/// Settings that win over those of any file.
const SETTINGS: [&str; 11] = [
    "core.autocrlf=false",
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.attributesFile=/dev/null",
    "core.excludesFile=/dev/null",
    // Names that other systems take for `.git` are files like others here.
    "core.protectNTFS=false",
    "core.protectHFS=false",
    "commit.gpgsign=false",
    "gc.auto=0",
    "user.name=evalrs",
    "user.email=evalrs@localhost",
];
/// Files are taken as they are, and shown as what they look like, whatever `.gitattributes` in the workspace says.
const ATTRIBUTES: &str =
    "* !text !crlf !eol !ident !filter !working-tree-encoding !diff !whitespace\n";
/// The file that says what git ignores.
const IGNORE: &str = ".gitignore";

/// The repository of evalrs beside a workspace.
#[derive(Debug)]
pub(super) struct WorkspaceGit {
    workspace: PathBuf,
    /// The tree of what the agent began with.
    tree: String,
    /// Its files.
    known: BTreeSet<GitPath>,
    /// What it holds that git cannot keep.
    left_out: BTreeSet<GitPath>,
    /// Its files that say what is ignored, by their paths.
    ignores: Vec<(PathBuf, Vec<u8>)>,
}

/// A path in the workspace as git has it, whatever its bytes are.
type GitPath = Vec<u8>;

/// The files of a workspace.
#[derive(Debug, Default)]
struct WorkspaceFiles {
    files: BTreeSet<GitPath>,
    /// What git cannot keep: repositories, and what is neither a file nor a link.
    left_out: BTreeSet<GitPath>,
    /// The files that say what is ignored.
    ignores: Vec<PathBuf>,
}

/// The folder of the repository beside a workspace.
pub(super) fn beside(workspace: &Path) -> PathBuf {
    let mut path = workspace.as_os_str().to_owned();
    path.push(".git");
    PathBuf::from(path)
}

impl WorkspaceGit {
    /// Takes note of what the agent begins with, and makes the workspace a repository whose first commit that is. It is
    /// the agent's own and not looked at any more.
    pub(super) async fn begin(
        workspace: &Path,
        environment: &BTreeMap<String, String>,
    ) -> io::Result<Self> {
        let own = Git { folder: workspace.join(".git"), files: workspace.to_owned(), environment };
        own.run(&["init", "-q"], &[]).await?;
        own.run(&["add", "-A"], &[]).await?;
        let message = ["commit", "-q", "--allow-empty", "--no-verify", "-m", "template"];
        own.run(&message, &[]).await?;
        let listed = listed(workspace).await?;
        let read = |path: PathBuf| Ok((path.clone(), std::fs::read(workspace.join(path))?));
        let mut git = Self {
            workspace: workspace.to_owned(),
            tree: String::new(),
            known: BTreeSet::new(),
            left_out: listed.left_out,
            ignores: listed.ignores.into_iter().map(read).collect::<io::Result<_>>()?,
        };
        git.lay_out()?;
        let files = git.without_ignored(listed.files, environment).await?;
        git.tree = git.keep(&files, environment).await?;
        git.known = files;
        Ok(git)
    }

    /// What was changed since then, also in what the agent committed or has git ignore.
    pub(super) async fn diff(&self, environment: &BTreeMap<String, String>) -> io::Result<String> {
        self.renew()?;
        // What was kept is still that, or nothing is said of it.
        let check = ["fsck", "--no-dangling", "--no-progress", &self.tree];
        self.git(environment).run(&check, &[]).await?;
        let listed = listed(&self.workspace).await?;
        let files = self.without_ignored(listed.files, environment).await?;
        let tree = self.keep(&files, environment).await?;
        let compare = ["diff", "--no-color", "--no-ext-diff", "--no-textconv", &self.tree, &tree];
        let diff = self.git(environment).beginning(&compare, MOST_DIFF).await?;
        let mut diff = String::from_utf8_lossy(&diff).into_owned();
        for path in listed.left_out.difference(&self.left_out).take(MOST_NAMED) {
            let path = String::from_utf8_lossy(path);
            let _ = writeln!(diff, "[not shown: {}]", path.escape_debug());
        }
        Ok(diff)
    }

    /// Makes the repository, with nothing in it.
    fn lay_out(&self) -> io::Result<()> {
        let home = beside(&self.workspace);
        for folder in ["git/objects", "git/refs", "git/info", "files"] {
            std::fs::create_dir_all(home.join(folder))?;
        }
        std::fs::write(home.join("git/HEAD"), "ref: refs/heads/main\n")?;
        std::fs::write(home.join("git/config"), "[core]\n\trepositoryformatversion = 0\n")?;
        std::fs::write(home.join("git/info/attributes"), ATTRIBUTES)?;
        for (path, text) in &self.ignores {
            let path = home.join("files").join(path);
            std::fs::create_dir_all(path.parent().unwrap_or(&home))?;
            std::fs::write(path, text)?;
        }
        Ok(())
    }

    /// Makes the repository again, with what was kept in it: the agent may have been there.
    fn renew(&self) -> io::Result<()> {
        let home = beside(&self.workspace);
        let before = home.with_extension("before");
        std::fs::rename(&home, &before)?;
        self.lay_out()?;
        let objects = home.join("git/objects");
        std::fs::remove_dir(&objects)?;
        std::fs::rename(before.join("git/objects"), objects)?;
        std::fs::remove_dir_all(before)
    }

    /// Git in this repository, over files that say what is ignored and nothing else.
    fn git<'a>(&self, environment: &'a BTreeMap<String, String>) -> Git<'a> {
        let home = beside(&self.workspace);
        Git { folder: home.join("git"), files: home.join("files"), environment }
    }

    /// The files that are not ignored, or were there in the beginning.
    async fn without_ignored(
        &self,
        mut files: BTreeSet<GitPath>,
        environment: &BTreeMap<String, String>,
    ) -> io::Result<BTreeSet<GitPath>> {
        if self.ignores.is_empty() {
            return Ok(files);
        }
        // A name that begins with a colon would mean something else.
        let new = joined(files.difference(&self.known), b"./");
        let check = ["check-ignore", "--no-index", "-z", "--stdin"];
        let ignored = self.git(environment).run(&check, &new).await?;
        for path in ignored.split(|byte| *byte == 0) {
            files.remove(path.strip_prefix(b"./").unwrap_or(path));
        }
        Ok(files)
    }

    /// Keeps these files of the workspace, and gives their tree.
    async fn keep(
        &self,
        files: &BTreeSet<GitPath>,
        environment: &BTreeMap<String, String>,
    ) -> io::Result<String> {
        let own = self.git(environment);
        let add = ["update-index", "--add", "-z", "--stdin"];
        let of_workspace = Git { files: self.workspace.clone(), ..own.clone() };
        of_workspace.run(&add, &joined(files.iter(), b"")).await?;
        let tree = own.run(&["write-tree"], &[]).await?;
        Ok(String::from_utf8_lossy(&tree).trim().to_owned())
    }
}

/// Paths as git reads and writes them: each with a null byte behind it, and here with something before it.
fn joined<'a>(paths: impl Iterator<Item = &'a GitPath>, before: &[u8]) -> Vec<u8> {
    paths.flat_map(|path| [before, path, b"\0"].concat()).collect()
}

/// Lists a workspace, without the repository of the agent. No link is followed.
async fn listed(workspace: &Path) -> io::Result<WorkspaceFiles> {
    let workspace = workspace.to_owned();
    let listing = spawn_blocking(move || {
        let mut listed = WorkspaceFiles::default();
        let mut folders = vec![(PathBuf::new(), GitPath::new())];
        while let Some((folder, named)) = folders.pop() {
            for entry in std::fs::read_dir(workspace.join(&folder))? {
                let entry = entry?;
                let name = entry.file_name();
                let mut path = named.clone();
                if !path.is_empty() {
                    path.push(b'/');
                }
                path.extend_from_slice(name.as_encoded_bytes());
                let kind = entry.file_type()?;
                if path == b".git" {
                    continue;
                }
                if name.eq_ignore_ascii_case(".git") {
                    listed.left_out.insert(path);
                } else if kind.is_dir() {
                    folders.push((folder.join(name), path));
                } else if kind.is_file() || kind.is_symlink() {
                    if name == IGNORE && kind.is_file() {
                        listed.ignores.push(folder.join(name));
                    }
                    listed.files.insert(path);
                } else {
                    listed.left_out.insert(path);
                }
            }
        }
        Ok(listed)
    });
    listing.await.unwrap_or_else(|broken| Err(io::Error::other(broken)))
}

/// Git, with its folder and the files that it is about.
#[derive(Debug, Clone)]
struct Git<'a> {
    folder: PathBuf,
    files: PathBuf,
    environment: &'a BTreeMap<String, String>,
}

impl Git<'_> {
    /// The beginning of what it says, and one byte more where that is not all.
    async fn beginning(&self, arguments: &[&str], most: usize) -> io::Result<Vec<u8>> {
        // What it complains of is not read: it must not be waited for by one who has enough.
        let mut command = self.command(arguments);
        let mut child = command.stdin(Stdio::null()).stderr(Stdio::null()).spawn()?;
        let mut said = Vec::new();
        if let Some(stdout) = child.stdout.take() {
            let mut beginning = stdout.take(most as u64 + 1);
            let reading = beginning.read_to_end(&mut said);
            tokio::time::timeout(OF_GIT, reading).await.map_err(|_| too_slow())??;
        }
        if said.len() > most {
            return Ok(said);
        }
        let status = tokio::time::timeout(OF_GIT, child.wait()).await.map_err(|_| too_slow())??;
        if status.success() {
            return Ok(said);
        }
        Err(failed(arguments, status.to_string().as_bytes()))
    }

    /// Runs it with `input`, and gives what it says.
    async fn run(&self, arguments: &[&str], input: &[u8]) -> io::Result<Vec<u8>> {
        let mut child = self.command(arguments).stdin(Stdio::piped()).spawn()?;
        let stdin = child.stdin.take();
        let feeding = async {
            if let Some(mut stdin) = stdin {
                // What it does not read it says by its end.
                let _ = stdin.write_all(input).await;
            }
        };
        let run = futures_util::future::join(feeding, child.wait_with_output());
        let ended = tokio::time::timeout(OF_GIT, run).await;
        let output = ended.map_err(|_| too_slow())?.1?;
        // It says so by its code that nothing is ignored.
        let is_fine = |code: i32| code == 0 || code == 1 && arguments[0] == "check-ignore";
        if output.status.code().is_some_and(is_fine) {
            return Ok(output.stdout);
        }
        Err(failed(arguments, &output.stderr))
    }

    /// Nobody else's settings decide what it says.
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("git");
        command.arg("-C").arg(&self.files).args(SETTINGS.iter().flat_map(|it| ["-c", it]));
        command.args(arguments).env_clear().envs(self.environment);
        command.env("GIT_DIR", &self.folder).env("GIT_WORK_TREE", &self.files);
        command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
        command.env("GIT_ATTR_NOSYSTEM", "1");
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        command
    }
}

fn too_slow() -> io::Error {
    io::Error::other("git did not end within a minute")
}

fn failed(arguments: &[&str], stderr: &[u8]) -> io::Error {
    let said = String::from_utf8_lossy(stderr);
    io::Error::other(format!("git {}: {}", arguments.join(" "), said.trim()))
}
