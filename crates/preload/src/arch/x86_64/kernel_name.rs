//! The name of a launch's kernel, in assembler, where it was met before at this address. A macro for `reports`.
//! It must agree with `handles::kernel_name`.

/// `cutap_kernel_name`: the number of the name that the runtime's record in r11 has, to eax; rcx and r9 are lost. Goes
/// `otherwise` when there is none, it was not met before or anything is not as usual.
macro_rules! kernel_name_macro {
    () => {
        "
.macro cutap_kernel_name otherwise
  mov r9, [r11 + {kernel}]
  test r9, r9
  jz \\otherwise
  mov rax, r9
  shr rax, 3
  imul rax, rax, {mix}
  and eax, {names} - 1
  lea rcx, [rip + CUTAP_NAME_PLACES]
  mov eax, [rcx + 4 * rax]
  lea rcx, [rip + CUTAP_KERNEL_NAMES]
  lea r9d, [rax - 1]
  cmp r9d, {most_names} - 1
  jae \\otherwise
  mov r9d, eax
  shl r9, 5
  add rcx, r9
  mov r9, [r11 + {kernel}]
  cmp [rcx + {pointer}], r9
  jne \\otherwise
  mov ecx, [rcx + {compared}]
  cmp ecx, [rip + CUTAP_UNLOADED]
  jne \\otherwise
.endm
"
    };
}

pub(crate) use kernel_name_macro;
