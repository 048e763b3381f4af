//! What the suites of a command come to together: the roll-up that `--rollup` names.
//!
//! It is read before anything is evaluated, so that a slip in it costs nothing, and computed from what was found.

use std::io::{BufWriter, Write};

use super::context::SuiteContext;
use super::reports::{Reports, reported_path};
use super::say::say;
use crate::console::Console;
use crate::error::{Error, ExitStatus};
use evalrs_base::diagnostic::{Diagnostic, Place};
use evalrs_base::text::enumerated;
use evalrs_engine::session::Session;
use evalrs_eval::dataset::split::decode;
use evalrs_graph::declared::declared_metrics;
use evalrs_metrics::gate::{GateStatus, rule};
use evalrs_metrics::results::ReportHeader;
use evalrs_metrics::rollup::{EvaluatedSuite, RollupReport, roll_up};
use evalrs_model::spec::{RollupComponent, RollupMetric, RollupSpec};
use evalrs_report::{Audience, ReportedRollup};
use evalrs_store::record;
use evalrs_suite::{RollableSuite, RollupReading, is_rollup, read_rollup};
use evalrs_system::System;

/// A roll-up that is right, and its file.
#[derive(Debug)]
pub(super) struct RollupFile {
    path: String,
    spec: RollupSpec,
    /// The folder of its record.
    home: String,
    /// How many suites are evaluated.
    suites: usize,
}

impl RollupFile {
    /// Reads the file at `path`, which speaks of suites that are loaded.
    pub(crate) fn read(
        path: &str,
        loaded: &[(SuiteContext, Session)],
        console: &mut Console<'_>,
    ) -> Result<Self, Error> {
        let suites: Vec<RollableSuite> =
            loaded.iter().map(|(_, session)| rollable(session)).collect();
        let RollupReading { rollup, diagnostics } = reading(path, Some(&suites), console.system);
        let Some(spec) = rollup else { return Err(Error::Diagnostics(diagnostics)) };
        say(&diagnostics, console.err)?;
        let home = SuiteContext::find(path, None, console.system)?.records();
        Ok(Self { path: path.to_owned(), spec, home, suites: suites.len() })
    }

    /// Reports and records what the suites came to together.
    pub(crate) fn report(
        &self,
        evaluated: &[EvaluatedSuite],
        reports: &mut Reports,
        is_quiet: bool,
        console: &mut Console<'_>,
    ) -> Result<ExitStatus, Error> {
        if evaluated.len() < self.suites {
            let name = &self.spec.name;
            writeln!(
                console.err,
                "note: the roll-up `{name}` is skipped: not all suites \
                                   finished"
            )?;
            return Ok(ExitStatus::Success);
        }
        let rollup = roll_up(&self.spec, evaluated);
        let ended = console.system.now();
        let recorded = record::rollup::write(console.system, &self.home, &rollup, ended);
        let audience = reports.audience();
        if !(is_quiet && audience == Audience::Terminal) {
            let path = reported_path(&self.path, audience, console.system);
            let record = recorded.as_ref().ok().map(String::as_str);
            let reported = ReportedRollup { rollup: &rollup, path: path.as_deref(), record };
            let mut out = BufWriter::new(&mut *console.out);
            reports.add_rollup(&reported, &mut out, console.system)?;
            out.flush()?;
        }
        recorded?;
        Ok(status_of(&rollup))
    }
}

/// A missing number is not a success where no gate decides.
fn status_of(rollup: &RollupReport) -> ExitStatus {
    let is_whole = rollup.metrics.0.iter().all(|(_, metric)| metric.value.is_some());
    match rollup.gate.status {
        None if is_whole => ExitStatus::Success,
        Some(GateStatus::Passed) => ExitStatus::Success,
        Some(GateStatus::Failed) => ExitStatus::GateFailed,
        None | Some(GateStatus::Undecided) => ExitStatus::Incomplete,
    }
}

/// Identifies the samples of a session: the digest of their file, else their place.
pub(super) fn samples_of(session: &Session, header: &ReportHeader, system: &dyn System) -> String {
    let Some(suite) = session.suite() else { return String::new() };
    let path = &suite.dataset.path;
    let digest = header.inputs.get(&session.relative(path)).cloned();
    digest.unwrap_or_else(|| system.absolute(path))
}

/// What a roll-up can name of a suite.
pub fn rollable(session: &Session) -> RollableSuite {
    let Some(suite) = session.suite() else { return RollableSuite::default() };
    let db = &session.db;
    let graders: Vec<String> =
        session.graders().iter().map(|grader| grader.name(db).to_owned()).collect();
    let metrics = declared_metrics(db, session.root).iter();
    let metrics: Vec<String> = metrics.map(|metric| metric.spec(db).name.clone()).collect();
    let all_graders = suite.graders.iter().map(|grader| &grader.name);
    let all = all_graders.chain(suite.metrics.iter().map(|metric| &metric.name));
    let left_out = all.filter(|name| !graders.contains(name) && !metrics.contains(name));
    RollableSuite {
        name: suite.name.clone(),
        path: session.root.suite(db).path(db).clone(),
        left_out: left_out.cloned().collect(),
        graders,
        metrics,
    }
}

/// Reads the roll-up at `path`; what it names is checked where the suites are known.
pub fn reading(path: &str, suites: Option<&[RollableSuite]>, system: &dyn System) -> RollupReading {
    let refused = |problem: Diagnostic| RollupReading { rollup: None, diagnostics: vec![problem] };
    let bytes = match system.read(path).into_bytes() {
        Ok(bytes) => bytes,
        Err(reason) => {
            let message = format!("cannot read the roll-up: {reason}");
            return refused(Diagnostic::error(Place::file(path), message));
        }
    };
    match decode(path, &bytes) {
        Ok(text) => read_rollup(path, text, suites),
        Err(problem) => refused(problem),
    }
}

/// Whether the file at `path` is a roll-up and no suite.
pub fn is_rollup_file(path: &str, system: &dyn System) -> bool {
    let bytes = system.read(path).into_bytes().unwrap_or_default();
    decode(path, &bytes).is_ok_and(is_rollup)
}

/// Says what a roll-up without errors is.
pub fn describe(path: &str, spec: &RollupSpec, out: &mut dyn Write) -> std::io::Result<()> {
    writeln!(out, "{path}: valid")?;
    writeln!(out, "  roll-up  {}", spec.name)?;
    for metric in &spec.metrics {
        writeln!(out, "  metric   {}: {}", metric.name, in_words(metric))?;
    }
    match &spec.gate {
        Some(gate) => writeln!(out, "  gate     {}", rule(gate)),
        None => writeln!(out, "  gate     none: the exit code is that of the suites"),
    }
}

fn in_words(metric: &RollupMetric) -> String {
    let names = metric.components.iter().map(|RollupComponent { weight, text, .. }| {
        if metric.is_weighted { format!("{weight} × {text}") } else { text.clone() }
    });
    let names: Vec<String> = names.collect();
    let kind = if metric.is_weighted { "weighted" } else { "macro" };
    format!("{kind} mean of {}", enumerated(&names, "and"))
}
