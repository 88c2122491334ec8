//! The exported functions themselves: each is a few instructions of its own, so that no two exports share an address (a
//! tracer names a function by its address).

/// An export that jumps to the function written by hand.
macro_rules! written {
    ($name:ident, $path:path) => {
        #[allow(missing_docs, non_snake_case, clippy::missing_safety_doc)]
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name() {
            core::arch::naked_asm!("jmp {written}", written = sym $path)
        }
    };
}

/// An export without behaviour of its own: its number to what all of them share.
macro_rules! default {
    ($name:ident, $place:literal) => {
        #[allow(missing_docs, non_snake_case, clippy::missing_safety_doc)]
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name() {
            core::arch::naked_asm!(
                "mov eax, {place}",
                "jmp {shared}",
                place = const $place,
                shared = sym $crate::stub::by_default,
            )
        }
    };
}

/// Hands the number in eax and the six words in registers to `default::answer`; no function of NVML has more.
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
        "sub rsp, 8",
        "call {answer}",
        "add rsp, 56",
        "ret",
        answer = sym crate::default::answer,
    )
}
pub(crate) use {default, written};
