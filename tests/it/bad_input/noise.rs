//! Noise in place of files: loading says something or nothing, and always ends.

use evalrs_engine::session::Session;
use evalrs_graph::Database;
use evalrs_graph::inputs::Overrides;
use evalrs_system::memory::MemorySystem;
use proptest::collection::vec;
use proptest::prelude::*;

use super::case::{DATA, SUITE};

/// Loads a workspace and says how much is said of it.
fn load(files: &[(&str, &[u8])]) -> usize {
    let system = MemorySystem::default();
    for (path, bytes) in files {
        system.set(path, bytes);
    }
    let environment = std::collections::BTreeMap::new();
    let mut session =
        Session::new(Database::default(), "suite.yaml", environment, Overrides::default());
    let diagnostics = session.load(&system);
    for diagnostic in &diagnostics {
        assert!(!diagnostic.render(false).is_empty());
    }
    if diagnostics.iter().all(|said| !said.is_error()) {
        assert!(evalrs_graph::results::lines(&session.db, session.root).count() < 10_000);
    }
    diagnostics.len()
}

/// A slip of the hand or of a disk.
#[derive(Clone, Debug)]
enum Slip {
    Replace(usize, u8),
    Insert(usize, Vec<u8>),
    Remove(usize, usize),
    Copy(usize, usize, usize),
    Cut(usize),
}

fn slip() -> impl Strategy<Value = Slip> {
    let at = || any::<usize>();
    // What files are made of is more telling than any byte.
    let telling = proptest::sample::select(vec![
        &b"\""[..],
        b"{",
        b"}",
        b"[",
        b"]",
        b",",
        b":",
        b"\n",
        b"\r",
        b"\t",
        b"\0",
        b"- ",
        b"&a ",
        b"*a",
        b"<<",
        b"\\",
        b"\\ud800",
        b"|",
        b"\xff",
        b"\xef\xbb\xbf",
        b"null",
        b"-1",
        b"1e999",
        b"!",
        b"'",
        b"#",
        b"${",
        b"$..",
        "\u{2028}".as_bytes(),
        "é".as_bytes(),
    ]);
    prop_oneof![
        (at(), any::<u8>()).prop_map(|(at, byte)| Slip::Replace(at, byte)),
        (at(), telling).prop_map(|(at, bytes)| Slip::Insert(at, bytes.to_vec())),
        (at(), 0..20usize).prop_map(|(at, count)| Slip::Remove(at, count)),
        (at(), at(), 0..40usize).prop_map(|(from, to, count)| Slip::Copy(from, to, count)),
        at().prop_map(Slip::Cut),
    ]
}

fn slipped(text: &str, slips: Vec<Slip>) -> Vec<u8> {
    let mut bytes = text.as_bytes().to_vec();
    for slip in slips {
        let place = |at: usize, bytes: &[u8]| at % (bytes.len() + 1);
        match slip {
            Slip::Replace(at, byte) => {
                let at = place(at, &bytes);
                if let Some(old) = bytes.get_mut(at) {
                    *old = byte;
                }
            }
            Slip::Insert(at, new) => {
                let at = place(at, &bytes);
                bytes.splice(at..at, new);
            }
            Slip::Remove(at, count) => {
                let at = place(at, &bytes);
                let end = (at + count).min(bytes.len());
                bytes.drain(at..end);
            }
            Slip::Copy(from, to, count) => {
                let (from, to) = (place(from, &bytes), place(to, &bytes));
                let copied = bytes[from..(from + count).min(bytes.len())].to_vec();
                bytes.splice(to..to, copied);
            }
            Slip::Cut(at) => bytes.truncate(place(at, &bytes)),
        }
    }
    bytes
}

const RICH_SUITE: &str = "\
name: rich
description: >-
  folded
  text
dataset: {path: data.jsonl, fields: {id: id, outputs: {m: output}}}
target: &t {kind: recorded, format: openai_chat}
graders:
  a: {kind: tool, function: contains, extractor: last_assistant, pass_threshold: 0.5}
  b: {kind: tool, function: json_match, config: {required: [x]}}
  c: {kind: tool, function: regex_match, ground_truth_pattern: \"#### (.*)\"}
gate:
  kind: logical
  operator: and
  conditions:
    - {metric_key: a, op: gte, value: 0.5}
    - {metric_key: b, aggregation: accuracy, op: lt, value: 90}
sample_tags: [x, 'y', \"z\"]
";

const RICH_DATA: &str = "\
{\"id\": 1, \"input\": [\"a\", \"b\"], \"ground_truth\": [\"1\", 2], \"tags\": [\"x\"], \"output\": \"o\"}
{\"id\": \"b\", \"messages\": [{\"role\": \"user\", \"content\": \"q\"}, {\"role\": \"assistant\", \"content\": null, \"tool_calls\": [{\"id\": \"1\", \"function\": {\"name\": \"f\", \"arguments\": \"{}\"}}]}, {\"role\": \"tool\", \"content\": \"1\"}], \"trial\": 0}
{\"question\": \"q\", \"answer\": true, \"trajectory\": [[{\"message_type\": \"assistant_message\", \"content\": \"x\"}]], \"rubric_vars\": {\"a\": 1}}
";

const RICH_CSV: &str = "id,input,ground_truth,trajectory,tags\n1,\"a\n\"\"b\"\"\",\"[1, 2]\",\"[{\"\"role\"\": \"\"assistant\"\", \"\"content\"\": \"\"x\"\"}]\",\"a, b\"\n,x,y,z,\n";

/// What takes the square of its length would take minutes here.
#[test]
fn files_of_many_parts_are_refused_soon() {
    let keys: Vec<String> = (0..100_000).map(|at| format!("\"k{at}\": 1, ")).collect();
    let columns: Vec<String> = (0..50_000).map(|at| format!("c{at},")).collect();
    let (keys, columns) = (keys.concat(), columns.concat());
    let wide = "1,".repeat(50_000);
    let recorded = format!("{SUITE}target: {{kind: recorded, path: old.jsonl}}\n");
    let rows = |row: &str| row.repeat(20_000);
    for (suite, files) in [
        (SUITE, vec![("data.jsonl", format!("{{{keys}\"k0\": 2}}"))]),
        (SUITE, vec![("data.jsonl", rows("{\"input\": 1}\n"))]),
        (SUITE, vec![("data.jsonl", rows("{\"id\": 1, \"input\": \"i\", \"output\": \"o\"}\n"))]),
        (recorded.as_str(), vec![("data.jsonl", DATA.to_owned()), ("old.jsonl", rows("{}\n"))]),
        (
            recorded.as_str(),
            vec![("data.jsonl", DATA.to_owned()), ("old.jsonl", rows("{\"id\": \"a\"}\n"))],
        ),
        (
            &SUITE.replace("data.jsonl", "data.csv"),
            vec![("data.csv", format!("{columns}c0\n{wide}\n"))],
        ),
        (
            &SUITE.replace("data.jsonl", "data.csv"),
            vec![("data.csv", rows("input,output,x\n1,2,3,4\n"))],
        ),
        (
            &SUITE.replace("data.jsonl", "data.json"),
            vec![("data.json", format!("[{}1]", rows("{\"input\": 1},\n")))],
        ),
    ] {
        let mut all = vec![("suite.yaml", suite.as_bytes())];
        all.extend(files.iter().map(|(path, text)| (*path, text.as_bytes())));
        assert!(load(&all) > 0, "{:?} was not refused", files[0].0);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_a_suite_or_not(bytes in vec(any::<u8>(), 0..200)) {
        load(&[("suite.yaml", &bytes), ("data.jsonl", DATA.as_bytes())]);
    }

    #[test]
    fn any_slips_in_a_suite_are_said(slips in vec(slip(), 1..6)) {
        load(&[("suite.yaml", &slipped(RICH_SUITE, slips)), ("data.jsonl", DATA.as_bytes())]);
    }

    #[test]
    fn any_bytes_are_a_dataset_or_not(bytes in vec(any::<u8>(), 0..200), json in any::<bool>()) {
        let path = if json { "data.json" } else { "data.csv" };
        load(&[("suite.yaml", SUITE.replace("data.jsonl", path).as_bytes()), (path, &bytes)]);
        load(&[("suite.yaml", SUITE.as_bytes()), ("data.jsonl", &bytes)]);
    }

    #[test]
    fn any_slips_in_a_dataset_are_said(slips in vec(slip(), 1..6)) {
        load(&[("suite.yaml", SUITE.as_bytes()), ("data.jsonl", &slipped(RICH_DATA, slips.clone()))]);
        let csv = SUITE.replace("data.jsonl", "data.csv");
        load(&[("suite.yaml", csv.as_bytes()), ("data.csv", &slipped(RICH_CSV, slips.clone()))]);
        let array = format!("[{}]", RICH_DATA.trim_end().replace('\n', ",\n"));
        let json = SUITE.replace("data.jsonl", "data.json");
        load(&[("suite.yaml", json.as_bytes()), ("data.json", &slipped(&array, slips))]);
    }

    #[test]
    fn any_slips_in_recordings_are_said(slips in vec(slip(), 1..6)) {
        let suite = format!("{SUITE}target: {{kind: recorded, path: old}}\n");
        let results = "{\"type\": \"result\", \"result\": {\"sample\": {\"id\": 0, \"input\": \"one\"}, \"trajectory\": [[{\"message_type\": \"assistant_message\", \"content\": \"1\"}]]}}\n";
        load(&[
            ("suite.yaml", suite.as_bytes()),
            ("data.jsonl", DATA.as_bytes()),
            ("old/results.jsonl", &slipped(results, slips.clone())),
        ]);
        let suite = suite.replace("path: old", "path: old.jsonl");
        load(&[
            ("suite.yaml", suite.as_bytes()),
            ("data.jsonl", DATA.as_bytes()),
            ("old.jsonl", &slipped(RICH_DATA, slips)),
        ]);
    }
}
