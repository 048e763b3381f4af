//! Picks some of many, every choice as likely as any other, and the same ones for the same seed on every machine.

use evalrs_base::random::SplitMix;

/// `wanted` of the numbers below `population`, in order; all of them if there are fewer.
pub(crate) fn sample(population: usize, wanted: usize, seed: u64) -> Vec<usize> {
    let mut generator = SplitMix::new(seed);
    let mut left = wanted.min(population);
    let mut picked = Vec::with_capacity(left);
    // Selection sampling: each is taken with the share of what is still wanted in what is still there (Knuth, The Art of
    // Computer Programming, volume 2, algorithm 3.4.2 S).
    for at in 0..population {
        if left == 0 {
            break;
        }
        if generator.below((population - at) as u64) < left as u64 {
            picked.push(at);
            left -= 1;
        }
    }
    picked
}

#[cfg(test)]
mod tests {
    use super::sample;

    #[test]
    fn a_sample_has_the_size_that_is_wanted_and_is_in_order() {
        for (population, wanted, size) in
            [(0, 3, 0), (5, 0, 0), (5, 5, 5), (5, 9, 5), (100, 10, 10)]
        {
            for seed in 0..20 {
                let picked = sample(population, wanted, seed);
                assert_eq!(picked.len(), size);
                assert!(picked.is_sorted() && picked.iter().all(|at| *at < population));
                assert_eq!(picked, sample(population, wanted, seed), "the same for the same seed");
            }
        }
        assert_ne!(sample(100, 10, 1), sample(100, 10, 2));
    }

    #[test]
    fn every_one_is_picked_as_often_as_any_other() {
        let mut counts = [0; 10];
        for seed in 0..10_000 {
            for at in sample(10, 3, seed) {
                counts[at] += 1;
            }
        }
        // 3,000 are expected of each; four standard deviations are 183.
        assert!(counts.iter().all(|count| (2_817..=3_183).contains(count)), "{counts:?}");
    }
}
