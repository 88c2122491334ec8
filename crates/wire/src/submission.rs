//! A call of the layer `submit`: what was found in the ring of one channel after a driver call. It is no call of the
//! program. Its record has these words, and its MEMORY records have what was read ([`crate::memory::piece_kind`]).

/// The name of the function that such a call has.
pub const FUNCTION: &str = "submit";
/// Words of its record.
pub const WORDS: usize = 6;

/// Bits of [`Submission::flags`].
pub mod flag {
    /// Other threads were in driver calls since the ring was last looked at: the entries may be theirs.
    pub const SHARED: u32 = 1;
    /// The entries were there before the driver call began.
    pub const BEFORE: u32 = 2;
    /// Some of what was submitted was left out, for there was too much.
    pub const CUT: u32 = 4;
    /// The driver call itself is not recorded.
    pub const ALONE: u32 = 8;
}

/// What its words say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Submission {
    /// The client of the channel.
    pub client: u32,
    /// Its handle.
    pub channel: u32,
    /// Its class.
    pub class: u32,
    /// See [`flag`].
    pub flags: u32,
    /// The GPU's address of the ring.
    pub ring: u64,
    /// Entries that the ring has room for.
    pub entries: u32,
    /// The engine that the channel was made for.
    pub engine: u32,
    /// Number of the first new entry.
    pub first: u32,
    /// How many are new.
    pub count: u32,
}

impl Submission {
    /// As a record has it.
    pub const fn words(&self) -> [u64; WORDS] {
        [
            self.client as u64 | (self.channel as u64) << 32,
            self.class as u64 | (self.flags as u64) << 32,
            self.ring,
            self.entries as u64 | (self.engine as u64) << 32,
            self.first as u64 | (self.count as u64) << 32,
            0,
        ]
    }

    /// From a record.
    pub fn of(words: &[u64]) -> Option<Submission> {
        let [client, class, ring, entries, first, ..] = words else { return None };
        let halves = |word: &u64| (*word as u32, (*word >> 32) as u32);
        let ((client, channel), (class, flags)) = (halves(client), halves(class));
        let ((entries, engine), (first, count)) = (halves(entries), halves(first));
        Some(Submission { client, channel, class, flags, ring: *ring, entries, engine, first, count })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_back() {
        let made = Submission {
            client: 1,
            channel: 2,
            class: 0xc86f,
            flags: flag::SHARED,
            ring: 0x2_0060_0000,
            entries: 1024,
            engine: 1,
            first: 7,
            count: 3,
        };
        assert_eq!((Submission::of(&made.words()), Submission::of(&[1, 2])), (Some(made), None));
    }
}
