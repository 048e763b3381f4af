//! Recordings and the rows that they join, as tables.

use serde_json::{Value, json};

use super::{JoinedFiles, Owner, RecordedTrajectory, RunIdentity, join};
use crate::dataset::fields::RowSpec;
use crate::dataset::split::{RecordStart, split};
use evalrs_base::diagnostic::Place;
use evalrs_model::expression::RowCondition;
use evalrs_model::spec::{DatasetFormat, FieldMap, JoinBy, MissingAnswer};

/// A recording: `s/1/m=q` is of the sample `s`, trial 1, model `m`, made with the input `q`; `#3` is of row 3.
fn recording(said: &str) -> RecordedTrajectory {
    let (name, input) = said.split_once('=').map_or((said, None), |(name, q)| (name, Some(q)));
    let mut parts = name.split('/');
    let owner = parts.next().unwrap_or_default();
    let mut part = || parts.next().filter(|part| !part.is_empty()).map(str::to_owned);
    let trial = part().map(|trial| trial.parse().unwrap());
    RecordedTrajectory {
        owner: match (owner.strip_prefix('#'), owner.parse()) {
            (Some(row), _) => Owner::Row(row.parse().unwrap()),
            (None, Ok(number)) => Owner::IdOrRow(number),
            (None, Err(_)) => Owner::Id(owner.to_owned()),
        },
        run: RunIdentity { trial, model: part() },
        text: said.to_owned(),
        input: input.map(Value::from),
        file: "t.jsonl".into(),
        start: RecordStart::default(),
        verbatim: false,
    }
}

/// Rows and recordings, and which of them belong together: `0: a b` are those of the first row.
#[track_caller]
fn check(rows: &[Value], recordings: &str, expected: &str) -> Vec<String> {
    check_where(None, rows, recordings, expected)
}

#[track_caller]
fn check_where(
    condition: Option<&str>,
    rows: &[Value],
    recordings: &str,
    expected: &str,
) -> Vec<String> {
    let text = rows.iter().map(Value::to_string).collect::<Vec<_>>().join("\n");
    let rows = split("data.jsonl", &text, DatasetFormat::Jsonl).unwrap();
    let lines: Vec<u32> = rows.iter().map(|row| row.start.line).collect();
    let spec = RowSpec {
        cells: false,
        fields: FieldMap::default(),
        format: None,
        missing: MissingAnswer::default(),
        live: None,
    };
    let recordings = recordings.split_whitespace().map(recording).collect();
    let place = |_: RecordStart| Place::file("data.jsonl");
    let condition = condition.map(|condition| RowCondition::parse(condition).unwrap());
    let files = JoinedFiles {
        dataset: "data.jsonl",
        place: &place,
        recordings: "t.jsonl",
        by: &JoinBy::Id,
        condition: condition.as_ref(),
    };
    let (joined, diagnostics) = join(rows, recordings, &spec, files);
    let of_row = |line: &u32| {
        let own = joined.iter().filter(|joined| joined.start.line == *line);
        own.map(|joined| joined.recorded.as_ref()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(lines.iter().map(of_row).collect::<Vec<_>>().join(" | "), expected);
    diagnostics.into_iter().map(|diagnostic| diagnostic.message).collect()
}

#[test]
fn rows_take_the_recordings_of_their_own_trial_and_model() {
    let trials = [json!({"id": "s", "trial": 0}), json!({"id": "s", "trial": 1})];
    assert!(check(&trials, "s/1 s/0", "s/0 | s/1").is_empty());
    // A model is never another one's, whatever lies there.
    let models = [json!({"id": "s", "model": "m"}), json!({"id": "s", "model": "o"})];
    let said = check(&models, "s//n s/0/m s/1/m", "s/0/m s/1/m | null");
    assert_eq!(
        said,
        [
            "1 sample has no trajectory in `t.jsonl` and cannot be graded: `s` (model `o`)",
            "1 trajectory belongs to none of the samples of `data.jsonl`"
        ]
    );
    let none = check(&models[..1], "s//n", "null");
    assert_eq!(none, ["no sample of `data.jsonl` has a trajectory in `t.jsonl`"]);
    // A row that says nothing takes all, but what another row asks for.
    assert!(check(&[json!({"id": "s"})], "s/0/m s/1/m s//n", "s/0/m s/1/m s//n").is_empty());
    let both = [json!({"id": "s"}), json!({"id": "s", "trial": 1})];
    assert!(check(&both, "s/0 s/1 s/2", "s/0 s/2 | s/1").is_empty());
    // What a recording does not say, the row says.
    assert!(check(&[json!({"id": "s", "trial": 3})], "s", "s").is_empty());
    check(&trials, "s s/1", "s | s/1");
    check(&[json!({"id": "s", "trial": 1, "model": "m"})], "s//m s/1/m s/0", "s/1/m");
}

#[test]
fn rows_that_do_not_count_take_no_recording_from_those_that_do() {
    let row = |id: &str, counts: bool, input: &str| json!({"id": id, "c": counts, "input": input});
    let check =
        |rows: &[Value], recordings, expected| check_where(Some("c"), rows, recordings, expected);
    let events = [row("s", false, "a"), row("s", true, "a"), row("t", false, "a")];
    assert!(check(&events, "s", "null | s | null").is_empty());
    // What is of a row that does not count is no surprise, and may say what it wants.
    assert!(check(&events, "s t=z", "null | s | t=z").is_empty());
    assert_eq!(check(&events, "t", "null | null | t").len(), 1);
    assert!(check(&events[2..], "u t", "t").len() == 1);
}

#[test]
fn numbered_results_join_by_equal_ids_then_by_row_with_the_same_input() {
    let row = |id: Value, input: &str| json!({"id": id, "input": input});
    let shuffled = [row(json!(1), "b"), row(json!("0"), "a")];
    assert!(check(&shuffled, "#0=a #1=b", "#1=b | #0=a").is_empty());
    assert!(check(&shuffled, "0 1", "1 | 0").is_empty());
    // Ids from 1, results numbered from 0: the input tells.
    let from_one = [row(json!(1), "a"), row(json!(2), "b")];
    assert!(check(&from_one, "#0=a #1=b", "#0=a | #1=b").is_empty());
    assert!(check(&from_one, "0=a 1=b", "0=a | 1=b").is_empty());
    let named = [row(json!("x"), "a"), row(json!("y"), "b")];
    assert!(check(&named, "#1=b #0=a", "#0=a | #1=b").is_empty());
    assert!(check(&named, "1=b x=a", "x=a | 1=b").is_empty());
    // Without an input nothing tells that a later result is of a row that is called otherwise.
    assert_eq!(check(&named, "1 x=a", "x=a | null").len(), 2);
    let wrong = check(&named, "#0=z #1=b", "#0=z | #1=b");
    assert_eq!(wrong, ["`x` was recorded with another input in `t.jsonl`"]);
    assert!(check(&[json!({"input": "a"}), json!({})], "#1 0=a", "0=a | #1").is_empty());
}
