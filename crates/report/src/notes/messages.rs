//! The messages of the reasons in `cutap_wire::diagnostic`, each written once, with the sentences that the page of
//! messages has about it. `{one|many}` has two forms: for a count of 1, and for any other.

use cutap_trace::End;
use cutap_wire::diagnostic::*;

#[rustfmt::skip]
const MESSAGES: &[(usize, &str, &str)] = &[
    (NO_SLOT_LEFT,
     "{function|functions} handed out undiverted: all slots taken, or no memory for more",
     "Calls of these functions are not seen. A memory limit (RLIMIT_DATA) may be the reason."),
    (WORD_PROTECTED,
     "{binding|bindings} left alone: page could not be made writable",
     "Calls through them are not seen. SELinux or a seccomp filter may be the reason."),
    (WORD_IN_TEXT,
     "{binding|bindings} left alone: in an executable segment (TEXTREL)",
     "Calls through them are not seen. Build the object with -fPIC."),
    (RECORD_DROPPED,
     "{event|events} dropped: no room in the run directory",
     "The disk is full, or the program limits file size, root or user. Use --run-dir on another disk."),
    (CXX_NOT_ASKED,
     "C++ {function of a watched library|functions of watched libraries} left alone (ask with -e cxx)",
     "Off by default: -e cxx shows them."),
    (LOOKUP_JUMPED,
     "{look-up|look-ups} passed on unseen: the caller's object, or the function's, is not known",
     "dlsym(RTLD_NEXT or RTLD_DEFAULT) from code of no loaded file, or with shadow stacks. Calls of the function \
      may be missing."),
    (TOO_MANY_OBJECTS,
     "loaded {object|objects} beyond the table: not searched for bindings",
     "Calls of these objects are not seen."),
    (FORKED_IN_LOADER,
     "{child|children} forked while a thread was inside the loader: libraries opened later are not seen",
     "The loader may be locked permanently in such a child, so cutap does not ask it again."),
    (NO_INSTANCE_LEFT,
     "runtime {instance|instances} beyond the table, or no memory for it: {its|their} calls are not seen",
     "A memory limit may be the reason."),
    (SELF_INDUCED,
     "driver {call|calls} that only {happens|happen} because we watch (a kernel's name, asked at its launch): not \
      shown",
     "A runtime asks for the name of a kernel because its launches are watched. Nothing is missing."),
    (NO_RING,
     "{call|calls} not recorded: the thread's ring could not be made",
     "No descriptor, memory or room. Later calls of the thread are recorded if a later try succeeds."),
    (NAME_DROPPED,
     "{name|names} not recorded: no room in the run directory or in memory, or no descriptor free",
     "Functions or kernels may have no name, and calls of a function may be missing."),
    (ROW_DROPPED,
     "{row|rows} of GPU time not recorded: no room in the run directory or in memory",
     "GPU times of some calls are missing."),
    (STATE_DROPPED,
     "{call|calls} that later calls depend on not kept by the flight recorder: no room",
     "A replayed graph may lack its captured calls, and an address its allocation. Give --flight-recorder more."),
    (RANGE_TOO_DEEP,
     "{range|ranges} of NVTX not recorded: more than 64 are open around {it|them} in a thread",
     "Calls inside are shown in the ranges around them."),
    (RANGE_WITHOUT_PUSH,
     "{pop|pops} of NVTX without a push in {its|their} thread and domain",
     "A range was popped twice, in another thread than it was pushed in, or in a forked child."),
    (RANGE_NAME_LOST,
     "{registered string, domain or counter|registered strings, domains and counters} of NVTX without {its|their} \
      name: too many, or no memory",
     "Ranges with them have no name, or no domain. A program that registers the same string again and again fills the \
      table."),
    (RANGE_NOT_CAPTURED,
     "{range|ranges} of start and end with the name of the capture range: only ranges of push and pop are capture \
      ranges",
     "Such a range may end in another thread. Name a range of nvtxRangePush, or use cudaProfilerApi."),
    (RANGE_TOOL_ABSENT,
     "{tool|tools} of NVTX_INJECTION64_PATH that could not be loaded",
     "The file is missing, needs another library, or has no InitializeInjectionNvtx2. Ranges are recorded."),
    (RANGE_OF_OTHER_TOOL,
     "{function|functions} of NVTX left to another tool alone: it gave different ones to copies of NVTX",
     "Ranges of one library are missing."),
    (LATE_OBJECT,
     "{library|libraries} opened while running: calls from {its|their} constructors were not seen",
     "Later calls are seen. The loader reports a new library to nobody before its constructors run."),
    (UNEXPORTED,
     "driver {function|functions} handed out that no symbol names",
     "Calls are recorded under the address."),
    (PROFILER_TABLE,
     "{profiler|profilers} that asked for the callback table and got the driver's own",
     "Both work. The calls of the profiler are not shown."),
    (STACK_SHORT,
     "{call|calls} whose stack arguments end at an unmapped page (passed on up to there)",
     "Harmless for the program. The arguments at the end are missing."),
    (NESTED_IN_START,
     "{call|calls} not recorded: made while the thread's ring was being set up",
     "A signal handler called CUDA in the first call of its thread."),
    (BOUND_BY_LOADER,
     "lazy {binding|bindings} left to the loader",
     "Another thread was opening a library. Calls through the binding are missing until the next look-up."),
    (TOO_DEEP,
     "{call|calls} nested too deep to know {its|their} parent",
     "The calls are recorded, at the wrong depth."),
    (MODULE_NOT_DUMPED,
     "{module|modules} not dumped: unknown size, unreadable memory or no room",
     "The program is not affected."),
    (OTHER_NAMESPACE,
     "{function|functions} of {a library|libraries} in another namespace (dlmopen): not diverted",
     "Calls of these functions are not seen."),
    (NEVER_NOTICED,
     "{library|libraries} opened after the last look-up: calls through {its|their} bindings were not seen",
     "The library was opened, and nothing was looked up after that."),
    (STATIC_TOOLKIT,
     "toolkit {library|libraries} linked statically into a program: calls of {it|them} were not seen",
     "Link the shared library to see its calls. Runtime and driver calls below are seen."),
    (BEFORE_US,
     "{process|processes} in which another library asked to be first: calls from constructors of needed libraries \
      were not seen",
     "Before glibc 2.34 the last library that asks to be first is first."),
    (INPUTS_REFUSED,
     "{process|processes} in which process_vm_readv was refused: memory behind arguments was tested, then read \
      directly",
     "A seccomp filter. The program may die if another thread unmaps such memory meanwhile."),
    (PARAMETERS_ASKED,
     "{kernel|kernels} whose parameters' sizes the driver was asked for (calls of our own, not shown)",
     "cutap asks once for each kernel. Nothing is missing."),
    (PARAMETERS_UNKNOWN,
     "{launch|launches} whose parameters are not shown: the driver does not tell their sizes, or there are too \
      many kernels",
     "A driver before 12.4, or more kernels than the table has room for."),
    (STACK_NOT_KEPT,
     "{stack|stacks} not kept, or only in part: no room in the run directory",
     "Choose fewer calls with --stack=FILTER, or a smaller --stack-size."),
    (STACK_NOT_READ,
     "{stack|stacks} that could not be read: only the caller is shown",
     "The stack was unmapped or protected."),
    (PYTHON_UNKNOWN,
     "{Python|Pythons} whose lines cutap cannot read: CPython 3.8 to 3.14 with its lock is known (--python)",
     "All else of the run is recorded."),
    (PYTHON_NOT_READ,
     "{call|calls} whose Python frames could not be read, or not all of them",
     "The outer frames are missing."),
    (PYTHON_NOT_KEPT,
     "{time|times} that Python frames were not kept: no room in the run directory, or for another code object",
     "Choose fewer calls with --python=FILTER."),
    (AUTOGRAD_UNKNOWN,
     "{PyTorch|PyTorches} whose backward passes cutap cannot follow: calls there lack their forward lines (--python)",
     "PyTorch 2.2 and 2.15 were tried."),
    (HOOK_WANT_LEFT_OUT,
     "{want|wants} of {a hook|hooks} that {was|were} left out: 64 fit, of all libraries together",
     "Use patterns instead of single names."),
    (END_ELSEWHERE,
     "{call|calls} that ended in another thread than {it|they} began in ({a fibre|fibres}): shown as unfinished",
     "User-level threads moved to another thread during the call."),
    (HOOK_NO_PARAMETER,
     "{name|names} by which a hook asked for an argument that does not exist: it got 0",
     "cutap api FUNCTION prints the names."),
    (MEMORY_NOT_KEPT,
     "{piece|pieces} of memory of {an ioctl|ioctls} not kept: no room in the run directory",
     "The line has fewer fields."),
    (MEMORY_CUT,
     "{ioctl|ioctls} whose memory was cut: more than 256 KiB",
     "The rest of the memory is not shown."),
    (CHANNEL_NOT_READ,
     "{channel|channels} of the GPU whose ring is not mapped in this process: {its|their} submissions were not \
      seen",
      "The memory of the ring or of USERD was mapped in a way that cutap does not follow, or 256 channels are in use."),
    (SUBMISSION_NOT_READ,
     "{piece|pieces} of submitted work in memory that the process has not mapped: not read",
     "Such as the launch descriptor of a graph that is launched again: it is in video memory."),
    (SUBMISSION_CUT,
     "{piece|pieces} of submitted work cut: more than 256 KiB in one driver call",
     "Code and data that the driver uploads through commands. What the GPU got is complete."),
    (SUBMISSION_SHARED,
     "{submission|submissions} marked shared: other threads were in driver calls too",
     "It may belong to a call of another thread. With one thread that calls the driver there is none."),
    (SUBMISSION_MISSED,
     "{entry|entries} of rings left out: submitted while calls were not recorded",
     "cutap ctl or --capture-range switched recording off."),
    (HIDDEN_SELF_INDUCED,
     "hidden {call|calls} made only because runtime calls are watched: not shown",
     "A runtime makes them for its reports. Nothing is missing."),
    (HIDDEN_TABLE_LEFT,
     "hidden {table|tables} left alone: calls of the functions in {it|them} were not seen",
     "The list has the reason for each table."),
    (OTHER_LIBC,
     "{process|processes} of another C library than glibc (such as musl): left alone, {its|their} calls were not \
      seen",
     "Build for glibc to trace them."),
    (PTX_LEFT_OUT,
     "parameter {list|lists} of {a kernel|kernels} in PTX that {was|were} left out: too long, or too many; \
      {its|their} parameters are shown without names",
     "The parameters themselves are complete."),
    (HOOK_ABSENT,
     "hook {library|libraries} that took no part in a process",
     "The library was not loaded there, or its CUTAP_HOOK returned an error."),
    (HOOK_NOT_ANSWERED,
     "runtime {call|calls} that a hook answered and that {was|were} made all the same: no usable unwind tables",
     "Build without --no-eh-frame-hdr, or answer the driver call below."),
    (HOOK_PASSED,
     "{call|calls} without {its|their} hook: more than 4096 threads in hooks, or too many functions",
     "These calls were not changed."),
    (HOOK_TOO_MANY,
     "{function|functions} that more than 8 wants of hooks match: the others were left out",
     "Combine the hooks."),
    (CALL_DROPPED_LOSSY,
     "{call|calls} dropped: {its|their} thread's ring was full (--lossy)",
     "Shown + dropped = made. Record fewer calls, or leave out --lossy."),
    (EVENT_DROPPED_LOSSY,
     "{look-up|look-ups} dropped: {its|their} thread's ring was full (--lossy)",
     "Record fewer calls, or leave out --lossy."),
    (CALL_DROPPED,
     "{call|calls} not recorded: no room in the run directory",
     "The disk is full, or the program limits file size, root or user. Use --run-dir on another disk."),
    (END_DROPPED,
     "{end|ends} of {a call|calls} not recorded ({this is|these are} shown as unfinished): no room in the run \
      directory",
     "The calls are there, and their results are not."),
    (NOT_WRITTEN,
     "{call|calls} not recorded: the recording could not be written any more",
     "The output was full or failed. cutap recover may add what the run directory holds."),
    (CALL_WAITED,
     "{call|calls} that never began: {it|they} waited for room in {its|their} thread's ring when the process \
      ended, or {was|were} left while {it|they} waited (by longjmp, a thread's end)",
     "The functions were not called. Nothing is missing from the trace."),
    (NOT_COUNTED,
     "{call|calls} not counted: no room in the run directory, or no mapping left (vm.max_map_count)",
     "Raise vm.max_map_count, or use --run-dir on another disk."),
    (ENTRY_PATCHED,
     "{function|functions} whose entry the program patched in place: calls that the patch did not pass on were not \
      seen",
     "UCX, Detours and Frida patch so. Calls that the patch passes on to the function are recorded."),
    (SANDBOXED,
     "{time|times} that a program's sandbox forbade what cutap uses: calls may be missing from then on",
     "Nothing that a seccomp filter forbids is done any more. Rings cannot grow, and at most 16 more threads have one. \
      What is not recorded is counted."),
    (NAMESPACE,
     "{library|libraries} in another namespace (dlmopen): {its|their} calls, and calls of {it|them}, were not seen",
     "cutap belongs to the first namespace."),
];

/// With `--lossy` a stack is lost for another reason.
const STACK_NOT_KEPT_LOSSY: &str =
    "{stack|stacks} not kept, or only in part: {its|their} thread's ring was full (--lossy)";
const UNKNOWN: &str = "counted for a reason that this version does not know";

/// All messages in the form for many, each with its meaning and remedy.
pub(crate) fn all() -> impl Iterator<Item = (String, &'static str)> {
    MESSAGES.iter().map(|(_, text, meaning)| (filled(text, 2), *meaning))
}

/// The message of a reason, without its number.
pub fn reason(end: &End, reason: usize) -> String {
    filled(template(end, reason), 2)
}

/// The message of a reason with its number: `3 calls not recorded: ...`.
pub fn counted(end: &End, reason: usize, count: u64) -> String {
    format!("{count} {}", filled(template(end, reason), count))
}

fn template(end: &End, reason: usize) -> &'static str {
    if reason == STACK_NOT_KEPT && end.settings.is_lossy {
        return STACK_NOT_KEPT_LOSSY;
    }
    MESSAGES.iter().find(|(of, ..)| *of == reason).map_or(UNKNOWN, |(_, text, _)| text)
}

/// The form of a message for a count.
pub(crate) fn filled(template: &str, count: u64) -> String {
    let mut message = String::new();
    let mut rest = template;
    while let Some((before, (one, many), after)) = alternative(rest) {
        message.push_str(before);
        message.push_str(if count == 1 { one } else { many });
        rest = after;
    }
    message + rest
}

/// The first `{one|many}` of a text, with what is before and after it.
fn alternative(text: &str) -> Option<(&str, (&str, &str), &str)> {
    let (before, rest) = text.split_once('{')?;
    let (forms, after) = rest.split_once('}')?;
    Some((before, forms.split_once('|')?, after))
}

#[cfg(test)]
mod tests {
    use super::*;
    use cutap_trace::RunSettings;

    /// Each reason has one message, with forms for one and for many.
    #[test]
    fn all_reasons() {
        let of = |n: usize| MESSAGES.iter().filter(move |(of, ..)| *of == n).map(|(_, text, _)| *text);
        for reason in REASONS {
            let [text] = of(*reason).collect::<Vec<_>>()[..] else { panic!("reason {reason}") };
            let (one, many) = (filled(text, 1), filled(text, 2));
            assert!(one != many && !format!("{one}{many}").contains(['{', '|', '}']), "{one}, {many}");
        }
        assert_eq!(MESSAGES.len(), REASONS.len());
    }

    #[test]
    fn forms() {
        let (plain, lossy) = (
            End::default(),
            End { settings: RunSettings { is_lossy: true, ..RunSettings::default() }, ..End::default() },
        );
        assert_eq!(counted(&plain, HOOK_ABSENT, 1), "1 hook library that took no part in a process");
        assert_eq!(counted(&plain, CALL_DROPPED, 3), "3 calls not recorded: no room in the run directory");
        assert_eq!(reason(&plain, CALL_DROPPED), "calls not recorded: no room in the run directory");
        assert_eq!(reason(&plain, STACK_NOT_KEPT), "stacks not kept, or only in part: no room in the run directory");
        assert!(counted(&lossy, STACK_NOT_KEPT, 1).ends_with("its thread's ring was full (--lossy)"));
        assert_eq!(reason(&plain, COUNTERS), UNKNOWN);
    }
}
