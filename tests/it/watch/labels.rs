//! Labels of people beside the verdicts, and what moves when either is edited.

use serde_json::{Value, json};

use super::{Session, TERSE, judge, labelled, save, space};

fn labels(told: &Value) -> &Value {
    &told["metrics"]["quality"]["labels"]
}

#[test]
fn labels_of_rows_are_compared_with_the_verdicts() {
    let space = space(0);
    save(&space, "data.jsonl", &labelled(&[true, false, true, true]));
    let mut session = Session::begin(space, judge(), &[]);
    let told = session.telling.wait_event("evaluated");
    assert_eq!(
        (&labels(&told)["accuracy"], &labels(&told)["false_pass"]),
        (&json!(0.75), &json!(1))
    );
    let edited = session.edit(|space| save(space, "rubric.txt", TERSE));
    let now = labels(edited.told());
    assert_eq!(
        (&now["n"], &now["accuracy"], &now["kappa"]),
        (&json!(4), &json!(0.75), &json!(0.5))
    );
    assert_eq!((&now["false_pass"], &now["false_fail"]), (&json!(0), &json!(1)));
    let disagrees = |event: &&&Value| event["disagrees"] == true;
    let disagreeing: Vec<&Value> =
        edited.all("verdict").iter().filter(disagrees).map(|event| &event["sample_id"]).collect();
    assert_eq!(disagreeing, [&json!("s3")]);
    // Another label is another comparison, and asks nobody.
    let edited = session.edit(|space| {
        save(space, "data.jsonl", &labelled(&[true, false, true, false]));
    });
    assert_eq!((edited.asked.len(), &labels(edited.told())["accuracy"]), (0, &json!(1.0)));
    session.end();
}

#[test]
fn labels_of_a_file_of_their_own_are_watched() {
    let space = space(4);
    space.write("people.csv", "id,label\ns0,pass\ns1,fail\n");
    let mut session = Session::begin(space, judge(), &["--labels", "people.csv"]);
    let told = session.telling.wait_event("evaluated");
    assert_eq!((&labels(&told)["n"], &labels(&told)["accuracy"]), (&json!(2), &json!(0.5)));
    let edited =
        session.edit(|space| save(space, "people.csv", "id,label\ns0,pass\ns1,pass\ns2,pass\n"));
    let now = labels(edited.told());
    assert_eq!((edited.asked.len(), &now["n"], &now["accuracy"]), (0, &json!(3), &json!(1.0)));
    assert_eq!(edited.told()["files"], json!(["people.csv"]));
    session.end();
}
