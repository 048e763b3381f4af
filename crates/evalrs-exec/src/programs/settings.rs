//! How much of programs runs at once.

/// How much runs at once, and what is said of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProgramSettings {
    /// Processes at once: executables, and workers of each program.
    pub workers: usize,
    /// Requests at once to functions that work on several.
    pub overlapping: usize,
    /// 0 keeps what workers print for failures; more says it.
    pub verbosity: u8,
}

impl ProgramSettings {
    /// As many processes as this machine has processors.
    pub fn of_machine(overlapping: usize) -> Self {
        let workers = std::thread::available_parallelism().map_or(1, usize::from);
        Self { workers, overlapping, verbosity: 0 }
    }
}
