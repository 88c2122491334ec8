//! In which call each thread of a running program is, and since when: by what its rings hold now. Only recorded calls
//! are known.

use cutap_printable::printable;
use cutap_report::time;
use cutap_trace::{Call, Event, EventReader, Exit, ReaderOptions, Thread, monotonic};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

/// What is known of a thread.
struct Seen {
    thread: Arc<Thread>,
    /// Its open calls, the outermost first.
    open: Vec<Call>,
    /// The call that ended last.
    last: Option<Box<Exit>>,
}

/// The threads of a run's processes.
pub struct Threads(Vec<Seen>);

impl Threads {
    /// Reads what the rings of a run hold now.
    pub fn of(run: &Path) -> Threads {
        let options = ReaderOptions { decode: false, ..ReaderOptions::default() };
        let Ok(mut reader) = EventReader::open(run, options) else { return Threads(Vec::new()) };
        let mut seen: BTreeMap<u32, Seen> = BTreeMap::new();
        let enter = |seen: &mut BTreeMap<u32, Seen>, thread: &Arc<Thread>| {
            seen.entry(thread.key).or_insert_with(|| Seen { thread: thread.clone(), open: Vec::new(), last: None });
        };
        let read = reader.poll_while(true, &mut |event| {
            match event {
                Event::Enter(call) => enter(&mut seen, &call.thread),
                Event::Exit(exit) => {
                    enter(&mut seen, &exit.call.thread);
                    if let Some(seen) = seen.get_mut(&exit.call.thread.key) {
                        seen.last = Some(exit);
                    }
                }
                _ => {}
            }
            ControlFlow::Continue(())
        });
        if read.is_err() {
            return Threads(Vec::new());
        }
        // The innermost comes first.
        for exit in reader.end().unfinished.into_iter().rev() {
            enter(&mut seen, &exit.call.thread);
            if let Some(seen) = seen.get_mut(&exit.call.thread.key) {
                seen.open.push(exit.call);
            }
        }
        Threads(seen.into_values().collect())
    }

    /// Lines about the threads of a process that lives as `pid`, in this folder; its clock is so far ahead of ours.
    pub fn lines(&self, folder: &str, pid: u32, ahead: i64) -> String {
        let now = monotonic().saturating_add_signed(ahead);
        let mut text = String::new();
        for seen in self.0.iter().filter(|seen| &*seen.thread.process.folder == folder) {
            let Seen { thread, open, last } = seen;
            // A number of another name space tells nothing of /proc.
            if thread.process.pid == pid && !Path::new(&format!("/proc/{pid}/task/{}", thread.tid)).exists() {
                continue;
            }
            let name = thread.name.as_ref().map_or_else(String::new, |name| format!(" ({})", printable(name)));
            let ago = |ns: u64| time(now.saturating_sub(ns));
            let what = match (open.split_last(), last) {
                (Some((call, around)), _) => {
                    let around: Vec<&str> = around.iter().rev().map(|call| call.function.shown()).collect();
                    let inside = if around.is_empty() {
                        String::new()
                    } else {
                        format!(", inside {}", around.join(", inside "))
                    };
                    format!("in {} for {}{inside}", call.function.shown(), ago(call.start_ns))
                }
                (None, Some(exit)) => {
                    format!("in no recorded call for {}, since {}", ago(exit.end_ns), exit.call.function.shown())
                }
                (None, None) => "in no recorded call".to_owned(),
            };
            // Writing to a string does not fail.
            let _ = writeln!(text, "  thread {}{name}: {what}", thread.tid);
        }
        text
    }
}
