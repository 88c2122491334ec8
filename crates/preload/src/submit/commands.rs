//! Reads command words just far enough to know which launch descriptors lie in memory: those that are sent and whose
//! words were not in the commands themselves. And which class each subchannel has. Descriptors that only another
//! descriptor leads to are not read.

use cutap_calls::generated::submission::{
    COMPUTE, DESCRIPTOR_SHIFT, INLINE_DATA, INLINE_HIGH, INLINE_LOW, SEND_DESCRIPTOR, SET_OBJECT,
};

/// Descriptors, and pieces of inline data, that are remembered between two looks at a ring.
const MOST: usize = 32;

/// What the commands of one channel said.
pub struct Commands<'a> {
    /// Class of each subchannel.
    pub classes: &'a mut [u32; 8],
    /// What is left of the last header: words, subchannel, next method, how it grows (0 not, 1 once, 2 always).
    open: (u32, u32, u32, u8),
    high: u32,
    low: u32,
    /// The next inline word is the first one.
    fresh: bool,
    inline: [u64; MOST],
    inlines: usize,
    /// Descriptors that were sent from memory.
    sent: [u64; MOST],
    sends: usize,
}

impl<'a> Commands<'a> {
    /// Of a channel whose subchannels have these classes.
    pub fn new(classes: &'a mut [u32; 8]) -> Commands<'a> {
        let (open, inline, sent) = ((0, 0, 0, 0), [0; MOST], [0; MOST]);
        Commands { classes, open, high: 0, low: 0, fresh: false, inline, inlines: 0, sent, sends: 0 }
    }

    /// An entry begins; no header continues from one entry into the next.
    pub fn entry(&mut self) {
        self.open = (0, 0, 0, 0);
    }

    /// The next words of an entry.
    pub fn words(&mut self, words: impl Iterator<Item = u32>) {
        for word in words {
            let (remaining, subchannel, method, grow) = self.open;
            if remaining > 0 {
                let next = if grow == 0 { method } else { method.wrapping_add(4) };
                self.open = (remaining - 1, subchannel, next, if grow == 1 { 0 } else { grow });
                self.method(subchannel, method, word);
                continue;
            }
            let (count, subchannel, method) = (word >> 16 & 0x1fff, word >> 13 & 7, (word & 0xfff) << 2);
            match word >> 29 {
                1 => self.open = (count, subchannel, method, 2),
                3 => self.open = (count, subchannel, method, 0),
                4 => self.method(subchannel, method, count),
                5 => self.open = (count, subchannel, method, 1),
                _ => {}
            }
        }
    }

    fn method(&mut self, subchannel: u32, method: u32, value: u32) {
        if method == SET_OBJECT {
            if let Some(to) = self.classes.get_mut(subchannel as usize) {
                *to = value & 0xffff;
            }
            return;
        }
        let class = self.classes.get(subchannel as usize).copied().unwrap_or(0);
        if class & 0xff != COMPUTE {
            return;
        }
        match method {
            INLINE_HIGH => self.high = value,
            INLINE_LOW => (self.low, self.fresh) = (value, true),
            INLINE_DATA if self.fresh => {
                self.fresh = false;
                if let Some(to) = self.inline.get_mut(self.inlines % MOST) {
                    *to = u64::from(self.high) << 32 | u64::from(self.low);
                }
                self.inlines += 1;
            }
            SEND_DESCRIPTOR => {
                let at = u64::from(value) << DESCRIPTOR_SHIFT;
                if !self.inline.contains(&at)
                    && let Some(to) = self.sent.get_mut(self.sends)
                {
                    *to = at;
                    self.sends += 1;
                }
            }
            _ => {}
        }
    }

    /// Addresses of descriptors that lie in memory.
    pub fn sent(&self) -> &[u64] {
        self.sent.get(..self.sends).unwrap_or(&[])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn header(kind: u32, count: u32, method: u32) -> u32 {
        kind << 29 | count << 16 | 1 << 13 | method >> 2
    }

    #[test]
    fn descriptors_in_memory_and_in_the_commands() {
        let mut classes = [0; 8];
        let mut commands = Commands::new(&mut classes);
        let words = [
            header(1, 1, SET_OBJECT),
            0xcbc0,
            header(1, 2, INLINE_HIGH),
            2,
            0x04e0_c000,
            header(3, 2, INLINE_DATA),
            header(1, 1, SEND_DESCRIPTOR),
            header(1, 1, SEND_DESCRIPTOR),
            header(1, 1, SEND_DESCRIPTOR),
            0x0204_e0c0,
        ];
        commands.words(words.into_iter());
        assert_eq!(commands.sent(), [0; 0], "inline data are no commands");
        commands.entry();
        commands.words([header(5, 2, SEND_DESCRIPTOR), 0x0204_e100].into_iter());
        assert_eq!(commands.sent(), [0x2_04e1_0000]);
        assert_eq!(classes[1], 0xcbc0);
    }
}
