//! Which answers to label next: those that tell most of the grader, and a random part, of which estimates may be made.
//!
//! The random part follows from content: every answer has a number, and the least comes first. So what was drawn is the beginning of
//! one order, whatever else is labelled meanwhile, and on every machine the same.

use evalrs_model::spec::LabelPick;

/// A score that is at most so far from the threshold (0.0..=1.0) might as well be on its other side.
const NEAR: f64 = 0.1;

/// An answer, labelled or not, and the verdict on it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LabelCandidate {
    /// Its number in the random order.
    pub draw: u64,
    /// Whether judges or votes are on both sides of the threshold.
    pub is_split: bool,
    /// How far its score is from the threshold.
    pub from_threshold: f64,
}

/// The number of an answer in the random order: of the sample and the digest of the submission.
pub fn draw_number(sample_id: &str, submission: u64) -> u64 {
    answer_number("evalrs 2026 labels drawn", sample_id, submission)
}

/// A number that follows from the sample and the digest of the submission; another one in each context.
pub(super) fn answer_number(context: &str, sample_id: &str, submission: u64) -> u64 {
    let mut hasher = blake3::Hasher::new_derive_key(context);
    hasher.update(&submission.to_le_bytes());
    hasher.update(sample_id.as_bytes());
    first_number(&hasher.finalize())
}

/// The first eight bytes of a hash.
pub(super) fn first_number(hash: &blake3::Hash) -> u64 {
    let (first, _) = hash.as_bytes().split_first_chunk::<8>().unwrap_or((&[0; 8], &[]));
    u64::from_le_bytes(*first)
}

/// The places of candidates in the order in which to label them, and why each: a random one, then one that judges disagree on or that
/// is near the threshold, the most doubtful first, and so on. Labels change nothing of it, so that what is skipped is behind one.
pub fn label_queue(candidates: &[LabelCandidate]) -> Vec<(usize, LabelPick)> {
    let mut random: Vec<usize> = (0..candidates.len()).collect();
    random.sort_by_key(|at| candidates[*at].draw);
    let mut doubtful: Vec<(usize, LabelPick)> = Vec::new();
    for (at, candidate) in candidates.iter().enumerate() {
        if candidate.is_split {
            doubtful.push((at, LabelPick::Disagreement));
        } else if candidate.from_threshold <= NEAR {
            doubtful.push((at, LabelPick::Threshold));
        }
    }
    doubtful.sort_by(|(left, _), (right, _)| {
        let [left, right] = [left, right].map(|at| &candidates[*at]);
        let by_distance = left.from_threshold.total_cmp(&right.from_threshold);
        right.is_split.cmp(&left.is_split).then(by_distance).then(left.draw.cmp(&right.draw))
    });
    let mut is_taken = vec![false; candidates.len()];
    let mut doubtful = doubtful.into_iter();
    let mut queue = Vec::new();
    for at in random {
        if is_taken[at] {
            continue;
        }
        is_taken[at] = true;
        queue.push((at, LabelPick::Random));
        if let Some((at, why)) = doubtful.find(|(at, _)| !is_taken[*at]) {
            is_taken[at] = true;
            queue.push((at, why));
        }
    }
    queue
}

/// Whether a label may represent unlabelled answers: it was sampled, or its pick is not known, or it was chosen and its answer
/// comes so early in the random order, up to the number `drawn`, that it would have been sampled anyway.
pub fn is_drawn(picked: Option<LabelPick>, draw: u64, drawn: Option<u64>) -> bool {
    match picked {
        None | Some(LabelPick::Random) => true,
        Some(LabelPick::Disagreement | LabelPick::Threshold | LabelPick::Chosen) => {
            drawn.is_some_and(|last| draw <= last)
        }
    }
}

/// The half width of an interval once there are `more` labels beside `labels`, where it is `half` now: an interval narrows with the
/// square root of its labels.
pub fn narrowed(half: f64, labels: usize, more: usize) -> f64 {
    half * (labels as f64 / (labels + more).max(1) as f64).sqrt()
}

#[cfg(test)]
mod tests {
    use super::{LabelCandidate, draw_number, is_drawn, label_queue, narrowed};
    use evalrs_model::spec::LabelPick::{Chosen, Disagreement, Random, Threshold};

    fn candidate(draw: u64, is_split: bool, from_threshold: f64) -> LabelCandidate {
        LabelCandidate { draw, is_split, from_threshold }
    }

    #[test]
    fn random_ones_and_doubtful_ones_take_turns() {
        let all = [
            candidate(50, false, 0.5),
            candidate(10, false, 0.4),
            candidate(40, false, 0.05),
            candidate(30, true, 0.5),
            candidate(20, false, 0.1),
            candidate(60, false, 0.11),
        ];
        let expected =
            [(1, Random), (3, Disagreement), (4, Random), (2, Threshold), (0, Random), (5, Random)];
        assert_eq!(label_queue(&all), expected);
        assert_eq!(label_queue(&[]), []);
    }

    #[test]
    fn a_chosen_label_counts_where_it_was_to_be_drawn() {
        for (picked, drawn, expected) in [
            (None, None, true),
            (Some(Random), None, true),
            (Some(Chosen), None, false),
            (Some(Chosen), Some(6), false),
            (Some(Threshold), Some(7), true),
            (Some(Disagreement), Some(8), true),
        ] {
            assert_eq!(is_drawn(picked, 7, drawn), expected, "{picked:?} {drawn:?}");
        }
    }

    #[test]
    fn what_is_drawn_does_not_follow_the_verdicts() {
        // The mean of those that are drawn first is that of all, whatever the others are chosen by.
        let all: Vec<LabelCandidate> = (0..2000)
            .map(|at| {
                let score = f64::from(at % 7) / 6.0;
                candidate(draw_number(&format!("q{at}"), 3), at % 5 == 0, (score - 0.5).abs())
            })
            .collect();
        let queue = label_queue(&all).into_iter().take(1000);
        let drawn = queue.filter(|(_, why)| *why == Random);
        let splits: Vec<bool> = drawn.map(|(at, _)| all[at].is_split).collect();
        let mut by_number: Vec<&LabelCandidate> = all.iter().collect();
        by_number.sort_by_key(|of| of.draw);
        let first = by_number.iter().take(500).filter(|of| of.is_split).count();
        assert!((70..130).contains(&first), "{first}");
        assert!(splits.len() >= 500, "{}", splits.len());
    }

    #[test]
    fn four_times_the_labels_halve_an_interval() {
        for (labels, more, expected) in [(30, 90, 0.05), (30, 0, 0.1), (0, 0, 0.0)] {
            assert!((narrowed(0.1, labels, more) - expected).abs() < 1e-12);
        }
    }
}
