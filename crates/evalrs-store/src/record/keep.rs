//! Which records of runs stay.
//!
//! A record of a large suite takes tens of megabytes, so a number of them stays. Where nobody says how many, no suite
//! takes records from another, and nothing is ever removed that is not the record of a run.

use std::collections::BTreeSet;

use super::read::read_json;
use super::run_names::{is_run_id, is_trial};
use super::{last_named, runs_of};
use evalrs_base::file_path::join;
use evalrs_system::System;

/// This many records of each suite are kept where a workspace sets nothing.
pub const DEFAULT: usize = 20;

/// This many trials are kept, of all suites together.
const MOST_TRIALS: usize = 40;

/// Removes the oldest trials under `home` beyond those that are kept.
pub fn remove_old_trials(system: &dyn System, home: &str) -> std::io::Result<()> {
    let runs = runs_of(home);
    let ids = system.list(&runs).unwrap_or_default();
    let trials: Vec<&String> = ids.iter().filter(|id| is_trial(id)).collect();
    let old = trials.len().saturating_sub(MOST_TRIALS);
    trials[..old].iter().try_for_each(|id| system.remove_folder(&join(&runs, id)))
}

/// How many records stay.
#[derive(Clone, Copy, Debug)]
pub enum RunLimit<'a> {
    /// This many of all suites together.
    OfAll(usize),
    /// This many of the suite with this name; those of others are ignored.
    OfSuite(usize, &'a str),
}

/// Removes the oldest records under `home` until `most` are left, and as many of those that have no end: somebody may
/// still be writing one, as a session of `watch` does for hours. The newest of each suite stays whatever its age, as do
/// the run called `latest` and those whose folders are in one of the paths `named`.
pub fn remove_old(
    system: &dyn System,
    home: &str,
    most: RunLimit<'_>,
    named: &[&str],
) -> std::io::Result<()> {
    let runs = runs_of(home);
    let mut kept: BTreeSet<&str> = named.iter().flat_map(|path| path.split('/')).collect();
    let latest = last_named(system, home);
    kept.extend(latest.as_deref());
    let ids = system.list(&runs).unwrap_or_default().into_iter();
    let mut ids: Vec<String> = ids.filter(|id| is_run_id(id)).collect();
    let (RunLimit::OfAll(number) | RunLimit::OfSuite(number, _)) = most;
    if ids.len() <= number {
        return Ok(());
    }
    let suite_of = |id: &String| suite_of(system, &join(&runs, id));
    let mut newest = BTreeSet::new();
    match most {
        RunLimit::OfSuite(_, suite) => ids.retain(|id| suite_of(id).as_deref() == Some(suite)),
        RunLimit::OfAll(_) => {
            let mut suites = BTreeSet::new();
            let is_newest = |id: &&String| suite_of(id).is_some_and(|suite| suites.insert(suite));
            newest.extend(ids.iter().rev().filter(is_newest).cloned());
        }
    }
    let (ended, others): (Vec<&String>, Vec<&String>) =
        ids.iter().rev().partition(|id| has_ended(system, &join(&runs, id)));
    let old = [ended, others].into_iter().flat_map(|of_kind| of_kind.into_iter().skip(number));
    let old: Vec<&String> =
        old.filter(|id| !kept.contains(id.as_str()) && !newest.contains(*id)).collect();
    old.into_iter().rev().try_for_each(|id| system.remove_folder(&join(&runs, id)))
}

/// Whether the run of a record has ended: then the record has its status.
fn has_ended(system: &dyn System, folder: &str) -> bool {
    system.list(folder).is_some_and(|names| names.iter().any(|name| name == "run.json"))
}

/// The name of the suite that a record is of.
fn suite_of(system: &dyn System, folder: &str) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct NamedRecord {
        suite: String,
    }
    read_json::<NamedRecord>(system, &join(folder, "header.json")).map(|header| header.suite)
}

#[cfg(test)]
mod tests {
    use super::{MOST_TRIALS, RunLimit, is_run_id, is_trial, remove_old, remove_old_trials};
    use crate::record::run_names::trial_id;
    use crate::record::{run_id, set_latest};
    use evalrs_system::System;
    use evalrs_system::memory::MemorySystem;

    const RUNS: [&str; 4] = [
        "20260101T000000-000001",
        "20260102T000000-000002",
        "20260103T000000-000003",
        "20260104T000000-000004",
    ];

    #[test]
    fn the_oldest_records_go_and_what_is_named_stays() {
        let [first, second, third, fourth] = RUNS;
        for (most, latest, named, expected) in [
            (9, fourth, "", &[first, second, third, fourth][..]),
            (4, fourth, "", &[first, second, third, fourth]),
            (2, fourth, "", &[third, fourth]),
            (1, fourth, "", &[fourth]),
            (1, second, "", &[second, fourth]),
            (1, fourth, "/w/.evalrs/runs/20260101T000000-000001/results.jsonl", &[first, fourth]),
        ] {
            let system = MemorySystem::with(&[("h/runs/baseline/header.json", "{}")]);
            for id in RUNS {
                system.set(&format!("h/runs/{id}/header.json"), "{}");
                system.set(&format!("h/runs/{id}/run.json"), "{}");
            }
            set_latest(&system, "h", latest).unwrap();
            remove_old(&system, "h", RunLimit::OfAll(most), &[named]).unwrap();
            let left = system.list("h/runs").unwrap();
            assert_eq!(left, [expected, &["baseline"]].concat(), "{most} {latest} {named}");
            remove_old(&system, "elsewhere", RunLimit::OfAll(most), &[]).unwrap();
        }
    }

    #[test]
    fn the_newest_record_of_each_suite_stays() {
        let system = MemorySystem::default();
        for (id, suite) in RUNS.iter().zip(["a", "a", "b", "b"]) {
            let header = format!(r#"{{"format": 1, "suite": "{suite}"}}"#);
            system.set(&format!("h/runs/{id}/header.json"), &header);
        }
        remove_old(&system, "h", RunLimit::OfAll(1), &[]).unwrap();
        assert_eq!(system.list("h/runs").unwrap(), [RUNS[1], RUNS[3]]);
    }

    #[test]
    fn a_session_that_goes_on_keeps_its_record_whatever_runs_beside_it() {
        let system = MemorySystem::default();
        for id in RUNS {
            system.set(&format!("h/runs/{id}/header.json"), r#"{"format": 1, "suite": "a"}"#);
        }
        for id in &RUNS[1..] {
            system.set(&format!("h/runs/{id}/run.json"), "{}");
        }
        remove_old(&system, "h", RunLimit::OfSuite(1, "a"), &[]).unwrap();
        assert_eq!(system.list("h/runs").unwrap(), [RUNS[0], RUNS[3]]);
    }

    #[test]
    fn a_suite_takes_no_records_from_another() {
        let [first, second, third, fourth] = RUNS;
        for (most, expected) in [
            (1, &[second, fourth][..]),
            (2, &[second, third, fourth]),
            (3, &[first, second, third, fourth]),
        ] {
            let system = MemorySystem::default();
            for (id, suite) in RUNS.iter().zip(["a", "b", "a", "a"]) {
                let header = format!(r#"{{"format": 1, "suite": "{suite}"}}"#);
                system.set(&format!("h/runs/{id}/header.json"), &header);
            }
            remove_old(&system, "h", RunLimit::OfSuite(most, "a"), &[]).unwrap();
            assert_eq!(system.list("h/runs").unwrap(), expected, "{most}");
        }
    }

    #[test]
    fn only_records_of_runs_are_old() {
        let system = MemorySystem::default();
        assert!(is_run_id(&run_id(&system, "h", jiff::Timestamp::UNIX_EPOCH)));
        for name in ["", "baseline", "20260101", "20260101T000000-00000g", "2026010xT000000-000001"]
        {
            assert!(!is_run_id(name), "{name}");
        }
    }

    #[test]
    fn trials_take_the_place_of_trials_alone() {
        let system = MemorySystem::default();
        for day in 0..MOST_TRIALS + 2 {
            let id = format!("202601{:02}T0000{:02}-000001", day % 28 + 1, day);
            system.set(&format!("h/runs/{id}/header.json"), "{}");
            system.set(&format!("h/runs/{}/header.json", trial_id(&id)), "{}");
        }
        remove_old_trials(&system, "h").unwrap();
        let left = system.list("h/runs").unwrap();
        let trials = left.iter().filter(|id| is_trial(id)).count();
        assert_eq!((trials, left.len() - trials), (MOST_TRIALS, MOST_TRIALS + 2));
        assert!(!is_trial("baseline-try") && !is_run_id(&trial_id(RUNS[0])));
    }
}
