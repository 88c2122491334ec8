//! The exported names that must not have a separate frame: the function to which they jump sees the program's call. A
//! macro, because `entry` has the functions that they call.

/// Defines them. `$look_up` answers a look-up, or not; `$prctl` and `$syscall` do what forbids something to the process;
/// `$next_syscall` finds the next object's. `$open` says what a dlopen jumps to, with which path.
macro_rules! exports {
    (look_up: $look_up:path, prctl: $prctl:path, syscall: $syscall:path, next_syscall: $next_syscall:path,
     open: $open:path) => {
        /// dlsym(handle, name): asks first, jumps on with the caller's return address in place if there is
        /// nothing to say.
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn dlsym() {
            core::arch::naked_asm!(
                ".cfi_startproc",
                "endbr64",
                "push rdi",
                ".cfi_adjust_cfa_offset 8",
                "push rsi",
                ".cfi_adjust_cfa_offset 8",
                "sub rsp, 8",
                ".cfi_adjust_cfa_offset 8",
                "xor edx, edx",
                "mov rcx, [rsp + 24]",
                "call {ask}",
                "test rax, rax",
                "jnz 2f",
                ".cfi_remember_state",
                "call {next}",
                "mov r11, rax",
                "add rsp, 8",
                ".cfi_adjust_cfa_offset -8",
                "pop rsi",
                ".cfi_adjust_cfa_offset -8",
                "pop rdi",
                ".cfi_adjust_cfa_offset -8",
                "xor eax, eax",
                "test r11, r11",
                "jz 3f",
                "jmp r11",
                "2:",
                ".cfi_restore_state",
                "add rsp, 24",
                ".cfi_adjust_cfa_offset -24",
                "3: ret",
                ".cfi_endproc",
                ask = sym $look_up,
                next = sym $crate::loader::real::next_dlsym,
            )
        }

        /// dlvsym(handle, name, version), in the same way.
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn dlvsym() {
            core::arch::naked_asm!(
                ".cfi_startproc",
                "endbr64",
                "push rdi",
                ".cfi_adjust_cfa_offset 8",
                "push rsi",
                ".cfi_adjust_cfa_offset 8",
                "push rdx",
                ".cfi_adjust_cfa_offset 8",
                "mov rcx, [rsp + 24]",
                "call {ask}",
                "test rax, rax",
                "jnz 2f",
                ".cfi_remember_state",
                "call {next}",
                "mov r11, rax",
                "pop rdx",
                ".cfi_adjust_cfa_offset -8",
                "pop rsi",
                ".cfi_adjust_cfa_offset -8",
                "pop rdi",
                ".cfi_adjust_cfa_offset -8",
                "xor eax, eax",
                "test r11, r11",
                "jz 3f",
                "jmp r11",
                "2:",
                ".cfi_restore_state",
                "add rsp, 24",
                ".cfi_adjust_cfa_offset -24",
                "3: ret",
                ".cfi_endproc",
                ask = sym $look_up,
                next = sym $crate::loader::real::next_dlvsym,
            )
        }

        /// dlopen(path, flags): jumps on with the caller's return address in place, perhaps with another path.
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn dlopen() {
            core::arch::naked_asm!(
                ".cfi_startproc",
                "endbr64",
                "push rsi",
                ".cfi_adjust_cfa_offset 8",
                "call {open}",
                "pop rsi",
                ".cfi_adjust_cfa_offset -8",
                "mov rdi, rax",
                "xor eax, eax",
                "test rdx, rdx",
                "jz 2f",
                "jmp rdx",
                "2: ret",
                ".cfi_endproc",
                open = sym $open,
            )
        }

        /// prctl(option, ...): jumps on, but for the two options that forbid something to the process.
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn prctl() {
            core::arch::naked_asm!(
                ".cfi_startproc",
                "endbr64",
                "cmp edi, 22",
                "je {forbids}",
                "cmp edi, 26",
                "je {forbids}",
                "mov r11, [rip + {replaced} + {next}]",
                "test r11, r11",
                "jz {forbids}",
                "jmp r11",
                ".cfi_endproc",
                forbids = sym $prctl,
                replaced = sym $crate::loader::real::REPLACED,
                next = const $crate::loader::real::place_of_next($crate::loader::real::PRCTL),
            )
        }

        /// syscall(number, ...): the same for seccomp and prctl. A seventh argument is on the stack.
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn syscall() {
            core::arch::naked_asm!(
                ".cfi_startproc",
                "endbr64",
                "cmp edi, 317",
                "je {forbids}",
                "cmp edi, 157",
                "je {forbids}",
                "mov r11, [rip + {replaced} + {next}]",
                "test r11, r11",
                "jz 2f",
                "3: jmp r11",
                "2: push rdi",
                ".cfi_adjust_cfa_offset 8",
                "push rsi",
                ".cfi_adjust_cfa_offset 8",
                "push rdx",
                ".cfi_adjust_cfa_offset 8",
                "push rcx",
                ".cfi_adjust_cfa_offset 8",
                "push r8",
                ".cfi_adjust_cfa_offset 8",
                "push r9",
                ".cfi_adjust_cfa_offset 8",
                "sub rsp, 8",
                ".cfi_adjust_cfa_offset 8",
                "call {find}",
                "add rsp, 8",
                ".cfi_adjust_cfa_offset -8",
                "pop r9",
                ".cfi_adjust_cfa_offset -8",
                "pop r8",
                ".cfi_adjust_cfa_offset -8",
                "pop rcx",
                ".cfi_adjust_cfa_offset -8",
                "pop rdx",
                ".cfi_adjust_cfa_offset -8",
                "pop rsi",
                ".cfi_adjust_cfa_offset -8",
                "pop rdi",
                ".cfi_adjust_cfa_offset -8",
                "mov r11, rax",
                "mov rax, -1",
                "test r11, r11",
                "jnz 3b",
                "ret",
                ".cfi_endproc",
                forbids = sym $syscall,
                find = sym $next_syscall,
                replaced = sym $crate::loader::real::REPLACED,
                next = const $crate::loader::real::place_of_next($crate::loader::real::SYSCALL),
            )
        }
    };
}

pub(crate) use exports;
