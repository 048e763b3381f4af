//! What one fresh process takes: processor time, time on the clock, memory, and bytes of the folder.

use std::collections::HashSet;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::child_memory::{peak_memory, run_watched};

/// How often a figure is measured; the least counts.
const ROUNDS: usize = 3;

/// What one process took.
#[derive(Clone, Copy)]
pub(crate) struct Measured {
    pub cpu: f64,
    pub wall: f64,
    pub peak: f64,
    pub written: f64,
}

/// The least of several measures, of each figure by itself.
pub(crate) fn least(mut measure: impl FnMut() -> Measured) -> Measured {
    let all: Vec<Measured> = (0..ROUNDS).map(|_| measure()).collect();
    let least = |of: fn(&Measured) -> f64| all.iter().map(of).fold(f64::INFINITY, f64::min);
    Measured {
        cpu: least(|one| one.cpu),
        wall: least(|one| one.wall),
        peak: least(|one| one.peak),
        written: least(|one| one.written),
    }
}

pub(crate) fn measure(command: &mut Command, folder: &Path) -> Measured {
    at_home(command, folder);
    let bytes = bytes_in(folder);
    let cpu = cpu_of_children();
    let start = Instant::now();
    let peak = run_watched(command);
    let wall = start.elapsed().as_secs_f64();
    let written = bytes_in(folder) - bytes;
    Measured { cpu: cpu_of_children() - cpu, wall, peak, written }
}

fn at_home(command: &mut Command, folder: &Path) {
    command.current_dir(folder).stdout(Stdio::null()).env("OPENAI_API_KEY", "none");
    // Where it is set, every file is read.
    command.env_remove("EVALRS_CACHE_DIR").env_remove("CI");
}

/// From the start of a server until `path` is answered. `command` makes one that listens on a port.
pub(crate) fn measure_answer(
    command: impl FnOnce(u16) -> Command,
    folder: &Path,
    path: &str,
) -> Measured {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut command = command(port);
    at_home(&mut command, folder);
    let cpu = cpu_of_children();
    let start = Instant::now();
    let mut child = command.spawn().unwrap();
    let answer = loop {
        if let Ok(answer) = get(port, path) {
            break answer;
        }
        assert!(child.try_wait().unwrap().is_none(), "{command:?}");
        std::thread::sleep(Duration::from_millis(1));
    };
    let wall = start.elapsed().as_secs_f64();
    assert!(answer.starts_with("HTTP/1.1 200"), "{path}: {answer}");
    let peak = peak_memory(&child);
    end(&mut child);
    Measured { cpu: cpu_of_children() - cpu, wall, peak, written: 0.0 }
}

fn end(child: &mut Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

fn get(port: u16, path: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
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
