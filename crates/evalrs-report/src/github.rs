//! GitHub Actions: annotations as workflow commands, and the summary for people.
//!
//! GitHub shows ten annotations of a kind for a step and drops the rest, so those of all suites of a command are
//! collected: what decides the exit code comes first, the rest is counted. A log line is an instruction to the runner
//! if it starts with `::` or holds `##[`; untrusted text is escaped as workflow commands define it, and the summary is
//! kept from looking like one.

use std::io::{self, Write};

use super::digest::{ErrorGroup, FailedResult, ReportDigest};
use super::ending::cure;
use super::format::{
    Audience, ReportFormat, ReportOptions, ReportSink, ReportWriter, ReportedRollup, ReportedRun,
};
use super::origin::ReportOrigin;
use super::page::markdown::{LimitedPage, shown};
use super::run_page::{ReportView, page};
use super::{markdown, rollup, verdict};
use evalrs_base::text::{count, cut, sanitize, score};
use evalrs_metrics::gate::GateStatus;
use evalrs_metrics::results::report::Report;
use evalrs_metrics::rollup::RollupReport;
use evalrs_model::outcome::STORED_ELSEWHERE;

/// How many annotations of a kind GitHub shows for a step.
const SHOWN: usize = 10;

/// The bytes of a step summary: GitHub refuses one that is longer than a mebibyte.
const SUMMARY: usize = 1_000_000;

/// The columns that a message may take.
const MESSAGE: usize = 1000;

/// Annotations, and a page for the summary of the step.
pub(super) static FORMAT: ReportFormat = ReportFormat {
    name: "github",
    help: "GitHub workflow annotations",
    audience: Audience::GitHub,
    joins_suites: true,
    start: |options| Box::new(Annotations::new(options)),
};

struct Annotations {
    options: ReportOptions,
    errors: AnnotationKind,
    warnings: AnnotationKind,
    failed: usize,
    errored: usize,
    page: LimitedPage,
}

impl Annotations {
    fn new(options: ReportOptions) -> Self {
        Self {
            options,
            errors: AnnotationKind::default(),
            warnings: AnnotationKind::default(),
            failed: 0,
            errored: 0,
            page: LimitedPage::new(SUMMARY),
        }
    }
}

#[derive(Debug, Default)]
struct AnnotationKind {
    /// The first of each rank, as they came.
    kept: Vec<(AnnotationRank, Annotation)>,
    all: usize,
}

/// What comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum AnnotationRank {
    /// Why the run exits as it does.
    Verdict,
    /// What keeps it from being complete.
    Missing,
    /// What the gate looks at.
    Gated,
    /// The rest.
    Other,
}

#[derive(Debug)]
struct Annotation {
    /// The file and, of a row, its line.
    place: Option<(String, Option<u32>)>,
    title: String,
    message: String,
}

impl ReportWriter for Annotations {
    fn add(&mut self, run: &ReportedRun<'_, '_>, sink: &mut ReportSink<'_>) -> io::Result<()> {
        self.annotate(run);
        // Where the page is the log, that has the annotations: a summary is enough.
        let lists = sink.page.is_some();
        let view = ReportView { lists, moves: true, ..markdown::view(self.options) };
        self.write_page(&shown(&page(run, view)), sink)
    }

    fn add_rollup(
        &mut self,
        reported: &ReportedRollup<'_>,
        sink: &mut ReportSink<'_>,
    ) -> io::Result<()> {
        let RollupReport { name, gate, .. } = reported.rollup;
        if verdict::blocks(gate) {
            self.errors.push(AnnotationRank::Verdict, || Annotation {
                place: reported.path.map(|path| (path.to_owned(), None)),
                title: format!("{name}: {}", verdict::word(gate)),
                message: verdict::finding(gate),
            });
        }
        self.write_page(&shown(&rollup::page(reported, false)), sink)
    }

    /// Writes the annotations, and how many more there are.
    fn finish(mut self: Box<Self>, out: &mut dyn Write) -> io::Result<()> {
        for (level, kind) in [("error", &mut self.errors), ("warning", &mut self.warnings)] {
            kind.kept.sort_by_key(|(rank, _)| *rank);
            kind.kept.truncate(SHOWN);
            for (_, annotation) in &kind.kept {
                annotation.write(level, out)?;
            }
        }
        let failed = count(self.failed, "failure");
        let errored = count(self.errored, "grade");
        let hidden = self.errors.hidden() + self.warnings.hidden();
        let rest = match hidden {
            0 => String::new(),
            hidden => format!("; {hidden} not annotated: GitHub shows {SHOWN} of a kind"),
        };
        writeln!(out, "{failed}, {errored} could not be made{rest}")
    }
}

impl Annotations {
    /// Writes a text for people to the page beside the log, or as lines of the log where no page takes it.
    fn write_page(&mut self, text: &str, sink: &mut ReportSink<'_>) -> io::Result<()> {
        let Some(page) = &mut sink.page else {
            return writeln!(sink.out, "{}", defused(text));
        };
        self.page.add(text, page)?;
        writeln!(page)
    }

    /// Adds those of one suite. Failures that the gate looks at and the others are counted apart.
    fn annotate(&mut self, run: &ReportedRun<'_, '_>) {
        let ReportedRun { report, facts, origin } = *run;
        let ending = &facts.ending;
        let failures = self.options.failures.unwrap_or(SHOWN).min(SHOWN);
        let gate = &report.summary.gate;
        let digest = |counted: bool| {
            let counts = |grader: &str| origin.counts(grader) == counted;
            ReportDigest::of_graders(report, failures, &counts)
        };
        let counted = digest(true);
        let others = origin.gated.as_ref().map(|_| digest(false)).unwrap_or_default();
        let is_incomplete = ending.is_incomplete();
        // Where the gate lacks nothing, the others are why the run is incomplete.
        let lacking = if counted.errored > 0 { &counted } else { &others };
        if verdict::blocks(gate) || is_incomplete || ending.is_in_batch() {
            let reason = ending.reason(gate, lacking, &origin.command);
            let finding = Some(verdict::finding(gate)).filter(|finding| !finding.is_empty());
            let reason = reason.map(|reason| reason.to_string());
            let lines: Vec<String> = finding.into_iter().chain(reason).collect();
            let word = match (ending.is_in_batch(), verdict::blocks(gate)) {
                (true, _) => "out in a batch",
                (false, true) => verdict::word(gate),
                (false, false) => "incomplete",
            };
            let kind = if ending.is_in_batch() { &mut self.warnings } else { &mut self.errors };
            kind.push(AnnotationRank::Verdict, || Annotation {
                place: origin.suite.clone().map(|suite| (suite, None)),
                title: format!("{}: {word}", report.header.suite),
                message: lines.join("\n"),
            });
        }
        let fails = gate.status == Some(GateStatus::Failed) && !is_incomplete;
        self.add_digest(&counted, run, [is_incomplete, fails], AnnotationRank::Gated);
        let others_decide = is_incomplete && counted.errored == 0;
        self.add_digest(&others, run, [others_decide, false], AnnotationRank::Other);
    }

    /// Adds what a digest holds. `are_errors` says of grades that could not be made and of those that did not pass whether
    /// they decide the exit code: else they warn.
    fn add_digest(
        &mut self,
        digest: &ReportDigest,
        run: &ReportedRun<'_, '_>,
        [missing, failing]: [bool; 2],
        rank: AnnotationRank,
    ) {
        self.failed += digest.failed;
        self.errored += digest.errored;
        let kind = if missing { &mut self.errors } else { &mut self.warnings };
        let rank_of_missing = if missing { AnnotationRank::Missing } else { rank };
        for group in &digest.errors {
            kind.push(rank_of_missing, || of_group(group, run.report, run.origin));
        }
        let kind = if failing { &mut self.errors } else { &mut self.warnings };
        for failure in &digest.failures {
            kind.push(rank, || of_failure(failure, digest.trials, run.origin));
        }
        kind.all += digest.failed - digest.failures.len();
    }
}

impl AnnotationKind {
    fn push(&mut self, rank: AnnotationRank, make: impl FnOnce() -> Annotation) {
        self.all += 1;
        if self.kept.iter().filter(|(other, _)| *other == rank).count() < SHOWN {
            self.kept.push((rank, make()));
        }
    }

    fn hidden(&self) -> usize {
        self.all - self.kept.len()
    }
}

fn of_failure(failure: &FailedResult, trials: bool, origin: &ReportOrigin) -> Annotation {
    Annotation {
        place: row(failure.at, origin),
        title: format!("{}: {}", failure.grader, failure.label(trials)),
        message: format!("score {}: {}", score(failure.score), failure.rationale),
    }
}

fn of_group(group: &ErrorGroup, report: &Report<'_>, origin: &ReportOrigin) -> Annotation {
    let ErrorGroup { kind, message, sample_id, grader, .. } = group;
    Annotation {
        place: edited_file(group, report, origin).or_else(|| row(group.at, origin)),
        title: format!("{}: could not be made", count(group.count, "grade")),
        message: format!(
            "{kind}: {message} (first: sample {sample_id}, grader {grader})\n{}",
            cure(group, &origin.command)
        ),
    }
}

/// The file that was edited, where that is no row: of a judge that was asked elsewhere the suite; where none of a grader's
/// judgments is stored its rubric, because an edited row would miss its own alone.
fn edited_file(
    group: &ErrorGroup,
    report: &Report<'_>,
    origin: &ReportOrigin,
) -> Option<(String, Option<u32>)> {
    if group.message.starts_with(STORED_ELSEWHERE) {
        return origin.suite.clone().map(|suite| (suite, None));
    }
    let metric = report.summary.metrics.get(&group.grader)?;
    let misses_all = group.kind == "not_stored" && metric.errors == metric.n && metric.n > 1;
    let file = origin.rubrics.get(&group.grader).filter(|_| misses_all)?;
    Some((file.clone(), None))
}

fn row(at: usize, origin: &ReportOrigin) -> Option<(String, Option<u32>)> {
    origin.row(at).map(|(file, line)| (file.to_owned(), Some(line)))
}

impl Annotation {
    fn write(&self, level: &str, out: &mut dyn Write) -> io::Result<()> {
        let place = self.place.as_ref().map_or_else(String::new, |(file, line)| {
            let line = line.map_or_else(String::new, |line| format!("line={line},"));
            format!("file={},{line}", escape_property(&sanitize(file)))
        });
        let title = escape_property(&cut(&self.title, MESSAGE));
        // Line breaks are kept, escaped: an annotation may have several lines.
        let lines: Vec<String> = self.message.lines().map(sanitize).collect();
        let message: String = lines.join("\n").chars().take(MESSAGE).collect();
        writeln!(out, "::{level} {place}title={title}::{}", escape_data(&message))
    }
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
    use crate::ProcessFacts;
    use crate::ending::RunEnding;
    use crate::page::terminal::PageScreen;
    use evalrs_base::ordered_map::OrderedMap;
    use evalrs_metrics::gate::GateReport;
    use evalrs_test_runs as fixtures;
    use evalrs_test_runs::Run;

    fn origin(gated: &[&str]) -> ReportOrigin {
        let gated: Vec<String> = gated.iter().map(|name| (*name).to_owned()).collect();
        ReportOrigin {
            command: "evals/suite.yaml".to_owned(),
            suite: Some("evals/suite.yaml".to_owned()),
            dataset: Some("evals/da,ta.jsonl".to_owned()),
            lines: (2..).take(5000).collect(),
            gated: (!gated.is_empty()).then_some(gated),
            rubrics: std::collections::BTreeMap::default(),
        }
    }

    fn options(failures: Option<usize>) -> ReportOptions {
        let screen = PageScreen { width: 80, cuts: false };
        ReportOptions { screen, failures, details: false, against: false, rolls_up: false }
    }

    fn code(code: u8) -> RunEnding {
        RunEnding { code, ..RunEnding::default() }
    }

    fn annotated(runs: &[(&Run, ReportOrigin, RunEnding)], failures: usize) -> String {
        let mut all = Box::new(Annotations::new(options(Some(failures))));
        for (run, origin, ending) in runs {
            run.written(|report, _| {
                let facts = ProcessFacts { ending: ending.clone(), ..ProcessFacts::default() };
                all.annotate(&ReportedRun { report, facts: &facts, origin });
                Ok(())
            });
        }
        let mut out = Vec::new();
        all.finish(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn hostile_texts_stay_texts() {
        let run = fixtures::hostile();
        insta::assert_snapshot!(annotated(&[(&run, origin(&["quality|x"]), code(3))], 10), @r"
        ::error file=evals/suite.yaml,title=support-bot%3A undecided::quality|x avg_score >= 0.8: 0.312 (0.312 to 0.812 depending on missing grades)%0A2 grades could not be made, and the gate depends on them: rerun `evalrs run evals/suite.yaml`: it makes only the missing calls
        ::error file=evals/da%2Cta.jsonl,line=3,title=2 grades%3A could not be made::timeout: no answer%0A::warning:: (first: sample s1, grader quality|x)%0Arerun `evalrs run evals/suite.yaml`: it makes only the missing calls
        ::warning file=evals/da%2Cta.jsonl,line=2,title=quality|x%3A s1 [m%3A1%2Cx] [trial 0]::score 0.250: </testcase> ]]>|%0A::error::@team `code` <img src=x>##[error]%250A
        ::warning file=evals/da%2Cta.jsonl,line=3,title=accuracy%3A s1 [m%3A1%2Cx] [trial 1]::score 0.000: expected `a`%0Afound `b`
        ::warning file=evals/da%2Cta.jsonl,line=5,title=accuracy%3A <s|2> [m%3A1%2Cx] [trial 1]::score 0.000: @everyone
        3 failures, 2 grades could not be made
        ");
        insta::assert_snapshot!(logged(&run), @r"
        ### undecided  `support-bot`: 2 samples, 4 results, 2 errors

        <code>quality&#124;x avg&#95;score &#62;&#61; 0&#46;8&#58; 0&#46;312 &#40;0&#46;312 to 0&#46;812 depending on missing grades&#41;</code>

        | grader | passed | pass rate or mean [95 %] | errors |
        |:--|--:|--:|--:|
        | `accuracy` | 2/4 | 50.0% |  |
        | <code>quality&#124;x</code> | 1/2 | 0.625 | 2 |

        | 2 trials | pass@2 | pass^2 | flaky |
        |:--|--:|--:|:--|
        | `accuracy` | 1.000 | 0.000 | 2 of 2 |

        | sample | `accuracy` | <code>quality&#124;x</code> |
        |:--|:--|:--|
        | `s1 [m:1,x]` | ✓✗ | 0.25 ! |
        | <code>&#60;s&#124;2&#62; &#91;m&#58;1&#44;x&#93;</code> | ✓✗ | 1 ! |

        ✓ passed  ✗ failed  ! error

        - 4 judgments: 1234 tokens in, 56 out, $0.0123
        ");
    }

    #[test]
    fn only_our_own_lines_are_commands() {
        let mut run = fixtures::hostile();
        run.header.suite = "x\n::error::y ##[error]z".to_owned();
        run.summary.gate.rule = Some("\r\n ::set-output name=a::b".to_owned());
        let text = annotated(&[(&run, origin(&["quality|x"]), code(3))], 10);
        let (commands, rest): (Vec<&str>, Vec<&str>) =
            text.lines().partition(|line| line.trim_start().starts_with("::"));
        assert_eq!((commands.len(), rest.len()), (1 + 1 + 1 + 2, 1), "{text}");
        assert!(commands.iter().all(|line| line.starts_with("::error file=evals/")
            || line.starts_with("::warning file=evals/")));
        let rest = format!("{}{}", rest[0], logged(&run));
        assert!(!rest.contains("##[") && !text.contains('\r'), "{rest}");
        assert!(!rest.lines().any(|line| line.starts_with("::")), "{rest}");
    }

    /// The summary as lines of the log.
    fn logged(run: &Run) -> String {
        run.written(|report, out| {
            let facts = ProcessFacts::default();
            let origin = ReportOrigin::default();
            let run = ReportedRun { report, facts: &facts, origin: &origin };
            Annotations::new(options(None)).add(&run, &mut ReportSink { out, page: None })
        })
    }

    /// How many lines there are of each kind, and the last line.
    fn counted(text: &str) -> (usize, usize, &str) {
        let lines = |level: &str| text.lines().filter(|line| line.starts_with(level)).count();
        (lines("::error "), lines("::warning "), text.lines().last().unwrap_or_default())
    }

    #[test]
    fn what_decides_the_exit_code_is_an_error_and_comes_first() {
        let mut run = fixtures::hostile();
        run.summary.gate = GateReport { status: Some(GateStatus::Passed), ..GateReport::default() };
        let of = |run: &Run, gated: &[&str], ending| {
            let text = annotated(&[(run, origin(gated), ending)], 10);
            let (errors, warnings, _) = counted(&text);
            (errors, warnings, text.lines().next().unwrap_or_default().to_owned())
        };
        let (errors, warnings, _) = of(&run, &["accuracy"], code(0));
        assert_eq!((errors, warnings), (0, 4), "a gate that passed tolerates");
        run.summary.gate.status = Some(GateStatus::Failed);
        let (errors, warnings, first) = of(&run, &["accuracy"], code(1));
        assert_eq!((errors, warnings), (1 + 2, 2), "only what the gate looks at");
        assert!(first.contains("title=support-bot%3A failed"), "{first}");
        run.summary.gate.status = None;
        let (errors, warnings, first) = of(&run, &[], code(3));
        assert_eq!((errors, warnings), (1 + 1, 3), "without a gate the missing grades decide");
        assert!(first.contains("title=support-bot%3A incomplete"), "{first}");
    }

    #[test]
    fn a_step_shows_ten_of_a_kind_and_counts_the_rest() {
        let mut large = fixtures::large();
        large.summary.gate.status = Some(GateStatus::Failed);
        let mut last = fixtures::hostile();
        last.summary.gate.status = Some(GateStatus::Failed);
        let runs = |failures| {
            let gated = origin(&["accuracy"]);
            annotated(&[(&large, gated.clone(), code(1)), (&last, gated, code(1))], failures)
        };
        let text = runs(100);
        assert_eq!(counted(&text).0, 10);
        assert_eq!(counted(&text).1, 10);
        let titles = text.lines().take(2).map(|line| line.contains("support-bot%3A failed"));
        assert!(titles.into_iter().all(|is_verdict| is_verdict), "both verdicts first: {text}");
        assert!(counted(&text).2.contains("not annotated"), "{text}");
        let (errors, _, _) = counted(&runs(1));
        assert_eq!(errors, 2 + 2, "a failure of each suite");
        let labels = OrderedMap(vec![("accuracy".to_owned(), "Is right".to_owned())]);
        assert!(origin(&["accuracy"]).renamed(&labels).counts("Is right"));
    }

    #[test]
    fn escapes_are_those_of_workflow_commands() {
        assert_eq!(escape_data("100%\r\na:b,c"), "100%25%0D%0Aa:b,c");
        assert_eq!(escape_property("100%\na:b,c"), "100%25%0Aa%3Ab%2Cc");
    }
}
