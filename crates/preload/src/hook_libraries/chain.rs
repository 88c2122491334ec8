//! The hooks of one call, one after the other. All state is in the call's own stack frame. The assembler
//! asks for the next function to call, calls it, and asks again. So no Rust frame lies between a hook and
//! the program, and an exception that leaves a hook meets no frame of cutap.

use super::errors;
use super::functions::{HOOKS, Info, MET};
use super::thread::{self, InterruptedHook, Thread};
use crate::process::{fork, switch};
use crate::ring::{record, thread_state};
use crate::slots::hooks;
use core::ffi::c_int;
use core::sync::atomic::Ordering::{Acquire, Release};
use cutap_hook::contract::Call;
use cutap_wire::hooks::{Phase, inside, returns};
use cutap_wire::record::note;

/// What the chain is doing.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Doing {
    /// Nothing: no hooks run.
    Nothing,
    /// The hooks learn of the function.
    Meeting,
    /// Before the call.
    Before,
    After,
}

/// Where the arguments of a call are.
#[derive(Clone, Copy)]
pub enum Home {
    /// Nowhere.
    None,
    /// In a frame: registers, vector registers, stack words.
    Frame(*mut u64, *mut u128, *mut u64),
    /// In a runtime's parameter block, which is not what the runtime uses; and the kernel's name.
    Parameters(*const u8, *const u8),
}

/// The hooks of a call. The assembler knows the first fields.
#[repr(C)]
pub struct Chain {
    /// What the hooks see. Its second word is handed to them as a second argument.
    pub call: Call,
    /// 1: a hook answered.
    pub answered: u32,
    /// What it is doing.
    pub doing: Doing,
    /// The function.
    pub info: Option<&'static Info>,
    pub thread: *mut Thread,
    /// Where on the stack.
    pub at: usize,
    /// Where the call returns to; 0 if that is not known.
    pub caller: usize,
    /// Where the arguments are.
    pub home: Home,
    /// The result registers, or where they will be.
    pub result: *mut u64,
    /// Its vector register.
    pub result_vectors: *mut u128,
    /// The hooks' words.
    pub words: [u64; HOOKS],
    /// Hooks that ran before.
    pub ran: u32,
    /// The one that is running, plus one.
    pub current: u32,
    /// Number of the recorded call, plus one.
    pub number: u64,
    /// What the function returned, before the hooks behind it.
    pub returned_now: u64,
    /// The hook in whose middle a signal came, if this call is its handler's, on a separate stack.
    pub interrupted: InterruptedHook,
    /// The program's errno.
    errno: c_int,
    /// How many had failed when it began: see `last_error`.
    pub failed: u32,
    /// Which process began it: a hook may fork, and its child continues in the same call.
    generation: u32,
}

/// A function to call, and its first argument.
#[repr(C)]
pub struct Next {
    function: usize,
    argument: usize,
}
const NOTHING: Next = Next { function: 0, argument: 0 };

impl Chain {
    /// Its call ended: with `real`, or it was not made; the program gets `given`.
    pub fn keep_error(&mut self, info: &Info, real: Option<u32>, given: u32) {
        // SAFETY: this thread's own entry.
        errors::track_call(unsafe { &mut *self.thread }, self.failed, info, real, given);
    }
    /// Begins the chain of a call; `false`: no hooks run.
    #[inline(always)]
    pub fn begin(&mut self, info: &'static Info, at: usize) -> bool {
        self.doing = Doing::Nothing;
        self.answered = 0;
        // A forked child under --no-follow-children is as without us.
        let Some(thread) = thread::current().filter(|_| !switch::has_left()) else { return false };
        if thread.is_inside(at) {
            return false;
        }
        self.failed = thread.failed;
        self.thread = thread;
        self.at = at;
        self.info = Some(info);
        self.call.function = &raw const info.function;
        self.ran = 0;
        self.current = 0;
        self.number = 0;
        self.generation = fork::generation();
        let announces = info.met.load(Acquire) != MET && info.claim_announcement(thread.id());
        self.doing = if announces { Doing::Meeting } else { Doing::Before };
        true
    }
    /// From before to after.
    pub fn turn(&mut self) {
        if self.doing != Doing::Nothing {
            self.doing = Doing::After;
            self.current = 0;
        }
    }
    /// What its function returns: one of `wire::hooks::returns`.
    pub fn returns(&self) -> u8 {
        self.info.map_or(returns::NOT_KNOWN, |i| i.returns)
    }
    /// Whether the function was called, or is to be.
    pub fn is_answered(&self) -> bool {
        self.answered != 0
    }
    /// Number of the library whose hook is running.
    pub fn library(&self) -> Option<u8> {
        self.info?.subscriptions.get((self.current as usize).checked_sub(1)?).map(|w| w.library)
    }
    /// Says something of this call to the trace, if it is recorded.
    pub fn write_note(&self, note_kind: u64, value: u64) {
        // The hook that says it may have forked: the ring at hand would be its parent's.
        fork::check();
        // The call of that number is its parent's.
        if self.generation != fork::generation() {
            return;
        }
        let Some(number) = self.number.checked_sub(1) else { return };
        let (Some(thread_state), Some(library)) = (thread_state::existing(), self.library()) else { return };
        record::write_note(thread_state, self.at, number as u32, note_kind | u64::from(library) << 8, value);
    }
    /// A hook changed the result. What a call that succeeded has made is there, whatever the program is told.
    pub fn keep_outputs(&mut self) {
        if !self.is_answered() && self.returned_now as u32 == 0 && self.generation == fork::generation() {
            // SAFETY: this thread's own entry.
            unsafe { (*self.thread).succeeded = self.number };
        }
    }
    /// The thread that asks is the call's: what another one did would be in no trace.
    pub fn is_ours(&self) -> bool {
        thread::existing().is_some_and(|t| core::ptr::eq(t, self.thread))
    }
    /// A hook answered.
    pub fn answer(&mut self) {
        self.answered = 1;
        self.write_note(note::HOOK_ANSWER, 0);
    }

    /// Called again and again: the next hook, or nothing more.
    pub fn step(&mut self) -> Next {
        let Some(info) = self.info.filter(|_| self.doing != Doing::Nothing) else { return NOTHING };
        // The hook that is back may have forked: its word is then no longer in its parent's file.
        fork::check();
        self.returned();
        if self.doing == Doing::Meeting {
            if let Some(next) = self.meet(info) {
                return next;
            }
            info.met.store(MET, Release);
            self.doing = Doing::Before;
            self.current = 0;
        }
        let (next, phase) = match self.doing {
            Doing::Before => (self.forward(info), Phase::Before),
            _ => (self.backward(info), Phase::After),
        };
        let Some(function) = next else { return NOTHING };
        let argument = &raw mut self.call as usize;
        self.enter(function, phase, argument)
    }

    /// The hook that was running is back.
    fn returned(&mut self) {
        if self.current == 0 {
            return;
        }
        let n = self.current as usize - 1;
        if self.doing != Doing::Meeting
            && let Some(word) = self.words.get_mut(n)
        {
            *word = self.call.user_data;
        }
        // SAFETY: this thread's own entry.
        unsafe { (*self.thread).put_out(self.errno, self.interrupted) };
    }

    fn enter(&mut self, function: usize, phase: Phase, argument: usize) -> Next {
        let (slot, library) = (self.info.map_or(0, |i| i.slot), self.library().unwrap_or(0));
        // SAFETY: this thread's own entry.
        (self.errno, self.interrupted) = unsafe { (*self.thread).put_in(self.at, inside(library, phase, slot)) };
        Next { function, argument }
    }

    fn meet(&mut self, info: &'static Info) -> Option<Next> {
        while (self.current as usize) < info.count {
            let want = info.subscriptions.get(self.current as usize)?;
            self.current += 1;
            if let Some(met) = want.met {
                self.call.user = want.user;
                return Some(self.enter(met as usize, Phase::Met, self.call.function as usize));
            }
        }
        None
    }

    /// The next hook before the call.
    fn forward(&mut self, info: &Info) -> Option<usize> {
        if self.answered != 0 {
            return None;
        }
        while (self.ran as usize) < info.count {
            let n = self.ran as usize;
            self.ran += 1;
            *self.words.get_mut(n)? = 0;
            let want = info.subscriptions.get(n)?;
            if let Some(before) = want.before {
                self.current = self.ran;
                self.call.user = want.user;
                self.call.user_data = 0;
                return Some(before as usize);
            }
        }
        self.current = 0;
        None
    }

    /// The next hook after it.
    fn backward(&mut self, info: &Info) -> Option<usize> {
        while self.ran > 0 {
            let n = self.ran as usize - 1;
            self.current = self.ran;
            self.ran -= 1;
            let want = info.subscriptions.get(n)?;
            if let Some(after) = want.after {
                self.call.user = want.user;
                self.call.user_data = *self.words.get(n)?;
                return Some(after as usize);
            }
        }
        self.current = 0;
        None
    }
}

/// True when some hook wants something of this layer.
pub fn any(layer: u32) -> bool {
    hooks::any(layer)
}
