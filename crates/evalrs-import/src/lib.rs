//! What other tools wrote, as suites: each importer reads the files of one tool and reports what it could not
//! map.
//!
//! An importer is a function from an [`ImportSource`] to [`ImportedSource`]; [`IMPORTERS`] is the list of all, and the first that
//! recognizes a source reads it.
//!
//! - [`imported`] is what an importer makes: suites with their rows, files beside them, counts of what mapped, and each part
//!   that did not, with its place and the reason.
//! - [`source`] is what it reads from; `reading` and `escapes` are how: JSON and lines of it, places in texts, names. `graders` makes
//!   the graders that all importers write.
//! - [`folder`] names the files that are written, and takes out of them every live key that `secrets` finds. [`report`] is the
//!   account that is written beside them.
//! - [`database`] reads the one kind of source that is no text.
//! - [`starter`] makes a suite to start from over data that no tool made for an evaluation: sessions, messages, tables. It names the
//!   data and copies nothing.
//!
//! Nothing is guessed: what has no exact counterpart is left out and named. Nothing here opens or writes a file, but for a
//! database: what a source names is asked for through [`source::SourceFiles`]. No importer knows of a store, a judge or a run.
//!
//! Begin with [`imported`], then read `traces`, the shortest importer.

pub mod database;
mod deepeval;
mod escapes;
pub mod folder;
mod graders;
mod harness;
pub mod imported;
mod inspect;
mod letta;
#[cfg(test)]
mod noise;
mod openai;
mod promptfoo;
mod reading;
pub mod report;
mod rewardkit;
pub(crate) mod secrets;
pub mod source;
pub mod starter;
mod traces;

use imported::{ImportError, ImportedSource};
use source::ImportSource;

/// What reads the files of one tool.
pub struct Importer {
    /// Its name, for `--from`.
    pub kind: &'static str,
    /// What it reads, in a few words.
    pub reads: &'static str,
    /// Whether a source is of this tool, by what it holds.
    pub recognizes: fn(&ImportSource<'_>) -> bool,
    /// Reads it.
    pub import: fn(&ImportSource<'_>) -> Result<ImportedSource, ImportError>,
}

/// All importers, the most particular first: the first that recognizes a source reads it.
pub const IMPORTERS: &[Importer] = &[
    Importer {
        kind: "inspect",
        reads: "a log of Inspect, or a folder of logs",
        recognizes: inspect::recognizes,
        import: inspect::import,
    },
    Importer {
        kind: "agent-eval-harness",
        reads: "captures, trials, graded records or prompts of agent-eval-harness",
        recognizes: harness::recognizes,
        import: harness::import,
    },
    Importer {
        kind: "deepeval",
        reads: "test runs or datasets of DeepEval, or a folder of them",
        recognizes: deepeval::recognizes,
        import: deepeval::import,
    },
    Importer {
        kind: "letta-evals",
        reads: "a suite with a target of Letta Evals, or a directory of results",
        recognizes: letta::recognizes,
        import: letta::import,
    },
    Importer {
        kind: "atif",
        reads: "trajectories of Harbor, or a folder of its jobs",
        recognizes: traces::recognizes_atif,
        import: traces::import_atif,
    },
    Importer {
        kind: "otlp",
        reads: "spans of OpenTelemetry",
        recognizes: traces::recognizes_otlp,
        import: traces::import_otlp,
    },
    Importer {
        kind: "openai-evals",
        reads: "graders, runs and output items of OpenAI, or the registry and logs of openai/evals",
        recognizes: openai::recognizes,
        import: openai::import,
    },
    Importer {
        kind: "langsmith",
        reads: "runs or examples of LangSmith",
        recognizes: traces::recognizes_langsmith,
        import: traces::import_langsmith,
    },
    Importer {
        kind: "langfuse",
        reads: "traces, observations, scores or dataset items of Langfuse",
        recognizes: traces::recognizes_langfuse,
        import: traces::import_langfuse,
    },
    Importer {
        kind: "rewardkit",
        reads: "judges of Harbor's Reward Kit: `judge.toml`, or a folder of them",
        recognizes: rewardkit::recognizes,
        import: rewardkit::import,
    },
    Importer {
        kind: "promptfoo",
        reads: "a configuration of promptfoo, its results or its database",
        recognizes: promptfoo::recognizes,
        import: promptfoo::import,
    },
];

/// The importer of this name.
pub fn importer(kind: &str) -> Option<&'static Importer> {
    IMPORTERS.iter().find(|importer| importer.kind == kind)
}

/// The importer that recognizes `source`.
pub fn recognized(source: &ImportSource<'_>) -> Option<&'static Importer> {
    IMPORTERS.iter().find(|importer| (importer.recognizes)(source))
}
