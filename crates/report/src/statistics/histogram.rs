//! Durations counted in buckets that are at most 1/64 of their value wide. So the error of a percentile is below 1 %
//! for any number of durations, in at most 30 KiB.

use serde::{Deserialize, Serialize};

/// Bits of a value that select the bucket within a power of two.
const BITS: u32 = 6;

/// How often each duration was seen.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Histogram {
    buckets: Vec<u64>,
    count: u64,
    least: u64,
    most: u64,
}

impl Histogram {
    /// Counts one.
    pub fn add(&mut self, value: u64) {
        let bucket = bucket(value);
        if bucket >= self.buckets.len() {
            self.buckets.resize(bucket + 1, 0);
        }
        self.buckets[bucket] += 1;
        self.least = if self.count == 0 { value } else { self.least.min(value) };
        self.most = self.most.max(value);
        self.count += 1;
    }

    /// Adds the values of `other`.
    pub fn merge(&mut self, other: &Histogram) {
        if other.count == 0 {
            return;
        }
        self.buckets.resize(self.buckets.len().max(other.buckets.len()), 0);
        for (to, from) in self.buckets.iter_mut().zip(&other.buckets) {
            *to += from;
        }
        self.least = if self.count == 0 { other.least } else { self.least.min(other.least) };
        self.most = self.most.max(other.most);
        self.count += other.count;
    }

    /// How many values of each power of two there are: the first is that of 1 and 0, the next that of 2 and 3.
    pub fn octaves(&self) -> Vec<u64> {
        let mut octaves = Vec::new();
        for (bucket, count) in self.buckets.iter().enumerate().filter(|(_, count)| **count > 0) {
            let octave = (middle(bucket) | 1).ilog2() as usize;
            octaves.resize(octaves.len().max(octave + 1), 0);
            octaves[octave] += count;
        }
        octaves
    }

    /// How many.
    pub fn count(&self) -> u64 {
        self.count
    }
    /// The longest, exactly; 0 when there are none.
    pub fn most(&self) -> u64 {
        self.most
    }

    /// The value that `percent` % of the values do not exceed; 0 when there are none. The ends, 0 and 100, are exact.
    pub fn percentile(&self, percent: u64) -> u64 {
        if percent == 0 {
            return self.least;
        }
        let rank = (self.count * percent).div_ceil(100).max(1);
        if rank >= self.count {
            return self.most;
        }
        let mut below = 0;
        for (bucket, count) in self.buckets.iter().enumerate() {
            below += count;
            if below >= rank {
                return middle(bucket).clamp(self.least, self.most);
            }
        }
        self.most
    }
}

fn bucket(value: u64) -> usize {
    let exponent = (63 - (value | 1).leading_zeros()).saturating_sub(BITS);
    ((exponent as usize) << BITS) + (value >> exponent) as usize
}

fn middle(bucket: usize) -> u64 {
    let exponent = (bucket >> BITS).saturating_sub(1) as u32;
    let mantissa = (bucket - ((exponent as usize) << BITS)) as u64;
    (mantissa << exponent) + ((1u64 << exponent) >> 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_within_one_percent() {
        let mut values: Vec<u64> =
            (0..20_000u64).map(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (n % 50 + 8)).collect();
        let mut histogram = Histogram::default();
        values.iter().for_each(|v| histogram.add(*v));
        values.sort();
        assert_eq!(histogram.percentile(0), values[0]);
        for percent in [1, 25, 50, 90, 99, 100] {
            let exact = values[(values.len() * percent).div_ceil(100) - 1];
            let found = histogram.percentile(percent as u64);
            assert!(found.abs_diff(exact) as f64 <= exact as f64 * 0.01, "p{percent}: {found} for {exact}");
        }
        assert_eq!(histogram.most(), *values.last().unwrap());
    }

    #[test]
    fn powers_of_two() {
        let mut histogram = Histogram::default();
        [0, 1, 2, 3, 4, 127, 128, 255, 256, 1 << 20].iter().for_each(|value| histogram.add(*value));
        let octaves = histogram.octaves();
        assert_eq!((octaves.len(), octaves.iter().sum::<u64>()), (21, 10));
        assert_eq!((&octaves[..9], octaves[20]), (&[2, 2, 1, 0, 0, 0, 1, 2, 1][..], 1));
    }

    #[test]
    fn the_ends() {
        let mut histogram = Histogram::default();
        assert_eq!(histogram.percentile(50), 0);
        histogram.add(u64::MAX);
        histogram.add(0);
        assert_eq!((histogram.percentile(50), histogram.percentile(100)), (0, u64::MAX));
        assert_eq!((histogram.percentile(0), Histogram::default().percentile(0)), (0, 0));
        assert!(histogram.buckets.len() < 4096);
        let mut other = Histogram::default();
        other.merge(&histogram);
        assert_eq!((other.count(), other.percentile(1)), (2, 0));
    }
}
