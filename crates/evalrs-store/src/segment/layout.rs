//! Whether the lines of a segment are all whole although they have much in common: earlier versions wrote them so, and a
//! sweep writes them anew.

use crate::line::StoredLine;
use crate::line::elements::elements_of;
use crate::line::entry_line::{EntryLine, LineBody};
use crate::segment::written_base_lines::WrittenBaseLines;

/// How many lines are looked at: one grader is asked about many samples in turn.
const LOOKED_AT: usize = 64;

/// What is known of the lines of a segment.
#[derive(Default)]
pub(crate) struct SegmentLayout {
    bases: WrittenBaseLines,
    looked_at: usize,
    shares: bool,
    could_share: bool,
}

impl SegmentLayout {
    /// Looks at a line and its entry.
    pub(crate) fn look_at(&mut self, line: &StoredLine<'_>, entry: &EntryLine) {
        self.shares |= line.shared().is_some();
        if self.shares || self.could_share || self.looked_at == LOOKED_AT {
            return;
        }
        self.looked_at += 1;
        let LineBody::Inline(body) = &entry.body else { return };
        let elements = elements_of(body).unwrap_or_default();
        self.could_share = self.bases.append_shared(body, &elements, &mut String::new());
        if !self.could_share {
            self.bases.add(0, line.checksum, body, elements);
        }
    }

    /// Whether it would be shorter if it was written now.
    pub(crate) fn is_outdated(&self) -> bool {
        self.could_share && !self.shares
    }
}
