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
struct ThreadCalls {
    thread: Arc<Thread>,
    /// Its open calls, the outermost first.
    open: Vec<Call>,
    /// The call that ended last.
    last: Option<Box<Exit>>,
}

/// The threads of a run's processes.
pub struct Threads(Vec<ThreadCalls>);

impl Threads {
    /// Reads what the rings of a run hold now.
    pub fn of(run: &Path) -> Threads {
        let options = ReaderOptions { decode: false, ..ReaderOptions::default() };
        let Ok(mut reader) = EventReader::open(run, options) else { return Threads(Vec::new()) };
        let mut threads: BTreeMap<u32, ThreadCalls> = BTreeMap::new();
        let enter = |threads: &mut BTreeMap<u32, ThreadCalls>, thread: &Arc<Thread>| {
            threads.entry(thread.key).or_insert_with(|| ThreadCalls {
                thread: thread.clone(),
                open: Vec::new(),
                last: None,
            });
        };
        let polled = reader.poll_while(true, &mut |event| {
            match event {
                Event::Enter(call) => enter(&mut threads, &call.thread),
                Event::Exit(exit) => {
                    enter(&mut threads, &exit.call.thread);
                    if let Some(of) = threads.get_mut(&exit.call.thread.key) {
                        of.last = Some(exit);
                    }
                }
                _ => {}
            }
            ControlFlow::Continue(())
        });
        if polled.is_err() {
            return Threads(Vec::new());
        }
        // The innermost comes first.
        for exit in reader.end().unfinished.into_iter().rev() {
            enter(&mut threads, &exit.call.thread);
            if let Some(of) = threads.get_mut(&exit.call.thread.key) {
                of.open.push(exit.call);
            }
        }
        Threads(threads.into_values().collect())
    }

    /// Lines about the threads of a process that lives as `pid`, in this folder. `ahead` is by how many
    /// nanoseconds its clock is ahead of cutap's.
    pub fn lines(&self, folder: &str, pid: u32, ahead: i64) -> String {
        let now = monotonic().saturating_add_signed(ahead);
        let mut text = String::new();
        for ThreadCalls { thread, open, last } in self.0.iter().filter(|of| &*of.thread.process.folder == folder) {
            // A number of another name space tells nothing of /proc.
            if thread.process.pid == pid && !Path::new(&format!("/proc/{pid}/task/{}", thread.tid)).exists() {
                continue;
            }
            let name = thread.name.as_ref().map_or_else(String::new, |name| format!(" ({})", printable(name)));
            let ago = |ns: u64| time(now.saturating_sub(ns));
            let activity = match (open.split_last(), last) {
                (Some((call, around)), _) => {
                    let outer: Vec<&str> = around.iter().rev().map(|call| call.function.display_name()).collect();
                    let inside =
                        if outer.is_empty() { String::new() } else { format!(", inside {}", outer.join(", inside ")) };
                    format!("in {} for {}{inside}", call.function.display_name(), ago(call.start_ns))
                }
                (None, Some(exit)) => {
                    format!("in no recorded call for {}, since {}", ago(exit.end_ns), exit.call.function.display_name())
                }
                (None, None) => "in no recorded call".to_owned(),
            };
            // Writing to a string does not fail.
            let _ = writeln!(text, "  thread {}{name}: {activity}", thread.tid);
        }
        text
    }
}
