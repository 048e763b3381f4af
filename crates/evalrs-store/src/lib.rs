//! Outcomes on disk, addressed by action key, and the records of runs.
//!
//! The store knows keys, generations and JSON bodies, of which it tells replies from the rest: those win. What else a body
//! means is the business of [`evalrs_model::outcome`]. A read failure is a miss with a warning, a write failure is an error.
//! What [`OutcomeStore::put_many`] has taken is durable, and nobody reads it before.
//!
//! In reading order:
//!
//! - `entry`: one kept outcome, which one of a key wins, and why one could not be kept; `outcome_store`: what every store can do;
//! - `memory`, `committed`, `layered`, `overlay`: the simple stores, the one of a run with files beside the suite below what is
//!   written, and one that leaves another as it is;
//! - `line`: an entry as a line of text. In `line/`: bodies that are kept elsewhere (`blob_reference`, `outline`) and what
//!   lines of one segment have in common (`shared_text`, `elements`);
//! - `segment`: append-only files of lines, one for each process that writes (`own_segment`), and the index over them
//!   (`index`, with a `side_file` for each segment); `store` joins them;
//! - `blob`: large bodies, each in a file of its own;
//! - `batches`: which requests are out in batches, for every process and clone;
//! - `claims`: which calls other live processes have in flight;
//! - `sweep`: what no run needs any more goes. `uses` says what is needed, `survey` what there is, `policy` decides, `packing`
//!   joins small segments;
//! - `verify`: reads everything and names what is damaged;
//! - `record`: the files of a run, and reading those of earlier ones.
//!
//! This crate must not know suites, graphs or who asks. Begin with `outcome_store`, then `segment/store`.

pub mod batches;
mod blob;
mod claims;
pub mod committed;
pub mod entry;
mod import_lock;
pub mod layered;
pub mod line;
pub mod memory;
pub mod outcome_store;
pub mod overlay;
pub mod record;
pub mod run_archive;
pub mod segment;
pub mod sweep;
pub mod verify;

pub use batches::{BatchCreation, BatchLedger, KeyMarks, OpenBatch, OpenBatches};
pub use committed::{CommittedStore, render};
pub use entry::{BODY_LIMIT, Entry, EntryRank, StoreError};
pub use import_lock::lock_imports;
pub use layered::LayeredStore;
pub use line::entry_line::EntryLine;
pub use memory::MemoryStore;
pub use outcome_store::{CallClaim, OutcomeStore};
pub use overlay::OverlayStore;
pub use segment::files::process_mark;
pub use segment::index::keys_of_segment;
pub use segment::store::{SegmentStore, Totals};
pub use sweep::packing::pack_many;
pub use sweep::survey::SweptEntries;
pub use sweep::uses::{RunNote, note_used};
pub use sweep::{Sweep, SweepError, sweep};
pub use verify::{Check, EntryCheck, VerifyReport, read_lines, verify};

#[cfg(test)]
mod tests;
