//! `evalrs cache verify`: every line read again, every body understood, every key computed again where that is possible.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Value, json};

use super::amounts::entries;
use super::{surroundings_of, write_json};
use crate::app::cli::PlaceArgs;
use crate::app::commands::Console;
use crate::app::error::{Error, ExitStatus};
use crate::base::text::count;
use crate::effects::store;
use crate::effects::store::{Checked, Entry, VerifyReport};
use crate::pipeline::outcome::Stored;

/// Checks the store and the committed files beside it; incomplete if anything is wrong.
pub(super) fn verify(args: &PlaceArgs, console: &mut Console<'_>) -> Result<ExitStatus, Error> {
    let surroundings = surroundings_of(args, console)?;
    let dir = &surroundings.cache_dir;
    let store = store::verify(Path::new(dir), &check);
    let mut committed = Vec::new();
    for path in surroundings.committed_files(console.system) {
        let mut keys = BTreeSet::new();
        let report = match console.system.read(&path).into_bytes() {
            Ok(bytes) => {
                store::read_lines(&path, &bytes, &check, &mut |entry| _ = keys.insert(entry.key))
            }
            Err(reason) => VerifyReport {
                problems: vec![format!("cannot read `{path}`: {reason}")],
                ..VerifyReport::default()
            },
        };
        committed.push((path, keys.len(), report));
    }
    if args.json {
        let committed: Vec<Value> = committed
            .iter()
            .map(|(path, judgments, report)| {
                let mut object = report_json("path", path, report);
                object["judgments"] = json!(judgments);
                object
            })
            .collect();
        let store = report_json("dir", dir, &store);
        write_json(&json!({"format": 1, "store": store, "committed": committed}), console)?;
    } else {
        say(&format!("{dir}: {}, {} bytes", entries(store.entries), store.bytes), &store, console)?;
        for (path, judgments, report) in &committed {
            say(&format!("{path}: {}", count(*judgments, "judgment")), report, console)?;
        }
    }
    let mut reports = committed.iter().map(|(_, _, report)| report).chain([&store]);
    let is_right = reports.all(|report| report.problems.is_empty());
    Ok(if is_right { ExitStatus::Success } else { ExitStatus::Incomplete })
}

fn say(head: &str, report: &VerifyReport, console: &mut Console<'_>) -> std::io::Result<()> {
    let corrupt = count(report.problems.len(), "corrupt line");
    writeln!(console.out, "{head}, {} verified, {corrupt}", count(report.recomputed, "key"))?;
    report.problems.iter().try_for_each(|problem| writeln!(console.err, "  {problem}"))
}

fn report_json(name: &str, place: &str, report: &VerifyReport) -> Value {
    json!({
        name: place,
        "entries": report.entries,
        "recomputed": report.recomputed,
        "bytes": report.bytes,
        "problems": report.problems,
    })
}

/// What evalrs can say of an entry: whether its body is an outcome, and its key that of the kept ingredients.
pub(crate) fn check(entry: &Entry) -> Result<Checked, String> {
    let stored: Stored =
        serde_json::from_str(&entry.body).map_err(|error| format!("is no outcome: {error}"))?;
    match stored.key() {
        None => Ok(Checked::Read),
        Some(key) if key == entry.key => Ok(Checked::Recomputed),
        Some(key) => Err(format!("was asked under another key: its ingredients come to {key}")),
    }
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::effects::store::{Checked, Entry};
    use crate::pipeline::key::{ActionKey, KEY_VERSION};

    #[test]
    fn an_entry_is_right_if_it_is_an_outcome_under_its_own_key() {
        let body = |version: u32, kind: &str| {
            format!(
                r#"{{"outcome":{{"reply":{{"text":"{{}}"}}}},"ingredients":[{{"name":"kind","preview":"{kind}"}}],"key_version":{version}}}"#
            )
        };
        let entry = |body: String| Entry { key: ActionKey([1; 32]), generation: 0, body };
        assert_eq!(check(&entry(body(KEY_VERSION - 1, "judge"))), Ok(Checked::Read));
        let error = check(&entry(body(KEY_VERSION, "judge"))).unwrap_err();
        let key = error.strip_prefix("was asked under another key: its ingredients come to ");
        let key = ActionKey::parse(key.unwrap()).unwrap();
        let right = Entry { key, ..entry(body(KEY_VERSION, "judge")) };
        assert_eq!(check(&right), Ok(Checked::Recomputed));
        assert!(check(&Entry { key, ..entry(body(KEY_VERSION, "program")) }).is_err());
        for body in ["{}", r#"{"outcome":{"vision":1}}"#, r#"{"outcome":{"reply":{}}}"#] {
            let error = check(&entry(body.to_owned())).unwrap_err();
            assert!(error.starts_with("is no outcome: "), "{error}");
        }
    }
}
