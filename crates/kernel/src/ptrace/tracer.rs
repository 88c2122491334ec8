//! The loop of the tracer: it waits for a stop, captures the system call, and resumes the thread.

use super::capture::Capture;
use super::gate::OPTIONS;
use super::refused;
use super::sys::{self, Syscall};
use super::threads::Threads;
use crate::call::{Action, KernelCall};
use crate::error::{Error, Result};
use cutap_rm::Tables;
use std::collections::HashSet;
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How a traced program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TraceeEnd {
    /// It exited with this code.
    Code(i32),
    /// A signal ended it.
    Signal(i32),
    /// It was left running.
    Detached,
    /// It has ended, and how is not known: its first thread had ended before it was attached.
    Unseen,
}

/// Which system calls stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// Those of the seccomp filter.
    Filter,
    /// All of them.
    All,
}

/// Traces a program and its children, or a running process.
pub struct Tracer<'a> {
    capture: Capture,
    mode: Mode,
    main: i32,
    threads: Threads,
    /// The end of the main process.
    ended: Option<TraceeEnd>,
    sink: &'a mut dyn FnMut(KernelCall),
    /// 32-bit ioctls, which are not decoded.
    narrow: u64,
}

impl std::fmt::Debug for Tracer<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tracer").field("main", &self.main).field("threads", &self.threads).finish_non_exhaustive()
    }
}

impl<'a> Tracer<'a> {
    /// For a child that passed a [`Gate`](super::Gate). `sink` receives the calls as they end.
    pub fn of_child(child: i32, tables: Tables, sink: &'a mut dyn FnMut(KernelCall)) -> Self {
        Self::new(child, tables, Mode::Filter, sink)
    }

    /// For a running process: all its threads.
    ///
    /// # Errors
    /// The process does not exist, or the system does not allow it.
    pub fn attach(pid: i32, tables: Tables, sink: &'a mut dyn FnMut(KernelCall)) -> Result<Self> {
        let mut tracer = Self::new(pid, tables, Mode::All, sink);
        let what = format!("process {pid}");
        // Threads may start while others are attached, until a look finds no new one.
        loop {
            let new: Vec<i32> = tasks(pid).into_iter().filter(|tid| !tracer.threads.ids().contains(tid)).collect();
            if new.is_empty() && !tracer.threads.is_empty() {
                return Ok(tracer);
            }
            if new.is_empty() {
                return Err(Error::new(format!("cannot trace {what}: there is no such process; check the number")));
            }
            // A first thread that has ended stays as long as others run, and cannot be attached.
            let first_may_fail = new.len() > 1 && refused::has_ended(pid);
            for tid in new {
                match sys::seize(tid, OPTIONS) {
                    Ok(()) => {
                        tracer.threads.get(tid);
                        let _ = sys::request(libc::PTRACE_INTERRUPT, tid, 0);
                    }
                    // The thread ended meanwhile, or the event of its creator attached it.
                    Err(_) if tid != pid || first_may_fail => drop(tracer.threads.get(tid)),
                    Err(error) => return Err(refused::sentence(&what, pid, &error)),
                }
            }
        }
    }

    fn new(main: i32, tables: Tables, mode: Mode, sink: &'a mut dyn FnMut(KernelCall)) -> Self {
        let capture = Capture { tables, start: sys::now() };
        Self { capture, mode, main, threads: Threads::default(), ended: None, sink, narrow: 0 }
    }

    /// The ioctls of 32-bit code, which are not decoded.
    #[must_use]
    pub fn narrow(&self) -> u64 {
        self.narrow
    }

    /// Runs until the last traced process has ended, or until `stop` is set: then it detaches. A program with the
    /// filter is never left, for its system calls would fail without a tracer.
    pub fn run(&mut self, stop: &AtomicBool) -> TraceeEnd {
        let events = (self.mode == Mode::All).then(sys::EventWait::new);
        loop {
            if self.mode == Mode::All && stop.load(Ordering::Relaxed) {
                events.iter().for_each(|events| self.detach(events));
                return self.ended.unwrap_or(TraceeEnd::Detached);
            }
            match sys::wait(-1, self.mode == Mode::All) {
                Ok(Some((tid, status))) => self.event(tid, status),
                Ok(None) => events.iter().for_each(sys::EventWait::wait),
                // There is no child any more.
                Err(_) => return self.ended.unwrap_or(TraceeEnd::Unseen),
            }
            if self.mode == Mode::All && self.threads.is_empty() {
                return self.ended.unwrap_or(TraceeEnd::Unseen);
            }
        }
    }

    fn event(&mut self, tid: i32, status: i32) {
        if !libc::WIFSTOPPED(status) {
            self.gone(tid, status);
            return;
        }
        let (signal, event) = (libc::WSTOPSIG(status), status >> 16);
        let mut deliver = 0;
        match (signal, event) {
            (_, libc::PTRACE_EVENT_SECCOMP) => self.entry(tid),
            (SYSCALL_STOP, 0) => self.syscall(tid),
            (_, libc::PTRACE_EVENT_FORK | libc::PTRACE_EVENT_VFORK | libc::PTRACE_EVENT_CLONE) => {
                if let Ok(child) = sys::event_message(tid) {
                    self.threads.inherit(tid, child);
                }
            }
            (_, libc::PTRACE_EVENT_EXEC) => {
                for pending in self.threads.exec(tid) {
                    (self.sink)(pending.unfinished());
                }
            }
            (libc::SIGTRAP, libc::PTRACE_EVENT_STOP) => drop(self.threads.get(tid)),
            (_, libc::PTRACE_EVENT_STOP) => {
                // A group stop: the thread stays stopped, and still sees SIGCONT.
                self.threads.get(tid);
                if sys::request(libc::PTRACE_LISTEN, tid, 0).is_ok() {
                    return;
                }
            }
            (signal, 0) => deliver = signal,
            _ => {}
        }
        self.resume(tid, deliver);
    }

    fn resume(&mut self, tid: i32, signal: i32) {
        let wants_exit = self.threads.get(tid).pending.is_some();
        let request = if wants_exit || self.mode == Mode::All { libc::PTRACE_SYSCALL } else { libc::PTRACE_CONT };
        // SIGKILL may have ended the thread since: its end is the next event.
        let _ = sys::request(request, tid, signal);
    }

    fn syscall(&mut self, tid: i32) {
        match sys::syscall(tid) {
            Ok(Syscall::Exit { result }) => self.exit(tid, result),
            Ok(Syscall::Entry { .. }) if self.mode == Mode::All => self.entry(tid),
            _ => {}
        }
    }

    fn entry(&mut self, tid: i32) {
        let Ok(Syscall::Entry { native, number, arguments }) = sys::syscall(tid) else { return };
        if !native {
            self.narrow += u64::from(self.mode == Mode::Filter || number == 54);
            return;
        }
        let pid = self.threads.get(tid).pid;
        let pending = self.capture.entry(pid, tid, number, arguments);
        let concerns = |p: &super::capture::Pending| {
            p.unmaps().is_none_or(|(address, length)| self.threads.overlaps(pid, address, length))
        };
        let pending = pending.filter(concerns);
        self.threads.get(tid).pending = pending;
    }

    fn exit(&mut self, tid: i32, result: i64) {
        let thread = self.threads.get(tid);
        let pid = thread.pid;
        let Some(pending) = thread.pending.take() else { return };
        let call = pending.exit(tid, result);
        if let (Action::Mmap { length, .. }, Ok(address)) = (&call.action, u64::try_from(result)) {
            self.threads.mapped(pid, address, *length);
        }
        (self.sink)(call);
    }

    fn gone(&mut self, tid: i32, status: i32) {
        if let Some(pending) = self.threads.remove(tid).and_then(|thread| thread.pending) {
            (self.sink)(pending.unfinished());
        }
        if tid == self.main {
            self.ended = Some(match libc::WIFSIGNALED(status) {
                true => TraceeEnd::Signal(libc::WTERMSIG(status)),
                false => TraceeEnd::Code(libc::WEXITSTATUS(status)),
            });
        }
    }

    /// Leaves all threads running. Each must be stopped for that, and they stop in any order: a parent of vfork stops
    /// after its child has run on. The kernel leaves those that do not stop in time, when cutap ends.
    fn detach(&mut self, events: &sys::EventWait) {
        for tid in self.threads.ids() {
            let _ = sys::request(libc::PTRACE_INTERRUPT, tid, 0);
        }
        let (begun, mut left) = (Instant::now(), HashSet::new());
        while !self.threads.is_empty() && begun.elapsed() < PATIENCE {
            match sys::wait(-1, true) {
                Ok(Some((tid, status))) if libc::WIFSTOPPED(status) => {
                    self.leave(tid, status, &left);
                    left.insert(tid);
                }
                Ok(Some((tid, status))) => self.gone(tid, status),
                Ok(None) => events.wait(),
                Err(_) => break,
            }
        }
        for pending in self.threads.end() {
            (self.sink)(pending.unfinished());
        }
    }

    /// Leaves a thread that is stopped. The threads in `left` were left before.
    fn leave(&mut self, tid: i32, status: i32, left: &HashSet<i32>) {
        let (signal, event) = (libc::WSTOPSIG(status), status >> 16);
        match event {
            libc::PTRACE_EVENT_FORK | libc::PTRACE_EVENT_VFORK | libc::PTRACE_EVENT_CLONE => {
                // The child stops too. Its stop may have come first.
                if let Some(child) = sys::event_message(tid).ok().filter(|child| !left.contains(child)) {
                    self.threads.get(child);
                }
            }
            libc::PTRACE_EVENT_EXEC => {
                for pending in self.threads.exec(tid) {
                    (self.sink)(pending.unfinished());
                }
            }
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
        if let Some(pending) = self.threads.remove(tid).and_then(|thread| thread.pending) {
            (self.sink)(pending.unfinished());
        }
        let _ = sys::request(libc::PTRACE_DETACH, tid, deliver);
    }
}

/// How long threads may take to stop, for a detach.
const PATIENCE: Duration = Duration::from_secs(5);

/// Results inside the kernel of calls that were interrupted and begin again: -ERESTART_RESTARTBLOCK to -ERESTARTSYS.
const AGAIN: RangeInclusive<i64> = -516..=-512;

/// The signal of a stop at a system call, by PTRACE_O_TRACESYSGOOD.
const SYSCALL_STOP: i32 = libc::SIGTRAP | 0x80;

fn tasks(pid: i32) -> Vec<i32> {
    let entries = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}
