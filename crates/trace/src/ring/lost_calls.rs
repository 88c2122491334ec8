//! The number of calls that are missing with a damaged part of a ring. [`super::call_count`] has the heads that tell.

use crate::io::pages::SHORTEST_CALL;

/// Calls that are missing.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct LostCalls {
    /// Those whose number is known.
    pub counted: u64,
    /// Parts whose number of calls no head counts.
    pub uncounted: u64,
}

impl LostCalls {
    /// The sum of both.
    pub fn plus(self, other: LostCalls) -> LostCalls {
        LostCalls {
            counted: self.counted.saturating_add(other.counted),
            uncounted: self.uncounted.saturating_add(other.uncounted),
        }
    }

    /// So many parts about whose calls nothing is known.
    pub fn uncounted(parts: u64) -> LostCalls {
        LostCalls { counted: 0, uncounted: parts }
    }

    /// Calls between `read`, up to which all were read, and `next`, where reading continues after `chunks` missing
    /// chunks.
    pub fn between(read: u32, next: u32, chunks: u64, chunk_bytes: u32) -> LostCalls {
        let calls = u64::from(next.wrapping_sub(read));
        let most = chunks.saturating_mul(u64::from(chunk_bytes / SHORTEST_CALL));
        if calls <= most { LostCalls { counted: calls, uncounted: 0 } } else { LostCalls::uncounted(chunks) }
    }
}

/// For a sentence: ", with 37 calls"; nothing where no call was counted.
impl std::fmt::Display for LostCalls {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let least = if self.uncounted > 0 { "at least " } else { "" };
        match self.counted {
            0 => Ok(()),
            1 => write!(out, ", with {least}1 call"),
            calls => write!(out, ", with {least}{calls} calls"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn number_between_two_heads() {
        let of = |read, next, chunks| LostCalls::between(read, next, chunks, 4096);
        assert_eq!(of(10, 47, 1), LostCalls { counted: 37, uncounted: 0 });
        assert_eq!(of(u32::MAX - 1, 3, 2), LostCalls { counted: 5, uncounted: 0 });
        // More than there is room for, or fewer than none: one of the heads is damaged.
        assert_eq!(of(10, 267, 1), LostCalls::uncounted(1));
        assert_eq!(of(10, 9, 3), LostCalls::uncounted(3));
    }

    #[test]
    fn sentence() {
        let text = |known, uncounted| LostCalls { counted: known, uncounted }.to_string();
        assert_eq!([text(0, 3), text(1, 0), text(7, 2)], ["", ", with 1 call", ", with at least 7 calls"]);
    }
}
