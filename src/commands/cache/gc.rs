//! `evalrs cache gc`: what no run needs any more goes from the store; committed files stay as they are.

use std::path::Path;

use serde_json::{Value, json};

use super::amounts;
use super::place::surroundings_of;
use crate::cli::GcArgs;
use evalrs_base::text::count;
use evalrs_store as store;
use evalrs_store::{EntryLine, Sweep, SweepError, SweptEntries};
use evalrs_use_cases::console::Console;
use evalrs_use_cases::error::{Error, ExitStatus};

pub(super) fn gc(args: &GcArgs, console: &mut Console<'_>) -> Result<ExitStatus, Error> {
    let now = console.system.now().as_second();
    let unused_since =
        args.unused_since.as_deref().map(|text| amounts::since("--unused-since", text, now));
    let unused_since = unused_since.transpose()?;
    let max_size = args.max_size.as_deref().map(amounts::size).transpose()?;
    let sweep = Sweep { unused_since, max_size, made: &made, now, dry_run: args.dry_run };
    let dir = surroundings_of(&args.place, console)?.cache_dir;
    let swept = match store::sweep(Path::new(&dir), &sweep) {
        Ok(swept) => swept,
        Err(error @ SweepError::Uses { .. }) => {
            let hint = "remove that file: entries that only it names then expire by their own age";
            return Err(Error::plain(error.to_string(), hint));
        }
        Err(error) => {
            writeln!(console.err, "error: {error}; nothing is lost")?;
            return Ok(ExitStatus::Incomplete);
        }
    };
    if args.place.json {
        console.write_json(&to_json(&dir, &swept, args.dry_run))?;
    } else {
        writeln!(console.out, "{dir}: {}", summary(&swept, args.dry_run))?;
    }
    if swept.busy > 0 {
        let segments = count(swept.busy as usize, "segment");
        writeln!(console.err, "note: {segments} left alone: other processes write there")?;
    }
    console.warn(&swept.problems)?;
    Ok(ExitStatus::Success)
}

/// When the outcome of an entry was made. What does not say so is taken for new: it is not ours to drop by age.
fn made(entry: &EntryLine) -> i64 {
    #[derive(serde::Deserialize)]
    struct OnlyAt {
        #[serde(default)]
        at: String,
    }
    let body = serde_json::from_str::<OnlyAt>(entry.outline());
    body.ok().and_then(|body| amounts::seconds(&body.at)).unwrap_or(i64::MAX)
}

fn summary(swept: &SweptEntries, dry_run: bool) -> String {
    let dropped = swept.superseded + swept.unused + swept.over_size;
    let kept = format!("{}, {}", amounts::entries(swept.kept), amounts::bytes(swept.kept_bytes));
    if dropped + swept.blobs == 0 {
        return format!("nothing to drop; {kept}");
    }
    let reasons = [
        (swept.superseded, "superseded"),
        (swept.unused, "unused"),
        (swept.over_size, "beyond --max-size"),
    ];
    let reasons = reasons.iter().filter(|(count, _)| *count > 0);
    let reasons: Vec<String> = reasons.map(|(count, why)| format!("{count} {why}")).collect();
    let entries = format!("{} ({})", amounts::entries(dropped), reasons.join(", "));
    let blobs = count(swept.blobs as usize, "blob");
    let what = match (dropped, swept.blobs) {
        (_, 0) => entries,
        (0, _) => format!("{blobs} without an entry"),
        (_, _) => format!("{entries} and {blobs}"),
    };
    let (drops, keeps) = if dry_run { ("would drop", "would keep") } else { ("dropped", "kept") };
    format!("{drops} {what}, {}; {keeps} {kept}", amounts::bytes(swept.dropped_bytes))
}

fn to_json(dir: &str, swept: &SweptEntries, dry_run: bool) -> Value {
    let mut object = json!({
        "format": 1,
        "dir": dir,
        "dry_run": dry_run,
        "kept": {"entries": swept.kept, "bytes": swept.kept_bytes},
        "dropped": {
            "superseded": swept.superseded,
            "unused": swept.unused,
            "over_size": swept.over_size,
            "bytes": swept.dropped_bytes,
        },
        "segments": {"packed": swept.packed, "busy": swept.busy},
        "manifests_dropped": swept.manifests,
        "problems": swept.problems,
    });
    if swept.blobs > 0 {
        object["dropped"]["blobs"] = json!(swept.blobs);
    }
    object
}

#[cfg(test)]
mod tests {
    use super::{made, summary};
    use evalrs_model::key::ActionKey;
    use evalrs_store::{Entry, SweptEntries};

    #[test]
    fn an_entry_is_as_old_as_it_says() {
        let cases = [
            (r#"{"outcome":1,"at":"1970-01-02T00:00:00Z"}"#, 86_400),
            (r#"{"at":"1970-01-01T01:00:00+01:00"}"#, 0),
            (r#"{"at":""}"#, i64::MAX),
            (r#"{"at":"long ago"}"#, i64::MAX),
            (r#"{"at":7}"#, i64::MAX),
            ("{}", i64::MAX),
        ];
        for (body, expected) in cases {
            let entry = Entry { key: ActionKey([0; 32]), generation: 0, body: body.to_owned() };
            assert_eq!(made(&entry.into()), expected, "{body}");
        }
    }

    #[test]
    fn what_went_is_said_with_its_reasons() {
        let kept = SweptEntries { kept: 1, kept_bytes: 1200, ..SweptEntries::default() };
        let unused = SweptEntries { unused: 2, dropped_bytes: 800, ..kept.clone() };
        let all = SweptEntries { superseded: 1, over_size: 3, ..unused.clone() };
        let blobs = SweptEntries { blobs: 2, dropped_bytes: 90, ..kept.clone() };
        let both = SweptEntries { blobs: 1, ..unused.clone() };
        let cases = [
            (&blobs, false, "dropped 2 blobs without an entry, 90 B; kept 1 entry, 1.2 kB"),
            (&both, false, "dropped 2 entries (2 unused) and 1 blob, 800 B; kept 1 entry, 1.2 kB"),
            (&kept, false, "nothing to drop; 1 entry, 1.2 kB"),
            (&unused, false, "dropped 2 entries (2 unused), 800 B; kept 1 entry, 1.2 kB"),
            (
                &all,
                true,
                "would drop 6 entries (1 superseded, 2 unused, 3 beyond --max-size), 800 B; would keep 1 entry, 1.2 kB",
            ),
        ];
        for (swept, dry_run, expected) in cases {
            assert_eq!(summary(swept, dry_run), expected);
        }
    }
}
