//! Seeded randomness: equal seeds give equal sequences, on every run of the same build.

/// xoshiro256**, seeded through splitmix64. Not for secrets.
#[derive(Clone, Debug)]
pub struct Random {
    state: [u64; 4],
}

impl Random {
    /// A generator whose whole sequence follows from `seed`.
    pub fn new(seed: u64) -> Self {
        let mut mix = seed;
        let state = [(); 4].map(|()| splitmix(&mut mix));
        Self { state }
    }

    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        let [a, b, c, d] = self.state;
        let result = b.wrapping_mul(5).rotate_left(7).wrapping_mul(9);
        let (c2, d2) = (c ^ a, d ^ b);
        self.state = [a ^ d2, b ^ c2, c2 ^ (b << 17), d2.rotate_left(45)];
        result
    }

    /// A number in `0..end`; 0 if `end` is 0. The bias is below `end / 2^64`.
    pub fn below(&mut self, end: usize) -> usize {
        ((u128::from(self.bits()) * end as u128) >> 64) as usize
    }

    /// A number from `low` to `high`, both included; `low` if `high` is smaller.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below((high.saturating_sub(low) as usize).saturating_add(1)) as u64
    }

    /// A fraction in `0.0..1.0`.
    pub fn fraction(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// True with this probability: never at 0.0, always at 1.0.
    pub fn chance(&mut self, probability: f64) -> bool {
        self.fraction() < probability
    }

    /// One of `choices`; the default if there are none.
    pub fn pick<T: Copy + Default>(&mut self, choices: &[T]) -> T {
        choices.get(self.below(choices.len())).copied().unwrap_or_default()
    }

    /// An index drawn with these weights; 0 if there are none.
    pub fn weighted(&mut self, weights: &[u32]) -> usize {
        let mut left = self.below(weights.iter().sum::<u32>() as usize) as u32;
        for (index, weight) in weights.iter().enumerate() {
            if left < *weight {
                return index;
            }
            left -= weight;
        }
        0
    }

    /// A size from a log-normal distribution, clipped.
    ///
    /// * `median` - of the unclipped distribution.
    /// * `sigma` - standard deviation of its logarithm.
    pub fn log_normal(&mut self, median: f64, sigma: f64, low: usize, high: usize) -> usize {
        let radius = (-2.0 * (1.0 - self.fraction()).ln()).sqrt();
        let normal = radius * (std::f64::consts::TAU * self.fraction()).cos();
        ((median.ln() + sigma * normal).exp() as usize).clamp(low, high.max(low))
    }

    /// A waiting time from an exponential distribution.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * (1.0 - self.fraction()).ln()
    }
}

fn splitmix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::float_cmp, clippy::indexing_slicing, reason = "tests")]
    use super::*;

    #[test]
    fn equal_seeds_give_equal_sequences() {
        let draw = |seed| {
            let mut random = Random::new(seed);
            (0..100).map(|_| random.bits()).collect::<Vec<_>>()
        };
        assert_eq!(draw(7), draw(7));
        assert_ne!(draw(7), draw(8));
    }

    #[test]
    fn ranges_are_respected_and_reached() {
        let mut random = Random::new(1);
        let drawn: Vec<u64> = (0..1000).map(|_| random.between(3, 5)).collect();
        for want in 3..=5 {
            assert!(drawn.contains(&want), "never drew {want}");
        }
        assert!(drawn.iter().all(|drawn| (3..=5).contains(drawn)));
        assert_eq!(random.below(0), 0);
        assert_eq!(random.between(9, 2), 9);
        assert!(!random.chance(0.0));
        assert!(random.chance(1.0));
    }

    #[test]
    fn log_normal_has_the_median_asked_for() {
        let mut random = Random::new(2);
        let mut drawn: Vec<usize> = (0..20_001).map(|_| random.log_normal(1120.0, 1.5, 8, 400_000)).collect();
        drawn.sort_unstable();
        let median = drawn[10_000];
        assert!((1050..1190).contains(&median), "median {median}");
    }

    #[test]
    fn weights_are_followed() {
        let mut random = Random::new(3);
        let mut counts = [0_u32; 3];
        for _ in 0..10_000 {
            counts[random.weighted(&[80, 0, 20])] += 1;
        }
        assert_eq!(counts[1], 0);
        assert!((7700..8300).contains(&counts[0]), "{counts:?}");
    }
}
