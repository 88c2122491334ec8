//! The begin and the end of a system call. What may wait for the traced program is an assistant's work.

use super::super::capture::{Begin, Wanted};
use super::super::stopped::I386_IOCTL;
use super::{MEANWHILE, Mode, Tracer, Work};
use crate::call::{Action, KernelCall};
use crate::system_call::descriptor;
use cutap_ptrace::assistants::Answer;
use cutap_ptrace::memory::Remote;
use cutap_ptrace::sys::{self, Entry, Syscall};
use cutap_ptrace::untraced::{self, Changed, Flags};
use std::time::Duration;

impl Tracer<'_> {
    /// Gives an assistant work for a stopped thread. If it takes long, the thread stays stopped, and its result comes
    /// later.
    pub(super) fn assist(&mut self, tid: i32, job: impl FnOnce() -> Work + Send + 'static) {
        let pid = self.threads.get(tid).pid;
        match self.assistants.order(job) {
            Answer::Now(work) => self.take_result(tid, pid, work),
            Answer::Later(order) => {
                self.orders.insert(order, (tid, pid));
                self.threads.get(tid).away = true;
            }
        }
    }

    /// Takes results that come later. Their threads run on.
    pub(super) fn take_results(&mut self, limit: Duration) {
        while let Some((order, work)) = self.assistants.next(limit) {
            let Some((tid, pid)) = self.orders.remove(&order) else { continue };
            let runs_on = self.threads.has(tid) && std::mem::take(&mut self.threads.get(tid).away);
            self.take_result(tid, pid, work);
            if runs_on {
                self.resume(tid, 0);
            }
            if limit == MEANWHILE {
                return;
            }
        }
    }

    pub(super) fn take_result(&mut self, tid: i32, pid: i32, work: Work) {
        let lives = self.threads.has(tid);
        match work {
            Work::Memory(access) if lives => self.threads.process(tid).memory = Some(access),
            Work::Flags(Some(found)) if lives => {
                let remote = self.threads.remote(tid);
                self.threads.get(tid).cloning = Some(untraced::clear_memory(found, &remote));
            }
            Work::Begun(Some(action), started, refused) => {
                self.missed.unread += u64::from(refused && matches!(action, Action::Ioctl(_)));
                let pending = self.capture.pending(pid, tid, started, action);
                match lives {
                    true => self.threads.get(tid).pending = Some(pending),
                    false => (self.sink)(pending.unfinished()),
                }
            }
            Work::Ended(call) => self.write_call(pid, call),
            Work::Memory(_) | Work::Flags(_) | Work::Begun(None, ..) => {}
        }
    }

    pub(super) fn syscall(&mut self, tid: i32) {
        match sys::syscall(tid) {
            Ok(Syscall::Exit { result }) => self.exit(tid, result),
            Ok(Syscall::Entry(..)) if self.mode == Mode::All => self.entry(tid),
            _ => {}
        }
    }

    pub(super) fn entry(&mut self, tid: i32) {
        let Ok(Syscall::Entry(entry, value)) = sys::syscall(tid) else { return };
        let refused = matches!((self.mode, value), (Mode::Filter(ours), Some(value)) if value != u32::from(ours));
        if refused {
            // A filter of the program wants a tracer. Without one the call fails.
            let _ = sys::refuse(tid);
        }
        match untraced::flags_of(&entry).filter(|_| !refused) {
            Some(Flags::Argument(register, flags)) => {
                self.threads.get(tid).cloning = Some(untraced::clear_argument(tid, register, flags));
            }
            Some(Flags::Memory(address)) => {
                let remote = self.threads.remote(tid);
                if remote.has_pages(address, 8) {
                    let pid = self.threads.get(tid).pid;
                    return self.take_result(tid, pid, Work::Flags(untraced::find_in_memory(&remote, address)));
                }
                self.assist(tid, move || Work::Flags(untraced::find_in_memory(&remote, address)));
            }
            None if !entry.native => self.missed.narrow += u64::from(entry.number == I386_IOCTL),
            None => self.begin(tid, entry),
        }
    }

    pub(super) fn begin(&mut self, tid: i32, entry: Entry) {
        let [_, target, ..] = entry.arguments;
        let process = self.threads.process(tid);
        if [libc::SYS_dup2, libc::SYS_dup3].contains(&entry.number) {
            process.descriptors.forget_number(descriptor(target));
        }
        let capture = self.capture;
        match capture.begin(tid, entry.number, entry.arguments, &process.descriptors) {
            Begin::Pass => {}
            Begin::Hidden => self.missed.hidden += 1,
            Begin::Known(action) => {
                let pid = self.threads.get(tid).pid;
                let pending = capture.pending(pid, tid, sys::now(), action);
                let concerns = pending.unmaps().is_none_or(|(at, length)| self.threads.overlaps(pid, at, length));
                self.threads.get(tid).pending = Some(pending).filter(|_| concerns);
            }
            Begin::Read(wanted) => {
                let read = move |wanted: &Wanted, remote: &Remote| {
                    let action = capture.read(wanted, tid, remote);
                    Work::Begun(action, sys::now(), remote.is_forbidden())
                };
                if !wanted.asks_file_system() {
                    let remote = self.threads.remote(tid).at_once();
                    let work = read(&wanted, &remote);
                    if !remote.is_absent() {
                        let pid = self.threads.get(tid).pid;
                        return self.take_result(tid, pid, work);
                    }
                }
                let remote = self.threads.remote(tid);
                self.assist(tid, move || read(&wanted, &remote));
            }
        }
    }

    pub(super) fn exit(&mut self, tid: i32, result: i64) {
        if let Some(changed) = self.threads.get(tid).cloning.take() {
            // No event told of a child.
            changed.restore(tid, &self.threads.remote(tid));
            self.missed.untraced += u64::from(matches!(changed, Changed::Nothing) && result > 0);
            self.release_children();
        }
        let thread = self.threads.get(tid);
        let pid = thread.pid;
        let Some(mut pending) = thread.pending.take() else { return };
        pending.set_result(result);
        let remote = self.threads.remote(tid);
        if pending.is_present(&remote) {
            return self.write_call(pid, pending.complete(&remote));
        }
        self.assist(tid, move || Work::Ended(pending.complete(&remote)));
    }

    pub(super) fn write_call(&mut self, pid: i32, call: KernelCall) {
        if let (Action::Mmap { length, .. }, Some(Ok(address))) = (&call.action, call.result.map(u64::try_from)) {
            self.threads.mapped(pid, address, *length);
        }
        self.threads.note_call(pid, &call);
        (self.sink)(call);
    }
}
