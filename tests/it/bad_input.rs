//! Broken files of every kind and everything that is said of them; odd files that must work; and noise.
//!
//! Cases are data: a table a kind of file, and beside it the texts a user reads, one file a table. A wrong
//! text is shown as a whole; `EVALRS_BLESS=1` writes the tables' files anew, to be read by eye before they are
//! committed.
#![expect(clippy::disallowed_methods, reason = "the texts stand in files of their own")]

mod case;
mod datasets;
mod noise;
mod recordings;
mod suites;
mod surroundings;
mod works;

use case::Case;

/// Checks every case of a table against the texts in `tests/it/bad_input/expected/<table>.txt`.
fn check(table: &str, cases: &[Case]) {
    let found: String = cases.iter().map(Case::section).collect();
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/it/bad_input/expected")
        .join(format!("{table}.txt"));
    if std::env::var_os("EVALRS_BLESS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, &found).unwrap();
        return;
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    let sections = |text: &str| -> Vec<String> {
        text.split("\n=== ").map(|section| section.trim().to_owned()).collect()
    };
    let (expected, found) = (sections(&expected), sections(&found));
    let mut wrong = Vec::new();
    for at in 0..expected.len().max(found.len()) {
        let nothing = String::from("(no such case)");
        let pair = [&expected, &found].map(|all| all.get(at).unwrap_or(&nothing));
        if pair[0] != pair[1] {
            wrong.push(format!("--- expected\n{}\n--- found\n{}\n", pair[0], pair[1]));
        }
    }
    assert!(wrong.is_empty(), "{}\n{} of {table} differ", wrong.join("\n"), wrong.len());
}

#[test]
fn suites_are_refused() {
    check("suites", &suites::cases());
}

#[test]
fn jsonl_datasets_are_refused() {
    check("jsonl", &datasets::jsonl());
}

#[test]
fn json_datasets_are_refused() {
    check("json", &datasets::json());
}

#[test]
fn csv_datasets_are_refused() {
    check("csv", &datasets::csv());
}

#[test]
fn recordings_are_refused() {
    check("recordings", &recordings::cases());
}

#[test]
fn settings_are_refused() {
    check("surroundings", &surroundings::cases());
}

#[test]
fn there_are_enough_cases() {
    let tables = [
        suites::cases(),
        datasets::jsonl(),
        datasets::json(),
        datasets::csv(),
        recordings::cases(),
    ];
    let cases: usize = tables.iter().map(Vec::len).sum::<usize>() + surroundings::cases().len();
    assert!(cases >= 80, "{cases}");
    let mut names: Vec<&str> = tables.iter().flatten().map(|case| case.name).collect();
    names.sort_unstable();
    let all = names.len();
    names.dedup();
    assert_eq!(names.len(), all, "two cases of one name");
}

/// The binary says the same, exits 2 and leaves nothing behind.
#[test]
fn the_binary_refuses_too() {
    let tables = [
        suites::cases(),
        datasets::jsonl(),
        datasets::json(),
        datasets::csv(),
        recordings::cases(),
        surroundings::cases(),
    ];
    for table in &tables {
        // Neighbours are alike: a few of each table stand for all.
        for case in table.iter().filter(|case| case.is_small()).step_by(6) {
            case.check_binary();
        }
    }
}
