//! The traced threads, and what is known of each process.

use super::capture::Pending;
use super::descriptors::Descriptors;
use crate::call::{Action, KernelCall};
use crate::ranges::Ranges;
use cutap_ptrace::memory::{Access, Remote};
use cutap_ptrace::process_of;
use cutap_ptrace::untraced::Changed;
use std::collections::HashMap;
use std::sync::Arc;

/// A traced thread.
#[derive(Debug, Default)]
pub(super) struct Thread {
    /// Its process.
    pub(super) pid: i32,
    /// The call in which it is.
    pub(super) pending: Option<Pending>,
    /// It makes a child, and this was changed for it.
    pub(super) cloning: Option<Changed>,
    /// It is a child, and this is to be restored at its first stop.
    pub(super) restore: Option<Changed>,
    /// An assistant works for it, so it stays stopped.
    pub(super) away: bool,
}

/// A traced process.
#[derive(Debug, Clone, Default)]
pub(super) struct Process {
    /// Mapped ranges of the driver's nodes.
    ranges: Ranges,
    pub(super) descriptors: Descriptors,
    /// None: it was not opened yet.
    pub(super) memory: Option<Arc<Access>>,
}

/// All traced threads.
#[derive(Debug, Default)]
pub(super) struct Threads {
    all: HashMap<i32, Thread>,
    processes: HashMap<i32, Process>,
}

impl Threads {
    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    pub(super) fn ids(&self) -> Vec<i32> {
        self.all.keys().copied().collect()
    }

    pub(super) fn has(&self, tid: i32) -> bool {
        self.all.contains_key(&tid)
    }

    /// A thread; a new one is added.
    pub(super) fn get(&mut self, tid: i32) -> &mut Thread {
        self.all.entry(tid).or_insert_with(|| Thread { pid: process_of(tid), ..Thread::default() })
    }

    /// The process of a thread.
    pub(super) fn process(&mut self, tid: i32) -> &mut Process {
        let pid = self.get(tid).pid;
        self.processes.entry(pid).or_default()
    }

    /// The memory of a thread.
    pub(super) fn remote(&mut self, tid: i32) -> Remote {
        Remote::new(tid, self.process(tid).memory.clone().unwrap_or_default())
    }

    /// Whether a thread makes a child for which something was changed.
    pub(super) fn any_is_cloning(&self) -> bool {
        self.all.values().any(|thread| thread.cloning.is_some())
    }

    /// A thread that has ended.
    pub(super) fn remove(&mut self, tid: i32) -> Option<Thread> {
        let thread = self.all.remove(&tid)?;
        if !self.all.values().any(|t| t.pid == thread.pid) {
            self.processes.remove(&thread.pid);
        }
        Some(thread)
    }

    /// Exec has ended all other threads of a process, and the calling thread has its number now. The calls that the
    /// other threads did not finish.
    pub(super) fn exec(&mut self, pid: i32) -> Vec<Pending> {
        self.processes.remove(&pid);
        let other_tids: Vec<i32> = self.all.iter().filter(|(_, t)| t.pid == pid).map(|(tid, _)| *tid).collect();
        let lost_threads: Vec<Thread> = other_tids.iter().filter_map(|tid| self.all.remove(tid)).collect();
        self.all.insert(pid, Thread { pid, ..Thread::default() });
        lost_threads.into_iter().filter_map(|thread| thread.pending).collect()
    }

    /// No thread is traced any more. The calls that were not finished.
    pub(super) fn end(&mut self) -> Vec<Pending> {
        std::mem::take(&mut self.all).into_values().filter_map(|thread| thread.pending).collect()
    }

    /// A child of fork has its parent's mappings and descriptors.
    pub(super) fn inherit(&mut self, parent: i32, child: i32) {
        let of_parent = self.all.get(&parent).map_or(parent, |t| t.pid);
        let of_child = self.get(child).pid;
        if let Some(process) = self.processes.get(&of_parent).filter(|_| of_parent != of_child) {
            let inherited = Process { memory: None, ..process.clone() };
            let child_process = self.processes.entry(of_child).or_default();
            // Its first stop may have come before.
            *child_process = Process { memory: child_process.memory.take(), ..inherited };
        }
    }

    pub(super) fn mapped(&mut self, pid: i32, address: u64, length: u64) {
        self.processes.entry(pid).or_default().ranges.add(address, length);
    }

    /// Whether a range of a process overlaps a mapping of the driver.
    pub(super) fn overlaps(&self, pid: i32, address: u64, length: u64) -> bool {
        self.processes.get(&pid).is_some_and(|process| process.ranges.overlap(address, length))
    }

    /// Keeps what a call of a process changed.
    pub(super) fn note_call(&mut self, pid: i32, call: &KernelCall) {
        if let Some(process) = self.processes.get_mut(&pid) {
            process.descriptors.note_call(call);
            if let (Action::Munmap { address, length }, Some(0)) = (&call.action, call.result) {
                process.ranges.remove(*address, *length);
            }
        }
    }
}
