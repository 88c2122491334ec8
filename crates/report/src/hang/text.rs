//! The text of `cutap where`: a line for each thread, and below it what it waits for.

use super::collectives::{named, verdict, write_job};
use super::document::{HangDocument, OpenEntry, ProcessState, StreamWait, ThreadState, WorkState};
use crate::collectives::{JobVerdict, ranks_text};
use crate::format::units::time;
use crate::nesting::path_stacks::write_frames;
use cutap_trace::printable;
use std::collections::BTreeSet;
use std::io;

/// Spaces before the lines below that of a thread.
const INDENT: usize = 10;
/// Streams that a wait for the device names.
const STREAMS: usize = 4;

/// Writes what is known of these runs, by rank.
pub fn write_documents(documents: &[HangDocument], out: &mut dyn io::Write) -> io::Result<()> {
    let mut sorted: Vec<&HangDocument> = documents.iter().collect();
    sorted.sort_by_key(|document| document.rank.unwrap_or(u32::MAX));
    let hosts: BTreeSet<&str> = sorted.iter().filter_map(|document| document.host.as_deref()).collect();
    // What was saved while it hung says more than the end of a program that was killed.
    let printed = |document: &&'_ HangDocument| -> bool { document.saved.is_some() && !document.is_live };
    let of_answer = |document: &HangDocument| match &document.saved {
        Some(saved) if !document.is_live => (**saved).clone(),
        _ => document.clone(),
    };
    let answers: Vec<HangDocument> = sorted.iter().map(|document| of_answer(document)).collect();
    let verdict = verdict(&answers.iter().collect::<Vec<_>>());
    write_program_ends(&sorted, out)?;
    for (place, (document, answer)) in sorted.iter().zip(&answers).enumerate() {
        if printed(document) {
            writeln!(out, "{}: saved while it hung (record --on-hang)", printable(&document.run))?;
        }
        let host = document.host.as_deref().filter(|_| hosts.len() > 1);
        write_document(answer, (document.rank, host), (&verdict, place), out)?;
    }
    write_job(&verdict, out)
}

/// Runs of which the program has ended, by how it ended.
fn write_program_ends(documents: &[&HangDocument], out: &mut dyn io::Write) -> io::Result<()> {
    let mut by_end: Vec<(&str, Vec<u32>)> = Vec::new();
    for document in documents.iter().filter(|document| !document.is_live) {
        let Some(end) = &document.program_end else { continue };
        let Some(rank) = document.rank else {
            writeln!(out, "{}: its program {end}", printable(&document.run))?;
            continue;
        };
        match by_end.iter_mut().find(|(other, _)| *other == end) {
            Some((_, ranks)) => ranks.push(rank),
            None => by_end.push((end, vec![rank])),
        }
    }
    by_end.into_iter().try_for_each(|(end, ranks)| match ranks.len() {
        1 => writeln!(out, "{}: its program {end}", ranks_text(ranks)),
        _ => writeln!(out, "{}: each program {end}", ranks_text(ranks)),
    })
}

fn write_document(
    document: &HangDocument,
    (rank, host): (Option<u32>, Option<&str>),
    of: (&JobVerdict<'_>, usize),
    out: &mut dyn io::Write,
) -> io::Result<()> {
    let rank = rank.map_or_else(String::new, |rank| format!("rank {rank}  "));
    let host = host.map_or_else(String::new, |host| format!("{}  ", printable(host)));
    let mut is_empty = true;
    for process in &document.processes {
        let mut threads: Vec<&ThreadState> = process.threads.iter().collect();
        // Those that have waited longest first, and those outside of calls last.
        let open_ns = |thread: &ThreadState| thread.named_entry().map(|entry| entry.open_ns);
        threads.sort_by_key(|thread| std::cmp::Reverse(open_ns(thread)));
        for thread in threads {
            is_empty = false;
            let heading = format!("{rank}{host}pid {}{}", process.pid, thread_text(process, thread));
            write_thread(&heading, thread, document, (of.0, (of.1, process.pid)), out)?;
        }
    }
    if is_empty {
        let run = printable(&document.run);
        writeln!(out, "{rank}{host}{run}: no thread is known in it that made a call and runs on")?;
    }
    Ok(())
}

fn thread_text(process: &ProcessState, thread: &ThreadState) -> String {
    if thread.tid == process.pid {
        return String::new();
    }
    let name = thread.name.as_ref().map_or_else(String::new, |name| format!(" ({})", printable(name)));
    format!("  thread {}{name}", thread.tid)
}

fn write_thread(
    heading: &str,
    thread: &ThreadState,
    document: &HangDocument,
    of: (&JobVerdict<'_>, (usize, u32)),
    out: &mut dyn io::Write,
) -> io::Result<()> {
    let Some((named, entry)) = thread.named.zip(thread.named_entry()) else {
        let idle = thread.idle_ns.map_or_else(String::new, |ns| format!(" for {}", time(ns)));
        let last = thread.last_call.as_ref().map_or_else(String::new, |name| format!(", since {}", printable(name)));
        writeln!(out, "{heading}  in no recorded call{idle}{last}")?;
        write_ranges(&thread.open, out)?;
        return write_system_call(thread, out);
    };
    // Without a collector the end of a program is not known.
    let lasted = if entry.open_ns == 0 { "last seen".to_owned() } else { time(entry.open_ns) };
    writeln!(out, "{heading}  {lasted} in {}", entry_text(entry))?;
    let inside: Vec<String> = thread.open[..named].iter().rev().map(entry_text).collect();
    if !inside.is_empty() {
        writeln!(out, "{:INDENT$}inside {}", "", inside.join(", inside "))?;
    }
    let calls: Vec<String> = thread.open[named + 1..].iter().map(|entry| printable(&entry.name).into_owned()).collect();
    if !calls.is_empty() {
        writeln!(out, "{:INDENT$}calls {}", "", calls.join(", which calls "))?;
    }
    for wait in thread.waits_for.iter().take(STREAMS) {
        write_stream_wait(wait, thread, document, of, out)?;
    }
    match thread.waits_for.len().saturating_sub(STREAMS) {
        0 => {}
        1 => writeln!(out, "{:INDENT$}and for 1 more stream", "")?,
        more => writeln!(out, "{:INDENT$}and for {more} more streams", "")?,
    }
    if thread.waits_for.is_empty() && entry.waits.is_some() {
        writeln!(out, "{:INDENT$}all work before it that is known is complete", "")?;
    }
    if let Some(lacks) = document.lacks.as_ref().filter(|_| entry.waits.is_some()) {
        writeln!(out, "{:INDENT$}calls are missing ({lacks}), so it may wait for something else", "")?;
    }
    // A wait for the device sleeps or spins; of other calls it tells more.
    if entry.waits.is_none() || thread.stopped.is_some() {
        write_system_call(thread, out)?;
    }
    let stacks = [entry].into_iter().chain(&thread.open[named + 1..]).chain(thread.open[..named].iter().rev());
    match stacks.map(|entry| &entry.stack).find(|stack| !stack.is_empty()) {
        Some(stack) => write_frames(stack, INDENT, out),
        None => Ok(()),
    }
}

fn write_ranges(open: &[OpenEntry], out: &mut dyn io::Write) -> io::Result<()> {
    let ranges: Vec<String> = open.iter().rev().map(entry_text).collect();
    if ranges.is_empty() { Ok(()) } else { writeln!(out, "{:INDENT$}inside {}", "", ranges.join(", inside ")) }
}

fn write_system_call(thread: &ThreadState, out: &mut dyn io::Write) -> io::Result<()> {
    // What it is in says nothing of a thread that was stopped there.
    match thread.stopped.as_ref().or(thread.system_call.as_ref()) {
        Some(call) => writeln!(out, "{:INDENT$}{}", "", printable(call)),
        None => Ok(()),
    }
}

fn entry_text(entry: &OpenEntry) -> String {
    let name = printable(&entry.name);
    if entry.is_range { format!("range \"{name}\"") } else { format!("{name}({})", short_words(&entry.arguments)) }
}

/// Long numbers, as the unique id of a communicator is, without their ends.
fn short_words(text: &str) -> String {
    const LONGEST: usize = 64;
    const KEPT: usize = 16;
    let mut short = String::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let digits = rest.bytes().take_while(u8::is_ascii_hexdigit).count();
        let (word, after) = rest.split_at(digits);
        match word.get(..KEPT).filter(|_| digits > LONGEST) {
            Some(first) => short.extend([first, "..."]),
            None => short.push_str(word),
        }
        let next = after.chars().next();
        short.extend(next);
        rest = &after[next.map_or(0, char::len_utf8)..];
    }
    short
}

fn write_stream_wait(
    wait: &StreamWait,
    thread: &ThreadState,
    document: &HangDocument,
    (verdict, run): (&JobVerdict<'_>, (usize, u32)),
    out: &mut dyn io::Write,
) -> io::Result<()> {
    let Some(oldest) = &wait.oldest else {
        let through = wait.through.first().map_or("an event", |event| event);
        return writeln!(out, "{:INDENT$}waits for {through}, and no call is known that recorded it", "");
    };
    let first = wait.collective.as_ref().unwrap_or(oldest);
    let collective = named(verdict, run, wait, document.last_ns);
    let text = collective.as_ref().map_or_else(|| work_text(first), |collective| collective.text.clone());
    writeln!(out, "{:INDENT$}waits for {text}", "")?;
    let submitted_ns = collective.as_ref().and_then(|collective| collective.submitted_ns).unwrap_or(first.submitted_ns);
    let by = match first.tid == thread.tid {
        true => String::new(),
        false => format!(" by thread {}", first.tid),
    };
    let made_by = first.made_by.as_ref().filter(|_| wait.collective.is_none());
    let inside = made_by.map_or_else(String::new, |name| format!(" in {}", printable(name)));
    let range = first.range.as_ref().map_or_else(String::new, |name| format!(", in range \"{}\"", printable(name)));
    let stream = if wait.stream.is_empty() { "its stream" } else { &wait.stream };
    writeln!(out, "{:INDENT$}put into {stream} {} ago{by}{inside}{range}", "", time(submitted_ns))?;
    match collective.map_or(0, |collective| collective.before) {
        0 => {}
        1 => writeln!(out, "{:INDENT$}the collective before it agrees, and is not known complete", "")?,
        before => writeln!(out, "{:INDENT$}{before} collectives before it agree, and are not known complete", "")?,
    }
    if !wait.through.is_empty() {
        writeln!(out, "{:INDENT$}waited for through {}", "", wait.through.join(", then "))?;
    }
    if wait.collective.is_some() && (oldest.tid, oldest.submitted_ns) != (first.tid, first.submitted_ns) {
        writeln!(out, "{:INDENT$}oldest work there that is not known complete: {}", "", work_text(oldest))?;
    }
    let later_pieces = wait.pieces.saturating_sub(1);
    if wait.forgotten > 0 {
        writeln!(out, "{:INDENT$}work before it was forgotten for its number: {} pieces", "", wait.forgotten)?;
    }
    if later_pieces > 0 {
        let more = later_pieces.saturating_sub(wait.next.len() as u64);
        let more = if more > 0 { format!(", and {more} more") } else { String::new() };
        let next = wait.next.join(", ");
        writeln!(out, "{:INDENT$}behind it, not known complete: {}{more}", "", printable(&next))?;
    }
    Ok(())
}

/// The kernel with its launch, or the call.
fn work_text(work: &WorkState) -> String {
    match &work.kernel {
        Some(kernel) => {
            let function = work.text.split('(').next().unwrap_or_default();
            format!("kernel {} ({})", printable(kernel), printable(function))
        }
        None => work.text.clone(),
    }
}

/// The longest wait in one line: `pid 7 waits 60s in cuCtxSynchronize() for kernel spin (cuLaunchKernel)`.
pub fn write_wait(document: &HangDocument) -> Option<String> {
    let (process, thread) = document.longest_wait()?;
    let entry = thread.named_entry()?;
    let thread_name = thread_text(process, thread).replace("  ", " ");
    let work = thread.waits_for.first().and_then(|wait| wait.collective.as_ref().or(wait.oldest.as_ref()));
    let work = work.map_or_else(String::new, |work| format!(" for {}", work_text(work)));
    Some(format!("pid {}{thread_name} waits {} in {}{work}", process.pid, time(entry.open_ns), entry_text(entry)))
}
