//! Samples: the rows of a dataset file.
//!
//! `split` cuts a file into records whatever its format, `row` reads one record into a [`Sample`]. The
//! unit everywhere is the record's own JSON text: it is what chunks hold and what is read again on demand,
//! because reading it again is cheaper than keeping it.

pub mod cells;
pub mod chunk;
pub mod condition;
pub mod content_id;
pub mod fields;
pub mod files;
pub mod id_search;
pub mod join;
pub mod label_edit;
pub mod label_file;
pub mod label_value;
pub mod labels;
pub mod layout;
mod members;
mod nested;
pub mod people;
pub mod plain_json;
mod raw_object;
pub mod raw_record;
mod recorded;
pub mod records;
pub mod row_record;
pub mod run_identity;
pub mod sample;
pub mod row;
pub(crate) mod record_text;
pub mod split;
pub mod trials;
pub mod vote_file;
mod yaml;

pub use plain_json::without_odd_numbers;
pub use sample::{GroundTruth, Input, RecordedAnswer, Sample};
