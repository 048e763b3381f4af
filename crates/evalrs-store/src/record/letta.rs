//! The result directory of Letta Evals, written from a run of ours: `header.json`, `results.jsonl` and `summary.json`; of
//! several trials a folder `run_1` and so on with the three, and `aggregate_stats.json` beside them.

use std::collections::BTreeSet;
use std::io::Write;

use serde_json::Value;

use super::write_json;
use evalrs_base::file_path::join;
use evalrs_metrics::letta_results::{LettaCase, LettaTotals, aggregate, header, result, summary};
use evalrs_metrics::results::ResultLine;
use evalrs_model::spec::Gate;
use evalrs_system::System;

/// Takes each result of a run.
pub type TakeResult<'a> = &'a mut dyn FnMut(&ResultLine, &LettaCase) -> std::io::Result<()>;

/// What is written.
pub struct LettaRecord<'a> {
    /// The suite's name.
    pub suite: &'a str,
    /// What it says of its target, its gate and its graders.
    pub config: &'a Value,
    /// The gate that decides.
    pub gate: Option<&'a Gate>,
    /// Hands over every result, in dataset order.
    pub results: &'a dyn Fn(TakeResult<'_>) -> std::io::Result<()>,
}

/// Writes the files into `folder`.
pub fn write(system: &dyn System, folder: &str, record: &LettaRecord<'_>) -> std::io::Result<()> {
    let mut trials = BTreeSet::new();
    (record.results)(&mut |line, _| {
        trials.insert(line.trial);
        Ok(())
    })?;
    if trials.len() <= 1 {
        return write_run(system, folder, record, None).map(drop);
    }
    let mut runs = Vec::new();
    let mut passed = 0;
    for trial in trials {
        let folder = join(folder, &format!("run_{}", trial + 1));
        let run = write_run(system, &folder, record, Some(trial))?;
        passed += usize::from(run.has_passed);
        runs.push(run.metrics);
    }
    write_json(system, &join(folder, "aggregate_stats.json"), &aggregate(&runs, passed))
}

struct WrittenRun {
    metrics: Value,
    has_passed: bool,
}

/// Writes one trial, or all there are.
fn write_run(
    system: &dyn System,
    folder: &str,
    record: &LettaRecord<'_>,
    trial: Option<u32>,
) -> std::io::Result<WrittenRun> {
    write_json(system, &join(folder, "header.json"), &header(record.suite, record.config))?;
    let mut totals = LettaTotals::default();
    system.write(&join(folder, "results.jsonl"), &mut |file| {
        totals = LettaTotals::default();
        let mut file = std::io::BufWriter::with_capacity(1 << 16, file);
        (record.results)(&mut |line, case| {
            if trial.is_some_and(|trial| trial != line.trial) {
                return Ok(());
            }
            totals.add(line, case);
            serde_json::to_writer(&mut file, &result(line, case))?;
            file.write_all(b"\n")
        })?;
        file.flush()
    })?;
    let metrics = totals.metrics();
    let has_passed = totals.passes(record.gate);
    write_json(system, &join(folder, "summary.json"), &summary(&metrics, has_passed))?;
    Ok(WrittenRun { metrics, has_passed })
}
