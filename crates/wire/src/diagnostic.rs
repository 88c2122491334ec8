//! Reasons for what was not diverted, not recorded or not understood. Each process counts them in its `process` page,
//! so the numbers survive the end of the process. A silent early return in the target is a defect: it has a reason here.
//! The messages are in `cutap_report::messages`.

/// Number of counters in a `process` page.
pub const COUNTERS: usize = 128;

macro_rules! reasons {
    ($($(#[$doc:meta])* $name:ident = $n:literal;)*) => {
        $($(#[$doc])* pub const $name: usize = $n;)*
        /// All reasons, by number.
        pub const REASONS: &[usize] = &[$($n),*];
    };
}

reasons! {
    /// All slots are taken: the real pointer was handed out.
    NO_SLOT_LEFT = 0;
    /// mprotect refused: the word keeps the real pointer.
    WORD_PROTECTED = 1;
    /// A relocated word in an executable segment (TEXTREL).
    WORD_IN_TEXT = 2;
    /// A record that is neither a call's beginning nor its end did not fit, and no chunk could be had.
    RECORD_DROPPED = 3;
    /// A call of a C++ name that is not asked for is not armed at all; this counts the names.
    CXX_NOT_ASKED = 4;
    /// RTLD_NEXT or RTLD_DEFAULT could not be asked from inside the caller's object.
    LOOKUP_JUMPED = 5;
    /// The table of objects is full.
    TOO_MANY_OBJECTS = 6;
    /// A forked child whose parent was inside the loader never looks again.
    FORKED_IN_LOADER = 7;
    /// A runtime instance too many for the table.
    NO_INSTANCE_LEFT = 8;
    /// Self-induced: cuKernelGetName asked by the runtime because a launch flag is on.
    SELF_INDUCED = 9;
    /// A thread could not get a ring.
    NO_RING = 10;
    /// A name record could not be written.
    NAME_DROPPED = 11;
    /// A library opened after start whose constructors may have called before its bindings were ours.
    LATE_OBJECT = 12;
    /// dlsym answered with a slot although the function was not exported by name (address only).
    UNEXPORTED = 13;
    /// A profiler asked for the runtime's callback table and got the driver's own.
    PROFILER_TABLE = 14;
    /// A stack argument area could not be read whole.
    STACK_SHORT = 15;
    /// A call that came while the thread's state was being made.
    NESTED_IN_START = 16;
    /// An unbound word whose name could not be bound by us went to the loader.
    BOUND_BY_LOADER = 17;
    /// A call deeper than the thread's table of open calls.
    TOO_DEEP = 18;
    /// A module image could not be written to the dump folder.
    MODULE_NOT_DUMPED = 19;
    /// dlsym answered with a function of a library in another namespace (dlmopen).
    OTHER_NAMESPACE = 20;
    /// Found only by the look at the end of the process.
    NEVER_NOTICED = 21;
    /// Found outside, at the end, in the program's file; no process counts it.
    STATIC_TOOLKIT = 22;
    /// Another library is INITFIRST too, and the loader keeps only one.
    BEFORE_US = 23;
    /// process_vm_readv was refused: memory behind pointers is tested, then read directly.
    INPUTS_REFUSED = 24;
    /// cuFuncGetParamInfo, once for each kernel.
    PARAMETERS_ASKED = 25;
    /// No answer: a driver before 12.4; or no room for another kernel.
    PARAMETERS_UNKNOWN = 26;
    /// A ring was full.
    STACK_NOT_KEPT = 27;
    /// Not even the kernel could copy the caller's frame.
    STACK_NOT_READ = 28;
    /// The table of wants is full; a library that does not look at what `want` returns knows nothing of it.
    HOOK_WANT_LEFT_OUT = 29;
    /// A frame's number is one of another thread's ring.
    END_ELSEWHERE = 30;
    /// It got 0 each time: the name is a slip, or the function has another form.
    HOOK_NO_PARAMETER = 31;
    /// A ring was full.
    MEMORY_NOT_KEPT = 32;
    /// Longer than the kept part of one ioctl.
    MEMORY_CUT = 33;
    /// Counted in the control page, for such a process has no page of its own.
    OTHER_LIBC = 34;
    /// Longer than a name may be, or more than a process keeps.
    PTX_LEFT_OUT = 35;
    /// The loader passed over it, or it is of another version, or its entry point said no.
    HOOK_ABSENT = 36;
    /// A runtime call whose caller's registers could not be told.
    HOOK_NOT_ANSWERED = 37;
    /// More threads than the table, or more functions than the pool.
    HOOK_PASSED = 38;
    /// A function that more hooks want than one call can have.
    HOOK_TOO_MANY = 39;
    /// A ring of `--lossy` was full.
    CALL_DROPPED_LOSSY = 40;
    /// The same for what is no call.
    EVENT_DROPPED_LOSSY = 41;
    /// An enter record for which no chunk could be had.
    CALL_DROPPED = 42;
    /// Its enter record is there.
    END_DROPPED = 43;
    /// Whoever wrote them down could not go on.
    NOT_WRITTEN = 44;
    /// Added where it begins to wait, taken off where it goes on: what is left ended with its process.
    CALL_WAITED = 45;
    /// --count: a number could not be kept.
    NOT_COUNTED = 46;
    /// Opened by dlmopen, with whatever calls they make.
    NAMESPACE = 47;
    /// Once for each table and reason; the list has both.
    HIDDEN_TABLE_LEFT = 48;
    /// Self-induced: a runtime fills the record of a report, or looks for the name of a kernel.
    HIDDEN_SELF_INDUCED = 49;
    /// Its ring or USERD is not mapped where the process reads it; or the table of channels is full.
    CHANNEL_NOT_READ = 50;
    /// Entries whose commands, or descriptors that, are in memory that the process has not mapped.
    SUBMISSION_NOT_READ = 51;
    /// More commands than are kept of one driver call.
    SUBMISSION_CUT = 52;
    /// Submissions that were found while several threads were in driver calls.
    SUBMISSION_SHARED = 53;
    /// Submissions by calls that were not recorded.
    SUBMISSION_MISSED = 54;
    /// The program has written over the first bytes of a function that cutap handed out.
    ENTRY_PATCHED = 55;
    /// A seccomp filter, or PR_SET_TSC: what it forbids is listed.
    SANDBOXED = 56;
    /// Rows of GPU time that found no room in a ring.
    ROW_DROPPED = 57;
    /// Calls on which later ones depend and for which a flight recorder had no room.
    STATE_DROPPED = 58;
    /// Ranges of NVTX that more ranges are open around than a thread remembers.
    RANGE_TOO_DEEP = 60;
    /// Pops of NVTX to which no push was seen.
    RANGE_WITHOUT_PUSH = 61;
    /// Functions of NVTX that another tool gave a copy of the headers, and another one to another copy.
    RANGE_OF_OTHER_TOOL = 62;
    /// A Python whose frames cutap does not know; the list has its library.
    PYTHON_UNKNOWN = 63;
    /// Calls whose Python frames could not be read, or not all of them.
    PYTHON_NOT_READ = 64;
    /// A ring was full, or there was no room for another code object.
    PYTHON_NOT_KEPT = 65;
    /// Registered strings, domains and counters of NVTX for which no table had room.
    RANGE_NAME_LOST = 66;
    /// The file of another tool for NVTX could not be loaded, or has no function that NVTX looks for.
    RANGE_TOOL_ABSENT = 67;
    /// Ranges of start and end with the name of the capture range.
    RANGE_NOT_CAPTURED = 68;
    /// A PyTorch whose nodes of autograd cutap does not know; the list has why.
    AUTOGRAD_UNKNOWN = 69;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_fit_the_page() {
        assert!(REASONS.iter().all(|n| *n < COUNTERS));
        assert!(REASONS.windows(2).all(|pair| pair[0] < pair[1]));
    }
}
