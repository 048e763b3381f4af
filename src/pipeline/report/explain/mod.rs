//! Where a verdict comes from, for people: `text` on a terminal, `sent` whole.

pub(crate) mod sent;
mod text;

pub(crate) use text::write;
