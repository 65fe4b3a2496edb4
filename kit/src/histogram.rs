//! A histogram that is cheap enough to be filled between two acquisitions: one shift, one increment.
//!
//! Buckets are 1/32 of a power of two wide, so a figure read from it is off by at most 1.6 %, whatever its size. A
//! general-purpose histogram costs several times as much per sample, and up to a thousand threads have two each.

/// Bits of a sample that are told apart below its highest one.
const FINE_BITS: u32 = 5;
const FINE: usize = 1 << FINE_BITS;
/// The widest sample has its highest bit at 63, which is `FINE_BITS` above the last exact one.
const BUCKETS: usize = (64 - FINE_BITS as usize + 1) * FINE;

/// Counts of samples by size.
#[derive(Clone, Debug, PartialEq)]
pub struct Histogram {
    counts: Box<[u64; BUCKETS]>,
    max: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Histogram { counts: Box::new([0; BUCKETS]), max: 0 }
    }
}

impl Histogram {
    /// Counts one sample.
    #[inline]
    pub fn record(&mut self, sample: u64) {
        self.counts[bucket(sample)] += 1;
        self.max = self.max.max(sample);
    }

    /// Takes part in the maximum only: for a sample that is known to be at least this large.
    pub fn record_at_least(&mut self, sample: u64) {
        self.max = self.max.max(sample);
    }

    /// How many samples are of this size or larger, to within a bucket, and their sum.
    pub fn from(&self, size: f64) -> (u64, f64) {
        let large = self.counts.iter().enumerate().skip(bucket(size as u64)).filter(|(_, count)| **count > 0);
        large.fold((0, 0.0), |(n, sum), (index, count)| (n + count, sum + *count as f64 * middle(index)))
    }

    /// Adds the samples of another one.
    pub fn merge(&mut self, other: &Histogram) {
        for (count, more) in self.counts.iter_mut().zip(other.counts.iter()) {
            *count += more;
        }
        self.max = self.max.max(other.max);
    }

    /// The largest sample, exactly.
    pub fn max(&self) -> u64 {
        self.max
    }

    /// The size that a part `p` of the samples does not exceed; `None` without samples.
    pub fn quantile(&self, p: f64) -> Option<f64> {
        self.weighted(p, |_| 1.0)
    }

    /// The size that samples which make up a part `p` of the *sum* do not exceed. Of gaps in time: what somebody who
    /// looks at a random moment finds himself in, with probability `p`, or in less.
    pub fn quantile_by_size(&self, p: f64) -> Option<f64> {
        self.weighted(p, |size| size)
    }

    fn weighted(&self, p: f64, weight: impl Fn(f64) -> f64) -> Option<f64> {
        let filled = || self.counts.iter().enumerate().filter(|(_, count)| **count > 0);
        let part = |(index, &count): (usize, &u64)| count as f64 * weight(middle(index));
        let target = p * filled().map(part).sum::<f64>();
        let mut below = 0.0;
        let reached = filled().find(|&entry| {
            below += part(entry);
            below >= target
        });
        // Rounding may leave the sum just short of the target of p = 1.
        let (index, _) = reached.or_else(|| filled().next_back())?;
        Some(middle(index).min(self.max as f64))
    }
}

/// Index of the bucket that `sample` is counted in.
#[inline]
fn bucket(sample: u64) -> usize {
    let shift = (u64::BITS - sample.leading_zeros()).saturating_sub(FINE_BITS + 1);
    shift as usize * FINE + (sample >> shift) as usize
}

/// The middle of a bucket.
fn middle(index: usize) -> f64 {
    let shift = (index / FINE).saturating_sub(1) as u32;
    let lowest = ((index - shift as usize * FINE) as u64) << shift;
    lowest as f64 + ((1u64 << shift) - 1) as f64 / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_in_order_and_narrow() {
        let mut last = 0;
        let samples = (0..63).flat_map(|bit| [1u64 << bit, (1 << bit) + (1 << bit) / 3, (1 << bit) * 2 - 1]);
        for sample in samples {
            let index = bucket(sample);
            assert!(index >= last, "{sample}");
            last = index;
            let error = (middle(index) - sample as f64).abs() / sample as f64;
            assert!(error <= 0.016, "{sample}: {error}");
        }
        assert_eq!(bucket(u64::MAX), BUCKETS - 1);
        assert_eq!(bucket(0), 0);
    }

    #[test]
    fn quantiles_by_number_and_by_size() {
        let mut histogram = Histogram::default();
        assert_eq!(histogram.quantile(0.5), None);
        (0..90).for_each(|_| histogram.record(10));
        (0..10).for_each(|_| histogram.record(1000));
        assert_eq!(histogram.quantile(0.5), Some(10.0));
        assert!((histogram.quantile(0.99).unwrap() - 1000.0).abs() < 16.0);
        // Ten samples of 1000 are 92 % of the whole time.
        assert!(histogram.quantile_by_size(0.5).unwrap() > 900.0);
        assert_eq!(histogram.quantile_by_size(0.05), Some(10.0));
        assert_eq!(histogram.max(), 1000);
    }

    #[test]
    fn the_large_ones_are_counted_and_added_up() {
        let mut histogram = Histogram::default();
        [3, 10, 10, 20].into_iter().for_each(|sample| histogram.record(sample));
        assert_eq!(
            [0.0, 10.0, 11.0, 21.0].map(|size| histogram.from(size)),
            [(4, 43.0), (3, 40.0), (1, 20.0), (0, 0.0)]
        );
    }

    #[test]
    fn merging_adds_up() {
        let (mut one, mut two) = (Histogram::default(), Histogram::default());
        one.record(5);
        two.record(7);
        two.record_at_least(40);
        one.merge(&two);
        assert_eq!(one.quantile(1.0), Some(7.0));
        assert_eq!(one.max(), 40);
    }
}
