//! Labels that are held out: which they are, what is told of them and when, and that nothing else tells of them.
#![expect(clippy::disallowed_methods, reason = "tests remove a suite themselves")]

use serde_json::{Value, json};

use crate::space::{Ran, Space, lines};

const LOG: &str = "cache/held.holdout.jsonl";

/// A grader without a judge, so that an edit of its `value` is another rubric.
fn suite(value: &str, labels: &str) -> String {
    format!(
        "name: held\ndataset: data.jsonl\ngraders:\n  quality: {{kind: tool, function: contains, config: {{value: {value}}}}}\nlabels: {labels}\n"
    )
}

const HELD: &str = "{holdout: 0.4}";

/// So many rows, every second of which says `good`, and labels that agree with that on all but every tenth.
fn space(rows: usize) -> Space {
    let is_good = |at: usize| at.is_multiple_of(2);
    let row = |at: usize| {
        let output = if is_good(at) { format!("good {at}") } else { format!("bad {at}") };
        let label = is_good(at) != at.is_multiple_of(10);
        json!({"id": format!("r{at}"), "input": "q", "output": output, "label": label})
    };
    let data = lines((0..rows).map(row));
    Space::new(&[("suite.yaml", &suite("good", HELD)), ("data.jsonl", &data)])
}

fn run(space: &Space, args: &[&str]) -> Ran {
    let mut all = vec!["run", "suite.yaml"];
    all.extend(args);
    space.run(&all)
}

/// What the report says of held-out labels.
fn told(ran: &Ran) -> Vec<String> {
    let lines = ran.stdout();
    lines
        .lines()
        .filter(|line| line.contains("held-out"))
        .map(|line| line.trim().to_owned())
        .collect()
}

#[test]
fn each_other_verdict_is_a_query_and_the_same_one_is_not() {
    let space = space(200);
    let first = told(&run(&space, &[]));
    insta::assert_snapshot!(first.join("\n"), @"quality: held-out agreement at least 76% (about 91%; query 1 of about 55) on 76 labels");
    assert_eq!(told(&run(&space, &[])), first, "the same verdicts are no further query");
    space.write("suite.yaml", suite("bad", HELD));
    let other = told(&run(&space, &[]));
    assert!(other[0].contains("query 2 of about"), "{other:?}");
    space.write("suite.yaml", suite("good", HELD));
    let again = told(&run(&space, &[]));
    let queries = |told: &str| told.replace("query 1 ", "query 2 ");
    assert_eq!(space.read(LOG).lines().count(), 2);
    assert!(again[0].contains("query 2 of about"), "{again:?}");
    assert_eq!(
        queries(&first[0]).split("about").nth(1),
        again[0].split("about").nth(1),
        "what was told stays what it is"
    );
}

#[test]
fn what_is_held_out_is_in_no_report() {
    let space = space(200);
    run(&space, &["--output", "out.jsonl"]);
    let found = space.run(&["plan", "suite.yaml", "--json"]);
    let plan: Value = serde_json::from_str(&found.stdout()).unwrap();
    let count = &plan["labels"]["quality"];
    let shown = count["labels"].as_u64().unwrap();
    let held_out = count["held_out"].as_u64().unwrap();
    assert_eq!(shown + held_out, 200);
    assert!((60..100).contains(&held_out), "{held_out}");
    let agreed = space.run(&["agree", "suite.yaml", "quality", "labels", "--json"]);
    let agreed: Value = serde_json::from_str(&agreed.stdout()).unwrap();
    assert!(agreed.to_string().contains(&format!("\"n\":{shown}")), "{agreed}");
}

#[test]
fn a_part_of_the_rows_tells_nothing() {
    let space = space(200);
    for args in [&["--sample", "r1"][..], &["--max-samples", "20"]] {
        assert_eq!(told(&run(&space, args)), [""; 0], "{args:?}");
    }
    assert!(!space.path(LOG).exists());
}

#[test]
fn what_cannot_be_written_down_is_not_told() {
    let space = space(200);
    space.write("cache/held.holdout.jsonl/in-the-way", "");
    let ran = run(&space, &[]);
    assert_eq!(told(&ran), [""; 0]);
    insta::assert_snapshot!(ran.stderr(), @"warning: agreement on held-out labels is not told: `cache/held.holdout.jsonl` is a folder");
    assert_eq!(ran.code(), 0);
}

#[test]
fn two_processes_count_together() {
    let space = space(200);
    space.write("suite.yaml", suite("'${VALUE}'", HELD));
    std::thread::scope(|scope| {
        for value in ["good", "bad", "1", "2", "3", "4"] {
            let space = &space;
            scope.spawn(move || {
                let mut command = space.command(&["run", "suite.yaml"]);
                let ran = Ran(command.env("VALUE", value).output().unwrap());
                assert_eq!(told(&ran).len(), 1, "{}", ran.shown());
            });
        }
    });
    let mut numbers: Vec<u64> = space
        .read(LOG)
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["number"].as_u64().unwrap())
        .collect();
    numbers.sort_unstable();
    assert_eq!(numbers, [1, 2, 3, 4, 5, 6]);
}

#[test]
fn calibrations_say_it_too() {
    let space = space(200);
    let ran = space.run(&["calibrate", "--suite", "suite.yaml"]);
    assert_eq!(ran.code(), 0, "{}", ran.shown());
    let file: Value = serde_json::from_str(&space.read("cache/held.calibration.json")).unwrap();
    let held_out = &file["graders"]["quality"]["calibration"]["held_out"];
    assert_eq!(held_out["query"], json!(1));
    assert!(ran.stdout().contains("; held out at least "), "{}", ran.stdout());
    let told = told(&run(&space, &[]));
    assert!(told[0].contains("query 1 of about"), "{told:?}");
}

#[test]
fn suites_of_one_name_have_a_log_each() {
    let space = space(200);
    space.write("evalrs.toml", "");
    let alone = told(&run(&space, &[]));
    assert!(alone[0].contains("query 1 of about"), "{alone:?}");
    space.write("other.yaml", suite("bad", HELD));
    let other = |value: &str| {
        space.write("other.yaml", suite(value, HELD));
        space.run(&["run", "other.yaml"])
    };
    // What was told before there were two stays told.
    assert_eq!(told(&run(&space, &[])), alone);
    for value in ["bad", "ba", "b"] {
        assert_eq!(other(value).code(), 0);
    }
    assert_eq!(told(&run(&space, &[])), alone, "queries of the other suite are none of this one");
    // Those of a suite that is gone are not forgotten: it may have been this one.
    std::fs::remove_file(space.path("other.yaml")).unwrap();
    let told = told(&run(&space, &[]));
    assert!(told[0].contains("query 2 of about"), "{told:?}");
}

#[test]
fn of_few_held_out_labels_nothing_is_told() {
    let space = space(200);
    let narrowed = |rows: usize| {
        let suite = suite("good", HELD)
            .replace("dataset: data.jsonl", &format!("dataset: data.jsonl\nmax_samples: {rows}"));
        space.write("suite.yaml", suite);
        told(&run(&space, &[]))
    };
    for rows in [1, 4, 10] {
        assert_eq!(narrowed(rows), [""; 0], "{rows} rows");
    }
    assert_eq!(narrowed(100).len(), 1);
}
