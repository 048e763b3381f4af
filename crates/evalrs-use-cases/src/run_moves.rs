//! What moved since an earlier run of the suite: the last that left nothing out, unless somebody names another.
//!
//! Equal results are known by their digest and not read. Of others only lines that differ are compared.

use std::collections::HashSet;

use evalrs_base::ordered_map::OrderedMap;
use evalrs_metrics::diff::since::{MovedAgreement, RunMoves};
use evalrs_metrics::diff::{CaseName, DiffGraderLabels, DiffLabels, DiffSide, compare};
use evalrs_metrics::results::Summary;
use evalrs_store::record::read::PastRun;
use evalrs_store::record::results_digest;
use evalrs_store::record::side::{ChangedSides, read_changed_sides};
use evalrs_system::System;

/// A run that is compared with an earlier one.
#[derive(Clone, Copy, Debug)]
pub struct LaterRun<'a> {
    /// Its record.
    pub past: &'a PastRun,
    /// The digest of its results.
    pub digest: Option<&'a str>,
    /// Its summary.
    pub summary: &'a Summary,
}

/// What moved since `before`; none where that has no results. The labels are those that both are compared with, and are read only
/// where results differ.
pub fn moves_since(
    before: &PastRun,
    now: LaterRun<'_>,
    labels: impl FnOnce() -> DiffLabels,
    system: &dyn System,
) -> Option<RunMoves> {
    let LaterRun { past, digest, summary } = now;
    if digest.is_some() && results_digest(system, &before.folder).as_deref() == digest {
        return Some(RunMoves::none(&before.id));
    }
    let ChangedSides { sides: [old, new], places } = read_changed_sides(system, [before, past])?;
    let labels = labels();
    let diff = compare(&old, &new, None, &labels);
    let mut agreement = Vec::new();
    for (grader, changed) in &diff.graders.0 {
        let (Some(now), Some(found)) = (summary.label_agreement.get(grader), &changed.agreement)
        else {
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
