//! An exported function of a simulated library: a few instructions of its own, so that no two exports share an address (a tracer names
//! a function by its address). Here are only the forms; the libraries export.

/// An export that jumps to the function written by hand.
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

/// An export without behaviour of its own: its number in eax to what all of a library share, the `by_default` where it stands.
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
