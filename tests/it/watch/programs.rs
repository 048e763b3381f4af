//! Programs of the user while they are edited.

use serde_json::json;

use super::{Session, judge, mean, rows, save};
use crate::space::{Space, has};

const SUITE: &str = "\
name: support
dataset: data.jsonl
graders:
  quality: {kind: tool, function: 'graders/g.py:grade'}
gate: {metric_key: quality, metric: avg_score, op: gte, value: 0.75}
";

#[test]
fn a_program_that_could_not_be_loaded_is_loaded_again_when_it_is_mended() {
    if !has("python3") {
        return;
    }
    let program = |score: &str| format!("def grade(sample, submission):\n    return {score}\n");
    let files = [("graders/g.py", program("1.0")), ("data.jsonl", rows(0..2))];
    let files = files.each_ref().map(|(path, text)| (*path, text.as_str()));
    let space = Space::new(&[files[0], files[1], ("suite.yaml", SUITE)]);
    let mut session = Session::begin(space, judge(), &[]);
    assert_eq!(mean(&session.telling.wait_event("evaluated")), json!(1.0));
    save(&session.space, "graders/g.py", "def grade(:\n");
    assert_eq!(mean(&session.telling.wait_event("evaluated")), json!(null));
    save(&session.space, "graders/g.py", &program("0.5"));
    let mended = session.telling.wait_event("evaluated");
    assert_eq!((mean(&mended), &mended["files"]), (json!(0.5), &json!(["graders/g.py"])));
    session.end();
}
