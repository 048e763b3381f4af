//! A fresh run that knows what the last one found of most rows: after each edit it leaves what a run leaves that knows nothing.
#![expect(clippy::disallowed_methods, reason = "tests touch the files of the user")]

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::judge::Judge;
use crate::space::{Ran, Space};

const SUITE: &str = "\
name: bot
dataset: data.jsonl
max_concurrent: 32
graders:
  short: {kind: tool, function: length, config: {max: 12}}
  kind: {kind: rubric, prompt_path: kind.md, model: judge-1}
gate: {metric_key: short, metric: avg_score, op: gte, value: 0.1}
";

/// Enough rows that what is known of them is kept.
const ROWS: usize = 1_600;

fn row(at: usize) -> String {
    let length = at % 17;
    format!(
        "{{\"id\": \"s{at}\", \"input\": \"q{at}\", \"output\": \"{at} {}\"}}\n",
        "x".repeat(length)
    )
}

fn rows() -> String {
    (0..ROWS).map(row).collect()
}

fn space() -> Space {
    let space = Space::new(&[
        ("suite.yaml", SUITE),
        ("kind.md", "Is {submission} kind?\n"),
        ("data.jsonl", rows().as_str()),
        ("evalrs.toml", ""),
    ]);
    space.write(".evalrs/.gitignore", "*\n");
    space
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let name = to.join(path.file_name().unwrap());
        match path.is_dir() {
            // What is known is all that the copy lacks.
            true if path.ends_with(".evalrs/index") => {}
            true => copy(&path, &name),
            false => _ = fs::copy(&path, &name).unwrap(),
        }
    }
}

pub(crate) fn run(space: &Space, judge: &Judge, args: &[&str]) -> Ran {
    space.run_with(judge, &[&["run", "suite.yaml"], args].concat())
}

/// What a run printed, without its time and its id.
fn printed(space: &Space, ran: &Ran) -> String {
    let id = space.latest().file_name().unwrap().to_str().unwrap().to_owned();
    let shown = ran.shown().replace(&id, "RUN");
    let is_timed = |line: &&str| !line.contains(" in ") && !line.contains(" s ");
    shown.lines().filter(is_timed).collect::<Vec<_>>().join("\n")
}

/// The files of the results of the last run, in order.
fn result_files(space: &Space) -> Vec<PathBuf> {
    let folder = space.latest().join("results");
    let Ok(names) = fs::read_dir(&folder) else {
        return vec![space.latest().join("results.jsonl")];
    };
    let paths = names.map(|name| name.unwrap().path());
    let mut paths: Vec<_> = paths.filter(|path| path.extension().unwrap() == "jsonl").collect();
    paths.sort();
    paths
}

fn results(space: &Space) -> String {
    result_files(space).iter().map(|path| fs::read_to_string(path).unwrap()).collect()
}

/// The record of the last run, without times and ids.
fn recorded(space: &Space) -> Vec<String> {
    let mut files: Vec<String> =
        ["header.json", "summary.json"].map(|name| space.record(name)).to_vec();
    files.push(results(space));
    let mut facts: Value = serde_json::from_str(&space.record("run.json")).unwrap();
    // Where files of results begin rests on what the record before has.
    let is_in_parts = space.latest().join("results").is_dir();
    let digest = is_in_parts.then_some("results_digest");
    for name in ["id", "started", "finished", "results", "facts_digest"].into_iter().chain(digest) {
        facts.as_object_mut().unwrap().remove(name);
    }
    facts["moved"]["since"] = Value::Null;
    files.push(facts.to_string());
    // The digest of the questions of the last run.
    let history = space.read(".evalrs/bot.history.jsonl");
    let last: Value = serde_json::from_str(history.lines().last().unwrap()).unwrap();
    files.push(last["dataset"].to_string());
    files
}

pub(crate) type SpaceEdit = fn(&Space);

pub(crate) fn edit_rows(space: &Space, edit: impl FnOnce(String) -> String) {
    let before = space.read("data.jsonl");
    let after = edit(before.clone());
    assert_ne!(before, after);
    space.write("data.jsonl", after);
}

pub(crate) fn edit_suite(space: &Space, from: &str, to: &str) {
    let before = space.read("suite.yaml");
    assert!(before.contains(from));
    space.write("suite.yaml", before.replace(from, to));
}

const EDITS: [(&str, SpaceEdit); 31] = [
    ("a row", |space| edit_rows(space, |rows| rows.replace("\"800 x", "\"800 y"))),
    ("a row that fails now", |space| {
        edit_rows(space, |rows| rows.replace("\"17 ", "\"17 much too long for this "));
    }),
    ("rows more", |space| edit_rows(space, |rows| rows + &row(ROWS) + &row(ROWS + 1))),
    ("a row less", |space| edit_rows(space, |rows| rows.replace(&row(40), ""))),
    ("rows that move", |space| {
        edit_rows(space, |rows| {
            let (front, back) = rows.split_at(rows.find("{\"id\": \"s900\"").unwrap());
            format!("{back}{front}")
        });
    }),
    ("rows without ids", |space| {
        edit_rows(space, |rows| {
            rows.replace("\"id\": \"s5\", ", "").replace("\"id\": \"s6\", ", "")
        });
    }),
    ("a late row without an id", |space| {
        edit_rows(space, |rows| rows.replace("\"id\": \"s1500\", ", ""));
    }),
    ("the same row before it", |space| {
        edit_rows(space, |rows| row(1_500).replace("\"id\": \"s1500\", ", "") + &rows);
    }),
    ("blank lines", |space| {
        edit_rows(space, |rows| rows.replace("{\"id\": \"s700\"", "\n \t\n{\"id\": \"s700\""));
    }),
    ("a row behind blank lines", |space| {
        edit_rows(space, |rows| rows.replace("\"1100 ", "\"1100 z"));
    }),
    ("line breaks of Windows", |space| {
        edit_rows(space, |rows| {
            let (front, back) = rows.split_at(rows.find("{\"id\": \"s720\"").unwrap());
            front.to_owned() + &back.replacen('\n', "\r\n", 40)
        });
    }),
    ("a mark before the first row", |space| edit_rows(space, |rows| format!("\u{feff}{rows}"))),
    ("a row behind the mark", |space| {
        edit_rows(space, |rows| rows.replace("\"1101 ", "\"1101 z"));
    }),
    ("a number that JSON does not have", |space| {
        edit_rows(space, |rows| {
            rows + "{\"id\": \"n\", \"x\": NaN, \"input\": \"q\", \"output\": \"7\"}\n"
        });
    }),
    ("a row beside that number", |space| {
        edit_rows(space, |rows| rows.replace("\"1102 ", "\"1102 z"));
    }),
    ("a row that is none, and an id twice", |space| {
        edit_rows(space, |rows| format!("{rows}{{\n{}", row(9)));
    }),
    ("an id twice", |space| edit_rows(space, |rows| rows.replace("{\n", ""))),
    ("no line break at the end", |space| {
        edit_rows(space, |rows| {
            rows.trim_end().strip_suffix(row(9).trim_end()).unwrap().trim_end().to_owned()
        });
    }),
    ("the gate", |space| edit_suite(space, "value: 0.1", "value: 0.9")),
    ("a threshold", |space| {
        edit_suite(space, "model: judge-1", "model: judge-1, pass_threshold: 0.9");
    }),
    ("a threshold that moves nothing", |space| {
        edit_suite(space, "threshold: 0.9", "threshold: 0.91");
    }),
    ("a comment", |space| edit_suite(space, "gate:", "# The bar.\ngate:")),
    ("a metric", |space| {
        edit_suite(space, "# The bar.\n", "metrics: {mean: {kind: macro, of: kind, by: tags}}\n");
    }),
    ("the function of a grader", |space| edit_suite(space, "max: 12", "max: 9")),
    ("the opposite of a judge", |space| {
        edit_suite(space, "model: judge-1", "model: judge-1, not: true");
    }),
    ("not the opposite", |space| edit_suite(space, ", not: true", "")),
    ("another grader", |space| {
        edit_suite(space, "gate:", "  ascii: {kind: tool, function: ascii_printable_only}\ngate:");
    }),
    ("a condition", |space| {
        edit_suite(
            space,
            "dataset: data.jsonl",
            "dataset: {path: data.jsonl, where: \"id != 's3'\"}",
        );
    }),
    ("no condition", |space| {
        edit_suite(
            space,
            "dataset: {path: data.jsonl, where: \"id != 's3'\"}",
            "dataset: data.jsonl",
        );
    }),
    ("prices", |space| space.write("evalrs.toml", "[prices.judge-1]\ninput = 9.0\noutput = 2.0\n")),
    ("nothing", |_| {}),
];

/// Runs in a space and in a copy of it that knows nothing, and compares what they leave.
pub(crate) fn compare(space: &Space, judge: &Judge, what: &str, args: &[&str]) {
    let without = Space::new(&[]);
    copy(&space.path("."), &without.path("."));
    let plans =
        [space, &without].map(|space| space.run_with(judge, &["plan", "suite.yaml"]).shown());
    assert_eq!(plans[0], plans[1], "{what}: the plan");
    let asked = judge.count();
    let known = run(space, judge, args);
    let asked_knowing = judge.count() - asked;
    let whole = run(&without, judge, args);
    assert_eq!(printed(space, &known), printed(&without, &whole), "{what}");
    for (known, whole) in recorded(space).into_iter().zip(recorded(&without)) {
        assert!(known == whole, "{what}: {}", first_difference(&known, &whole));
    }
    assert_eq!(judge.count() - asked - asked_knowing, asked_knowing, "{what}: requests");
}

fn first_difference(left: &str, right: &str) -> String {
    let mut shown = String::new();
    let mut lines = left.lines().zip(right.lines());
    if let Some((left, right)) = lines.find(|(left, right)| left != right) {
        write!(shown, "{left}\n{right}").unwrap();
    }
    shown
}

#[test]
fn whatever_is_edited_what_is_known_decides_nothing() {
    let judge = Judge::by_length();
    let space = space();
    assert_eq!(run(&space, &judge, &[]).code(), 0);
    assert!(
        space.names(".evalrs/index").iter().any(|name| name.ends_with(".chunks")),
        "it is kept"
    );
    for (what, edit) in EDITS {
        edit(&space);
        compare(&space, &judge, what, &[]);
    }
}

#[test]
fn an_outcome_that_another_process_replaced_is_read() {
    let judge = Judge::by_length();
    let space = space();
    assert_eq!(run(&space, &judge, &[]).code(), 0);
    let other = Judge::new(|_, _| crate::judge::Answer::score(0.25));
    let args = ["--refresh", "--no-record", "--sample", "s5", "--sample", "s900"];
    assert_eq!(run(&space, &other, &args).code(), 0);
    compare(&space, &judge, "outcomes refreshed", &["--failures", "2"]);
    assert!(space.record("results.jsonl").contains("\"score\":0.25"));
    // A sweep, or somebody, takes a segment away: what it had is called again.
    let largest = space.segments().into_iter().max_by_key(|path| fs::metadata(path).unwrap().len());
    fs::remove_file(largest.unwrap()).unwrap();
    compare(&space, &judge, "a segment that is gone", &["--failures", "3"]);
}

#[test]
fn what_is_known_may_be_damaged_and_is_named_nowhere() {
    let judge = Judge::by_length();
    let space = space();
    assert_eq!(run(&space, &judge, &[]).code(), 0);
    let chunks = space.names(".evalrs/index").into_iter().find(|name| name.ends_with(".chunks"));
    let path = space.path(&format!(".evalrs/index/{}", chunks.unwrap()));
    let bytes = fs::read(&path).unwrap();
    let cut = bytes[..bytes.len() / 2].to_vec();
    let mut flipped = bytes.clone();
    flipped[bytes.len() / 3] ^= 1;
    for (what, damaged) in [("cut", cut), ("flipped", flipped), ("empty", Vec::new())] {
        fs::write(&path, damaged).unwrap();
        edit_rows(&space, |rows| rows + &row(ROWS + what.len()));
        compare(&space, &judge, what, &[]);
    }
    for what in ["a pack that is cut", "a pack that is flipped", "a pack that is gone"] {
        let largest =
            packs(&space).into_iter().max_by_key(|path| fs::metadata(path).unwrap().len());
        let path = largest.unwrap();
        let mut bytes = fs::read(&path).unwrap();
        match what {
            "a pack that is cut" => bytes.truncate(bytes.len() / 2),
            _ => bytes.iter_mut().for_each(|byte| *byte ^= 1),
        }
        fs::write(&path, &bytes).unwrap();
        if what == "a pack that is gone" {
            fs::remove_file(&path).unwrap();
        }
        edit_rows(&space, |rows| rows + &row(ROWS + what.len()));
        compare(&space, &judge, what, &[]);
        // What was damaged is found again, and kept.
        edit_rows(&space, |rows| rows + &row(ROWS + 100 + what.len()));
        assert!(copied(&space, &judge) > 20, "{what}");
    }
    // Whoever writes to the last results writes to no others.
    let results = space.latest().join("results.jsonl");
    let text = fs::read_to_string(&results).unwrap();
    fs::remove_file(&results).unwrap();
    fs::write(&results, text.replace("\"score\":1.0", "\"score\":0.0")).unwrap();
    edit_rows(&space, |rows| rows.replace("\"800 x", "\"800 z"));
    compare(&space, &judge, "edited results", &[]);
}

/// The packs of what is known of the suite.
fn packs(space: &Space) -> Vec<PathBuf> {
    let name = space.names(".evalrs/index").into_iter().find(|name| name.contains(".packs"));
    let folder = space.path(&format!(".evalrs/index/{}", name.unwrap()));
    let folders = fs::read_dir(folder).unwrap().map(|folder| folder.unwrap().path());
    let files = folders.flat_map(|folder| fs::read_dir(folder).unwrap());
    files.map(|file| file.unwrap().path()).collect()
}

/// How many chunks of results a run copies from the last one.
fn copied(space: &Space, judge: &Judge) -> usize {
    let mut command = space.command(&["run", "suite.yaml"]);
    command.env("OPENAI_BASE_URL", judge.url()).env("EVALRS_LOG", "debug");
    let ran = Ran(command.output().unwrap());
    assert_eq!(ran.code(), 0);
    let log = ran.stderr();
    let (_, after) = log.split_once("write_results{copied=").expect("results are written");
    after.split('}').next().unwrap().parse().unwrap()
}

#[test]
fn results_are_copied_however_few_records_are_kept() {
    let judge = Judge::by_length();
    // Records share files, so the last one's have another state once one of them is gone.
    let space = large_space(&judge);
    space.write("evalrs.toml", "[run]\nkeep_runs = 2\n");
    for edit in 0..4 {
        edit_rows(&space, |rows| rows + &large_row(LARGE + edit));
        assert!(copied(&space, &judge) > 10, "{edit}");
    }
    // One that somebody removes.
    let runs = space.names(".evalrs/runs");
    let first = runs.iter().min().unwrap();
    fs::remove_dir_all(space.path(&format!(".evalrs/runs/{first}"))).unwrap();
    edit_rows(&space, |rows| rows + &large_row(LARGE + 4));
    assert!(copied(&space, &judge) > 10);
}

const LARGE_SUITE: &str = "\
name: bot
dataset: data.jsonl
graders:
  short: {kind: tool, function: length, config: {max: 12}}
gate: {metric_key: short, metric: avg_score, op: gte, value: 0.1}
";

/// Enough results that they stand in several files.
const LARGE: usize = 20_200;

/// A row whose results are large enough that these are several files.
fn large_row(at: usize) -> String {
    let padding = "input ".repeat(60);
    format!("{{\"id\": \"s{at}\", \"input\": \"{padding}{at}\", \"output\": \"{at}\"}}\n")
}

fn large_space(judge: &Judge) -> Space {
    let rows: String = (0..LARGE).map(large_row).collect();
    let space = Space::new(&[
        ("suite.yaml", LARGE_SUITE),
        ("data.jsonl", rows.as_str()),
        ("evalrs.toml", ""),
    ]);
    space.write(".evalrs/.gitignore", "*\n");
    assert_eq!(run(&space, judge, &[]).code(), 0);
    space
}

#[test]
fn many_results_are_files_of_which_later_records_have_the_same() {
    let judge = Judge::by_length();
    let space = large_space(&judge);
    let edits: [(&str, SpaceEdit, usize); 4] = [
        (
            "a row",
            |space| edit_rows(space, |rows| rows.replace("\"9000\"", "\"9000 longer than this\"")),
            1,
        ),
        ("the gate", |space| edit_suite(space, "value: 0.1", "value: 0.2"), 0),
        (
            "fewer rows",
            |space| {
                edit_rows(space, |rows| {
                    let first_kept = rows.find("{\"id\": \"s300\"").unwrap();
                    rows[first_kept..].to_owned()
                });
            },
            1,
        ),
        (
            "as many as before",
            |space| edit_rows(space, |_| (0..LARGE).map(large_row).collect()),
            99,
        ),
    ];
    for (what, edit, new) in edits {
        let before = files_with_numbers(&space);
        edit(&space);
        compare(&space, &judge, what, &[]);
        let now = files_with_numbers(&space);
        assert_eq!(now.len() > 1, what != "fewer rows", "{what}: {now:?}");
        let written = now.iter().filter(|number| !before.contains(number)).count();
        assert!(written <= new, "{what}: {written} of {} files are new", now.len());
    }
    assert_eq!(space.run(&["report", "--format", "jsonl"]).stdout(), results(&space));
    let explained = space.run(&["explain", "suite.yaml", "s9000"]).shown();
    assert!(explained.contains("s9000"), "{explained}");
}

/// What identifies the files of the results of the last run.
fn files_with_numbers(space: &Space) -> Vec<u64> {
    result_files(space).iter().map(|path| number(path)).collect()
}

#[cfg(unix)]
fn number(path: &Path) -> u64 {
    std::os::unix::fs::MetadataExt::ino(&fs::metadata(path).unwrap())
}

#[cfg(not(unix))]
fn number(_: &Path) -> u64 {
    0
}

#[test]
fn a_file_of_results_that_is_gone_is_named_and_made_again() {
    let judge = Judge::by_length();
    let space = large_space(&judge);
    let whole = results(&space);
    fs::remove_file(&result_files(&space)[1]).unwrap();
    let report = space.run(&["report"]);
    let said = report.stderr();
    assert!(said.contains("results/000001.jsonl cannot be read any more"), "{said}");
    assert!(said.contains("cannot be read to its end"), "{said}");
    let again = run(&space, &judge, &[]);
    assert!(
        again.stderr().contains("results/000001.jsonl cannot be read any more"),
        "{}",
        again.stderr()
    );
    assert!(results(&space) == whole);
}
