//! How far each two of three judges or voters, or more, agree: a table in reports for people. Of two, one line says it all.

use super::intervals::kappa_or_dash;
use super::page::{Column, Table, Text, quoted};
use evalrs_base::text::{count, percent};
use evalrs_metrics::results::Summary;

/// The pairs of one grader that are shown: those of five raters.
const PAIRS: usize = 10;

/// The table; without rows where no grader has three raters.
pub(super) fn table(summary: &Summary) -> Table {
    let numbers = ["n", "equal", "kappa", "quadratic"].map(Column::numbers);
    let names = [Column::names("grader"), Column::names("raters")];
    let mut table = Table::new(names.into_iter().chain(numbers));
    for (grader, agreement) in summary.agreement.0.iter().filter(|(_, found)| found.raters > 2) {
        for (raters, pair) in agreement.pairs.0.iter().take(PAIRS) {
            let numbers = [
                pair.n.to_string(),
                percent(pair.exact_agreement),
                kappa_or_dash(pair.cohen_kappa),
                kappa_or_dash(pair.quadratic_weighted_kappa),
            ];
            let names = [quoted(grader), quoted(raters)];
            table.row(names.into_iter().chain(numbers.map(Text::from)));
        }
    }
    table.extend_notes(not_shown(summary).map(Text::from));
    table
}

fn not_shown(summary: &Summary) -> Option<String> {
    let rest = summary.agreement.0.iter().map(|(_, agreement)| agreement.pairs.0.len());
    let rest: usize = rest.map(|pairs| pairs.saturating_sub(PAIRS)).sum();
    (rest > 0).then(|| format!("{} of raters not shown", count(rest, "pair")))
}

#[cfg(test)]
mod tests {
    use super::table;
    use crate::page::markdown::shown;
    use crate::page::{Block, Page};
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
        let mut page = Page::default();
        page.add(Block::Table(table(&run.summary)));
        let text = shown(&page);
        insta::assert_snapshot!(text, @r"
        | grader | raters | n | equal | kappa | quadratic |
        |:--|:--|--:|--:|--:|--:|
        | `people` | `1-2` | 4 | 75.0% | 0.64 | 0.80 |
        | `people` | `1-3` | 4 | 75.0% | 0.64 | 0.80 |
        | `people` | `2-3` | 4 | 50.0% | 0.20 | 0.50 |
        ");
    }
}
