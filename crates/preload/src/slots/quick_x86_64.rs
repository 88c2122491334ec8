//! The frame of the commonest calls: up to six integer arguments, nothing on the stack, nothing to keep but words and one small output.
//! It does what `call` and `thread::record` do for all calls, in the same order and to the same ring, without leaving the assembler.
//!
//! It only ever goes on where all is as usual. Before the call, anything else leads to the common frame with nothing changed; behind it,
//! to `cutap_quick_after`. It never touches a vector register, r10 or the caller's stack words, so that only one thing is believed
//! of the function: that it takes no arguments on the stack. It must agree with `wire::ring` and `thread::{record, reserve}`.

use super::hooks::RECORD;
use super::left;
use super::table::{self, FIRST, QUICK};
use super::thunks_x86_64::Frame;
use crate::capture::{self, quick};
use crate::loader::objects::Object;
use crate::thread::block::{Block, DEPTH, ONE_STACK, OpenCall};
use crate::thread::fork::RECORDED;
use crate::thread::{clock, record, stack};
use core::arch::global_asm;
use core::ffi::{c_int, c_void};
use core::mem::offset_of;
use core::sync::atomic::Ordering::Relaxed;
use cutap_wire::control::{Control, RECORDING_ON};
use cutap_wire::names::layer;
use cutap_wire::record::{COMMITTED, OUTPUT_LEN, OUTPUT_WORD, first_word, kind};
use cutap_wire::ring::{AHEAD, ChunkHeader, ChunkWriter};

/// A call as it stands in its frame, from its stack pointer up. The assembler below knows these offsets.
#[repr(C)]
pub struct QuickFrame {
    /// rax, rdx as the function left them.
    result: [u64; 2],
    /// The record's second word on the way in, the first on the way out.
    word: u64,
    /// Number of the call in its ring.
    pub number: u64,
    /// rax at entry.
    rax: u64,
    /// Address of the slot.
    slot: usize,
    /// r9, r8, rcx, rdx, rsi, rdi
    args: [u64; 6],
    /// The caller's rbp, and where the call returns to.
    behind: [usize; 2],
}
/// What lies below rbp.
const BYTES: usize = offset_of!(QuickFrame, behind);
const _: () = assert!(BYTES == 96 && BYTES.is_multiple_of(16));

impl QuickFrame {
    /// Where the caller's stack words would be.
    pub fn at(&self) -> usize {
        &raw const *self as usize + size_of::<QuickFrame>()
    }
    /// The same call as it would stand in the common frame.
    pub fn frame(&self) -> Frame {
        let [_, caller] = self.behind;
        let slot = table::number_at(self.slot);
        let mut args = self.args;
        args.reverse();
        Frame {
            args,
            rax: self.rax,
            r10: 0,
            xmm: [0; 8],
            stack: self.at() as *const u64,
            caller,
            target: table::slot(slot).map_or(0, |s| s.real.load(Relaxed)),
            slot,
            number: self.number as u32,
            stack_words: 0,
            result: self.result,
            result_xmm: [0; 2],
            recorded: 1,
            hooks: RECORD,
            word: 0,
        }
    }
}

unsafe extern "C" {
    fn cutap_quick_0();
    fn cutap_quick_1();
    fn cutap_quick_2();
    fn cutap_quick_3();
    fn cutap_quick_4();
    fn cutap_quick_5();
    fn cutap_quick_6();
}

/// The newest runtime of which the registry knows that no function has more arguments than it says.
const NEWEST_RUNTIME: u32 = 13;

/// Where the thunk of slot `n` may lead instead of the gate, and the first word of its enter records. The driver's exported names keep
/// their arguments for ever; what a library newer than the registry may have changed is not believed.
pub fn entry(n: u32, remembered: u32, owner: &Object) -> Option<(usize, u32)> {
    let row = capture::of(remembered)?;
    let believed = match owner.layer {
        layer::DRIVER => true,
        layer::RUNTIME => (1..=NEWEST_RUNTIME).contains(&owner.major()),
        _ => false,
    };
    if !believed || !quick::is_quick(quick::of_row(remembered)) || !clock::is_timestamp() {
        return None;
    }
    let frames: [unsafe extern "C" fn(); 7] =
        [cutap_quick_0, cutap_quick_1, cutap_quick_2, cutap_quick_3, cutap_quick_4, cutap_quick_5, cutap_quick_6];
    let frame = *frames.get(usize::from(row.ints))?;
    Some((frame as *const () as usize, first_word(kind::ENTER, 2 + u32::from(row.ints), n, 0) as u32))
}

/// After the call, where something is not as usual: its exit is not recorded yet, or (`recorded`) the call is not closed. Its result
/// is given back by the assembler.
#[unsafe(no_mangle)]
unsafe extern "C" fn cutap_quick_after(frame: *const QuickFrame, recorded: u32) {
    // SAFETY: the assembler's frame.
    let frame = unsafe { &*frame };
    match recorded {
        0 => record::after_quick(frame),
        _ => record::ended_quick(frame),
    }
}

/// The frame's personality routine: see `left`.
#[unsafe(no_mangle)]
unsafe extern "C" fn cutap_quick_personality(
    _version: c_int,
    actions: c_int,
    _class: u64,
    _exception: *mut c_void,
    context: *mut c_void,
) -> c_int {
    if actions & left::CLEANUP_PHASE != 0
        // SAFETY: the unwinder's own context; the frame's stack pointer during the call is where its fields begin.
        && let Some(frame) = unsafe { left::frame_of(context).map(|at| &*(at as *const QuickFrame)) }
    {
        record::unwound(frame.number as u32, frame.at());
    }
    left::CONTINUE_UNWIND
}

const WRITER: usize = offset_of!(Block, writer);
const OPEN: usize = offset_of!(Block, open);
const _: () = assert!(size_of::<OpenCall>() == 24 && offset_of!(QuickFrame, slot) + 56 == BYTES);

global_asm!(
    ".hidden cutap_quick_0, cutap_quick_1, cutap_quick_2, cutap_quick_3, cutap_quick_4, cutap_quick_5, cutap_quick_6",
    ".hidden cutap_quick_after, cutap_quick_personality, CUTAP_SEEN, CUTAP_CONTROL, CUTAP_FORK",
    ".hidden cutap_frame, cutap_not_on, cutap_tls",
    ".text",
    // The block of this thread to rsi, its chunk to rdi, if no record is being written.
    ".macro cutap_block otherwise",
    "  mov rsi, [rip + cutap_tls@GOTTPOFF]",
    "  mov rsi, fs:[rsi]",
    "  cmp rsi, 1",
    "  jbe \\otherwise",
    "  cmp qword ptr [rsi + {writing}], 0",
    "  jne \\otherwise",
    "  mov rdi, [rsi + {chunk}]",
    "  test rdi, rdi",
    "  jz \\otherwise",
    ".endm",
    // Takes room for `words` words behind the head in rcx: place to r8, first word, whose lower half is in edx, to rdx. The order is
    // that of `reserve::reserve` and `ChunkWriter::reserve`; rax, rcx and r9 are lost.
    ".macro cutap_reserve words, delta, otherwise",
    "  mov r9d, edx",
    "  rdtsc",
    "  shl rdx, 32",
    "  or rax, rdx",
    "  mov rdx, rax",
    "  sub rdx, [rsi + {last}]",
    "  shr rdx, 31", // a record of the whole time is due
    "  jnz \\otherwise",
    "  lea edx, [rcx + 8 * (\\words)]",
    "  cmp edx, [rsi + {room}]",
    "  ja \\otherwise",
    "  mov [rsi + {last}], rax",
    "  shl rax, 32",
    "  lea rdx, [rax + r9]",
    "  mov r8d, ecx",
    "  add r8, rdi",
    "  prefetchw [r8 + {ahead}]",
    "  mov rax, [r8]",
    "  cmp [rdi + {head}], rcx",
    "  jne \\otherwise",
    "  cmpxchg [r8], rdx",
    "  jne \\otherwise",
    "  mov rax, rcx",
    "  movabs r9, \\delta",
    "  add rcx, r9",
    "  cmpxchg [rdi + {head}], rcx",
    "  jne \\otherwise",
    "  lea rax, [rbp + 16]",
    "  mov [rsi + {writing} + 8], rax",
    "  mov [rsi + {writing}], r8",
    ".endm",
    // The record in r8 is whole.
    ".macro cutap_commit",
    "  or rdx, {committed}",
    "  mov [r8], rdx",
    "  mov qword ptr [rsi + {writing}], 0",
    ".endm",
    ".macro cutap_quick n",
    ".globl cutap_quick_\\n",
    ".type cutap_quick_\\n,@function",
    ".balign 64",
    "cutap_quick_\\n:",
    ".cfi_startproc",
    ".cfi_personality 0x1b, cutap_quick_personality",
    // The gate, as in `thunks_x86_64`.
    "  cmp dword ptr [rip + CUTAP_CONTROL + {recording}], {on}",
    "  jne cutap_not_on",
    "  cmp qword ptr [rip + CUTAP_FORK], {recorded}",
    "  jne 8f",
    "  push rbp",
    ".cfi_def_cfa_offset 16",
    ".cfi_offset rbp, -16",
    "  mov rbp, rsp",
    ".cfi_def_cfa_register rbp",
    "  push rdi",
    "  push rsi",
    "  push rdx",
    "  push rcx",
    "  push r8",
    "  push r9",
    "  push r11",
    "  push rax",
    "  sub rsp, 32",
    "  cutap_block 7f",
    "  mov eax, [rip + CUTAP_CONTROL + {epoch}]",
    "  cmp byte ptr [rsi + {inside}], 0",
    "  jne 7f",
    "  cmp eax, [rip + CUTAP_SEEN]",
    "  jne 7f",
    "  test byte ptr [r11 + {quick}], {unwanted}",
    "  jnz 7f",
    // Its parent is the innermost open call; none that the stack has left is open.
    "  mov rcx, [rdi + {head}]",
    "  mov rdx, [rsi + {depth}]",
    "  mov rax, rcx",
    "  shr rax, 32", // the number of this call
    "  xor r8d, r8d",
    "  test rdx, rdx",
    "  jz 2f",
    "  cmp rdx, {depths}",
    "  jae 7f",
    "  lea r9, [rdx + 2 * rdx]",
    "  lea r9, [rsi + 8 * r9 - 24]",
    "  lea r8, [rbp + 16]",
    "  sub r8, [r9 + {open_frame}]",
    "  cmp r8, {one_stack}",
    "  jb 7f",
    "  mov r8d, eax",
    "  sub r8d, [r9 + {open_number}]",
    "  lea r9d, [r8 - 1]",
    "  cmp r9d, 0xfffe",
    "  jae 7f",
    "  shl r8, 48",
    "2: mov r9, [rbp + 8]",
    "  shl r9, 16",
    "  shr r9, 16",
    "  or r8, r9",
    "  mov [rsp + {word}], r8",
    "  mov [rsp + {number}], rax",
    // It is open before its record is there, so that a signal handler's call finds its parent.
    "  lea r8, [rdx + 2 * rdx]",
    "  lea r8, [rsi + 8 * r8]",
    "  lea r9, [rbp + 16]",
    "  mov [r8 + {open_number}], eax",
    "  mov eax, [r11 + {first}]",
    "  mov [r8 + {open_frame}], r9",
    "  mov qword ptr [r8 + {open_reported}], 0",
    "  mov r9d, eax",
    "  shr r9d, 13",
    "  mov [r8 + {open_slot}], r9d",
    "  inc rdx",
    "  mov [rsi + {depth}], rdx",
    "  mov edx, eax",
    "  cutap_reserve \\n + 2, 0x100000000 + 8 * (\\n + 2), 6f",
    "  mov rax, [rsp + {word}]",
    "  mov [r8 + 8], rax",
    ".irp register, 0, 1, 2, 3, 4, 5",
    "  .if \\register < \\n",
    "  mov rax, [rbp - 8 - 8 * \\register]",
    "  mov [r8 + 16 + 8 * \\register], rax",
    "  .endif",
    ".endr",
    "  cutap_commit",
    "  mov rdi, [rbp - 8]",
    "  mov rsi, [rbp - 16]",
    "  mov rdx, [rbp - 24]",
    "  mov rcx, [rbp - 32]",
    "  mov r8, [rbp - 40]",
    "  mov r9, [rbp - 48]",
    "  mov rax, [rbp - 64]",
    "  call [r11]",
    "  jmp cutap_quick_end",
    // Not as usual, and nothing has happened yet.
    "6: dec qword ptr [rsi + {depth}]",
    "7: mov rdi, [rbp - 8]",
    "  mov rsi, [rbp - 16]",
    "  mov rdx, [rbp - 24]",
    "  mov rcx, [rbp - 32]",
    "  mov r8, [rbp - 40]",
    "  mov r9, [rbp - 48]",
    "  mov rax, [rbp - 64]",
    "  leave",
    ".cfi_def_cfa rsp, 8",
    "  jmp cutap_frame",
    // Not recorded, or a forked child that nobody has noticed.
    "8: cmp dword ptr [rip + CUTAP_FORK], {here}",
    "  jne cutap_frame",
    "  jmp [r11]",
    ".cfi_endproc",
    ".size cutap_quick_\\n, . - cutap_quick_\\n",
    ".endm",
    ".irp words, 0, 1, 2, 3, 4, 5, 6",
    "cutap_quick \\words",
    ".endr",
    // ---- behind the call: the frame is that of all of them
    ".type cutap_quick_end,@function",
    ".balign 64",
    "cutap_quick_end:",
    ".cfi_startproc",
    ".cfi_def_cfa rbp, 16",
    ".cfi_offset rbp, -16",
    "  mov [rsp], rax",
    "  mov [rsp + 8], rdx",
    "  cmp dword ptr [rip + CUTAP_FORK], {here}",
    "  jne 7f",
    "  cutap_block 7f",
    "  mov r11, [rbp - 56]",
    "  mov r8, rax",
    "  mov edx, {exit}",
    "  mov r9, [r11 + {quick}]",
    "  shr r9, {outputs}",
    "  jz 2f",
    "  test eax, eax",
    "  jnz 2f", // failed: there is no output
    // One output of four or eight bytes on the known stack.
    "  test rax, rax",
    "  jnz 7f",
    "  cmp r9, 0xffff",
    "  ja 7f",
    "  movzx ecx, r9b",
    "  shr r9d, 8",
    "  mov rax, rcx",
    "  neg rax",
    "  mov rax, [rbp + 8 * rax - 8]", // the argument
    "  test rax, rax",
    "  jz 2f",
    "  mov r10, rax",
    "  sub r10, [rsi + {low}]",
    "  mov r8, [rsi + {high}]",
    "  sub r8, [rsi + {low}]",
    "  sub r8, r9",
    "  jb 7f",
    "  cmp r10, r8",
    "  ja 7f",
    "  cmp r9d, 8",
    "  je 3f",
    "  cmp r9d, 4",
    "  jne 7f",
    "  mov r8d, [rax]",
    "  jmp 4f",
    "3: mov r8, [rax]",
    "  mov rax, r8",
    "  shr rax, {output_word}",
    "  jnz 7f",
    "4: shl r9d, {len_behind_word}",
    "  or ecx, r9d",
    "  shl rcx, {output_word}",
    "  or r8, rcx",
    "  mov edx, {exit_output}",
    "2: mov rcx, [rdi + {head}]",
    "  mov rax, rcx",
    "  shr rax, 32",
    "  sub eax, [rsp + {number}]",
    "  dec eax", // how many calls ago it began
    "  cmp eax, {far}",
    "  jae 7f",
    "  shl eax, 13",
    "  or edx, eax",
    "  mov [rsp + {word}], r8",
    "  cutap_reserve 2, 16, 7f",
    "  mov rax, [rsp + {word}]",
    "  mov [r8 + 8], rax",
    "  cutap_commit",
    // It is closed.
    "  mov rcx, [rsi + {depth}]",
    "  test rcx, rcx",
    "  jz 6f",
    "  lea rdx, [rcx + 2 * rcx]",
    "  mov eax, [rsi + 8 * rdx + {open_number} - 24]",
    "  cmp eax, [rsp + {number}]",
    "  jne 6f",
    "  dec rcx",
    "  mov [rsi + {depth}], rcx",
    "5: mov rax, [rsp]",
    "  mov rdx, [rsp + 8]",
    "  leave",
    ".cfi_remember_state",
    ".cfi_def_cfa rsp, 8",
    "  ret",
    ".cfi_restore_state",
    "6: mov esi, 1",
    "  jmp 8f",
    "7: xor esi, esi",
    "8: mov rdi, rsp",
    "  sub rsp, 32",
    "  movaps [rsp], xmm0",
    "  movaps [rsp + 16], xmm1",
    "  call cutap_quick_after",
    "  movaps xmm0, [rsp]",
    "  movaps xmm1, [rsp + 16]",
    "  add rsp, 32",
    "  jmp 5b",
    ".cfi_endproc",
    ".size cutap_quick_end, . - cutap_quick_end",
    recording = const offset_of!(Control, recording),
    on = const RECORDING_ON,
    recorded = const RECORDED,
    here = const RECORDED as u32,
    epoch = const offset_of!(Control, rules_epoch),
    writing = const offset_of!(Block, writing),
    inside = const offset_of!(Block, inside),
    low = const offset_of!(Block, stack) + stack::LOW,
    high = const offset_of!(Block, stack) + stack::HIGH,
    chunk = const WRITER + offset_of!(ChunkWriter, chunk),
    last = const WRITER + offset_of!(ChunkWriter, last),
    room = const WRITER + offset_of!(ChunkWriter, bytes),
    head = const offset_of!(ChunkHeader, head),
    ahead = const AHEAD,
    committed = const COMMITTED,
    quick = const QUICK,
    first = const FIRST,
    unwanted = const quick::UNWANTED,
    outputs = const quick::OUTPUTS,
    depth = const offset_of!(Block, depth),
    depths = const DEPTH,
    one_stack = const ONE_STACK,
    open_frame = const OPEN + offset_of!(OpenCall, frame),
    open_number = const OPEN + offset_of!(OpenCall, number),
    open_slot = const OPEN + offset_of!(OpenCall, slot),
    open_reported = const OPEN + offset_of!(OpenCall, reported),
    word = const offset_of!(QuickFrame, word),
    number = const offset_of!(QuickFrame, number),
    exit = const first_word(kind::EXIT, 2, 0, 0),
    exit_output = const first_word(kind::EXIT_OUTPUT, 2, 0, 0),
    output_word = const OUTPUT_WORD,
    len_behind_word = const OUTPUT_LEN - OUTPUT_WORD,
    far = const record::NEAR,
);
