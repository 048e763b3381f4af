//! How far each two of three judges or voters, or more, agree: a table in reports for people. Of two, one line says it all.

use super::intervals::kappa_or_dash;
use super::markdown_page::{MarkdownPage, code};
use super::terminal_page::{table, titles};
use evalrs_base::text::table::{name, number};
use evalrs_base::text::{count, cut_middle, percent};
use evalrs_metrics::results::Summary;

/// The columns that the name of a grader may take.
const GRADER: usize = 24;

/// The pairs of one grader that are shown: those of five raters.
const PAIRS: usize = 10;

/// The titles of the columns.
const NAMES: [&str; 2] = ["grader", "raters"];
const NUMBERS: [&str; 4] = ["n", "equal", "kappa", "quadratic"];

struct PairRow<'s> {
    grader: &'s str,
    raters: &'s str,
    numbers: [String; 4],
}

/// The table for a terminal of so many columns; nothing where no grader has three raters.
pub(super) fn pair_lines(summary: &Summary, width: usize) -> Vec<String> {
    let mut cells = vec![titles(&NAMES, &NUMBERS)];
    cells.extend(rows(summary).map(|row| {
        let names = [name(&cut_middle(row.grader, GRADER)), name(row.raters)];
        names.into_iter().chain(row.numbers.map(number)).collect()
    }));
    let mut shown = table(&cells, width);
    shown.extend(not_shown(summary));
    shown
}

/// The same as Markdown.
pub(super) fn add_pairs(summary: &Summary, page: &mut MarkdownPage) {
    let rows = rows(summary).map(|row| {
        let names = [code(row.grader), row.raters.to_owned()];
        names.into_iter().chain(row.numbers).collect()
    });
    page.table(&NAMES, &NUMBERS, rows);
    page.paragraphs(not_shown(summary));
}

fn rows(summary: &Summary) -> impl Iterator<Item = PairRow<'_>> {
    let several = summary.agreement.0.iter().filter(|(_, agreement)| agreement.raters > 2);
    several.flat_map(|(grader, agreement)| {
        agreement.pairs.0.iter().take(PAIRS).map(move |(raters, pair)| PairRow {
            grader,
            raters,
            numbers: [
                pair.n.to_string(),
                percent(pair.exact_agreement),
                kappa_or_dash(pair.cohen_kappa),
                kappa_or_dash(pair.quadratic_weighted_kappa),
            ],
        })
    })
}

fn not_shown(summary: &Summary) -> Option<String> {
    let rest = summary.agreement.0.iter().map(|(_, agreement)| agreement.pairs.0.len());
    let rest: usize = rest.map(|pairs| pairs.saturating_sub(PAIRS)).sum();
    (rest > 0).then(|| format!("{} of raters not shown", count(rest, "pair")))
}

#[cfg(test)]
mod tests {
    use super::{add_pairs, pair_lines};
    use crate::markdown_page::MarkdownPage;
    use evalrs_base::ordered_map::OrderedMap;
    use evalrs_metrics::metric::agreement::agreement;
    use evalrs_test_runs as fixtures;

    #[test]
    fn three_raters_have_a_table_and_two_have_none() {
        let scores = |items: &[[f64; 3]], raters: usize| {
            let item = |item: &[f64; 3]| item[..raters].iter().copied().map(Some).collect();
            agreement(&items.iter().map(item).collect::<Vec<Vec<Option<f64>>>>())
        };
        let items = [[1.0, 1.0, 2.0], [2.0, 2.0, 2.0], [1.0, 2.0, 1.0], [3.0, 3.0, 3.0]];
        let mut run = fixtures::empty();
        run.summary.agreement = OrderedMap(vec![
            ("two".to_owned(), scores(&items, 2)),
            ("people".to_owned(), scores(&items, 3)),
        ]);
        let mut page = MarkdownPage::default();
        add_pairs(&run.summary, &mut page);
        let markdown = page.into_text();
        let text =
            anstream::adapter::strip_str(&pair_lines(&run.summary, 80).join("\n")).to_string();
        insta::assert_snapshot!(format!("{text}\n{markdown}"), @r"
        grader  raters  n  equal  kappa  quadratic
        people  1-2     4  75.0%   0.64       0.80
        people  1-3     4  75.0%   0.64       0.80
        people  2-3     4  50.0%   0.20       0.50

        | grader | raters | n | equal | kappa | quadratic |
        |:--|:--|--:|--:|--:|--:|
        | `people` | 1-2 | 4 | 75.0% | 0.64 | 0.80 |
        | `people` | 1-3 | 4 | 75.0% | 0.64 | 0.80 |
        | `people` | 2-3 | 4 | 50.0% | 0.20 | 0.50 |
        ");
    }
}
