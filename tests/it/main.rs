//! Tests through the binary and over whole suites. One binary, one module a concern.
#![expect(clippy::unwrap_used, reason = "a test that cannot set itself up fails")]

mod events;
mod judge;
mod letta_server;
mod noted;
#[cfg(unix)]
#[cfg(feature = "serve")]
mod sent;
mod serve;
mod server;
mod space;
#[cfg(unix)]
mod targets;
mod terminal;
mod terminal_text;

mod bad_input;
#[cfg(unix)]
mod batch_provider;
mod batched_criteria;
mod batches;
mod before;
mod blobs;
mod cache;
mod capture;
#[cfg(unix)]
mod command_judges;
mod connections;
mod criteria;
mod datasets;
mod determinism;
mod dialects;
mod diff_labels;
#[cfg(unix)]
mod differential;
mod docs;
mod durability;
mod elsewhere;
mod examples;
#[cfg(unix)]
mod grade;
#[cfg(unix)]
mod headless;
mod help;
mod ids;
mod import_keys;
mod import_sources;
mod incremental;
mod keys;
mod known_chunks;
mod known_criteria;
mod labels;
mod letta;
mod limits;
mod mcp;
#[cfg(unix)]
mod overlap;
mod panels;
#[cfg(unix)]
mod programs;
#[cfg(unix)]
mod progress;
mod prompt_caching;
mod real_data;
mod reload;
mod replies;
mod report;
mod rpc;
mod rubric_lints;
mod run;
mod scale_out;
mod secrets;
#[cfg(unix)]
mod servers;
#[cfg(unix)]
mod shared_cache;
mod spec;
mod statistics;
mod store_faults;
mod streams;
mod targets_chat;
mod targets_http;
mod text_metrics;
mod tidy;
mod watch;
mod unchanged;
mod winners;
mod words;
mod workspace;
