//! The memory of a process, seen from outside.

use std::process::{Child, Command};
use std::time::Duration;

/// The peak of a process's resident memory in bytes; 0 where the system does not say.
pub(crate) fn peak_memory(child: &Child) -> f64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id()));
    let status = status.unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    line.and_then(|line| line.split_whitespace().nth(1)?.parse::<f64>().ok()).unwrap_or(0.0)
        * 1024.0
}

/// Runs a command that succeeds, and returns the most memory that it had in bytes, as far as can be seen from outside.
pub(crate) fn run_watched(command: &mut Command) -> f64 {
    let mut child = command.spawn().unwrap();
    let mut peak = 0.0_f64;
    let status = loop {
        peak = peak.max(peak_memory(&child));
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    assert!(status.success(), "{command:?}");
    peak
}
