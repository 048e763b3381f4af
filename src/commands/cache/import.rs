//! `evalrs cache import`: judgments of other machines into the local store.
//!
//! The files are what `cache export` writes, and their entries stay what they are: who asked, when, and which asking
//! wins. Judgments that were made elsewhere and know no keys are another matter: they need a suite to be bound to.

use std::path::Path;

use serde_json::{Value, json};

use super::place::surroundings;
use crate::cli::ImportArgs;
use evalrs_base::text::count;
use evalrs_model::key::ActionKey;
use evalrs_store as store;
use evalrs_store::{Entry, MemoryStore, OutcomeStore, SegmentStore, StoreError};
use evalrs_use_cases::console::Console;
use evalrs_use_cases::context::check_entry;
use evalrs_use_cases::error::{Error, ExitStatus};

/// How much is kept at once, in bytes.
const AT_ONCE: usize = 16 << 20;

/// A file whose lines were read.
struct ReadFile<'a> {
    path: &'a str,
    /// The winning entry of each key.
    entries: Vec<Entry>,
    bad: Vec<String>,
}

/// Imports every file, or none if one of them cannot be read; incomplete where lines are bad.
pub(super) fn import(args: &ImportArgs, console: &mut Console<'_>) -> Result<ExitStatus, Error> {
    let files = args.files.iter().map(|path| read(path, console));
    let files: Vec<ReadFile<'_>> = files.collect::<Result<_, _>>()?;
    let suite = args.suite.as_deref();
    let dir = surroundings(suite, &args.store, console)?.cache_dir;
    let store = SegmentStore::open(&dir);
    let mut keys = Vec::new();
    let mut said: Vec<Value> = Vec::new();
    for ReadFile { path, entries, bad } in &files {
        let new = match merge(entries, &store) {
            Ok(new) => new,
            Err(error) => {
                writeln!(console.err, "error: {path}: {error}")?;
                return Ok(ExitStatus::Incomplete);
            }
        };
        keys.extend(entries.iter().map(|entry| entry.key));
        let there = entries.len() - new;
        said.push(json!({
            "path": path, "judgments": entries.len(), "new": new, "already_there": there, "problems": bad,
        }));
        if !args.json {
            let judgments = count(entries.len(), "judgment");
            let bad = count(bad.len(), "corrupt line");
            writeln!(console.out, "{path}: {judgments}, {new} new, {there} already there, {bad}")?;
        }
    }
    if args.json {
        console.write_json(&json!({"format": 1, "dir": dir, "files": said}))?;
    }
    console.warn(store.take_warnings())?;
    note_imported(&dir, &keys, console)?;
    let bad: Vec<&String> = files.iter().flat_map(|file| &file.bad).collect();
    bad.iter().try_for_each(|line| writeln!(console.err, "warning: {line}"))?;
    Ok(if bad.is_empty() { ExitStatus::Success } else { ExitStatus::Incomplete })
}

fn read<'a>(path: &'a str, console: &Console<'_>) -> Result<ReadFile<'a>, Error> {
    let bytes = console.system.read(path).into_bytes().map_err(|reason| {
        Error::plain(
            format!("cannot read `{path}`: {reason}"),
            "nothing was imported; import files that `evalrs cache export` wrote",
        )
    })?;
    let winners = MemoryStore::default();
    let mut refused = Vec::new();
    let report = store::read_lines(path, &bytes, &check_entry, &mut |entry| {
        // An entry that was read is one that can be written.
        refused.extend(winners.put_many(&[entry]).err().map(|error| error.to_string()));
    });
    let keys = winners.keys();
    let entries = winners.get_many(&keys).into_iter().flatten().collect();
    let bad = report.problems.into_iter().chain(refused).collect();
    Ok(ReadFile { path, entries, bad })
}

/// Keeps the entries that win over what is there, and reports how many those are.
pub(crate) fn merge(entries: &[Entry], store: &dyn OutcomeStore) -> Result<usize, StoreError> {
    let keys: Vec<ActionKey> = entries.iter().map(|entry| entry.key).collect();
    let mut new: Vec<&Entry> = Vec::new();
    store.visit_many(&keys, &mut |place, held| {
        let entry = &entries[place];
        if held.is_none_or(|held| entry.wins_over(&held)) {
            new.push(entry);
        }
    });
    let count = new.len();
    let mut rest = new.into_iter().peekable();
    while rest.peek().is_some() {
        let mut batch = Vec::new();
        let mut size = 0;
        while let Some(entry) = rest.next_if(|_| size < AT_ONCE) {
            size += entry.body.len();
            batch.push(entry.clone());
        }
        store.put_many(&batch)?;
    }
    Ok(count)
}

/// Notes the imported as used today: they may have been made long ago, and no run has needed them here yet.
fn note_imported(dir: &str, keys: &[ActionKey], console: &mut Console<'_>) -> std::io::Result<()> {
    let noted = store::note_used(Path::new(dir), "imported", None, console.system.now(), keys);
    noted.or_else(|error| writeln!(console.err, "warning: {error}"))
}

#[cfg(test)]
mod tests {
    use super::merge;
    use evalrs_model::key::ActionKey;
    use evalrs_store::{Entry, MemoryStore, OutcomeStore};

    #[test]
    fn what_wins_over_what_is_there_is_imported() {
        let entry = |number, generation, body: &str| Entry {
            key: ActionKey([number; 32]),
            generation,
            body: body.to_owned(),
        };
        let low = r#"{"a":2}"#;
        let high = r#"{"a":1}"#;
        let cases = [
            (vec![], vec![entry(1, 0, low)], 1),
            (vec![entry(1, 0, low)], vec![entry(1, 0, low)], 0),
            (vec![entry(1, 0, low)], vec![entry(1, 0, high)], 1),
            (vec![entry(1, 0, high)], vec![entry(1, 0, low)], 0),
            (vec![entry(1, 1, low)], vec![entry(1, 0, high)], 0),
            (vec![entry(1, 0, high)], vec![entry(1, 1, low), entry(2, 0, low)], 2),
        ];
        for (held, imported, new) in cases {
            let store = MemoryStore::default();
            store.put_many(&held).unwrap();
            assert_eq!(merge(&imported, &store), Ok(new), "{imported:?} into {held:?}");
            assert_eq!(merge(&imported, &store), Ok(0), "a second time nothing is new");
        }
    }
}
