//! Clocks of the GPUs: the file `gpu_clocks` of a run directory. A process beside the collector appends to it once a
//! second, and no process of the program has a part in it. Both sides use this file.
//!
//! The file is a list of records of 8-byte words. The first word of a record:
//!
//! | bits | |
//! | --- | --- |
//! | 0 to 7 | kind: 1 device, 2 sample, 3 state |
//! | 8 to 15 | words, with this one |
//! | 16 to 31 | NVML's number of the device; 65535: all |
//! | 32 to 47 | device: highest SM clock in MHz; sample: SM clock in MHz; state: what happened ([`state`]) |
//! | 48 to 55 | sample: part of the second with work, in percent; 255: not known |
//! | 56 to 63 | sample: temperature in degrees Celsius; 255: not known |
//!
//! Word 1 is CLOCK_MONOTONIC in nanoseconds. Word 2 of a sample has the reasons in its lower half (2^32 - 1: not
//! known) and the power in milliwatts in the upper half (0: not known). Word 2 of a state is NVML's result. From word 2
//! on a device has its UUID, its PCI address and its name, a zero after each.

/// Name of the file.
pub const FILE: &str = "gpu_clocks";
/// Most bytes of the file.
pub const MAX_BYTES: u64 = 64 << 20;
/// As the number of a device: all.
pub const ALL_DEVICES: u16 = u16::MAX;
/// As a percentage or a temperature: not known.
pub const UNKNOWN: u8 = u8::MAX;
/// As reasons: not known.
pub const UNKNOWN_REASONS: u32 = u32::MAX;
/// Most words of a record.
pub const MAX_WORDS: usize = 64;

const DEVICE: u8 = 1;
const SAMPLE: u8 = 2;
const STATE: u8 = 3;

/// Why there are no samples.
pub mod state {
    /// There is no NVML.
    pub const NO_LIBRARY: u16 = 1;
    /// The library has not the functions that are needed.
    pub const NO_FUNCTIONS: u16 = 2;
    /// NVML did not start: its result.
    pub const REFUSED: u16 = 3;
    /// NVML has no device.
    pub const NO_DEVICE: u16 = 4;
    /// The device does not tell its clock: NVML's result.
    pub const NOT_SUPPORTED: u16 = 5;
    /// NVML has not answered for seconds.
    pub const NO_ANSWER: u16 = 6;
    /// The file has as many bytes as it may have.
    pub const FULL: u16 = 7;
    /// The process that asks NVML crashed: its signal.
    pub const CRASHED: u16 = 8;
    /// The process that asks NVML could not be started: errno.
    pub const NOT_STARTED: u16 = 9;
}

/// A record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockRecord<'a> {
    /// NVML's number of the device.
    pub device: u16,
    /// CLOCK_MONOTONIC nanoseconds.
    pub ns: u64,
    /// What it says.
    pub content: ClockContent<'a>,
}

/// What a record says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClockContent<'a> {
    /// A device.
    Device {
        /// The highest SM clock, MHz; 0: not known.
        max_mhz: u16,
        /// As NVML has it.
        uuid: &'a [u8],
        /// PCI address.
        pci: &'a [u8],
        /// Name of the product.
        name: &'a [u8],
    },
    /// The clock at a moment.
    Sample(ClockSample),
    /// Why there are no samples.
    State {
        /// One of [`state`].
        state: u16,
        /// NVML's result, or another number.
        result: u64,
    },
}

/// The clock at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ClockSample {
    /// SM clock, MHz.
    pub mhz: u16,
    /// nvmlClocksEventReasons; [`UNKNOWN_REASONS`].
    pub reasons: u32,
    /// Part of the time before it with work, in percent; [`UNKNOWN`].
    pub busy_percent: u8,
    /// Degrees Celsius; [`UNKNOWN`].
    pub celsius: u8,
    /// Milliwatts; 0: not known.
    pub milliwatts: u32,
}

/// The bytes of a record.
#[derive(Debug, Clone, Copy)]
pub struct PackedClock {
    bytes: [u8; MAX_WORDS * 8],
    words: usize,
}

impl PackedClock {
    /// Its bytes.
    pub fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.words * 8).unwrap_or(&[])
    }
}

impl ClockRecord<'_> {
    /// As the file has it. Texts that have no room are cut off.
    pub fn pack(&self) -> PackedClock {
        let mut packed = PackedClock { bytes: [0; MAX_WORDS * 8], words: 3 };
        let (kind, number, busy_percent, celsius) = match self.content {
            ClockContent::Device { max_mhz, uuid, pci, name } => {
                let last = packed.bytes.len() - 1;
                let texts = [uuid, b"\0", pci, b"\0", name];
                let mut end = 16;
                for (to, byte) in packed.bytes[..last].iter_mut().skip(16).zip(texts.into_iter().flatten()) {
                    *to = *byte;
                    end += 1;
                }
                packed.words = (end + 1usize).div_ceil(8);
                (DEVICE, max_mhz, 0, 0)
            }
            ClockContent::Sample(ClockSample { mhz, reasons, busy_percent, celsius, milliwatts }) => {
                put_word(&mut packed.bytes, 2, u64::from(reasons) | u64::from(milliwatts) << 32);
                (SAMPLE, mhz, busy_percent, celsius)
            }
            ClockContent::State { state, result } => {
                put_word(&mut packed.bytes, 2, result);
                (STATE, state, 0, 0)
            }
        };
        let head = u64::from(kind)
            | (packed.words as u64) << 8
            | u64::from(self.device) << 16
            | u64::from(number) << 32
            | u64::from(busy_percent) << 48
            | u64::from(celsius) << 56;
        put_word(&mut packed.bytes, 0, head);
        put_word(&mut packed.bytes, 1, self.ns);
        packed
    }
}

fn put_word(bytes: &mut [u8], n: usize, word: u64) {
    for (to, byte) in bytes.iter_mut().skip(n * 8).zip(word.to_le_bytes()) {
        *to = byte;
    }
}

fn word_at(bytes: &[u8], n: usize) -> Option<u64> {
    bytes.get(n * 8..)?.first_chunk().map(|bytes| u64::from_le_bytes(*bytes))
}

/// The records of a file, in their order. A record that is not whole ends them; one of an unknown kind is passed
/// over.
#[derive(Debug, Clone, Copy)]
pub struct ClockRecords<'a>(pub &'a [u8]);

impl<'a> Iterator for ClockRecords<'a> {
    type Item = ClockRecord<'a>;

    fn next(&mut self) -> Option<ClockRecord<'a>> {
        loop {
            let head = word_at(self.0, 0)?;
            let words = usize::from((head >> 8) as u8);
            let (record, rest) = self.0.split_at_checked(words * 8).filter(|_| words > 0)?;
            self.0 = rest;
            let (Some(ns), Some(last)) = (word_at(record, 1), word_at(record, 2)) else { continue };
            let number = (head >> 32) as u16;
            let content = match head as u8 {
                DEVICE => {
                    let mut texts = record.get(16..)?.split(|byte| *byte == 0);
                    let mut text = || texts.next().unwrap_or(&[]);
                    ClockContent::Device { max_mhz: number, uuid: text(), pci: text(), name: text() }
                }
                SAMPLE => ClockContent::Sample(ClockSample {
                    mhz: number,
                    reasons: last as u32,
                    busy_percent: (head >> 48) as u8,
                    celsius: (head >> 56) as u8,
                    milliwatts: (last >> 32) as u32,
                }),
                STATE => ClockContent::State { state: number, result: last },
                _ => continue,
            };
            return Some(ClockRecord { device: (head >> 16) as u16, ns, content });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLE_ROW: ClockSample =
        ClockSample { mhz: 1395, reasons: 0x404, busy_percent: 100, celsius: UNKNOWN, milliwatts: 699_500 };

    #[test]
    fn records_are_read_back() {
        let record = |ns, content| ClockRecord { device: 7, ns, content };
        let device = ClockContent::Device { max_mhz: 1980, uuid: b"GPU-1", pci: b"0000:61:00.0", name: b"H200" };
        let all = [
            record(1, device),
            record(u64::MAX, ClockContent::Sample(SAMPLE_ROW)),
            record(3, ClockContent::State { state: state::REFUSED, result: 999 }),
            record(4, ClockContent::Device { max_mhz: 0, uuid: b"", pci: b"", name: b"" }),
        ];
        let mut bytes = Vec::new();
        for record in &all {
            bytes.extend_from_slice(record.pack().bytes());
        }
        // A kind of the future, and a record that is cut off.
        bytes.extend_from_slice(&[9, 1, 0, 0, 0, 0, 0, 0]);
        bytes.extend_from_slice(all[1].pack().bytes());
        let cut = bytes.len() - 1;
        assert_eq!(ClockRecords(&bytes[..cut]).collect::<Vec<_>>(), all);
    }

    #[test]
    fn long_texts_are_cut_off() {
        let long = [b'x'; 900];
        let content = ClockContent::Device { max_mhz: 1, uuid: b"GPU-1", pci: b"0", name: &long };
        let packed = ClockRecord { device: 0, ns: 5, content }.pack();
        assert_eq!(packed.bytes().len(), MAX_WORDS * 8);
        let read = ClockRecords(packed.bytes()).next().map(|record| record.content);
        let Some(ClockContent::Device { uuid, name, .. }) = read else { panic!("{read:?}") };
        assert_eq!((uuid, name.len()), (&b"GPU-1"[..], MAX_WORDS * 8 - 17 - 8));
    }

    #[test]
    fn any_bytes_end() {
        assert_eq!(ClockRecords(&[0; 64]).count(), 0);
        assert_eq!(ClockRecords(&[1; 64]).count(), 0);
        // Two words are too few.
        assert_eq!(ClockRecords(&[2, 2, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]).count(), 0);
    }
}
