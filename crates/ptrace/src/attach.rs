//! A running process: all its threads are seized and stopped.

use crate::error::Error;
use crate::gate::OPTIONS;
use crate::{refused, sys};
use std::collections::HashSet;

/// Seizes and interrupts all threads of a process, and gives their ids.
///
/// # Errors
/// The process does not exist, or the system does not allow it; the sentence names the setting.
pub fn seize_all(pid: i32) -> Result<HashSet<i32>, Error> {
    let target = format!("process {pid}");
    let mut seized = HashSet::new();
    // Threads may start while others are attached, until a look finds no new one.
    loop {
        let new: Vec<i32> = tasks(pid).into_iter().filter(|tid| !seized.contains(tid)).collect();
        if new.is_empty() && !seized.is_empty() {
            return Ok(seized);
        }
        if new.is_empty() {
            return Err(Error::new(format!("cannot trace {target}: there is no such process; check the number")));
        }
        // A first thread that has ended stays as long as others run, and cannot be attached.
        let first_may_fail = new.len() > 1 && refused::has_ended(pid);
        for tid in new {
            match sys::seize(tid, OPTIONS) {
                Ok(()) => {
                    seized.insert(tid);
                    let _ = sys::request(libc::PTRACE_INTERRUPT, tid, 0);
                }
                // The thread ended meanwhile, or the event of its creator attached it.
                Err(_) if tid != pid || first_may_fail => drop(seized.insert(tid)),
                Err(error) => return Err(refused::sentence(&target, pid, &error)),
            }
        }
    }
}

fn tasks(pid: i32) -> Vec<i32> {
    let entries = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}
