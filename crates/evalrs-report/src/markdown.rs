//! Markdown for a comment on a pull request: the verdict, tables, the first failures folded away.

use std::io;

use super::declared::add_declared;
use super::digest::{ReportDigest, label};
use super::format::{
    Audience, ReportFormat, ReportSink, ReportWriter, ReportedRollup, ReportedRun,
};
use super::intervals::{self, TITLE};
use super::markdown_page::{LimitedPage, MarkdownPage, code};
use super::origin::ReportOrigin;
use super::rater_pairs::add_pairs;
use super::{human, rollup, usage, verdict};
use evalrs_base::ordered_map::OrderedMap;
use evalrs_base::text::{count, cut, cut_middle, mean_and_error, percent, score, score_or_dash};
use evalrs_metrics::metric::Metric;
use evalrs_metrics::results::report::Report;

/// How many messages of grades that could not be made are shown.
const ERRORS: usize = 10;

/// How many models or graders a table shows.
const ROWS: usize = 30;

/// The columns that a rationale or an error message may take.
const RATIONALE: usize = 200;

/// The columns that the name of a result may take.
const LABEL: usize = 60;

/// The bytes that a comment may take: GitHub takes so many characters, which are as many or fewer.
const COMMENT: usize = 65_535;

/// Failures that are listed unless the command line says otherwise.
pub(super) const FAILURES: usize = 20;

/// A comment a suite.
pub(super) static FORMAT: ReportFormat = ReportFormat {
    name: "markdown",
    help: "For pull request comments",
    audience: Audience::People,
    joins_suites: true,
    start: |options| {
        let failures = options.failures.unwrap_or(FAILURES);
        Box::new(MarkdownWriter { failures, page: LimitedPage::new(COMMENT) })
    },
};

struct MarkdownWriter {
    failures: usize,
    page: LimitedPage,
}

impl ReportWriter for MarkdownWriter {
    fn add(&mut self, run: &ReportedRun<'_, '_>, sink: &mut ReportSink<'_>) -> io::Result<()> {
        self.page.add(&page(run.report, run.origin, self.failures), sink.out)
    }

    fn add_rollup(
        &mut self,
        reported: &ReportedRollup<'_>,
        sink: &mut ReportSink<'_>,
    ) -> io::Result<()> {
        writeln!(sink.out)?;
        self.page.add(&rollup::page(reported), sink.out)
    }
}

/// The report with at most `failures` failures.
pub(super) fn page(report: &Report<'_>, origin: &ReportOrigin, failures: usize) -> String {
    let digest = ReportDigest::of(report, failures);
    let mut page = summary_page(report);
    page.paragraphs(digest.empty_line());
    add_failures(&digest, origin, &mut page);
    add_errors(&digest, origin, &mut page);
    page.into_text()
}

/// What needs no result: the verdict and the tables.
pub(super) fn summary_page(report: &Report<'_>) -> MarkdownPage {
    let summary = report.summary;
    let heading = format!("{}: {}", code(&report.header.suite), verdict::word(&summary.gate));
    let mut page = MarkdownPage::under(&heading);
    page.gate(&summary.gate);
    let samples = count(summary.samples, "sample");
    page.paragraph(&format!("{samples}, {}", count(summary.results, "result")));
    add_metrics(&summary.metrics, &mut page);
    add_declared(&summary.declared, &mut page);
    add_curves(&summary.metrics, &mut page);
    summary.by_model.iter().for_each(|models| add_models(models, &mut page));
    add_pairs(summary, &mut page);
    let trust = human::lines(summary).into_iter().take(ROWS);
    let lines = trust.chain(usage::lines(summary).into_iter().take(ROWS));
    page.paragraphs(lines.map(|line| code(&line)));
    page
}

fn add_metrics(metrics: &OrderedMap<Metric>, page: &mut MarkdownPage) {
    let any_left_out = metrics.0.iter().any(|(_, metric)| metric.not_applicable > 0);
    let left_out: &[&str] = if any_left_out { &["n/a"] } else { &[] };
    let shown = ["mean ± stderr", TITLE, "pass rate", TITLE, "min", "median", "max"];
    let titles = [&["n", "errors"], left_out, &shown].concat();
    let rows = metrics.0.iter().take(ROWS).map(|(grader, metric)| {
        let counts = [code(grader), metric.n.to_string(), metric.errors.to_string()];
        let left_out = any_left_out.then(|| metric.not_applicable.to_string());
        let ends = [metric.min, metric.median, metric.max].map(score_or_dash);
        counts.into_iter().chain(left_out).chain(estimates(metric)).chain(ends).collect()
    });
    page.table(&["grader"], &titles, rows);
    page.rest(metrics.0.len(), ROWS, "grader");
    page.paragraphs(intervals::methods(metrics));
    for (grader, metric) in &metrics.0 {
        let native = metric.native.as_ref().map(intervals::native_mean);
        page.paragraphs(native.map(|native| format!("{}: {native}", code(grader))));
    }
}

/// The mean and the pass rate, each with its interval.
fn estimates(metric: &Metric) -> [String; 4] {
    [
        mean_and_error(metric.avg_score_attempted, metric.stderr),
        intervals::mean_interval(metric),
        percent(metric.accuracy),
        intervals::rate_interval(metric),
    ]
}

fn add_curves(metrics: &OrderedMap<Metric>, page: &mut MarkdownPage) {
    for (grader, metric) in metrics.0.iter().take(ROWS) {
        for (name, curve) in [("pass^k", &metric.pass_hat), ("pass@k", &metric.pass_at)] {
            let Some(curve) = curve else { continue };
            let points: Vec<String> =
                curve.0.iter().map(|(k, value)| format!("{} (k = {k})", score(*value))).collect();
            page.paragraph(&format!("{} {name}: {}", code(grader), points.join(", ")));
        }
    }
}

fn add_models(models: &OrderedMap<OrderedMap<Metric>>, page: &mut MarkdownPage) {
    let titles = ["n", "errors", "mean ± stderr", TITLE, "pass rate", TITLE];
    let rows = models.0.iter().take(ROWS).flat_map(|(model, metrics)| {
        metrics.0.iter().take(ROWS).map(move |(grader, metric)| {
            let counts = [metric.n, metric.errors].map(|n| n.to_string());
            let names = [code(model), code(grader)];
            names.into_iter().chain(counts).chain(estimates(metric)).collect()
        })
    });
    page.table(&["model", "grader"], &titles, rows);
    page.rest(models.0.len(), ROWS, "model");
}

fn add_failures(digest: &ReportDigest, origin: &ReportOrigin, page: &mut MarkdownPage) {
    if digest.failed == 0 {
        return;
    }
    let items = digest.failures.iter().map(|failure| {
        let id = origin.named(failure.at, &failure.sample_id);
        let trial = digest.trials.then_some(failure.trial);
        let label = code(&cut_middle(&label(&id, failure.model.as_deref(), trial), LABEL));
        let grader = code(&failure.grader);
        let score = score(failure.score);
        let rationale = code(&cut(&failure.rationale, RATIONALE));
        format!("- {label} {grader} {score}: {rationale}")
    });
    let rest = digest.failed - digest.failures.len();
    page.folded(&count(digest.failed, "failure"), items, rest, "failure");
}

fn add_errors(digest: &ReportDigest, origin: &ReportOrigin, page: &mut MarkdownPage) {
    if digest.errored == 0 {
        return;
    }
    let shown = || digest.errors.iter().take(ERRORS);
    let items = shown().map(|group| {
        let sample_id = origin.named(group.at, &group.sample_id);
        let message = code(&cut(&group.message, RATIONALE));
        let first = format!("{} {}", code(&cut_middle(&sample_id, LABEL)), code(&group.grader));
        format!("- {} × {}: {message}, first {first}", group.count, code(&group.kind))
    });
    let rest = digest.errored - shown().map(|group| group.count).sum::<usize>();
    let errored = count(digest.errored, "grade");
    page.folded(&format!("{errored} could not be made"), items, rest, "grade");
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;
    use crate::markdown_page::LEFT_OUT;
    use evalrs_metrics::gate::{GateReport, GateStatus};
    use evalrs_test_runs as fixtures;
    use evalrs_test_runs::Run;

    fn shown(run: &Run) -> String {
        run.written(|report, out| {
            out.write_all(page(report, &ReportOrigin::default(), 2).as_bytes())
        })
    }

    #[test]
    fn hostile_texts_stay_texts() {
        let text = shown(&fixtures::hostile());
        insta::assert_snapshot!(text, @r"
        ### `support-bot`: undecided

        <code>quality&#124;x avg&#95;score &#62;&#61; 0&#46;8&#58; 0&#46;312 &#40;0&#46;312 to 0&#46;812 depending on missing grades&#41;</code>

        2 samples, 4 results

        | grader | n | errors | mean ± stderr | 95 % interval | pass rate | 95 % interval | min | median | max |
        |:--|--:|--:|--:|--:|--:|--:|--:|--:|--:|
        | `accuracy` | 4 | 0 | 0.500 ± 0.000 | [0.013, 0.987] | 50.0% | [1.3, 98.7] | 0.000 | 0.500 | 1.000 |
        | <code>quality&#124;x</code> | 4 | 2 | 0.625 ± 0.375 | [0.000, 1.000] | 50.0% | [1.3, 98.7] | 0.250 | 0.625 | 1.000 |

        95 % intervals: Clopper-Pearson, clustered Clopper-Pearson and Student t

        `accuracy` pass^k: 0.500 (k = 1), 0.000 (k = 2)

        `accuracy` pass@k: 0.500 (k = 1), 1.000 (k = 2)

        <code>accuracy&#44; 2 trials of 2 samples&#58; 2 flaky&#58; s1 &#91;m&#58;1&#44;x&#93; 1&#47;2&#44; &#60;s&#124;2&#62; &#91;m&#58;1&#44;x&#93; 1&#47;2&#59; variance of scores 0&#46;0000 between samples&#44; 0&#46;5000 within&#44; ICC&#40;1&#41; &#45;1&#46;00&#44; stderr 0&#46;3536</code>

        `4 judgments: 1234 tokens in, 56 out, $0.0123`

        <details><summary>3 failures</summary>

        - `s1 [m:1,x] [trial 0]` <code>quality&#124;x</code> 0.250: <code>&#60;&#47;testcase&#62; &#93;&#93;&#62;&#124; &#58;&#58;error&#58;&#58;&#64;team &#96;code&#96; &#60;img src&#61;x&#62;&#35;&#35;&#91;error&#93;&#37;0A</code>
        - `s1 [m:1,x] [trial 1]` `accuracy` 0.000: <code>expected &#96;a&#96; found &#96;b&#96;</code>

        1 failure not shown

        </details>

        <details><summary>2 grades could not be made</summary>

        - 2 × `timeout`: `no answer ::warning::`, first `s1` <code>quality&#124;x</code>

        </details>
        ");
    }

    #[test]
    fn a_run_of_nothing_has_no_tables() {
        let text = shown(&fixtures::empty());
        assert_eq!(text, "### `support-bot`: no gate\n\n0 samples, 0 results\n");
    }

    #[test]
    fn conditions_are_a_nested_list() {
        let leaf = |status, rule: &str| GateReport {
            status: Some(status),
            rule: Some(rule.to_owned()),
            ..GateReport::default()
        };
        let mut run = fixtures::empty();
        let inner = GateReport {
            conditions: vec![leaf(GateStatus::Passed, "b"), leaf(GateStatus::Failed, "c")],
            ..leaf(GateStatus::Passed, "b or c")
        };
        run.summary.gate = GateReport {
            conditions: vec![leaf(GateStatus::Passed, "a"), inner],
            ..leaf(GateStatus::Passed, "a and (b or c)")
        };
        let text = shown(&run);
        let list = "`a and (b or c)`\n\n- passed: `a`\n- passed: `b or c`\n  - passed: `b`\n  - failed: `c`\n\n0 samples";
        assert!(text.contains(list), "{text}");
    }

    #[test]
    fn a_comment_stays_below_its_limit() {
        let mut run = fixtures::large();
        for result in &mut run.results {
            result.sample_id = "|".repeat(10_000);
            for (_, grade) in &mut result.grades.0 {
                grade.rationale = "`".repeat(10_000);
            }
        }
        for failures in [20, 100_000] {
            let written = |report: &Report<'_>, out: &mut dyn Write| {
                let mut limited = LimitedPage::new(COMMENT);
                let text = page(report, &ReportOrigin::default(), failures);
                limited.add(&text, out)?;
                limited.add(&text, out)
            };
            let text = run.written(written);
            assert!(text.len() <= COMMENT, "{}", text.len());
            let count = |tag| text.matches(tag).count();
            assert_eq!(count("<details>"), count("</details>"), "{failures}");
            assert_eq!(text.contains(LEFT_OUT), failures > 20);
        }
    }
}
