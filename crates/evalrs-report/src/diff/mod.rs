//! Two evaluations compared, for people: `text` on a terminal, `markdown` in a comment.

mod agreement_words;
mod declared_words;
pub mod markdown;
mod tables;
pub mod text;
mod words;

pub use markdown::write as write_markdown;
pub use text::write;
pub(crate) use words::word as movement_name;

#[cfg(test)]
mod agreement_tests;
#[cfg(test)]
mod tests;
