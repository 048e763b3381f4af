//! The history of a suite for people: a row a run, and between two runs what changed the meaning of the numbers.

use super::intervals::{kappa_or_dash, p_value, value_within};
use super::page::{Block, Column, Page, Table, Text, bad, faint, quoted, strong, text};
use super::verdict::status;
use evalrs_base::text::{count, mean_and_error, percent, score};
use evalrs_metrics::gate::GateStatus;
use evalrs_metrics::history::against_people::AgreesLess;
use evalrs_metrics::history::slide::Slide;
use evalrs_metrics::history::{HistoryMetric, HistoryReport, HistoryRun};

/// The runs of a suite, the oldest first.
pub fn page(report: &HistoryReport, suite: &str) -> Page {
    let mut page = Page::default();
    let last = report.runs.last().map(|run| &run.gate).filter(|gate| gate.status.is_some());
    let last_gate = last.map_or_else(Text::default, |gate| text![", last ", status(gate)]);
    let runs = count(report.runs.len(), "run");
    page.add(Block::Heading(text![strong("history"), "  ", quoted(suite), ": ", runs, last_gate]));
    let numbers = NamedNumbers::of(&report.runs);
    let passes = last.is_some_and(|gate| gate.status == Some(GateStatus::Passed));
    let slides = report.slides.iter().map(|slide| numbers.slide_line(slide, passes));
    page.join(Block::lines(slides));
    page.add(Block::Table(numbers.table(&report.runs)));
    page
}

/// The graders and the declared metrics of all runs: those of the last run in its order, then others.
struct NamedNumbers<'a> {
    graders: Vec<NamedGrader<'a>>,
    declared: Vec<&'a str>,
}

struct NamedGrader<'a> {
    name: &'a str,
    /// Whether its means are its pass rates, in all runs.
    is_rate: bool,
    /// Whether people labelled its verdicts in any of the runs.
    is_labelled: bool,
}

impl<'a> NamedNumbers<'a> {
    fn of(runs: &'a [HistoryRun]) -> Self {
        let latest = || runs.iter().rev();
        let graders = unique(latest().flat_map(|run| &run.metrics.0).map(|(name, _)| name));
        let named = |name| {
            let metrics = || runs.iter().filter_map(|run| run.metrics.get(name));
            NamedGrader {
                name,
                is_rate: metrics().all(|metric| metric.mean == metric.pass_rate),
                is_labelled: metrics().any(|metric| metric.agreement.is_some()),
            }
        };
        Self {
            graders: graders.into_iter().map(named).collect(),
            declared: unique(latest().flat_map(|run| &run.declared.0).map(|(name, _)| name)),
        }
    }

    fn table(&self, runs: &[HistoryRun]) -> Table {
        let graders = self.graders.iter().flat_map(|grader| {
            let more: &[&str] = if grader.is_labelled { &["agrees", "kappa"] } else { &[] };
            std::iter::once(quoted(grader.name)).chain(more.iter().map(|title| (*title).into()))
        });
        let declared = self.declared.iter().map(|name| quoted(name));
        let numbers = graders.chain(declared).chain([Text::from("cost")]).map(Column::numbers);
        let names = [Column::names("started"), Column::names("gate")];
        let mut table = Table::new(names.into_iter().chain(numbers)).folding_columns();
        for run in runs {
            for one in &run.breaks {
                table.below(faint(&format!("-- {} --", one.text)));
            }
            table.row(self.row(run));
            run.agree_less.iter().for_each(|found| table.below(agrees_less(found)));
        }
        table.without_empty_columns()
    }

    fn row(&self, run: &HistoryRun) -> Vec<Text> {
        let declared = self.declared.iter().map(|name| {
            let metric = run.declared.get(name);
            let shown = metric.map(|metric| value_within(metric.value, metric.interval));
            shown.unwrap_or_default().into()
        });
        let cost = run.cost.map_or_else(String::new, |cost| cost.to_string());
        let cells = [quoted(&run.started), status(&run.gate)].into_iter();
        let cells = cells.chain(self.graders.iter().flat_map(|grader| grader.cells(run)));
        cells.chain(declared).chain([cost.into()]).collect()
    }

    /// That the mean of a grader goes down.
    fn slide_line(&self, slide: &Slide, passes: bool) -> Text {
        let Slide { grader, since, before, now, p_value: found, test } = slide;
        let is_rate = self.graders.iter().any(|named| named.name == grader && named.is_rate);
        let mean = |mean: f64| if is_rate { percent(Some(mean)) } else { score(mean) };
        let p = p_value(Some(*found));
        text![
            bad("downward trend"),
            "  ",
            quoted(grader),
            format!(": {} → {} since ", mean(*before), mean(*now)),
            quoted(since),
            format!(" (p {p}, {})", test.name()),
            if passes { "; the gate still passes" } else { "" },
        ]
    }
}

impl NamedGrader<'_> {
    /// Its rate or mean, and how far it agreed with people where that is recorded of any run.
    fn cells(&self, run: &HistoryRun) -> Vec<Text> {
        let Some(metric) = run.metrics.get(self.name) else {
            return vec![Text::default(); if self.is_labelled { 3 } else { 1 }];
        };
        let mut cells = vec![self.number(metric).into()];
        if self.is_labelled {
            let is_less = run.agree_less.iter().any(|one| one.grader == self.name);
            let agreement = metric.agreement.unwrap_or_default();
            let agrees = match metric.agreement {
                Some(agreement) => percent(agreement.accuracy),
                None => "unknown".to_owned(),
            };
            cells.push(if is_less { bad(&agrees) } else { agrees.into() });
            cells.push(kappa_or_dash(agreement.kappa).into());
        }
        cells
    }

    fn number(&self, metric: &HistoryMetric) -> String {
        let HistoryMetric { mean, stderr, .. } = *metric;
        if !self.is_rate {
            return mean_and_error(mean, stderr);
        }
        let stderr = stderr.map_or_else(String::new, |stderr| format!(" ± {:.1}", stderr * 100.0));
        percent(mean) + &stderr
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

/// That a mean went up and agreement down, which is no better judge.
fn agrees_less(found: &AgreesLess) -> Text {
    let AgreesLess { grader, since, mean: [old, new], before, now } = found;
    let labels = if before.n == now.n {
        count(now.n, "label")
    } else {
        format!("{} and {}", count(before.n, "label"), now.n)
    };
    let accuracy = [before, now].map(|side| percent(side.accuracy)).join(" → ");
    let kappa = [before, now].map(|side| kappa_or_dash(side.kappa)).join(" → ");
    let false_passes = format!("{} → {}", before.false_pass, now.false_pass);
    let scores = format!("{} → {}", score(*old), score(*new));
    let numbers = format!(
        "{accuracy}, kappa {kappa}, false passes {false_passes} ({labels}), score {scores}, since "
    );
    text![
        quoted(grader),
        " ",
        bad("agrees less with human labels though its score is higher"),
        ": ",
        numbers,
        quoted(since)
    ]
}

#[cfg(test)]
mod tests {
    use anstream::adapter::strip_str;

    use super::page;
    use crate::page::terminal::{PageScreen, write};
    use evalrs_base::ordered_map::OrderedMap;
    use evalrs_base::text::columns;
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

    fn shown(report: &HistoryReport, width: usize) -> String {
        let mut out = Vec::new();
        let screen = PageScreen { width, cuts: false };
        write(&page(report, "bot\u{1b}"), screen, &mut out).unwrap();
        let text = strip_str(&String::from_utf8(out).unwrap()).to_string();
        assert!(text.lines().all(|line| columns(line) <= width), "{width}: {text}");
        text
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
        for width in [60, 120] {
            shown(&report, width);
        }
        insta::assert_snapshot!(shown(&report, 80), @"
        history  bot: 3 runs, last passed
        downward trend  quality: 0.900 → 0.800 since r2 (p 0.012, paired by sample,
          McNemar); the gate still passes
        downward trend  kind: 0.900 → 0.800 since r2 (p < 0.001, paired by sample,
          McNemar); the gate still passes

        started               gate          quality   cost
        2026-11-01T10:00:00Z  passed  0.700 ± 0.010  $0.50
          -- quality: rubric changed --
        2026-11-02T10:00:00Z  passed  0.900 ± 0.010  $0.50
        2026-11-03T10:00:00Z  passed  0.800 ± 0.010  $0.50
        ");
        assert_eq!(shown(&HistoryReport::default(), 80), "history  bot: 0 runs\n");
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
        let report = HistoryReport { runs, slides: vec![] };
        insta::assert_snapshot!(shown(&report, 60), @"
        history  bot: 3 runs, last passed

        started               gate          quality   agrees  kappa
        2026-11-01T10:00:00Z  passed  0.600 ± 0.010  unknown      -
        2026-11-02T10:00:00Z  passed  0.551 ± 0.010    52.8%   0.06
        2026-11-03T10:00:00Z  passed  0.749 ± 0.010    50.6%      -
          quality agrees less with human labels though its score
            is higher: 52.8% → 50.6%, kappa 0.06 → -, false passes
            240 → 349 (999 labels), score 0.551 → 0.749, since r2

        started               length   cost
        2026-11-01T10:00:00Z       -  $0.50
        2026-11-02T10:00:00Z       -  $0.50
        2026-11-03T10:00:00Z       -  $0.50
        ");
        insta::assert_snapshot!(shown(&report, 80), @"
        history  bot: 3 runs, last passed

        started               gate          quality   agrees  kappa  length   cost
        2026-11-01T10:00:00Z  passed  0.600 ± 0.010  unknown      -       -  $0.50
        2026-11-02T10:00:00Z  passed  0.551 ± 0.010    52.8%   0.06       -  $0.50
        2026-11-03T10:00:00Z  passed  0.749 ± 0.010    50.6%      -       -  $0.50
          quality agrees less with human labels though its score is higher: 52.8% →
            50.6%, kappa 0.06 → -, false passes 240 → 349 (999 labels), score 0.551 →
            0.749, since r2
        ");
        insta::assert_snapshot!(shown(&report, 120), @"
        history  bot: 3 runs, last passed

        started               gate          quality   agrees  kappa  length   cost
        2026-11-01T10:00:00Z  passed  0.600 ± 0.010  unknown      -       -  $0.50
        2026-11-02T10:00:00Z  passed  0.551 ± 0.010    52.8%   0.06       -  $0.50
        2026-11-03T10:00:00Z  passed  0.749 ± 0.010    50.6%      -       -  $0.50
          quality agrees less with human labels though its score is higher: 52.8% → 50.6%, kappa 0.06 → -, false passes 240 →
            349 (999 labels), score 0.551 → 0.749, since r2
        ");
    }
}
