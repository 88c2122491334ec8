//! Seccomp filters that the program installs, seen before the kernel sees them. The filter's own program is asked what
//! it says of each system call that cutap makes. What it does not plainly allow is not made any more (`sys::allowed`).
//! Before that, threads get what they cannot get later: chunks for the ring of this thread, and rings for threads that
//! make their first call behind the filter.
//!
//! Must never make a system call once a filter is installed but those that `sys::allowed` lets through.
//!
//! A child by vfork that installs a filter has its parent's memory, where nothing may change. What its filter forbids
//! is forbidden to its thread alone, and it makes no ring any more.
//!
//! Limits: only a filter that the process installs through libc is seen. One that an instruction of the program
//! installs is not, and neither is one that was there before the process began. A child that shares memory in another
//! way than by vfork is not seen either.

use crate::process::page::{self, count};
use crate::process::{clock, copy, folder, fork, names, run, switch, vfork_word};
use crate::ring::thread_states;
use crate::sys::allowed::{Calls, Whom};
use crate::sys::arch::numbers::PRCTL;
use crate::sys::arch::{AUDIT_ARCHITECTURE, SECCOMP};
use crate::sys::classic_bpf::{self, Answer};
use crate::sys::used::{USED, Used, other_arguments};
use crate::sys::{self, kept};
use cutap_wire::diagnostic::SANDBOXED;

const PR_SET_SECCOMP: usize = 22;
const PR_SET_TSC: usize = 26;
const PR_TSC_SIGSEGV: usize = 2;
/// Of prctl; seccomp's own numbers are one less.
const STRICT: usize = 1;
const FILTER: usize = 2;

const ALLOW: u32 = 0x7fff_0000;
const LOG: u32 = 0x7ffc_0000;
const ACTION: u32 = 0xffff_0000;

/// What the program is about to forbid.
pub struct Attempt {
    whom: Whom,
    calls: Calls,
    counter: bool,
}

/// Before `prctl(option, a, b)`.
pub fn prctl(option: usize, a: usize, b: usize) -> Option<Attempt> {
    match (option as u32 as usize, a) {
        (PR_SET_SECCOMP, STRICT) => attempt(all(), true),
        (PR_SET_SECCOMP, FILTER) => filter(b),
        (PR_SET_TSC, PR_TSC_SIGSEGV) => attempt(Calls::NONE, true),
        _ => None,
    }
}

/// Before `syscall(number, a, b, c)`.
pub fn syscall(number: usize, a: usize, b: usize, c: usize) -> Option<Attempt> {
    match (number, a as u32 as usize + 1) {
        (PRCTL, _) => prctl(a, b, c),
        (SECCOMP, STRICT) => attempt(all(), true),
        (SECCOMP, FILTER) => filter(c),
        _ => None,
    }
}

fn all() -> Calls {
    let mut calls = Calls::NONE;
    USED.iter().for_each(|used| calls.insert(used.number));
    calls
}

/// A filter at `at`, a `struct sock_fprog`.
fn filter(at: usize) -> Option<Attempt> {
    // Programs ask by a filter at 0 whether there are filters.
    let [length, program] = copy::program_words(at)?;
    let length = usize::from(length as u16);
    let mut window = Window { program: program as usize, length, first: usize::MAX, bytes: [0; WINDOW * 8] };
    let mut forbidden = Calls::NONE;
    for used in USED.iter().filter(|used| !allows(&mut window, used)) {
        forbidden.insert(used.number);
    }
    if forbidden == Calls::NONE { None } else { attempt(forbidden, false) }
}

/// Whether the filter allows the call with the arguments that it is asked about. They are more if it looks at
/// arguments.
fn allows(window: &mut Window, used: &Used) -> bool {
    used.arguments.iter().all(|arguments| match ask_filter(window, used.number, arguments) {
        Some(Answer { reads_arguments: true, .. }) => [*arguments]
            .into_iter()
            .chain(other_arguments(arguments))
            .all(|a| is_allowed(ask_filter(window, used.number, &a))),
        answer => is_allowed(answer),
    })
}

fn is_allowed(answer: Option<Answer>) -> bool {
    matches!(answer.map(|answer| answer.value & ACTION), Some(ALLOW | LOG))
}

fn ask_filter(window: &mut Window, number: usize, arguments: &[u64; 6]) -> Option<Answer> {
    let here = allows as *const () as u64;
    let mut data = [0u32; classic_bpf::DATA];
    let words = [here].into_iter().chain(arguments.iter().copied());
    let halves = words.flat_map(|word| [word as u32, (word >> 32) as u32]);
    for (to, from) in data.iter_mut().zip([number as u32, AUDIT_ARCHITECTURE].into_iter().chain(halves)) {
        *to = from;
    }
    classic_bpf::run(&mut |n| window.instruction(n), &data)
}

/// Instructions that are read at a time.
const WINDOW: usize = 64;

/// A part of the filter's program, which is the program's memory.
struct Window {
    program: usize,
    length: usize,
    first: usize,
    bytes: [u8; WINDOW * 8],
}

impl Window {
    fn instruction(&mut self, n: usize) -> Option<[u8; 8]> {
        let first = n - n % WINDOW;
        if first != self.first {
            let len = self.length.saturating_sub(first).min(WINDOW) * 8;
            // SAFETY: the window is that long at least.
            let read = unsafe { copy::checked(self.program.wrapping_add(first * 8), self.bytes.as_mut_ptr(), len) };
            self.first = if read == len { first } else { usize::MAX };
        }
        let at = (n - first) * 8;
        self.bytes.get(at..at + 8)?.try_into().ok().filter(|_| n < self.length && self.first == first)
    }
}

/// Prepares for it, while everything is still allowed.
fn attempt(calls: Calls, counter: bool) -> Option<Attempt> {
    if !run::is_running() {
        return None;
    }
    fork::check();
    if vfork_word::is_child() {
        return Some(of_child(calls, counter));
    }
    // Another child that has this process's memory.
    if sys::getpid() != fork::pid() {
        return None;
    }
    kept::keep_ids((fork::pid(), fork::ppid(), sys::gettid()), sys::robust_list());
    if counter {
        clock::before_stop();
    }
    if calls != Calls::NONE {
        clock::keep(folder::start_times().unwrap_or_else(clock::pair));
    }
    let is_needed = (page::is_made() || folder::has_driver()) && !switch::has_left();
    if is_needed && folder::ensure_folder() && calls.make_files() {
        thread_states::lay_in();
    }
    Some(forbid(Whom::Process, calls, counter))
}

/// The same for a child by vfork.
fn of_child(calls: Calls, counter: bool) -> Attempt {
    if !counter {
        return forbid(Whom::Thread, calls, counter);
    }
    // Its calls are counted from now on: they need no clock.
    thread_states::leave_vfork_state();
    forbid(Whom::Thread, all(), counter)
}

fn forbid(whom: Whom, mut calls: Calls, counter: bool) -> Attempt {
    // What is forbidden already stays so, whatever becomes of this attempt.
    calls.remove(&whom.forbidden());
    whom.forbid(&calls);
    Attempt { whom, calls, counter }
}

/// After it. Nothing may be asked of the kernel now.
pub fn after(attempt: &Attempt, failed: bool) {
    if failed {
        return attempt.whom.permit(&attempt.calls);
    }
    if attempt.whom == Whom::Thread {
        return count(SANDBOXED, 1);
    }
    if attempt.counter {
        clock::stop();
        switch::stop();
        report_forbidden(b"the time stamp counter: nothing is recorded from then on");
    }
    if attempt.calls == Calls::NONE || !page::is_made() {
        return;
    }
    let mut text = [0u8; 512];
    let mut length = 0;
    for used in USED.iter().filter(|used| attempt.calls.contains(used.number)) {
        let between: &[u8] = if length == 0 { b"" } else { b" " };
        for byte in between.iter().chain(used.name) {
            if let Some(to) = text.get_mut(length) {
                (*to, length) = (*byte, length + 1);
            }
        }
    }
    report_forbidden(text.get(..length).unwrap_or(&[]));
}

fn report_forbidden(description: &[u8]) {
    if page::is_made() {
        names::gap_named(SANDBOXED, description);
    } else {
        count(SANDBOXED, 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a filter says of a call by number, that kills where the first words of two arguments are so.
    fn allows_of(number: usize, (first, second): (u32, u32)) -> bool {
        let program: [(u16, u8, u8, u32); 6] = [
            (0x20, 0, 0, 16),
            (0x15, 0, 3, first),
            (0x20, 0, 0, 24),
            (0x15, 0, 1, second),
            (0x06, 0, 0, 0),
            (0x06, 0, 0, ALLOW),
        ];
        let bytes = program.map(|(code, yes, no, k)| {
            let ([a, b], [c, d, e, f]) = (code.to_le_bytes(), k.to_le_bytes());
            [a, b, yes, no, c, d, e, f]
        });
        let program = bytes.as_ptr() as usize;
        let mut window = Window { program, length: 6, first: usize::MAX, bytes: [0; WINDOW * 8] };
        allows(&mut window, USED.iter().find(|used| used.number == number).unwrap())
    }

    #[test]
    fn a_filter_is_asked_about_more_than_one_length_and_descriptor() {
        const CLOSE: usize = 3;
        const MMAP: usize = 9;
        for (number, arguments, expected) in [
            (CLOSE, (3, 0), false),
            (CLOSE, (12, 0), false),
            (CLOSE, (0, 0), true),
            (MMAP, (0, 4096), false),
            (MMAP, (0, 2 << 20), false),
            (MMAP, (0, 1 << 30), true),
        ] {
            assert_eq!(allows_of(number, arguments), expected, "{number} {arguments:?}");
        }
    }
}
