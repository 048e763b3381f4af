//! Runs compared with each other, prompt by prompt: what `evalrs compare` reports.
//!
//! A strategy ranks the runs that have a prompt; who is ranked first has won it. Metrics of a run count all its records,
//! whoever else has them. `capture` compares runs with one result a prompt, `trials` those with several.

pub(crate) mod capture;
pub(crate) mod report;
pub(crate) mod run_file;
pub(crate) mod settings;
pub(crate) mod statistics;
#[cfg(test)]
mod tests;
pub(crate) mod trials;

use std::collections::HashMap;
use std::fmt::Write;

use super::lines::JsonRecord;
use evalrs_base::ordered_map::OrderedMap;
use serde::Serialize;

/// A run: the records of one file.
#[derive(Clone, Debug)]
pub(crate) struct ComparedRun {
    /// What reports call it.
    pub label: String,
    /// Its records, each id once.
    pub records: Vec<JsonRecord>,
}

impl ComparedRun {
    /// A run of these records. Of several with one id the last counts, in the place of the first.
    pub(crate) fn new(label: String, records: Vec<JsonRecord>) -> Self {
        let mut places: HashMap<String, usize> = HashMap::new();
        let mut kept: Vec<JsonRecord> = Vec::new();
        for record in records {
            match places.get(id(&record)) {
                Some(at) => kept[*at] = record,
                None => {
                    places.insert(id(&record).to_owned(), kept.len());
                    kept.push(record);
                }
            }
        }
        Self { label, records: kept }
    }
}

fn id(record: &JsonRecord) -> &str {
    super::words::text_of(record, "id")
}

/// A prompt that at least two runs have.
#[derive(Clone, Debug)]
pub(crate) struct Matchup<'a> {
    pub id: &'a str,
    /// The runs that have it, in their order: the ordinal of each, and its record.
    pub contestants: Vec<Contestant<'a>>,
}

impl Matchup<'_> {
    /// What `of` says of each record, by the labels of the runs.
    fn of_each<T>(&self, runs: &[ComparedRun], of: impl Fn(&JsonRecord) -> T) -> OrderedMap<T> {
        let contestants = self.contestants.iter();
        OrderedMap(contestants.map(|one| (label(runs, one.run), of(one.record))).collect())
    }
}

/// What `of` says of the records of each run, by the labels of the runs.
fn of_each<T>(runs: &[ComparedRun], of: impl Fn(&[JsonRecord]) -> T) -> OrderedMap<T> {
    OrderedMap(runs.iter().map(|run| (run.label.clone(), of(&run.records))).collect())
}

/// What a run is called.
fn label(runs: &[ComparedRun], run: usize) -> String {
    runs.get(run).map(|run| run.label.clone()).unwrap_or_default()
}

/// A run that has a prompt.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Contestant<'a> {
    pub run: usize,
    pub record: &'a JsonRecord,
}

/// The prompts of all runs in the order in which they are first met, and those that are compared.
pub(crate) struct Matchups<'a> {
    pub prompts: usize,
    /// Those that at least two runs have.
    pub compared: Vec<Matchup<'a>>,
}

impl<'a> Matchups<'a> {
    /// The prompts of these runs.
    pub(crate) fn of(runs: &'a [ComparedRun]) -> Self {
        let mut places: HashMap<&str, usize> = HashMap::new();
        let mut all: Vec<Matchup<'a>> = Vec::new();
        for (run, ComparedRun { records, .. }) in runs.iter().enumerate() {
            for record in records {
                let at = *places.entry(id(record)).or_insert_with(|| {
                    all.push(Matchup { id: id(record), contestants: Vec::new() });
                    all.len() - 1
                });
                all[at].contestants.push(Contestant { run, record });
            }
        }
        let prompts = all.len();
        all.retain(|matchup| matchup.contestants.len() > 1);
        Self { prompts, compared: all }
    }
}

/// The place of a run on a prompt.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RunRank {
    pub run: usize,
    /// 1 for the best.
    pub rank: u32,
    pub score: f64,
}

/// Runs by their scores, the best first. Of equal ones the earlier run comes first.
fn ranked(scores: Vec<(usize, f64)>) -> Vec<RunRank> {
    let mut scores = scores;
    scores.sort_by(|(_, left), (_, right)| right.total_cmp(left));
    scores.into_iter().zip(1..).map(|((run, score), rank)| RunRank { run, rank, score }).collect()
}

/// The winner of a prompt: the run with the first rank.
fn winner(ranks: &[RunRank]) -> Option<usize> {
    ranks.iter().find(|rank| rank.rank == 1).map(|rank| rank.run)
}

/// How often each of two runs won. What others won is a tie between them.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PairwiseWins {
    run_a: String,
    run_b: String,
    a_wins: usize,
    b_wins: usize,
    ties: usize,
}

/// Every two runs, by who won each prompt.
fn pairwise(runs: &[ComparedRun], winners: &[Option<usize>]) -> Vec<PairwiseWins> {
    let wins = |run: usize| winners.iter().filter(|winner| **winner == Some(run)).count();
    let pair = |a: usize, b: usize| PairwiseWins {
        run_a: label(runs, a),
        run_b: label(runs, b),
        a_wins: wins(a),
        b_wins: wins(b),
        ties: winners.len() - wins(a) - wins(b),
    };
    let pairs = (0..runs.len()).flat_map(|a| (a + 1..runs.len()).map(move |b| (a, b)));
    pairs.map(|(a, b)| pair(a, b)).collect()
}

/// Writes a table of Markdown and a blank line.
fn write_table(to: &mut String, head: &[&str], rows: impl Iterator<Item = Vec<String>>) {
    let titles = head.iter().map(|cell| (*cell).to_owned()).collect();
    let rules = head.iter().map(|cell| "-".repeat(cell.chars().count())).collect();
    for row in [titles, rules].into_iter().chain(rows) {
        let cells: Vec<String> = row.iter().map(|cell| cell.replace('|', "\\|")).collect();
        // Writing to a String cannot fail.
        let _ = writeln!(to, "| {} |", cells.join(" | "));
    }
    to.push('\n');
}

/// Writes who won against whom.
fn write_pairwise(to: &mut String, title: &str, pairs: &[PairwiseWins]) {
    let rows = pairs.iter().map(|PairwiseWins { run_a, run_b, a_wins, b_wins, ties }| {
        let counts = [a_wins, b_wins, ties].map(usize::to_string);
        [format!("{run_a} vs {run_b}")].into_iter().chain(counts).collect()
    });
    to.push_str(title);
    write_table(to, &["Matchup", "A Wins", "B Wins", "Ties"], rows);
}
