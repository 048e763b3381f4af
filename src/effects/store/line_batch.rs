//! Lines that are written at once, and the blobs that they name.

use super::Entry;
use super::blob_reference::BlobReference;
use super::blobs::NewBlob;
use super::entry_line::{EntryLine, LineBody};
use super::line;
use crate::pipeline::key::ActionKey;

/// The most blobs that are written at once: each is an open file until its line is durable.
const MAX_BLOBS: usize = 64;

/// A line that is to be written.
pub(super) struct NewLine<'a> {
    key: ActionKey,
    generation: u32,
    body: NewBody<'a>,
}

/// What its body is.
enum NewBody<'a> {
    /// This, in the line or as a blob of its own.
    Text(&'a str),
    /// A blob that another line names already.
    Blob(&'a BlobReference),
}

impl<'a> NewLine<'a> {
    /// The line of an entry that is kept under this generation.
    pub(super) fn at(entry: &'a Entry, generation: u32) -> Self {
        Self { key: entry.key, generation, body: NewBody::Text(&entry.body) }
    }
}

impl<'a> From<&'a EntryLine> for NewLine<'a> {
    fn from(line: &'a EntryLine) -> Self {
        let EntryLine { key, generation, body } = line;
        let body = match body {
            LineBody::Inline(body) => NewBody::Text(body),
            LineBody::Blob(reference) => NewBody::Blob(reference),
        };
        Self { key: *key, generation: *generation, body }
    }
}

/// Lines that are written at once.
#[derive(Default)]
pub(super) struct LineBatch<'a> {
    /// The lines.
    pub(super) text: String,
    /// What must be durable before them.
    pub(super) blobs: Vec<NewBlob<'a>>,
}

impl<'a> LineBatch<'a> {
    /// Adds a line; its body was checked.
    pub(super) fn add(&mut self, new: NewLine<'a>) {
        let NewLine { key, generation, body } = new;
        match body {
            NewBody::Text(body) if line::fits_in_line(body) => {
                line::append(key, generation, body, &mut self.text);
            }
            NewBody::Text(body) => {
                let reference = BlobReference::to(body);
                line::append(key, generation, &reference.to_text(), &mut self.text);
                self.blobs.push(NewBlob { reference, body });
            }
            NewBody::Blob(reference) => {
                line::append(key, generation, &reference.to_text(), &mut self.text);
            }
        }
    }

    /// Whether it is to be written before more is added.
    pub(super) fn is_full(&self) -> bool {
        self.blobs.len() >= MAX_BLOBS
    }
}
