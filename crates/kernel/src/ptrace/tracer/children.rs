//! New threads and processes. The stop of a child may come before the event of its parent.

use super::Tracer;
use cutap_ptrace::memory::Access;
use cutap_ptrace::sys;

impl Tracer<'_> {
    /// A new thread stops, or one that was interrupted.
    pub(super) fn first_stop(&mut self, tid: i32) {
        if let Some(changed) = self.threads.get(tid).restore.take() {
            // It runs no exec, so this does not wait.
            self.threads.process(tid).memory.get_or_insert_with(|| Access::open(tid));
            changed.restore(tid, &self.threads.remote(tid));
        }
        if self.threads.process(tid).memory.is_none() {
            self.open_memory(tid);
        }
    }

    /// A thread has made a child.
    pub(super) fn child_of(&mut self, tid: i32) {
        let Ok(child) = sys::event_message(tid) else { return };
        self.threads.inherit(tid, child);
        if let Some(changed) = self.threads.get(tid).cloning.take() {
            changed.restore(tid, &self.threads.remote(tid));
            self.threads.get(child).restore = Some(changed);
        }
        if self.held_children.remove(&child) {
            self.start_child(child);
        }
        self.release_children();
    }

    /// A child that was held runs on.
    pub(super) fn start_child(&mut self, child: i32) {
        self.first_stop(child);
        self.resume(child, 0);
    }

    /// Lets children run whose parents were killed.
    pub(super) fn release_children(&mut self) {
        if !self.held_children.is_empty() && !self.threads.any_is_cloning() {
            std::mem::take(&mut self.held_children).into_iter().for_each(|child| self.start_child(child));
        }
    }
}
