//! The traced threads, and the mapped ranges of each process.

use super::capture::Pending;
use std::collections::HashMap;

/// A traced thread.
#[derive(Debug)]
pub(super) struct Thread {
    /// Its process.
    pub(super) pid: i32,
    /// The call in which it is.
    pub(super) pending: Option<Pending>,
}

/// All traced threads.
#[derive(Debug, Default)]
pub(super) struct Threads {
    all: HashMap<i32, Thread>,
    /// Mapped ranges of the driver's nodes, by process.
    ranges: HashMap<i32, Vec<(u64, u64)>>,
}

impl Threads {
    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    pub(super) fn ids(&self) -> Vec<i32> {
        self.all.keys().copied().collect()
    }

    /// A thread; a new one is added.
    pub(super) fn get(&mut self, tid: i32) -> &mut Thread {
        self.all.entry(tid).or_insert_with(|| Thread { pid: process_of(tid), pending: None })
    }

    /// A thread that has ended.
    pub(super) fn remove(&mut self, tid: i32) -> Option<Thread> {
        let thread = self.all.remove(&tid);
        if !self.all.values().any(|t| t.pid == tid) {
            self.ranges.remove(&tid);
        }
        thread
    }

    /// Exec has ended all other threads of a process, and the calling thread has its number now. The calls that the
    /// other threads did not finish.
    pub(super) fn exec(&mut self, pid: i32) -> Vec<Pending> {
        self.ranges.remove(&pid);
        let others: Vec<i32> = self.all.iter().filter(|(_, t)| t.pid == pid).map(|(tid, _)| *tid).collect();
        let ended: Vec<Thread> = others.iter().filter_map(|tid| self.all.remove(tid)).collect();
        self.all.insert(pid, Thread { pid, pending: None });
        ended.into_iter().filter_map(|thread| thread.pending).collect()
    }

    /// No thread is traced any more. The calls that were not finished.
    pub(super) fn end(&mut self) -> Vec<Pending> {
        std::mem::take(&mut self.all).into_values().filter_map(|thread| thread.pending).collect()
    }

    /// A child of fork has its parent's mappings.
    pub(super) fn inherit(&mut self, parent: i32, child: i32) {
        let of_parent = self.all.get(&parent).map_or(parent, |t| t.pid);
        let of_child = self.get(child).pid;
        if let Some(ranges) = self.ranges.get(&of_parent).cloned().filter(|_| of_parent != of_child) {
            self.ranges.insert(of_child, ranges);
        }
    }

    pub(super) fn mapped(&mut self, pid: i32, address: u64, length: u64) {
        self.ranges.entry(pid).or_default().push((address, address.saturating_add(length)));
    }

    /// Whether a range of a process overlaps a mapping of the driver.
    pub(super) fn overlaps(&self, pid: i32, address: u64, length: u64) -> bool {
        let end = address.saturating_add(length);
        self.ranges.get(&pid).is_some_and(|all| all.iter().any(|(from, to)| *from < end && address < *to))
    }
}

/// The process of a thread.
fn process_of(tid: i32) -> i32 {
    let status = super::refused::status_of(tid);
    let line = status.lines().find_map(|line| line.strip_prefix("Tgid:"));
    line.and_then(|pid| pid.trim().parse().ok()).unwrap_or(tid)
}
