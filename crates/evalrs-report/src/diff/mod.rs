//! Two evaluations compared, for people: `text` on a terminal, `markdown` in a comment.

mod agreement_words;
mod declared_words;
pub mod markdown;
pub mod text;

pub use markdown::write as write_markdown;
pub use text::write;

#[cfg(test)]
mod agreement_tests;
#[cfg(test)]
mod tests;
