//! What a trace of files knows, and what it cannot know.
#![expect(clippy::disallowed_methods, reason = "tests change files behind the back of a trace")]

use super::{TracedAnswer, TracedSystem};
use crate::System;
use crate::memory::MemorySystem;
use crate::os::OsSystem;

type FileQuestion = fn(&dyn System, &str);

/// What was asked of a folder with two files, and that folder.
fn asked(ask: FileQuestion) -> (Option<Vec<TracedAnswer>>, tempfile::TempDir) {
    let dir = tempfile::tempdir().unwrap();
    let long_ago = std::time::SystemTime::now() - std::time::Duration::from_hours(1);
    for name in ["a", "b"] {
        std::fs::write(dir.path().join(name), name).unwrap();
        let file = std::fs::File::options().write(true).open(dir.path().join(name)).unwrap();
        file.set_modified(long_ago).unwrap();
    }
    wait_until_settled();
    let traced = TracedSystem::new(&OsSystem);
    ask(&traced, &dir.path().to_string_lossy());
    (traced.answers(|_| true), dir)
}

/// Waits until another write would get another time.
fn wait_until_settled() {
    let since = std::time::Instant::now();
    while since.elapsed() < std::time::Duration::from_millis(60) {
        std::thread::yield_now();
    }
}

#[cfg(unix)]
#[test]
fn answers_hold_until_what_they_are_about_changes() {
    let questions: [(FileQuestion, bool); 8] = [
        (|system, dir| drop(system.read(&format!("{dir}/a"))), false),
        (|system, dir| drop(system.open(&format!("{dir}/a"))), false),
        (|system, dir| drop(system.stamp(&format!("{dir}/c"))), false),
        (|system, dir| drop(system.list(dir)), false),
        (|system, dir| _ = system.is_link(&format!("{dir}/b")), false),
        (|system, dir| drop(system.resolved(&format!("{dir}/b"))), false),
        (|system, dir| _ = system.owner_mode(&format!("{dir}/a")), true),
        (|system, dir| drop(system.find_program(&format!("{dir}/a"))), true),
    ];
    for (at, (ask, holds)) in questions.into_iter().enumerate() {
        let (answers, dir) = asked(ask);
        let answers = answers.unwrap();
        let hold = || answers.iter().all(|answer| answer.holds(&OsSystem));
        assert!(!answers.is_empty() && hold(), "{at}");
        std::fs::write(dir.path().join("a"), "A").unwrap();
        std::fs::write(dir.path().join("c"), "").unwrap();
        std::fs::remove_file(dir.path().join("b")).unwrap();
        std::os::unix::fs::symlink("a", dir.path().join("b")).unwrap();
        assert_eq!(hold(), holds, "{at}");
    }
}

#[test]
fn what_cannot_be_seen_again_has_no_answers() {
    let gives_up: [FileQuestion; 3] = [
        |system, dir| system.read(&format!("{dir}/a")).into_bytes().map(drop).unwrap(),
        |system, _| drop(system.read("/dev/stdin")),
        |system, dir| drop(system.version_of(&format!("{dir}/a"), dir, &system.environment())),
    ];
    assert_eq!(asked(gives_up[0]).0.is_some(), cfg!(unix));
    assert!(gives_up[1..].iter().all(|ask| asked(*ask).0.is_none()));
    // A system that knows nothing of the state of files.
    let memory = MemorySystem::with(&[("a", "")]);
    let traced = TracedSystem::new(&memory);
    let _ = traced.read("a");
    assert_eq!(traced.answers(|_| true), None);
}

#[test]
fn what_was_written_here_is_no_input() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("new").to_string_lossy().into_owned();
    let traced = TracedSystem::new(&OsSystem);
    traced.append(&path, b"1").unwrap();
    let _ = traced.read(&path);
    assert_eq!(traced.answers(|_| true), Some(Vec::new()));
    let other = TracedSystem::new(&OsSystem);
    let _ = other.read(&path);
    assert_eq!(other.answers(|_| true), None, "it was written a moment ago");
}

#[cfg(unix)]
#[test]
fn a_write_of_a_moment_ago_is_seen_whatever_time_it_claims() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a").to_string_lossy().into_owned();
    std::fs::write(&path, "a").unwrap();
    let file = std::fs::File::options().write(true).open(&path).unwrap();
    file.set_modified(std::time::UNIX_EPOCH).unwrap();
    let traced = TracedSystem::new(&OsSystem);
    let _ = traced.read(&path);
    // Another write now may leave the file in the same state.
    assert_eq!(traced.answers(|_| true), None);
    wait_until_settled();
    let later = TracedSystem::new(&OsSystem);
    let _ = later.read(&path);
    assert!(later.answers(|_| true).is_some());
}
