//! The history of a suite on a terminal: a row a run, interrupted where the numbers below mean something else.

use std::io::{self, Write};

use super::intervals::{kappa_or_dash, p_value, value_within};
use super::terminal_page::{BAD, TITLE, faint, paragraphs, status_style, title, write_sections};
use super::verdict;
use evalrs_base::text::table::{TableCell, lines, number, words};
use evalrs_base::text::{count, mean_and_error, percent, sanitize, score};
use evalrs_metrics::gate::GateStatus;
use evalrs_metrics::history::against_people::AgreesLess;
use evalrs_metrics::history::slide::Slide;
use evalrs_metrics::history::{HistoryReport, HistoryRun};

/// Writes the runs of a suite, the oldest first.
pub fn write(
    report: &HistoryReport,
    suite: &str,
    width: usize,
    out: &mut dyn Write,
) -> io::Result<()> {
    let suite = sanitize(suite);
    let runs = count(report.runs.len(), "run");
    let heading = vec![format!("{TITLE}history{TITLE:#}  {suite}: {runs}")];
    let last = report.runs.last().and_then(|run| run.gate.status);
    let slides = report.slides.iter().map(|slide| slide_line(slide, last)).collect();
    write_sections([heading, run_lines(&report.runs, width), slides], out)
}

/// The table of the runs, with what changed before a run and what it does worse between its rows.
fn run_lines(runs: &[HistoryRun], width: usize) -> Vec<String> {
    if runs.is_empty() {
        return Vec::new();
    }
    let numbers = NamedNumbers::of(runs);
    let mut rows = vec![header(&numbers)];
    rows.extend(runs.iter().map(|run| row(run, &numbers)));
    let mut table = lines(&rows, width).into_iter();
    let mut shown: Vec<String> = table.next().into_iter().collect();
    for (run, line) in runs.iter().zip(table) {
        let breaks = run.breaks.iter();
        shown.extend(breaks.map(|one| faint(&format!("  -- {} --", sanitize(&one.text)))));
        shown.push(line);
        let worse =
            paragraphs(run.agree_less.iter().map(agrees_less), width.saturating_sub(INDENT.len()));
        shown.extend(worse.into_iter().map(|line| format!("{INDENT}{BAD}{line}{BAD:#}")));
    }
    shown
}

const INDENT: &str = "  ";

/// The graders and the declared metrics of all runs: those of the last run in its order, then others.
struct NamedNumbers<'a> {
    graders: Vec<NamedGrader<'a>>,
    declared: Vec<&'a str>,
}

/// A grader, and whether people labelled its verdicts in any of the runs.
struct NamedGrader<'a> {
    name: &'a str,
    is_labelled: bool,
}

impl<'a> NamedNumbers<'a> {
    fn of(runs: &'a [HistoryRun]) -> Self {
        let latest = || runs.iter().rev();
        let graders = unique(latest().flat_map(|run| &run.metrics.0).map(|(name, _)| name));
        let labelled = |name: &str| {
            let mut metrics = runs.iter().filter_map(|run| run.metrics.get(name));
            metrics.any(|metric| metric.agreement.is_some())
        };
        let named = |name| NamedGrader { name, is_labelled: labelled(name) };
        Self {
            graders: graders.into_iter().map(named).collect(),
            declared: unique(latest().flat_map(|run| &run.declared.0).map(|(name, _)| name)),
        }
    }
}

fn unique<'a>(all: impl Iterator<Item = &'a String>) -> Vec<&'a str> {
    let mut names: Vec<&str> = Vec::new();
    for name in all {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    names
}

fn header(numbers: &NamedNumbers<'_>) -> Vec<TableCell> {
    let graders = numbers.graders.iter().flat_map(|grader| {
        let more: &[&str] = if grader.is_labelled { &["agrees", "kappa"] } else { &[] };
        std::iter::once(&grader.name).chain(more)
    });
    [title("started"), title("gate")]
        .into_iter()
        .chain(graders.chain(&numbers.declared).map(|name| title(name).at_right()))
        .chain([title("cost").at_right()])
        .collect()
}

fn row(run: &HistoryRun, numbers: &NamedNumbers<'_>) -> Vec<TableCell> {
    let declared = |name: &&str| {
        let metric = run.declared.get(name);
        number(
            metric.map_or_else(String::new, |metric| value_within(metric.value, metric.interval)),
        )
    };
    let gate = words(verdict::word(&run.gate)).styled(status_style(&run.gate));
    let cost = run.cost.map_or_else(|| "-".to_owned(), |cost| cost.to_string());
    let cells = [words(&run.started), gate].into_iter();
    let cells = cells.chain(numbers.graders.iter().flat_map(|grader| grader_cells(run, grader)));
    cells.chain(numbers.declared.iter().map(declared)).chain([number(cost)]).collect()
}

/// The mean of a grader, and how far it agreed with people where that is recorded of any run.
fn grader_cells(run: &HistoryRun, grader: &NamedGrader<'_>) -> Vec<TableCell> {
    let Some(metric) = run.metrics.get(grader.name) else {
        return vec![number(""); if grader.is_labelled { 3 } else { 1 }];
    };
    let mut cells = vec![number(mean_and_error(metric.mean, metric.stderr))];
    if grader.is_labelled {
        let is_less = run.agree_less.iter().any(|one| one.grader == grader.name);
        let agreement = metric.agreement.unwrap_or_default();
        let agrees = match metric.agreement {
            Some(agreement) => percent(agreement.accuracy),
            None => "unknown".to_owned(),
        };
        let agrees = number(agrees);
        cells.push(if is_less { agrees.styled(BAD) } else { agrees });
        cells.push(number(kappa_or_dash(agreement.kappa)));
    }
    cells
}

/// That a mean went up and agreement down, which is no better judge.
fn agrees_less(found: &AgreesLess) -> String {
    let AgreesLess { grader, since, mean: [old, new], before, now } = found;
    let labels = if before.n == now.n {
        count(now.n, "label")
    } else {
        format!("{} and {}", count(before.n, "label"), now.n)
    };
    format!(
        "{} agrees less with people though its score is higher: {} → {}, kappa {} → {}, false passes {} → {} ({labels}), score {} → {}, since {}",
        sanitize(grader),
        percent(before.accuracy),
        percent(now.accuracy),
        kappa_or_dash(before.kappa),
        kappa_or_dash(now.kappa),
        before.false_pass,
        now.false_pass,
        score(*old),
        score(*new),
        sanitize(since)
    )
}

fn slide_line(slide: &Slide, gate: Option<GateStatus>) -> String {
    let Slide { grader, since, before, now, p_value: found, test } = slide;
    let still = match gate {
        Some(GateStatus::Passed) => "; the gate still passes",
        _ => "",
    };
    let p = p_value(Some(*found));
    format!(
        "{BAD}slide{BAD:#}  {}: {} → {} since {} (p {p}, {}){still}",
        sanitize(grader),
        score(*before),
        score(*now),
        sanitize(since),
        test.name()
    )
}

#[cfg(test)]
mod tests {
    use anstream::adapter::strip_str;

    use super::write;
    use evalrs_base::ordered_map::OrderedMap;
    use evalrs_metrics::gate::GateReport;
    use evalrs_metrics::history::slide::{Slide, SlideTest};
    use evalrs_metrics::history::{
        ChangedPart, HistoryBreak, HistoryMetric, HistoryReport, HistoryRun,
    };
    use evalrs_metrics::history::{HistoryAgreement, against_people::AgreesLess};

    fn run(day: u8, mean: f64, breaks: Vec<HistoryBreak>) -> HistoryRun {
        let metric =
            HistoryMetric { mean: Some(mean), stderr: Some(0.01), ..HistoryMetric::default() };
        HistoryRun {
            id: format!("r{day}"),
            started: format!("2026-11-0{day}T10:00:00Z"),
            metrics: OrderedMap(vec![("quality".to_owned(), metric)]),
            declared: OrderedMap::default(),
            gate: GateReport {
                status: Some(evalrs_metrics::gate::GateStatus::Passed),
                ..GateReport::default()
            },
            cost: evalrs_base::price::Cost::from_dollars(0.5),
            digests: OrderedMap::default(),
            dataset: None,
            target: None,
            breaks,
            agree_less: Vec::new(),
        }
    }

    fn shown(report: &HistoryReport) -> String {
        let mut out = Vec::new();
        write(report, "bot\u{1b}", 100, &mut out).unwrap();
        strip_str(&String::from_utf8(out).unwrap()).to_string()
    }

    #[test]
    fn a_trend_is_interrupted_where_its_numbers_change_their_meaning() {
        let broken = HistoryBreak {
            grader: Some("quality".to_owned()),
            metric: None,
            what: ChangedPart::Rubric,
            text: "quality: rubric changed".to_owned(),
        };
        let slide = Slide {
            grader: "quality".to_owned(),
            since: "r2".to_owned(),
            before: 0.9,
            now: 0.8,
            p_value: 0.0123,
            test: SlideTest::PairedPasses,
        };
        let unlikely = Slide { grader: "kind".to_owned(), p_value: 1e-9, ..slide.clone() };
        let report = HistoryReport {
            runs: vec![run(1, 0.7, vec![]), run(2, 0.9, vec![broken]), run(3, 0.8, vec![])],
            slides: vec![slide, unlikely],
        };
        insta::assert_snapshot!(shown(&report), @"
        history  bot: 3 runs

        started               gate          quality   cost
        2026-11-01T10:00:00Z  passed  0.700 ± 0.010  $0.50
          -- quality: rubric changed --
        2026-11-02T10:00:00Z  passed  0.900 ± 0.010  $0.50
        2026-11-03T10:00:00Z  passed  0.800 ± 0.010  $0.50

        slide  quality: 0.900 → 0.800 since r2 (p 0.012, paired by sample, McNemar); the gate still passes
        slide  kind: 0.900 → 0.800 since r2 (p < 0.001, paired by sample, McNemar); the gate still passes
        ");
        assert_eq!(shown(&HistoryReport::default()), "history  bot: 0 runs\n");
    }

    #[test]
    fn agreement_stands_beside_scores_and_a_score_that_rises_against_it_is_said() {
        let agreement = |accuracy, kappa, false_pass| HistoryAgreement {
            n: 999,
            accuracy: Some(accuracy),
            kappa,
            false_pass,
            false_fail: 3,
        };
        let labelled = |day, mean, agreement| {
            let mut run = run(day, mean, vec![]);
            run.metrics.0[0].1.agreement = agreement;
            run.metrics.0.push(("length".to_owned(), HistoryMetric::default()));
            run
        };
        let before = agreement(0.5285, Some(0.06), 240);
        let now = agreement(0.5065, None, 349);
        let mut last = labelled(3, 0.749, Some(now));
        last.agree_less = vec![AgreesLess {
            grader: "quality".to_owned(),
            since: "r2".to_owned(),
            mean: [0.551, 0.749],
            before,
            now,
        }];
        let runs = vec![labelled(1, 0.6, None), labelled(2, 0.551, Some(before)), last];
        insta::assert_snapshot!(shown(&HistoryReport { runs, slides: vec![] }), @"
        history  bot: 3 runs

        started               gate          quality   agrees  kappa  length   cost
        2026-11-01T10:00:00Z  passed  0.600 ± 0.010  unknown      -       -  $0.50
        2026-11-02T10:00:00Z  passed  0.551 ± 0.010    52.8%   0.06       -  $0.50
        2026-11-03T10:00:00Z  passed  0.749 ± 0.010    50.6%      -       -  $0.50
          quality agrees less with people though its score is higher: 52.8% → 50.6%, kappa 0.06 → -, false
          passes 240 → 349 (999 labels), score 0.551 → 0.749, since r2
        ");
    }
}
