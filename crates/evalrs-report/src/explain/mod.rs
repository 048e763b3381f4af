//! Where a verdict comes from, for people: `text` on a terminal, `sent` whole.

pub mod sent;
pub mod text;

pub use text::write;
