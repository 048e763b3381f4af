//! Results of which most are those of the last run: these are copied, byte for byte, and only the rest is put together.

use evalrs_engine::session::Session;
use evalrs_graph::known::KnownResults;
use evalrs_graph::results::chunk_lines;
use evalrs_store::record::parts::{ResultsPart, SplicedPart, SplicedResults};
use evalrs_store::record::side::CommonParts;

/// The results of the last run of a suite, which nobody has written to since.
#[derive(Clone, Debug)]
pub(super) struct LastResults {
    /// The run.
    pub run: String,
    /// The folder of its record.
    pub folder: String,
    /// The digest of its results, and how many bytes they have.
    pub digest: String,
    pub bytes: u64,
}

/// The results of a session, chunk by chunk, and those of the last run among them.
pub(super) struct ResultsSplice<'a> {
    session: &'a Session,
    last: &'a LastResults,
    /// Those of each chunk that are the same, in the order of the earlier file.
    same: Vec<Option<ResultsPart>>,
}

impl<'a> ResultsSplice<'a> {
    /// None if nothing is the same.
    pub(super) fn of(session: &'a Session, last: &'a LastResults) -> Option<Self> {
        let mut end = 0;
        let known = session.known_results().into_iter().zip(session.results_of_chunks());
        let same = known.map(|(known, lines)| {
            let KnownResults { from, bytes, .. } = known?;
            let part = ResultsPart { from, bytes, lines };
            // What moved to the front is put together: the file is read once.
            let is_next = from >= end && part.end() <= last.bytes;
            end = if is_next { part.end() } else { end };
            is_next.then_some(part)
        });
        let same: Vec<Option<ResultsPart>> = same.collect();
        same.iter().any(Option::is_some).then_some(Self { session, last, same })
    }

    /// The parts in the order of the results.
    pub(super) fn parts(&self) -> Box<dyn Iterator<Item = SplicedPart<'_>> + '_> {
        let Session { db, root, .. } = self.session;
        let chunks = root.chunks(db).iter().zip(&self.same);
        Box::new(chunks.map(|(chunk, same)| match same {
            Some(part) => SplicedPart::Same(*part),
            None => SplicedPart::New(Box::new(chunk_lines(db, *chunk))),
        }))
    }

    /// The results as they are written, whose `parts` these are.
    pub(super) fn results<'b>(
        &'b self,
        parts: &'b dyn Fn() -> Box<dyn Iterator<Item = SplicedPart<'b>> + 'b>,
    ) -> SplicedResults<'b> {
        let LastResults { folder, digest, bytes, .. } = self.last;
        let lines = self.session.results_of_chunks().into_iter().sum();
        SplicedResults { earlier: folder, digest, bytes: *bytes, lines, parts }
    }

    /// What the written `parts` have in common with the run `id`; none if the last run was another one.
    pub(super) fn common(&self, id: &str, parts: &[ResultsPart]) -> Option<CommonParts> {
        let is_of_last = self.last.run == id && parts.len() == self.same.len();
        is_of_last.then(|| CommonParts {
            old: self.same.iter().flatten().copied().collect(),
            new: parts.iter().copied().zip(self.same.iter().map(Option::is_some)).collect(),
        })
    }
}
