//! Two numbers of each result against each other: points, or where there are too many, how many lie in each cell of a grid.

use serde::Serialize;

use super::case::CasePlaceView;
use super::columns::{CaseColumn, RowColumns};
use super::rows::IndexedRow;

/// The most results that are told one by one.
const MOST_POINTS: usize = 2000;
/// The cells of a side of the grid.
const CELLS: usize = 40;

/// A number of results.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Axis {
    /// The score of a grader, by its place.
    Grader(usize),
    Column(CaseColumn),
}

/// Two numbers of results.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Axes {
    pub x: Axis,
    pub y: Axis,
}

/// A result with both numbers.
#[derive(Clone, Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct ScatterPoint {
    /// The first number.
    x: f64,
    /// The second number.
    y: f64,
    /// Which result.
    #[serde(flatten)]
    place: CasePlaceView,
}

/// A cell of the grid that has results.
#[derive(Clone, Debug, PartialEq, Serialize, utoipa::ToSchema)]
pub(crate) struct ScatterCell {
    /// Its column, from 0.
    column: usize,
    /// Its line, from 0 at the smallest.
    line: usize,
    /// How many results are in it.
    count: usize,
}

/// The smallest and the largest number.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, utoipa::ToSchema)]
pub(crate) struct NumberRange {
    min: f64,
    max: f64,
}

/// Two numbers of results.
#[derive(Clone, Debug, Default, Serialize, utoipa::ToSchema)]
pub(crate) struct ScatterView {
    /// How many results have both numbers.
    known: usize,
    /// The range of the first number; null where no result has both.
    x: Option<NumberRange>,
    /// The range of the second number.
    y: Option<NumberRange>,
    /// The results, if there are at most 2,000.
    points: Vec<ScatterPoint>,
    /// The cells of a grid of 40 × 40 that have results, where there are more.
    cells: Vec<ScatterCell>,
}

impl NumberRange {
    fn of(numbers: impl Iterator<Item = f64>) -> Option<Self> {
        let each = numbers.map(|number| Self { min: number, max: number });
        each.reduce(|one, other| Self { min: one.min.min(other.min), max: one.max.max(other.max) })
    }

    /// The cell of a side that a number lies in.
    fn cell(self, number: f64) -> usize {
        let width = self.max - self.min;
        let share = if width > 0.0 { (number - self.min) / width } else { 0.0 };
        ((share * CELLS as f64) as usize).min(CELLS - 1)
    }
}

impl RowColumns {
    /// The axis with a name: a grader, or a column of numbers.
    pub(crate) fn axis(&self, name: &str) -> Option<Axis> {
        if let Some(at) = self.rows.grader(name) {
            return Some(Axis::Grader(at));
        }
        let is_number = |column: &CaseColumn| {
            !matches!(column, CaseColumn::Tags | CaseColumn::Input | CaseColumn::GroundTruth)
        };
        CaseColumn::named(name).ok().filter(is_number).map(Axis::Column)
    }

    fn number(&self, row: &IndexedRow, axis: &Axis) -> Option<f64> {
        match axis {
            Axis::Grader(at) => {
                let verdict = row.verdicts.get(*at)?;
                verdict.state.passed().map(|_| verdict.score)
            }
            Axis::Column(column) => self.value(row, column).as_f64(),
        }
    }

    /// These rows, by two numbers.
    pub(crate) fn scatter(&self, rows: &[usize], axes: &Axes) -> ScatterView {
        let points = rows.iter().filter_map(|at| {
            let row = &self.rows.rows[*at];
            let x = self.number(row, &axes.x)?;
            Some(NumberedRow { x, y: self.number(row, &axes.y)?, row })
        });
        let points: Vec<NumberedRow<'_>> = points.collect();
        let known = points.len();
        let x = NumberRange::of(points.iter().map(|point| point.x));
        let y = NumberRange::of(points.iter().map(|point| point.y));
        let Some(ranges) = x.zip(y).filter(|_| known > MOST_POINTS) else {
            let points = points.into_iter().map(|point| ScatterPoint {
                x: point.x,
                y: point.y,
                place: CasePlaceView {
                    sample_id: point.row.sample_id.to_string(),
                    model: self.rows.model_of(point.row).map(str::to_owned),
                    trial: point.row.trial,
                },
            });
            return ScatterView { known, x, y, points: points.collect(), cells: Vec::new() };
        };
        let mut counts = vec![0; CELLS * CELLS];
        for point in &points {
            counts[ranges.1.cell(point.y) * CELLS + ranges.0.cell(point.x)] += 1;
        }
        let cells = counts.into_iter().enumerate().filter(|(_, count)| *count > 0);
        let cell = |(at, count)| ScatterCell { column: at % CELLS, line: at / CELLS, count };
        ScatterView { known, x, y, points: Vec::new(), cells: cells.map(cell).collect() }
    }
}

struct NumberedRow<'a> {
    x: f64,
    y: f64,
    row: &'a IndexedRow,
}

#[cfg(test)]
mod tests {
    use super::NumberRange;

    #[test]
    fn numbers_lie_in_the_cells_of_their_range() {
        let range = NumberRange::of([3.0, 1.0, 2.0].into_iter()).unwrap();
        assert_eq!(range, NumberRange { min: 1.0, max: 3.0 });
        assert_eq!([1.0, 2.0, 3.0].map(|number| range.cell(number)), [0, 20, 39]);
        assert_eq!(NumberRange { min: 1.0, max: 1.0 }.cell(1.0), 0);
        assert_eq!(NumberRange::of(std::iter::empty()), None);
    }
}
