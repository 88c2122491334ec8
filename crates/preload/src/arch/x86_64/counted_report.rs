//! A report of a static runtime about a call that is counted and recorded only where it fails, as a macro of the
//! assembler for `reports`. It must agree with `callbacks::{enter, exit}`, `counts::add` and
//! `ThreadState::push_counted`.

/// Defines `cutap_counted_report`: the callback's id is in edi, the record in rsi, the instance's number in edx, its
/// address in r8, the function in r10. It returns, or goes to `cutap_on_callback` with those registers and nothing
/// changed.
macro_rules! counted_report_macro {
    () => {
        "
.macro cutap_counted_report
  cmp byte ptr [r10 + {counts_here}], 0
  je cutap_on_callback
  mov rax, [rip + cutap_tls@GOTTPOFF]
  mov rax, fs:[rax]
  cmp rax, 1
  jbe cutap_on_callback
  cmp byte ptr [rax + {inside}], 0
  jne cutap_on_callback
  mov rcx, [rax + {depth}]
  lea r9, [rcx + 2 * rcx]
  lea r9, [rax + 8 * r9]
  cmp dword ptr [rsi + {phase}], 0
  jne 5f
  // It begins.
  mov r11d, [r10 + {slot}]
  test r11d, r11d
  jz cutap_on_callback
  cmp rcx, {depths}
  jae cutap_on_callback
  mov [r9 + {open_slot}], r11d
  test rcx, rcx
  jz 4f
  mov r11, rsi
  sub r11, [r9 + {open_frame} - 24]
  cmp r11, {one_stack}
  jb cutap_on_callback // one that the stack has left
  mov r11d, [r9 + {open_number} - 24]
3: mov [r9 + {open_number}], r11d
  mov [r9 + {open_frame}], rsi
  mov [r9 + {open_reported}], rsi
  inc rcx
  mov [rax + {depth}], rcx
  xor eax, eax
  ret
4: mov r11, [rax + {chunk}]
  test r11, r11
  jz cutap_on_callback
  mov r11d, [r11 + {head} + 4] // calls so far
  add r11d, {nowhere}
  jmp 3b
  // It ends.
5: test rcx, rcx
  jz cutap_on_callback
  cmp [r9 + {open_reported} - 24], rsi
  jne cutap_on_callback
  mov r11, [rsi + {result}]
  test r11, r11
  jz cutap_on_callback
  cmp dword ptr [r11], 0
  jne cutap_on_callback // it failed
  mov r11d, [r9 + {open_slot} - 24]
  sub r11d, {thunks}
  cmp r11d, [rax + {room_for_numbers}]
  jae cutap_on_callback
  mov r9, [rax + {numbers}]
  inc qword ptr [r9 + 8 * r11 + {head_of_counts}]
  dec rcx
  mov [rax + {depth}], rcx
  xor eax, eax
  ret
.endm
"
    };
}

pub(crate) use counted_report_macro;
