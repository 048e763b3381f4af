//! A fresh session that knows what an earlier one found: which rows it reads, and that nothing else comes of it.

use evalrs_model::key::ActionKey;

use super::*;

/// Enough for several chunks.
const MANY: usize = 400;

fn stored() -> Evaluation {
    let (evaluation, asked) = Evaluation::over(&many());
    assert_eq!(asked.len(), 2 * MANY);
    evaluation
}

fn many() -> String {
    (0..MANY).map(row).collect()
}

fn knowing(evaluation: Evaluation, written_since: &KeySet) -> Evaluation {
    let again = evaluation.again_knowing();
    again.session.trust_known(written_since);
    again
}

/// How often the rows of a chunk were planned for a grader.
fn planned(evaluation: &Evaluation) -> usize {
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
