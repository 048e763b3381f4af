//! The tables of a comparison: a row for each grader, which stand below each other on a terminal and side by side in a
//! comment, and a row for each declared metric.

use super::agreement_words::{agreement_cells, compared, kappa_cells};
use super::declared_words;
use super::words::NAME;
use crate::intervals::{or_dash, p_value, signed, signed_range};
use crate::markdown_page::{MarkdownPage, code};
use crate::terminal_page::{table, titles};
use evalrs_base::text::table::{number, words};
use evalrs_base::text::{cut, percent, score, score_or_dash};
use evalrs_metrics::diff::agreement::AgreementDiff;
use evalrs_metrics::diff::{Diff, GraderDiff};
use evalrs_metrics::metric::paired::PairedSummary;

/// How many graders, metrics and settings a comment shows.
pub(super) const ROWS: usize = 30;

/// The title of both values.
const BOTH: &str = "old → new";

/// The titles of the table of declared metrics.
const DECLARED_WORDS: [&str; 2] = ["metric", "kind"];
const DECLARED_NUMBERS: [&str; 3] = [BOTH, "change", "95 % interval"];

/// Numbers of graders, a row each.
pub(super) struct GraderTable<'d> {
    /// What is compared.
    what: &'static str,
    titles: &'static [&'static str],
    rows: Vec<GraderRow<'d>>,
}

struct GraderRow<'d> {
    grader: &'d str,
    numbers: Vec<String>,
}

impl<'d> GraderTable<'d> {
    fn of_paired(
        diff: &'d Diff,
        what: &'static str,
        titles: &'static [&'static str],
        numbers: fn(&PairedSummary) -> Vec<String>,
    ) -> Self {
        let judged = diff.graders.0.iter().filter(|(_, grader)| grader.paired.n > 0);
        let row = |(grader, found): &'d (String, GraderDiff)| GraderRow {
            grader,
            numbers: numbers(&found.paired),
        };
        Self { what, titles, rows: judged.map(row).collect() }
    }

    fn of_people(
        diff: &'d Diff,
        what: &'static str,
        titles: &'static [&'static str],
        numbers: fn(&AgreementDiff) -> Vec<String>,
    ) -> Self {
        let rows = compared(diff);
        let rows = rows.map(|(grader, found)| GraderRow { grader, numbers: numbers(found) });
        Self { what, titles, rows: rows.collect() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub(super) fn lines(&self, width: usize) -> Vec<String> {
        let mut rows = vec![titles(&[self.what], self.titles)];
        rows.extend(self.rows.iter().map(|row| {
            let numbers = row.numbers.iter().map(number);
            std::iter::once(words(&cut(row.grader, NAME))).chain(numbers).collect()
        }));
        table(&rows, width)
    }

    /// Adds this table and another of the same graders to a comment, side by side.
    pub(super) fn add_beside(self, other: Self, page: &mut MarkdownPage) {
        let shown = self.shown_titles().chain(other.shown_titles()).collect::<Vec<_>>();
        let all = self.rows.len();
        let rows = self.rows.into_iter().zip(other.rows).take(ROWS).map(|(row, beside)| {
            let name = code(&cut(row.grader, NAME));
            std::iter::once(name).chain(row.numbers).chain(beside.numbers).collect()
        });
        page.table(&["grader"], &shown, rows);
        page.rest(all, ROWS, "grader");
    }

    /// The titles of a table that stands beside another: both values are under what is compared.
    fn shown_titles(&self) -> impl Iterator<Item = &'static str> {
        let what = self.what;
        self.titles.iter().map(move |title| if *title == BOTH { what } else { title })
    }
}

/// Scores: n, the two means, their difference, its interval, and the least difference that would be told from chance.
pub(super) fn scores(diff: &Diff) -> GraderTable<'_> {
    let titles = &["n", BOTH, "difference ± stderr", "95 % interval", "detects"];
    GraderTable::of_paired(diff, "score", titles, |paired| {
        let difference = match (paired.difference, paired.stderr) {
            (Some(difference), Some(stderr)) => {
                format!("{} ± {}", signed(difference, 3), score(stderr))
            }
            (difference, _) => or_dash(difference, |difference| signed(difference, 3)),
        };
        vec![
            paired.n.to_string(),
            [paired.mean_before, paired.mean_now].map(score_or_dash).join(" → "),
            difference,
            signed_range(paired.interval, 3),
            score_or_dash(paired.minimum_detectable_effect),
        ]
    })
}

/// Passes: the two rates, how many were fixed and broken, and how likely chance alone does that.
pub(super) fn passes(diff: &Diff) -> GraderTable<'_> {
    GraderTable::of_paired(diff, "passes", &[BOTH, "fixed", "broken", "p"], |paired| {
        vec![
            [paired.pass_rate_before, paired.pass_rate_now].map(percent).join(" → "),
            paired.fixed.to_string(),
            paired.broken.to_string(),
            p_value(paired.p_value),
        ]
    })
}

/// How far graders agree with people, in percent.
pub(super) fn agreement(diff: &Diff) -> GraderTable<'_> {
    let titles = &["n", BOTH, "change, points", "95 % interval", "p"];
    GraderTable::of_people(diff, "agreement", titles, agreement_cells)
}

/// The same beyond chance, and the verdicts against the label.
pub(super) fn kappa(diff: &Diff) -> GraderTable<'_> {
    let titles = &[BOTH, "change", "95 % interval", "false passes", "false fails"];
    GraderTable::of_people(diff, "kappa", titles, kappa_cells)
}

pub(super) fn declared_lines(diff: &Diff, width: usize) -> Vec<String> {
    let mut rows = vec![titles(&DECLARED_WORDS, &DECLARED_NUMBERS)];
    rows.extend(diff.declared.0.iter().map(|(name, metric)| {
        let [kind, numbers @ ..] = declared_words::cells(metric);
        let texts = [words(&cut(name, NAME)), words(&kind)];
        texts.into_iter().chain(numbers.map(number)).collect()
    }));
    table(&rows, width)
}

pub(super) fn add_declared(diff: &Diff, page: &mut MarkdownPage) {
    let rows = diff.declared.0.iter().take(ROWS).map(|(name, metric)| {
        let cells = declared_words::cells(metric);
        std::iter::once(code(&cut(name, NAME))).chain(cells).collect()
    });
    page.table(&DECLARED_WORDS, &DECLARED_NUMBERS, rows);
    page.rest(diff.declared.0.len(), ROWS, "metric");
}
