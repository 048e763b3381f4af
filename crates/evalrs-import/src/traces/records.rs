//! The records of the files of a source: which files there are, and their contents.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::imported::{ImportError, ImportedSource, SourcePlace};
use crate::reading::{self, PlacedValue};
use crate::source::ImportSource;
use evalrs_base::file_path::join;

/// How deep folders are looked through, and how many files of them are read.
const MAX_DEPTH: usize = 8;
const MAX_FILES: usize = 20_000;

/// The JSON files of a source: itself, or those below a folder.
fn json_files(source: &ImportSource<'_>) -> Vec<String> {
    let mut found = Vec::new();
    if source.is_folder() {
        gather(source, &source.path, 0, &mut found);
    } else {
        found.push(source.path.clone());
    }
    found
}

fn gather(source: &ImportSource<'_>, folder: &str, depth: usize, found: &mut Vec<String>) {
    for name in source.list(folder).unwrap_or_default() {
        let path = join(folder, &name);
        let is_json = [".json", ".jsonl", ".ndjson"].iter().any(|end| name.ends_with(end));
        if found.len() >= MAX_FILES {
            return;
        }
        if is_json {
            found.push(path);
        } else if depth < MAX_DEPTH && !name.starts_with('.') && !name.contains('.') {
            gather(source, &path, depth + 1, found);
        }
    }
}

/// Whether a source, or one of the first files of a folder, begins as `is_own` says.
pub(super) fn begins(source: &ImportSource<'_>, is_own: fn(&str) -> bool) -> bool {
    if !source.is_folder() {
        return is_own(&reading::head(source));
    }
    json_files(source).iter().take(200).any(|path| source.begins(path, is_own))
}

/// The records of all files of a source; a file that cannot be read is reported unless it is the only
/// one.
pub(super) fn all_records(
    source: &ImportSource<'_>,
    imported: &mut ImportedSource,
) -> Result<Vec<PlacedValue>, ImportError> {
    let mut all = Vec::new();
    let paths = json_files(source);
    for path in &paths {
        let read = reading::text(source, path).and_then(|text| reading::records(path, &text));
        match read {
            Ok(records) => all.extend(records),
            Err(error) if paths.len() == 1 => return Err(error),
            Err(_) => {
                let why = "it is not JSON, nor lines of it";
                imported.leave_out("files", SourcePlace::new(path, 0), "a file", why);
            }
        }
    }
    Ok(all)
}

pub(super) struct TraceRecords {
    pub id: String,
    pub records: Vec<PlacedValue>,
}

/// Records by the traces that `id_of` says they are of, in the order in which these are met.
pub(super) fn by_trace(
    records: Vec<PlacedValue>,
    id_of: impl Fn(&Value) -> &str,
) -> Vec<TraceRecords> {
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    let mut traces: Vec<TraceRecords> = Vec::new();
    for record in records {
        let id = id_of(&record.value);
        let at = *places.entry(id.to_owned()).or_insert_with(|| {
            traces.push(TraceRecords { id: id.to_owned(), records: Vec::new() });
            traces.len() - 1
        });
        traces[at].records.push(record);
    }
    traces
}
