//! The chunk of a ring that was not full when its recording ended early, put together from its parts.

use super::prefetch::{DamagedBlocks, mark_damaged};
use cutap_file::Block;
use cutap_wire::ring::CHUNK_HEADER;
use std::fs::File;
use std::sync::Arc;

/// Bytes in front of the head in a part's unchanged bytes: where its body begins in the chunk's records.
const OFFSET: usize = 8;

/// The parts of the newest chunk of a ring.
#[derive(Debug, Default, Clone)]
pub struct Parts {
    number: u64,
    head: Option<[u8; CHUNK_HEADER]>,
    parts: Vec<(u64, Block)>,
}

impl Parts {
    /// Takes the next part. One of a later chunk takes the place of those before.
    pub fn add(&mut self, block: &Block, plain: &[u8]) {
        let Some((from, head)) = plain.split_first_chunk::<OFFSET>() else { return };
        let Ok(head) = <[u8; CHUNK_HEADER]>::try_from(head) else { return };
        if block.at < self.number {
            return;
        }
        if block.at > self.number {
            *self = Parts { number: block.at, ..Parts::default() };
        }
        self.head = Some(head);
        self.parts.push((u64::from_le_bytes(*from), *block));
    }

    /// The recording has this chunk whole: its parts, and those of earlier ones, do not count.
    pub fn supersede(&mut self, number: u64) {
        if number >= self.number {
            *self = Parts { number, ..Parts::default() };
        }
    }

    /// The head as it was last.
    pub fn head(&self) -> Option<&[u8; CHUNK_HEADER]> {
        self.head.as_ref()
    }

    /// The records, at most `most` bytes. They end where a part cannot be read.
    pub fn records(&self, file: &Arc<File>, damaged: &DamagedBlocks, most: usize) -> Vec<u8> {
        let (mut records, mut body) = (Vec::new(), Vec::new());
        for (from, block) in &self.parts {
            if cutap_file::body(&**file, block, &mut body).is_err() {
                mark_damaged(damaged, block);
                continue;
            }
            let from = usize::try_from(*from).unwrap_or(usize::MAX);
            let Some(room) = most.checked_sub(from).filter(|_| from <= records.len()) else { continue };
            body.truncate(room);
            if records.len() < from + body.len() {
                records.resize(from + body.len(), 0);
            }
            records[from..from + body.len()].copy_from_slice(&body);
        }
        records
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cutap_file::{Writer, kind, walk};
    use std::io::{Seek, SeekFrom};

    fn parts_of(written: &[(u64, u64, &[u8])], whole: Option<u64>) -> (Parts, Arc<File>) {
        let mut writer = Writer::begin(tempfile::tempfile().unwrap(), cutap_wire::VERSION).unwrap();
        for (number, from, body) in written {
            let plain = [&from.to_le_bytes()[..], &[*number as u8; CHUNK_HEADER]].concat();
            writer.write(cutap_file::Block::new(kind::PART, 0, 0, *number), &plain, body).unwrap();
        }
        let mut file = writer.out().try_clone().unwrap();
        file.seek(SeekFrom::Start(0)).unwrap();
        let mut parts = Parts::default();
        walk(&file, cutap_wire::VERSION, &mut |block, plain| parts.add(block, plain)).unwrap();
        whole.into_iter().for_each(|number| parts.supersede(number));
        (parts, file.into())
    }

    fn records(written: &[(u64, u64, &[u8])], whole: Option<u64>) -> Vec<u8> {
        let (parts, file) = parts_of(written, whole);
        parts.records(&file, &DamagedBlocks::default(), 12)
    }

    #[test]
    fn later_parts_lie_over_earlier_ones_and_a_whole_chunk_over_all() {
        assert_eq!(records(&[(1, 0, b"abcdefgh"), (1, 6, b"GHIJ")], None), b"abcdefGHIJ");
        assert_eq!(records(&[(1, 0, b"abcdefgh"), (2, 0, b"xy")], None), b"xy");
        assert_eq!(records(&[(1, 0, b"abcdefgh"), (2, 0, b"xy")], Some(1)), b"xy");
        assert_eq!(records(&[(1, 0, b"abcdefgh")], Some(1)), b"");
        assert!(parts_of(&[(1, 0, b"abcdefgh")], Some(1)).0.head().is_none());
    }

    #[test]
    fn parts_that_leave_a_hole_or_are_too_long_are_cut() {
        assert_eq!(records(&[(1, 0, b"abcd"), (1, 6, b"ghij")], None), b"abcd");
        assert_eq!(records(&[(1, 0, b"abcdefgh"), (1, 8, b"ijklmnop")], None), b"abcdefghijkl");
        assert_eq!(records(&[(1, u64::MAX, b"abcd")], None), b"");
    }
}
