//! The loop of the tracer: it waits for a stop, captures the system call, and resumes the thread.

mod calls;
mod children;
mod leave;

use super::capture::Capture;
use super::threads::Threads;
use crate::call::{Action, KernelCall};
use crate::error::Result;
use cutap_ptrace::assistants::Assistants;
use cutap_ptrace::memory::Access;
use cutap_ptrace::untraced::Changed;
use cutap_ptrace::{Gate, attach, sys};
use cutap_rm::Tables;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

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
    /// Those of the seccomp filter whose stops have this value.
    Filter(u16),
    /// All of them.
    All,
}

/// What a trace by ptrace lacks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Missed {
    /// ioctls of 32-bit code, which are not decoded.
    pub narrow: u64,
    /// ioctls with a request that the driver has, on a file that could not be looked up.
    pub hidden: u64,
    /// ioctls that are shown without their argument, for memory could not be read.
    pub unread: u64,
    /// Children without a tracer.
    pub untraced: u64,
}

/// Traces a program and its children, or a running process.
pub struct Tracer<'a> {
    capture: Capture,
    mode: Mode,
    main: i32,
    threads: Threads,
    assistants: Assistants<Work>,
    /// Which thread and process an open order is for.
    orders: HashMap<u64, (i32, i32)>,
    /// Children that stopped before it was known whose they are.
    held_children: HashSet<i32>,
    /// The end of the main process.
    main_end: Option<TraceeEnd>,
    sink: &'a mut dyn FnMut(KernelCall),
    missed: Missed,
}

/// What an assistant did.
enum Work {
    /// It opened the memory of a process.
    Memory(Arc<Access>),
    /// It read what a call begins with, at this time; whether a read was refused.
    Begun(Option<Action>, u64, bool),
    /// It read what a call ended with.
    Ended(KernelCall),
    /// It looked for the flag of a clone in memory.
    Flags(Option<Changed>),
}

impl std::fmt::Debug for Tracer<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tracer").field("main", &self.main).field("threads", &self.threads).finish_non_exhaustive()
    }
}

impl<'a> Tracer<'a> {
    /// For a child that passed this gate. `sink` receives the calls as they end.
    pub fn of_child(child: i32, gate: &Gate, tables: Tables, sink: &'a mut dyn FnMut(KernelCall)) -> Self {
        Self::new(child, tables, Mode::Filter(gate.value()), sink)
    }

    /// For a running process: all its threads.
    ///
    /// # Errors
    /// The process does not exist, or the system does not allow it.
    pub fn attach(pid: i32, tables: Tables, sink: &'a mut dyn FnMut(KernelCall)) -> Result<Self> {
        let mut tracer = Self::new(pid, tables, Mode::All, sink);
        for tid in attach::seize_all(pid)? {
            tracer.threads.get(tid);
        }
        Ok(tracer)
    }

    fn new(main: i32, tables: Tables, mode: Mode, sink: &'a mut dyn FnMut(KernelCall)) -> Self {
        Self {
            capture: Capture { tables, start: sys::now() },
            mode,
            main,
            threads: Threads::default(),
            assistants: Assistants::without_threads(),
            orders: HashMap::new(),
            held_children: HashSet::new(),
            main_end: None,
            sink,
            missed: Missed::default(),
        }
    }

    /// What the trace lacks.
    #[must_use]
    pub fn missed(&self) -> Missed {
        self.missed
    }

    /// Runs until the last traced process has ended, or until `stop` is set: then it detaches. A program with the
    /// filter is never left, for its system calls would fail without a tracer.
    pub fn run(&mut self, stop: &AtomicBool) -> TraceeEnd {
        let events = (self.mode == Mode::All).then(sys::EventWait::start);
        loop {
            if self.mode == Mode::All && stop.load(Ordering::Relaxed) {
                events.iter().for_each(|events| self.detach(events));
                return self.main_end.unwrap_or(TraceeEnd::Detached);
            }
            let busy = self.assistants.are_busy();
            match sys::wait(-1, self.mode == Mode::All || busy) {
                Ok(Some((tid, status))) => self.event(tid, status),
                Ok(None) if busy => self.take_results(MEANWHILE),
                Ok(None) => events.iter().for_each(sys::EventWait::wait),
                // There is no child any more.
                Err(_) => {
                    self.take_results(AT_THE_END);
                    return self.main_end.unwrap_or(TraceeEnd::Unseen);
                }
            }
            if self.mode == Mode::All && self.threads.is_empty() {
                self.take_results(AT_THE_END);
                return self.main_end.unwrap_or(TraceeEnd::Unseen);
            }
        }
    }

    fn event(&mut self, tid: i32, status: i32) {
        if !libc::WIFSTOPPED(status) {
            self.thread_ended(tid, status);
            return;
        }
        let (signal, event) = (libc::WSTOPSIG(status), status >> 16);
        let mut deliver = 0;
        match (signal, event) {
            (_, libc::PTRACE_EVENT_SECCOMP) => self.entry(tid),
            (SYSCALL_STOP, 0) => self.syscall(tid),
            (_, libc::PTRACE_EVENT_FORK | libc::PTRACE_EVENT_VFORK | libc::PTRACE_EVENT_CLONE) => self.child_of(tid),
            (_, libc::PTRACE_EVENT_EXEC) => {
                self.exec(tid);
                self.open_memory(tid);
            }
            (_, libc::PTRACE_EVENT_STOP) => {
                if !self.threads.has(tid) && self.threads.any_is_cloning() {
                    self.held_children.insert(tid);
                    return;
                }
                self.first_stop(tid);
                // A group stop: the thread stays stopped, and still sees SIGCONT.
                if signal != libc::SIGTRAP && sys::request(libc::PTRACE_LISTEN, tid, 0).is_ok() {
                    return;
                }
            }
            (signal, 0) => deliver = signal,
            _ => {}
        }
        self.resume(tid, deliver);
    }

    /// Lets a thread run on, unless an assistant works for it.
    fn resume(&mut self, tid: i32, signal: i32) {
        let thread = self.threads.get(tid);
        if thread.away {
            return;
        }
        let wants_exit = thread.pending.is_some() || thread.cloning.is_some();
        let request = if wants_exit || self.mode == Mode::All { libc::PTRACE_SYSCALL } else { libc::PTRACE_CONT };
        // SIGKILL may have ended the thread since: its end is the next event.
        let _ = sys::request(request, tid, signal);
    }

    /// Exec has ended all other threads of a process.
    fn exec(&mut self, pid: i32) {
        for pending in self.threads.exec(pid) {
            (self.sink)(pending.unfinished());
        }
        // What assistants still read is of threads that are gone.
        self.orders.values_mut().filter(|(_, process)| *process == pid).for_each(|(tid, _)| *tid = 0);
    }

    fn open_memory(&mut self, tid: i32) {
        self.assist(tid, move || Work::Memory(Access::open(tid)));
    }

    fn thread_ended(&mut self, tid: i32, status: i32) {
        if let Some(pending) = self.threads.remove(tid).and_then(|thread| thread.pending) {
            (self.sink)(pending.unfinished());
        }
        self.held_children.remove(&tid);
        self.release_children();
        if tid == self.main {
            self.main_end = Some(match libc::WIFSIGNALED(status) {
                true => TraceeEnd::Signal(libc::WTERMSIG(status)),
                false => TraceeEnd::Code(libc::WEXITSTATUS(status)),
            });
        }
    }
}

/// How long the tracer waits for an assistant before it looks for events again.
const MEANWHILE: Duration = Duration::from_millis(1);
/// How long it waits when there are no events any more.
const AT_THE_END: Duration = Duration::from_millis(200);

/// The signal of a stop at a system call, by PTRACE_O_TRACESYSGOOD.
const SYSCALL_STOP: i32 = libc::SIGTRAP | 0x80;
