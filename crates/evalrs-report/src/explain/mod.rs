//! Where a verdict comes from, for people: `grades` in short, `sent` what judges were sent, whole.

mod fields;
mod grades;
pub mod sent;

pub use grades::page;
