//! Lines that are written at once, and the blobs that they name.

use std::iter::Peekable;

use crate::blob::NewBlob;
use crate::entry::Entry;
use crate::line;
use crate::line::blob_reference::BlobReference;
use crate::line::elements::{Elements, elements_of};
use crate::line::entry_line::{EntryLine, LineBody};
use crate::segment::written_base_lines::WrittenBaseLines;
use evalrs_model::key::ActionKey;

/// The most blobs that are written at once: each is an open file until its line is durable.
const MAX_BLOBS: usize = 64;

/// A line that is to be written.
pub struct NewLine<'a> {
    key: ActionKey,
    generation: u32,
    body: NewBody<'a>,
}

enum NewBody<'a> {
    /// This, in the line or as a blob of its own, and where its ingredients stand.
    Text(&'a str, Elements),
    /// A blob that another line names already.
    Blob(&'a BlobReference),
}

impl<'a> NewLine<'a> {
    /// The line of an entry that is kept under this generation, and whose ingredients stand there.
    pub fn at(entry: &'a Entry, generation: u32, elements: Elements) -> Self {
        Self { key: entry.key, generation, body: NewBody::Text(&entry.body, elements) }
    }
}

impl<'a> From<&'a EntryLine> for NewLine<'a> {
    fn from(line: &'a EntryLine) -> Self {
        let EntryLine { key, generation, body, .. } = line;
        let body = match body {
            LineBody::Inline(body) => NewBody::Text(body, elements_of(body).unwrap_or_default()),
            LineBody::Blob(reference) => NewBody::Blob(reference),
        };
        Self { key: *key, generation: *generation, body }
    }
}

pub(crate) struct LineBatch<'a, 'b> {
    /// The bytes that the segment has before them.
    from: u64,
    /// What of the segment they may have parts of.
    bases: &'b mut WrittenBaseLines,
    pub text: String,
    /// What must be durable before them.
    pub blobs: Vec<NewBlob<'a>>,
}

impl<'a, 'b> LineBatch<'a, 'b> {
    /// Nothing yet, for a segment of this length with these `bases`.
    pub(crate) fn new(from: u64, bases: &'b mut WrittenBaseLines) -> Self {
        Self { from, bases, text: String::new(), blobs: Vec::new() }
    }

    /// Takes as many lines as are written at once, at least one if there is one.
    pub(crate) fn take(&mut self, lines: &mut Peekable<impl Iterator<Item = NewLine<'a>>>) {
        while self.blobs.len() < MAX_BLOBS
            && let Some(line) = lines.next()
        {
            self.add(line);
        }
    }

    /// Adds a line; its body was checked.
    pub(crate) fn add(&mut self, new: NewLine<'a>) {
        let NewLine { key, generation, body } = new;
        let out = &mut self.text;
        let reference = match body {
            NewBody::Text(body, elements) if line::fits_in_line(body) => {
                let at = self.from + out.len() as u64;
                let mut is_whole = false;
                let checksum = line::append(key, generation, out, |out| {
                    is_whole = !self.bases.append_shared(body, &elements, out);
                    if is_whole {
                        out.push_str(body);
                    }
                });
                if is_whole {
                    self.bases.add(at, checksum, body, elements);
                }
                return;
            }
            NewBody::Text(body, _) => {
                let reference = BlobReference::to(body);
                let text = reference.to_text();
                self.blobs.push(NewBlob { reference, body });
                text
            }
            NewBody::Blob(reference) => reference.to_text(),
        };
        line::append(key, generation, out, |out| out.push_str(&reference));
    }
}
