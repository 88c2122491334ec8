//! `control.<n>` of a run: the switches of one process. Its first page is laid out as the control page, of which
//! `recording`, the rules and their epoch count, and `first_pid` says whose it is. The process maps it where its gates
//! look, so that somebody outside switches it alone. A process makes one when the first function is armed in it, a
//! forked child at once if its parent has one.
//!
//! Behind the page stand, for each runtime instance, the flags that the runtime itself reads before each call, so that
//! a call that is not wanted costs what it costs without us; beside each stands whether it may be on at all.

/// How the name of the file begins; its number follows.
pub const FILE: &str = "control.";
/// Functions of an instance.
pub const CALLBACKS: usize = 2048;
/// Where the flags of the first instance begin.
pub const FIRST: usize = crate::PAGE;
/// Bytes of one instance in the file: a flag of four bytes for each function, then a byte.
pub const INSTANCE_BYTES: usize = 3 * crate::PAGE;
/// Instances of a process that have a place.
pub const INSTANCES: usize = 128;
/// Where the bytes begin.
pub const ARMED: usize = CALLBACKS * 4;

/// The flag stays off: nobody wants the function.
pub const NEVER: u8 = 0;
/// The flag follows recording.
pub const FOLLOWS: u8 = 1;
/// The flag stays on: somebody else listens too.
pub const ALWAYS: u8 = 2;
/// The flag stays off: each call comes through a slot and is seen there.
pub const QUIET: u8 = 3;

const _: () = assert!(ARMED + CALLBACKS <= INSTANCE_BYTES);
