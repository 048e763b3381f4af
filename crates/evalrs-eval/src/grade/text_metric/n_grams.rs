//! Runs of neighbours in a list, counted.

use std::collections::HashMap;
use std::hash::Hash;

/// How often each run of `n` neighbours stands in a list.
pub(super) fn n_grams<T: Eq + Hash>(items: &[T], n: usize) -> HashMap<&[T], usize> {
    let mut counts = HashMap::new();
    for gram in items.windows(n) {
        *counts.entry(gram).or_default() += 1;
    }
    counts
}

/// How many runs of `n` neighbours are in both: each as often as in the one that has it less often.
pub(super) fn shared<T: Eq + Hash>(
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

/// How many runs of `n` neighbours a list of this length has.
pub(super) fn n_gram_count(length: usize, n: usize) -> usize {
    (length + 1).saturating_sub(n)
}
