//! Folds over every chunk: aggregates, breakdowns, the gate, and queries of held-out labels.
//!
//! Each is a query, so that an evaluation in which nothing changed aggregates nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Add;
use std::sync::Arc;

use super::Db;
use super::cases::{placed, placed_at};
use super::declared::{declared_metrics, metric_value, named_model};
use super::inputs::{Chunk, Root};
use super::known_grades;
use super::labels::drawn::{SampledLabel, sampled_label};
use super::labels::{
    has_labels, held_out_labels, held_out_share, labels, people, scales, stale_labels,
};
use super::queries::{self, Grader, Threshold, cells, gate_rule, graders, places};
use super::selection::{SelectedOrdinals, named};
use evalrs_base::ordered_map::OrderedMap;
use evalrs_base::threshold::reaches;
use evalrs_eval::evaluate::{self, GradePlan, Method, criteria, each_wanted};
use evalrs_eval::judge::question::Question;
use evalrs_metrics::gate::{self, ErrorBounds, GateInputs, GateReport, GatedGrades};
use evalrs_metrics::metric::agreement::Agreement;
use evalrs_metrics::metric::annotators::{AnnotatorAgreement, LabelCount};
use evalrs_metrics::metric::holdout::{HeldOutQuestion, HeldOutVerdict};
use evalrs_metrics::metric::labels::LabelAgreement;
use evalrs_metrics::metric::people::{JudgedCase, PeopleEstimate};
use evalrs_metrics::metric::trials::TrialFindings;
use evalrs_metrics::metric::{Metric, Observation};
use evalrs_metrics::results::trials::SplitResult;
use evalrs_metrics::results::usage::{GraderUsage, JudgmentUsage, ModelUsage};
use evalrs_model::delta::CellState;
use evalrs_model::key::KeySet;
use evalrs_model::spec::{GraderKind, Label, RewardSpec, Scale};
use evalrs_statistics::reusable_holdout::AgreementCount;

/// A grader's grades in dataset order, without results that it has nothing to say of.
#[salsa::tracked]
pub fn observations<'db>(db: &'db dyn Db, grader: Grader<'db>) -> Arc<[Observation]> {
    let mut all = Vec::new();
    let mut results = 0..;
    for chunk in grader.root(db).chunks(db) {
        let places = places(db, *chunk).iter();
        let cells = cells(db, *chunk, grader).cells.iter();
        all.extend(cells.zip(places).filter_map(|(cell, place)| {
            let SelectedOrdinals { sample, model } = place.selected?;
            let result = results.next()?;
            let applies = cell.state != CellState::NotApplicable;
            applies.then(|| Observation {
                result,
                sample,
                model,
                score: cell.score,
                pass: cell.state == CellState::Passed,
                errored: matches!(cell.state, CellState::Errored | CellState::Pending),
            })
        }));
    }
    Arc::from(all)
}

/// What the grades by the criteria of a rubric might have been where one could not be judged, in the order of results.
#[salsa::tracked]
pub fn error_bounds<'db>(db: &'db dyn Db, grader: Grader<'db>) -> Vec<ErrorBounds> {
    if !matches!(grader.kind(db), GraderKind::Reward(RewardSpec::Criteria(_))) {
        return Vec::new();
    }
    let Threshold(threshold) = grader.pass_threshold(db);
    let mut bounds = Vec::new();
    let mut results = 0..;
    for chunk in grader.root(db).chunks(db) {
        let cells = cells(db, *chunk, grader).cells.iter();
        for (case, (cell, place)) in cells.zip(places(db, *chunk)).enumerate() {
            if place.selected.is_none() {
                continue;
            }
            let Some(result) = results.next() else { break };
            if cell.state != CellState::Errored {
                continue;
            }
            let Some(GradePlan::Graded(grade)) = queries::plans(db, *chunk, grader).get(case)
            else {
                continue;
            };
            let ends = criteria::bounds(grade);
            bounds.extend(ends.map(|[least, greatest]| {
                let passes = reaches(least, threshold);
                let is_one_verdict = passes == reaches(greatest, threshold);
                ErrorBounds { result, least, greatest, passes: is_one_verdict.then_some(passes) }
            }));
        }
    }
    bounds
}

/// The status of the gate.
#[salsa::tracked]
pub fn gate_report(db: &dyn Db, root: Root) -> GateReport {
    let Some(rule) = gate_rule(db, root) else { return GateReport::default() };
    let graders = graders(db, root);
    let grader = |name: &str| graders.iter().find(|grader| grader.name(db) == name).copied();
    let metrics = declared_metrics(db, root);
    let inputs = GateInputs {
        grades: &|name| {
            let grader = grader(name)?;
            let bounds = error_bounds(db, grader);
            Some(GatedGrades { grades: observations(db, grader), bounds })
        },
        metrics: &|name| {
            let metric = metrics.iter().find(|metric| metric.spec(db).name == name)?;
            Some(metric_value(db, *metric))
        },
        labels: &|name| label_agreement(db, grader(name)?),
    };
    gate::decide_with(rule, inputs)
}

/// A grader's aggregates.
#[salsa::tracked]
pub fn metric<'db>(db: &'db dyn Db, grader: Grader<'db>) -> Metric {
    let results = queries::selection(db, grader.root(db)).cases;
    Metric::among(results, observations(db, grader)).on(scale(db, grader))
}

fn scale(db: &dyn Db, grader: Grader<'_>) -> Scale {
    let all = scales(db, grader.root(db));
    let own = all.iter().find(|(name, _)| name == grader.name(db));
    own.map_or(Scale::UNIT, |(_, scale)| *scale)
}

/// What the trials of samples tell of a grader; none where no sample has two.
#[salsa::tracked]
pub fn trial_findings<'db>(db: &'db dyn Db, grader: Grader<'db>) -> Option<TrialFindings> {
    TrialFindings::of(observations(db, grader))
}

/// The results of a grader with votes on both sides of its pass threshold, by their ordinals; none where
/// there is one vote a submission.
#[salsa::tracked]
pub fn split_results<'db>(db: &'db dyn Db, grader: Grader<'db>) -> Option<Vec<SplitResult>> {
    let ready = queries::ready(db, grader);
    let Threshold(threshold) = grader.pass_threshold(db);
    ready.judge().filter(|judge| judge.first_ballots() > judge.question().orders())?;
    let mut results = Vec::new();
    let mut at = 0;
    for chunk in grader.root(db).chunks(db) {
        // Reading the epoch is what makes this query run again when outcomes arrive.
        let _ = chunk.epoch(db);
        let planned = queries::plans(db, *chunk, grader).iter().zip(places(db, *chunk));
        for (planned, _) in planned.filter(|(_, place)| place.is_in()) {
            let split = evaluate::split_votes(planned, ready, &|key| db.outcome(key), threshold);
            results.extend(split.into_iter().map(|votes| SplitResult { at, votes }));
            at += 1;
        }
    }
    Some(results)
}

/// Model → grader → aggregates, in the order models appear.
#[salsa::tracked]
pub fn by_model(db: &dyn Db, root: Root) -> OrderedMap<OrderedMap<Metric>> {
    let models = queries::selection(db, root).models.iter().zip(0..);
    let by_model = models.map(|(model, ordinal)| {
        let metrics = graders(db, root).iter().map(|grader| {
            let all = observations(db, *grader).iter();
            let own: Vec<Observation> = all.filter(|seen| seen.model == ordinal).copied().collect();
            let metric = Metric::among(results_of(db, root, ordinal), &own);
            (grader.name(db).clone(), metric.on(scale(db, *grader)))
        });
        (named_model(model.as_deref()), OrderedMap(metrics.collect()))
    });
    OrderedMap(by_model.collect())
}

fn results_of(db: &dyn Db, root: Root, model: u32) -> usize {
    let places = root.chunks(db).iter().flat_map(|chunk| places(db, *chunk));
    places.filter(|place| place.selected.is_some_and(|selected| selected.model == model)).count()
}

/// The aggregates of each tag, sorted by tag; none where no row has one.
#[salsa::tracked]
pub fn by_tag(db: &dyn Db, root: Root) -> Option<OrderedMap<OrderedMap<Metric>>> {
    let mut ordinals: BTreeMap<&str, Vec<u32>> = BTreeMap::new();
    let mut ordinal = 0;
    for chunk in root.chunks(db) {
        for (who, _) in placed(db, *chunk).filter(|(_, place)| place.is_in()) {
            for tag in &who.identity.tags {
                let own = ordinals.entry(tag).or_default();
                // A row may name a tag twice.
                if own.last() != Some(&ordinal) {
                    own.push(ordinal);
                }
            }
            ordinal += 1;
        }
    }
    if ordinals.is_empty() {
        return None;
    }
    let by_tag = ordinals.into_iter().map(|(tag, results)| {
        let metrics = graders(db, root).iter().map(|grader| {
            let all = observations(db, *grader);
            // Both are in the order of results.
            let find = |result: &u32| all.binary_search_by_key(result, |seen| seen.result).ok();
            let own: Vec<Observation> = results.iter().filter_map(find).map(|at| all[at]).collect();
            (grader.name(db).clone(), Metric::among(results.len(), &own).on(scale(db, *grader)))
        });
        (tag.to_owned(), OrderedMap(metrics.collect()))
    });
    Some(OrderedMap(by_tag.collect()))
}

/// The score of each ballot of a grader, on the judges' own scale: one row for each submission that is judged, in
/// dataset order, one column for each judge and vote, judge by judge. None where a ballot has no verdict. Empty for
/// graders with one ballot a submission, and for those that compare. Ballots that confirm are left out: only bad
/// submissions have them.
#[salsa::tracked]
pub fn ballot_scores<'db>(db: &'db dyn Db, grader: Grader<'db>) -> Vec<Vec<Option<f64>>> {
    let ready = queries::ready(db, grader);
    let is_measured = ready.judge().is_some_and(|judge| {
        judge.first_ballots() > 1 && matches!(judge.question(), Question::Score(_))
    });
    if !is_measured && !ready.records_votes() {
        return Vec::new();
    }
    let mut rows = Vec::new();
    for chunk in grader.root(db).chunks(db) {
        // Reading the epoch is what makes this query run again when outcomes arrive.
        let _ = chunk.epoch(db);
        for planned in queries::plans(db, *chunk, grader).iter() {
            rows.extend(evaluate::ballot_scores(planned, ready, &|key| db.outcome(key)));
        }
    }
    // Of one vote an answer nobody can say how far it agrees.
    if ready.records_votes() && rows.iter().all(|votes| votes.len() < 2) {
        return Vec::new();
    }
    rows
}

/// How far the judges and votes of a grader agree; none where there is one judgment a submission, or it compares.
#[salsa::tracked]
pub fn agreement<'db>(db: &'db dyn Db, grader: Grader<'db>) -> Option<Agreement> {
    let scores = ballot_scores(db, grader);
    (!scores.is_empty()).then(|| evalrs_metrics::metric::agreement::agreement(scores))
}

/// What the judgments behind a grader's grades used when they were made, each once, and what that costs by the prices in
/// force; none if there are none.
#[salsa::tracked]
pub fn usage<'db>(db: &'db dyn Db, grader: Grader<'db>) -> Option<GraderUsage> {
    let Method::Judge(judge) = &queries::ready(db, grader).method else { return None };
    let models = judge.rubric.judges.iter().map(|judge| judge.model.as_str());
    let usage = GraderUsage::of(models.zip(judge_usage(db, grader).iter().copied()));
    (usage.judgments > 0).then_some(usage)
}

/// The same for each judge of a grader; nothing of other graders.
#[salsa::tracked]
fn judge_usage<'db>(db: &'db dyn Db, grader: Grader<'db>) -> Vec<ModelUsage> {
    let Method::Judge(judge) = &queries::ready(db, grader).method else { return Vec::new() };
    let mut of_judges = vec![ModelUsage::default(); judge.rubric.judges.len()];
    each_judgment(db, grader, &mut KeySet::default(), &mut |ballot, judgment| {
        of_judges[judge.ballot(ballot).judge].count(judgment);
    });
    of_judges
}

/// What the judgments behind all grades used, each once: graders may share some.
#[salsa::tracked]
pub fn usage_of_all(db: &dyn Db, root: Root) -> ModelUsage {
    let is_judge = |grader: &&Grader<'_>| queries::ready(db, **grader).judge().is_some();
    let judges: Vec<&Grader<'_>> = graders(db, root).iter().filter(is_judge).collect();
    if let [one] = judges[..] {
        return judge_usage(db, *one).iter().copied().fold(ModelUsage::default(), Add::add);
    }
    let mut seen = KeySet::default();
    let mut all = ModelUsage::default();
    for grader in judges {
        each_judgment(db, *grader, &mut seen, &mut |_, judgment| all.count(judgment));
    }
    all
}

/// Visits ballot and usage of the actions that a grader wants by now, those apart that were seen.
fn each_judgment<'db>(
    db: &'db dyn Db,
    grader: Grader<'db>,
    seen: &mut KeySet,
    visit: &mut dyn FnMut(u32, JudgmentUsage),
) {
    let ready = queries::ready(db, grader);
    let Threshold(threshold) = grader.pass_threshold(db);
    let Method::Judge(judge) = &ready.method else { return };
    let prices = grader.root(db).prices(db);
    let outcomes = |key| db.outcome(key);
    for chunk in grader.root(db).chunks(db) {
        // Reading the epoch is what makes the query run again when outcomes arrive.
        let _ = chunk.epoch(db);
        if let Some(known) = known_grades::grades(db, *chunk, grader) {
            let usages = known.usages(prices, judge.model_of(0));
            usages.filter(|(key, _)| seen.insert(*key)).for_each(|(_, usage)| visit(0, usage));
            continue;
        }
        for planned in queries::plans(db, *chunk, grader).iter() {
            each_wanted(planned, ready, &outcomes, threshold, &mut |ballot, key| {
                if let (true, Some(outcome)) = (seen.insert(key), db.outcome(key)) {
                    let asked = judge.model_of(ballot.ballot);
                    visit(ballot.ballot, JudgmentUsage::of(&outcome, prices, asked));
                }
            });
        }
    }
}

/// The estimated human verdict on everything; none if the grader has no labels, or one for every verdict.
#[salsa::tracked(returns(copy))]
pub fn people_estimate<'db>(db: &'db dyn Db, grader: Grader<'db>) -> Option<PeopleEstimate> {
    if !has_labels(db, grader) {
        return None;
    }
    let Threshold(threshold) = grader.pass_threshold(db);
    let of_chunk = |chunk: &Chunk| {
        let chunk = *chunk;
        let cells = cells(db, chunk, grader).cells.iter().zip(places(db, chunk)).enumerate();
        cells.filter_map(move |(at, (cell, place))| {
            let SelectedOrdinals { sample, .. } = place.selected?;
            let (label, is_chosen) = match sampled_label(db, chunk, grader, at) {
                Some(SampledLabel::Drawn(label)) => (Some(label), false),
                sampled => (None, sampled.is_some()),
            };
            Some(JudgedCase { sample, cell: *cell, label, is_chosen })
        })
    };
    PeopleEstimate::of(grader.root(db).chunks(db).iter().flat_map(of_chunk), threshold)
}

/// How far the verdicts of a grader agree with labels; none where there are none for it.
#[salsa::tracked(returns(copy))]
pub fn label_agreement<'db>(db: &'db dyn Db, grader: Grader<'db>) -> Option<LabelAgreement> {
    if !has_labels(db, grader) {
        return None;
    }
    let Threshold(threshold) = grader.pass_threshold(db);
    let of_chunk = |chunk: &Chunk| {
        let labels = labels(db, *chunk, grader);
        // Verdicts without labels are nothing to wait for.
        let verdicts: &[_] = if labels.is_empty() { &[] } else { &cells(db, *chunk, grader).cells };
        verdicts.iter().zip(labels).filter_map(|(cell, label)| Some((*cell, (*label)?)))
    };
    let chunks = || grader.root(db).chunks(db).iter();
    let agreement = LabelAgreement::of(chunks().flat_map(of_chunk), threshold);
    let stale = chunks().map(|chunk| stale_labels(db, *chunk, grader).len()).sum();
    let is_known = agreement.is_some() || stale > 0;
    is_known.then(|| LabelAgreement { stale, ..agreement.unwrap_or_default() })
}

/// How far the people agree who labelled the same cases of a grader; none where no case has labels of two.
#[salsa::tracked(returns(copy))]
pub fn annotators<'db>(db: &'db dyn Db, grader: Grader<'db>) -> Option<AnnotatorAgreement> {
    if !has_labels(db, grader) {
        return None;
    }
    let Threshold(threshold) = grader.pass_threshold(db);
    let of_chunk = |chunk: &Chunk| {
        let said = people(db, *chunk, grader).iter().zip(places(db, *chunk));
        let selected = said.filter(|(_, place)| place.is_in());
        selected.map(|(said, _)| said.iter().map(|(who, label)| (who.as_deref(), *label)).collect())
    };
    AnnotatorAgreement::of(grader.root(db).chunks(db).iter().flat_map(of_chunk), threshold)
}

/// The selected cases whose label for a grader is held out: the chunk, the case in it, the label.
pub fn held_out<'db>(
    db: &'db dyn Db,
    grader: Grader<'db>,
) -> impl Iterator<Item = (Chunk, usize, Label)> {
    grader.root(db).chunks(db).iter().flat_map(move |chunk| {
        let labels = held_out_labels(db, *chunk, grader).iter();
        let is_in = |case: usize| places(db, *chunk).get(case).is_some_and(|place| place.is_in());
        let selected = labels.filter(move |(case, _)| is_in(*case));
        selected.map(|(case, label)| (*chunk, *case, *label))
    })
}

/// How many labels there are for a grader, and of how many people; none where there are none for it.
#[salsa::tracked(returns(copy))]
pub fn label_count<'db>(db: &'db dyn Db, grader: Grader<'db>) -> Option<LabelCount> {
    if !has_labels(db, grader) {
        return None;
    }
    let mut names: BTreeSet<&str> = BTreeSet::new();
    let held_out = held_out_share(db, grader.root(db)).map(|_| held_out(db, grader).count());
    let mut found = LabelCount { held_out, ..LabelCount::default() };
    for chunk in grader.root(db).chunks(db) {
        let labels = labels(db, *chunk, grader);
        let said = people(db, *chunk, grader);
        for (at, _) in places(db, *chunk).iter().enumerate().filter(|(_, place)| place.is_in()) {
            found.labels += usize::from(labels.get(at).is_some_and(Option::is_some));
            let own = said.get(at).into_iter().flatten();
            names.extend(own.filter_map(|(who, _)| who.as_deref()));
        }
    }
    Some(LabelCount { people: names.len(), ..found })
}

/// With fewer held-out labels nothing is reported: narrowing a suite down to one row would reveal its
/// label.
const FEWEST: usize = 10;

/// A question for each grader that has held-out labels and a verdict or an error for all of them. None where the command line
/// leaves rows out: the agreement of a few is the labels of a few.
pub fn held_out_questions(db: &dyn Db, root: Root) -> Vec<HeldOutQuestion> {
    if !root.overrides(db).has_every_case() {
        return Vec::new();
    }
    graders(db, root).iter().filter_map(|grader| held_out_question(db, *grader)).collect()
}

fn held_out_question<'db>(db: &'db dyn Db, grader: Grader<'db>) -> Option<HeldOutQuestion> {
    if !has_labels(db, grader) {
        return None;
    }
    let Threshold(threshold) = grader.pass_threshold(db);
    let mut verdicts = Vec::new();
    for (chunk, case, label) in held_out(db, grader) {
        let cell = cells(db, chunk, grader).cells.get(case)?;
        let verdict = match cell.state {
            CellState::Pending => return None,
            CellState::Skipped | CellState::NotApplicable | CellState::Errored => continue,
            CellState::Passed => true,
            CellState::Failed => false,
        };
        let (who, place) = placed_at(db, chunk, case)?;
        let sample = named(who.id(), place.occurrence);
        let identity = &who.identity;
        verdicts.push(HeldOutVerdict {
            case: format!("{sample}\n{:?}\n{}", identity.model, identity.trial),
            label: label.passes(threshold),
            verdict,
        });
    }
    let shown = label_agreement(db, grader).unwrap_or_default();
    (verdicts.len() >= FEWEST).then(|| HeldOutQuestion {
        grader: grader.name(db).clone(),
        shown: AgreementCount { agree: shown.both_pass + shown.both_fail, n: shown.n },
        held_out: verdicts,
    })
}
