//! Traces of agents: ATIF of Harbor, OTLP and `OpenInference` spans, and exports of `LangSmith` and Langfuse.
//!
//! Each trace becomes a row with what was asked, what was answered and the whole trajectory; scores that stand beside it are
//! taken over. Runs of `LangSmith` and observations of Langfuse are written as spans, which `format: otel` reads.

mod atif;
mod langfuse;
mod langsmith;
mod messages;
mod otlp;
mod records;
mod suite;
#[cfg(test)]
mod tests;

pub(super) use atif::{import as import_atif, recognizes as recognizes_atif};
pub(super) use langfuse::{import as import_langfuse, recognizes as recognizes_langfuse};
pub(super) use langsmith::{import as import_langsmith, recognizes as recognizes_langsmith};
pub(super) use otlp::{import as import_otlp, recognizes as recognizes_otlp};
