//! The frame of a hooked function: the slot of such a function, or the inside of the one that records
//! it, leads here. It keeps every argument register, copies stack words first so that a hook can change
//! them, calls the hooks, and calls the function unless one of them answered. Unwind data all the way;
//! its personality says that a hook was left.

use super::arguments::{argument_macros, end_of_argument_macros};
use super::thunks::frame_called;
use crate::hook_libraries::chain::{Chain, Doing, Home};
use crate::hook_libraries::functions::Info;
use crate::hook_libraries::thread;
use crate::process::fork;
use crate::ring::record;
use crate::slots::frame::{self, Frame, STACK_WORDS};
use crate::slots::slot::Slot;
use crate::slots::{interceptors, table, unwound};
use core::arch::global_asm;
use core::arch::x86_64::{__m128i, _mm_loadu_si128};
use core::ffi::{c_int, c_void};
use core::mem::offset_of;
use core::sync::atomic::Ordering::Relaxed;
use cutap_hook::contract::RUNTIME;

/// A call as it stands in its frame. The assembler knows these offsets.
#[repr(C)]
pub struct Hooked {
    /// rdi, rsi, rdx, rcx, r8, r9
    args: [u64; 6],
    rax: u64,
    r10: u64,
    xmm: [u128; 8],
    /// The caller's stack arguments.
    stack: *const u64,
    /// What will be called.
    target: usize,
    slot: u32,
    _pad: u32,
    result: [u64; 2],
    _pad2: u64,
    result_xmm: [u128; 2],
    chain: Chain,
    /// What the outgoing words were: they are the function's own while it runs. Copied by two at a time.
    original_stack: [u128; STACK_WORDS / 2],
}

const OUTGOING: usize = STACK_WORDS * 8;
const BYTES: usize = (OUTGOING + size_of::<Hooked>()).next_multiple_of(16);
const CHAIN: usize = OUTGOING + offset_of!(Hooked, chain);

const _: () = {
    assert!(OUTGOING == 320);
    assert!(offset_of!(Hooked, xmm) == 64);
    assert!(offset_of!(Hooked, stack) == 192);
    assert!(offset_of!(Hooked, target) == 200);
    assert!(offset_of!(Hooked, slot) == 208);
    assert!(offset_of!(Hooked, result) == 216);
    assert!(offset_of!(Hooked, result_xmm) == 240);
    assert!(offset_of!(Chain, answered) == 24);
};

/// Where a hooked slot leads.
pub fn entry() -> usize {
    cutap_hooked as *const () as usize
}

unsafe extern "C" {
    fn cutap_hooked();
}

/// Copies stack words, nearly always all of them: then without a call.
///
/// # Safety
/// That many words can be read; `to` has room for them, and lies as two words do.
#[inline(always)]
unsafe fn copy(from: *const u64, to: *mut u64, words: usize) {
    if words != STACK_WORDS {
        // SAFETY: the caller's promise.
        return unsafe { core::ptr::copy_nonoverlapping(from, to, words) };
    }
    for n in 0..STACK_WORDS / 2 {
        // SAFETY: the caller's promise; volatile, or the compiler calls memcpy after all.
        unsafe { to.cast::<__m128i>().add(n).write_volatile(_mm_loadu_si128(from.cast::<__m128i>().add(n))) };
    }
}

/// Before the hooks.
#[unsafe(no_mangle)]
unsafe extern "C" fn cutap_hooked_begin(hooked: *mut Hooked) {
    // SAFETY: the assembler's frame; the chain is written before it is read.
    let h = unsafe { &mut *hooked };
    let outgoing = (hooked as usize - OUTGOING) as *mut u64;
    // SAFETY: as many words as can be read; the outgoing area lies in front of the frame.
    unsafe { copy(h.stack, outgoing, frame::stack_words(h.stack as usize)) };
    h.chain.doing = Doing::Nothing;
    h.chain.answered = 0;
    fork::check();
    let Some(slot) = table::slot(h.slot) else { return };
    h.target = slot.real.load(Relaxed);
    let Some(info) = slot.info() else { return };
    if !h.chain.begin(info, hooked as usize) {
        return;
    }
    h.chain.home = Home::Frame(h.args.as_mut_ptr(), h.xmm.as_mut_ptr(), outgoing);
    h.chain.result = h.result.as_mut_ptr();
    h.chain.result_xmm = h.result_xmm.as_mut_ptr();
    h.chain.caller = caller(h);
    h.chain.number = number(info);
    if info.function.layer == RUNTIME {
        crate::hook_libraries::open::bound(&mut h.chain, info);
    }
}

/// Where the program's call returns to: in front of the stack arguments, unless the frame that records the call is
/// between, which knows it. It is not while nothing is recorded.
fn caller(h: &Hooked) -> usize {
    // SAFETY: a return address; and, if it is the frame's, that frame, behind the words that it passes on.
    unsafe {
        match (h.stack as *const usize).sub(1).read() {
            back if back == frame_called() => (*h.stack.cast::<u8>().add(OUTGOING).cast::<Frame>()).caller,
            back => back,
        }
    }
}

/// The call as the recording frame around this one wrote it.
fn number(info: &Info) -> u64 {
    let open = record::ready().and_then(|thread_state| thread_state.top().copied());
    open.filter(|c| c.slot == info.slot).map_or(0, |c| u64::from(c.number) + 1)
}

/// No hook has answered: the function is called next.
#[unsafe(no_mangle)]
unsafe extern "C" fn cutap_hooked_call(hooked: *mut Hooked) {
    // SAFETY: the assembler's frame.
    let h = unsafe { &mut *hooked };
    // Where no hooks run nothing else of the chain is written.
    if h.chain.doing == Doing::Before
        && let Home::Frame(args, xmm, outgoing) = h.chain.home
    {
        let original = h.original_stack.as_mut_ptr().cast();
        // SAFETY: the outgoing area, which was filled.
        unsafe { copy(outgoing, original, STACK_WORDS) };
        h.chain.home = Home::Frame(args, xmm, original);
    }
    if let Some(outer) = outer(h) {
        interceptors::keep_inputs(outer.interceptors(), &h.args);
    }
}

/// The slot whose frame records the calls of this one, if there is one.
fn outer(h: &Hooked) -> Option<&'static Slot> {
    let info = table::slot(h.slot)?.info()?;
    table::slot(info.slot).filter(|_| info.slot != h.slot)
}

/// Between the call, or the answer, and the hooks after it.
#[unsafe(no_mangle)]
unsafe extern "C" fn cutap_hooked_turn(hooked: *mut Hooked) {
    // SAFETY: the assembler's frame.
    let h = unsafe { &mut *hooked };
    fork::check();
    if let (Some(outer), [result, _]) = (outer(h), h.result) {
        interceptors::keep_results(outer.interceptors(), outer.name(), &h.args, result);
    }
    if h.chain.is_answered() {
        let [_, second] = &mut h.result;
        *second = 0;
    }
    h.chain.turn();
    h.chain.returned_now = h.result.first().copied().unwrap_or(0);
}

/// After the hooks.
#[unsafe(no_mangle)]
unsafe extern "C" fn cutap_hooked_end(hooked: *mut Hooked) {
    // SAFETY: the assembler's frame.
    let h = unsafe { &mut *hooked };
    let Some(info) = h.chain.info.filter(|_| h.chain.doing == Doing::After) else { return };
    if info.function.layer == RUNTIME {
        crate::hook_libraries::open::bound_ended(&mut h.chain);
        let real = (!h.chain.is_answered()).then_some(h.chain.returned_now as u32);
        h.chain.keep_error(info, real, h.result.first().map_or(0, |r| *r as u32));
    }
}

const CLEANUP_PHASE: c_int = 2;
const CONTINUE_UNWIND: c_int = 8;

/// The frame's personality routine: an exception, pthread_exit or cancellation leaves it.
#[unsafe(no_mangle)]
unsafe extern "C" fn cutap_hooked_personality(
    _version: c_int,
    actions: c_int,
    _class: u64,
    exception: *const unwound::Exception,
    context: *mut c_void,
) -> c_int {
    if actions & CLEANUP_PHASE != 0
        // SAFETY: the unwinder's own context.
        && let Some(outgoing) = unsafe { unwound::frame_of(context) }
    {
        // A hook that is left may have forked.
        fork::check();
        if let Some(thread) = thread::existing() {
            let at = outgoing + OUTGOING;
            // SAFETY: the assembler's frame, whose hook was running.
            thread.frame_unwound(at, || unsafe { (*(at as *const Hooked)).chain.interrupted });
        }
        // Where the call itself is not recorded. SAFETY: the unwinder's own.
        record::unwound_around(outgoing, unsafe { unwound::end_of(exception) });
    }
    CONTINUE_UNWIND
}

global_asm!(
    ".hidden cutap_hooked, cutap_hooked_begin, cutap_hooked_call, cutap_hooked_turn, cutap_hooked_end, cutap_hook_step",
    ".hidden cutap_hooked_personality",
    argument_macros!(),
    ".globl cutap_hooked",
    ".text",
    ".type cutap_hooked,@function",
    "cutap_hooked:",
    ".cfi_startproc",
    ".cfi_personality 0x1b, cutap_hooked_personality",
    "  push rbp",
    ".cfi_def_cfa_offset 16",
    ".cfi_offset rbp, -16",
    "  mov rbp, rsp",
    ".cfi_def_cfa_register rbp",
    "  and rsp, -16",
    "  sub rsp, {bytes}",
    "  cutap_keep_arguments 320",
    "  lea rax, [rip + CUTAP_SLOTS]",
    "  sub r11, rax",
    "  shr r11, 6",
    "  mov [rsp + 528], r11d",
    "  lea rdi, [rsp + 320]",
    "  call cutap_hooked_begin",
    "2: lea rdi, [rsp + {chain}]",
    "  call cutap_hook_step",
    "  test rax, rax",
    "  jz 3f",
    "  mov rdi, rdx",
    "  mov rsi, [rsp + {chain} + 8]",
    "  call rax",
    "  jmp 2b",
    "3: cmp dword ptr [rsp + {chain} + 24], 0",
    "  jne 4f",
    "  lea rdi, [rsp + 320]",
    "  call cutap_hooked_call",
    "  cutap_give_arguments 320",
    "  call [rsp + 520]",
    "  mov [rsp + 536], rax",
    "  mov [rsp + 544], rdx",
    "  movaps [rsp + 560], xmm0",
    "  movaps [rsp + 576], xmm1",
    "4: lea rdi, [rsp + 320]",
    "  call cutap_hooked_turn",
    "5: lea rdi, [rsp + {chain}]",
    "  call cutap_hook_step",
    "  test rax, rax",
    "  jz 6f",
    "  mov rdi, rdx",
    "  mov rsi, [rsp + {chain} + 8]",
    "  call rax",
    "  jmp 5b",
    "6: lea rdi, [rsp + 320]",
    "  call cutap_hooked_end",
    "  mov rax, [rsp + 536]",
    "  mov rdx, [rsp + 544]",
    "  movaps xmm0, [rsp + 560]",
    "  movaps xmm1, [rsp + 576]",
    "  leave",
    ".cfi_def_cfa rsp, 8",
    "  ret",
    ".cfi_endproc",
    ".size cutap_hooked, . - cutap_hooked",
    end_of_argument_macros!(),
    bytes = const BYTES,
    chain = const CHAIN,
);
