//! Markdown for a comment on a pull request: the verdict, tables, the first failures folded away.
//!
//! Whatever a suite, a sample or a judge wrote is shown as code: nobody is mentioned, nothing is linked, no
//! table or HTML is broken. Long texts are cut, and what does not fit into a comment is left out.

use std::io::{self, Write};

use super::declared::write_declared;
use super::digest::{ErrorGroup, ReportDigest, label};
use super::intervals::{self, TITLE};
use super::origin::ReportOrigin;
use super::rater_pairs::write_pairs;
use super::{
    Audience, ReportFormat, ReportSink, ReportWriter, ReportedRollup, ReportedRun, human, rollup,
    usage, verdict,
};
use evalrs_base::ordered_map::Ordered;
use evalrs_base::text::{
    count, cut, cut_middle, mean_and_error, percent, sanitize, score, score_or_dash,
};
use evalrs_metrics::gate::GateReport;
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
        self.page.add(run, self.failures, sink.out)
    }

    fn add_rollup(
        &mut self,
        reported: &ReportedRollup<'_>,
        sink: &mut ReportSink<'_>,
    ) -> io::Result<()> {
        writeln!(sink.out)?;
        self.page.add_text(&rollup::page(reported)?, sink.out)
    }
}

/// A text for people that must not be longer than something takes.
#[derive(Debug)]
pub(super) struct LimitedPage {
    /// The bytes that are left.
    room: usize,
}

/// What ends a page on which more does not fit.
const LEFT_OUT: &str = "\nThe rest does not fit and is left out.\n";

impl LimitedPage {
    /// An empty one of at most so many bytes.
    pub(crate) fn new(room: usize) -> Self {
        Self { room }
    }

    /// Adds the report with at most `failures` failures, or as much of it as fits.
    pub(crate) fn add(
        &mut self,
        run: &ReportedRun<'_, '_>,
        failures: usize,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let mut whole = Vec::new();
        write(run.report, run.origin, failures, &mut whole)?;
        self.add_text(&String::from_utf8_lossy(&whole), out)
    }

    /// Adds the text, or as many of its lines as fit.
    pub(super) fn add_text(&mut self, text: &str, out: &mut dyn Write) -> io::Result<()> {
        let fitting = fitted(text, self.room);
        self.room -= fitting.len();
        out.write_all(fitting.as_bytes())
    }
}

/// What closes what was folded away.
const CLOSE: &str = "\n</details>\n";

/// The first lines of a report, as many as fit into `room` bytes; what they open is closed.
fn fitted(text: &str, room: usize) -> String {
    if text.len() <= room {
        return text.to_owned();
    }
    let Some(room) = room.checked_sub(LEFT_OUT.len() + CLOSE.len()) else { return String::new() };
    let mut kept = String::new();
    let mut is_open = false;
    for line in text.split_inclusive('\n') {
        if kept.len() + line.len() > room {
            break;
        }
        kept.push_str(line);
        is_open = (is_open || line.starts_with("<details>")) && !line.starts_with("</details>");
    }
    kept.push_str(if is_open { CLOSE } else { "" });
    kept + LEFT_OUT
}

/// Writes the report with at most `failures` failures.
pub(super) fn write(
    report: &Report<'_>,
    origin: &ReportOrigin,
    failures: usize,
    out: &mut dyn Write,
) -> io::Result<()> {
    let digest = ReportDigest::of(report, failures);
    write_summary(report, out)?;
    if let Some(line) = digest.empty_line() {
        writeln!(out, "\n{line}")?;
    }
    write_failures(&digest, origin, out)?;
    write_errors(&digest, origin, out)
}

/// Writes what needs no result: the verdict and the tables.
pub(super) fn write_summary(report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
    let summary = report.summary;
    let suite = code(&report.header.suite);
    writeln!(out, "### {suite}: {}", verdict::word(&summary.gate))?;
    writeln!(out)?;
    write_gate(&summary.gate, "", out)?;
    let samples = count(summary.samples, "sample");
    let results = count(summary.results, "result");
    writeln!(out, "{samples}, {results}")?;
    if !summary.metrics.0.is_empty() {
        writeln!(out)?;
        write_metrics(&summary.metrics, out)?;
    }
    write_declared(&summary.declared, out)?;
    write_curves(&summary.metrics, out)?;
    if let Some(models) = &summary.by_model {
        write_models(models, out)?;
    }
    write_pairs(summary, out)?;
    for line in
        human::lines(summary).iter().take(ROWS).chain(usage::lines(summary).iter().take(ROWS))
    {
        writeln!(out, "\n{}", code(line))?;
    }
    Ok(())
}

/// Writes what the gate says, and a line for each condition.
pub(super) fn write_gate(gate: &GateReport, indent: &str, out: &mut dyn Write) -> io::Result<()> {
    if gate.status.is_none() {
        return Ok(());
    }
    let finding = code(&verdict::finding(gate));
    if indent.is_empty() {
        writeln!(out, "{finding}")?;
    }
    if !gate.conditions.is_empty() {
        writeln!(out)?;
        write_conditions(&gate.conditions, indent, out)?;
    }
    if indent.is_empty() { writeln!(out) } else { Ok(()) }
}

fn write_conditions(
    conditions: &[GateReport],
    indent: &str,
    out: &mut dyn Write,
) -> io::Result<()> {
    for gate in conditions {
        let finding = code(&verdict::finding(gate));
        writeln!(out, "{indent}- {}: {finding}", verdict::word(gate))?;
        write_conditions(&gate.conditions, &format!("{indent}  "), out)?;
    }
    Ok(())
}

fn write_metrics(metrics: &Ordered<Metric>, out: &mut dyn Write) -> io::Result<()> {
    let any_left_out = metrics.0.iter().any(|(_, metric)| metric.not_applicable > 0);
    let [title, line] = if any_left_out { [" n/a |", "--:|"] } else { [""; 2] };
    writeln!(
        out,
        "| grader | n | errors |{title} mean ± stderr | {TITLE} | pass rate | {TITLE} | min | median | max |"
    )?;
    writeln!(out, "|:--|--:|--:|{line}--:|--:|--:|--:|--:|--:|--:|")?;
    for (grader, metric) in metrics.0.iter().take(ROWS) {
        let errors = if any_left_out {
            format!("{} | {}", metric.errors, metric.not_applicable)
        } else {
            metric.errors.to_string()
        };
        let numbers = [
            metric.n.to_string(),
            errors,
            mean_and_error(metric.avg_score_attempted, metric.stderr),
            intervals::mean_interval(metric),
            percent(metric.accuracy),
            intervals::rate_interval(metric),
            score_or_dash(metric.min),
            score_or_dash(metric.median),
            score_or_dash(metric.max),
        ];
        writeln!(out, "| {} | {} |", code(grader), numbers.join(" | "))?;
    }
    write_rest(metrics.0.len().saturating_sub(ROWS), "grader", out)?;
    if let Some(methods) = intervals::methods(metrics) {
        writeln!(out, "\n{methods}")?;
    }
    for (grader, metric) in &metrics.0 {
        if let Some(native) = &metric.native {
            writeln!(out, "\n{}: {}", code(grader), intervals::native_mean(native))?;
        }
    }
    Ok(())
}

fn write_curves(metrics: &Ordered<Metric>, out: &mut dyn Write) -> io::Result<()> {
    for (grader, metric) in metrics.0.iter().take(ROWS) {
        for (name, curve) in [("pass^k", &metric.pass_hat), ("pass@k", &metric.pass_at)] {
            let Some(curve) = curve else { continue };
            let points: Vec<String> =
                curve.0.iter().map(|(k, value)| format!("{} (k = {k})", score(*value))).collect();
            writeln!(out, "\n{} {name}: {}", code(grader), points.join(", "))?;
        }
    }
    Ok(())
}

fn write_models(models: &Ordered<Ordered<Metric>>, out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "\n| model | grader | n | errors | mean ± stderr | {TITLE} | pass rate | {TITLE} |"
    )?;
    writeln!(out, "|:--|:--|--:|--:|--:|--:|--:|--:|")?;
    for (model, metrics) in models.0.iter().take(ROWS) {
        for (grader, metric) in metrics.0.iter().take(ROWS) {
            let numbers = [
                metric.n.to_string(),
                metric.errors.to_string(),
                mean_and_error(metric.avg_score_attempted, metric.stderr),
                intervals::mean_interval(metric),
                percent(metric.accuracy),
                intervals::rate_interval(metric),
            ];
            writeln!(out, "| {} | {} | {} |", code(model), code(grader), numbers.join(" | "))?;
        }
    }
    write_rest(models.0.len().saturating_sub(ROWS), "model", out)
}

fn write_rest(rest: usize, noun: &str, out: &mut dyn Write) -> io::Result<()> {
    if rest == 0 { Ok(()) } else { writeln!(out, "\n{} not shown", count(rest, noun)) }
}

fn write_failures(
    digest: &ReportDigest,
    origin: &ReportOrigin,
    out: &mut dyn Write,
) -> io::Result<()> {
    if digest.failed == 0 {
        return Ok(());
    }
    writeln!(out, "\n<details><summary>{}</summary>\n", count(digest.failed, "failure"))?;
    for failure in &digest.failures {
        let id = origin.named(failure.at, &failure.sample_id);
        let trial = digest.trials.then_some(failure.trial);
        let label = code(&cut_middle(&label(&id, failure.model.as_deref(), trial), LABEL));
        let grader = code(&failure.grader);
        let score = score(failure.score);
        let rationale = code(&cut(&failure.rationale, RATIONALE));
        writeln!(out, "- {label} {grader} {score}: {rationale}")?;
    }
    let rest = digest.failed - digest.failures.len();
    write_rest(rest, "failure", out)?;
    writeln!(out, "\n</details>")
}

fn write_errors(
    digest: &ReportDigest,
    origin: &ReportOrigin,
    out: &mut dyn Write,
) -> io::Result<()> {
    if digest.errored == 0 {
        return Ok(());
    }
    let errored = count(digest.errored, "grade");
    writeln!(out, "\n<details><summary>{errored} could not be made</summary>\n")?;
    let shown = &digest.errors[..digest.errors.len().min(ERRORS)];
    for ErrorGroup { kind, message, count, sample_id, grader, at, .. } in shown {
        let sample_id = &origin.named(*at, sample_id);
        let message = code(&cut(message, RATIONALE));
        let first = format!("{} {}", code(&cut_middle(sample_id, LABEL)), code(grader));
        writeln!(out, "- {count} × {}: {message}, first {first}", code(kind))?;
    }
    let rest = digest.errored - shown.iter().map(|group| group.count).sum::<usize>();
    write_rest(rest, "grade", out)?;
    writeln!(out, "\n</details>")
}

/// The text as code, on one line. A code span interprets nothing; only a backtick can end it and only a pipe
/// can break a table around it, and with either in the text every sign is written as a reference instead.
pub(super) fn code(text: &str) -> String {
    let text = sanitize(text);
    if text.trim().is_empty() {
        return "(empty)".to_owned();
    }
    if !text.contains(['`', '|']) {
        return format!("`{text}`");
    }
    let references = text.chars().map(|char| match char {
        _ if char.is_ascii_punctuation() => format!("&#{};", u32::from(char)),
        _ => char.to_string(),
    });
    format!("<code>{}</code>", references.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ProcessFacts;
    use evalrs_metrics::gate::GateStatus;
    use evalrs_test_runs as fixtures;

    #[test]
    fn hostile_texts_stay_texts() {
        let text = fixtures::hostile()
            .written(|report, out| write(report, &ReportOrigin::default(), 2, out));
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
        let text = fixtures::empty()
            .written(|report, out| write(report, &ReportOrigin::default(), 2, out));
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
        let text = run.written(|report, out| write(report, &ReportOrigin::default(), 2, out));
        let list = "`a and (b or c)`\n\n- passed: `a`\n- passed: `b or c`\n  - passed: `b`\n  - failed: `c`\n\n0 samples";
        assert!(text.contains(list), "{text}");
    }

    #[test]
    fn code_ends_where_it_should() {
        let cases = [
            ("plain @team <b>", "`plain @team <b>`"),
            ("a\n\nb", "`a  b`"),
            ("tail\\", "`tail\\`"),
            ("a`b", "<code>a&#96;b</code>"),
            ("a|@b", "<code>a&#124;&#64;b</code>"),
            (" \n", "(empty)"),
        ];
        for (text, expected) in cases {
            assert_eq!(code(text), expected, "{text:?}");
        }
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
                let mut page = LimitedPage::new(COMMENT);
                let facts = ProcessFacts::default();
                let run = ReportedRun { report, facts: &facts, origin: &ReportOrigin::default() };
                page.add(&run, failures, out)?;
                page.add(&run, failures, out)
            };
            let text = run.written(written);
            assert!(text.len() <= COMMENT, "{}", text.len());
            let count = |tag| text.matches(tag).count();
            assert_eq!(count("<details>"), count("</details>"), "{failures}");
            assert_eq!(text.contains(LEFT_OUT), failures > 20);
        }
    }

    #[test]
    fn what_does_not_fit_is_left_out_in_whole_lines() {
        let text = "### a\n\n<details><summary>2</summary>\n\n- one\n- two\n\n</details>\n";
        let rest = "\nThe rest does not fit and is left out.\n";
        for (room, expected) in [
            (text.len(), text.to_owned()),
            (10, String::new()),
            (61, format!("### a\n\n{rest}")),
            (text.len() - 1, format!("### a\n\n{rest}")),
        ] {
            let fitting = fitted(text, room);
            assert!(fitting.len() <= room);
            assert_eq!(fitting, expected, "{room}");
        }
        let long = text.replace("- two", &"- two\n".repeat(50));
        let fitting = fitted(&long, 150);
        assert!(fitting.ends_with(&format!("- two\n\n</details>\n{rest}")), "{fitting}");
    }
}
