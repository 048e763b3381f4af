//! GitHub Actions: annotations as workflow commands, then the summary as lines of the log.
//!
//! A log line is an instruction to the runner if it starts with `::` or holds `##[`; untrusted text is
//! escaped as workflow commands define it, and the summary is kept from looking like one. GitHub shows ten
//! annotations of a kind for a step and drops the rest, so the verdict comes first.

use std::io::{self, Write};

use super::digest::Digest;
use super::text::{count, cut, sanitize, score};
use super::{Report, markdown, verdict};

/// How many failures are annotated unless the user says otherwise: the verdict takes one of ten.
pub const FAILURES: usize = 9;

/// How many messages of grades that could not be made are annotated.
const ERRORS: usize = 5;

/// The columns that a message may take.
const MESSAGE: usize = 1000;

/// Writes the verdict and at most `failures` failures as annotations, then the summary.
pub fn write(report: &Report<'_>, failures: usize, out: &mut dyn Write) -> io::Result<()> {
    let digest = Digest::of((report.results)(), failures);
    let gate = &report.summary.gate;
    // Failures under a gate that passed are tolerated: they warn.
    let level = if verdict::blocks(gate) { "error" } else { "warning" };
    if verdict::blocks(gate) {
        let title = format!("{}: {}", report.header.suite, verdict::word(gate));
        annotate(level, &title, &verdict::finding(gate), out)?;
    }
    for failure in &digest.failures {
        let title = format!("{}: {}", failure.grader, failure.label(digest.trials));
        let message = format!("score {}: {}", score(failure.score), failure.rationale);
        annotate(level, &title, &message, out)?;
    }
    for group in digest.errors.iter().take(ERRORS) {
        let title = format!("{}: could not be made", count(group.count, "grade"));
        let first = format!("first {} of {}", group.grader, group.sample_id);
        annotate(level, &title, &format!("{}: {} ({first})", group.kind, group.message), out)?;
    }
    let mut summary = Vec::new();
    markdown::write_summary(report, &mut summary)?;
    out.write_all(defused(&String::from_utf8_lossy(&summary)).as_bytes())?;
    let (failed, errored) = (count(digest.failed, "failure"), count(digest.errored, "grade"));
    writeln!(out, "\n{failed}, {errored} could not be made")
}

fn annotate(level: &str, title: &str, message: &str, out: &mut dyn Write) -> io::Result<()> {
    let title = escape_property(&cut(&sanitize(title), MESSAGE));
    // Line breaks are kept, escaped: an annotation may have several lines.
    let lines: Vec<String> = message.lines().map(sanitize).collect();
    let message: String = lines.join("\n").chars().take(MESSAGE).collect();
    writeln!(out, "::{level} title={title}::{}", escape_data(&message))
}

fn escape_data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn escape_property(text: &str) -> String {
    escape_data(text).replace(':', "%3A").replace(',', "%2C")
}

/// The summary without the older form of commands, which the runner finds anywhere in a line. The newer form
/// starts a line, and every line of the summary starts with a sign of Markdown or a number of ours.
fn defused(text: &str) -> String {
    text.replace("##[", "## [")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{GateReport, GateStatus, made_up};

    #[test]
    fn hostile_texts_stay_texts() {
        let text = made_up::hostile().written(|report, out| write(report, FAILURES, out));
        insta::assert_snapshot!(text, @r#"
        ::error title=support-bot%3A undecided::quality|x avg_score >= 0.8: 0.312 (0.312 to 0.812 depending on missing grades)
        ::error title=quality|x%3A s1 [m%3A1%2Cx] [trial 0]::score 0.250: </testcase> ]]>|%0A::error::@team `code` <img src=x>##[error]%250A
        ::error title=accuracy%3A s1 [m%3A1%2Cx] [trial 1]::score 0.000: expected `a`%0Afound `b`
        ::error title=accuracy%3A <s|2> [m%3A1%2Cx] [trial 1]::score 0.000: @everyone
        ::error title=2 grades%3A could not be made::timeout: no answer%0A::warning:: (first quality|x of s1)
        ### `support-bot`: undecided

        <code>quality&#124;x avg&#95;score &#62;&#61; 0&#46;8&#58; 0&#46;312 &#40;0&#46;312 to 0&#46;812 depending on missing grades&#41;</code>

        2 samples, 4 results

        | grader | n | errors | mean ± stderr | pass rate | min | median | max |
        |:--|--:|--:|--:|--:|--:|--:|--:|
        | `accuracy` | 4 | 0 | 0.500 ± 0.000 | 50.0% | 0.000 | 0.500 | 1.000 |
        | <code>quality&#124;x</code> | 4 | 2 | 0.625 ± 0.375 | 50.0% | 0.250 | 0.625 | 1.000 |

        `accuracy` pass^k: 0.500 (k = 1), 0.000 (k = 2)

        `accuracy` pass@k: 0.500 (k = 1), 1.000 (k = 2)

        `4 judgments: 1234 tokens in, 56 out, $0.0123`

        3 failures, 2 grades could not be made
        "#);
    }

    #[test]
    fn only_our_own_lines_are_commands() {
        let mut run = made_up::hostile();
        run.header.suite = "x\n::error::y ##[error]z".to_owned();
        run.summary.gate.rule = Some("\r\n ::set-output name=a::b".to_owned());
        let text = run.written(|report, out| write(report, FAILURES, out));
        let commands: Vec<_> =
            text.lines().filter(|line| line.trim_start().starts_with("::")).collect();
        assert_eq!(commands.len(), 1 + 3 + 1, "{text}");
        assert!(commands.iter().all(|line| line.starts_with("::error title=")), "{text}");
        let rest = text.lines().filter(|line| !line.starts_with("::"));
        assert!(rest.filter(|line| line.contains("##[")).count() == 0, "{text}");
        assert!(!text.contains('\r'));
    }

    #[test]
    fn failures_under_a_passed_gate_warn() {
        let mut run = made_up::hostile();
        run.summary.gate = GateReport { status: Some(GateStatus::Passed), ..GateReport::default() };
        let text = run.written(|report, out| write(report, 1, out));
        let commands: Vec<_> = text.lines().filter(|line| line.starts_with("::")).collect();
        assert_eq!(commands.len(), 2);
        assert!(commands.iter().all(|line| line.starts_with("::warning title=")), "{text}");
    }

    #[test]
    fn escapes_are_those_of_workflow_commands() {
        assert_eq!(escape_data("100%\r\na:b,c"), "100%25%0D%0Aa:b,c");
        assert_eq!(escape_property("100%\na:b,c"), "100%25%0Aa%3Ab%2Cc");
    }
}
