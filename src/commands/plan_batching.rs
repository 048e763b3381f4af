//! What a rubric in criteria takes with another batching than that of the suite. `plan` shows it, and nothing switches by itself.
//!
//! Requests of another batching have other keys, so nothing is known of them from the last run. Of a large dataset, a part of the
//! samples is planned and the rest estimated from it: an edit of one row costs no look at all.

use std::collections::{BTreeMap, BTreeSet};

use evalrs_base::ordered_map::OrderedMap;
use evalrs_base::price::Cost;
use evalrs_engine::inspect::forecast::{Bill, Forecast, forecast};
use evalrs_engine::inspect::preview::{Preview, preview};
use evalrs_engine::resolve::settings::Settings;
use evalrs_engine::session::Session;
use evalrs_graph::inputs::PlannedBatching;
use evalrs_graph::queries;
use evalrs_model::key::KeyMap;
use evalrs_model::outcome::Usage;
use evalrs_model::spec::{CriteriaPerRequest, CriteriaSpec, GraderKind, RewardSpec};
use evalrs_report::plan::{BatchingLine, Plan, TokenEstimate};
use evalrs_store::OutcomeStore;
use evalrs_system::System;
use evalrs_use_cases::context::SuiteContext;

/// A larger dataset has this many samples planned with another batching, and a block of neighbours more at most.
const MOST_SAMPLES: usize = 512;

/// What is planned again with another batching.
pub(super) struct BatchingPlanner<'a> {
    pub surroundings: &'a SuiteContext,
    pub settings: &'a Settings,
    pub store: &'a dyn OutcomeStore,
    /// What stored judgments used: a second look at them does not read it again.
    pub used: &'a KeyMap<Usage>,
    /// With the batching of the suite.
    pub plan: &'a Plan,
}

impl BatchingPlanner<'_> {
    /// Whether there are calls to make, and several ways to make them.
    fn has_ways(&self, rubric: &str, spec: &CriteriaSpec) -> bool {
        let mut calls = spec.graders(rubric).filter_map(|name| self.plan.graders.get(&name));
        spec.criteria.len() > 1 && calls.any(|line| line.to_ask > 0)
    }

    /// The ways to put the criteria of each rubric into requests, that of the suite first.
    pub(super) fn of_each_rubric(
        &self,
        session: &mut Session,
        system: &dyn System,
    ) -> OrderedMap<Vec<BatchingLine>> {
        let graders = session.suite().into_iter().flat_map(|suite| &suite.graders);
        let rubrics: Vec<(String, CriteriaSpec)> = graders
            .filter_map(|grader| match &grader.kind {
                GraderKind::Reward(RewardSpec::Criteria(spec))
                    if self.has_ways(&grader.name, spec) =>
                {
                    Some((grader.name.clone(), spec.as_ref().clone()))
                }
                _ => None,
            })
            .collect();
        if rubrics.is_empty() {
            return OrderedMap::default();
        }
        let always = [CriteriaPerRequest::EACH, CriteriaPerRequest::Together];
        let of_suite = rubrics.iter().map(|(_, spec)| spec.batching);
        let ways: BTreeSet<CriteriaPerRequest> = of_suite.chain(always).collect();
        let mut lines: BTreeMap<&str, Vec<BatchingLine>> = BTreeMap::new();
        for (name, spec) in &rubrics {
            lines.insert(name, vec![self.line_of_suite(name, spec)]);
        }
        let all = samples(session);
        for batching in ways {
            let others: Vec<&(String, CriteriaSpec)> =
                rubrics.iter().filter(|(_, spec)| spec.batching != batching).collect();
            if others.is_empty() {
                continue;
            }
            let estimate = self.estimate(batching, all, session, system);
            for (name, spec) in others {
                lines.entry(name).or_default().push(estimate.line(name, spec));
            }
        }
        session.set_batching(None);
        let of_rubric = |(name, _): &(String, CriteriaSpec)| {
            lines.get(&**name).map(|lines| (name.clone(), lines.clone()))
        };
        OrderedMap(rubrics.iter().filter_map(of_rubric).collect())
    }

    /// What the criteria of a rubric call with the batching of the suite.
    fn line_of_suite(&self, rubric: &str, spec: &CriteriaSpec) -> BatchingLine {
        let own = spec.graders(rubric).filter_map(|name| self.plan.graders.get(&name));
        own.fold(no_calls(spec.batching), |mut sum, line| {
            sum.to_ask += line.to_ask;
            sum.tokens.input += line.tokens.input;
            sum.tokens.output += line.tokens.output;
            sum.cost = sum.cost.zip(line.cost).map(|(sum, cost)| sum + cost);
            sum
        })
    }

    /// What another batching takes. Its requests have other keys, and nothing of them is known: so few samples are planned.
    fn estimate(
        &self,
        batching: CriteriaPerRequest,
        all: usize,
        session: &mut Session,
        system: &dyn System,
    ) -> BatchingEstimate {
        let one_in = all.div_ceil(MOST_SAMPLES).max(1);
        session.set_batching(Some(PlannedBatching { batching, one_in }));
        let mut preview = preview(session, self.store, system, self.settings);
        preview.used.extend(self.used.iter().map(|(key, used)| (*key, *used)));
        let forecast = forecast(session, &preview, &self.surroundings.prices());
        BatchingEstimate { batching, all, planned: samples(session), preview, forecast }
    }
}

fn samples(session: &Session) -> usize {
    queries::selection(&session.db, session.root).samples
}

fn no_calls(batching: CriteriaPerRequest) -> BatchingLine {
    BatchingLine {
        batching: batching.to_string(),
        estimated_from: None,
        to_ask: 0,
        tokens: TokenEstimate::default(),
        cost: Some(Cost::ZERO),
    }
}

/// What is planned with another batching, for a part of the samples.
struct BatchingEstimate {
    batching: CriteriaPerRequest,
    /// How many samples there are.
    all: usize,
    /// How many of them were planned.
    planned: usize,
    preview: Preview,
    forecast: Forecast,
}

impl BatchingEstimate {
    /// What the criteria of a rubric would call.
    fn line(&self, rubric: &str, spec: &CriteriaSpec) -> BatchingLine {
        let names: Vec<String> = spec.graders(rubric).collect();
        let scaled = |n: u64| match self.planned {
            0 => 0,
            planned => (n as f64 * self.all as f64 / planned as f64).round() as u64,
        };
        let mut calls = 0;
        let mut bill = Bill::default();
        let bills = self.preview.tallies.iter().zip(&self.forecast.graders);
        for ((_, tally), own) in bills.filter(|((name, _), _)| names.contains(name)) {
            calls += tally.total - tally.cached;
            bill = bill.and(*own);
        }
        BatchingLine {
            estimated_from: (self.planned < self.all).then_some(self.planned as u64),
            to_ask: scaled(calls),
            tokens: TokenEstimate { input: scaled(bill.input), output: scaled(bill.output) },
            cost: bill.cost.map(|cost| Cost::from_nanos(scaled(cost.nanos()))),
            ..no_calls(self.batching)
        }
    }
}
