//! Leaves a running process. What was changed in it is restored.

use super::{AT_THE_END, SYSCALL_STOP, Tracer};
use cutap_ptrace::sys::{self, Syscall};
use std::collections::HashSet;
use std::ops::RangeInclusive;
use std::time::{Duration, Instant};

/// A stop that is none of the others.
const STOPPED: i32 = 0x7f | libc::SIGTRAP << 8 | libc::PTRACE_EVENT_STOP << 16;

/// How long threads may take to stop, for a detach.
const PATIENCE: Duration = Duration::from_secs(5);

/// Results inside the kernel of calls that were interrupted and begin again: -ERESTART_RESTARTBLOCK to -ERESTARTSYS.
const AGAIN: RangeInclusive<i64> = -516..=-512;

impl Tracer<'_> {
    /// Leaves all threads running. Each must be stopped for that, and they stop in any order: a parent of vfork stops
    /// after its child has run on. The kernel leaves those that do not stop in time, when cutap ends.
    pub(super) fn detach(&mut self, events: &sys::EventWait) {
        let (begun, mut left) = (Instant::now(), HashSet::new());
        for tid in self.threads.ids() {
            match self.threads.get(tid).away {
                // It is stopped, and its call is as complete as it will be.
                true => {
                    self.leave_thread(tid, STOPPED, &left);
                    left.insert(tid);
                }
                false => drop(sys::request(libc::PTRACE_INTERRUPT, tid, 0)),
            }
        }
        for child in std::mem::take(&mut self.held_children) {
            self.leave_thread(child, STOPPED, &left);
            left.insert(child);
        }
        while !self.threads.is_empty() && begun.elapsed() < PATIENCE {
            match sys::wait(-1, true) {
                Ok(Some((tid, status))) if libc::WIFSTOPPED(status) => {
                    self.leave_thread(tid, status, &left);
                    left.insert(tid);
                }
                Ok(Some((tid, status))) => self.thread_ended(tid, status),
                Ok(None) => events.wait(),
                Err(_) => break,
            }
        }
        self.take_results(AT_THE_END);
        for pending in self.threads.end() {
            (self.sink)(pending.unfinished());
        }
    }

    /// Leaves a thread that is stopped. The threads in `left` were left before.
    pub(super) fn leave_thread(&mut self, tid: i32, status: i32, left: &HashSet<i32>) {
        let (signal, event) = (libc::WSTOPSIG(status), status >> 16);
        match event {
            libc::PTRACE_EVENT_FORK | libc::PTRACE_EVENT_VFORK | libc::PTRACE_EVENT_CLONE => {
                // The child stops too. Its stop may have come first.
                if let Some(child) = sys::event_message(tid).ok().filter(|child| !left.contains(child)) {
                    self.threads.get(child).restore = self.threads.get(tid).cloning;
                }
            }
            libc::PTRACE_EVENT_EXEC => self.exec(tid),
            _ => {}
        }
        // A call that has just ended has its result, unless the kernel makes it again.
        if (signal, event) == (SYSCALL_STOP, 0)
            && let Ok(Syscall::Exit { result }) = sys::syscall(tid)
            && !AGAIN.contains(&result)
        {
            self.exit(tid, result);
        }
        // A signal that was on its way arrives. A system call that is under way ends as usual.
        let deliver = if event == 0 && signal != SYSCALL_STOP { signal } else { 0 };
        let remote = self.threads.remote(tid);
        if let Some(thread) = self.threads.remove(tid) {
            thread.cloning.into_iter().chain(thread.restore).for_each(|changed| changed.restore(tid, &remote));
            thread.pending.into_iter().for_each(|pending| (self.sink)(pending.unfinished()));
        }
        let _ = sys::request(libc::PTRACE_DETACH, tid, deliver);
    }
}
