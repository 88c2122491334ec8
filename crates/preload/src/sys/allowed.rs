//! Which system calls are left to cutap in a process that has installed seccomp filters. A filter may end the
//! process for a call that it forbids. So such a call is never made: it fails here with ENOSYS, and its caller does
//! what it does where a kernel lacks it. What cannot fail (an id, a clock) is answered by `kept`.

use super::forbidden_here::{WORDS, thread_words};
use super::used::nr;
use core::sync::atomic::{AtomicU64, Ordering::*};

/// System calls, by number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Calls([u64; WORDS]);

impl Calls {
    pub const NONE: Calls = Calls([0; WORDS]);

    pub fn insert(&mut self, number: usize) {
        if let Some(word) = self.0.get_mut(number / 64) {
            *word |= 1 << (number % 64);
        }
    }
    pub fn remove(&mut self, others: &Calls) {
        for (word, other) in self.0.iter_mut().zip(&others.0) {
            *word &= !other;
        }
    }
    pub fn contains(&self, number: usize) -> bool {
        self.0.get(number / 64).is_some_and(|word| word >> (number % 64) & 1 != 0)
    }
}

/// Calls that are not made. The frame of vfork looks at the first word.
pub static FORBIDDEN: [AtomicU64; WORDS] = [const { AtomicU64::new(0) }; WORDS];

/// Whether a call may be made.
#[inline(always)]
pub fn may(number: usize) -> bool {
    let free = |word: Option<&AtomicU64>| word.is_none_or(|word| word.load(Relaxed) >> (number % 64) & 1 == 0);
    free(FORBIDDEN.get(number / 64)) && free(thread_words().calls.get(number / 64))
}

/// Whether this thread is a child by vfork that installed a filter. It changes nothing that it shares with its parent.
#[inline]
pub fn has_own_filter() -> bool {
    thread_words().any.load(Relaxed) != 0
}

/// Whom a filter concerns.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Whom {
    Process,
    /// A child by vfork.
    Thread,
}

impl Whom {
    fn words(self) -> &'static [AtomicU64; WORDS] {
        match self {
            Whom::Process => &FORBIDDEN,
            Whom::Thread => &thread_words().calls,
        }
    }
    /// What is forbidden now.
    pub fn forbidden(self) -> Calls {
        let mut calls = Calls::NONE;
        for (to, from) in calls.0.iter_mut().zip(self.words()) {
            *to = from.load(Acquire);
        }
        calls
    }
    /// These are forbidden too, from now on.
    pub fn forbid(self, calls: &Calls) {
        for (to, from) in self.words().iter().zip(&calls.0) {
            to.fetch_or(*from, AcqRel);
        }
        self.mark_thread();
    }
    /// The filter was not installed after all: what another one forbids stays.
    pub fn permit(self, calls: &Calls) {
        for (to, from) in self.words().iter().zip(&calls.0) {
            to.fetch_and(!from, AcqRel);
        }
        self.mark_thread();
    }
    fn mark_thread(self) {
        if self == Whom::Thread {
            thread_words().any.store((self.forbidden() != Calls::NONE).into(), Relaxed);
        }
    }
}

/// A forked child, in the thread that forked: a filter of that thread's is the whole process's.
pub fn forked() {
    let own = Whom::Thread.forbidden();
    Whom::Process.forbid(&own);
    Whom::Thread.permit(&own);
}

/// Whether signals can be kept away for a moment.
#[inline]
pub fn may_block_signals() -> bool {
    may(nr::RT_SIGPROCMASK)
}

/// Whether a thread can wait without its processor.
pub fn may_sleep() -> bool {
    may(nr::NANOSLEEP)
}

/// Whether the kernel can be asked if memory is there.
pub fn may_ask_of_memory() -> bool {
    may(nr::RT_SIGPROCMASK) || may(nr::PROCESS_VM_READV)
}

/// Whether the kernel tells the time.
pub fn may_read_clocks() -> bool {
    may(nr::CLOCK_GETTIME)
}

/// Whether the kernel tells a thread its id.
pub fn may_tell_thread() -> bool {
    may(nr::GETTID)
}

/// Whether the kernel tells a process its id.
pub fn may_tell_process() -> bool {
    may(nr::GETPID)
}

const TO_OPEN: [usize; 4] = [nr::OPENAT, nr::FCNTL, nr::NEWFSTATAT, nr::CLOSE];
const TO_GROW: [usize; 3] = [nr::FALLOCATE, nr::MMAP, nr::PRLIMIT64];

impl Calls {
    /// Whether files cannot be made without these.
    pub fn make_files(&self) -> bool {
        TO_OPEN.into_iter().chain(TO_GROW).any(|number| self.contains(number))
    }
}

/// Whether files can be opened, made longer and mapped.
pub fn may_make_files() -> bool {
    may_open_files() && TO_GROW.into_iter().all(may)
}

/// Whether files can be opened and closed again.
pub(super) fn may_open_files() -> bool {
    TO_OPEN.into_iter().all(may)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::used::USED;

    #[test]
    fn each_call_that_is_used_has_a_place() {
        let mut calls = Calls::NONE;
        for used in USED {
            assert!(!calls.contains(used.number), "{} twice", used.number);
            calls.insert(used.number);
            assert!(calls.contains(used.number), "{} has no place", used.number);
        }
        assert!(!calls.contains(500));
    }
}
