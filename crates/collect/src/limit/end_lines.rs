//! What a limit did in a run: the calls that it refused, and what could not be counted.

use cutap_report::format_bytes;
use cutap_trace::RunPath;
use cutap_wire::injected::text;
use cutap_wire::limited::{FILE, HEAD, Head, NAME, ROW, ROWS};
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;

/// Refused calls that are described.
const SHOWN: usize = 3;

/// A line for each of the first refused calls, and for what was not counted. `main`: the program's own process.
pub fn end_lines(run: &Path, main: i32) -> Vec<String> {
    let bytes = RunPath::open(run).and_then(|run| run.join(FILE).read(HEAD + ROWS * ROW)).unwrap_or_default();
    if bytes.len() < HEAD {
        return Vec::new();
    }
    // SAFETY: the bytes of a head, of which a copy is made. Its fields may have any value.
    let head: Head = unsafe { bytes.as_ptr().cast::<Head>().read_unaligned() };
    let mut lines = refusals(&head, &bytes, main);
    lines.extend(uncounted(&head));
    lines
}

fn refusals(head: &Head, bytes: &[u8], main: i32) -> Vec<String> {
    let refused = head.refused.load(Relaxed);
    let mut lines = Vec::new();
    for refusal in head.refusals.iter().take(SHOWN) {
        let row = refusal.row.load(Relaxed) as usize;
        let name = row.checked_sub(1).and_then(|row| bytes.get(HEAD + row * ROW..)?.get(..NAME));
        let Some(name) = name else { continue };
        let name = String::from_utf8_lossy(text(name)).into_owned();
        let [device, requested, used] =
            [&refusal.device, &refusal.requested, &refusal.used].map(|word| word.load(Relaxed));
        let own = head.limits.get(device as usize).copied().filter(|limit| *limit != 0);
        let limit = format_bytes(own.unwrap_or(head.limit));
        let pid = refusal.pid.load(Relaxed);
        let process = if pid as i32 == main { String::new() } else { format!(" of process {pid}") };
        lines.push(format!(
            "--limit-memory refused {name} for {}{process}: {} of {limit} of device {device} were in use",
            format_bytes(requested),
            format_bytes(used)
        ));
    }
    let more = refused.saturating_sub(lines.len() as u64);
    if more > 0 {
        let calls = if more == 1 { "call".to_owned() } else { "calls".to_owned() };
        lines.push(format!("--limit-memory refused {more} more {calls}"));
    }
    lines
}

fn uncounted(head: &Head) -> Vec<String> {
    let of = &head.uncounted;
    let counts = [&of.processes, &of.devices, &of.allocations, &of.functions].map(|count| count.load(Relaxed));
    let texts = [
        "processes were not counted: the accounts have 1024 places; use another folder for --accounts",
        "allocations were not counted: there is no place for their device",
        "allocations are counted to the end of their process: there is no place for more of them",
        "functions are not counted: there is no place for more hooks; use fewer of --inject and --hook",
    ];
    let some = counts.into_iter().zip(texts).filter(|(count, _)| *count > 0);
    let mut lines: Vec<String> = some.map(|(count, text)| format!("--limit-memory: {count} {text}")).collect();
    let above = of.above.load(Relaxed);
    if above > 0 {
        lines.push(format!(
            "--limit-memory: the driver took up to {} more than the limit, for code or in the steps of a pool",
            format_bytes(above)
        ));
    }
    lines
}
