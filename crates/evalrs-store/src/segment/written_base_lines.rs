//! The lines of the segment being written that later lines may have parts of, and whether the lines of a segment are all
//! whole although they have much in common: earlier versions wrote them so, and a sweep writes them again.

use std::collections::VecDeque;
use std::ops::Range;

use crate::line::StoredLine;
use crate::line::elements::{Elements, elements_of};
use crate::line::entry_line::{EntryLine, LineBody};
use crate::line::shared_text::{Part, SharedText};

/// How many there are at the same time: a line for each grader, judge and vote that is called in
/// turn.
const MOST: usize = 16;
/// The least that is worth a part of its own, in bytes: its three numbers take about as much.
const LEAST_PART: usize = 32;
/// The least that a line must have in common with another one, in bytes.
const LEAST_SHARED: usize = 160;

/// Whole lines that were written, the one that was used last at the end.
#[derive(Default)]
pub(crate) struct WrittenBaseLines {
    bases: VecDeque<WrittenBase>,
    /// The last bodies whose lines are not whole.
    short: VecDeque<WrittenBody>,
}

struct WrittenBase {
    at: u32,
    checksum: u32,
    known: WrittenBody,
}

struct WrittenBody {
    body: String,
    elements: Elements,
}

/// The part cut out of a body, and the part at that place in the other one.
struct SharedRun {
    from: Range<usize>,
    of: Range<usize>,
}

impl WrittenBaseLines {
    /// Appends `body` to `out` with what a line written before has in common with it left out. False, and nothing
    /// is appended, if it is to be written whole: no whole line has enough, or a line that is not whole has much more. Its
    /// like has come twice then, and will come again.
    pub(crate) fn append_shared(
        &mut self,
        body: &str,
        elements: &Elements,
        out: &mut String,
    ) -> bool {
        let whole = self.bases.iter().enumerate();
        let cuts = whole.map(|(place, base)| (place, base.known.cuts(body, elements)));
        let best = cuts.max_by_key(|(_, cuts)| shared(cuts));
        let Some((place, cuts)) = best.filter(|(_, cuts)| shared(cuts) >= LEAST_SHARED) else {
            return false;
        };
        let short = self.short.iter().map(|known| shared(&known.cuts(body, elements)));
        if short.max().unwrap_or_default() >= shared(&cuts) + LEAST_SHARED {
            return false;
        }
        let Some(base) = self.bases.remove(place) else { return false };
        base.append(body, &cuts, out);
        self.bases.push_back(base);
        keep(&mut self.short, WrittenBody { body: body.to_owned(), elements: elements.clone() });
        true
    }

    /// Adds a whole line that was written at an offset.
    pub(crate) fn add(&mut self, at: u64, checksum: u32, body: &str, elements: Elements) {
        let Ok(at) = u32::try_from(at) else { return };
        if !elements.is_empty() {
            let known = WrittenBody { body: body.to_owned(), elements };
            keep(&mut self.bases, WrittenBase { at, checksum, known });
        }
    }
}

fn keep<T>(list: &mut VecDeque<T>, new: T) {
    if list.len() == MOST {
        list.pop_front();
    }
    list.push_back(new);
}

fn shared(cuts: &[SharedRun]) -> usize {
    cuts.iter().map(|cut| cut.from.len()).sum()
}

impl WrittenBody {
    /// What `body` has in common with this one: runs of ingredients that are the same at the same places.
    fn cuts(&self, body: &str, elements: &Elements) -> Vec<SharedRun> {
        let mut cuts = Vec::new();
        if elements.len() != self.elements.len() {
            return cuts;
        }
        let mut place = 0;
        while place < elements.len() {
            let pairs = elements[place..].iter().zip(&self.elements[place..]);
            let same = pairs
                .take_while(|(own, other)| body[(*own).clone()] == self.body[(*other).clone()]);
            let end = place + same.count();
            if end > place {
                let from = run(elements, place, end);
                let of = run(&self.elements, place, end);
                cuts.extend((from.len() >= LEAST_PART).then_some(SharedRun { from, of }));
            }
            place = end + 1;
        }
        cuts
    }
}

impl WrittenBase {
    fn append(&self, body: &str, cuts: &[SharedRun], out: &mut String) {
        let from = out.len();
        let mut parts = Vec::with_capacity(cuts.len());
        let mut taken = 0;
        for cut in cuts {
            out.push_str(&body[taken..cut.from.start]);
            let place = (out.len() - from) as u32;
            parts.push(Part { place, from: cut.of.start as u32, to: cut.of.end as u32 });
            taken = cut.from.end;
        }
        // The last brace is behind the reference.
        out.push_str(&body[taken..body.len() - 1]);
        let reference = SharedText { at: self.at, checksum: self.checksum, parts, own: "" };
        reference.append_reference(out);
    }
}

/// The bytes of a run of elements with one of the commas beside it, so that what is left is still a list.
fn run(elements: &Elements, first: usize, end: usize) -> Range<usize> {
    match elements.get(end) {
        Some(next) => elements[first].start..next.start,
        None if first > 0 => elements[first - 1].end..elements[end - 1].end,
        None => elements[first].start..elements[end - 1].end,
    }
}

/// How many lines are searched: one grader judges many samples in turn.
const LOOKED_AT: usize = 64;

#[derive(Default)]
pub(crate) struct SegmentLayout {
    bases: WrittenBaseLines,
    looked_at: usize,
    shares: bool,
    could_share: bool,
}

impl SegmentLayout {
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
