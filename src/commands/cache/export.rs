//! `evalrs cache export`: the judgments a suite needs, as a file to commit.
//!
//! In a clone that file is the only copy, so nothing is taken from it unless that is asked for: an export merges into
//! what stands there. Conversations of a live target are large, and are written only where that is asked for or the file
//! has them already.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;

use evalrs_use_cases::committed_names::committed_name;

use super::costs::export_costs;
use crate::cli::ExportArgs;
use evalrs_base::file_path::{folder_of, join};
use evalrs_base::text::count;
use evalrs_engine::inspect::stored_entries::{StoredKind, WantedAction, wanted_actions};
use evalrs_engine::session::Session;
use evalrs_eval::judge::{JudgeEndpoint, provider};
use evalrs_graph::queries;
use evalrs_model::key::ActionKey;
use evalrs_store as store;
use evalrs_store::{Entry, OutcomeStore};
use evalrs_system::{FileBytes, System};
use evalrs_use_cases::console::Console;
use evalrs_use_cases::context::{SuiteContext, check_entry};
use evalrs_use_cases::error::{Error, ExitStatus};
use evalrs_use_cases::open::{loaded_session, overrides};

/// The git attributes of committed files: lines are independent, and have the same ends everywhere.
const ATTRIBUTES: &str = "*.judgments.jsonl text eol=lf merge=union";
/// The same of the batches that are out.
const OF_BATCHES: &str = "*.batches.jsonl text eol=lf merge=union";
/// The same of the histories of runs, which lie beside judgments.
const OF_HISTORIES: &str = "*.history.jsonl text eol=lf merge=union";
/// The same of the labels that people gave in `watch` and on pages.
const OF_LABELS: &str = "*.labels.jsonl text eol=lf merge=union";
/// The same for the log of held-out labels.
const OF_HOLDOUTS: &str = "*.holdout.jsonl text eol=lf merge=union";

/// Writes the file; incomplete where judgments are missing.
pub(super) fn export(args: &ExportArgs, console: &mut Console<'_>) -> Result<ExitStatus, Error> {
    check_narrowing(args)?;
    if let Some(path) = &args.costs {
        return export_costs(args, path, console);
    }
    let (surroundings, mut session) =
        loaded_session(&args.suite, &args.store, overrides(&args.select), console)?;
    let store = surroundings.store(console)?;
    let wanted = wanted_actions(&mut session, console.system, store.as_ref());
    console.warn(store.take_warnings())?;
    let all = wanted.len();
    let needed = wanted.into_iter().filter(|action| action.stored != StoredKind::Missing);
    let needed: Vec<WantedAction> = needed.collect();
    let missing = all - needed.len();
    let are = if missing == 1 { "is" } else { "are" };
    let lacks = format!("{} {are} not stored yet", count(missing, "judgment"));
    if args.prune && missing > 0 {
        writeln!(console.err, "error: {lacks}, so nothing is dropped: run the suite first")?;
        return Ok(ExitStatus::Incomplete);
    }
    let committed = &surroundings.committed_dir;
    let own = || committed_name(&session, &surroundings, console.system, args.prune);
    let path = match &args.output {
        Some(path) => path.clone(),
        None => join(committed, &own()?),
    };
    let is_committed = args.output.is_none()
        || surroundings.in_workspace(folder_of(&path), console.system)
            == surroundings.in_workspace(committed, console.system);
    // A file that holds something else, such as a suite, is not written over either.
    let held = held(&path, args.prune, console.system)?;
    let is_new = held.is_none();
    let held = held.filter(|_| is_committed).unwrap_or_default();
    let exported = ExportedJudgments::new(needed, held, args);
    let ExportedJudgments { found, left_out, others } = &exported;
    // An empty file would look as if there were nothing to judge.
    let is_written = !(found.is_empty() && is_new && missing + left_out > 0);
    if is_written {
        let others = if args.prune { &[] } else { &others[..] };
        write(&path, &ExportedLines::new(found, others, store.as_ref()), console.system)?;
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
    if is_written {
        console.warn(bound_to_environment(&session))?;
    }
    if *left_out > 0 {
        let conversations = count(*left_out, "conversation");
        let what = format!("{conversations} of the target left out");
        writeln!(console.err, "note: {what}: `--targets` includes them")?;
    }
    if is_written {
        tell_git(args, &path, is_committed && is_new, &surroundings, console)?;
    }
    if missing > 0 {
        writeln!(console.err, "warning: {lacks}: run the suite first")?;
        return Ok(ExitStatus::Incomplete);
    }
    Ok(ExitStatus::Success)
}

/// A warning for each address of judges that the environment named: their judgments are found only where it does so again.
fn bound_to_environment(session: &Session) -> Vec<String> {
    let db = &session.db;
    let mut graders: BTreeMap<(&str, &str), Vec<&str>> = BTreeMap::new();
    for grader in session.graders() {
        let Some(judge) = queries::ready(db, *grader).judge() else { continue };
        for (spec, seat) in judge.rubric.judges.iter().zip(&judge.seats) {
            let asked = &seat.model_settings().endpoint;
            let elsewhere = JudgeEndpoint::of_model(spec, &|_| None);
            if *asked == elsewhere.model_settings().endpoint || spec.program.is_some() {
                continue;
            }
            let variable = provider::info(&spec.provider).map_or("", |info| info.base_url_variable);
            let named = graders.entry((variable, asked)).or_default();
            if !named.contains(&grader.name(db).as_str()) {
                named.push(grader.name(db));
            }
        }
    }
    let warnings = graders.into_iter().map(|((variable, endpoint), graders)| {
        let graders = graders.join("`, `");
        format!(
            "the judgments of `{graders}` are stored for the endpoint `{endpoint}`, which came from {variable}: without that variable they are not found; set `endpoint: {endpoint}` in the suite"
        )
    });
    warnings.collect()
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
    let given = narrowing.iter().find(|(_, is_given)| *is_given && args.output.is_none());
    let Some((flag, _)) = given else { return Ok(()) };
    Err(Error::plain(
        format!("`{flag}` would drop part of the suite from its file of committed judgments"),
        "write to a separate file with `-o FILE`, or remove the flag",
    ))
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
            "fix or remove the lines that `evalrs cache verify` names, or drop them with `--prune`; nothing was written",
        ));
    }
    Ok(Some(entries))
}

/// What is written, and what is not.
struct ExportedJudgments {
    /// What the suite needs, sorted by key.
    found: Vec<WantedAction>,
    /// How many conversations of the target it needs, too.
    left_out: usize,
    /// The other lines of the file.
    others: Vec<Entry>,
}

impl ExportedJudgments {
    /// Sorts the entries that the suite needs, by key, and those of the file.
    fn new(needed: Vec<WantedAction>, held: Vec<Entry>, args: &ExportArgs) -> Self {
        let keys: BTreeSet<ActionKey> = held.iter().map(|entry| entry.key).collect();
        // A file that has conversations goes on having them, until it is pruned.
        let is_taken = |action: &WantedAction| {
            let is_there = !args.prune && keys.contains(&action.key);
            args.targets || is_there || action.stored != StoredKind::Conversation
        };
        let all = needed.len();
        let found: Vec<WantedAction> = needed.into_iter().filter(is_taken).collect();
        let left_out = all - found.len();
        let others = others(held, &found);
        Self { found, left_out, others }
    }

    /// How many conversations are written.
    fn targets(&self) -> usize {
        let is_of_target = |action: &&WantedAction| action.stored == StoredKind::Conversation;
        self.found.iter().filter(is_of_target).count()
    }

    /// What is in the file then.
    fn summary(&self, prune: bool) -> String {
        let targets = self.targets();
        let conversations = format!(", {}", count(targets, "conversation"));
        let conversations = if targets > 0 { conversations } else { String::new() };
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

/// The other entries of the file besides the needed ones, each key once.
fn others(held: Vec<Entry>, found: &[WantedAction]) -> Vec<Entry> {
    // What the suite needs was looked up in the file, too.
    let mut others: Vec<Entry> = held;
    others.retain(|entry| found.binary_search_by_key(&entry.key, |found| found.key).is_err());
    others.sort_by_key(|entry| entry.key);
    let winners = others.chunk_by(|left, right| left.key == right.key).filter_map(|same| {
        same.iter().reduce(|best, entry| if entry.wins_over(best) { entry } else { best })
    });
    winners.cloned().collect()
}

/// The lines of the file, sorted by key. What the suite needs is read from the store when its line is wanted: together the
/// entries may take more memory than everything else.
pub(crate) struct ExportedLines<'a> {
    lines: Vec<(ActionKey, Option<&'a Entry>)>,
    store: &'a dyn OutcomeStore,
}

/// Lines that are read at once.
const BATCH: usize = 1_024;

impl<'a> ExportedLines<'a> {
    pub(crate) fn new(
        found: &[WantedAction],
        others: &'a [Entry],
        store: &'a dyn OutcomeStore,
    ) -> Self {
        let needed = found.iter().map(|action| (action.key, None));
        let mut lines: Vec<_> =
            needed.chain(others.iter().map(|entry| (entry.key, Some(entry)))).collect();
        lines.sort_by_key(|(key, _)| *key);
        Self { lines, store }
    }

    /// Visits the lines of the file.
    pub(crate) fn each(
        &self,
        visit: &mut dyn FnMut(&str) -> std::io::Result<()>,
    ) -> std::io::Result<()> {
        for batch in self.lines.chunks(BATCH) {
            let wanted: Vec<ActionKey> =
                batch.iter().filter(|(_, held)| held.is_none()).map(|(key, _)| *key).collect();
            let mut lines = batch.iter();
            let mut told = Ok(());
            let mut tell = |entry: &Entry| {
                let line = evalrs_store::render(entry).map_err(std::io::Error::other)?;
                visit(&line)
            };
            self.store.visit_many(&wanted, &mut |place, entry| {
                if told.is_err() {
                    return;
                }
                let entry = entry.ok_or_else(|| gone(wanted[place]));
                // Lines that are held stand before it.
                let mut before = lines.by_ref().map_while(|(_, held)| *held);
                told = before.try_for_each(&mut tell).and_then(|()| tell(&entry?));
            });
            told?;
            lines.filter_map(|(_, held)| *held).try_for_each(tell)?;
        }
        Ok(())
    }

    /// Whether `bytes` are these lines.
    fn are(&self, bytes: &[u8]) -> bool {
        let mut rest = bytes;
        let compared = self.each(&mut |text| {
            rest = rest.strip_prefix(text.as_bytes()).ok_or(std::io::ErrorKind::InvalidData)?;
            Ok(())
        });
        compared.is_ok() && rest.is_empty()
    }
}

fn gone(key: ActionKey) -> std::io::Error {
    std::io::Error::other(format!("{key} is not in the store any more; rerun the command"))
}

fn write(path: &str, lines: &ExportedLines<'_>, system: &dyn System) -> Result<(), Error> {
    let is_written = system.read(path).into_bytes().is_ok_and(|bytes| lines.are(&bytes));
    if !is_written {
        system.write(path, &mut |file| lines.each(&mut |text| file.write_all(text.as_bytes())))?;
    }
    Ok(())
}

/// Writes the attributes on request; otherwise suggests them once if no file has them.
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
            (!held.contains(".batches.jsonl")).then_some(OF_BATCHES),
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
            "note: with `--git`, {attributes} makes git merge such files line by line: `{ATTRIBUTES}`"
        )?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{BATCH, ExportedLines, others, write};
    use evalrs_engine::inspect::stored_entries::{StoredKind, WantedAction};
    use evalrs_model::key::ActionKey;
    use evalrs_store::{self, Entry, MemoryStore, OutcomeStore};
    use evalrs_system::System;
    use evalrs_system::memory::MemorySystem;

    fn key(number: usize) -> ActionKey {
        ActionKey::parse(&format!("{number:064x}")).unwrap()
    }

    fn entry(number: usize, generation: u32) -> Entry {
        Entry { key: key(number), generation, body: "{}".to_owned() }
    }

    fn wanted(number: usize) -> WantedAction {
        WantedAction { key: key(number), stored: StoredKind::Judgment }
    }

    fn text(entries: &[Entry]) -> String {
        entries.iter().map(|entry| evalrs_store::render(entry).unwrap()).collect()
    }

    #[test]
    fn a_committed_file_is_sorted_and_holds_the_winners() {
        let store = MemoryStore::default();
        let count = 2 * BATCH + 1;
        let needed: Vec<Entry> = (0..count).map(|at| entry(2 * at, 0)).collect();
        store.put_many(&needed).unwrap();
        let found: Vec<WantedAction> = (0..count).map(|at| wanted(2 * at)).collect();
        // What is held of a key that is needed was looked up with it.
        let held = vec![entry(7, 0), entry(4, 1), entry(7, 2), entry(3, 0), entry(7, 1)];
        let others = others(held, &found);
        assert_eq!(others, [entry(3, 0), entry(7, 2)]);
        let lines = ExportedLines::new(&found, &others, &store);
        let system = MemorySystem::with(&[]);
        write("f", &lines, &system).unwrap();
        let by_key: BTreeMap<ActionKey, Entry> =
            needed.into_iter().chain(others.clone()).map(|entry| (entry.key, entry)).collect();
        let expected = text(&by_key.into_values().collect::<Vec<Entry>>());
        let written = system.read("f").into_bytes().unwrap();
        assert_eq!(String::from_utf8(written.clone()).unwrap(), expected);
        assert!(lines.are(&written));
        for other in
            [&written[1..], &written[..written.len() - 1], b"", &[&written[..], b"\n"].concat()]
        {
            assert!(!lines.are(other));
        }
    }

    #[test]
    fn nothing_is_written_where_an_entry_is_gone() {
        let store = MemoryStore::default();
        store.put_many(&[entry(1, 0)]).unwrap();
        let lines = ExportedLines::new(&[wanted(1), wanted(2)], &[], &store);
        let system = MemorySystem::with(&[("f", "as it was")]);
        let error = write("f", &lines, &system).unwrap_err().to_string();
        assert!(error.contains("is not in the store any more"), "{error}");
        assert_eq!(system.read("f").into_bytes().unwrap(), b"as it was");
    }
}
