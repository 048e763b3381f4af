//! What `evalrs run` writes of each suite, and of all of them together.

use std::io::{BufWriter, Write};

use super::Console;
use super::context::without_parents;
use crate::app::cli::RunArgs;
use crate::base::system::System;
use crate::engine::resolve::settle::Settled;
use crate::engine::session::Session;
use crate::graph::queries::gate_rule;
use crate::pipeline::outcome::ActionTally;
use crate::pipeline::report::ending::RunEnding;
use crate::pipeline::report::labels::labelled;
use crate::pipeline::report::origin::ReportOrigin;
use crate::pipeline::report::{
    Audience, ProcessFacts, ReportFormat, ReportOptions, ReportSink, ReportWriter, ReportedRun,
};

/// The file that GitHub shows as the summary of a step.
const STEP_SUMMARY: &str = "GITHUB_STEP_SUMMARY";

/// What is written once all suites were evaluated.
pub(super) struct Reports<'a> {
    args: &'a RunArgs,
    writer: Box<dyn ReportWriter>,
    /// The file of the page for people.
    page: Option<String>,
    has_any: bool,
}

impl<'a> Reports<'a> {
    /// Nothing yet.
    pub(super) fn new(args: &'a RunArgs, console: &Console<'_>) -> Self {
        let page = match args.format.audience {
            Audience::GitHub => console.system.environment().remove(STEP_SUMMARY),
            _ => None,
        };
        let options = ReportOptions { width: console.width, failures: args.failures };
        Self {
            args,
            writer: (args.format.start)(options),
            page: page.filter(|path| !path.is_empty()),
            has_any: false,
        }
    }

    /// Writes what is reported of one evaluation, or keeps it for the end.
    pub(super) fn add(
        &mut self,
        run: &ReportedRun<'_, '_>,
        console: &mut Console<'_>,
    ) -> std::io::Result<()> {
        self.has_any = true;
        if self.args.quiet && self.args.format.audience == Audience::Terminal {
            return Ok(());
        }
        let mut out = BufWriter::new(&mut *console.out);
        let mut page = Vec::new();
        let mut sink = ReportSink {
            out: &mut out,
            page: self.page.is_some().then_some(&mut page as &mut dyn Write),
        };
        let writer = &mut self.writer;
        match self.args.format.audience {
            Audience::Programs => writer.add(run, &mut sink)?,
            _ => labelled(run.report, |report| {
                let origin = run.origin.renamed(&report.summary.labels);
                let facts = run.facts;
                writer.add(&ReportedRun { report, facts, origin: &origin }, &mut sink)
            })?,
        }
        out.flush()?;
        self.page.as_ref().map_or(Ok(()), |path| console.system.append(path, &page))
    }

    /// Writes what was kept.
    pub(super) fn finish(self, console: &mut Console<'_>) -> std::io::Result<()> {
        if !self.has_any {
            return Ok(());
        }
        let mut out = BufWriter::new(&mut *console.out);
        self.writer.finish(&mut out)?;
        out.flush()
    }
}

/// Where an evaluation came from, for reports that point into files.
pub(super) fn origin(
    suite: &str,
    format: &ReportFormat,
    session: &Session,
    system: &dyn System,
) -> ReportOrigin {
    let gate = gate_rule(&session.db, session.root);
    let gated = gate.as_ref().map(|gate| {
        crate::pipeline::gate::graders(gate).into_iter().map(str::to_owned).collect::<Vec<String>>()
    });
    let roots = Roots::of(format.audience, system);
    let (dataset, lines) = session.rows();
    ReportOrigin {
        command: suite.to_owned(),
        suite: roots.shown(suite, system),
        dataset: dataset.and_then(|path| roots.shown(path, system)),
        lines,
        gated,
    }
}

/// The folders that paths are written from, the first that holds a file.
struct Roots(Vec<String>);

impl Roots {
    /// GitHub wants paths from the root of the repository; others get them from the working directory.
    fn of(audience: Audience, system: &dyn System) -> Self {
        let repository = match audience {
            Audience::GitHub => system.environment().remove("GITHUB_WORKSPACE"),
            _ => None,
        };
        let working = system.absolute(".");
        let folders = repository.into_iter().chain([working]);
        Self(folders.map(|folder| without_parents(&folder)).collect())
    }

    fn shown(&self, path: &str, system: &dyn System) -> Option<String> {
        let path = without_parents(&system.absolute(path));
        let inside =
            |root: &String| path.strip_prefix(root.trim_end_matches('/'))?.strip_prefix('/');
        self.0.iter().find_map(inside).map(str::to_owned)
    }
}

/// What the process tells about its run.
pub(super) fn process_facts(
    settled: &Settled,
    code: u8,
    seconds: f64,
    report: Option<String>,
) -> ProcessFacts {
    let sum = |of: fn(&ActionTally) -> u64| {
        settled.tallies.iter().map(|(_, tally)| of(tally)).sum::<u64>()
    };
    let has_actions = sum(|tally| tally.total) > 0;
    ProcessFacts {
        asked: has_actions.then(|| sum(|tally| tally.asked)),
        cached: has_actions.then(|| sum(|tally| tally.cached)),
        failed: has_actions.then(|| sum(|tally| tally.failed)),
        spent: settled.spent(),
        saved: settled.saved(),
        target: settled.conversations,
        seconds: Some(seconds),
        report,
        ending: RunEnding {
            code,
            out_of_budget: settled.out_of_budget,
            store_failed: settled.write_error.is_some(),
            in_vain: settled.in_vain.len(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::{Audience, Roots};
    use crate::base::system::memory::MemorySystem;

    #[test]
    fn paths_are_those_of_the_repository_or_the_working_directory() {
        let system = MemorySystem::default();
        let here = Roots::of(Audience::People, &system);
        for (path, expected) in
            [("evals/data.jsonl", "evals/data.jsonl"), ("./a/../data.jsonl", "data.jsonl")]
        {
            assert_eq!(here.shown(path, &system).as_deref(), Some(expected), "{path}");
        }
        let above = Roots(vec!["/repo/".to_owned(), "/repo/x".to_owned()]);
        assert_eq!(above.shown("/repo/x/d.jsonl", &system).as_deref(), Some("x/d.jsonl"));
        assert_eq!(above.shown("/repos/d.jsonl", &system), None);
    }
}
