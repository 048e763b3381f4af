//! The plan after a run that has left no call to make: `evalrs plan` has nothing to find out.

use super::args::{EvaluateArgs, SelectArgs, StoreArgs};
use super::console::Console;
use evalrs_base::ordered_map::OrderedMap;
use evalrs_engine::resolve::settle::Settlement;
use evalrs_engine::session::Session;
use evalrs_graph::folds::label_count;
use evalrs_metrics::metric::annotators::LabelCount;
use evalrs_report::plan::{Plan, PlanBasis, PlanLine, page};

/// What a command line of `plan` asks of its suite.
#[derive(Debug)]
pub struct PlanQuestion<'a> {
    /// What is evaluated.
    pub select: &'a SelectArgs,
    /// Where outcomes are kept.
    pub store: &'a StoreArgs,
    /// The file of labels.
    pub labels: Option<&'a str>,
    /// The graders to repeat.
    pub refresh: &'a [String],
    /// Whether failures are repeated.
    pub retry_errors: bool,
    /// Whether the plan is printed as JSON.
    pub json: bool,
}

impl<'a> PlanQuestion<'a> {
    /// That of a plan over what a run evaluates.
    pub(super) fn after(run: &'a EvaluateArgs, json: bool) -> Self {
        let EvaluateArgs { select, store, labels, .. } = run;
        let labels = labels.as_deref();
        Self { select, store, labels, refresh: &[], retry_errors: false, json }
    }
}

/// What `plan` prints after this run, as text and as JSON. None where it would print more than numbers of calls.
pub(super) fn printed_plans(
    settled: &Settlement,
    session: &Session,
    console: &Console<'_>,
) -> std::io::Result<Option<[String; 2]>> {
    if settled.replayed_failures > 0 {
        return Ok(None);
    }
    let plan = settled_plan(settled, session);
    let mut text = Vec::new();
    evalrs_report::page::terminal::write(
        &page(&plan, &PlanBasis::default()),
        console.screen(),
        &mut text,
    )?;
    let json = format!("{}\n", serde_json::to_string_pretty(&plan)?);
    Ok(Some([String::from_utf8_lossy(&text).into_owned(), json]))
}

fn settled_plan(settled: &Settlement, session: &Session) -> Plan {
    let cached = |total| PlanLine { total, cached: total, ..PlanLine::default() };
    let graders = settled.tallies.iter().map(|(name, tally)| (name.clone(), cached(tally.total)));
    Plan {
        suite: session.suite().map(|suite| suite.name.clone()).unwrap_or_default(),
        target: None,
        graders: OrderedMap(graders.collect()),
        totals: cached(settled.tallies.iter().map(|(_, tally)| tally.total).sum()),
        labels: label_counts(session),
        ..Plan::default()
    }
}

/// Grader → the labels that its verdicts are compared with; only graders that have some.
pub fn label_counts(session: &Session) -> OrderedMap<LabelCount> {
    let counted = session.graders().iter().filter_map(|grader| {
        Some((grader.name(&session.db).clone(), label_count(&session.db, *grader)?))
    });
    OrderedMap(counted.collect())
}
