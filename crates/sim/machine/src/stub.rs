//! Macros for the exports of a simulated library. Each export has its own instructions, because a tracer names a
//! function by its address. The libraries export; this file only defines the forms.

/// An export that jumps to its implementation.
#[macro_export]
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

/// An export without an implementation. It passes its number in eax to the function `by_default` of its library.
#[macro_export]
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
                shared = sym by_default,
            )
        }
    };
}
