//! Newton's method, and the small systems of linear equations that it solves.

const MAX_STEPS: usize = 100;

/// Steps below this are the last.
const NEAR: f64 = 1e-6;

/// How often a step is halved that does not raise the likelihood.
const MAX_HALVINGS: i32 = 40;

/// Where `likelihood` is greatest, by Newton's method from `start`; `step` leads from a point to about there. None where there is
/// no step, or no end of them.
pub(super) fn maximum(
    start: Vec<f64>,
    step: impl Fn(&[f64]) -> Option<Vec<f64>>,
    likelihood: impl Fn(&[f64]) -> f64,
) -> Option<Vec<f64>> {
    let mut point = start;
    for _ in 0..MAX_STEPS {
        let step = step(&point)?;
        let moved = |scale: f64| -> Vec<f64> {
            point.iter().zip(&step).map(|(value, step)| value + scale * step).collect()
        };
        // So near the maximum a step squares what is left, and likelihoods differ by their rounding alone.
        if step.iter().all(|step| step.abs() < NEAR) {
            return Some(moved(1.0));
        }
        let before = likelihood(&point);
        let mut scales = (0..MAX_HALVINGS).map(|halvings| 0.5_f64.powi(halvings)).map(moved);
        point = scales.find(|next| likelihood(next) >= before)?;
    }
    None
}

/// The solution of `matrix · x = right`, or none where the matrix is not positive definite to the precision of floats.
///
/// By Cholesky's decomposition. Only the lower triangle is read.
pub(super) fn solve(matrix: &[Vec<f64>], right: &[f64]) -> Option<Vec<f64>> {
    let lower = decompose(matrix)?;
    let mut solution = right.to_vec();
    for row in 0..lower.len() {
        let known: f64 = (0..row).map(|at| lower[row][at] * solution[at]).sum();
        solution[row] = (solution[row] - known) / lower[row][row];
    }
    for row in (0..lower.len()).rev() {
        let known: f64 = (row + 1..lower.len()).map(|at| lower[at][row] * solution[at]).sum();
        solution[row] = (solution[row] - known) / lower[row][row];
    }
    solution.iter().all(|value| value.is_finite()).then_some(solution)
}

/// The lower triangle whose product with its transpose is the matrix.
fn decompose(matrix: &[Vec<f64>]) -> Option<Vec<Vec<f64>>> {
    let size = matrix.len();
    let mut lower = vec![vec![0.0; size]; size];
    for row in 0..size {
        for column in 0..=row {
            let known: f64 = (0..column).map(|at| lower[row][at] * lower[column][at]).sum();
            let rest = matrix[row][column] - known;
            lower[row][column] = if row == column {
                // What is left of a diagonal by rounding alone is no pivot.
                if rest.is_nan() || rest <= matrix[row][row].abs() * 1e-13 {
                    return None;
                }
                rest.sqrt()
            } else {
                rest / lower[column][column]
            };
        }
    }
    Some(lower)
}

#[cfg(test)]
mod tests {
    use super::solve;

    #[test]
    fn systems_are_solved() {
        let matrix = [vec![4.0, 2.0, 0.6], vec![2.0, 5.0, 1.0], vec![0.6, 1.0, 3.0]];
        let solution = solve(&matrix, &[1.0, -2.0, 0.5]).unwrap();
        for (row, right) in matrix.iter().zip([1.0, -2.0, 0.5]) {
            let found: f64 = row.iter().zip(&solution).map(|(one, other)| one * other).sum();
            assert!((found - right).abs() < 1e-12, "{found} is not {right}");
        }
        assert_eq!(solve(&[], &[]), Some(vec![]));
    }

    #[test]
    fn what_is_not_definite_has_no_solution() {
        assert_eq!(solve(&[vec![1.0, 1.0], vec![1.0, 1.0]], &[1.0, 1.0]), None);
        assert_eq!(solve(&[vec![0.0]], &[1.0]), None);
        assert_eq!(solve(&[vec![f64::NAN]], &[1.0]), None);
    }
}
