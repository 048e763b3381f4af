//! How alike two lists are: the runs of neighbours that both have, and the Levenshtein distance in bounded time.

use std::collections::HashMap;
use std::hash::Hash;

/// Most cells of the tables of one grade: two texts of 14,000 items, about half a second.
const MAX_CELLS: usize = 200_000_000;

/// The rest of two lists without their common beginning and end, if a table of the rest is small enough.
pub(crate) fn differing<'a, T: PartialEq>(
    left: &'a [T],
    right: &'a [T],
    tables: usize,
) -> Option<DifferingParts<'a, T>> {
    let same_start = left.iter().zip(right).take_while(|(a, b)| a == b).count();
    let left = &left[same_start..];
    let right = &right[same_start..];
    let same_end = left.iter().rev().zip(right.iter().rev()).take_while(|(a, b)| a == b).count();
    let left = &left[..left.len() - same_end];
    let right = &right[..right.len() - same_end];
    let is_small =
        left.len().checked_mul(right.len()).is_some_and(|cells| cells <= MAX_CELLS / tables.max(1));
    is_small.then_some(DifferingParts { left, right, same: same_start + same_end })
}

/// Two lists without what both begin and end with.
pub(crate) struct DifferingParts<'a, T> {
    /// What is left of the first.
    pub left: &'a [T],
    /// What is left of the second.
    pub right: &'a [T],
    /// How many items were the same.
    #[cfg_attr(not(feature = "text_metrics"), expect(dead_code, reason = "text metrics count it"))]
    pub same: usize,
}

/// How many items must be put in, left out or replaced to make one list of the other, unless that would take too long. So
/// many distances are asked for in all.
pub(crate) fn edit_distance<T: PartialEq>(
    left: &[T],
    right: &[T],
    distances: usize,
) -> Option<usize> {
    let DifferingParts { left, right, .. } = differing(left, right, distances)?;
    Some(strsim::generic_levenshtein(&Items(left), &Items(right)))
}

/// Lets the edit distance walk over a slice.
struct Items<'a, T>(&'a [T]);

impl<'a, T> IntoIterator for &'a Items<'_, T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

/// How often each run of `n` neighbours occurs in a list.
pub(crate) fn n_grams<T: Eq + Hash>(items: &[T], n: usize) -> HashMap<&[T], usize> {
    let mut counts = HashMap::new();
    for gram in items.windows(n) {
        *counts.entry(gram).or_default() += 1;
    }
    counts
}

/// How many runs of `n` neighbours are in both: each as often as in the one that has it less often.
pub(crate) fn shared<T: Eq + Hash>(
    items: &[T],
    n: usize,
    mut others: HashMap<&[T], usize>,
) -> usize {
    let mut taken = 0;
    for gram in items.windows(n) {
        if let Some(left) = others.get_mut(gram).filter(|left| **left > 0) {
            *left -= 1;
            taken += 1;
        }
    }
    taken
}
