//! A call of the layer `submit`: what a driver call put into the ring of one channel, as lines of text and as JSON.

use cutap_rm::submit::{Entry, Stream, descriptor, method_name};
use cutap_rm::work::{Launch, Piece, Step, Work, steps};
use cutap_trace::{Exit, Layer, Submitted};
use cutap_wire::memory::piece_kind;
use cutap_wire::submission::{Submission, flag};
use serde_json::{Map, Value, json};
use std::fmt::Write;

/// Bytes of a write that are shown in a line.
const SHOWN: usize = 96;

/// What was read of the ring of a channel.
struct SubmissionContent {
    submission: Submission,
    /// Entries, each with its commands as far as they could be read.
    entries: Vec<(Entry, Vec<u32>)>,
    /// Class of each subchannel before the first command.
    classes: [u32; 8],
    /// Launch descriptors that lie in memory.
    descriptors: Vec<(u64, Vec<u32>)>,
    /// Bytes that were not read.
    missing: u64,
}

fn words(bytes: &[u8]) -> Vec<u32> {
    bytes.as_chunks::<4>().0.iter().map(|w| u32::from_le_bytes(*w)).collect()
}

impl SubmissionContent {
    /// None where the call belongs to another layer.
    fn of(exit: &Exit) -> Option<SubmissionContent> {
        let call = &exit.call;
        if call.function.layer != Layer::SUBMIT {
            return None;
        }
        let submission = Submission::of(call.args.words())?;
        let mut content =
            SubmissionContent { submission, entries: Vec::new(), classes: [0; 8], descriptors: Vec::new(), missing: 0 };
        for Submitted { kind, address, full_length, bytes } in call.pieces().submitted {
            content.missing += u64::from(full_length).saturating_sub(bytes.len() as u64);
            match (kind, words(&bytes)) {
                (piece_kind::ENTRIES, entry) => {
                    let pair = [0, 1].map(|n| u64::from(entry.get(n).copied().unwrap_or(0)));
                    content.entries.push((Entry::of(pair[0] | pair[1] << 32), Vec::new()));
                }
                (piece_kind::COMMANDS, words) => {
                    if let Some((_, to)) = content.entries.last_mut() {
                        to.extend(words);
                    }
                }
                (piece_kind::DESCRIPTOR, words) => content.descriptors.push((address, words)),
                (piece_kind::CLASSES, words) => {
                    content.classes.iter_mut().zip(words).for_each(|(to, class)| *to = class);
                }
                _ => {}
            }
        }
        Some(content)
    }

    fn work(&self) -> Work {
        let pieces: Vec<Piece<'_>> =
            self.entries.iter().map(|(entry, words)| Piece { address: entry.address, words }).collect();
        let memory = |at: u64| self.descriptors.iter().find(|(own, _)| *own == at).map(|(_, words)| words.clone());
        steps(&mut self.classes.clone(), &pieces, memory)
    }

    fn flags(&self) -> impl Iterator<Item = &'static str> + '_ {
        let all = [
            (flag::SHARED, "shared"),
            (flag::BEFORE, "before_the_call"),
            (flag::CUT, "cut"),
            (flag::ALONE, "call_not_recorded"),
        ];
        all.into_iter().filter(|(bit, _)| self.submission.flags & bit != 0).map(|(_, word)| word)
    }
}

/// The lines of a call of the layer `submit`: the channel, then one for each thing that the GPU is asked to do. None
/// where it belongs to another layer.
pub(crate) fn lines(exit: &Exit) -> Option<Vec<String>> {
    let content = SubmissionContent::of(exit)?;
    let work = content.work();
    let Submission { channel, count, .. } = content.submission;
    let entries = if count == 1 { "entry" } else { "entries" };
    let total: usize = content.entries.iter().map(|(_, words)| words.len()).sum();
    let mut head = format!("channel {channel:#x}: {count} {entries}, {total} words");
    for (flag, text) in [
        ("shared", "; shared: other threads were in driver calls"),
        ("before_the_call", "; submitted before this call"),
        ("cut", "; cut"),
        ("call_not_recorded", "; by a call that is not recorded"),
    ] {
        if content.flags().any(|own| own == flag) {
            head.push_str(text);
        }
    }
    if content.missing > 0 {
        let _ = write!(head, "; {} bytes not read", content.missing);
    }
    if work.unknown > 0 {
        let _ = write!(head, "; {} words not understood", work.unknown);
    }
    let mut lines = vec![head];
    let launches: Vec<&Launch> = work
        .steps
        .iter()
        .filter_map(|step| if let Step::Launch(launch) = step { Some(launch) } else { None })
        .collect();
    lines.extend(work.steps.iter().filter_map(|step| line(step, &launches)));
    Some(lines)
}

fn dimensions(of: &[u64; 3]) -> String {
    format!("{}x{}x{}", of[0], of[1], of[2])
}

/// The constant buffer that holds an address: its number, and how far inside.
fn constant_buffer_at(launches: &[&Launch], at: u64) -> Option<(u32, u64)> {
    let inside = |(n, from, bytes): &(u32, u64, u64)| Some((*n, at.checked_sub(*from).filter(|far| far < bytes)?));
    launches.iter().find_map(|launch| launch.constants.iter().find_map(inside))
}

/// None for the write of a descriptor, which its launch shows.
fn line(step: &Step, launches: &[&Launch]) -> Option<String> {
    Some(match step {
        Step::Launch(launch) if launch.words.is_empty() => {
            format!("launch descriptor {:#x}, which could not be read", launch.address)
        }
        Step::Launch(launch) if !launch.is_grid() => format!("descriptor {:#x} without a grid", launch.address),
        Step::Launch(launch) => {
            let mut text = format!(
                "launch grid {} block {} registers {} shared {} program {:#x}",
                dimensions(&launch.grid),
                dimensions(&launch.block),
                launch.registers,
                launch.shared,
                launch.program
            );
            for (n, at, bytes) in &launch.constants {
                let _ = write!(text, " c{n} {at:#x}+{bytes:#x}");
            }
            let _ = write!(text, " descriptor {:#x}", launch.address);
            text
        }
        Step::Copy { from, to, bytes, lines: 1 } => format!("copy {bytes} bytes {from:#x} -> {to:#x}"),
        Step::Copy { from, to, bytes, lines } => format!("copy {lines} lines of {bytes} bytes {from:#x} -> {to:#x}"),
        Step::Fill { to, count, lines, element, value } => {
            format!("fill {to:#x} with {count} x {lines} elements of {element} bytes: {value:#x}")
        }
        Step::Write { to, .. } if launches.iter().any(|l| l.address == *to) => return None,
        Step::Write { to, bytes, length } => {
            let mut text = format!("write {length} bytes to {to:#x}");
            if let Some((n, far)) = constant_buffer_at(launches, *to) {
                let _ = write!(text, " (c{n}+{far:#x})");
            }
            text.push_str(if bytes.is_empty() && *length > 0 { ", which are not in these commands" } else { ": " });
            bytes.iter().take(SHOWN).for_each(|byte| {
                let _ = write!(text, "{byte:02x}");
            });
            if bytes.len() > SHOWN {
                text.push_str("...");
            }
            text
        }
        Step::Macro { number, words } => {
            let words: Vec<String> = words.iter().map(|word| format!("{word:#x}")).collect();
            format!("macro {number} ({})", words.join(", "))
        }
        Step::Release { address, payload, by } => format!("release {address:#x} = {payload:#x} ({by})"),
        Step::Acquire { address, payload } => format!("acquire {address:#x} = {payload:#x}"),
    })
}

/// The addresses that a call of the layer `submit` names. None where it belongs to another layer.
#[must_use]
pub fn submitted(exit: &Exit) -> Option<cutap_kernel::Submitted> {
    let content = SubmissionContent::of(exit)?;
    let semaphore = |step: &Step| match step {
        Step::Release { address, .. } | Step::Acquire { address, .. } => Some(*address),
        _ => None,
    };
    Some(cutap_kernel::Submitted {
        pid: exit.call.thread.process.pid,
        commands: content.entries.iter().map(|(entry, _)| (entry.address, u64::from(entry.words) * 4)).collect(),
        semaphores: content.work().steps.iter().filter_map(semaphore).collect(),
    })
}

/// All of a call of the layer `submit`. None where it belongs to another layer.
pub(crate) fn submission_json(exit: &Exit) -> Option<Value> {
    let content = SubmissionContent::of(exit)?;
    let work = content.work();
    let Submission { client, channel, class, ring, entries, engine, first, count, .. } = content.submission;
    let rows = content.entries.iter().map(|(e, words)| {
        json!({"address": hex(e.address), "words": e.words, "read": words.len(), "level": e.level, "sync": e.sync})
    });
    Some(json!({
        "client": hex(client.into()), "channel": hex(channel.into()), "class": hex(class.into()), "ring": hex(ring),
        "ring_entries": entries, "engine": engine, "first": first, "count": count,
        "flags": content.flags().collect::<Vec<_>>(), "not_read": content.missing, "not_understood": work.unknown,
        "entries": rows.collect::<Vec<_>>(), "methods": methods(&content),
        "steps": work.steps.iter().map(step_json).collect::<Vec<_>>(),
    }))
}

fn hex(number: u64) -> String {
    format!("{number:#x}")
}

/// Each method with its subchannel, name and value; of inline data only the number of words.
fn methods(found: &SubmissionContent) -> Vec<Value> {
    let mut classes = found.classes;
    let mut all = Vec::new();
    let mut inline = 0_u64;
    for method in found.entries.iter().flat_map(|(_, words)| Stream::new(words)) {
        let at = usize::from(method.subchannel & 7);
        if method.address == 0 {
            classes[at] = method.value & 0xffff;
        }
        let name = match method_name(classes[at], method.address) {
            Some((name, None)) => name.to_owned(),
            Some((name, Some(n))) => format!("{name}({n})"),
            None => hex(method.address.into()),
        };
        if name == "LOAD_INLINE_DATA" {
            inline += 1;
            continue;
        }
        if inline > 0 {
            all.push(json!([method.subchannel, "LOAD_INLINE_DATA", format!("{inline} words")]));
            inline = 0;
        }
        all.push(json!([method.subchannel, name, hex(method.value.into())]));
    }
    if inline > 0 {
        all.push(json!([1, "LOAD_INLINE_DATA", format!("{inline} words")]));
    }
    all
}

fn step_json(step: &Step) -> Value {
    match step {
        Step::Launch(l) => {
            let constants =
                l.constants.iter().map(|(n, at, bytes)| json!({"n": n, "address": hex(*at), "bytes": bytes}));
            let fields = descriptor(l.class).into_iter().flat_map(|of| of.fields(&l.words));
            let named = fields.map(|f| match f.element {
                Some(n) => (format!("{}({n})", f.name), hex(f.value).into()),
                None => (f.name.to_owned(), hex(f.value).into()),
            });
            json!({
                "do": "launch", "descriptor": hex(l.address), "class": hex(l.class.into()), "is_grid": l.is_grid(),
                "grid": l.grid, "block": l.block, "registers": l.registers, "shared": l.shared,
                "program": hex(l.program), "constants": constants.collect::<Vec<_>>(),
                "fields": named.collect::<Map<String, Value>>(),
            })
        }
        Step::Copy { from, to, bytes, lines } => {
            json!({"do": "copy", "from": hex(*from), "to": hex(*to), "bytes": bytes, "lines": lines})
        }
        Step::Fill { to, count, lines, element, value } => {
            let value = hex((*value).into());
            json!({"do": "fill", "to": hex(*to), "count": count, "lines": lines, "element": element, "value": value})
        }
        Step::Write { to, bytes, length } => {
            let text: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            json!({"do": "write", "to": hex(*to), "length": length, "bytes": text})
        }
        Step::Macro { number, words } => {
            let words: Vec<String> = words.iter().map(|word| hex((*word).into())).collect();
            json!({"do": "macro", "number": number, "words": words})
        }
        Step::Release { address, payload, by } => {
            json!({"do": "release", "address": hex(*address), "payload": hex(*payload), "by": by})
        }
        Step::Acquire { address, payload } => {
            json!({"do": "acquire", "address": hex(*address), "payload": hex(*payload)})
        }
    }
}
