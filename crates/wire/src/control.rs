//! `RUN/control`: one page that `cutap` writes before the program starts and that both sides keep
//! mapped. It says what is wanted and whether somebody drains. It must stay valid with nobody
//! outside: a program started by `eval $(cutap env …)` finds the same page.

use core::sync::atomic::{AtomicU8, AtomicU32, AtomicU64};

/// Name of the file in the run directory.
pub const FILE: &str = "control";
/// A page that every process of the run keeps mapped and nobody reads or writes: as long as one does, the file counts
/// as open for writing, and the kernel refuses a lease of it. So the collector knows that somebody lives whom `/proc`
/// does not show.
pub const ALIVE: &str = "alive";
/// The rules that the run began with, if there were any, in a file beside it: what may be recorded at all. Nobody
/// changes them.
pub const ARMED: &str = "armed";
/// The text of the filter that the run was made with, if there was one: what readers show of it unless they are asked
/// for other calls. More may be recorded, for only a reader can decide on the end of a call.
pub const FILTER: &str = "filter";
/// The rank of the run in its job, as decimal text, if the launcher told one.
pub const RANK: &str = "rank";
/// The file in the run directory with the host and what the launcher told, a `NAME=VALUE` a line.
pub const HOST: &str = "host";
/// The file in the run directory with what `cutap where --json` said when the run hung (`record --on-hang`).
pub const HANG: &str = "hang";
/// The path of the recording that the run is written to, if it is.
pub const RECORDING: &str = "recording";
/// What `--deny` and `--fail` ask for: see [`kernel_answer`]. Absent where they were not given.
pub const KERNEL_ANSWERS: &str = "kernel";
/// A row of the file [`KERNEL_ANSWERS`]: whose number, the number, how it is answered, the status; each four bytes.
pub mod kernel_answer {
    /// Whose number: an escape's.
    pub const ESCAPE: u32 = 0;
    /// A control's.
    pub const CONTROL: u32 = 1;
    /// A class's.
    pub const CLASS: u32 = 2;
    /// A UVM command's.
    pub const UVM: u32 = 3;
    /// The ioctl fails with EINVAL.
    pub const DENY: u32 = 0;
    /// The ioctl returns 0, and its struct has the status.
    pub const FAIL: u32 = 1;
    /// Rows at most.
    pub const MOST: usize = 64;
}
/// Environment variable that names the run directory.
pub const ENV_RUN: &str = "CUTAP_RUN";

/// Environment variable that names the library that NVTX loads: a tool, or cutap.
pub const ENV_NVTX: &str = "NVTX_INJECTION64_PATH";

/// Environment variable that names the library of another tool for NVTX, which the program's environment named.
pub const ENV_OTHER_NVTX: &str = "CUTAP_NVTX_INJECTION64_PATH";

/// Record every look-up (dlsym, cuGetProcAddress, cuGetExportTable) as a separate event.
pub const LOOKUPS: u64 = 1 << 0;
/// C++ names are armed too (recorded on the way in, then jumped to).
pub const CXX_NAMES: u64 = 1 << 1;
/// Only the process that starts first is traced; in its children nothing is diverted.
pub const NO_FOLLOW: u64 = 1 << 2;
/// Copy each module image that the program loads into `RUN/modules/`.
pub const DUMP_MODULES: u64 = 1 << 3;
/// A full ring drops immediately and counts, instead of waiting for the collector.
pub const LOSSY: u64 = 1 << 4;
/// A full ring writes over its oldest chunk: the newest calls are kept, and nobody drains meanwhile.
pub const FLIGHT: u64 = 1 << 10;

/// In `recording`: calls pass and nothing is written.
pub const RECORDING_OFF: u32 = 0;
/// In `recording`.
pub const RECORDING_ON: u32 = 1;
/// In `recording`: nobody can write what is recorded any more; calls are counted.
pub const RECORDING_BROKEN: u32 = 2;
/// In `recording`: calls are counted, and nothing else is known of them.
pub const RECORDING_COUNT: u32 = 3;

/// Recording begins with cuProfilerStart and ends with cuProfilerStop, in each process for itself.
pub const RANGE: u64 = 1 << 12;
/// With [`RANGE`]: instead, while a range of NVTX is open that the file [`CAPTURE_RANGE`] names.
pub const RANGE_OF_NVTX: u64 = 1 << 21;
/// The name of that range, with `*`, a line end, and the name of its domain, with `*`.
pub const CAPTURE_RANGE: &str = "capture-range";
/// Bytes of that file at most.
pub const CAPTURE_RANGE_BYTES: usize = 512;
/// Calls are counted and not recorded: switched on, `recording` is [`RECORDING_COUNT`].
pub const COUNT: u64 = 1 << 13;

/// Stacks are kept of calls that no other recorded call is made around; else of those that `stack_rules` want.
pub const STACK_OUTERMOST: u64 = 1 << 15;

/// For readers: this page has `entered` and `inner`; older ones may have a sixteenth switch in their place.
pub const COUNTS_ENTERED: u64 = 1 << 16;

/// For readers: the run has rows of GPU time.
pub const GPU_TIME: u64 = 1 << 17;

/// In the page of a run and in that of a process: GPU times are switched off now.
pub const GPU_TIME_OFF: u64 = 1 << 18;
/// libcuda's question for an injection is answered, so that no variable names the injection.
pub const GPU_TIME_ANSWERED: u64 = 1 << 20;
/// In the page of a process: a profiler of the program has CUPTI, so that there are no rows any more.
pub const GPU_TIME_TAKEN: u64 = 1 << 19;
/// Calls of functions that start no work (`calls::is_chatter`) are counted, and recorded only where they fail.
pub const COUNT_CHATTER: u64 = 1 << 22;
/// The program's driver is cutap's, in a folder beside the library in the target: simulated devices.
pub const DRIVER_SIMULATED: u64 = 1 << 23;
/// Its folder.
pub const SIMULATED_FOLDER: &str = "sim";
/// The same: real GPUs.
pub const DRIVER_CUDEST: u64 = 1 << 24;
/// Its folder.
pub const CUDEST_FOLDER: &str = "cudest";

/// The Python frames of calls are kept: of those that start work, allocate, free, wait or fail; with the file
/// [`PYTHON_RULES`] of those that it wants.
pub const PYTHON: u64 = 1 << 25;
/// The rules of which calls they are, in a file beside this page.
pub const PYTHON_RULES: &str = "python";
/// Bytes of that file at most.
pub const PYTHON_RULES_BYTES: usize = 1024;

/// For readers: recording was switched off at some time, so calls are missing.
pub const SWITCHED: u64 = 1 << 14;

/// In `switched`: other rules.
pub const RULES_CHANGED: u32 = 16;
/// In `switched`: no rules any more.
pub const RULES_ALL: u32 = 17;
/// Times that `switched` has room for; a program that is switched more often is only known to have been.
pub const SWITCHES: usize = 15;

/// In `program_end`: with the exit code in the lowest byte.
pub const ENDED_WITH_CODE: u32 = 1 << 16;
/// In `program_end`: by the signal in the lowest byte.
pub const ENDED_BY_SIGNAL: u32 = 1 << 17;

/// Nobody drained this run so far.
pub const COLLECTOR_NEVER: u32 = 0;
/// A collector is attached; its heartbeat moves.
pub const COLLECTOR_ATTACHED: u32 = 1;
/// The collector has left in order: chunks are no longer freed.
pub const COLLECTOR_GONE: u32 = 2;

/// Room for the rules text behind the fixed fields.
pub const RULES_BYTES: usize = 2816;
/// Room for the names of programs that are left alone.
pub const LEFT_NAMES_BYTES: usize = 240;
/// Bytes of a stack at most.
pub const STACK_MOST: usize = 64 * 1024;
/// Room for the rules of stacks.
pub const STACK_RULES_BYTES: usize = 624;

/// The page.
#[repr(C)]
pub struct Control {
    /// [`crate::MAGIC`].
    pub magic: u64,
    /// [`crate::VERSION`].
    pub version: u32,
    /// Bytes of one chunk of a ring, a multiple of the page size.
    pub chunk_bytes: u32,
    /// Bits from this module.
    pub flags: AtomicU64,
    /// Chunks that a ring may have before its writer waits for the collector.
    pub max_chunks: AtomicU32,
    /// One of the `COLLECTOR_*` values.
    pub collector: AtomicU32,
    /// CLOCK_MONOTONIC nanoseconds of the collector's last round.
    pub heartbeat: AtomicU64,
    /// One of the `RECORDING_*` values.
    pub recording: AtomicU32,
    /// Raised when the rules have changed, odd while they are being written: processes look at what is armed again.
    pub rules_epoch: AtomicU32,
    /// Processes that could not make their folder: nothing of them is here.
    pub failed: AtomicU32,
    /// The process that started first, for [`NO_FOLLOW`]; 0: none yet. It keeps its id through exec.
    pub first_pid: AtomicU32,
    /// What is wanted, one rule a line (see `calls::filter`): empty means everything.
    pub rules: [u8; RULES_BYTES],
    /// Processes that were left alone, because their C library is not glibc.
    pub left_alone: AtomicU32,
    /// Bytes of `left_names` that are taken; more than there are: the next name found no room.
    pub left_names_len: AtomicU32,
    /// File names of their programs, each once as a rule, with a zero behind each.
    pub left_names: [AtomicU8; LEFT_NAMES_BYTES],
    /// For the collector that follows one that was killed. Ticks up to which all events are printed; the length of the
    /// output then; CLOCK_MONOTONIC nanoseconds up to which all lines that were due are printed.
    pub printed: [AtomicU64; 3],
    /// CLOCK_MONOTONIC nanoseconds of the last sign of life of somebody who copies the rings of a flight
    /// recorder: no chunk is written over meanwhile. 0: nobody.
    pub copying: AtomicU64,
    /// Length of `rules`.
    pub rules_len: AtomicU32,
    /// Bytes of the caller's stack that are kept of a call; 0: no stacks.
    pub stack_bytes: u32,
    /// Length of `stack_rules`.
    pub stack_rules_len: u32,
    /// Of which calls, as `rules`.
    pub stack_rules: [u8; STACK_RULES_BYTES],
    /// Of a process's own page: its captures of graphs that are open. Written by the process alone.
    pub captures: AtomicU32,
    /// The same: 1 if recording is on only until the last of them ends.
    pub on_for_capture: AtomicU32,
    /// Of a process's own page: the name space that its number is of, as the kernel numbers them, and when it began, in
    /// ticks of the kernel (the lower half): numbers of both come round. 0: not known.
    pub pid_namespace: AtomicU32,
    /// See `pid_namespace`.
    pub start_time: AtomicU32,
    /// How often the run was switched since its start.
    pub switches: AtomicU32,
    /// The first of these times: CLOCK_MONOTONIC nanoseconds, and one of the `RECORDING_*` values [`RULES_CHANGED`] or
    /// [`RULES_ALL`]; in the upper half of that the process that was switched alone, 0: all.
    pub switched: [[AtomicU64; 2]; SWITCHES],
    /// Programs in which the library began its work with this page (see [`COUNTS_ENTERED`]). A forked child counts when
    /// it execs.
    pub entered: AtomicU32,
    /// Runs of cutap that were started by a program of this run: the programs that they start use their pages. As
    /// `entered`.
    pub inner: AtomicU32,
    /// Programs that a process of the run started without cutap in their environment.
    pub cleaned: AtomicU32,
    /// How the program that cutap started ended: [`ENDED_WITH_CODE`] or [`ENDED_BY_SIGNAL`], with the number in the
    /// lowest byte. 0: it runs, or cutap ended before it. Written by the process that started it.
    pub program_end: AtomicU32,
    /// Files `control.<n>` so far (see `flags`).
    pub own_pages: AtomicU32,
    /// Not 0: somebody switched a process alone, so a new one has to look whether that is meant for it too.
    pub alone: AtomicU32,
    /// Ticks a second of the time stamp counter, as the collector measured it; 0: not yet. Short recordings of a
    /// processor that does not state it need it.
    pub ticks_per_second: AtomicU64,
    /// A random number, by which a recording is known to be of this run; 0: there was none.
    pub run: u64,
    /// Calls of processes that had ended and were left out of a flight recorder, whole, to keep it small: written by
    /// the collector.
    pub forgotten: AtomicU64,
}

const _: () = assert!(size_of::<Control>() <= crate::PAGE);
// The assembler reads the two as one word.
const _: () = assert!(
    core::mem::offset_of!(Control, recording).is_multiple_of(8)
        && core::mem::offset_of!(Control, rules_epoch) == core::mem::offset_of!(Control, recording) + 4
);
