//! Reads any bytes as a recording and as a run directory, for the fuzz targets and the tests with their corpus. Reading
//! must end without a panic, and the memory that it needs must not depend on sizes in the bytes.

use crate::aggregate::aggregator::Aggregator;
use crate::aggregate::sink::{CallSink, FinishedCall};
use crate::event::{Event, Function, Instance};
use crate::filter::Filter;
use crate::merge::event_reader::EventReader;
use crate::merge::reader_options::ReaderOptions;
use crate::summary::end::End;
use cutap_wire::PAGE;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// Bytes of an input beyond which nothing new is found.
pub const MOST: usize = 1 << 18;

/// A file or folder that goes when it is dropped.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Scratch {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let shm = Path::new("/dev/shm");
        let parent = if shm.is_dir() { shm.to_owned() } else { std::env::temp_dir() };
        let n = NEXT.fetch_add(1, Ordering::Relaxed);
        Scratch(parent.join(format!("cutap-any-{}-{n}", std::process::id())))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Reads bytes as a recording, as they are and with sums that are right.
pub fn recording(bytes: &[u8]) {
    let mut bytes = bytes[..bytes.len().min(MOST)].to_vec();
    let file = Scratch::new();
    for _ in 0..2 {
        fs::write(&file.0, &bytes).expect("a scratch file");
        read(&file.0);
        right_sums(&mut bytes);
    }
}

/// Reads bytes as a recording whose sums are right, and hands each event over. What is known at the end; none where it
/// is no recording.
pub fn follow(bytes: &[u8], event: &mut dyn FnMut(&Event)) -> Option<End> {
    let mut bytes = bytes[..bytes.len().min(MOST)].to_vec();
    right_sums(&mut bytes);
    let file = Scratch::new();
    fs::write(&file.0, &bytes).expect("a scratch file");
    let mut follow = EventReader::open(&file.0, ReaderOptions::default()).ok()?;
    let _ = follow.poll(true, &mut |handed: &Event| event(handed));
    Some(follow.end())
}

/// Reads bytes as a run directory with one process: four lengths, then so much of `control`, `process`, `names`
/// and `t0.ring`, filled up with zeros to whole pages.
pub fn folder(bytes: &[u8]) {
    let bytes = &bytes[..bytes.len().min(MOST)];
    let (lengths, mut rest) = bytes.split_at(bytes.len().min(16));
    let run = Scratch::new();
    let process = run.0.join("p100-0");
    fs::create_dir_all(&process).expect("a scratch folder");
    let paths = [run.0.join("control"), process.join("process"), process.join("names"), process.join("t0.ring")];
    for (n, path) in paths.iter().enumerate() {
        let length = lengths.get(n * 4..n * 4 + 4).and_then(|b| b.first_chunk()).map_or(0, |b| u32::from_le_bytes(*b));
        let (part, remainder) = rest.split_at(rest.len().min(length as usize));
        rest = remainder;
        let mut part = part.to_vec();
        part.resize(part.len().next_multiple_of(PAGE), 0);
        fs::write(path, part).expect("a scratch file");
    }
    read(&run.0);
}

/// All that reads a run.
fn read(run: &Path) {
    if let Ok(mut follow) = EventReader::open(run, ReaderOptions::default()) {
        let mut text = 0;
        let _ = follow.poll(true, &mut |event: &Event| text += usize::from(matches!(event, Event::Exit(_))));
        follow.end();
    }
    if let Ok(mut scan) = Aggregator::open(run, &Filter::default()) {
        scan.run(&mut Nothing);
    }
}

/// Adds nothing up.
struct Nothing;

impl CallSink for Nothing {
    fn enter(&mut self, place: u32, _: &Arc<Function>) -> u32 {
        place.wrapping_add(1)
    }
    fn exit(&mut self, _: &FinishedCall<'_>) {}
    fn function_instance(&mut self, _: &Arc<Function>, _: &Arc<Instance>) {}
}

/// Writes the sums that the blocks of a file should have, so that what lies behind them is reached.
fn right_sums(bytes: &mut [u8]) {
    const HEAD: usize = 40;
    if bytes.len() < 24 {
        return;
    }
    let sum = crc32(&bytes[..20]);
    bytes[20..24].copy_from_slice(&sum.to_le_bytes());
    let mut at = 24;
    while let Some(head) = bytes.get(at..at + HEAD) {
        if head[..4] != *b"CBLK" {
            return;
        }
        let word = |n: usize| u32::from_le_bytes([head[n], head[n + 1], head[n + 2], head[n + 3]]) as usize;
        let (plain, stored) = (word(4) >> 16, word(28));
        let Some(end) = (at + HEAD + plain).checked_add(stored).filter(|end| *end <= bytes.len()) else { return };
        let body = crc32(&bytes[at + HEAD + plain..end]);
        bytes[at + 32..at + 36].copy_from_slice(&body.to_le_bytes());
        let summed = [&bytes[at..at + 36], &bytes[at + HEAD..at + HEAD + plain]].concat();
        bytes[at + 36..at + HEAD].copy_from_slice(&crc32(&summed).to_le_bytes());
        at += (end - at).next_multiple_of(8);
    }
}

fn crc32(bytes: &[u8]) -> u32 {
    let mut sum = u32::MAX;
    for byte in bytes {
        sum ^= u32::from(*byte);
        for _ in 0..8 {
            sum = (sum >> 1) ^ ((sum & 1) * 0xedb8_8320);
        }
    }
    !sum
}

#[cfg(test)]
mod tests {
    #[test]
    fn crc32_of_the_check_text() {
        assert_eq!(super::crc32(b"123456789"), 0xcbf4_3926);
    }
}
