//! `evalrs cache verify`: every line read again, every body understood, every key computed again where that is possible.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Value, json};

use super::amounts::entries;
use super::place::surroundings_of;
use crate::cli::PlaceArgs;
use evalrs_base::text::count;
use evalrs_store as store;
use evalrs_store::VerifyReport;
use evalrs_use_cases::console::Console;
use evalrs_use_cases::context::check_entry;
use evalrs_use_cases::error::{Error, ExitStatus};

/// Checks the store and the committed files beside it; incomplete if anything is wrong.
pub(super) fn verify(args: &PlaceArgs, console: &mut Console<'_>) -> Result<ExitStatus, Error> {
    let surroundings = surroundings_of(args, console)?;
    let dir = &surroundings.cache_dir;
    let store = store::verify(Path::new(dir), &check_entry);
    let mut committed = Vec::new();
    for path in surroundings.committed_files(console.system) {
        let mut keys = BTreeSet::new();
        let report = match console.system.read(&path).into_bytes() {
            Ok(bytes) => store::read_lines(&path, &bytes, &check_entry, &mut |entry| {
                _ = keys.insert(entry.key);
            }),
            Err(reason) => VerifyReport {
                problems: vec![format!("cannot read `{path}`: {reason}")],
                ..VerifyReport::default()
            },
        };
        committed.push((path, keys.len(), report));
    }
    if args.json {
        let committed = committed.iter().map(|(path, judgments, report)| {
            let mut object = report_json("path", path, report);
            object["judgments"] = json!(judgments);
            object
        });
        let committed: Vec<Value> = committed.collect();
        let store = report_json("dir", dir, &store);
        console.write_json(&json!({"format": 1, "store": store, "committed": committed}))?;
    } else {
        let blobs = match store.blobs {
            0 => String::new(),
            blobs => format!(", {}, {} bytes", count(blobs as usize, "blob"), store.blob_bytes),
        };
        let entries = entries(store.entries);
        say(&format!("{dir}: {entries}, {} bytes{blobs}", store.bytes), &store, console)?;
        for (path, judgments, report) in &committed {
            say(&format!("{path}: {}", count(*judgments, "judgment")), report, console)?;
        }
    }
    let mut reports = committed.iter().map(|(_, _, report)| report).chain([&store]);
    let is_right = reports.all(|report| report.problems.is_empty());
    Ok(if is_right { ExitStatus::Success } else { ExitStatus::Incomplete })
}

fn say(head: &str, report: &VerifyReport, console: &mut Console<'_>) -> std::io::Result<()> {
    let lines = report.problems.len().saturating_sub(report.bad_blobs);
    let mut corrupt = count(lines, "corrupt line");
    if report.bad_blobs > 0 {
        corrupt = format!("{corrupt}, {}", count(report.bad_blobs, "corrupt blob"));
    }
    writeln!(console.out, "{head}, {} verified, {corrupt}", count(report.recomputed, "key"))?;
    report.problems.iter().try_for_each(|problem| writeln!(console.err, "  {problem}"))
}

fn report_json(name: &str, place: &str, report: &VerifyReport) -> Value {
    let mut object = json!({
        name: place,
        "entries": report.entries,
        "recomputed": report.recomputed,
        "bytes": report.bytes,
        "problems": report.problems,
    });
    let VerifyReport { blobs, blob_bytes, bad_blobs, .. } = report;
    if *blobs > 0 || *bad_blobs > 0 {
        object["blobs"] = json!({"right": blobs, "bytes": blob_bytes, "corrupt": bad_blobs});
    }
    object
}
