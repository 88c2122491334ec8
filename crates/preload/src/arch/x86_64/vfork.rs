//! vfork: its child has our memory and the thread's own words too, while the parent waits. So the words are put aside
//! in registers, which each of the two has for itself; the child begins without them, and makes a folder and a ring of
//! its own at its first call; the parent finds them as they were, whatever the child did, and however it ended. Signals
//! wait meanwhile: a handler in between would find the other's words.
//!
//! Must never be on the stack between the two: the child returns first, and writes over it. What the real one does
//! beyond the system call (errno, a shadow stack) is left to it. What goes wrong for the child must leave no mark in
//! the parent.

use crate::exec::vfork::REAL;
use crate::exec::vfork_memory;
use crate::process::{folder, fork, vfork_word::CHILD};
use crate::ring::{owner, thread_state::ThreadState};
use crate::sys;

/// A forked child that was not noticed must be noticed before it has a child of this kind, which would do it in its
/// name.
extern "C" fn check() {
    fork::check();
}

/// The child has ended, or runs another program: nothing of its state is needed any more. `pointer`: null, being made,
/// or the child's.
unsafe extern "C" fn child_finished(pointer: *mut ThreadState, child: u32) {
    folder::given_up_by(child);
    vfork_memory::unmap_of_child(child);
    // SAFETY: a thread state that the child made; no other thread knows of it.
    unsafe {
        if pointer as usize > 1 && !(*pointer).vfork_page.is_null() {
            owner::release_dead(pointer);
        }
    }
}

#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vfork() {
    core::arch::naked_asm!(
        ".cfi_startproc",
        "endbr64",
        "mov rax, [rip + {real}]",
        "test rax, rax",
        "jnz 6f",
        // The child of a child that installed a filter.
        "mov rax, [rip + cutap_forbidden_here@GOTTPOFF]",
        "cmp qword ptr fs:[rax], 0",
        "jne 4f",
        // A shadow stack is the child's too.
        "test dword ptr fs:[0x48], 2",
        "jnz 4f",
        "sub rsp, 24",
        ".cfi_adjust_cfa_offset 24",
        "cmp dword ptr [rip + CUTAP_FORK], {here}",
        "je 1f",
        "call {check}",
        // Signals, if a sandbox lets us block them.
        "1: test dword ptr [rip + {forbidden}], {no_mask}",
        "jnz 7f",
        "movabs rax, {signals}",
        "mov [rsp], rax",
        "mov edi, 2",
        "mov rsi, rsp",
        "lea rdx, [rsp + 8]",
        "mov r10d, 8",
        "mov eax, 14",
        "syscall",
        "mov rsi, [rsp + 8]",
        "add rsp, 24",
        ".cfi_adjust_cfa_offset -24",
        "test eax, eax",
        "jnz 4f",
        "mov rax, [rip + cutap_tls@GOTTPOFF]",
        "mov r8, fs:[rax]",
        "mov rax, [rip + cutap_counts@GOTTPOFF]",
        "mov r9, fs:[rax]",
        "mov rax, [rip + cutap_hook_tls@GOTTPOFF]",
        "mov r10, fs:[rax]",
        "mov rax, [rip + cutap_vforked@GOTTPOFF]",
        "mov rdx, fs:[rax]",
        "pop rdi",
        ".cfi_adjust_cfa_offset -8",
        ".cfi_register rip, rdi",
        "mov eax, 58",
        "syscall",
        "push rdi",
        ".cfi_adjust_cfa_offset 8",
        ".cfi_offset rip, -8",
        "push rax",
        ".cfi_adjust_cfa_offset 8",
        "push rsi",
        ".cfi_adjust_cfa_offset 8",
        "test eax, eax",
        "js 3f",
        "jz 2f",
        // ---- the parent
        "mov rcx, [rip + cutap_counts@GOTTPOFF]",
        "mov fs:[rcx], r9",
        "mov rcx, [rip + cutap_hook_tls@GOTTPOFF]",
        "mov fs:[rcx], r10",
        "mov rcx, [rip + cutap_vforked@GOTTPOFF]",
        "mov fs:[rcx], rdx",
        "mov rcx, [rip + cutap_forbidden_here@GOTTPOFF]",
        "mov qword ptr fs:[rcx], 0",
        "mov qword ptr fs:[rcx + 8], 0",
        "mov qword ptr fs:[rcx + 16], 0",
        "mov qword ptr fs:[rcx + 24], 0",
        "mov qword ptr fs:[rcx + 32], 0",
        "mov qword ptr fs:[rcx + 40], 0",
        "mov rcx, [rip + cutap_tls@GOTTPOFF]",
        "mov rdi, fs:[rcx]",
        "mov fs:[rcx], r8",
        // The parent's: the child was killed before it came to its first instruction.
        "xor ecx, ecx",
        "cmp rdi, r8",
        "cmove rdi, rcx",
        "mov esi, eax",
        "sub rsp, 8",
        ".cfi_adjust_cfa_offset 8",
        "call {over}",
        "add rsp, 8",
        ".cfi_adjust_cfa_offset -8",
        "jmp 3f",
        // ---- the child
        "2: mov rcx, [rip + cutap_tls@GOTTPOFF]",
        "mov fs:[rcx], rax",
        "mov rcx, [rip + cutap_counts@GOTTPOFF]",
        "mov fs:[rcx], rax",
        "mov rcx, [rip + cutap_hook_tls@GOTTPOFF]",
        "mov fs:[rcx], rax",
        "mov rcx, [rip + cutap_vforked@GOTTPOFF]",
        "mov qword ptr fs:[rcx], {child}",
        // ---- the signals that were not blocked before
        "3: mov edi, 2",
        "mov rsi, rsp",
        "xor edx, edx",
        "mov r10d, 8",
        "mov eax, 14",
        "syscall",
        "pop rsi",
        ".cfi_adjust_cfa_offset -8",
        "pop rax",
        ".cfi_adjust_cfa_offset -8",
        "test eax, eax",
        "js 4f",
        "ret",
        "4: .weak __vfork",
        "mov r11, [rip + __vfork@GOTPCREL]",
        "test r11, r11",
        "jz 5f",
        "jmp r11",
        "5: mov eax, -1",
        "ret",
        "6: jmp rax",
        ".cfi_adjust_cfa_offset 24",
        "7: add rsp, 24",
        ".cfi_adjust_cfa_offset -24",
        "jmp 4b",
        ".cfi_endproc",
        real = sym REAL,
        forbidden = sym sys::allowed::FORBIDDEN,
        no_mask = const 1 << sys::used::MASK,
        here = const fork::RECORDED as u32,
        signals = const sys::ALL_BUT_OWN,
        child = const CHILD,
        check = sym check,
        over = sym child_finished,
    )
}
