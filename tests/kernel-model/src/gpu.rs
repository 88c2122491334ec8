//! The GPU of the model: it runs the copies, fills, writes and semaphores of channels. A kernel ends immediately, and
//! computes nothing.
//!
//! libcuda maps memory for the CPU at the address that the GPU has for it. So an address of the GPU is one of the
//! process. Memory without such a mapping is video memory here.

use crate::memory::Memory;
use cutap_rm::submit::{Entry, descriptor};
use cutap_rm::work::{Launch, Piece, Step, steps};
use std::collections::{BTreeMap, VecDeque};

/// Where the words are in USERD of a channel.
const GP_GET: u64 = 0x88;
const GP_PUT: u64 = 0x8c;
const PAGE: u64 = 0x1000;
/// Bytes of a launch descriptor of Hopper.
const DESCRIPTOR: u64 = 384;
/// The most that one copy reads into memory here.
const PART: u64 = 1 << 20;

/// A channel as its parameters say.
#[derive(Debug)]
pub(crate) struct Channel {
    pub(crate) client: u32,
    /// The memory of USERD, and the offset in it.
    pub(crate) userd: (u32, u64),
    pub(crate) ring: u64,
    pub(crate) entries: u64,
    pub(crate) classes: [u32; 8],
    /// What it has still to do, and the end of it in the ring.
    pub(crate) waiting: VecDeque<Step>,
    pub(crate) until: u32,
}

/// The GPU.
#[derive(Debug, Default)]
pub(crate) struct Gpu {
    pub(crate) channels: BTreeMap<(u32, u32), Channel>,
    /// Address of the GPU and offset in the memory, by client and memory.
    pub(crate) mapped: BTreeMap<(u32, u32), (u64, u64)>,
    /// What is mapped, by the first address.
    ranges: BTreeMap<u64, Range>,
    video: Video,
    /// Launches that were not run.
    pub(crate) launches: usize,
    /// The memory with the error notifier of the last channel that has one, by client and memory.
    pub(crate) notifier: (u32, u32),
    /// A planted fault: the Xid, and the number of the launch that ends with it.
    pub(crate) fault: Option<(u32, usize)>,
    /// The fault has come: nothing runs any more.
    stopped: bool,
}

/// Pages of video memory, by client and memory, and by number in the memory. Pages of no mapping have the number 0 for
/// both, and that of their address.
type Video = BTreeMap<((u32, u32), u64), Vec<u8>>;

/// A part of a memory at addresses.
#[derive(Debug)]
struct Range {
    bytes: u64,
    memory: (u32, u32),
    offset: u64,
}

/// What the GPU reads and writes.
struct Seen<'a> {
    process: &'a mut dyn Memory,
    ranges: &'a BTreeMap<u64, Range>,
    video: &'a mut Video,
}

impl Seen<'_> {
    /// Ends of pieces that lie in one page each.
    fn pieces(at: u64, len: u64) -> impl Iterator<Item = (u64, usize)> {
        let mut next = at;
        std::iter::from_fn(move || {
            let begin = next;
            next = ((begin / PAGE + 1) * PAGE).min(at + len);
            (begin < next).then(|| (begin, (next - begin) as usize))
        })
    }

    /// The page of video memory at an address.
    fn page(&self, at: u64) -> ((u32, u32), u64) {
        match self.ranges.range(..=at).next_back() {
            Some((base, range)) if at - base < range.bytes => (range.memory, (range.offset + at - base) / PAGE),
            _ => ((0, 0), at / PAGE),
        }
    }

    fn read(&self, at: u64, len: u64) -> Vec<u8> {
        if let Some(bytes) = self.process.read(at, len as usize) {
            return bytes;
        }
        let piece = |(at, len): (u64, usize)| {
            let video = || {
                let from = (at % PAGE) as usize;
                self.video.get(&self.page(at)).map_or(vec![0; len], |page| page[from..from + len].to_vec())
            };
            self.process.read(at, len).unwrap_or_else(video)
        };
        Self::pieces(at, len).flat_map(piece).collect()
    }

    fn write(&mut self, at: u64, bytes: &[u8]) {
        if self.process.write(at, bytes) {
            return;
        }
        let mut rest = bytes;
        for (at, len) in Self::pieces(at, bytes.len() as u64) {
            let (piece, others) = rest.split_at(len);
            rest = others;
            if !self.process.write(at, piece) {
                let place = self.page(at);
                let page = self.video.entry(place).or_insert_with(|| vec![0; PAGE as usize]);
                let from = (at % PAGE) as usize;
                page[from..from + len].copy_from_slice(piece);
            }
        }
    }

    fn word(&self, at: u64) -> u32 {
        crate::recorded::word(&self.read(at, 4), 0)
    }

    /// Whether it was done; not: the semaphore has another value yet.
    fn run(&mut self, step: &Step) -> bool {
        match step {
            Step::Copy { from, to, bytes, lines } => {
                let all = bytes * lines;
                for at in (0..all).step_by(PART as usize) {
                    let part = self.read(from + at, PART.min(all - at));
                    self.write(to + at, &part);
                }
            }
            Step::Fill { to, count, lines, element, value } => {
                let value = &value.to_le_bytes()[..(*element as usize).min(4)];
                let all = value.repeat((count * lines) as usize);
                self.write(*to, &all);
            }
            Step::Write { to, bytes, .. } => self.write(*to, bytes),
            // `filled` has done it.
            Step::Macro { .. } => {}
            Step::Release { address, payload, .. } => match u32::try_from(*payload) {
                Ok(payload) => self.write(*address, &payload.to_le_bytes()),
                Err(_) => self.write(*address, &payload.to_le_bytes()),
            },
            Step::Acquire { address, payload } => {
                return self.word(*address).wrapping_sub(*payload as u32).cast_signed() >= 0;
            }
            // The grid ends immediately, and nothing was computed.
            Step::Launch(launch) => {
                for (address, payload) in releases(launch) {
                    self.write(address, &payload.to_le_bytes());
                }
            }
        }
        true
    }
}

/// What libcuda's first macro writes: as the data of an inline write, its second parameter as often as the first says.
/// No code of macros is run.
fn filled(steps: &VecDeque<Step>) -> Option<(u64, Vec<u8>)> {
    let (Some(Step::Write { to, bytes, length }), Some(Step::Macro { number: 0, words })) =
        (steps.front(), steps.get(1))
    else {
        return None;
    };
    let [count, value] = words[..] else { return None };
    let is_whole = bytes.is_empty() && u64::from(count) * 4 == *length;
    is_whole.then(|| (*to, value.to_le_bytes().repeat(count as usize)))
}

fn as_words(bytes: &[u8]) -> Vec<u32> {
    bytes.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect()
}

/// The semaphores that a launch descriptor of Hopper releases at the end of its grid: address and value.
fn releases(launch: &Launch) -> Vec<(u64, u32)> {
    let Some(layout) = descriptor(launch.class).filter(|_| !launch.words.is_empty()) else { return Vec::new() };
    let get = |name: &str| layout.get(&launch.words, name).unwrap_or(0);
    let enabled = layout.fields(&launch.words).filter(|f| f.name == "RELEASE_ENABLE").filter_map(|f| f.element);
    let one = |n: u32| {
        let part = |name: &str| get(&format!("RELEASE_SEMAPHORE{n}_{name}"));
        (part("ADDR_UPPER") << 32 | part("ADDR_LOWER"), part("PAYLOAD_LOWER") as u32)
    };
    enabled.map(one).filter(|(address, _)| *address != 0).collect()
}

/// What the driver writes into an error notifier: time in two words, Xid, status above further information.
fn error_record(xid: u32) -> Vec<u8> {
    const FAILED: u32 = 0xffff << 16;
    [1, 0, xid, FAILED].iter().flat_map(|word| word.to_le_bytes()).collect()
}

impl Gpu {
    /// A part of a memory is at an address from now on.
    pub(crate) fn map(&mut self, memory: (u32, u32), base: u64, bytes: u64, offset: u64) {
        self.mapped.insert(memory, (base, offset));
        self.ranges.insert(base, Range { bytes, memory, offset });
    }

    pub(crate) fn unmap(&mut self, base: u64) {
        self.ranges.remove(&base);
    }

    /// Runs what channels have, as far as their semaphores let them. Whether anything was done.
    pub(crate) fn run(&mut self, process: &mut dyn Memory) -> bool {
        if self.stopped {
            return false;
        }
        let notifier = self.mapped.get(&self.notifier).map(|(base, _)| *base);
        let mut seen = Seen { process, ranges: &self.ranges, video: &mut self.video };
        let mut done = false;
        for channel in self.channels.values_mut() {
            let Some((base, offset)) = self.mapped.get(&(channel.client, channel.userd.0)) else { continue };
            let userd = base - offset + channel.userd.1;
            let (get, put) = (seen.word(userd + GP_GET), seen.word(userd + GP_PUT));
            let new = (u64::from(put) + channel.entries - u64::from(get)) % channel.entries.max(1);
            if channel.waiting.is_empty() && new > 0 {
                let pieces: Vec<(u64, Vec<u32>)> = (0..new)
                    .map(|n| {
                        let at = channel.ring + (u64::from(get) + n) % channel.entries * 8;
                        let entry = u64::from(seen.word(at)) | u64::from(seen.word(at + 4)) << 32;
                        let Entry { address, words, .. } = Entry::of(entry);
                        let bytes = seen.read(address, u64::from(words) * 4);
                        (address, as_words(&bytes))
                    })
                    .collect();
                let pieces: Vec<Piece<'_>> =
                    pieces.iter().map(|(address, words)| Piece { address: *address, words }).collect();
                // A launch descriptor that is not among the commands is in memory.
                let words = |at: u64| Some(as_words(&seen.read(at, DESCRIPTOR)));
                channel.waiting = steps(&mut channel.classes, &pieces, words).steps.into();
                channel.until = put;
                if channel.waiting.is_empty() {
                    seen.write(userd + GP_GET, &put.to_le_bytes());
                }
            }
            while let Some(step) = channel.waiting.front() {
                let is_grid = matches!(step, Step::Launch(launch) if launch.is_grid());
                if let Some((xid, _)) = self.fault.filter(|(_, number)| is_grid && *number == self.launches + 1) {
                    notifier.into_iter().for_each(|at| seen.write(at, &error_record(xid)));
                    self.stopped = true;
                    return true;
                }
                if !seen.run(step) {
                    break;
                }
                if let Some((to, bytes)) = filled(&channel.waiting) {
                    seen.write(to, &bytes);
                }
                self.launches += usize::from(is_grid);
                channel.waiting.pop_front();
                done = true;
                if channel.waiting.is_empty() {
                    seen.write(userd + GP_GET, &channel.until.to_le_bytes());
                }
            }
        }
        done
    }
}
