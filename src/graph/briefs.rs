//! Results as a digest reads them: put together only where it tells more of them than that grades failed.
//!
//! Of hundreds of thousands of results a report for people shows a few failures, and groups errors; of all others it counts
//! verdicts, which cells tell.

use std::sync::Arc;

use super::inputs::{Chunk, Root};
use super::queries::{Cells, cells, checked, graders, places, plans};
use super::results::line;
use super::{Database, Db};
use crate::pipeline::delta::CellState;
use crate::pipeline::evaluate::Planned;
use crate::pipeline::grade::{is_of_nothing, speaks_of_nothing};
use crate::pipeline::key::ActionKey;
use crate::pipeline::outcome::Outcome;
use crate::pipeline::results::brief::BriefResult;

/// The plans of a grader for a chunk, and what they came to.
struct GraderPart<'a> {
    name: &'a str,
    plans: &'a Arc<[Planned]>,
    cells: &'a Cells,
}

/// The results in dataset order, for a digest that keeps the first `keep` failures of each grader.
pub(crate) fn briefs(
    db: &Database,
    root: Root,
    keep: usize,
) -> impl Iterator<Item = BriefResult<'_>> + '_ {
    let mut failed = vec![0; graders(db, root).len()];
    root.chunks(db).iter().flat_map(move |chunk| chunk_briefs(db, *chunk, keep, &mut failed))
}

/// The same of a chunk, after so many failures of each grader.
fn chunk_briefs<'a>(
    db: &'a Database,
    chunk: Chunk,
    keep: usize,
    failed: &mut [usize],
) -> Vec<BriefResult<'a>> {
    let of_graders = graders(db, chunk.root(db)).iter();
    let parts: Vec<GraderPart<'a>> = of_graders
        .map(|grader| GraderPart {
            name: grader.name(db),
            plans: plans(db, chunk, *grader),
            cells: cells(db, chunk, *grader),
        })
        .collect();
    let whos = checked(db, chunk).whos.iter().zip(places(db, chunk)).enumerate();
    let evaluated = whos.filter(|(_, (_, place))| place.is_in());
    let mut brief = |case: usize, trial: u32| {
        let mut is_needed = false;
        let mut names = Vec::new();
        for (part, failed) in parts.iter().zip(failed.iter_mut()) {
            let state = part.cells.cells.get(case)?.state;
            is_needed |= matches!(state, CellState::Errored | CellState::Pending);
            is_needed |= may_be_of_nothing(db, part.plans.get(case)?);
            if state == CellState::Failed {
                is_needed |= *failed < keep;
                *failed += 1;
                names.push(part.name);
            }
        }
        if !is_needed {
            return Some(BriefResult::Failed { trial, graders: names });
        }
        line(db, chunk, case).map(|line| BriefResult::Whole(Box::new(line)))
    };
    evaluated.filter_map(|(case, (who, _))| brief(case, who.identity.trial)).collect()
}

/// Whether a grade may say that there was nothing to grade: a judge or a program may say so in the same words.
fn may_be_of_nothing(db: &Database, planned: &Planned) -> bool {
    match planned {
        Planned::Graded(grade) => is_of_nothing(&grade.rationale),
        Planned::Ask(_) | Planned::Votes(_) | Planned::Confirmed { .. } => {
            let mut is_said = false;
            planned.each_key(&mut |_, key| is_said |= is_reply_of_nothing(db, key));
            is_said
        }
        Planned::Skipped => false,
        Planned::Extract(_) | Planned::Converse(_) | Planned::Turns(_) | Planned::Blocked => true,
    }
}

fn is_reply_of_nothing(db: &Database, key: ActionKey) -> bool {
    match db.outcome(key).as_deref() {
        Some(Outcome::Reply(reply)) => speaks_of_nothing(&reply.text),
        Some(Outcome::Failure(_)) | None => false,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fmt::Write;
    use std::sync::Arc;

    use super::briefs;
    use crate::base::system::memory::MemorySystem;
    use crate::engine::session::Session;
    use crate::graph::change::Change;
    use crate::graph::inputs::Overrides;
    use crate::graph::planned_actions::planned_actions;
    use crate::graph::{Database, results};
    use crate::pipeline::grade::EMPTY_SUBMISSION;
    use crate::pipeline::outcome::{Outcome, Reply};
    use crate::pipeline::report::digest::ReportDigest;
    use crate::pipeline::results::brief::BriefResult;

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
        assert!(!said.iter().any(crate::base::diagnostic::Diagnostic::is_error), "{said:?}");
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
                let brief =
                    ReportDigest::of_briefs(Box::new(briefs(db, *root, keep)), keep, counts);
                let whole = lines.iter().cloned().map(|line| BriefResult::Whole(Box::new(line)));
                let whole = ReportDigest::of_briefs(Box::new(whole), keep, counts);
                assert!(brief.failed > 0 && brief.empty > 0, "{brief:?}");
                assert_eq!(format!("{brief:?}"), format!("{whole:?}"), "{keep} failures");
            }
        }
        let whole = briefs(db, *root, 3).filter(|brief| matches!(brief, BriefResult::Whole(_)));
        assert!((1..300).contains(&whole.count()), "most are only counted");
    }
}
