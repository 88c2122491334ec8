//! `flags` of a process: for each runtime instance the flags that the runtime itself reads before each call, so that a call that is
//! not wanted costs what it costs without us. They lie in a file, so that somebody outside can switch them while no code of
//! ours runs; beside each stands whether it may be on at all.

/// Name of the file in the process folder.
pub const FILE: &str = "flags";
/// Functions of an instance.
pub const CALLBACKS: usize = 2048;
/// Bytes of one instance in the file: a flag of four bytes for each function, then a byte.
pub const INSTANCE_BYTES: usize = 3 * crate::PAGE;
/// Where the bytes begin.
pub const ARMED: usize = CALLBACKS * 4;

/// The flag stays off: nobody wants the function.
pub const NEVER: u8 = 0;
/// The flag follows recording.
pub const FOLLOWS: u8 = 1;
/// The flag stays on: somebody else listens too.
pub const ALWAYS: u8 = 2;

const _: () = assert!(ARMED + CALLBACKS <= INSTANCE_BYTES);
