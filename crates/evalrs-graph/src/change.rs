//! The one place that writes to the database.
//!
//! Everything is compared before it is set: a setter always counts as a change.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use salsa::Setter;

use super::Database;
use super::inputs::{Chunk, File, Overrides, Program, ProgramState, Root};
use evalrs_base::file_text::FileText;
use evalrs_base::price::Prices;
use evalrs_eval::dataset::chunk::{ChunkedDataset, Records};
use evalrs_model::key::ActionKey;
use evalrs_model::outcome::Outcome;

/// What happened outside.
#[derive(Debug, Default)]
pub struct Change {
    /// Files that were read.
    pub files: Vec<(File, FileText)>,
    /// Programs of which more is known.
    pub programs: Vec<(Program, ProgramState)>,
    /// The dataset's chunks, if it was read.
    pub chunks: Option<Vec<ChunkedDataset>>,
    /// The environment, if it was read.
    pub environment: Option<Arc<BTreeMap<String, String>>>,
    /// The command line, if it changed.
    pub overrides: Option<Overrides>,
    /// What tokens cost, if it was read.
    pub prices: Option<Arc<Prices>>,
    /// Outcomes that arrived.
    pub outcomes: Vec<(ActionKey, Arc<Outcome>)>,
    /// The chunks that waited for one of them.
    pub waiting: Vec<Chunk>,
}

impl Change {
    /// Brings the change into `db`.
    #[tracing::instrument(level = "debug", skip_all, fields(files = self.files.len(), outcomes = self.outcomes.len()))]
    pub fn apply(self, db: &mut Database, root: Root) {
        for (file, text) in self.files {
            if *file.text(db) != text {
                file.set_text(db).to(text);
            }
        }
        for (program, state) in self.programs {
            if *program.state(db) != state {
                program.set_state(db).to(state);
            }
        }
        if let Some(environment) = self.environment
            && *root.environment(db) != environment
        {
            root.set_environment(db).to(environment);
        }
        if let Some(overrides) = self.overrides
            && *root.overrides(db) != overrides
        {
            root.set_overrides(db).to(overrides);
        }
        if let Some(prices) = self.prices
            && *root.prices(db) != prices
        {
            root.set_prices(db).to(prices);
        }
        if let Some(chunks) = self.chunks {
            set_chunks(db, root, chunks);
        }
        if !self.outcomes.is_empty() {
            db.outcomes.extend(self.outcomes);
        }
        for chunk in self.waiting {
            let epoch = chunk.epoch(db) + 1;
            chunk.set_epoch(db).to(epoch);
        }
    }
}

/// Keeps the slot of every chunk whose content is unchanged, wherever it moved; the others take slots that
/// became free, and new ones only when none is left.
fn set_chunks(db: &mut Database, root: Root, chunks: Vec<ChunkedDataset>) {
    let before = root.chunks(db).clone();
    let mut by_hash: HashMap<u128, Vec<Chunk>> = HashMap::new();
    for slot in before.iter().rev() {
        by_hash.entry(slot.records(db).hash()).or_default().push(*slot);
    }
    let kept = chunks.iter().map(|chunk| match chunk.fresh {
        None => by_hash.get_mut(&chunk.hash).and_then(Vec::pop),
        Some(_) => None,
    });
    let kept: Vec<Option<Chunk>> = kept.collect();
    let used: HashSet<Chunk> = kept.iter().flatten().copied().collect();
    let mut free: Vec<Chunk> =
        before.iter().rev().filter(|slot| !used.contains(slot)).copied().collect();
    free.append(&mut db.spare_slots);
    let mut order = Vec::with_capacity(chunks.len());
    for (chunk, slot) in chunks.into_iter().zip(kept) {
        // Whoever names a chunk by its hash alone has counted it among these very slots, so rows cannot vanish here.
        debug_assert!(slot.is_some() || chunk.fresh.is_some(), "a chunk that no slot holds");
        order.push(match slot {
            Some(slot) => slot,
            None => fill_slot(db, root, free.pop(), chunk.fresh.unwrap_or_else(Records::empty)),
        });
    }
    for slot in &free {
        slot.set_records(db).to(Arc::new(Records::empty()));
    }
    if order != before {
        root.set_chunks(db).to(order);
    }
    db.spare_slots = free;
}

fn fill_slot(db: &mut Database, root: Root, slot: Option<Chunk>, records: Records) -> Chunk {
    let records = Arc::new(records);
    match slot {
        Some(slot) => {
            slot.set_records(db).to(records);
            slot
        }
        None => Chunk::of_records(db, root, records),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use salsa::{Event, EventKind, Storage};

    use super::Change;
    use crate::inputs::{Overrides, Root};
    use crate::{Database, Db, queries, results};
    use evalrs_base::file_text::FileText;
    use evalrs_eval::dataset::chunk::{HeldChunks, chunks};
    use evalrs_eval::dataset::join::JoinedRow;
    use evalrs_eval::dataset::raw_record::RecordStart;

    const SUITE: &str = "\
name: s
dataset: data.jsonl
graders: {judge: {kind: rubric, prompt: 'Is it kind? {submission}', model: m, endpoint: e}}
";

    fn joined(row: &str) -> JoinedRow<'_> {
        JoinedRow { row: row.into(), recorded: "".into(), start: RecordStart::default() }
    }

    /// How many results are verified when an outcome of the first chunk has arrived, and its next action is rendered.
    fn verified(rows: usize) -> usize {
        let count: Arc<AtomicUsize> = Arc::default();
        let counter = Arc::clone(&count);
        let storage = Storage::new(Some(Box::new(move |event: Event| {
            let is_verified = matches!(event.kind, EventKind::DidValidateMemoizedValue { .. });
            counter.fetch_add(usize::from(is_verified), Ordering::Relaxed);
        })));
        let mut db = Database::with(storage, Arc::default());
        let suite = db.file("suite.yaml");
        let root = Root::of_suite(&db, suite, BTreeMap::new(), Overrides::default());
        let rows: Vec<String> = (0..rows)
            .map(|row| format!(r#"{{"id":"{row}","input":"q","output":"a{row}"}}"#))
            .collect();
        let rows: Vec<JoinedRow<'_>> = rows.iter().map(|row| joined(row)).collect();
        let chunks = chunks(&rows, HeldChunks::default(), &Arc::default());
        let files = vec![(suite, FileText::Text(SUITE.into()))];
        Change { files, chunks: Some(chunks), ..Change::default() }.apply(&mut db, root);
        let [first, .., last] = root.chunks(&db)[..] else { panic!("too few chunks") };
        let render = |db: &Database| {
            let grader = queries::graders(db, root)[0];
            for chunk in [first, last] {
                assert!(!queries::plans(db, chunk, grader).is_empty());
                assert!(results::sample_id(db, chunk, 0).is_some());
            }
        };
        render(&db);
        Change { waiting: vec![first], ..Change::default() }.apply(&mut db, root);
        count.store(0, Ordering::Relaxed);
        render(&db);
        count.load(Ordering::Relaxed)
    }

    #[test]
    fn an_outcome_has_as_few_results_verified_of_many_rows_as_of_few() {
        assert_eq!(verified(20_000), verified(1_000));
    }
}
