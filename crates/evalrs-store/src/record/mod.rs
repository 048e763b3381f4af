//! The record of a run on disk.
//!
//! `header.json`, `results.jsonl`, `summary.json` and `replicates.json` are the report: byte-identical for identical inputs and
//! outcomes. Whatever belongs to one process alone stands in `run.json`.

mod brief;
pub mod damage;
mod file;
pub mod judged_part;
pub mod history;
pub mod holdout_log;
pub mod keep;
pub mod run_names;
pub mod label_writer;
pub mod letta;
pub mod lines;
pub mod origin;
mod part_writer;
pub mod parts;
pub mod read;
pub mod recorded;
pub mod result_files;
pub(crate) mod replicates;
pub mod reference;
pub mod rollup;
pub mod sample_lines;
pub mod saves;
pub mod side;
mod side_cases;
pub mod spliced;
pub mod run_history;
mod shared_results;

use std::collections::BTreeMap;
use std::io::{BufWriter, Write};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use evalrs_base::file_path::join;
use evalrs_base::ordered_map::OrderedMap;
use evalrs_metrics::diff::since::RunMoves;
use evalrs_metrics::results::report::Report;
use evalrs_metrics::results::usage::ModelUsage;
use evalrs_metrics::results::{ReportHeader, ResultLine};
use evalrs_model::key::ActionKey;
use evalrs_model::outcome::{ActionTally, Usage};
use evalrs_system::{FileBytes, System, WriteStamp};
use origin::RecordedOrigin;
use part_writer::{EarlierFiles, WrittenParts, write_parts};
use parts::{ResultsPart, write_counted};
use read::RESULTS;
pub use read::runs_of;
use result_files::{link_results, open_results};
use run_names::is_trial;
use shared_results::{HashingWriter, share, write_or_share};
use spliced::{SplicedPart, SplicedResults};

/// The most keys that `run.json` names.
const MAX_NAMED_KEYS: usize = 1_000;

/// What belongs to one process: `run.json`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RunFacts {
    /// The version of this file.
    pub format: u32,
    /// The run.
    pub id: String,
    /// The suite's name.
    pub suite: String,
    /// When it began, RFC 3339.
    pub started: String,
    /// When it ended.
    pub finished: String,
    /// The version of evalrs.
    pub evalrs: String,
    /// The exit code of this suite.
    pub exit_code: u8,
    /// Whether it was interrupted.
    pub interrupted: bool,
    /// Whether the budget was used up.
    pub out_of_budget: bool,
    /// Whether outcomes could not be kept.
    pub store_failed: bool,
    /// How many judgments to be repeated had no answer.
    pub in_vain: usize,
    /// How many judgments were out in batches.
    #[serde(skip_serializing_if = "evalrs_model::is_default")]
    pub out: usize,
    /// Why its judges may not be relied on, where that alone decided the exit code.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub uncalibrated: Vec<String>,
    /// The graders whose rubrics were tried on a page: no file had them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tried: Vec<String>,
    /// The files it came from.
    pub origin: RecordedOrigin,
    /// Grader → its result.
    pub actions: OrderedMap<ActionTally>,
    /// The result of the actions of all saves; only of a session of `watch`, whose `actions` are those of the last
    /// save.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionActions>,
    /// The conversations of the target, where it is run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<ActionTally>,
    /// What was used in this run.
    pub spent: Usage,
    /// The usage of the cached judgments when they were made.
    pub saved: Usage,
    /// What all judgments of the results used, each once.
    pub usage: ModelUsage,
    /// Whose outcomes of a shared cache it rests on: writer → how many.
    #[serde(skip_serializing_if = "OrderedMap::is_empty")]
    pub writers: OrderedMap<u64>,
    /// The keys executed in this run, no more than `MAX_NAMED_KEYS` of them; all other judgments were replayed.
    pub asked: Vec<String>,
    /// How many keys were executed.
    pub asked_count: usize,
    /// What moved since an earlier run; absent where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub moved: Option<RunMoves>,
    /// What programs were started in that are to be kept in a sandbox: `bubblewrap` or `none`; absent where none was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<String>,
    /// What went wrong on the way without stopping it.
    pub warnings: Vec<String>,
    /// What the results were made of, so that the next run knows whether they are its own, too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub results: Option<ResultsOrigin>,
    /// The blake3 digest of the results as they were written: who edits them is found out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub results_digest: Option<String>,
    /// The same of the other files of the report, by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub digests: BTreeMap<String, String>,
}

/// The result of the actions of all saves of a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SessionActions {
    /// Judgments sent to a judge.
    pub asked: u64,
    /// Judgments found in the store.
    pub cached: u64,
    /// Judgments whose retry failed.
    pub failed: u64,
}

/// What results were made of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResultsOrigin {
    /// The digest of everything that they were made of, and of the program that made them.
    pub made_of: String,
    /// The file that they were written to.
    pub file: WriteStamp,
    /// The digest of the prompts, if it was computed.
    #[serde(default)]
    pub questions: Option<String>,
}

impl RunFacts {
    /// The facts with what was executed.
    #[must_use]
    pub fn with_asked(self, keys: &[ActionKey]) -> Self {
        let named = keys.iter().take(MAX_NAMED_KEYS).map(ToString::to_string);
        Self { asked: named.collect(), asked_count: keys.len(), ..self }
    }

    /// The facts of a run that repeats this one: all that was called is cached. `new` has what it is called, and when it was.
    #[must_use]
    pub fn repeated(self, new: Self) -> Self {
        let Self { id, started, finished, moved, .. } = new;
        let actions = self.actions.0.into_iter().map(|(name, tally)| (name, tally.repeated()));
        Self {
            id,
            started,
            finished,
            moved,
            actions: OrderedMap(actions.collect()),
            saved: self.saved + self.spent,
            spent: Usage::default(),
            asked: Vec::new(),
            asked_count: 0,
            ..self
        }
    }
}

/// Writes the files of a record into `folder`.
pub fn write(
    system: &dyn System,
    folder: &str,
    report: &Report<'_>,
    facts: &RunFacts,
) -> std::io::Result<()> {
    let digest = write_report(system, folder, report)?;
    write_facts(system, folder, &RunFacts { results_digest: Some(digest), ..facts.clone() })
}

/// What is known of results once they are written.
#[derive(Debug, Default)]
pub struct WrittenResults {
    /// What those were made of that they share their bytes with, if they do because they were made of the same.
    pub shared: Option<ResultsOrigin>,
    /// Their digest.
    pub digest: String,
    /// Where their parts stand, if they were written one by one.
    pub parts: Vec<ResultsPart>,
}

impl From<WrittenParts> for WrittenResults {
    fn from(written: WrittenParts) -> Self {
        Self { shared: None, digest: written.digest, parts: written.places }
    }
}

/// What is known of results before they are written.
#[derive(Clone, Copy, Default)]
pub struct ResultsSource<'a> {
    /// The digest of what they are made of.
    pub made_of: Option<&'a str>,
    /// How many lines each of their parts has.
    pub counts: &'a [usize],
    /// Those of which some are in an earlier record.
    pub spliced: Option<SplicedResults<'a>>,
}

/// Writes the report of run `id` under `home`. Results share their bytes with those of the suite's last run if they say
/// the same; if they were made of the same, they are not asked for, and what is known of them is returned.
pub fn write_run_report(
    system: &dyn System,
    home: &str,
    id: &str,
    report: &Report<'_>,
    source: ResultsSource<'_>,
) -> std::io::Result<WrittenResults> {
    let folder = join(&runs_of(home), id);
    let earlier = read::runs(system, home, &report.header.suite).find(|past| past.id != id);
    write_header(system, &folder, report.header)?;
    let shared = earlier.as_ref().and_then(|past| {
        let facts: RunFacts = read::read_json(system, &join(&past.folder, "run.json"))?;
        let RunFacts { results: Some(origin), results_digest: Some(digest), .. } = facts else {
            return None;
        };
        let is_same = Some(origin.made_of.as_str()) == source.made_of;
        let is_shared = is_same && share(system, [&past.folder, &folder], &origin.file, &digest);
        is_shared.then_some(WrittenResults { shared: Some(origin), digest, parts: Vec::new() })
    });
    let spliced = || source.spliced.and_then(|spliced| write_spliced(system, &folder, spliced));
    let written = match shared.or_else(spliced) {
        Some(written) => written,
        None => {
            let earlier = earlier.map(|past| past.folder);
            write_counted_results(system, &folder, report, earlier.as_deref(), source.counts)?
        }
    };
    write_rest(system, &folder, report)?;
    Ok(written)
}

/// Writes what belongs to the process of a run, the last file of its record.
pub fn write_facts(system: &dyn System, folder: &str, facts: &RunFacts) -> std::io::Result<()> {
    let facts = RunFacts { digests: damage::digests(system, folder), ..facts.clone() };
    let text = damage::signed(&facts)?;
    system.write(&join(folder, "run.json"), &mut |file| file.write_all(text.as_bytes()))
}

/// Writes what was found by now, and gives the digest of its results; what belongs to the process comes once that ends.
pub fn write_report(
    system: &dyn System,
    folder: &str,
    report: &Report<'_>,
) -> std::io::Result<String> {
    write_header(system, folder, report.header)?;
    let written = write_or_share_results(system, folder, report, None, &[])?;
    write_rest(system, folder, report)?;
    Ok(written.digest)
}

/// Writes the part of a report besides header and results.
fn write_rest(system: &dyn System, folder: &str, report: &Report<'_>) -> std::io::Result<()> {
    replicates::write(system, folder, &report.summary.declared)?;
    write_json(system, &join(folder, "summary.json"), report.summary)
}

/// Writes the results of a record.
pub fn write_results(
    system: &dyn System,
    folder: &str,
    report: &Report<'_>,
) -> std::io::Result<()> {
    write_or_share_results(system, folder, report, None, &[]).map(|_| ())
}

/// From this many results on they stand in several files: a run after an edit has most of them in common with the one before.
const MANY: usize = if cfg!(test) { 100 } else { 20_000 };

/// Writes results of which some are in an earlier record. None if that cannot be read, or nothing can be written.
fn write_spliced(
    system: &dyn System,
    folder: &str,
    spliced: SplicedResults<'_>,
) -> Option<WrittenResults> {
    let SplicedResults { earlier, .. } = spliced;
    if spliced.lines >= MANY {
        let files = EarlierFiles::open(system, earlier)?;
        return write_parts(system, folder, (spliced.parts)(), Some(files)).ok().map(Into::into);
    }
    if let Some(parts) = spliced.whole()
        && link_results(system, earlier, folder)
    {
        return Some(WrittenResults { shared: None, digest: spliced.digest.to_owned(), parts });
    }
    let path = join(folder, RESULTS);
    let mut results = WrittenResults::default();
    let written = system.write(&path, &mut |out| {
        results = hashed(out, &|out| spliced.write(open_results(system, earlier)?, out))?;
        Ok(())
    });
    written.ok()?;
    system.protect(&path);
    Some(results)
}

/// Has `write` write results, which become known by their digest.
fn hashed(
    out: &mut dyn Write,
    write: &dyn Fn(&mut dyn Write) -> std::io::Result<Vec<ResultsPart>>,
) -> std::io::Result<WrittenResults> {
    let hashing = HashingWriter { out, hasher: blake3::Hasher::new() };
    let mut buffered = BufWriter::with_capacity(1 << 17, hashing);
    let parts = write(&mut buffered)?;
    buffered.flush()?;
    let digest = buffered.get_ref().hasher.finalize().to_hex().to_string();
    Ok(WrittenResults { shared: None, digest, parts })
}

/// Writes results of which each part has so many lines, or none is known.
fn write_counted_results(
    system: &dyn System,
    folder: &str,
    report: &Report<'_>,
    earlier: Option<&str>,
    counts: &[usize],
) -> std::io::Result<WrittenResults> {
    if counts.iter().sum::<usize>() < MANY {
        let earlier = earlier.map(|earlier| join(earlier, RESULTS));
        return write_or_share_results(system, folder, report, earlier.as_deref(), counts);
    }
    let mut lines = (report.results)();
    let parts = counts.iter().map(|count| {
        let own: Vec<ResultLine> = lines.by_ref().take(*count).collect();
        SplicedPart::New(Box::new(own.into_iter()))
    });
    let earlier = earlier.and_then(|earlier| EarlierFiles::open(system, earlier));
    write_parts(system, folder, parts, earlier).map(Into::into)
}

fn write_or_share_results(
    system: &dyn System,
    folder: &str,
    report: &Report<'_>,
    earlier: Option<&str>,
    counts: &[usize],
) -> std::io::Result<WrittenResults> {
    let mut results = WrittenResults::default();
    let mut lines = |out: &mut dyn Write| {
        results = hashed(out, &|out| write_counted((report.results)(), counts, out))?;
        Ok(())
    };
    let path = join(folder, RESULTS);
    write_or_share(system, &path, earlier, &mut lines)?;
    system.protect(&path);
    Ok(results)
}

/// Writes the header of a record whose other files come later: who ends early has left what there is.
pub fn write_header(
    system: &dyn System,
    folder: &str,
    header: &ReportHeader,
) -> std::io::Result<()> {
    write_json(system, &join(folder, "header.json"), header)
}

fn write_json(system: &dyn System, path: &str, value: &impl Serialize) -> std::io::Result<()> {
    system.write(path, &mut |file| {
        serde_json::to_writer_pretty(&mut *file, value)?;
        file.write_all(b"\n")
    })
}

/// Keeps what is under `home` out of version control, unless somebody decided on that.
fn keep_out_of_version_control(system: &dyn System, home: &str) -> std::io::Result<()> {
    let ignore = join(home, ".gitignore");
    if system.read(&ignore) == FileBytes::Missing {
        system.write(&ignore, &mut |file| file.write_all(b"*\n"))?;
    }
    Ok(())
}

/// Names the run as the last one, and keeps the records of runs out of version control.
pub fn set_latest(system: &dyn System, home: &str, id: &str) -> std::io::Result<()> {
    keep_out_of_version_control(system, home)?;
    system.write(&join(home, "latest"), &mut |file| writeln!(file, "{id}"))
}

/// The id of the run that was named as the last one under `home`.
pub fn last_named(system: &dyn System, home: &str) -> Option<String> {
    let bytes = system.read(&join(home, "latest")).into_bytes().ok()?;
    Some(String::from_utf8(bytes).ok()?.trim().to_owned())
}

/// The id of the last run recorded under `home`: ids sort by time.
pub fn last_id(system: &dyn System, home: &str) -> Option<String> {
    system.list(&runs_of(home))?.into_iter().rev().find(|id| !is_trial(id))
}

/// The digest of the results of the record in `folder`, as they were written.
pub fn results_digest(system: &dyn System, folder: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct OfResults {
        results_digest: Option<String>,
    }
    let run: OfResults = read::read_json(system, &join(folder, "run.json"))?;
    run.results_digest
}

/// Whether the run in `folder` left judgments unasked: `--frozen`, a budget or an interrupt.
pub(crate) fn left_unasked(system: &dyn System, folder: &str) -> bool {
    #[derive(Deserialize)]
    struct OfActions {
        actions: BTreeMap<String, UnaskedTally>,
    }

    #[derive(Deserialize)]
    struct UnaskedTally {
        pending: u64,
    }
    let run: Option<OfActions> = read::read_json(system, &join(folder, "run.json"));
    run.is_some_and(|run| run.actions.values().any(|tally| tally.pending > 0))
}

/// The id of a new record in `folder`, of a run that began at `started`: unique by its suffix, and it sorts after those of the same
/// second. Whatever else is in the folder, a record of another clock or a file of somebody, decides nothing.
pub(super) fn new_id(system: &dyn System, folder: &str, started: Timestamp) -> String {
    let second = started.strftime("%Y%m%dT%H%M%S-").to_string();
    let names = system.list(folder).unwrap_or_default();
    let suffix = |name: &String| u32::from_str_radix(name.strip_prefix(&second)?, 16).ok();
    let number = match names.iter().filter_map(suffix).max() {
        None => fastrand::u32(..0x80_0000),
        Some(last) => last.saturating_add(fastrand::u32(1..0x1000)).min(0xff_ffff),
    };
    format!("{second}{number:06x}")
}

/// The id of a new run, whose record will be under `home`.
pub fn run_id(system: &dyn System, home: &str, started: Timestamp) -> String {
    new_id(system, &runs_of(home), started)
}

/// How many conversations of its target a run made or replayed, and their total usage; none where nothing is known.
pub fn conversations_used(system: &dyn System, home: &str, id: &str) -> Option<(u64, Usage)> {
    #[derive(Deserialize)]
    struct OfTarget {
        target: RecordedTally,
    }

    #[derive(Deserialize)]
    struct RecordedTally {
        cached: u64,
        asked: u64,
        failed: u64,
        spent: Usage,
        saved: Usage,
    }
    let path = join(&join(&runs_of(home), id), "run.json");
    let OfTarget { target } = read::read_json(system, &path)?;
    let count = (target.cached + target.asked).saturating_sub(target.failed);
    (count > 0).then(|| (count, target.spent + target.saved))
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::{
        ResultsOrigin, ResultsSource, RunFacts, Timestamp, last_id, run_id, write_facts,
        write_run_report,
    };
    use crate::record::result_files::results_stamp;
    use evalrs_metrics::results::report::{Report, Results};
    use evalrs_system::System;
    use evalrs_system::memory::MemorySystem;
    use evalrs_test_runs as fixtures;

    /// Writes a record whose results are made of this, and says whether they were asked for.
    fn recorded(system: &MemorySystem, id: &str, run: &fixtures::Run, made_of: &str) -> bool {
        let asked = Cell::new(false);
        let results = || -> Results<'_> {
            asked.set(true);
            Box::new(run.results.iter().cloned())
        };
        let fixtures::Run { header, summary, .. } = run;
        let report = Report { header, summary, results: &results, briefs: None };
        let source = ResultsSource { made_of: Some(made_of), ..ResultsSource::default() };
        let written = write_run_report(system, "h", id, &report, source).unwrap();
        assert_eq!(written.shared.is_none(), asked.get());
        let folder = format!("h/runs/{id}");
        let file = results_stamp(system, &folder).unwrap();
        let origin = ResultsOrigin { made_of: made_of.to_owned(), file, questions: None };
        let results = Some(origin);
        let results_digest = Some(written.digest);
        let id = id.to_owned();
        let facts = RunFacts { id, results, results_digest, ..RunFacts::default() };
        write_facts(system, &folder, &facts).unwrap();
        asked.get()
    }

    #[test]
    fn results_that_are_made_of_the_same_are_not_put_together() {
        let system = MemorySystem::default();
        let run = fixtures::hostile();
        let text = |id: &str| system.read(&format!("h/runs/{id}/results.jsonl")).into_bytes();
        assert!(recorded(&system, "1", &run, "a"), "there is no other run");
        assert!(!recorded(&system, "2", &run, "a"));
        assert_eq!(text("2"), text("1"));
        assert!(recorded(&system, "3", &run, "b"), "they are made of something else");
        system.set("h/runs/3/results.jsonl", "edited");
        assert!(recorded(&system, "4", &run, "b"), "somebody has written the file");
        assert_eq!(text("4"), text("1"));
        system.set("h/runs/4/run.json", "{}");
        assert!(recorded(&system, "5", &run, "b"), "nobody knows what they were made of");
        assert!(!recorded(&system, "6", &run, "b"));
    }

    #[test]
    fn ids_sort_in_the_order_of_the_runs() {
        let start: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        let system = MemorySystem::default();
        let mut ids = Vec::new();
        for name in
            ["", "notes", "20260101T000000-", "20260101T000000-xyz", "99999999T000000-000000"]
        {
            system.set(&format!("h/runs/{name}/header.json"), "");
            for started in [start; 60] {
                let id = run_id(&system, "h", started);
                assert!(id.starts_with("20260101T000000-") && id.len() == 22, "{id}");
                system.set(&format!("h/runs/{id}/header.json"), "");
                ids.push(id);
            }
        }
        ids.push(run_id(&system, "h", start + jiff::SignedDuration::from_secs(1)));
        assert!(ids.is_sorted_by(|left, right| left < right), "{ids:?}");
    }

    #[test]
    fn the_last_run_is_the_one_that_sorts_last() {
        let system = MemorySystem::with(&[("h/runs/b/header.json", ""), ("h/runs/a/run.json", "")]);
        assert_eq!(last_id(&system, "h").as_deref(), Some("b"));
        assert_eq!(last_id(&system, "elsewhere"), None);
    }
}
