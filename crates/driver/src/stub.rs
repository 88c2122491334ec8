//! The code of the exports. Each export has its own instructions, because a tracer names a function by its address.
//! The optimiser must not merge two exports.

/// Calls `default::answer` with the number in eax and the words of the call.
#[unsafe(naked)]
pub unsafe extern "C" fn by_default() {
    core::arch::naked_asm!(
        "push r9",
        "push r8",
        "push rcx",
        "push rdx",
        "push rsi",
        "push rdi",
        "mov edi, eax",
        "mov rsi, rsp",
        "lea rdx, [rsp + 56]", // six words and the return address
        "sub rsp, 8",
        "call {answer}",
        "add rsp, 56",
        "ret",
        answer = sym crate::default::answer,
    )
}
pub(crate) use cutap_machine::{default, written};
