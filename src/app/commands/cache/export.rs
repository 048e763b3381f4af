//! `evalrs cache export`: the judgments a suite needs, as a file to commit.
//!
//! In a clone that file is the only copy, so nothing is taken from it unless that is asked for: an export merges into
//! what stands there. Conversations of a live target are large, and are written only where that is asked for or the file
//! has them already.

use std::collections::BTreeSet;

use serde_json::json;

use super::names::committed_name;

use crate::app::cli::ExportArgs;
use crate::app::commands::Console;
use crate::app::commands::context::{SuiteContext, check_entry};
use crate::app::commands::open::{loaded_session, overrides};
use crate::app::error::{Error, ExitStatus};
use crate::base::system::{FileBytes, System, folder_of, join};
use crate::base::text::count;
use crate::effects::store;
use crate::effects::store::Entry;
use crate::engine::inspect::stored_entries::stored_entries;
use crate::pipeline::key::ActionKey;
use crate::pipeline::outcome::is_of_target;

/// What git is told of committed files: lines stand alone, and have the same ends everywhere.
const ATTRIBUTES: &str = "*.judgments.jsonl text eol=lf merge=union";
/// The same of the histories of runs, which lie beside judgments.
const OF_HISTORIES: &str = "*.history.jsonl text eol=lf merge=union";
/// The same of the labels that people gave in `watch` and on pages.
const OF_LABELS: &str = "*.labels.jsonl text eol=lf merge=union";
/// The same of what was told of held-out labels.
const OF_HOLDOUTS: &str = "*.holdout.jsonl text eol=lf merge=union";

/// Writes the file; incomplete where judgments are missing.
pub(super) fn export(args: &ExportArgs, console: &mut Console<'_>) -> Result<ExitStatus, Error> {
    check_narrowing(args)?;
    let (surroundings, mut session) =
        loaded_session(&args.suite, &args.store, overrides(&args.select), console)?;
    let store = surroundings.store(console)?;
    let stored_entries = stored_entries(&mut session, console.system, store.as_ref());
    console.warn(store.take_warnings())?;
    let all = stored_entries.len();
    let needed: Vec<Entry> = stored_entries.into_iter().filter_map(|(_, entry)| entry).collect();
    let missing = all - needed.len();
    if args.prune && missing > 0 {
        let are = if missing == 1 { "is" } else { "are" };
        let missing = count(missing, "judgment");
        writeln!(
            console.err,
            "error: {missing} {are} not stored yet, so nothing is dropped: run the suite first"
        )?;
        return Ok(ExitStatus::Incomplete);
    }
    let committed = &surroundings.committed_dir;
    let path = match &args.output {
        Some(path) => path.clone(),
        None => {
            join(committed, &committed_name(&session, &surroundings, console.system, args.prune)?)
        }
    };
    let is_committed = args.output.is_none()
        || surroundings.in_workspace(folder_of(&path), console.system)
            == surroundings.in_workspace(committed, console.system);
    // A file that holds something else, such as a suite, is not written over either.
    let held = held(&path, args.prune, console.system)?;
    let is_new = held.is_none();
    let held = held.filter(|_| is_committed).unwrap_or_default();
    let exported = Exported::new(needed, held, args);
    let Exported { found, left_out, others } = &exported;
    // An empty file would look as if there were nothing to judge.
    let is_written = !(found.is_empty() && is_new && missing + left_out > 0);
    if is_written {
        write(&path, found, if args.prune { &[] } else { others }, console.system)?;
    }
    if args.json {
        let (kept, dropped) = if args.prune { (0, others.len()) } else { (others.len(), 0) };
        let targets = exported.targets();
        let said = json!({
            "path": path, "judgments": found.len() - targets, "missing": missing, "kept": kept,
            "dropped": dropped, "targets": targets, "targets_left_out": left_out,
        });
        console.write_json(&said)?;
    } else if is_written {
        writeln!(console.err, "{path}: {}", exported.summary(args.prune))?;
    }
    if *left_out > 0 {
        let conversations = count(*left_out, "conversation");
        let what = format!("{conversations} of the target left out");
        writeln!(console.err, "note: {what}: `--targets` takes what the target did, too")?;
    }
    if is_written {
        tell_git(args, &path, is_committed && is_new, &surroundings, console)?;
    }
    if missing > 0 {
        let are = if missing == 1 { "is" } else { "are" };
        let missing = count(missing, "judgment");
        writeln!(console.err, "warning: {missing} {are} not stored yet: run the suite first")?;
        return Ok(ExitStatus::Incomplete);
    }
    Ok(ExitStatus::Success)
}

/// The suite's file holds all that the suite needs.
fn check_narrowing(args: &ExportArgs) -> Result<(), Error> {
    let select = &args.select;
    let narrowing = [
        ("--max-samples", select.max_samples.is_some()),
        ("--tags", !select.tags.is_empty()),
        ("--sample", !select.samples.is_empty()),
        ("--grader", !select.graders.is_empty()),
        ("--trials", select.trials.is_some()),
    ];
    match narrowing.iter().find(|(_, is_given)| *is_given) {
        Some((flag, _)) if args.output.is_none() => Err(Error::plain(
            format!(
                "`{flag}` would leave part of the suite out of its file of committed judgments"
            ),
            "write a file of its own with `-o FILE`, or leave the flag out",
        )),
        _ => Ok(()),
    }
}

/// The right entries of the committed file at `path`, if there is one. What else it holds would be lost, so unless it is
/// to be pruned, that is an error.
fn held(path: &str, prune: bool, system: &dyn System) -> Result<Option<Vec<Entry>>, Error> {
    let bytes = match system.read(path) {
        FileBytes::Missing => return Ok(None),
        bytes => bytes.into_bytes().map_err(|reason| {
            Error::plain(format!("cannot read `{path}`: {reason}"), "nothing was written")
        })?,
    };
    let mut entries = Vec::new();
    let report = store::read_lines(path, &bytes, &check_entry, &mut |entry| entries.push(entry));
    let bad = report.problems.len() - report.conflicts;
    if bad > 0 && !prune {
        let lines = count(bad, "line");
        let first = report.problems.iter().find(|problem| !problem.contains("conflict of git"));
        return Err(Error::plain(
            format!(
                "`{path}` has {lines} that cannot be read and would be lost: {}",
                first.unwrap_or(&report.problems[0])
            ),
            "mend or remove what `evalrs cache verify` names, or drop it with `--prune`; nothing was written",
        ));
    }
    Ok(Some(entries))
}

/// What is written, and what is not.
struct Exported {
    /// What the suite needs, sorted by key.
    found: Vec<Entry>,
    /// How many conversations of the target it needs, too.
    left_out: usize,
    /// What stands in the file beside that.
    others: Vec<Entry>,
}

impl Exported {
    /// What becomes of what the suite needs, sorted by key, and of what is held in the file.
    fn new(needed: Vec<Entry>, held: Vec<Entry>, args: &ExportArgs) -> Self {
        let keys: BTreeSet<ActionKey> = held.iter().map(|entry| entry.key).collect();
        // A file that has conversations goes on having them, until it is pruned.
        let is_taken = |entry: &Entry| {
            let is_there = !args.prune && keys.contains(&entry.key);
            args.targets || is_there || !is_of_target(&entry.body)
        };
        let all = needed.len();
        let found: Vec<Entry> = needed.into_iter().filter(is_taken).collect();
        let left_out = all - found.len();
        let others = others(held, &found);
        Self { found, left_out, others }
    }

    /// How many conversations are written.
    fn targets(&self) -> usize {
        self.found.iter().filter(|entry| is_of_target(&entry.body)).count()
    }

    /// What is in the file then.
    fn summary(&self, prune: bool) -> String {
        let targets = self.targets();
        let conversations = match targets {
            0 => String::new(),
            targets => format!(", {}", count(targets, "conversation")),
        };
        let others = match (self.others.len(), prune) {
            (0, _) => String::new(),
            (others, true) => format!("; {others} dropped"),
            (others, false) => {
                format!("; {others} more that this suite does not need now (`--prune` drops them)")
            }
        };
        format!("{}{conversations}{others}", count(self.found.len() - targets, "judgment"))
    }
}

/// What stands in the file beside what is taken of what the suite needs, each key once.
fn others(held: Vec<Entry>, found: &[Entry]) -> Vec<Entry> {
    // What the suite needs was looked up in the file, too.
    let mut others: Vec<Entry> = held;
    others.retain(|entry| found.binary_search_by_key(&entry.key, |found| found.key).is_err());
    others.sort_by_key(|entry| entry.key);
    others
        .chunk_by(|left, right| left.key == right.key)
        .filter_map(|same| {
            same.iter()
                .reduce(|best, entry| if entry.wins_over(best) { entry } else { best })
                .cloned()
        })
        .collect()
}

fn write(path: &str, found: &[Entry], others: &[Entry], system: &dyn System) -> Result<(), Error> {
    let text = store::render(&[found, others].concat())
        .map_err(|error| Error::Plain { message: error.to_string(), hint: None })?;
    if system.read(path) != FileBytes::Bytes(text.clone().into_bytes()) {
        system.write(path, &mut |file| file.write_all(text.as_bytes()))?;
    }
    Ok(())
}

/// Writes the attributes if that is asked for; says so once where nobody has.
fn tell_git(
    args: &ExportArgs,
    path: &str,
    is_new: bool,
    surroundings: &SuiteContext,
    console: &mut Console<'_>,
) -> Result<(), Error> {
    let attributes = join(folder_of(path), ".gitattributes");
    let text = |path: &str| {
        let bytes = console.system.read(path).into_bytes().unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    };
    let is_told = |text: &str| {
        text.lines().any(|line| line.contains(".judgments.jsonl") && line.contains("merge=union"))
    };
    let held = text(&attributes);
    if args.git {
        let lines = [
            (!is_told(&held)).then_some(ATTRIBUTES),
            (!held.contains(".history.jsonl")).then_some(OF_HISTORIES),
            (!held.contains(".labels.jsonl")).then_some(OF_LABELS),
            (!held.contains(".holdout.jsonl")).then_some(OF_HOLDOUTS),
        ];
        let lines: Vec<&str> = lines.into_iter().flatten().collect();
        if !lines.is_empty() {
            let gap = if held.is_empty() || held.ends_with('\n') { "" } else { "\n" };
            let whole = format!("{held}{gap}{}\n", lines.join("\n"));
            console.system.write(&attributes, &mut |file| file.write_all(whole.as_bytes()))?;
            writeln!(
                console.err,
                "{attributes}: git merges judgments, histories and labels line by line"
            )?;
        }
    } else if is_new
        && !is_told(&held)
        && !is_told(&text(&join(&surroundings.root, ".gitattributes")))
    {
        writeln!(
            console.err,
            "note: with `--git`, {attributes} tells git to merge such files line by line: `{ATTRIBUTES}`"
        )?;
    }
    Ok(())
}
