//! The memory of a process, seen from outside.

use std::process::Child;

/// The peak of a process's resident memory in bytes; 0 where the system does not say.
pub(crate) fn peak_memory(child: &Child) -> f64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id()));
    let status = status.unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    line.and_then(|line| line.split_whitespace().nth(1)?.parse::<f64>().ok()).unwrap_or(0.0)
        * 1024.0
}
