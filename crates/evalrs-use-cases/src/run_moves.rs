//! What moved since an earlier run of the suite: the last that left nothing out, unless somebody names another.
//!
//! Equal results are known by their digest and not read. Of others only lines that differ are compared.

use std::collections::HashSet;

use evalrs_base::ordered_map::OrderedMap;
use evalrs_metrics::diff::since::{MovedAgreement, RunMoves};
use evalrs_metrics::diff::{CaseName, DiffGraderLabels, DiffLabels, DiffSide, compare};
use evalrs_metrics::metric::labels::LabelAgreement;
use evalrs_store::record::read::PastRun;
use evalrs_store::record::results_digest;
use evalrs_store::record::side::{ChangedSides, CommonParts, read_changed_sides, read_other_parts};
use evalrs_system::System;

/// A run that is compared with an earlier one.
#[derive(Clone, Debug)]
pub struct LaterRun<'a> {
    /// Its record.
    pub past: &'a PastRun,
    /// The digest of its results.
    pub digest: Option<&'a str>,
    /// Grader → how far its verdicts agree with labels.
    pub agreement: &'a OrderedMap<LabelAgreement>,
    /// What its results have in common with those of the earlier run, if that is known.
    pub common: Option<CommonParts>,
}

/// What moved since `before`; none where that has no results. The labels are those that both are compared with, and are read only
/// where results differ.
pub fn moves_since(
    before: &PastRun,
    now: LaterRun<'_>,
    labels: impl FnOnce() -> DiffLabels,
    system: &dyn System,
) -> Option<RunMoves> {
    let LaterRun { past, digest, agreement: agreements, common } = now;
    if digest.is_some() && results_digest(system, &before.folder).as_deref() == digest {
        return Some(RunMoves::none(&before.id));
    }
    let sides = [before, past];
    let changed = match common {
        Some(common) => read_other_parts(system, sides, common)?,
        None => read_changed_sides(system, sides)?,
    };
    let ChangedSides { sides: [old, new], places } = changed;
    let labels = labels();
    let diff = compare(&old, &new, None, &labels);
    let mut agreement = Vec::new();
    for (grader, changed) in &diff.graders.0 {
        let (Some(now), Some(found)) = (agreements.get(grader), &changed.agreement) else {
            continue;
        };
        let added = labels.0.get(grader).map_or(0, |labels| labelled_only_in(&new, &old, labels));
        let compared = now.n.saturating_sub(added) as f64;
        let change = found.difference.unwrap_or_default() * found.n as f64 / compared;
        if let Some(now) = now.accuracy.filter(|_| change.is_finite() && change != 0.0) {
            let before = now - change;
            agreement.push((grader.clone(), MovedAgreement { before, now }));
        }
    }
    Some(RunMoves { agreement: OrderedMap(agreement), ..RunMoves::of(&diff, &places) })
}

/// How many labelled cases one side has and the other has not.
fn labelled_only_in(one: &DiffSide, other: &DiffSide, labels: &DiffGraderLabels) -> usize {
    let there: HashSet<&CaseName> = other.cases.iter().map(|case| &case.name).collect();
    let own = one.cases.iter().map(|case| &case.name);
    own.filter(|name| !there.contains(name) && labels.labels.contains_key(name)).count()
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::collections::HashMap;

    use super::{LaterRun, moves_since};
    use evalrs_base::ordered_map::OrderedMap;
    use evalrs_metrics::diff::since::{MovedAgreement, RunMoves};
    use evalrs_metrics::diff::{CaseName, DiffGraderLabels, DiffLabels};
    use evalrs_metrics::metric::labels::LabelAgreement;
    use evalrs_model::spec::Label;
    use evalrs_store::record::read::open;
    use evalrs_system::memory::MemorySystem;

    const HEADER: &str = r#"{"format": 1, "suite": "s", "settings": {"graders": [{"name": "g"}]}}"#;

    /// A line a sample, `1` of those that pass.
    fn results(verdicts: &str) -> String {
        let line = |(at, char): (usize, char)| {
            let pass = char == '1';
            let score = u8::from(pass);
            format!(
                r#"{{"format":2,"sample_id":"s{at}","submission":"","grades":{{"g":{{"score":{score},"pass":{pass},"error":null}}}}}}"#
            ) + "\n"
        };
        verdicts.chars().enumerate().map(line).collect()
    }

    /// What moved, and whether labels were read: all of the first ten samples pass.
    fn moves(before: &str, now: &str, digests: [&str; 2]) -> (RunMoves, bool) {
        let facts = format!(r#"{{"results_digest": "{}"}}"#, digests[0]);
        let system = MemorySystem::with(&[
            ("old/header.json", HEADER),
            ("old/results.jsonl", &results(before)),
            ("old/run.json", &facts),
            ("new/header.json", HEADER),
            ("new/results.jsonl", &results(now)),
        ]);
        let [old, new] = ["old", "new"].map(|id| open(&system, id, id).unwrap());
        let n = now.len().min(10);
        let agreeing = now.chars().take(10).filter(|char| *char == '1').count();
        let accuracy = Some(agreeing as f64 / n as f64);
        let agreement = LabelAgreement { n, accuracy, ..LabelAgreement::default() };
        let agreement = OrderedMap(vec![("g".to_owned(), agreement)]);
        let were_read = Cell::new(false);
        let labels = || {
            were_read.set(true);
            let name = |at| CaseName { sample_id: format!("s{at}"), model: None, trial: 0 };
            let labels = (0..10).map(|at| (name(at), Label::Pass(true))).collect();
            let labels = DiffGraderLabels { threshold: 0.5, labels };
            DiffLabels(HashMap::from([("g".to_owned(), labels)]))
        };
        let agreement = &agreement;
        let now = LaterRun { past: &new, digest: Some(digests[1]), agreement, common: None };
        let moves = moves_since(&old, now, labels, &system).unwrap();
        (moves, were_read.get())
    }

    #[test]
    fn equal_results_are_not_read() {
        // They are not, but their digest says so.
        let (moves, has_labels) = moves("1", "0", ["a", "a"]);
        assert_eq!((moves, has_labels), (RunMoves::none("old"), false));
    }

    #[test]
    fn agreement_is_of_all_labels_though_few_verdicts_are_read() {
        let (found, _) = moves("0011111111", "1111011111", ["a", "b"]);
        assert_eq!((found.fixed, found.broken, found.new), (2, 1, 0));
        assert_eq!(found.since, "old");
        let places: Vec<_> = found.verdicts.iter().map(|moved| moved.at).collect();
        assert_eq!(places, [Some(4), Some(0), Some(1)], "what is broken comes first");
        let agreement = found.agreement.get("g").unwrap();
        let expected = MovedAgreement { before: 0.8, now: 0.9 };
        assert!((agreement.before - expected.before).abs() < 1e-12, "{agreement:?}");
        assert!((agreement.now - expected.now).abs() < 1e-12, "{agreement:?}");
        // One labelled case more is no change of the others.
        let (found, _) = moves("00111", "111110", ["a", "b"]);
        let agreement = found.agreement.get("g").unwrap();
        assert!((agreement.now - agreement.before - 0.4).abs() < 1e-12, "{agreement:?}");
        assert_eq!((found.new, found.gone), (1, 0));
        let (found, _) = moves("1100", "1100", ["a", "b"]);
        assert_eq!((found.moved(), found.agreement.0.len()), (0, 0));
    }
}
