//! Files of a record that are not what its run wrote, each named: `run.json` has their digests.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::file::{digest_of, read_json};
use super::read::PastRun;
use super::recorded::{RecordError, header_problem};
use super::result_files::{FileCheck, FileDigests, check_by, results_stamp};
use super::{ResultsOrigin, runs_of};
use evalrs_base::file_path::join;
use evalrs_system::{FileBytes, System};

/// The files of a report beside its results.
const DIGESTED: [&str; 2] = ["header.json", "summary.json"];

const FACTS: &str = "run.json";

/// How the last member of `run.json` begins, and how the file ends.
const MEMBER: &str = ",\n  \"facts_digest\": \"";
const END: &str = "\n}";

/// What `run.json` says of the bytes of the other files.
#[derive(Default, Deserialize)]
#[serde(default)]
struct WrittenDigests {
    results: Option<ResultsOrigin>,
    results_digest: Option<String>,
    digests: BTreeMap<String, String>,
}

/// The digests of the files beside the results in `folder`, by name.
pub(super) fn digests(system: &dyn System, folder: &str) -> BTreeMap<String, String> {
    let digest = |name: &str| digest_of(system, &join(folder, name));
    DIGESTED.into_iter().filter_map(|name| Some((name.to_owned(), digest(name)?))).collect()
}

/// Which files of the record in `folder` are not what its run wrote, a clause each. Reads all of them.
pub(super) fn edited_files(system: &dyn System, folder: &str) -> Vec<String> {
    edited(system, folder, &|_| true, &FileDigests::new(system))
}

/// The same of an earlier run, with its id, where `digests` knows those of some files.
pub(super) fn all_damage_of(
    system: &dyn System,
    past: &PastRun,
    digests: &FileDigests<'_>,
) -> Vec<String> {
    with_facts(system, past, edited(system, &past.folder, &|_| true, digests))
}

/// The same of an earlier run, with its id, for those who do not read all of it: results that have the size and the time that they
/// had are taken as they are.
pub fn damage_of(system: &dyn System, past: &PastRun) -> Vec<String> {
    let stamp = results_stamp(system, &past.folder);
    let is_doubtful = |written: &WrittenDigests| {
        written.results.as_ref().is_none_or(|results| Some(&results.file) != stamp.as_ref())
    };
    let edited = edited(system, &past.folder, &is_doubtful, &FileDigests::new(system));
    with_facts(system, past, edited)
}

fn with_facts(system: &dyn System, past: &PastRun, edited: Vec<String>) -> Vec<String> {
    let all = edited.into_iter().chain(broken_facts(system, &past.folder));
    all.map(|file| format!("{}: {file}", past.id)).collect()
}

/// That the last record under `home` before that of `id` is passed over, because nobody can read what it is of.
pub fn passed_over(system: &dyn System, home: &str, id: &str) -> Option<String> {
    let runs = runs_of(home);
    let ids = system.list(&runs).unwrap_or_default();
    let is_before =
        |other: &&String| other.as_str() < id && system.list(&join(&runs, other)).is_some();
    let last = ids.iter().rfind(is_before)?;
    let problem = header_problem(system, &join(&runs, last));
    let problem = problem.filter(|problem| !matches!(problem, RecordError::OtherVersion(..)))?;
    Some(format!("{last}: the record is passed over: {}", problem.shown()))
}

/// That there is a `run.json`, and it cannot be read.
pub(super) fn broken_facts(system: &dyn System, folder: &str) -> Option<String> {
    let path = join(folder, FACTS);
    let is_broken = system.read(&path) != FileBytes::Missing
        && read_json::<WrittenDigests>(system, &path).is_none();
    is_broken.then(|| format!("{FACTS} cannot be read"))
}

/// The text of `run.json`, which ends with the digest of what is before it.
pub(super) fn signed(facts: &impl Serialize) -> serde_json::Result<String> {
    let text = serde_json::to_string_pretty(facts)?;
    let digest = blake3::hash(text.as_bytes()).to_hex();
    let text = text.strip_suffix(END).unwrap_or_default();
    Ok(format!("{text}{MEMBER}{digest}\"{END}\n"))
}

/// Whether a `run.json` has another digest than it says. One of an earlier version says none.
fn is_edited(bytes: &[u8]) -> bool {
    let said = std::str::from_utf8(bytes).ok().and_then(|text| {
        let (text, digest) = text.rsplit_once(MEMBER)?;
        Some((text, digest.strip_suffix("\"\n}\n")?))
    });
    said.is_some_and(|(text, digest)| {
        let mut hasher = blake3::Hasher::new();
        hasher.update(text.as_bytes()).update(END.as_bytes());
        *hasher.finalize().to_hex() != *digest
    })
}

fn edited(
    system: &dyn System,
    folder: &str,
    reads_results: &dyn Fn(&WrittenDigests) -> bool,
    digests: &FileDigests<'_>,
) -> Vec<String> {
    let facts = system.read(&join(folder, FACTS)).into_bytes().unwrap_or_default();
    let written: WrittenDigests = serde_json::from_slice(&facts).unwrap_or_default();
    let results = written.results_digest.as_ref().filter(|_| reads_results(&written));
    let results = results.map(|digest| check_by(system, folder, digest, digests));
    let others = DIGESTED.into_iter().filter_map(|name| Some((name, written.digests.get(name)?)));
    let edited = |name: &str| format!("{name} is not what the run wrote: it was edited since");
    let checked = others
        .map(|(name, digest)| FileCheck::of(name, digest_of(system, &join(folder, name)), digest));
    let shown = |checked| match checked {
        FileCheck::Same => None,
        FileCheck::Edited(name) => Some(edited(&name)),
        FileCheck::Gone(name) => Some(format!("{name} cannot be read any more")),
    };
    let facts = is_edited(&facts).then(|| edited(FACTS));
    results.into_iter().chain(checked).filter_map(shown).chain(facts).collect()
}

#[cfg(test)]
mod tests {
    use super::{MEMBER, damage_of, is_edited, passed_over, signed};
    use crate::record::read::open;
    use crate::record::{RunFacts, write_facts};
    use evalrs_system::memory::MemorySystem;

    const HEADER: &str = r#"{"format": 1, "suite": "s"}"#;

    /// What is said of a record after this file became that.
    fn damage(name: &str, text: &str) -> Vec<String> {
        let path = |name: &str| format!("h/runs/1/{name}");
        let system = MemorySystem::with(&[
            (&path("header.json"), HEADER),
            (&path("summary.json"), "{}"),
            (&path("results.jsonl"), "{}\n"),
        ]);
        let digest = blake3::hash(b"{}\n").to_hex().to_string();
        let facts = RunFacts { results_digest: Some(digest), ..RunFacts::default() };
        write_facts(&system, "h/runs/1", &facts).unwrap();
        let past = open(&system, "h/runs/1", "1").unwrap();
        system.set(&path(name), text);
        damage_of(&system, &past)
    }

    #[test]
    fn each_damaged_file_is_named() {
        assert_eq!(damage("other", ""), [] as [&str; 0]);
        for name in ["header.json", "summary.json", "results.jsonl"] {
            let expected = format!("1: {name} is not what the run wrote: it was edited since");
            assert_eq!(damage(name, "{ }"), [expected]);
        }
        assert_eq!(damage("run.json", "{"), ["1: run.json cannot be read"]);
    }

    #[test]
    fn a_byte_of_the_facts_that_has_changed_is_seen() {
        let facts = RunFacts { id: "1".to_owned(), ..RunFacts::default() };
        let text = signed(&facts).unwrap();
        let read: RunFacts = serde_json::from_str(&text).unwrap();
        assert_eq!((read.id.as_str(), is_edited(text.as_bytes())), ("1", false));
        assert!(!is_edited(b"{}\n") && !is_edited(b"\xff"));
        let digest = text.rfind(MEMBER).unwrap();
        for at in 0..digest {
            let mut bytes = text.clone().into_bytes();
            bytes[at] ^= 1;
            assert!(is_edited(&bytes), "byte {at}");
        }
    }

    #[test]
    fn a_record_whose_header_is_broken_is_named() {
        let system = MemorySystem::with(&[
            ("h/runs/1/header.json", HEADER),
            ("h/runs/2/header.json", "{"),
            ("h/runs/3/header.json", HEADER),
        ]);
        let of = |id: &str| passed_over(&system, "h", id);
        assert_eq!((of("1"), of("2")), (None, None));
        system.set("h/runs/20", "a file");
        let said = of("3").unwrap();
        assert!(said.starts_with("2: the record is passed over: `header.json` cannot"), "{said}");
    }
}
