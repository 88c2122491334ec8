//! Where the chunks of a ring are in a recording, in two or three bytes a chunk, so that the index of a long recording
//! stays small. Chunks nearly always follow each other by number and in the file. Where they do not, a new run begins;
//! if a number comes twice, the later chunk counts.

use std::collections::BTreeMap;

/// Chunks between two places that are kept whole.
const STEP: usize = 64;

/// The chunks of one ring, by their numbers.
#[derive(Debug, Default)]
pub struct ChunkIndex {
    runs: Vec<Run>,
    /// Runs are in order and do not overlap.
    settled: bool,
}

/// Chunks whose numbers follow each other.
#[derive(Debug)]
struct Run {
    /// Number of the first.
    number: u64,
    /// Chunks in it, and in all before it.
    count: usize,
    before: usize,
    /// Place in the file of the last.
    last: u64,
    /// Of each 64th: its place, and where the distances behind it begin.
    whole: Vec<(u64, u32)>,
    /// Eighths of the distance from the chunk before, seven bits a byte.
    steps: Vec<u8>,
}

impl ChunkIndex {
    /// A chunk of this number stands at `place`, a multiple of eight.
    pub fn add(&mut self, number: u64, place: u64) {
        self.settled = false;
        match self.runs.last_mut() {
            Some(run) if run.number.wrapping_add(run.count as u64) == number && place > run.last => run.add(place),
            _ => self.runs.push(Run::new(number, place)),
        }
    }

    /// To be called when all were added.
    pub fn settle(&mut self) {
        let apart = |pair: &[Run]| pair[0].number.saturating_add(pair[0].count as u64) <= pair[1].number;
        if !self.runs.windows(2).all(apart) {
            let mut all = BTreeMap::new();
            for run in std::mem::take(&mut self.runs) {
                all.extend((0..run.count).map(|n| (run.number.saturating_add(n as u64), run.place(n))));
            }
            all.into_iter().for_each(|(number, place)| self.add(number, place));
        }
        let mut before = 0;
        for run in &mut self.runs {
            run.before = before;
            before += run.count;
            run.steps.shrink_to_fit();
            run.whole.shrink_to_fit();
        }
        self.runs.shrink_to_fit();
        self.settled = true;
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.runs.last().map_or(0, |run| run.before + run.count)
    }

    /// Place of the `n`th by its number.
    pub fn place(&self, n: usize) -> Option<u64> {
        debug_assert!(self.settled);
        let run = self.runs.get(self.runs.partition_point(|run| run.before <= n).checked_sub(1)?)?;
        let n = n - run.before;
        (n < run.count).then(|| run.place(n))
    }
}

impl Run {
    fn new(number: u64, place: u64) -> Run {
        Run { number, count: 1, before: 0, last: place, whole: vec![(place, 0)], steps: Vec::new() }
    }

    fn add(&mut self, place: u64) {
        if self.count.is_multiple_of(STEP) {
            self.whole.push((place, self.steps.len() as u32));
        } else {
            let mut delta = (place - self.last) / 8;
            while delta >= 0x80 {
                self.steps.push(delta as u8 | 0x80);
                delta >>= 7;
            }
            self.steps.push(delta as u8);
        }
        self.count += 1;
        self.last = place;
    }

    fn place(&self, n: usize) -> u64 {
        let Some(&(mut place, from)) = self.whole.get(n / STEP) else { return self.last };
        let mut steps = self.steps.get(from as usize..).unwrap_or(&[]).iter();
        for _ in 0..n % STEP {
            let (mut step, mut shift) = (0, 0);
            for byte in steps.by_ref() {
                step |= u64::from(byte & 0x7f) << shift;
                shift += 7;
                if byte & 0x80 == 0 {
                    break;
                }
            }
            place += step * 8;
        }
        place
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index(all: impl IntoIterator<Item = (u64, u64)>) -> ChunkIndex {
        let mut index = ChunkIndex::default();
        all.into_iter().for_each(|(number, place)| index.add(number, place));
        index.settle();
        index
    }

    #[test]
    fn a_few_bytes_for_each() {
        let place = |n: u64| 24 + n * 14_000 + n % 7 * 8 + n / 1000 * 1_000_000;
        let index = index((0..100_000).map(|n| (n + 3, place(n))));
        assert_eq!(index.len(), 100_000);
        assert!((0..100_000).all(|n| index.place(n as usize) == Some(place(n))));
        assert_eq!(index.place(100_000), None);
        let run = &index.runs[0];
        assert!(run.steps.len() + run.whole.len() * 16 < 240_000, "{} {}", run.steps.len(), run.whole.len());
    }

    #[test]
    fn gaps_and_numbers_that_come_again() {
        let with_gap = index([(1, 24), (2, 80), (9, 160), (10, 240)]);
        assert_eq!(
            (0..5).map(|n| with_gap.place(n)).collect::<Vec<_>>(),
            [Some(24), Some(80), Some(160), Some(240), None]
        );
        let again = index([(4, 24), (5, 80), (6, 160), (5, 400), (6, 800), (3, 1600)]);
        assert_eq!((0..4).map(|n| again.place(n)).collect::<Vec<_>>(), [Some(1600), Some(24), Some(400), Some(800)]);
        assert_eq!(index([]).len(), 0);
        assert_eq!(index([(u64::MAX, 8), (0, 16)]).len(), 2);
    }
}
