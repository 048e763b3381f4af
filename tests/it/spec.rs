//! Runs the specifications in `tests/spec`: documents whose fences are files, edits, judges and commands.
//!
//! `tests/spec/README.md` explains the format. `UPDATE_SPECS=1` writes what commands print into the documents.
#![expect(clippy::disallowed_methods, reason = "the documents are files of this repository")]

mod case;
mod document;
mod output;
#[cfg(unix)]
mod readme;
mod rules;
mod tutorials;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use document::Document;

/// A test for each document; `cargo test --test it spec::diff` runs one.
macro_rules! documents {
    ($($name:ident)*) => {
        const DOCUMENTS: &[&str] = &[$(stringify!($name)),*];
        $(#[test] fn $name() { check(stringify!($name)); })*
    };
}

documents! {
    agree assertions bounds cache calibration command_judges compare conditions cost datasets diff
    diff_labels explain functions grade history holdout ids import_logs import_runs imports inline
    label_commands label_gates labels metrics narrowing panels plan programs recorded_votes
    recordings replies report_page reports rollup rubric_lints run similarity starters targets
    targets_functions verdicts views winners
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/spec")
}

/// Runs every case of a document and fails with all that differs.
fn check(name: &str) {
    let path = folder().join(name).with_extension("md");
    let text = std::fs::read_to_string(&path).unwrap();
    let document = Document::parse(&format!("tests/spec/{name}.md"), &text);
    let document = document.unwrap_or_else(|error| panic!("{error}"));
    let found = document.run();
    if std::env::var_os("UPDATE_SPECS").is_some() {
        std::fs::write(&path, updated(&text, &found)).unwrap();
        return;
    }
    let shown: Vec<String> = found.iter().map(case::Mismatch::shown).collect();
    assert!(found.is_empty(), "\n{}\n{} differ", shown.join("\n"), found.len());
}

/// The document with what its commands print now, the last one first: the lines before keep their numbers.
fn updated(text: &str, found: &[case::Mismatch]) -> String {
    let mut lines: Vec<&str> = text.lines().collect();
    let by_line: BTreeMap<usize, &case::Mismatch> =
        found.iter().filter(|one| one.is_writable).map(|one| (one.line, one)).collect();
    for (line, mismatch) in by_line.into_iter().rev() {
        lines.splice(line..line + mismatch.expected.len(), mismatch.found.lines());
    }
    lines.join("\n") + "\n"
}

#[test]
fn no_document_is_left_out() {
    let files = std::fs::read_dir(folder()).unwrap().map(|file| file.unwrap().path());
    let names = files.filter(|path| path.extension().is_some_and(|extension| extension == "md"));
    let names: BTreeSet<String> = names
        .map(|path| path.file_stem().unwrap().to_string_lossy().into_owned())
        .filter(|name| name != "README")
        .collect();
    assert_eq!(names, DOCUMENTS.iter().map(|name| (*name).to_owned()).collect());
}

/// The example of the format is a document that runs.
#[test]
fn the_example_of_the_format_runs() {
    let page = std::fs::read_to_string(folder().join("README.md")).unwrap();
    let example = page.split("````markdown\n").nth(1).and_then(|rest| rest.split("````\n").next());
    let found = Document::parse("README.md", example.unwrap()).unwrap().run();
    assert!(found.is_empty(), "{}", found[0].shown());
}

#[test]
fn what_differs_is_shown_where_it_stands() {
    let text =
        "# Words\n\n## One\n\n```console\n$ echo a; echo b >&2; exit 3\na\n! c\n[exit 3]\n```\n";
    let found = Document::parse("words.md", text).unwrap().run();
    insta::assert_snapshot!(found[0].shown(), @r"
    words.md:6: Words > One
      $ echo a; echo b >&2; exit 3
      a
    - ! c
    + ! b
      [exit 3]
    ");
    assert_eq!(updated(text, &found), text.replace("! c", "! b"));
    for (from, to, differ) in [
        ("! c", "...", 0),
        ("! c", "! [..]", 0),
        ("a\n! c\n", "...\na\n", 1),
        ("! c\n[exit 3]", "...", 1),
    ] {
        let document = Document::parse("words.md", &text.replace(from, to)).unwrap();
        assert_eq!(document.run().len(), differ, "{to}");
    }
}

#[test]
fn what_fails_ends_a_command_and_what_is_not_json_stays() {
    let commands = "$ false | cat; echo a\n[exit 1]\n$ echo '{\"a\": 1}'; echo b | pick a\n1\nb\n";
    let document = Document::parse("a.md", &format!("# A\n\n```console\n{commands}```\n"));
    assert_eq!(document.unwrap().run().first().map(case::Mismatch::shown), None);
}

#[test]
fn a_document_that_cannot_be_read_says_where() {
    let wrong = |text: &str| Document::parse("x.md", text).err().unwrap_or_default();
    for (text, expected) in [
        ("# A\n\n```yaml\na: 1\n```\n", "x.md:3: a `yaml` fence needs the name of its file"),
        ("# A\n\n```console\n$ true\n", "x.md:3: this fence is not closed"),
        ("```console\n$ true\n```\n", "x.md:1: a fence stands before the first heading"),
        ("# A\n\n```console\nfound\n```\n", "x.md:4: output stands before the first `$ command`"),
        ("# A\n\n```judge\n\n0.5\n```\n", "x.md:5: a rule is `TEXT -> REPLY`"),
        ("# A\n\n```judge\n* -> maybe\n```\n", "x.md:4: `maybe` is not a reply"),
        ("# A\n\n```diff a\n=1\n```\n", "x.md:4: a line of an edit begins with `- ` or `+ `"),
        ("# A\n\n```text a\nx\n```\n", "x.md:1: `A` runs no command"),
        (
            "# A\n\n| a |\n|---|\n| 1 |\n\n```console\n$ true\n```\n",
            "x.md:1: `A` uses its column `a` nowhere",
        ),
        (
            "# A\n\n| a | b |\n|---|---|\n| 1 |\n",
            "x.md:5: the row has 1 cell, and the table has 2 columns",
        ),
    ] {
        assert_eq!(wrong(text), expected);
    }
}
