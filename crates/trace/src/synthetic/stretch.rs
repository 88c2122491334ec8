//! Makes a recording longer: the chunks of each ring are repeated at later times, so that reading can be measured on
//! files of a hundred million calls.

use crate::io::bytes::{u32_at, u64_at};
use cutap_file::{Block, Packing, Writer, body, kind, pack, walk};
use cutap_wire::record::{self, META_MAX};
use cutap_wire::ring::{ChunkHeader, FULL};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::mem::offset_of;
use std::path::Path;

/// A chunk: its block, its head, its records.
type Chunk = (Block, Vec<u8>, Vec<u8>);

/// What one copy adds to numbers and times.
#[derive(Clone, Copy)]
struct Shift {
    chunks: u64,
    calls: u32,
    ticks: u64,
    ns: u64,
}

/// Writes `from` with its calls `times` over to `to`, packed as at rest; how many calls that makes.
pub fn stretch(from: &Path, to: &Path, times: u32) -> io::Result<u64> {
    let file = File::open(from)?;
    let mut blocks: Vec<(Block, Vec<u8>)> = Vec::new();
    let walked = walk(&file, cutap_wire::VERSION, &mut |block, plain| blocks.push((*block, plain.to_vec())));
    walked.map_err(|e| io::Error::other(format!("{e:?}")))?;
    let mut writer = Writer::begin(BufWriter::with_capacity(1 << 20, File::create(to)?), cutap_wire::VERSION)?;
    let mut rings: BTreeMap<(u32, u32), Vec<Chunk>> = BTreeMap::new();
    let (mut raw, mut out) = (Vec::new(), Vec::new());
    for (block, plain) in blocks.into_iter().filter(|(b, _)| b.kind != kind::END) {
        body(&file, &block, &mut raw)?;
        if block.kind == kind::CHUNK {
            rings.entry((block.process, block.ring)).or_default().push((block, plain, raw.clone()));
        } else {
            pack(Packing::Zstd, block, &plain, &raw, &mut out)?;
            writer.append(&out)?;
        }
    }
    let mut calls = 0;
    for chunks in rings.values() {
        let Some(((_, first, _), (_, last, _))) = chunks.first().zip(chunks.last()) else { continue };
        let of = |head: &[u8], at| u64_at(head, at);
        let (ticks, ns) = (offset_of!(ChunkHeader, base_ticks), offset_of!(ChunkHeader, base_monotonic));
        let calls_at_end = |head: &[u8]| (of(head, offset_of!(ChunkHeader, head)) >> 32) as u32;
        // Records carry the low half of their time: a copy comes whole halves later.
        let later = (of(last, ticks) - of(first, ticks)) / (1 << 32) * (1 << 32) + (2 << 32);
        let rate = (of(last, ns) - of(first, ns)) as f64 / (of(last, ticks) - of(first, ticks)).max(1) as f64;
        let rate = if rate > 0.0 { rate } else { 1.0 };
        let own = calls_at_end(last).wrapping_sub(u32_at(first, offset_of!(ChunkHeader, first_call)));
        for n in 0..u64::from(times) {
            let shift = Shift {
                chunks: n * chunks.len() as u64,
                calls: own.wrapping_mul(n as u32),
                ticks: n * later,
                ns: ((n * later) as f64 * rate) as u64,
            };
            for (block, head, records) in chunks {
                let (head, records) = shifted(head, records, shift);
                let mut block = *block;
                block.at += shift.chunks;
                pack(Packing::Zstd, block, &head, &records, &mut out)?;
                writer.append(&out)?;
            }
            calls += u64::from(own);
        }
    }
    writer.write(Block::new(kind::END, 0, 0, 0), &[], &[])?;
    writer.out().flush()?;
    Ok(calls)
}

fn shifted(head: &[u8], records: &[u8], shift: Shift) -> (Vec<u8>, Vec<u8>) {
    let (mut head, mut records) = (head.to_vec(), records.to_vec());
    let add = |bytes: &mut [u8], at: usize, more: u64| {
        let sum = u64_at(bytes, at).wrapping_add(more).to_le_bytes();
        bytes[at..at + 8].copy_from_slice(&sum);
    };
    add(&mut head, offset_of!(ChunkHeader, sequence), shift.chunks);
    add(&mut head, offset_of!(ChunkHeader, base_ticks), shift.ticks);
    add(&mut head, offset_of!(ChunkHeader, base_monotonic), shift.ns);
    add(&mut head, offset_of!(ChunkHeader, head), u64::from(shift.calls) << 32);
    // The next copy comes behind one that was open.
    let state = offset_of!(ChunkHeader, state);
    head[state..state + 4].copy_from_slice(&FULL.to_le_bytes());
    let at = offset_of!(ChunkHeader, first_call);
    let first = u32_at(&head, at).wrapping_add(shift.calls).to_le_bytes();
    head[at..at + 4].copy_from_slice(&first);
    let mut at = 0;
    while at + 16 <= records.len() {
        let first = u64_at(&records, at);
        let (kind, words, meta) = (first as u8 & 15, (first >> 5 & 0xff) as usize, (first >> 13) as u32 & META_MAX);
        if kind == record::kind::TIME {
            add(&mut records, at + 8, shift.ticks);
        }
        let far = matches!(kind, record::kind::EXIT | record::kind::NOTE | record::kind::UNWOUND);
        if far && meta == META_MAX && words > 1 {
            add(&mut records, at + words * 8 - 8, shift.calls.into());
        }
        at += words.max(1) * 8;
    }
    (head, records)
}
