//! What `evalrs run` writes of each suite, and of all of them together.

use std::io::Write;

use super::Console;
use super::context::without_parents;
use crate::app::cli::{Format, RunArgs};
use crate::base::system::System;
use crate::engine::resolve::settle::Settled;
use crate::engine::session::Session;
use crate::graph::queries::gate_rule;
use crate::pipeline::outcome::ActionTally;
use crate::pipeline::report::ending::RunEnding;
use crate::pipeline::report::github;
use crate::pipeline::report::github::Annotations;
use crate::pipeline::report::junit::Document;
use crate::pipeline::report::labels::labelled;
use crate::pipeline::report::origin::ReportOrigin;
use crate::pipeline::report::terminal;
use crate::pipeline::report::terminal::{TerminalFacts, TerminalOptions};
use crate::pipeline::report::{Report, json, jsonl, markdown};

/// Failures that are listed unless the command line says otherwise: on a terminal, and in a comment.
const FAILURES: usize = 10;
const COMMENT_FAILURES: usize = 20;

/// The file that GitHub shows as the summary of a step.
const STEP_SUMMARY: &str = "GITHUB_STEP_SUMMARY";

/// What is written once all suites were evaluated.
pub(super) struct Reports<'a> {
    args: &'a RunArgs,
    document: Document,
    annotations: Annotations,
    /// Where the summary for people goes in place of standard output.
    step_summary: Option<String>,
    has_any: bool,
}

/// What is reported of one evaluation.
pub(super) struct EvaluationReport<'a> {
    pub(super) report: &'a Report<'a>,
    pub(super) facts: &'a TerminalFacts,
    pub(super) origin: &'a ReportOrigin,
}

impl<'a> Reports<'a> {
    /// Nothing yet.
    pub(super) fn new(args: &'a RunArgs, system: &dyn System) -> Self {
        let step_summary = match args.format {
            Format::Github => system.environment().remove(STEP_SUMMARY),
            _ => None,
        };
        Self {
            args,
            document: Document::default(),
            annotations: Annotations::default(),
            step_summary: step_summary.filter(|path| !path.is_empty()),
            has_any: false,
        }
    }

    /// Writes what is reported of one evaluation, or keeps it for the end.
    pub(super) fn add(
        &mut self,
        EvaluationReport { report, facts, origin }: &EvaluationReport<'_>,
        console: &mut Console<'_>,
    ) -> std::io::Result<()> {
        self.has_any = true;
        let most = |default: usize| self.args.failures.unwrap_or(default);
        let options = TerminalOptions { width: console.width, failures: most(FAILURES) };
        let comment = most(COMMENT_FAILURES);
        let mut out = std::io::BufWriter::new(&mut *console.out);
        match self.args.format {
            Format::Text if self.args.quiet => {}
            Format::Json => json::write(report, &mut out)?,
            Format::Jsonl => jsonl::write(report, &mut out)?,
            format => labelled(report, |report| {
                let origin = origin.renamed(&report.summary.labels);
                match format {
                    Format::Junit => self.document.add(report, &origin, &facts.ending),
                    Format::Markdown => markdown::write(report, comment, &mut out),
                    Format::Github => {
                        self.annotations.add(report, &origin, &facts.ending, options.failures);
                        match &self.step_summary {
                            None => github::write_summary(report, &mut out),
                            Some(path) => {
                                let mut text = Vec::new();
                                markdown::write(report, comment, &mut text)?;
                                text.push(b'\n');
                                console.system.append(path, &text)
                            }
                        }
                    }
                    _ => {
                        let facts = TerminalFacts { gated: origin.gated, ..(*facts).clone() };
                        terminal::write(report, &facts, options, &mut out)
                    }
                }
            })?,
        }
        out.flush()
    }

    /// Writes what was kept.
    pub(super) fn finish(self, console: &mut Console<'_>) -> std::io::Result<()> {
        if !self.has_any {
            return Ok(());
        }
        let mut out = std::io::BufWriter::new(&mut *console.out);
        match self.args.format {
            Format::Junit => self.document.write(&mut out)?,
            Format::Github => self.annotations.write(&mut out)?,
            _ => {}
        }
        out.flush()
    }
}

/// Where an evaluation came from, for reports that point into files.
pub(super) fn origin(
    suite: &str,
    format: Format,
    session: &Session,
    system: &dyn System,
) -> ReportOrigin {
    let gate = gate_rule(&session.db, session.root);
    let gated = gate.as_ref().map(|gate| {
        crate::pipeline::gate::graders(gate).into_iter().map(str::to_owned).collect::<Vec<String>>()
    });
    let roots = Roots::of(format, system);
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
    fn of(format: Format, system: &dyn System) -> Self {
        let repository = match format {
            Format::Github => system.environment().remove("GITHUB_WORKSPACE"),
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

/// What the terminal shows of the process.
pub(super) fn terminal_facts(
    settled: &Settled,
    code: u8,
    suite: &str,
    seconds: f64,
    report: Option<String>,
) -> TerminalFacts {
    let sum = |of: fn(&ActionTally) -> u64| {
        settled.tallies.iter().map(|(_, tally)| of(tally)).sum::<u64>()
    };
    let has_actions = sum(|tally| tally.total) > 0;
    TerminalFacts {
        asked: has_actions.then(|| sum(|tally| tally.asked)),
        cached: has_actions.then(|| sum(|tally| tally.cached)),
        failed: has_actions.then(|| sum(|tally| tally.failed)),
        spent: settled.spent(),
        saved: settled.saved(),
        seconds: Some(seconds),
        report,
        suite: suite.to_owned(),
        ending: RunEnding {
            code,
            out_of_budget: settled.out_of_budget,
            store_failed: settled.write_error.is_some(),
            in_vain: settled.in_vain.len(),
        },
        gated: None,
    }
}

#[cfg(test)]
mod tests {
    use super::{Format, Roots};
    use crate::base::system::memory::MemorySystem;

    #[test]
    fn paths_are_those_of_the_repository_or_the_working_directory() {
        let system = MemorySystem::default();
        let here = Roots::of(Format::Junit, &system);
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
