//! How far two sides agree, for a terminal and as JSON.

use std::io::{self, Write};

use serde::Serialize;

use super::human::disputed_line;
use super::intervals::percent_within;
use super::terminal_page::{faint, paragraphs, title, titles, write_sections};
use evalrs_base::ordered_map::OrderedMap;
use evalrs_base::text::table::{TableCell, lines, name, number};
use evalrs_base::text::{count, cut, score_or_dash};
use evalrs_metrics::metric::annotators::DisputedCase;
use evalrs_metrics::metric::sides::SideAgreement;
use evalrs_statistics::classes::{AverageScores, ConfusionMatrix};

/// The columns that the name of a side or a class may take.
const NAME: usize = 32;

/// The agreement of two sides: the shape of `agree --json`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AgreementReport {
    /// The version of this shape.
    pub format: u32,
    /// The suite.
    pub suite: String,
    /// The first side, as it was typed.
    pub one: String,
    /// The second.
    pub other: String,
    /// Over all cases.
    pub all: SideAgreement,
    /// Model or tag → over its cases; null unless that was asked.
    pub by: Option<OrderedMap<SideAgreement>>,
    /// The cases on which people differ, where a side is their labels.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub disputed: Vec<DisputedCase>,
}

/// Writes it for a terminal of `width` columns.
pub fn write(report: &AgreementReport, width: usize, out: &mut dyn Write) -> io::Result<()> {
    let SideAgreement { n, only_one, only_other, .. } = report.all;
    let sides = format!("{} against {}", report.one, report.other);
    let mut counted = vec![count(n, "case")];
    for (missing, side) in [(only_other, &report.one), (only_one, &report.other)] {
        if missing > 0 {
            counted.push(format!("{missing} without {side}"));
        }
    }
    let heading = cut(&format!("{sides}: {}", counted.join(", ")), width);
    let table = report.all.confusion.as_ref();
    let disputed = (!report.disputed.is_empty())
        .then(|| disputed_line("labels", &report.disputed, "`--json` lists all").to_string());
    let sections = [
        vec![heading],
        coefficients(report, width),
        table.map_or_else(Vec::new, |table| confusion(report, table, width)),
        classes(&report.all, width),
        report.by.as_ref().map_or_else(Vec::new, |groups| by_group(groups, width)),
        paragraphs(disputed, width),
    ];
    write_sections(sections, out)
}

/// A line for each number that is defined.
fn coefficients(report: &AgreementReport, width: usize) -> Vec<String> {
    let SideAgreement { kappa, alpha, correlation, .. } = report.all;
    let mut rows: Vec<Vec<TableCell>> = vec![vec![title("equal"), number(equal(&report.all))]];
    let means = [(&report.one, report.all.mean_one), (&report.other, report.all.mean_other)];
    for (side, mean) in means.into_iter().filter(|(_, mean)| mean.is_some()) {
        rows.push(vec![name(&format!("mean of {}", cut(side, NAME))), number(score_or_dash(mean))]);
    }
    for (text, value) in [
        ("Cohen's kappa", kappa.plain),
        ("linear kappa", kappa.linear),
        ("quadratic kappa", kappa.quadratic),
        ("Krippendorff's alpha, nominal", alpha.nominal),
        ("alpha, ordinal", alpha.ordinal),
        ("alpha, interval", alpha.interval),
        ("alpha, ratio", alpha.ratio),
        ("Pearson", correlation.pearson),
        ("Spearman", correlation.spearman),
        ("Kendall's tau-b", correlation.kendall),
        ("area under the curve", report.all.auc),
    ] {
        if value.is_some() {
            rows.push(vec![name(text), number(score_or_dash(value))]);
        }
    }
    lines(&rows, width)
}

/// The share of equal values and its interval, in percent.
fn equal(found: &SideAgreement) -> String {
    percent_within(found.equal, found.equal_interval)
}

/// How often which was taken for which: a row for each class of the second side.
fn confusion(report: &AgreementReport, table: &ConfusionMatrix, width: usize) -> Vec<String> {
    let corner = format!("{} \\ {}", cut(&report.other, NAME), cut(&report.one, NAME));
    let heads = table.classes.iter().map(|class| title(&cut(class, NAME)).at_right());
    let mut rows: Vec<Vec<TableCell>> =
        vec![std::iter::once(title(&corner)).chain(heads).collect()];
    for (class, counts) in table.classes.iter().zip(&table.counts) {
        let cells = counts.iter().map(|count| number(count.to_string()));
        rows.push(std::iter::once(name(&cut(class, NAME))).chain(cells).collect());
    }
    lines(&rows, width)
}

fn classes(found: &SideAgreement, width: usize) -> Vec<String> {
    if found.classes.is_empty() {
        return Vec::new();
    }
    let mut rows = vec![titles(&["class"], &["n", "precision", "recall", "F1"])];
    for class in &found.classes {
        let numbers = [class.precision, class.recall, class.f1].map(score_or_dash).map(number);
        let cells = [name(&cut(&class.class, NAME)), number(class.support.to_string())];
        rows.push(cells.into_iter().chain(numbers).collect());
    }
    let averages = [("mean of classes", found.macro_average), ("by n", found.weighted_average)];
    for (text, average) in averages {
        let Some(AverageScores { precision, recall, f1 }) = average else { continue };
        let numbers = [precision, recall, f1].map(|value| number(score_or_dash(Some(value))));
        let cells = [name(text), number(found.n.to_string())];
        rows.push(cells.into_iter().chain(numbers).collect());
    }
    let mut shown = lines(&rows, width);
    let balanced = score_or_dash(found.balanced_accuracy);
    shown.push(faint(&cut(&format!("balanced accuracy {balanced}"), width)));
    shown
}

fn by_group(groups: &OrderedMap<SideAgreement>, width: usize) -> Vec<String> {
    let heads = ["n", "equal", "kappa", "quadratic", "Spearman", "F1"];
    let mut rows = vec![titles(&[""], &heads)];
    for (group, found) in &groups.0 {
        let cells = [
            found.n.to_string(),
            equal(found),
            score_or_dash(found.kappa.plain),
            score_or_dash(found.kappa.quadratic),
            score_or_dash(found.correlation.spearman),
            score_or_dash(found.macro_average.map(|average| average.f1)),
        ];
        let cells = cells.map(number);
        rows.push(std::iter::once(name(&cut(group, NAME))).chain(cells).collect());
    }
    lines(&rows, width)
}
