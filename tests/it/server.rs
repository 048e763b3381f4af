//! A server that nobody here wrote: found where it is installed, started on loopback, ended with the test.
//!
//! Servers are Python packages. `EVALRS_TEST_SERVERS` names the virtual environment that holds them; without it they
//! are looked for on the `PATH`. A test whose server is not installed says so and is over.
#![expect(clippy::disallowed_methods, reason = "tests start servers and ask them what they saw")]

use std::io::{PipeReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::Value;

/// Runs its arguments as a server, and kills the whole process group when its standard input is closed: by the test
/// that is through with the server, or by the end of a test that was killed itself.
const LEASH: &str = "\
exec 3<&0
\"$@\" 3<&- </dev/null &
server=$!
{ read -r _ <&3; kill -s KILL 0; } &
wait $server
";

/// How long a real server may take: it shares the processors with everything else that is tested.
pub(crate) const LONG_PATIENCE: Duration = Duration::from_mins(5);

/// The most lines that are shown of what a server wrote: some write pages for each request that failed.
const MOST_SHOWN: usize = 60;

/// How often a server is started on another port, where somebody took the one that was free.
const STARTS: usize = 3;

/// The program `name`, or nothing, having said how to install it: what to give to `pip install`.
pub(crate) fn program(name: &str, pip: &str) -> Option<PathBuf> {
    let folders = match std::env::var_os("EVALRS_TEST_SERVERS") {
        Some(folder) => vec![PathBuf::from(folder).join("bin")],
        None => std::env::var_os("PATH")
            .map(|path| std::env::split_paths(&path).collect())
            .unwrap_or_default(),
    };
    let found = folders.iter().map(|folder| folder.join(name)).find(|path| path.is_file());
    if found.is_none() {
        skipped(&format!("no `{name}`"), pip);
    }
    // A server runs in a folder of its own.
    found.map(|path| std::path::absolute(path).unwrap())
}

/// A Python that has these modules, or nothing, having said how to install them.
pub(crate) fn python_with(modules: &[&str], pip: &str) -> Option<PathBuf> {
    const HAS_ALL: &str = "import importlib.util, sys; \
                           sys.exit(not all(map(importlib.util.find_spec, sys.argv[1:])))";
    let python = program("python3", pip)?;
    let asked = Command::new(&python).args(["-c", HAS_ALL]).args(modules).output().unwrap();
    if asked.status.success() {
        return Some(python);
    }
    skipped(&format!("no Python with {}", modules.join(" and ")), pip);
    None
}

fn skipped(what: &str, pip: &str) {
    // Not `eprintln`: the test harness would keep it to itself.
    let _ = writeln!(
        std::io::stderr(),
        "skipped: {what}; `pip install {pip}` into a virtual environment and set EVALRS_TEST_SERVERS to its folder"
    );
}

/// How a server is started.
pub(crate) struct Start<'a> {
    /// The program.
    pub(crate) program: &'a Path,
    /// Its arguments; `PORT` stands for the port.
    pub(crate) args: &'a [&'a str],
    /// Files in the folder it runs in.
    pub(crate) files: &'a [(&'a str, &'a str)],
    /// What answers 200 as soon as it serves.
    pub(crate) ready: &'a str,
}

/// A server that runs until it is dropped. What it writes is shown if the test fails.
pub(crate) struct Server {
    child: Child,
    port: u16,
    said: Arc<Mutex<Vec<u8>>>,
    folder: tempfile::TempDir,
}

impl Server {
    /// Starts it and waits until it serves.
    pub(crate) fn start(start: &Start<'_>) -> Self {
        let mut last = String::new();
        for _ in 0..STARTS {
            match Self::try_start(start) {
                Ok(server) => return server,
                Err(said) => last = said,
            }
        }
        panic!("{} ended before it served:\n{last}", start.program.display())
    }

    /// Starts it on some port, or returns what it said before it ended.
    fn try_start(start: &Start<'_>) -> Result<Self, String> {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in start.files {
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let (reader, writer) = std::io::pipe().unwrap();
        let mut command = Command::new("/bin/sh");
        command.args(["-c", LEASH, "leash"]).arg(start.program);
        command.args(start.args.iter().map(|arg| arg.replace("PORT", &port.to_string())));
        clean(&mut command, folder.path()).process_group(0);
        command.stdin(Stdio::piped()).stdout(writer.try_clone().unwrap()).stderr(writer);
        let child = command.spawn().unwrap();
        let said = Arc::new(Mutex::new(Vec::new()));
        let (send, spoke) = std::sync::mpsc::channel();
        let keeper = Arc::clone(&said);
        std::thread::spawn(move || keep(reader, &keeper, &send));
        let mut server = Self { child, port, said, folder };
        server.wait_ready(start.ready, &spoke).map(|()| server)
    }

    /// Waits until it serves, or returns what it said before it ended.
    fn wait_ready(&mut self, path: &str, spoke: &Receiver<()>) -> Result<(), String> {
        let since = Instant::now();
        loop {
            let answer = self.exchange("GET", path, "");
            if self.child.try_wait().unwrap().is_some() {
                return Err(self.said());
            }
            if answer.is_some_and(|(status, _)| status == 200) {
                return Ok(());
            }
            assert!(
                since.elapsed() < LONG_PATIENCE,
                "{path} is not served after {LONG_PATIENCE:?}"
            );
            // Whatever it does before it listens it mostly talks about.
            match spoke.recv_timeout(Duration::from_millis(100)) {
                Ok(()) | Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
            }
        }
    }

    /// The address of `path`.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// What it answers to a GET.
    pub(crate) fn get(&self, path: &str) -> Value {
        self.json("GET", path, "")
    }

    /// What it answers to a POST.
    pub(crate) fn post(&self, path: &str, body: &Value) -> Value {
        self.json("POST", path, &body.to_string())
    }

    /// Runs a program that looks at the server, in the same environment.
    pub(crate) fn inspect(&self, program: &Path, args: &[&str]) -> Output {
        let mut command = Command::new(program);
        clean(&mut command, self.folder.path()).args(args).output().unwrap()
    }

    /// Creates what a PUT of nothing creates.
    pub(crate) fn put(&self, path: &str) {
        let (status, text) = self.exchange("PUT", path, "").unwrap();
        assert!((200..300).contains(&status), "PUT {path}: {status} {text}");
    }

    fn json(&self, method: &str, path: &str, body: &str) -> Value {
        let (status, text) = self.exchange(method, path, body).unwrap();
        assert!((200..300).contains(&status), "{method} {path}: {status} {text}");
        serde_json::from_str(&text).unwrap()
    }

    /// Status and body of the answer, if there is one.
    fn exchange(&self, method: &str, path: &str, body: &str) -> Option<(u16, String)> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).ok()?;
        stream.set_read_timeout(Some(LONG_PATIENCE)).ok()?;
        let length = body.len();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\
             content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
        );
        stream.write_all(request.as_bytes()).ok()?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).ok()?;
        let answer = String::from_utf8_lossy(&answer);
        let (head, body) = answer.split_once("\r\n\r\n")?;
        let status = head.split(' ').nth(1)?.parse().ok()?;
        Some((status, body.to_owned()))
    }

    /// Everything it has written.
    fn said(&self) -> String {
        String::from_utf8_lossy(&self.said.lock().unwrap()).into_owned()
    }
}

impl Drop for Server {
    #[expect(clippy::print_stderr, reason = "the harness shows it where the test fails")]
    fn drop(&mut self) {
        // Closes its standard input, which ends the leash and all that hangs on it.
        let _ = self.child.wait();
        if std::thread::panicking() {
            let said = self.said();
            let lines: Vec<&str> = said.lines().collect();
            let last = &lines[lines.len().saturating_sub(MOST_SHOWN)..];
            eprintln!("the server said last:\n{}", last.join("\n"));
        }
    }
}

/// The same environment for every server, whoever runs the tests.
fn clean<'a>(command: &'a mut Command, folder: &Path) -> &'a mut Command {
    command.current_dir(folder).env_clear().env("PATH", "/usr/bin:/bin").env("HOME", folder)
}

/// Keeps what a server writes, and tells that it wrote.
fn keep(mut reader: PipeReader, said: &Mutex<Vec<u8>>, spoke: &Sender<()>) {
    let mut part = [0; 4096];
    while let Ok(length @ 1..) = reader.read(&mut part) {
        said.lock().unwrap().extend_from_slice(&part[..length]);
        // Nobody listens any more once it serves.
        let _ = spoke.send(());
    }
}
