//! As many pairs as there can be between two lists of which only some items fit: a maximum bipartite matching.

/// Pairs as many rows with columns as possible, each with one at most that fits: for each column its row.
///
/// Augmenting paths (Kuhn 1955): a first-come pairing could leave a call alone that another order pairs.
pub(super) fn pair(fits: &[Vec<bool>], columns: usize) -> Vec<Option<usize>> {
    let mut partners = vec![None; columns];
    for row in 0..fits.len() {
        let mut seen = vec![false; columns];
        augment(row, fits, &mut seen, &mut partners);
    }
    partners
}

fn augment(
    row: usize,
    fits: &[Vec<bool>],
    seen: &mut [bool],
    partners: &mut [Option<usize>],
) -> bool {
    for column in 0..partners.len() {
        let fit = fits.get(row).and_then(|row| row.get(column)).copied().unwrap_or(false);
        if !fit || std::mem::replace(&mut seen[column], true) {
            continue;
        }
        if partners[column].is_none_or(|other| augment(other, fits, seen, partners)) {
            partners[column] = Some(row);
            return true;
        }
    }
    false
}
