//! Rows in many files, rows that move, and rows of before an edit.

use super::*;

#[test]
fn an_edit_of_one_file_of_many_asks_for_its_rows() {
    let mut living = Evaluation::stored();
    let file = |at: usize| format!("runs/{}/{at}.json", at % 2);
    for at in 0..ROWS {
        living.system.set(&file(at), row(at));
    }
    let pattern = suite("dataset: data.jsonl", "dataset: 'runs/*/*.json'");
    living.system.set(pattern.0, pattern.1);
    living.reload("the rows as files");
    assert_eq!(living.asked(), Vec::<String>::new());
    let paths = living.session.paths();
    assert!(paths.contains("runs/1") && paths.contains("runs/0/2.json"), "{paths:?}");
    assert!(!paths.contains("runs/*/*.json"), "{paths:?}");
    let new = row(90);
    let edited = row(3).replace("answer 3", "another answer");
    for (what, touched, path, text, expected) in [
        ("a file edited", "runs/1/3.json", file(3), Some(&edited), "kind s3, right s3"),
        ("a file added", "runs/0", "runs/0/90.json".to_owned(), Some(&new), "kind s90, right s90"),
        ("a file added elsewhere", "runs", "runs/new/9.txt".to_owned(), Some(&new), ""),
        ("a file removed", "runs/0", file(4), None, ""),
        ("a file that comes back", "runs/0", file(4), Some(&row(4)), ""),
    ] {
        match text {
            Some(text) => living.system.set(&path, text),
            None => living.system.remove(&path),
        }
        let touched = ChangedPaths::Only([touched.to_owned()].into());
        let reloaded = living.session.reload(&living.system, &touched, None);
        assert!(matches!(reloaded, ReloadResult::Changed { .. } | ReloadResult::Same), "{what}");
        assert_eq!(living.asked(), expanded(expected), "{what}");
    }
    let rows = living
        .session
        .chunks()
        .iter()
        .map(|chunk| chunk.records(&living.session.db).len())
        .sum::<usize>();
    assert_eq!(rows, ROWS + 1);
}

#[test]
fn rows_numbered_by_order_ask_nothing_when_they_move() {
    let mut living = Evaluation::stored();
    let numbered = suite("dataset: data.jsonl", "dataset: {path: data.jsonl, trials: by_order}");
    living.system.set(numbered.0, numbered.1);
    let again = row(2).replace("answer 2", "other answer");
    for (what, text, expected) in [
        ("the same rows", rows(), ""),
        ("a second trial", format!("{}{again}", rows()), "kind s2, right s2"),
        ("which comes first", format!("{again}{}", rows()), ""),
    ] {
        living.system.set("data.jsonl", text);
        living.reload(what);
        assert_eq!(living.asked(), expanded(expected), "{what}");
    }
}

#[test]
fn rows_of_before_an_edit_are_forgotten_though_their_texts_stay_the_same() {
    let version = |rows: usize, version: usize| -> String {
        let answer = "an answer that is long enough to be a part of its row";
        let row = |at| {
            format!(
                "{{\"id\": \"s{at}\", \"input\": \"q\", \"note\": {version}, \"ground_truth\": \"t\", \"output\": \"{answer} {at}\"}}\n"
            )
        };
        (0..rows).map(row).collect()
    };
    let no_says = SUITE.replace("  says: {kind: tool, function: contains}\n", "");
    for suites in [
        [SUITE.to_owned(), SUITE.to_owned()],
        [SUITE.to_owned(), no_says],
        [1, 2].map(|most| format!("{SUITE}max_samples: {most}\n")),
    ] {
        let mut living = Evaluation::stored();
        let mut before: Vec<Weak<Records>> = Vec::new();
        let mut replaced: Vec<Weak<Records>> = Vec::new();
        let versions = [(4, 0), (4, 1), (4, 2), (600, 3), (200, 4), (600, 5), (100, 6)];
        for (suite, (rows, note)) in suites.iter().cycle().zip(versions) {
            living.system.set("suite.yaml", suite);
            living.system.set("data.jsonl", version(rows, note));
            living.reload("another version");
            living.asked();
            let held = before.iter().filter(|records| records.strong_count() > 0).count();
            assert_eq!(held, 0, "chunks of two edits ago, in version {note}");
            let db = &living.session.db;
            let chunks = living.session.root.chunks(db);
            // What was set before is let go of by the edit after the next.
            before = std::mem::take(&mut replaced);
            replaced = chunks.iter().map(|chunk| Arc::downgrade(chunk.records(db))).collect();
        }
    }
}
