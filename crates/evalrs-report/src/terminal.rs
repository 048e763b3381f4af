//! The report on a terminal: the verdict first, then tables, then the first failures.
//!
//! Nothing here scrolls: every list is short and says how much more there is, and what the verdict, the
//! metrics, the failures and the errors leave of the screen is shared by models, trials and tags. Facts of the
//! process are handed in apart, for the report knows none.

use std::io::{self, Write};

use super::declared::declared_lines;
use super::digest::{ReportDigest, case_name};
use super::format::{
    Audience, ProcessFacts, ReportFormat, ReportOptions, ReportSink, ReportWriter, ReportedRollup,
    ReportedRun,
};
use super::origin::ReportOrigin;
use super::rater_pairs::pair_lines;
use super::terminal_page::{
    BAD, DOUBTFUL, error_cell, faint, gate_lines, table, title, titles, write_sections,
};
use super::{human, intervals, rollup, usage};
use evalrs_base::ordered_map::OrderedMap;
use evalrs_base::text::table::{blocks, lines, name, number, words};
use evalrs_base::text::{count, cut, cut_middle, sanitize, score, score_or_dash};
use evalrs_metrics::metric::Metric;
use evalrs_metrics::results::Summary;
use evalrs_metrics::results::report::Report;
use evalrs_model::outcome::Usage;

/// The lines a report may take, however large the run.
const SCREEN: usize = 44;

/// How many tags, models, graders with trials, and messages of missing grades are shown.
const TAGS: usize = 20;
const MODELS: usize = 8;
const CURVES: usize = 8;
const ERRORS: usize = 3;

/// The columns that a name may take: of a sample, of a grader.
const SAMPLE: usize = 32;
const GRADER: usize = 24;

/// Failures that are listed unless the command line says otherwise.
const FAILURES: usize = 10;

/// A screen a suite.
pub(super) static FORMAT: ReportFormat = ReportFormat {
    name: "text",
    help: "For people at a terminal",
    audience: Audience::Terminal,
    joins_suites: true,
    start: |options| Box::new(TerminalWriter { options, has_any: false }),
};

struct TerminalWriter {
    options: ReportOptions,
    has_any: bool,
}

impl ReportWriter for TerminalWriter {
    fn add(&mut self, run: &ReportedRun<'_, '_>, sink: &mut ReportSink<'_>) -> io::Result<()> {
        if std::mem::replace(&mut self.has_any, true) {
            writeln!(sink.out)?;
        }
        write(run, self.options, sink.out)
    }

    fn add_rollup(
        &mut self,
        reported: &ReportedRollup<'_>,
        sink: &mut ReportSink<'_>,
    ) -> io::Result<()> {
        writeln!(sink.out)?;
        let sections = rollup::sections(reported, self.options.width);
        write_sections(sections, sink.out)
    }
}

fn write(run: &ReportedRun<'_, '_>, options: ReportOptions, out: &mut dyn Write) -> io::Result<()> {
    let ReportedRun { report, facts, origin } = *run;
    let failures = options.failures.unwrap_or(FAILURES);
    let digest = ReportDigest::of(report, failures);
    let summary = report.summary;
    let width = options.width;
    let head = [
        verdict_lines(report, width),
        metric_lines(&summary.metrics, width),
        declared_lines(&summary.declared, width),
        pair_lines(summary, width),
    ];
    let tail = [
        failure_lines(&digest, run, width),
        error_lines(&digest, origin, width),
        fact_lines(summary, &digest, facts, width),
    ];
    let asked_for = failures.saturating_sub(FAILURES);
    let taken: usize = head.iter().chain(&tail).map(height).sum();
    let room = (SCREEN + asked_for).saturating_sub(taken);
    let models = group_lines("model", summary.by_model.as_ref(), room, MODELS, width);
    let room = room.saturating_sub(height(&models));
    let curves = curve_lines(&summary.metrics, rows_in(room, 2, CURVES), width);
    let room = room.saturating_sub(height(&curves));
    let tags = group_lines("tag", summary.by_tag.as_ref(), room, TAGS, width);
    let ending = ending_lines(run, &digest);
    write_sections(head.into_iter().chain([curves, models, tags]).chain(tail).chain([ending]), out)
}

/// The lines of a section with the blank line before it.
#[expect(clippy::ptr_arg, reason = "passed to `map` over sections")]
fn height(section: &Vec<String>) -> usize {
    if section.is_empty() { 0 } else { section.len() + 1 }
}

/// How many items of `each` lines fit into `room` lines beside the title, the line for what is not shown and a
/// blank line.
fn rows_in(room: usize, each: usize, most: usize) -> usize {
    (room.saturating_sub(3) / each).min(most)
}

fn verdict_lines(report: &Report<'_>, width: usize) -> Vec<String> {
    let summary = report.summary;
    let samples = count(summary.samples, "sample");
    let results = count(summary.results, "result");
    gate_lines(&summary.gate, &report.header.suite, &format!("{samples}, {results}"), width)
}

fn metric_lines(metrics: &OrderedMap<Metric>, width: usize) -> Vec<String> {
    let any_errors = metrics.0.iter().any(|(_, metric)| metric.errors > 0);
    // Of graders that leave results alone.
    let any_left_out = metrics.0.iter().any(|(_, metric)| metric.not_applicable > 0);
    let left_out: &[&str] = if any_left_out { &["n/a"] } else { &[] };
    let as_zero: &[&str] = if any_errors { &["errors as 0"] } else { &[] };
    let numbers = ["mean [95 %]", "pass [95 %]", "min", "median", "max"];
    let numbers = [&["n", "errors"], left_out, &numbers, as_zero].concat();
    let mut rows = vec![titles(&["grader"], &numbers)];
    rows.extend(metrics.0.iter().map(|(grader, metric)| {
        let left_out = any_left_out.then(|| number(metric.not_applicable.to_string()));
        let estimates = [intervals::mean_within(metric), intervals::rate_within(metric)];
        let ends = [metric.min, metric.median, metric.max].map(score_or_dash);
        let as_zero = any_errors.then(|| number(score_or_dash(metric.avg_score_total)));
        let counts = [name(grader), number(metric.n.to_string()), error_cell(metric.errors)];
        let numbers = estimates.into_iter().chain(ends).map(number);
        counts.into_iter().chain(left_out).chain(numbers).chain(as_zero).collect()
    }));
    let mut shown = table(&rows, width);
    shown.extend(intervals::methods(metrics).map(|methods| faint(&cut(&methods, width))));
    let native = metrics.0.iter().filter_map(|(grader, metric)| {
        Some(format!("{grader}: {}", intervals::native_mean(metric.native.as_ref()?)))
    });
    shown.extend(native.map(|line| cut(&line, width)));
    shown
}

/// pass^k and pass@k of the first graders that have trials, and what trials do to their standard errors.
fn curve_lines(metrics: &OrderedMap<Metric>, most: usize, width: usize) -> Vec<String> {
    let curves = metrics.0.iter().filter_map(|(grader, metric)| {
        Some((grader, metric, [metric.pass_hat.as_ref()?, metric.pass_at.as_ref()?]))
    });
    let curves: Vec<_> = curves.collect();
    let longest = curves.iter().map(|(_, _, [hat, _])| *hat).max_by_key(|hat| hat.0.len());
    let Some(longest) = longest else { return Vec::new() };
    let counts: Vec<&str> = longest.0.iter().map(|(k, _)| k.as_str()).collect();
    let mut rows = vec![titles(&["trials", "stderr", "k"], &counts)];
    for (grader, metric, [hat, at]) in curves.iter().take(most) {
        let clustered = fine("clustered", metric.stderr);
        let naive = fine("naive", metric.stderr_naive);
        for (who, error, estimate, curve) in
            [(grader.as_str(), clustered, "pass^k", hat), ("", naive, "pass@k", at)]
        {
            let points =
                longest.0.iter().map(|(k, _)| number(score_or_dash(curve.get(k).copied())));
            let names = [name(who), words(&error), words(estimate)];
            rows.push(names.into_iter().chain(points).collect());
        }
    }
    let mut shown = table(&rows, width);
    shown.extend(not_shown(curves.len().saturating_sub(most), "grader"));
    shown
}

/// A standard error fine enough to tell the clustered one from the naive one.
fn fine(name: &str, error: Option<f64>) -> String {
    error.map_or_else(|| format!("{name} -"), |error| format!("{name:<9} {error:.4}"))
}

fn not_shown(rest: usize, noun: &str) -> Option<String> {
    (rest > 0).then(|| faint(&format!("{} not shown", count(rest, noun))))
}

/// One row a model or tag, one column a grader: the mean and its interval. Graders that do not fit beside the
/// others stand below them.
fn group_lines(
    noun: &str,
    groups: Option<&OrderedMap<OrderedMap<Metric>>>,
    room: usize,
    most: usize,
    width: usize,
) -> Vec<String> {
    let groups = groups.map_or(&[][..], |groups| &groups.0);
    let Some((_, first)) = groups.first() else { return Vec::new() };
    let graders = first.0.iter().map(|(grader, _)| title(&cut_middle(grader, GRADER)).at_right());
    let mut rows = vec![titles(&[noun], &["n"]).into_iter().chain(graders).collect::<Vec<_>>()];
    for (group, metrics) in groups {
        let n = metrics.0.first().map_or(0, |(_, metric)| metric.n);
        let means = first.0.iter().map(|(grader, _)| {
            let metric = metrics.get(grader);
            number(metric.map_or_else(String::new, intervals::mean_within))
        });
        rows.push([name(group), number(n.to_string())].into_iter().chain(means).collect());
    }
    let blocks = blocks(&rows, 2, width);
    let shown = rows_in(room, blocks.len(), most);
    let kept = if shown > 0 { shown + 1 } else { 0 };
    let lines = blocks.into_iter().flat_map(|block| block.into_iter().take(kept));
    lines.chain(not_shown(groups.len().saturating_sub(shown), noun)).collect()
}

fn failure_lines(digest: &ReportDigest, run: &ReportedRun<'_, '_>, width: usize) -> Vec<String> {
    if digest.failed == 0 {
        return Vec::new();
    }
    let heading = count(digest.failed, "failure");
    let mut rows =
        vec![vec![title(&heading), title("grader"), title("score").at_right(), title("rationale")]];
    for failure in &digest.failures {
        rows.push(vec![
            name(&case_name(
                &run.origin.named(failure.at, &failure.sample_id),
                failure.model.as_deref(),
                digest.trials.then_some(failure.trial),
            )),
            name(&cut_middle(&failure.grader, GRADER)),
            number(score(failure.score)).styled(BAD),
            words(&failure.rationale),
        ]);
    }
    let mut shown = lines(&rows, width);
    let rest = digest.failed - digest.failures.len();
    if rest > 0 {
        let place = match &run.facts.report {
            Some(report) => format!("in {}", sanitize(report)),
            None => "with --format jsonl".to_owned(),
        };
        // The path is there to be copied: it is never cut.
        shown.push(faint(&format!("{rest} more {place}")));
    }
    shown
}

fn error_lines(digest: &ReportDigest, origin: &ReportOrigin, width: usize) -> Vec<String> {
    if digest.errored == 0 {
        return Vec::new();
    }
    let heading = cut(&format!("{} could not be made", count(digest.errored, "grade")), width);
    let mut shown = vec![format!("{DOUBTFUL}{heading}{DOUBTFUL:#}")];
    let mut rows = Vec::new();
    for group in digest.errors.iter().take(ERRORS) {
        let first = origin.named(group.at, &group.sample_id);
        rows.push(vec![
            number(format!("{} ×", group.count)),
            words(&cut(&group.kind, GRADER)),
            words(&cut(&group.message, width)),
            words(&format!("first {} {}", cut_middle(&first, SAMPLE), group.grader)),
        ]);
    }
    shown.extend(lines(&rows, width));
    let listed: usize = digest.errors.iter().take(ERRORS).map(|group| group.count).sum();
    if digest.errored > listed {
        shown.push(faint(&format!("{} more for other reasons", digest.errored - listed)));
    }
    shown
}

fn fact_lines(
    summary: &Summary,
    digest: &ReportDigest,
    facts: &ProcessFacts,
    width: usize,
) -> Vec<String> {
    let mut shown: Vec<String> = digest.empty_line().into_iter().collect();
    shown.extend(human::lines_within(summary, width));
    shown.extend(usage::lines(summary));
    let counts = [("made", facts.asked), ("cached", facts.cached), ("failed", facts.failed)];
    let counts = counts.into_iter().filter_map(|(name, count)| Some(format!("{} {name}", count?)));
    let mut parts: Vec<String> = counts.collect();
    let title = if parts.is_empty() { "graded" } else { "calls:" };
    parts.extend(facts.seconds.map(|seconds| format!("in {seconds:.1} s")));
    if !parts.is_empty() {
        shown.push(format!("{title} {}", parts.join(", ")));
    }
    shown.extend(money(facts));
    shown.extend(facts.target.iter().flat_map(usage::target_lines));
    let report = facts.report.as_ref().map(|report| format!("report: {}", sanitize(report)));
    let shown = shown.iter().map(|line| cut(line, width)).chain(report);
    shown.map(|line| faint(&line)).collect()
}

/// Why the exit code is 3 and what to do: one line, with a command to copy, so the terminal breaks it and nothing is cut.
fn ending_lines(run: &ReportedRun<'_, '_>, digest: &ReportDigest) -> Vec<String> {
    let ReportedRun { report, facts, origin } = *run;
    let gated = origin.gated.as_ref().filter(|_| facts.ending.is_incomplete());
    let of_gate =
        gated.map(|_| ReportDigest::of_graders(report, 0, &|grader| origin.counts(grader)));
    // Where the gate lacks nothing, the others are why the run is incomplete.
    let lacking = of_gate.as_ref().filter(|of_gate| of_gate.errored > 0).unwrap_or(digest);
    let reason = facts.ending.reason(&report.summary.gate, lacking, &origin.command);
    let code = facts.ending.code;
    let line = reason.map(|reason| format!("{DOUBTFUL}exit code {code}:{DOUBTFUL:#} {reason}"));
    line.into_iter().collect()
}

/// What the run spent and saved; nothing where neither is known.
fn money(facts: &ProcessFacts) -> Option<String> {
    let part = |name: &str, usage: Usage| {
        let cost = usage.cost.map_or_else(String::new, |cost| format!("{cost}, "));
        let tokens = usage.input + usage.output;
        (tokens > 0).then(|| format!("{name} {cost}{}", count(tokens, "token")))
    };
    let parts = [part("spent", facts.spent), part("saved", facts.saved)];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

#[cfg(test)]
mod tests {
    use anstream::adapter::strip_str;

    use super::*;
    use crate::ending::RunEnding;
    use crate::terminal_page::{FAINT, GOOD, TITLE};
    use evalrs_base::price::Cost;
    use evalrs_base::text::columns;
    use evalrs_test_runs as fixtures;
    use evalrs_test_runs::Run;

    fn facts() -> ProcessFacts {
        ProcessFacts {
            target: None,
            asked: Some(4),
            cached: Some(96),
            failed: Some(2),
            spent: Usage { cost: Cost::from_dollars(0.002), ..Usage::of_tokens(1000, 50) },
            saved: Usage { cost: Cost::from_dollars(0.0481), ..Usage::of_tokens(24_000, 1200) },
            ended: None,
            seconds: Some(12.34),
            report: Some(".evalrs/runs/7".to_owned()),
            ending: RunEnding::default(),
        }
    }

    fn styled(run: &Run, facts: &ProcessFacts, width: usize) -> String {
        let options = ReportOptions { width, failures: None, rolls_up: false };
        let origin = ReportOrigin { command: "suite.yaml".to_owned(), ..ReportOrigin::default() };
        run.written(|report, out| {
            write(&ReportedRun { report, facts, origin: &origin }, options, out)
        })
    }

    fn plain(run: &Run, facts: &ProcessFacts, width: usize) -> String {
        strip_str(&styled(run, facts, width)).to_string()
    }

    #[test]
    fn hostile_texts_stay_texts() {
        let ending = RunEnding { code: 3, ..RunEnding::default() };
        let facts = ProcessFacts { ending, ..facts() };
        insta::assert_snapshot!(plain(&fixtures::hostile(), &facts, 100), @r"
        undecided  support-bot: 2 samples, 4 results
        quality|x avg_score >= 0.8: 0.312 (0.312 to 0.812 depending on missing grades)

        grader     n  errors           mean [95 %]        pass [95 %]    min  median    max  errors as 0
        accuracy   4       0  0.500 [0.013, 0.987]  50.0% [1.3, 98.7]  0.000   0.500  1.000        0.500
        quality|x  4       2  0.625 [0.000, 1.000]  50.0% [1.3, 98.7]  0.250   0.625  1.000        0.312
        95 % intervals: Clopper-Pearson, clustered Clopper-Pearson and Student t

        trials    stderr            k           1      2
        accuracy  clustered 0.0000  pass^k  0.500  0.000
                  naive     0.2887  pass@k  0.500  1.000

        3 failures               grader     score  rationale
        s1 [m:1,x] [trial 0]     quality|x  0.250  </testcase> ]]>| ::error::@team `code` <img src=x>##[err…
        s1 [m:1,x] [trial 1]     accuracy   0.000  expected `a` found `b`
        <s|2> [m:1,x] [trial 1]  accuracy   0.000  @everyone

        2 grades could not be made
        2 ×  timeout  no answer ::warning::  first s1 quality|x

        accuracy, 2 trials of 2 samples: 2 flaky: s1 [m:1,x] 1/2, <s|2> [m:1,x] 1/2;
          variance of scores 0.0000 between samples, 0.5000 within, ICC(1) -1.00, stderr 0.3536
        4 judgments: 1234 tokens in, 56 out, $0.0123
        calls: 4 made, 96 cached, 2 failed, in 12.3 s
        spent $0.0020, 1050 tokens; saved $0.0481, 25200 tokens
        report: .evalrs/runs/7

        exit code 3: 2 grades could not be made, and the gate depends on them: run `evalrs run suite.yaml` again: it asks only for what is missing
        ");
    }

    #[test]
    fn only_our_own_styles_are_written() {
        let text = styled(&fixtures::hostile(), &facts(), 100);
        let ours = [GOOD, BAD, DOUBTFUL, TITLE, FAINT];
        let mut rest = text.replace("\u{1b}[0m", "");
        for style in ours {
            rest = rest.replace(&style.render().to_string(), "");
        }
        assert!(!rest.chars().any(|char| char.is_control() && char != '\n'), "{rest:?}");
        assert!(text.starts_with(&format!("{DOUBTFUL}undecided{DOUBTFUL:#}")));
    }

    #[test]
    fn a_run_of_nothing_is_one_line() {
        let text = plain(&fixtures::empty(), &ProcessFacts::default(), 100);
        assert_eq!(text, "no gate  support-bot: 0 samples, 0 results\n");
    }

    #[test]
    fn a_large_run_fits_on_a_screen() {
        let mut run = fixtures::large();
        let text = plain(&run, &facts(), 100);
        assert!(text.lines().count() < 45, "{text}");
        assert!(text.contains(" more in .evalrs/runs/7"), "{text}");
        assert!(text.contains("name-1 [claude] [trial 0]  accuracy  0.000  because"), "{text}");
        for width in [60, 80, 100, 200] {
            for line in plain(&run, &facts(), width).lines() {
                assert!(columns(line) <= width, "{width}: {line}");
            }
        }
        run.summary.by_model = None;
        run.results.retain(|result| result.trial == 0 && result.model.as_deref() == Some("gpt"));
        let text = plain(&run.summed(), &facts(), 100);
        assert!(text.lines().count() < 45, "{text}");
        assert!(text.lines().filter(|line| line.starts_with("tag-")).count() > 5, "{text}");
    }
}
