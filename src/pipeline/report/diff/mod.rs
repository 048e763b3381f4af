//! Two evaluations compared, for people: `text` on a terminal, `markdown` in a comment.

mod agreement_words;
mod declared_words;
mod markdown;
mod text;

pub(crate) use markdown::write as write_markdown;
pub(crate) use text::write;

#[cfg(test)]
mod agreement_tests;
#[cfg(test)]
mod tests;
