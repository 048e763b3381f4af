//! Picks some of many, every choice as likely as any other, and the same ones for the same seed on every machine.
//!
//! The generator is `SplitMix64` (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014).

/// `wanted` of the numbers below `population`, in order; all of them if there are no more.
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

/// A generator of random numbers.
#[derive(Clone, Debug)]
pub(crate) struct SplitMix(u64);

impl SplitMix {
    /// The numbers of a seed.
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }

    /// A number below `end`. The share that is too likely is below `end` in 2^64.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(end)) >> 64) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::{SplitMix, sample};

    #[test]
    fn the_generator_is_the_published_one() {
        // The first words for seed 1234567, as the reference implementation in C gives them.
        let mut generator = SplitMix(1_234_567);
        let words: Vec<u64> = (0..3).map(|_| generator.next()).collect();
        let expected =
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423];
        assert_eq!(words, expected);
    }

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
