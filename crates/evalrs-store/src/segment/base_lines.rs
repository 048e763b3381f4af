//! The lines of a segment that others have parts of, as they are read: each when it is needed, then again and again.
#![expect(clippy::disallowed_methods, reason = "the store owns its files; nothing else opens them")]

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Seek as _, SeekFrom};
use std::path::Path;

use crate::line::entry_line::{EntryLine, LineBody};
use crate::line::shared_text::SharedText;
use crate::line::{self, INLINE_LIMIT, StoredLine};

/// How many are kept.
const MOST: usize = 16;

/// The whole lines of one segment.
pub(crate) struct BaseLines {
    /// Opened before its other lines are read: a segment that is packed meanwhile goes, and what is open stays readable.
    file: Option<File>,
    /// The newest last.
    held: Vec<Base>,
}

struct Base {
    at: u32,
    /// Its checksum and its body, if it could be read.
    found: Option<(u32, String)>,
}

impl BaseLines {
    /// Those of the segment at `path`. To be called before its lines are read.
    pub(crate) fn of(path: &Path) -> Self {
        Self { file: File::open(path).ok(), held: Vec::new() }
    }

    /// The entry of a line of this segment. Where it has parts of a line that cannot be read, it is incomplete: what is
    /// left is its outcome.
    pub(crate) fn entry(&mut self, line: &StoredLine<'_>) -> EntryLine {
        let Some(shared) = line.shared() else { return line.whole() };
        let StoredLine { key, generation, .. } = *line;
        let whole = self.body(&shared).and_then(|body| shared.whole(body));
        let is_incomplete = whole.is_none();
        let body = LineBody::Inline(whole.unwrap_or_else(|| shared.incomplete()));
        EntryLine { key, generation, body, is_incomplete }
    }

    fn body(&mut self, shared: &SharedText<'_>) -> Option<&str> {
        let at = shared.at;
        if self.held.iter().all(|base| base.at != at) {
            if self.held.len() == MOST {
                self.held.remove(0);
            }
            self.held
                .push(Base { at, found: self.file.as_ref().and_then(|file| read_base(file, at)) });
        }
        let base = self.held.iter().find(|base| base.at == at)?;
        let (checksum, body) = base.found.as_ref()?;
        (*checksum == shared.checksum).then_some(body)
    }
}

/// The checksum and the body of the whole line that starts at an offset.
fn read_base(mut file: &File, at: u32) -> Option<(u32, String)> {
    file.seek(SeekFrom::Start(u64::from(at))).ok()?;
    let mut text = Vec::new();
    // Beside its body a line has at most 107 bytes.
    let most = INLINE_LIMIT as u64 + 128;
    BufReader::new(file.take(most)).read_until(b'\n', &mut text).ok()?;
    let line = line::parse(text.strip_suffix(b"\n")?).ok()?;
    let is_whole = line.shared().is_none();
    match line.whole().body {
        LineBody::Inline(body) if is_whole => Some((line.checksum, body)),
        LineBody::Inline(_) | LineBody::Blob(_) => None,
    }
}
