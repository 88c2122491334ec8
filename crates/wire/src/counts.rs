//! `t<k>.counts` and `t<k>.runtimes` of a process: how often each function was called by the threads that used block k,
//! under --count. Under --chatter=count they have the calls that start no work. Four bytes say how many entries are
//! allocated, then from [`HEAD`] on eight bytes for each: by number of the slot, or by number of the runtime slot less
//! the number of thunks.

/// How the names of the two files end.
pub const FILES: [&str; 2] = ["counts", "runtimes"];
/// Bytes before the entries.
pub const HEAD: usize = 64;
/// Entries at most.
pub const ENTRIES: u32 = 65536;
/// Entries are allocated in steps of so many.
pub const STEP: u32 = 4096;
/// Number of the first runtime slot.
pub const FIRST_RUNTIME: u64 = 65536;
