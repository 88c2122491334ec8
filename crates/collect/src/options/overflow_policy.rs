//! What a thread does whose ring is full, and how large its ring is then.

use crate::base::error::{Error, Result};
use cutap_quantity::{bytes, number};
use std::str::FromStr;

/// Bytes of a chunk: small, so that the writer reuses what is hot in the cache.
const CHUNK_BYTES: u32 = 128 * 1024;
/// Chunks of a thread before it waits for the collector: 4 MiB.
const CHUNKS: u32 = 32;
/// Sizes of a flight recorder's ring: what it keeps is some whole chunks, each larger than any record.
const SIZES: std::ops::RangeInclusive<u64> = 64 << 10..=512 << 20;
/// What ended processes keep together, where nothing is said.
const TOTAL: u64 = 1 << 30;

/// What a thread does whose ring is full.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OverflowPolicy {
    /// Waits for the collector while it lives, else makes the ring larger.
    #[default]
    Wait,
    /// Drops calls and counts them.
    Drop,
    /// Writes over the oldest.
    Overwrite(FlightRecorderSize),
}

impl OverflowPolicy {
    /// Bytes of a chunk, and how many of them a ring has.
    pub fn chunks(self) -> (u32, u32) {
        match self {
            OverflowPolicy::Wait | OverflowPolicy::Drop => (CHUNK_BYTES, CHUNKS),
            OverflowPolicy::Overwrite(FlightRecorderSize { each, .. }) => {
                let bytes = each.clamp(*SIZES.start(), *SIZES.end()) as u32;
                let chunk = (bytes / CHUNKS).next_multiple_of(cutap_wire::PAGE as u32).max(2 * cutap_wire::PAGE as u32);
                (chunk, bytes.div_ceil(chunk))
            }
        }
    }
    /// What the processes of a flight recorder that have ended may keep together.
    pub fn total(self) -> Option<u64> {
        match self {
            OverflowPolicy::Overwrite(size) => Some(size.total),
            OverflowPolicy::Wait | OverflowPolicy::Drop => None,
        }
    }
}

/// What a flight recorder keeps, as a person writes it: 4M, or 4M,256M.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlightRecorderSize {
    /// Bytes of each thread.
    each: u64,
    /// Bytes of all processes that have ended.
    total: u64,
}

impl FromStr for FlightRecorderSize {
    type Err = Error;
    fn from_str(text: &str) -> Result<FlightRecorderSize> {
        let (each, total) = text.split_once(',').map_or((text, None), |(each, total)| (each, Some(total)));
        let each = bytes(each).filter(|n| SIZES.contains(n));
        let each = each.ok_or_else(|| Error::own("each thread can keep from 64K to 512M; 4M is good for most"))?;
        let total = match total {
            // No disk has so much, and no number of ours.
            Some(text) if bytes(text).is_none() && number(text).is_some() => {
                return Err(Error::own(
                    "what ended processes keep together, behind the comma, is larger than any disk; 4M,1G is good for most",
                ));
            }
            Some(text) => bytes(text).filter(|n| *n >= each).ok_or_else(|| {
                Error::own(
                    "what ended processes keep together, behind the comma, is no less than what a thread keeps: 4M,1G",
                )
            })?,
            None => TOTAL.max(each),
        };
        Ok(FlightRecorderSize { each, total })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        for (text, bytes) in
            [("64K", 65536), ("4M", 4 << 20), ("4MiB", 4 << 20), ("1048576", 1 << 20), ("512m", 512 << 20)]
        {
            let size: FlightRecorderSize = text.parse().unwrap();
            assert_eq!((size.each, size.total), (bytes, TOTAL), "{text}");
            let (chunk, chunks) = OverflowPolicy::Overwrite(size).chunks();
            assert!(
                (chunk as usize).is_multiple_of(cutap_wire::PAGE) && (8..=32).contains(&chunks),
                "{text}: {chunk} {chunks}"
            );
            assert!(u64::from(chunk) * u64::from(chunks) >= bytes, "{text}");
        }
        let both: FlightRecorderSize = "64K,3M".parse().unwrap();
        assert_eq!((both.each, both.total, OverflowPolicy::Overwrite(both).total()), (65536, 3 << 20, Some(3 << 20)));
        for bad in
            ["4M,", "4M,1M", "4M,1G,1G", "4M,x", "", "0", "4", "63K", "1G", "4X", "M", "-1M", "99999999999999999999M"]
        {
            assert!(bad.parse::<FlightRecorderSize>().is_err(), "{bad}");
        }
        for (bad, why) in [
            ("64K,99999999999G", "larger than any disk"),
            ("64K,99999999999999999999999", "larger than any disk"),
            ("64K,63K", "no less than what a thread keeps"),
            ("64K,", "no less than what a thread keeps"),
        ] {
            let said = bad.parse::<FlightRecorderSize>().unwrap_err().sentence;
            assert!(said.contains(why), "{bad}: {said}");
        }
    }
}
