//! A fresh session that knows what an earlier one found: which rows it reads, and that nothing else comes of it.

use std::sync::atomic::{AtomicUsize, Ordering};

use evalrs_graph::known_grades::{self, LastResults};
use evalrs_graph::outcomes::ReplyArchive;
use evalrs_model::key::ActionKey;
use evalrs_model::outcome::read_body;

use super::*;

/// Enough for several chunks.
pub(super) const MANY: usize = 400;

fn stored() -> Evaluation {
    let (evaluation, asked) = Evaluation::over(&many());
    assert_eq!(asked.len(), 2 * MANY);
    evaluation
}

pub(super) fn many() -> String {
    (0..MANY).map(row).collect()
}

pub(super) fn knowing(evaluation: Evaluation, written_since: &KeySet) -> Evaluation {
    let again = evaluation.again_knowing();
    again.session.trust_known(written_since);
    again
}

/// How often the rows of a chunk were planned for a grader.
pub(super) fn planned(evaluation: &Evaluation) -> usize {
    let executed = evaluation.session.db.take_executed();
    executed.iter().filter(|query| *query == "plans").count()
}

type TextEdit = Box<dyn Fn(String) -> String>;

#[test]
fn rows_are_read_of_chunks_that_changed() {
    let edit = |from: &'static str, to: &'static str| {
        move |text: String| {
            assert!(text.contains(from));
            text.replacen(from, to, 1)
        }
    };
    let same: TextEdit = Box::new(|text| text);
    // The chunks that are planned, grader by grader; and what is asked.
    let table: [(&str, &str, TextEdit, [usize; 2], usize); 6] = [
        ("nothing", "suite.yaml", same, [0, 0], 0),
        ("a row", "data.jsonl", Box::new(edit("answer 200\"", "no answer\"")), [3, 6], 2),
        ("a row more", "data.jsonl", Box::new(|text| text + &row(MANY)), [3, 6], 2),
        ("a row less", "data.jsonl", Box::new(|text| text.replace(&row(7), "")), [3, 6], 0),
        ("a threshold", "suite.yaml", Box::new(edit("value: 0.0", "value: 0.9")), [0, 0], 0),
        (
            "a rubric",
            "suite.yaml",
            Box::new(edit("Is {submission} kind?", "Is it kind: {submission}")),
            [1, usize::MAX],
            MANY,
        ),
    ];
    for (what, path, edit, [least, most], asked) in table {
        let evaluation = stored();
        let text = if path == "suite.yaml" { SUITE.to_owned() } else { many() };
        evaluation.system.set(path, edit(text));
        let mut knowing = knowing(evaluation, &KeySet::default());
        assert_eq!(knowing.asked().len(), asked, "{what}");
        let chunks = knowing.session.chunks().len();
        assert!(chunks > 3, "{chunks} chunks");
        let planned = planned(&knowing);
        let most = most.min(chunks);
        assert!((least..=most).contains(&planned), "{what}: {planned} plans of {chunks} chunks");
        let reported = knowing.reported();
        let mut cold = knowing.again();
        assert_eq!(cold.asked(), Vec::<String>::new(), "{what}");
        assert_eq!(reported, cold.reported(), "{what}");
    }
}

#[test]
fn outcomes_that_were_written_since_are_looked_up() {
    let evaluation = stored();
    let key: ActionKey = evaluation.store.keys()[0];
    let held = evaluation.store.get_many(&[key]).pop().flatten().unwrap();
    let generation = held.generation + 1;
    let body = held.body.replace("\\\"score\\\": ", "\\\"score\\\": 0.0").replace("0.00.", "0.0");
    assert_ne!(body, held.body);
    let newer = evalrs_store::Entry { generation, body, ..held };
    evaluation.store.put_many(&[newer]).unwrap();
    let mut knowing = knowing(evaluation, &KeySet::from_iter([key]));
    assert_eq!(knowing.asked(), Vec::<String>::new());
    // Of one grader, the chunk of that row.
    assert_eq!(planned(&knowing), 1);
    let reported = knowing.reported();
    let mut cold = knowing.again();
    assert_eq!(cold.asked(), Vec::<String>::new());
    assert_eq!(reported, cold.reported());
}

#[test]
fn what_cannot_be_read_again_is_looked_up_too() {
    let evaluation = stored();
    let expected = evaluation.reported();
    let mut again = evaluation.again_knowing();
    // Nobody says that the store is what it was.
    assert_eq!(again.asked(), Vec::<String>::new());
    assert_eq!(again.reported(), expected);
}

/// A store that counts how often it is read.
struct CountedArchive {
    store: Arc<dyn OutcomeStore>,
    reads: Arc<AtomicUsize>,
}

impl ReplyArchive for CountedArchive {
    fn replies(&self, keys: &[ActionKey]) -> Vec<Option<Outcome>> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        let entries = self.store.get_many(keys).into_iter();
        entries.map(|entry| read_body(&entry?.body).ok()).collect()
    }
}

#[test]
fn replies_of_a_chunk_are_read_at_once() {
    let evaluation = stored();
    let expected = evaluation.reported();
    let mut knowing = knowing(evaluation, &KeySet::default());
    assert_eq!(knowing.asked(), Vec::<String>::new());
    let reads = Arc::new(AtomicUsize::new(0));
    let store = Arc::clone(&knowing.store);
    let archive = CountedArchive { store, reads: Arc::clone(&reads) };
    let Session { db, root, .. } = &knowing.session;
    db.outcomes.set_archive(Some(Arc::new(archive)));
    for _ in 0..2 {
        let before = reads.load(Ordering::Relaxed);
        let lines: Vec<ResultLine> = results::lines(db, *root).collect();
        assert_eq!(lines, expected.1);
        // They are let go of again, so the second time costs the same.
        let read = reads.load(Ordering::Relaxed) - before;
        assert_eq!(read, root.chunks(db).len());
    }
}

/// The chunks whose results are the same after an edit of the suite, and all chunks.
fn same_results(from: &str, to: &str) -> (usize, usize) {
    let evaluation = stored();
    let places = (0..evaluation.session.chunks().len() as u64).map(|at| (at, 1)).collect();
    let known = evaluation.session.known_chunks(&[], ResultPlaces::At(places));
    evaluation.system.set("suite.yaml", SUITE.replace(from, to));
    let db = Database::default();
    db.set_known(read_known(known));
    let plans = SettledPlans::default();
    let mut again = Evaluation { session: session_in(db), plans, ..evaluation };
    again.load();
    again.session.trust_known(&KeySet::default());
    again.asked();
    let chunks = again.session.chunks();
    let db = &again.session.db;
    let found = chunks.iter().map(|chunk| known_grades::results(db, *chunk));
    let same = found.filter(|found| matches!(found, Some(LastResults::Same(_))));
    (same.count(), chunks.len())
}

#[test]
fn results_are_the_same_unless_a_verdict_moves() {
    let threshold = |least: &str| format!("pass_threshold: {least}\n    extractor: last");
    // Answers of three digits have 0.9, others less, and all but 1.0 fails.
    for (from, to, least, most) in [
        ("value: 0.0", "value: 0.9", 1.0, 1.0),
        ("name: keys", "name: other", 1.0, 1.0),
        ("name: keys", "name: keys\nmetrics: {mean: {kind: macro, of: kind, by: tags}}", 1.0, 1.0),
        ("prompt: 'Does", "display_name: Right\n    prompt: 'Does", 1.0, 1.0),
        ("Is {submission} kind?", "Is it kind: {submission}", 0.0, 0.0),
        ("extractor: last", &threshold("0.95"), 1.0, 1.0),
        ("extractor: last", &threshold("0.85"), 0.1, 0.5),
        ("extractor: last", &threshold("0.01"), 0.0, 0.0),
    ] {
        let (same, all) = same_results(from, to);
        let share = same as f64 / all as f64;
        assert!(all > 3 && least <= share && share <= most, "{to}: {same} of {all}");
    }
}
