//! What each process has for itself, and values that are made at the first use.
//!
//! A child may be forked while another thread of its parent makes the first call, or holds a lock. That thread does
//! not exist in the child, so the child would wait until it is killed. Nothing here waits for another thread. A child
//! never sees a lock of its parent.

use std::sync::atomic::{AtomicPtr, AtomicU8, AtomicU32, Ordering};

/// A page that the kernel clears in a forked child, whichever system call made the child.
#[repr(C, align(4096))]
struct Wiped {
    generation: AtomicU32,
    rest: [u8; 4092],
}

static WIPED: Wiped = Wiped { generation: AtomicU32::new(0), rest: [0; 4092] };

/// How a child is recognised: not chosen yet, by the page above, or by its number.
static MEANS: AtomicU8 = AtomicU8::new(UNDECIDED);
const UNDECIDED: u8 = 0;
const BY_PAGE: u8 = 1;
const BY_NUMBER: u8 = 2;

/// A number that differs between a process and those it was forked from. It is never 0.
pub fn generation() -> u32 {
    match MEANS.load(Ordering::Acquire) {
        BY_PAGE => match WIPED.generation.load(Ordering::Acquire) {
            0 => next_generation(),
            generation => generation,
        },
        BY_NUMBER => std::process::id(),
        _ => decide(),
    }
}

/// The first use of the page in this process.
#[cold]
fn next_generation() -> u32 {
    // Fork copies this one: it is the generation of the parent.
    static LAST: AtomicU32 = AtomicU32::new(0);
    let next = LAST.fetch_add(1, Ordering::AcqRel) + 1;
    match WIPED.generation.compare_exchange(0, next, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => next,
        Err(winner) => winner,
    }
}

#[cold]
fn decide() -> u32 {
    let page = (&raw const WIPED).cast_mut().cast();
    // SAFETY: the page is this static alone. Its content is one atomic word, for which 0 is a valid value.
    let wiped = unsafe { libc::madvise(page, size_of::<Wiped>(), libc::MADV_WIPEONFORK) } == 0;
    MEANS.store(if wiped { BY_PAGE } else { BY_NUMBER }, Ordering::Release);
    generation()
}

/// A value that never changes. Each thread that finds none makes one, and all use the first that was stored.
#[derive(Debug)]
pub struct FirstUse<T>(AtomicPtr<T>);

impl<T: Sync> FirstUse<T> {
    pub const fn empty() -> Self {
        FirstUse(AtomicPtr::new(std::ptr::null_mut()))
    }

    /// The value, and whether this call has made it.
    pub fn get(&'static self, create: impl FnOnce() -> T) -> (&'static T, bool) {
        let there = self.0.load(Ordering::Acquire);
        if !there.is_null() {
            // SAFETY: a value that is stored is never changed nor freed.
            return (unsafe { &*there }, false);
        }
        let candidate = Box::into_raw(Box::new(create()));
        match self.0.compare_exchange(there, candidate, Ordering::AcqRel, Ordering::Acquire) {
            // SAFETY: as above.
            Ok(_) => (unsafe { &*candidate }, true),
            Err(winner) => {
                // SAFETY: it was made here, and no other thread has seen it.
                drop(unsafe { Box::from_raw(candidate) });
                // SAFETY: as above.
                (unsafe { &*winner }, false)
            }
        }
    }
}

/// A value that each process makes for itself. A forked child begins with a new one.
#[derive(Debug)]
pub struct PerProcess<T>(AtomicPtr<(u32, T)>);

impl<T: Sync> PerProcess<T> {
    pub const fn empty() -> Self {
        PerProcess(AtomicPtr::new(std::ptr::null_mut()))
    }

    pub fn get(&'static self, create: fn() -> T) -> &'static T {
        let own = generation();
        let mut there = self.0.load(Ordering::Acquire);
        loop {
            // SAFETY: a value that is stored is never freed.
            if let Some((generation, value)) = unsafe { there.as_ref() }
                && *generation == own
            {
                return value;
            }
            // The parent's value stays in memory: the thread that forked may still be using it.
            let candidate = Box::into_raw(Box::new((own, create())));
            match self.0.compare_exchange(there, candidate, Ordering::AcqRel, Ordering::Acquire) {
                // SAFETY: as above.
                Ok(_) => return unsafe { &(*candidate).1 },
                Err(winner) => {
                    // SAFETY: it was made here, and no other thread has seen it.
                    drop(unsafe { Box::from_raw(candidate) });
                    there = winner;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    /// The exit code of a child, which is forked as `how` says. It is killed after ten seconds.
    fn child(how: fn() -> i32, run: fn() -> i32) -> i32 {
        match how() {
            0 => {
                // SAFETY: plain calls.
                unsafe {
                    libc::alarm(10);
                    libc::_exit(run())
                }
            }
            pid => {
                let mut status = 0;
                // SAFETY: a plain call with a place for the status.
                unsafe { libc::waitpid(pid, &mut status, 0) };
                status
            }
        }
    }

    fn fork() -> i32 {
        // SAFETY: the child only reads and writes memory, and ends by _exit.
        unsafe { libc::fork() }
    }

    /// No handler of pthread_atfork runs.
    fn raw_fork() -> i32 {
        // SAFETY: as above.
        unsafe { libc::syscall(libc::SYS_clone, libc::SIGCHLD, 0, 0, 0, 0) as i32 }
    }

    static LOCK: PerProcess<Mutex<u32>> = PerProcess::empty();

    #[test]
    fn a_child_has_its_own_lock_and_generation() {
        static PARENT: AtomicU32 = AtomicU32::new(0);
        let held = LOCK.get(Mutex::default).lock().unwrap();
        PARENT.store(generation(), Ordering::Relaxed);
        for how in [fork as fn() -> i32, raw_fork] {
            let status = child(how, || {
                let own = generation() != PARENT.load(Ordering::Relaxed) && generation() == generation();
                let mut number = LOCK.get(Mutex::default).lock().unwrap();
                *number += 1;
                i32::from(!own || *number != 1)
            });
            assert_eq!(status, 0);
        }
        drop(held);
        assert_eq!((*LOCK.get(Mutex::default).lock().unwrap(), generation()), (0, PARENT.load(Ordering::Relaxed)));
    }

    #[test]
    fn all_threads_use_the_first_value() {
        static VALUE: FirstUse<u32> = FirstUse::empty();
        let all: Vec<_> = (0..8).map(|n| std::thread::spawn(move || VALUE.get(|| n))).collect();
        let all: Vec<_> = all.into_iter().map(|thread| thread.join().unwrap()).collect();
        assert!(all.iter().all(|(value, _)| std::ptr::eq(*value, all[0].0)));
        assert_eq!(all.iter().filter(|(_, made)| *made).count(), 1);
    }
}
