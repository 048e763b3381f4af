//! Graders of how alike texts are, against the packages of Python that people know their numbers from.
//!
//! `tests/it/fixtures/text_metrics.jsonl` holds what `tests/text_metrics/reference.py` said of 240 texts. Where
//! `EVALRS_TEST_STATISTICS` names a Python that has the packages, that file is checked, and 2,000 further texts are compared.
#![expect(clippy::disallowed_methods, reason = "tests start the reference and read its numbers")]

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::space::Space;

/// One grader for each number of the reference.
const SUITE: &str = "
name: metrics
dataset: data.jsonl
graders:
  rouge_1: {kind: tool, function: rouge_n}
  rouge_2_recall: {kind: tool, function: rouge_n, config: {n: 2, measure: recall}}
  rouge_3_precision_stemmed: {kind: tool, function: rouge_n, config: {n: 3, measure: precision, stemming: true}}
  rouge_1_stemmed: {kind: tool, function: rouge_n, config: {stemming: true}}
  rouge_l: {kind: tool, function: rouge_l}
  rouge_l_recall_stemmed: {kind: tool, function: rouge_l, config: {measure: recall, stemming: true}}
  bleu: {kind: tool, function: bleu}
  bleu_lower: {kind: tool, function: bleu, config: {case_sensitive: false}}
  bleu_floor: {kind: tool, function: bleu, config: {smoothing: floor}}
  bleu_add_k: {kind: tool, function: bleu, config: {smoothing: add_k}}
  bleu_unsmoothed: {kind: tool, function: bleu, config: {smoothing: none}}
  bleu_characters: {kind: tool, function: bleu, config: {tokenize: char}}
  bleu_white_space: {kind: tool, function: bleu, config: {tokenize: none}}
  chrf: {kind: tool, function: chrf}
  chrf_lower: {kind: tool, function: chrf, config: {case_sensitive: false}}
  chrf_plus: {kind: tool, function: chrf, config: {word_order: 2}}
  chrf_beta: {kind: tool, function: chrf, config: {word_order: 1, beta: 3}}
  edit_characters: {kind: tool, function: edit_similarity}
  edit_words: {kind: tool, function: edit_similarity, config: {unit: words}}
  wer: {kind: tool, function: word_error_rate}
  cer: {kind: tool, function: character_error_rate}
";

/// How many graders the suite has.
const METRICS: usize = 21;

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(name)
}

/// Grades the rows, and says which numbers are not those of the reference.
fn differing(rows: &str) -> Vec<String> {
    let space = Space::new(&[("suite.yaml", SUITE), ("data.jsonl", rows)]);
    let ran = space.run(&["run", "suite.yaml", "--quiet"]);
    assert_eq!(ran.code(), 0, "{}", ran.shown());
    let results = space.record("results.jsonl");
    assert_eq!(results.lines().count(), rows.lines().count());
    let mut wrong = Vec::new();
    for (row, result) in rows.lines().zip(results.lines()) {
        let row: Value = serde_json::from_str(row).unwrap();
        let result: Value = serde_json::from_str(result).unwrap();
        let expected = row["expected"].as_object().unwrap();
        assert_eq!(expected.len(), METRICS);
        for (grader, number) in expected {
            let found = result["grades"][grader]["score"].as_f64().unwrap();
            if (found - number.as_f64().unwrap()).abs() > 1e-9 {
                let compared = (&row["output"], &row["ground_truth"]);
                wrong.push(format!("{grader}: {found}, not {number}: {compared:?}"));
            }
        }
    }
    wrong
}

/// What the reference says of so many made-up texts; nothing, having said so, where it cannot be asked.
fn reference(count: usize, seed: usize) -> Option<String> {
    let skipped = |why: &str| {
        // Not `eprintln`: the test harness would keep it to itself.
        let _ = writeln!(
            std::io::stderr(),
            "skipped: {why}; `pip install -r tests/text_metrics/requirements.txt` into a virtual environment and set EVALRS_TEST_STATISTICS to its Python"
        );
    };
    let Some(python) = std::env::var_os("EVALRS_TEST_STATISTICS") else {
        skipped("EVALRS_TEST_STATISTICS is not set");
        return None;
    };
    let has_all = Command::new(&python)
        .args(["-c", "import jiwer, rouge_score.rouge_scorer, sacrebleu"])
        .output();
    if !has_all.unwrap().status.success() {
        skipped("no Python with sacrebleu, rouge-score and jiwer");
        return None;
    }
    let arguments = [count.to_string(), seed.to_string()];
    let asked =
        Command::new(python).arg(file("text_metrics/reference.py")).args(arguments).output();
    let asked = asked.unwrap();
    assert!(asked.status.success(), "{}", String::from_utf8_lossy(&asked.stderr));
    Some(String::from_utf8(asked.stdout).unwrap())
}

#[test]
fn scores_are_those_of_the_packages_that_people_cite() {
    let kept = std::fs::read_to_string(file("it/fixtures/text_metrics.jsonl")).unwrap();
    let none: Vec<String> = Vec::new();
    assert_eq!(differing(&kept), none);
    let Some(same) = reference(kept.lines().count(), 1) else { return };
    assert_eq!(same, kept, "the kept numbers are not those of the reference");
    let further = reference(2_000, 2).unwrap();
    assert_eq!(differing(&further), none);
}
