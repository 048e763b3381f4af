//! A digest says the same of brief results as of whole ones.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;

use crate::session::Session;
use evalrs_eval::grade::EMPTY_SUBMISSION;
use evalrs_graph::briefs::briefs;
use evalrs_graph::change::Change;
use evalrs_graph::inputs::Overrides;
use evalrs_graph::planned_actions::planned_actions;
use evalrs_graph::{Database, results};
use evalrs_metrics::results::report::BriefResult;
use evalrs_model::outcome::{Outcome, Reply};
use evalrs_report::digest::ReportDigest;
use evalrs_system::memory::MemorySystem;

const SUITE: &str = r#"
name: s
dataset: d.jsonl
graders:
  says: {kind: tool, function: contains}
  never: {kind: tool, function: contains, not: true}
  asked: {kind: rubric, prompt: 'Is {submission} kind?', model: judge-1, endpoint: test, only: "'judged' in tags"}
"#;

/// Rows that pass and fail; every so often one without a text, without an answer, of a later trial, or that waits for
/// a judge.
fn rows() -> String {
    let mut rows = String::new();
    for at in 0..400 {
        let said = match at % 7 {
            0 => r#""output": """#.to_owned(),
            1 => r#""messages": []"#.to_owned(),
            _ => format!(r#""output": "answer {at}""#),
        };
        let asked = match at % 10 {
            0 => r#""input": ["a", "b"], "ground_truth": ["one", "x"]"#.to_owned(),
            digit => format!(r#""input": "q", "ground_truth": "{digit}""#),
        };
        let tags = if at % 50 == 3 { r#", "tags": ["judged"]"# } else { "" };
        let sample = at / 2;
        let trial = at % 2;
        writeln!(rows, r#"{{"id": "s{sample}", "trial": {trial}, {asked}, {said}{tags}}}"#)
            .unwrap();
    }
    rows
}

#[test]
fn a_digest_says_the_same_of_brief_results() {
    let system = MemorySystem::with(&[("suite.yaml", SUITE), ("d.jsonl", &rows())]);
    let mut session =
        Session::new(Database::default(), "suite.yaml", BTreeMap::new(), Overrides::default());
    let said = session.load(&system);
    assert!(!said.iter().any(evalrs_base::diagnostic::Diagnostic::is_error), "{said:?}");
    check(&session);
    // A judge that says in the same words that there was nothing to grade.
    let text = format!(r#"{{"rationale": "{EMPTY_SUBMISSION}", "score": 0.0}}"#);
    let outcome = Arc::new(Outcome::Reply(Reply::new(text)));
    let actions = planned_actions(&session.db, session.root);
    let outcomes: Vec<_> = actions.map(|action| (action.key, Arc::clone(&outcome))).collect();
    assert!(!outcomes.is_empty());
    let waiting = session.chunks();
    let change = Change { outcomes, waiting, ..Change::default() };
    change.apply(&mut session.db, session.root);
    check(&session);
}

fn check(session: &Session) {
    let Session { db, root, .. } = session;
    let lines: Vec<_> = results::lines(db, *root).collect();
    assert_eq!(lines.len(), 400);
    let is_of_interest = |name: &str| name != "says";
    for keep in [0, 3, 50, 1000] {
        for counts in [&|_: &str| true, &is_of_interest] as [&dyn Fn(&str) -> bool; 2] {
            let brief = ReportDigest::of_briefs(Box::new(briefs(db, *root, keep)), keep, counts);
            let whole = lines.iter().cloned().map(|line| BriefResult::Whole(Box::new(line)));
            let whole = ReportDigest::of_briefs(Box::new(whole), keep, counts);
            assert!(brief.failed > 0 && brief.empty > 0, "{brief:?}");
            assert_eq!(format!("{brief:?}"), format!("{whole:?}"), "{keep} failures");
        }
    }
    let whole = briefs(db, *root, 3).filter(|brief| matches!(brief, BriefResult::Whole(_)));
    assert!((1..300).contains(&whole.count()), "most are only counted");
}
