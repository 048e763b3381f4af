//! How a user names a recorded evaluation: a run, or a save of a `watch` session.

use super::read::{PastRun, open, runs};
use super::{last_id, left_unasked, runs_of};
use evalrs_base::file_path::join;
use evalrs_system::{FileBytes, System};

/// The name of the last run.
pub const LATEST: &str = "latest";

/// A recorded evaluation as it is named: `RUN`, or `RUN@SAVE` for a save of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    /// The run: its id or the beginning of it, `latest`, or the folder of its record.
    pub run: String,
    /// The save; none for the run as it ended.
    pub save: Option<SaveAt>,
}

/// Which save of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SaveAt {
    /// The one with this number; 0 is the first evaluation. Written `@3`, and `@start` for 0.
    Number(u32),
    /// Counted from the end; 1 is the last. Written `@-1`.
    FromEnd(u32),
}

impl Reference {
    /// Reads what was typed. What stands behind an `@` and names no save belongs to the run.
    pub fn parse(text: &str) -> Self {
        let save = text.rsplit_once('@').and_then(|(run, save)| Some((run, SaveAt::parse(save)?)));
        match save {
            Some((run, save)) => Self { run: run.to_owned(), save: Some(save) },
            None => Self { run: text.to_owned(), save: None },
        }
    }
}

impl SaveAt {
    fn parse(text: &str) -> Option<Self> {
        let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        match text.strip_prefix('-') {
            _ if text == "start" => Some(Self::Number(0)),
            Some(back) if is_number(back) => {
                back.parse().ok().filter(|back| *back > 0).map(Self::FromEnd)
            }
            None if is_number(text) => text.parse().ok().map(Self::Number),
            _ => None,
        }
    }
}

/// Why a name leads to no record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotFound {
    /// The record does not exist, or cannot be read.
    Nothing,
    /// It is the beginning of several ids.
    Several(Vec<String>),
}

/// The record that `run` names: one under `home`, else the one in that folder.
pub fn find(system: &dyn System, home: &str, run: &str) -> Result<PastRun, NotFound> {
    let recorded = |id: &str| open(system, &join(&runs_of(home), id), id);
    if let Some((base, back)) = counted_back(run) {
        let mut past = find(system, home, base)?;
        for _ in 0..back {
            past = run_before(system, home, &past).ok_or(NotFound::Nothing)?;
        }
        return Ok(past);
    }
    if run == LATEST {
        return latest(system, home).and_then(|id| recorded(&id)).ok_or(NotFound::Nothing);
    }
    if !run.is_empty() && !run.contains('/') {
        if let Some(past) = recorded(run) {
            return Ok(past);
        }
        let ids = system.list(&runs_of(home)).unwrap_or_default();
        let begun: Vec<PastRun> =
            ids.iter().filter(|id| id.starts_with(run)).filter_map(|id| recorded(id)).collect();
        match <[PastRun; 1]>::try_from(begun) {
            Ok([past]) => return Ok(past),
            Err(begun) if !begun.is_empty() => {
                return Err(NotFound::Several(begun.into_iter().map(|past| past.id).collect()));
            }
            Err(_) => {}
        }
    }
    let folder = run.trim_end_matches('/');
    open(system, folder, folder).ok_or(NotFound::Nothing)
}

/// `RUN~2` as the run and how many runs before it. More than anybody keeps is no such name.
fn counted_back(run: &str) -> Option<(&str, u32)> {
    let (base, back) = run.rsplit_once('~')?;
    let is_number =
        !back.is_empty() && back.len() < 5 && back.bytes().all(|byte| byte.is_ascii_digit());
    Some((base, back.parse().ok()?)).filter(|_| is_number && !base.is_empty())
}

/// The run of the same suite that was recorded before `past`.
pub(crate) fn run_before(system: &dyn System, home: &str, past: &PastRun) -> Option<PastRun> {
    runs(system, home, &past.header.suite).find(|other| other.id < past.id)
}

/// The run to compare `past` with where nobody names one: the last before it that left nothing unasked; where all did, the
/// last before it.
pub fn base_of(system: &dyn System, home: &str, past: &PastRun) -> Option<PastRun> {
    let mut earlier = runs(system, home, &past.header.suite).filter(|other| other.id < past.id);
    let whole = earlier.find(|other| !left_unasked(system, &other.folder));
    whole.or_else(|| run_before(system, home, past))
}

/// The id in `latest`; without that file, that of the last run.
fn latest(system: &dyn System, home: &str) -> Option<String> {
    let FileBytes::Bytes(bytes) = system.read(&join(home, LATEST)) else {
        return last_id(system, home);
    };
    let id = String::from_utf8(bytes).ok()?.trim().to_owned();
    (!id.is_empty() && !id.contains('/')).then_some(id)
}

#[cfg(test)]
mod tests {
    use super::{NotFound, Reference, SaveAt, base_of, find};
    use evalrs_system::memory::MemorySystem;

    #[test]
    fn a_save_stands_behind_the_run() {
        for (text, run, save) in [
            ("latest", "latest", None),
            ("2026@3", "2026", Some(SaveAt::Number(3))),
            ("latest@start", "latest", Some(SaveAt::Number(0))),
            ("latest@-1", "latest", Some(SaveAt::FromEnd(1))),
            ("me@home/run@2", "me@home/run", Some(SaveAt::Number(2))),
            ("me@home/run", "me@home/run", None),
            ("run@", "run@", None),
            ("run@-0", "run@-0", None),
            ("run@+1", "run@+1", None),
            ("run@99999999999", "run@99999999999", None),
            ("@1", "", Some(SaveAt::Number(1))),
            ("", "", None),
        ] {
            let expected = Reference { run: run.to_owned(), save };
            assert_eq!(Reference::parse(text), expected, "{text:?}");
        }
    }

    #[test]
    fn runs_are_counted_back_within_their_suite() {
        let header = |suite: &str| format!(r#"{{"format": 1, "suite": "{suite}"}}"#);
        let s = header("s");
        let other = header("other");
        let system = MemorySystem::with(&[
            ("h/runs/20260101T000000-000001/header.json", &s),
            ("h/runs/20260102T000000-000002/header.json", &other),
            ("h/runs/20260103T000000-000003/header.json", &s),
            ("h/runs/20260104T000000-000004/header.json", &s),
            ("h/latest", "20260104T000000-000004"),
        ]);
        for (run, expected) in [
            ("latest~0", Some("20260104T000000-000004")),
            ("latest~1", Some("20260103T000000-000003")),
            ("latest~2", Some("20260101T000000-000001")),
            ("20260103~1", Some("20260101T000000-000001")),
            ("latest~3", None),
            ("20260102~1", None),
            ("latest~", None),
            ("latest~x", None),
        ] {
            let found = find(&system, "h", run).ok().map(|past| past.id);
            assert_eq!(found.as_deref(), expected, "{run}");
        }
    }

    #[test]
    fn a_run_that_left_judgments_unasked_is_no_base() {
        let header = r#"{"format": 1, "suite": "s"}"#;
        let run = |pending: u64| format!(r#"{{"actions": {{"g": {{"pending": {pending}}}}}}}"#);
        let (whole, frozen) = (run(0), run(2));
        let base = |jsons: [&str; 3]| {
            let system = MemorySystem::with(&[
                ("h/runs/1/header.json", header),
                ("h/runs/1/run.json", jsons[0]),
                ("h/runs/2/header.json", header),
                ("h/runs/2/run.json", jsons[1]),
                ("h/runs/3/header.json", header),
                ("h/runs/3/run.json", jsons[2]),
            ]);
            let now = find(&system, "h", "3").unwrap();
            base_of(&system, "h", &now).unwrap().id
        };
        for (runs, expected) in [
            ([&whole, &whole, &frozen], "2"),
            ([&whole, &frozen, &whole], "1"),
            ([&frozen, &frozen, &whole], "2"),
        ] {
            assert_eq!(base(runs.map(String::as_str)), expected);
        }
        assert_eq!(base(["", "", ""]), "2", "what cannot be read is taken as it is");
    }

    #[test]
    fn runs_are_found_by_as_much_of_the_id_as_it_takes() {
        let header = r#"{"format": 1, "suite": "s"}"#;
        let system = MemorySystem::with(&[
            ("h/runs/20260101T000000-000001/header.json", header),
            ("h/runs/20260102T000000-000002/header.json", header),
            ("h/runs/20260102T000000-00000a/header.json", header),
            ("h/runs/2026/header.json", header),
            ("h/runs/20260103T000000-broken/header.json", "{"),
            ("release/header.json", header),
            ("w/releases/1/header.json", header),
        ]);
        let found = |run: &str| match find(&system, "h", run) {
            Ok(past) => past.id,
            Err(NotFound::Nothing) => "nothing".to_owned(),
            Err(NotFound::Several(ids)) => format!("{} runs", ids.len()),
        };
        for (run, expected) in [
            ("2026", "2026"),
            ("20260101", "20260101T000000-000001"),
            ("20260102", "2 runs"),
            ("20260102T000000-00000a", "20260102T000000-00000a"),
            ("20260103", "nothing"),
            ("release", "release"),
            ("w/releases/1/", "w/releases/1"),
            ("nowhere", "nothing"),
            ("", "nothing"),
            // Without the file that names it, the last one by its id.
            ("latest", "nothing"),
        ] {
            assert_eq!(found(run), expected, "{run:?}");
        }
        for (latest, expected) in
            [("2026\n", "2026"), ("../../release", "nothing"), ("", "nothing")]
        {
            system.set("h/latest", latest);
            let past = find(&system, "h", "latest").map_or("nothing".to_owned(), |past| past.id);
            assert_eq!(past, expected);
        }
    }
}
