//! Named reasons for what was not diverted, not recorded or not understood. Each process counts them
//! in its `proc` page, so that they survive every way to die; the end of a trace lists those above 0.
//! A silent early return in the target is a defect: it has a reason here.

/// Number of counters in a `proc` page.
pub const COUNTERS: usize = 48;

macro_rules! reasons {
    ($($(#[$doc:meta])* $name:ident = $n:literal, $text:literal, one: $one:literal;)*) => {
        $($(#[$doc])* pub const $name: usize = $n;)*
        /// What counter `n` says to a person; `None` for one that is not in use.
        pub const fn text(n: usize) -> Option<&'static str> {
            match n { $($n => Some($text),)* _ => None }
        }
        /// The same of a single one.
        pub const fn text_of_one(n: usize) -> Option<&'static str> {
            match n { $($n => Some($one),)* _ => None }
        }
    };
}

reasons! {
    /// All slots are taken: the real pointer was handed out.
    NO_SLOT_LEFT = 0, "functions handed out undiverted: all slots taken, or no memory for more", one: "function handed out undiverted: all slots taken, or no memory for more";
    /// mprotect refused: the word keeps the real pointer.
    WORD_PROTECTED = 1, "bindings left alone: page could not be made writable", one: "binding left alone: page could not be made writable";
    /// A relocated word in an executable segment (TEXTREL).
    WORD_IN_TEXT = 2, "bindings left alone: in an executable segment (TEXTREL)", one: "binding left alone: in an executable segment (TEXTREL)";
    /// A record that is neither a call's beginning nor its end did not fit, and no chunk could be had.
    RECORD_DROPPED = 3, "events dropped: no room in the run directory", one: "event dropped: no room in the run directory";
    /// A call of a C++ name that is not asked for is not armed at all; this counts the names.
    CXX_NOT_ASKED = 4, "C++ functions of watched libraries left alone (ask with -e cxx)", one: "C++ function of a watched library left alone (ask with -e cxx)";
    /// RTLD_NEXT or RTLD_DEFAULT could not be asked from inside the caller's object.
    LOOKUP_JUMPED = 5, "look-ups passed on unseen: the caller's object, or the function's, is not known", one: "look-up passed on unseen: the caller's object, or the function's, is not known";
    /// The table of objects is full.
    TOO_MANY_OBJECTS = 6, "loaded objects beyond the table: not searched for bindings", one: "loaded object beyond the table: not searched for bindings";
    /// A forked child whose parent was inside the loader never looks again.
    FORKED_IN_LOADER = 7, "children forked while a thread was inside the loader: libraries opened later are not seen", one: "child forked while a thread was inside the loader: libraries opened later are not seen";
    /// A runtime instance too many for the table.
    NO_INSTANCE_LEFT = 8, "runtime instances beyond the table, or no memory for it: their calls are not seen", one: "runtime instance beyond the table, or no memory for it: its calls are not seen";
    /// Own footprint: cuKernelGetName asked by the runtime because a launch flag is on.
    FOOTPRINT = 9, "driver calls that only happen because we watch (a kernel's name, asked at its launch): not shown", one: "driver call that only happens because we watch (a kernel's name, asked at its launch): not shown";
    /// A thread could not get a ring.
    NO_RING = 10, "calls not recorded: the thread's ring could not be made", one: "call not recorded: the thread's ring could not be made";
    /// A name record could not be written.
    NAME_DROPPED = 11, "names not recorded: no room in the run directory or in memory, or no descriptor free", one: "name not recorded: no room in the run directory or in memory, or no descriptor free";
    /// A library opened after start whose constructors may have called before its bindings were ours.
    LATE_OBJECT = 12, "libraries opened while running: calls from their constructors were not seen", one: "library opened while running: calls from its constructors were not seen";
    /// dlsym answered with a slot although the function was not exported by name (address only).
    UNEXPORTED = 13, "driver functions handed out that no symbol names", one: "driver function handed out that no symbol names";
    /// A profiler asked for the runtime's callback table and got the driver's own.
    PROFILER_TABLE = 14, "profilers that asked for the callback table and got the driver's own", one: "profiler that asked for the callback table and got the driver's own";
    /// A stack argument area could not be read whole.
    STACK_SHORT = 15, "calls whose stack arguments end at an unmapped page (passed on up to there)", one: "call whose stack arguments end at an unmapped page (passed on up to there)";
    /// A call that came while the thread's block was being made.
    NESTED_IN_START = 16, "calls not recorded: made while the thread's ring was being set up", one: "call not recorded: made while the thread's ring was being set up";
    /// An unbound word whose name could not be bound by us went to the loader.
    BOUND_BY_LOADER = 17, "lazy bindings left to the loader", one: "lazy binding left to the loader";
    /// A call deeper than the thread's table of open calls.
    TOO_DEEP = 18, "calls nested too deep to know their parent", one: "call nested too deep to know its parent";
    /// A module image could not be written to the dump folder.
    MODULE_NOT_DUMPED = 19, "modules not dumped: unknown size, unreadable memory or no room", one: "module not dumped: unknown size, unreadable memory or no room";
    /// dlsym answered with a function of a library in another namespace (dlmopen).
    OTHER_NAMESPACE = 20, "functions of libraries in another namespace (dlmopen): not diverted", one: "function of a library in another namespace (dlmopen): not diverted";
    /// Another library is INITFIRST too, and the loader keeps only one.
    BEFORE_US = 23, "processes in which another library asked to be first: calls from constructors of needed libraries were not seen", one: "process in which another library asked to be first: calls from constructors of needed libraries were not seen";
    /// Found only by the look at the end of the process.
    NEVER_NOTICED = 21, "libraries opened after the last look-up: calls through their bindings were not seen", one: "library opened after the last look-up: calls through its bindings were not seen";
    /// process_vm_readv was refused: memory behind pointers is tested, then read directly.
    INPUTS_REFUSED = 24, "processes in which process_vm_readv was refused: memory behind arguments was tested, then read directly", one: "process in which process_vm_readv was refused: memory behind arguments was tested, then read directly";
    /// cuFuncGetParamInfo, once for each kernel.
    PARAMETERS_ASKED = 25, "kernels whose parameters' sizes the driver was asked for (calls of our own, not shown)", one: "kernel whose parameters' sizes the driver was asked for (calls of our own, not shown)";
    /// No answer: a driver before 12.4; or no room for another kernel.
    PARAMETERS_UNKNOWN = 26, "launches whose parameters are not shown: the driver does not tell their sizes, or there are too many kernels", one: "launch whose parameters are not shown: the driver does not tell their sizes, or there are too many kernels";
    /// Longer than a name may be, or more than a process keeps.
    PTX_LEFT_OUT = 35, "parameter lists of kernels in PTX that were left out: too long, or too many; their parameters are shown without names", one: "parameter list of a kernel in PTX that was left out: too long, or too many; its parameters are shown without names";
    /// The loader passed over it, or it is of another version, or its entry point said no.
    HOOK_ABSENT = 36, "hook libraries that took no part in a process", one: "hook library that took no part in a process";
    /// A runtime call whose caller's registers could not be told.
    HOOK_NOT_ANSWERED = 37, "runtime calls that a hook answered and that were made all the same: no usable unwind tables", one: "runtime call that a hook answered and that was made all the same: no usable unwind tables";
    /// More threads than the table, or more functions than the pool.
    HOOK_PASSED = 38, "calls without their hook: more than 4096 threads in hooks, or too many functions", one: "call without its hook: more than 4096 threads in hooks, or too many functions";
    /// A function that more hooks want than one call can have.
    HOOK_TOO_MANY = 39, "functions that more than 8 wants of hooks match: the others were left out", one: "function that more than 8 wants of hooks match: the others were left out";
    /// The table of wants is full; a library that does not look at what `want` returns knows nothing of it.
    HOOK_WANT_LEFT_OUT = 29, "wants of hooks that were left out: 64 fit, of all libraries together", one: "want of a hook that was left out: 64 fit, of all libraries together";
    /// It got 0 each time: the name is a slip, or the function has another form.
    HOOK_NO_PARAMETER = 31, "names by which a hook asked for an argument that does not exist: it got 0", one: "name by which a hook asked for an argument that does not exist: it got 0";
    /// A ring of `--lossy` was full.
    CALL_DROPPED_LOSSY = 40, "calls dropped: their thread's ring was full (--lossy)", one: "call dropped: its thread's ring was full (--lossy)";
    /// The same for what is no call.
    EVENT_DROPPED_LOSSY = 41, "look-ups dropped: their thread's ring was full (--lossy)", one: "look-up dropped: its thread's ring was full (--lossy)";
    /// An enter record for which no chunk could be had.
    CALL_DROPPED = 42, "calls not recorded: no room in the run directory", one: "call not recorded: no room in the run directory";
    /// Its enter record is there.
    END_DROPPED = 43, "ends of calls not recorded (these are shown as unfinished): no room in the run directory", one: "end of a call not recorded (this is shown as unfinished): no room in the run directory";
    /// A frame's number is one of another thread's ring.
    END_ELSEWHERE = 30, "calls that ended in another thread than they began in (fibres): shown as unfinished", one: "call that ended in another thread than it began in (a fibre): shown as unfinished";
    /// Whoever wrote them down could not go on.
    NOT_WRITTEN = 44, "calls not recorded: the recording could not be written any more", one: "call not recorded: the recording could not be written any more";
    /// Added where it begins to wait, taken off where it goes on: what is left ended with its process.
    CALL_WAITED = 45, "calls that never began: they waited for room in their thread's ring when the process ended, or were left while they waited (by longjmp, a thread's end)", one: "call that never began: it waited for room in its thread's ring when the process ended, or was left while it waited (by longjmp, a thread's end)";
    /// --count: a number could not be kept.
    NOT_COUNTED = 46, "calls not counted: no room in the run directory, or no mapping left (vm.max_map_count)", one: "call not counted: no room in the run directory, or no mapping left (vm.max_map_count)";
    /// Opened by dlmopen, with whatever calls they make.
    NAMESPACE = 47, "libraries in another namespace (dlmopen): their calls, and calls of them, were not seen", one: "library in another namespace (dlmopen): its calls, and calls of it, were not seen";
    /// A ring was full.
    STACK_NOT_KEPT = 27, "stacks not kept, or only in part: no room in the run directory", one: "stack not kept, or only in part: no room in the run directory";
    /// Not even the kernel could copy the caller's frame.
    STACK_NOT_READ = 28, "stacks that could not be read: only the caller is shown", one: "stack that could not be read: only the caller is shown";
    /// A ring was full, or an ioctl leads to more than 256 KiB.
    MEMORY_NOT_KEPT = 33, "pieces of memory of ioctls not kept: no room in the run directory, or more than 256 KiB of one ioctl", one: "piece of memory of an ioctl not kept: no room in the run directory, or more than 256 KiB of one ioctl";
    /// Counted in the control page, for such a process has no page of its own.
    OTHER_LIBC = 34, "processes of another C library than glibc (such as musl): left alone, their calls were not seen", one: "process of another C library than glibc (such as musl): left alone, its calls were not seen";
    /// Once for each table and reason; the list has both.
    HIDDEN_TABLE_LEFT = 32, "hidden tables left alone: calls of the functions in them were not seen", one: "hidden table left alone: calls of the functions in it were not seen";
    /// Found outside, at the end, in the program's file; no process counts it.
    STATIC_TOOLKIT = 22, "toolkit libraries linked statically into a program: calls of them were not seen", one: "toolkit library linked statically into a program: calls of it were not seen";
}

#[cfg(test)]
mod tests {
    #[test]
    fn reasons_fit_the_page() {
        assert!((0..super::COUNTERS).any(|n| super::text(n).is_some()));
        assert!(super::text(super::COUNTERS).is_none());
        assert_eq!(super::text_of_one(super::HOOK_ABSENT), Some("hook library that took no part in a process"));
        assert!((0..super::COUNTERS).all(|n| super::text(n).is_none() || super::text(n) != super::text_of_one(n)));
    }
}
