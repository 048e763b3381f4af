//! Random edits: after each, what a session or run with a history says is what a run over an empty store says.
//!
//! What a session shows, or a run with a history, is replayed from its store wherever it can be. A run over an empty store calls
//! every program, holds every conversation and asks every judgment, so that a difference means that a key leaves something
//! out, or that an edit was missed. And what a key holds that decides nothing costs an action, which is counted. The edits are
//! random and their seeds fixed.
//!
//! There are three workspaces: of programs under `evalrs watch`, of targets that are run, and of labels. `EVALRS_ROUNDS`
//! says how many rounds each is edited.
#![expect(clippy::disallowed_methods, reason = "the environment says how many rounds there are")]

mod folder;
mod labelled;
mod live;
mod runs;
mod session;
mod workspace;

use std::collections::BTreeSet;

use serde_json::json;

use crate::judge::{Answer, Judge};
use crate::space::{Ran, Space, has, is_slow};

use folder::{Files, save_changes};
use labelled::{CalibratedState, LabelledWorkspace};
use live::{LiveKind, LiveServers, LiveWorkspace};
use runs::{CommittedFiles, FRESH, HISTORY};
use session::WatchSession;
use workspace::Workspace;

/// How many rounds each of so many tests of a workspace has: two hundred in all where tests may take long, or as many as the
/// environment says.
fn rounds(tests: u32) -> u32 {
    let all: u32 = match std::env::var("EVALRS_ROUNDS") {
        Ok(rounds) => rounds.parse().unwrap(),
        Err(_) if is_slow() => 200,
        Err(_) => 24,
    };
    all.div_ceil(tests)
}

/// One to three edits at random, or back to how it was `earlier`. Returns what was done.
fn some_edits<W: Clone>(
    workspace: &mut W,
    earlier: &[W],
    random: &mut fastrand::Rng,
    edit_once: fn(&mut W, &mut fastrand::Rng) -> String,
) -> Vec<String> {
    if random.u32(..8) == 0 {
        let round = random.usize(..earlier.len());
        *workspace = earlier[round].clone();
        return vec![format!("back to round {round}")];
    }
    (0..random.u32(1..=3)).map(|_| edit_once(workspace, random)).collect()
}

/// Edits the workspace of programs, and compares after each round.
fn check_programs(seed: u64) {
    if !has("python3") || !has("node") || !has("sh") {
        return;
    }
    // It always answers a prompt in the same way.
    let judge = Judge::new(|_, asked| {
        let sum: u32 = asked.question().bytes().map(u32::from).sum();
        Answer::score(f64::from(sum % 5) / 4.0)
    });
    let mut random = fastrand::Rng::with_seed(seed);
    let mut workspace = Workspace::new();
    let mut session = WatchSession::new(workspace.files(), &judge, &mut random);
    let mut earlier = vec![workspace.clone()];
    for round in 1..=rounds(4) {
        let edits = workspace.edit(&earlier, &mut random);
        workspace.number(round);
        session.edit(workspace.files(), workspace.threshold(), &mut random);
        session.compare(&format!("seed {seed}, round {round}: {edits:?}"));
        earlier.push(workspace.clone());
    }
    session.end();
}

#[test]
fn a_watched_session_agrees_with_fresh_runs_one() {
    check_programs(1);
}

#[test]
fn a_watched_session_agrees_with_fresh_runs_two() {
    check_programs(2);
}

#[test]
fn a_watched_session_agrees_with_fresh_runs_three() {
    check_programs(3);
}

#[test]
fn a_watched_session_agrees_with_fresh_runs_four() {
    check_programs(4);
}

/// How many tests there are of the workspace of targets.
const LIVE_TESTS: u32 = 6;

/// Edits the workspace of targets under `evalrs watch`, and compares after each round.
#[test]
fn a_watched_target_agrees_with_fresh_runs() {
    if !has("python3") || !has("sh") || !has("git") {
        return;
    }
    let seed = 16;
    let mut random = fastrand::Rng::with_seed(seed);
    let servers = LiveServers::new();
    let mut workspace = LiveWorkspace::new(LiveKind::Command, true);
    let files = workspace.files(&servers);
    let mut session = WatchSession::new(files, &servers.judge, &mut random);
    let mut earlier = vec![workspace.clone()];
    for round in 1..=rounds(LIVE_TESTS) {
        let edits = workspace.edit(&earlier, &mut random);
        workspace.number(round);
        session.edit(workspace.files(&servers), workspace.threshold(), &mut random);
        session.compare(&format!("seed {seed}, round {round}: {edits:?}"));
        earlier.push(workspace.clone());
    }
    session.end();
}

/// Edits the workspace of targets. After each round a run with a history, one without and the replay of that one are equal,
/// and the first executes what no round before did, and nothing else.
fn check_live(seed: u64, kind: LiveKind) {
    if !has("python3") || !has("sh") || !has("git") {
        return;
    }
    let mut random = fastrand::Rng::with_seed(seed);
    let servers = LiveServers::new();
    let space = Space::new(&[]);
    let mut workspace = LiveWorkspace::new(kind, false);
    let mut files = Files::new();
    let mut earlier = Vec::new();
    let mut held = BTreeSet::new();
    let mut judged = BTreeSet::new();
    for round in 0..=rounds(LIVE_TESTS) {
        let mut edits = Vec::new();
        if round > 0 {
            edits = workspace.edit(&earlier, &mut random);
        }
        workspace.number(round);
        let next = workspace.files(&servers);
        save_changes(&space, &files, &next, &mut random);
        files = next;
        let state = format!("seed {seed}, round {round}: {edits:?}\n{files:#?}");
        let variables = workspace.variables(&servers);
        let run = |store, args: &[&str]| runs::run(&space, &variables, store, args);
        let replayed = run(HISTORY, &[]);
        runs::empty_store(&space);
        let first = run(FRESH, &[]);
        let again = run(FRESH, &["--frozen"]);
        replayed.assert_equals(&first, "with a history and without", &state);
        first.assert_equals(&again, "the first run and its replay", &state);
        // What fails everywhere compares nothing.
        assert_ne!(first.code, 3, "{state}\n{:#?}", first.results);
        assert_eq!(again.asked(), 0, "{state}");
        let conversations = workspace.conversations();
        let new = conversations.difference(&held).count();
        assert_eq!(replayed.conversations(), new, "conversations; {state}");
        let judgments = workspace.judgments(&first.results);
        let new = new + judgments.difference(&judged).count();
        assert_eq!(replayed.asked(), new, "actions; {state}");
        assert_eq!(first.asked(), conversations.len() + judgments.len(), "all actions; {state}");
        held.extend(conversations);
        judged.extend(judgments);
        earlier.push(workspace.clone());
    }
}

#[test]
fn a_command_with_a_history_agrees_with_fresh_runs() {
    check_live(11, LiveKind::Command);
}

#[test]
fn a_function_with_a_history_agrees_with_fresh_runs() {
    check_live(12, LiveKind::Function);
}

#[test]
fn a_deployed_agent_with_a_history_agrees_with_fresh_runs() {
    check_live(13, LiveKind::Http);
}

#[test]
fn a_command_line_with_a_history_agrees_with_fresh_runs() {
    check_live(14, LiveKind::Headless);
}

#[test]
fn an_agent_on_a_server_with_a_history_agrees_with_fresh_runs() {
    check_live(15, LiveKind::Letta);
}

/// Edits the workspace of labels. After each round a run with a history, one without and the replay of that one tell the same of
/// labels and calibrations, and the first asks what no round before did, and nothing else.
fn check_labels(seed: u64) {
    let mut random = fastrand::Rng::with_seed(seed);
    let judge = labelled::judge();
    let space = Space::new(&[]);
    let mut workspace = LabelledWorkspace::new(&mut random);
    let mut files = Files::new();
    let mut earlier = Vec::new();
    let mut judged = BTreeSet::new();
    let mut calibrated: Option<CalibratedState> = None;
    for round in 0..=rounds(2) {
        let mut edits = Vec::new();
        if round > 0 {
            edits = workspace.edit(&earlier, &mut random);
        }
        workspace.number(round);
        let next = workspace.files();
        save_changes(&space, &files, &next, &mut random);
        files = next;
        let state = format!("seed {seed}, round {round}: {edits:?}\n{files:#?}");
        let variables = [("OPENAI_BASE_URL", judge.url())];
        let run = |store, args: &[&str]| {
            runs::run(&space, &variables, store, &[&["--require-calibration"], args].concat())
        };
        let committed = CommittedFiles::read(&space);
        let replayed = run(HISTORY, &[]);
        let written = CommittedFiles::read(&space);
        committed.restore(&space);
        runs::empty_store(&space);
        let first = run(FRESH, &[]);
        assert_eq!(written, CommittedFiles::read(&space), "{state}");
        let again = run(FRESH, &["--frozen"]);
        replayed.assert_equals(&first, "with a history and without", &state);
        first.assert_equals(&again, "the first run and its replay", &state);
        let judgments = workspace.judgments();
        let new = judgments.difference(&judged).count();
        assert_eq!(replayed.asked(), new, "judgments; {state}");
        let stale = calibrated.as_ref().map(|calibrated| calibrated.stale(&workspace.judge));
        let told = &first.summary["calibration"]["quality"]["stale"];
        assert_eq!(*told, json!(stale), "stale; {state}");
        let is_calibrated = stale.is_some_and(|stale| stale.is_empty());
        assert_eq!(first.code, if is_calibrated { 0 } else { 3 }, "{state}");
        assert!(first.summary["held_out"]["quality"]["at_least"].is_f64(), "{}", first.summary);
        if random.u32(..3) == 0 {
            calibrate_both(&space, &judge, &state);
            calibrated = Some(workspace.judge.clone());
        }
        judged.extend(judgments);
        earlier.push(workspace.clone());
    }
}

/// Calibrates over both stores: nobody is asked, and both come to the same.
fn calibrate_both(space: &Space, judge: &Judge, state: &str) {
    let asked = judge.count();
    let committed = CommittedFiles::read(space);
    let found = [HISTORY, FRESH].map(|store| {
        committed.restore(space);
        let args = ["calibrate", "--suite", "suite.yaml", "--cache-dir", store];
        let ran: Ran = space.run_with(judge, &args);
        assert_eq!(ran.code(), 0, "{}; {state}", ran.shown());
        (ran.stdout(), CommittedFiles::read(space))
    });
    assert_eq!(found[0], found[1], "calibrations; {state}");
    assert_eq!(judge.count(), asked, "{state}");
}

#[test]
fn labels_and_calibrations_agree_with_fresh_runs_one() {
    check_labels(21);
}

#[test]
fn labels_and_calibrations_agree_with_fresh_runs_two() {
    check_labels(22);
}
