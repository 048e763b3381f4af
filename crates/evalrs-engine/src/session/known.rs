//! What an earlier process found of the chunks of a session, as far as the store is what it was.

use evalrs_eval::dataset::layout::Layout;
use evalrs_graph::inputs::Chunk;
use evalrs_graph::known::KnownGrades;
use evalrs_graph::known_chunks::{CollectedChunk, collect};
use evalrs_graph::known_grades::{self, LastResults, grades_then, results_scope};
use evalrs_graph::{Db, queries};
use evalrs_model::key::KeySet;

use super::Session;

/// Where the results of each chunk stand in those that a run has written.
#[derive(Clone, Debug)]
pub enum ResultPlaces {
    /// Nobody knows.
    Unknown,
    /// Where they stood when the session began: they are the same bytes.
    AsBefore,
    /// The first byte and the length, chunk by chunk.
    At(Vec<(u64, u64)>),
}

impl Session {
    /// How the file of the dataset is cut, with its path, if an edit of it is cut in parts.
    pub fn dataset_layout(&self) -> Option<(String, Layout)> {
        let dataset = self.dataset.as_ref()?;
        Some((dataset.path.clone(), dataset.layout()?))
    }

    /// Takes how an earlier process has cut the file of the dataset, before that is read.
    pub fn set_known_layout(&self, path: String, layout: Layout) {
        let _ = self.known_layout.set((path, layout));
    }

    /// Takes the outcomes that known grades rest on as they were, unread, but for those of keys that were written since: these
    /// are looked up.
    pub fn trust_known(&self, written_since: &KeySet) {
        let db = &self.db;
        let chunks = self.root.chunks(db).iter();
        let known = chunks.flat_map(|chunk| {
            self.graders().iter().filter_map(|grader| grades_then(db, *chunk, *grader))
        });
        let known: Vec<&KnownGrades> = known.collect();
        let most = known.iter().map(|grades| grades.keys().len()).sum();
        let actions = known.into_iter().flat_map(KnownGrades::actions);
        let replies = actions.map(|action| (action.key(), action.reply()));
        db.outcomes.add_archived(most, replies.filter(|(key, _)| !written_since.contains(key)));
    }

    /// What is known of each chunk by now. `questions` are the digests of what the evaluated cases ask, in dataset order.
    pub fn known_chunks(
        &self,
        questions: &[[u8; 32]],
        places: ResultPlaces,
    ) -> Vec<CollectedChunk> {
        let scope = results_scope(&self.db, self.root);
        let as_before = |chunk: &Chunk| {
            let known = self.db.known_chunk(chunk.records(&self.db).hash())?;
            let results = known.results.filter(|results| Some(results.scope) == scope)?;
            Some((results.from, results.bytes))
        };
        let places: Vec<Option<(u64, u64)>> = match places {
            ResultPlaces::Unknown => Vec::new(),
            ResultPlaces::At(places) => places.into_iter().map(Some).collect(),
            ResultPlaces::AsBefore => self.chunks().iter().map(as_before).collect(),
        };
        collect(&self.db, self.root, questions, &places)
    }

    /// Where the results of each chunk stand in those of the last run, if nothing but verdicts has changed.
    pub fn known_results(&self) -> Vec<Option<LastResults>> {
        let chunks = self.root.chunks(&self.db).iter();
        chunks.map(|chunk| known_grades::results(&self.db, *chunk)).collect()
    }

    /// How many results each chunk has.
    pub fn results_of_chunks(&self) -> Vec<usize> {
        let chunks = self.root.chunks(&self.db).iter();
        let counts = chunks.map(|chunk| {
            queries::places(&self.db, *chunk).iter().filter(|place| place.is_in()).count()
        });
        counts.collect()
    }
}
