//! Random edits: after each, a run with the index gives what a run without it gives.
#![expect(clippy::disallowed_methods, reason = "tests remove the index, and read the environment")]

use std::fs;

use regex::Regex;

use super::edits::{EditedWorkspace, SUITE};
use super::{is_repeated, printed, wait_until_settled};
use crate::judge::{Answer, Judge};
use crate::space::{Ran, Running, Space, has};

/// How many tests share the rounds.
const TESTS: u32 = 4;

/// How many rounds one test has: `EVALRS_ROUNDS` says how many all have.
fn rounds() -> u32 {
    let all: u32 = std::env::var("EVALRS_ROUNDS").map_or(200, |rounds| rounds.parse().unwrap());
    all.div_ceil(TESTS)
}

fn start(space: &Space, judge: &Judge) -> Running {
    let mut command = space.command(&["run", SUITE]);
    command.env("OPENAI_BASE_URL", judge.url()).env("EVALRS_LOG", "debug");
    Running::new(command)
}

/// What a run leaves, without its time and its id.
fn left(space: &Space, ran: &Ran) -> Vec<(String, String)> {
    let times = Regex::new(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[.0-9]*Z").unwrap();
    let ids = Regex::new(r"\d{8}T\d{6}-[0-9a-f]{6}").unwrap();
    // It is also of the id and the time.
    let digest = Regex::new(r#""facts_digest": "[0-9a-f]{64}""#).unwrap();
    let plain = |text: &str| {
        let text = times.replace_all(text, "TIME");
        let text = ids.replace_all(&text, "RUN");
        digest.replace_all(&text, "DIGEST").into_owned()
    };
    let mut left = vec![("printed".to_owned(), printed(ran))];
    let mut names: Vec<String> =
        fs::read_dir(space.latest()).unwrap().map(|file| name(&file.unwrap())).collect();
    names.sort();
    for name in names {
        left.push((name.clone(), plain(&space.record(&name))));
    }
    for name in space.names(".evalrs").into_iter().filter(|name| name.contains(".jsonl")) {
        left.push((name.clone(), plain(&space.read(&format!(".evalrs/{name}")))));
    }
    left.push(("runs".to_owned(), space.names(".evalrs/runs").len().to_string()));
    left
}

fn name(file: &fs::DirEntry) -> String {
    file.file_name().into_string().unwrap()
}

fn assert_same(with: &[(String, String)], without: &[(String, String)], state: &str) {
    for (with, without) in with.iter().zip(without) {
        assert_eq!(with, without, "{state}");
    }
    assert_eq!(with.len(), without.len(), "{state}");
}

/// A run with the index, once it is clear that it gave what one without gives.
fn compare(workspace: &EditedWorkspace, judge: &Judge, state: &str) -> Ran {
    let copy = workspace.copy();
    let running = start(&copy, judge);
    let with = start(&workspace.space, judge).finish();
    let without = running.finish();
    assert!(!is_repeated(&without), "{state}");
    assert_same(&left(&workspace.space, &with), &left(&copy, &without), state);
    with
}

fn check(seed: u64) {
    if !has("python3") {
        return;
    }
    let judge = Judge::new(|_, asked| {
        let sum: u32 = asked.question().bytes().map(u32::from).sum();
        Answer::score(f64::from(sum % 5) / 4.0)
    });
    let mut workspace = EditedWorkspace::new(&judge, seed);
    let mut random = fastrand::Rng::with_seed(seed);
    let mut repeated = [0; 2];
    let mut was_settled = false;
    for round in 0..rounds() {
        let mut edits = workspace.edit();
        if random.u32(..6) == 0 {
            let mut running = start(&workspace.space, &judge);
            edits.push(workspace.edit_during(&mut running));
            running.finish();
        }
        let ran = compare(&workspace, &judge, &format!("seed {seed}, round {round}: {edits:?}"));
        // What is not whole is never repeated: a suite with an error, a run whose calls were used up.
        let is_whole = workspace.is_repeatable() && ran.code() < 2;
        let may_be = was_settled && edits.is_empty() && is_whole;
        repeated[usize::from(is_repeated(&ran))] += u32::from(may_be);
        was_settled = random.u32(..3) > 0;
        if was_settled {
            wait_until_settled();
            start(&workspace.space, &judge).finish();
        }
    }
    // Else nothing was compared.
    assert!(repeated[1] > repeated[0], "{repeated:?}");
}

#[test]
fn whatever_is_edited_the_index_decides_nothing_one() {
    check(1);
}

#[test]
fn whatever_is_edited_the_index_decides_nothing_two() {
    check(2);
}

#[test]
fn whatever_is_edited_the_index_decides_nothing_three() {
    check(3);
}

#[test]
fn whatever_is_edited_the_index_decides_nothing_four() {
    check(4);
}
