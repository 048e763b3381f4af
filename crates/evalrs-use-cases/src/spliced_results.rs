//! Results of which most are those of the last run: these are copied, byte for byte, or but for their verdicts, and only the
//! rest is put together.

use evalrs_engine::session::Session;
use evalrs_graph::known_grades::{LastResults, passes};
use evalrs_graph::results::chunk_lines;
use evalrs_store::record::judged_part::JudgedPart;
use evalrs_store::record::parts::ResultsPart;
use evalrs_store::record::side::CommonParts;
use evalrs_store::record::spliced::{SplicedPart, SplicedResults};

/// The results of the last run of a suite, which nobody has written to since.
#[derive(Clone, Debug)]
pub(super) struct EarlierResults {
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
    last: &'a EarlierResults,
    /// Those of each chunk.
    chunks: Vec<ChunkResults>,
}

/// The results of a chunk.
#[derive(Clone, Copy, Debug)]
enum ChunkResults {
    /// They are these of the last run. They come in the order of the earlier file.
    Same(ResultsPart),
    /// They are these with other verdicts.
    Judged(ResultsPart),
    /// They have to be put together.
    New,
}

impl ChunkResults {
    fn same(self) -> Option<ResultsPart> {
        match self {
            Self::Same(part) => Some(part),
            Self::Judged(_) | Self::New => None,
        }
    }
}

impl<'a> ResultsSplice<'a> {
    /// None if all have to be put together.
    pub(super) fn of(session: &'a Session, last: &'a EarlierResults) -> Option<Self> {
        let mut end = 0;
        let known = session.known_results().into_iter().zip(session.results_of_chunks());
        let chunks = known.map(|(known, lines)| {
            let (LastResults::Same(at) | LastResults::Judged(at)) = known?;
            let part = ResultsPart { from: at.from, bytes: at.bytes, lines };
            // What moved to the front is put together: the file is read once.
            let is_next = part.from >= end && part.end() <= last.bytes;
            end = if is_next { part.end() } else { end };
            is_next.then_some(match known? {
                LastResults::Same(_) => ChunkResults::Same(part),
                LastResults::Judged(_) => ChunkResults::Judged(part),
            })
        });
        let chunks: Vec<Option<ChunkResults>> = chunks.collect();
        let is_any_known = chunks.iter().any(Option::is_some);
        let chunks = chunks.into_iter().map(|chunk| chunk.unwrap_or(ChunkResults::New)).collect();
        is_any_known.then_some(Self { session, last, chunks })
    }

    /// How many chunks have the results of the last run.
    pub(super) fn copied(&self) -> usize {
        self.chunks.iter().filter(|chunk| chunk.same().is_some()).count()
    }

    /// The parts in the order of the results.
    pub(super) fn parts(&self) -> Box<dyn Iterator<Item = SplicedPart<'_>> + '_> {
        let Session { db, root, .. } = self.session;
        let chunks = root.chunks(db).iter().zip(&self.chunks);
        Box::new(chunks.map(|(chunk, results)| match results {
            ChunkResults::Same(part) => SplicedPart::Same(*part),
            ChunkResults::Judged(part) => SplicedPart::Judged(JudgedPart {
                part: *part,
                verdicts: passes(db, *chunk),
                // Its replies are read only where it is wanted.
                lines: Box::new(std::iter::once(*chunk).flat_map(|chunk| chunk_lines(db, chunk))),
            }),
            ChunkResults::New => SplicedPart::New(Box::new(chunk_lines(db, *chunk))),
        }))
    }

    /// The results as they are written, whose `parts` these are.
    pub(super) fn results<'b>(
        &'b self,
        parts: &'b dyn Fn() -> Box<dyn Iterator<Item = SplicedPart<'b>> + 'b>,
    ) -> SplicedResults<'b> {
        let EarlierResults { folder, digest, bytes, .. } = self.last;
        let lines = self.session.results_of_chunks().into_iter().sum();
        SplicedResults { earlier: folder, digest, bytes: *bytes, lines, parts }
    }

    /// What the written `parts` have in common with the run `id`; none if the last run was another one.
    pub(super) fn common(&self, id: &str, parts: &[ResultsPart]) -> Option<CommonParts> {
        let is_of_last = self.last.run == id && parts.len() == self.chunks.len();
        let same = || self.chunks.iter().map(|chunk| chunk.same());
        is_of_last.then(|| CommonParts {
            old: same().flatten().collect(),
            new: parts.iter().copied().zip(same().map(|part| part.is_some())).collect(),
        })
    }
}
