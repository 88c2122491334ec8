//! The name of a launch's kernel, in assembler: where it was met before at this address, its number goes into a record of its own. A macro for
//! `reports_x86_64`. It must agree with `handles::kernel_name` and `callbacks::launched`.

/// `cutap_kernel_name`: of the launch whose record, the last of the thread's, is ebx, reported by the runtime's record in r11; the block is in
/// rsi, the chunk in rdi. Goes to `known` when it is written or there is none, `otherwise` when it was not met before or anything is not as usual.
macro_rules! kernel_name_macro {
    () => {
        "
.macro cutap_kernel_name known, otherwise
  mov r9, [r11 + {kernel}]
  test r9, r9
  jz \\known
  mov rax, r9
  shr rax, 3
  imul rax, rax, {mix}
  and eax, {names} - 1
  lea rcx, [rip + CUTAP_NAME_PLACES]
  mov eax, [rcx + 4 * rax]
  lea rcx, [rip + CUTAP_KERNEL_NAMES]
  cmp eax, {most_names}
  jae \\otherwise
  mov r12d, eax
  shl rax, 5
  test eax, eax
  jz \\otherwise
  cmp [rcx + rax + {pointer}], r9
  jne \\otherwise
  mov ecx, [rcx + rax + {compared}]
  cmp ecx, [rip + CUTAP_UNLOADED]
  jne \\otherwise
  mov rcx, [rdi + {head}]
  mov rax, rcx
  shr rax, 32
  sub eax, ebx
  dec eax // how many calls ago it began: a handler may have made some
  cmp eax, {far}
  jae \\otherwise
  shl eax, 13
  lea r9d, [rax + {note}]
  cmp qword ptr [rsi + {writing}], 0
  jne \\otherwise
  mov rax, [rsi + {last}] // it has no time of its own
  cutap_place 24, 24, 0, r11, \\otherwise
  mov qword ptr [r8 + 8], {note_kernel}
  mov [r8 + 16], r12
  cutap_commit
  jmp \\known
.endm
"
    };
}

pub(crate) use kernel_name_macro;
