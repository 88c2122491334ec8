//! What the assembler does with a ring, as macros of the assembler: `fast` and `reports` write records
//! with them. The order is that of `ring::reserve` and `wire::ring::ChunkWriter::reserve`, with which they must
//! agree.

/// Defines the macros, in front of what uses them. `cutap_thread_state` brings this thread's state to rsi and its chunk
/// to rdi, if no record is being written. `cutap_reserve` takes room for so many `bytes` behind the head in rcx, which
/// `delta` and `more` are added to: place to r8, first word, whose lower half is in edx, to rdx; rax, rcx and r9 are
/// lost. It goes `otherwise`, too, where a record of the whole time is due. `at` is where the call stands.
/// `cutap_place` is its second part, for a record whose time is in rax. `cutap_commit` says that the record in r8 is
/// whole.
macro_rules! ring_macros {
    () => {
        "
.macro cutap_thread otherwise
  mov rsi, [rip + cutap_tls@GOTTPOFF]
  mov rsi, fs:[rsi]
  cmp rsi, 1
  jbe \\otherwise
.endm
.macro cutap_chunk otherwise
  cmp qword ptr [rsi + {writing}], 0
  jne \\otherwise
  mov rdi, [rsi + {chunk}]
  test rdi, rdi
  jz \\otherwise
.endm
.macro cutap_thread_state otherwise
  cutap_thread \\otherwise
  cutap_chunk \\otherwise
.endm
.macro cutap_reserve bytes, delta, more, at, otherwise
  mov r9d, edx
  rdtsc
  shl rdx, 32
  or rax, rdx
  mov rdx, rax
  sub rdx, [rsi + {last}]
  shr rdx, 31
  jnz \\otherwise
  cutap_place \\bytes, \\delta, \\more, \\at, \\otherwise
.endm
.macro cutap_place bytes, delta, more, at, otherwise
  lea edx, [rcx + \\bytes]
  cmp edx, [rsi + {room}]
  ja \\otherwise
  mov [rsi + {last}], rax
  shl rax, 32
  lea rdx, [rax + r9]
  mov r8d, ecx
  add r8, rdi
  prefetchw [r8 + {ahead}]
  mov rax, [r8]
  cmp [rdi + {head}], rcx
  jne \\otherwise
  cmpxchg [r8], rdx
  jne \\otherwise
  mov rax, rcx
.if \\delta <= 0x7fffffff
  add rcx, \\delta
.else
  movabs r9, \\delta
  add rcx, r9
.endif
.ifnc \\more,0
  lea rcx, [rcx + \\more]
.endif
  cmpxchg [rdi + {head}], rcx
  jne \\otherwise
  lea rax, [\\at]
  mov [rsi + {writing} + 8], rax
  mov [rsi + {writing}], r8
.endm
.macro cutap_commit
  or rdx, {committed}
  mov [r8], rdx
  mov qword ptr [rsi + {writing}], 0
.endm
"
    };
}

/// The same for `cutap_output`, which makes the word of a small output of r9d bytes at rax, which ecx is the argument's
/// number of, in r8, and the record's kind in edx.
macro_rules! output_macro {
    () => {
        "
.macro cutap_output otherwise
  cmp r9d, 8
  je 3f
  cmp r9d, 4
  jne \\otherwise
  mov r8d, [rax]
  jmp 4f
3: mov r8, [rax]
  mov rax, r8
  shr rax, {output_word}
  jnz \\otherwise
4: shl r9d, {len_behind_word}
  or ecx, r9d
  shl rcx, {output_word}
  or r8, rcx
  mov edx, {exit_output}
.endm
"
    };
}

/// Ends what `ring_macros` began: another block may define them again.
macro_rules! end_of_ring_macros {
    () => {
        "
.purgem cutap_thread_state
.purgem cutap_thread
.purgem cutap_chunk
.purgem cutap_reserve
.purgem cutap_place
.purgem cutap_commit
"
    };
}

pub(crate) use {end_of_ring_macros, output_macro, ring_macros};
