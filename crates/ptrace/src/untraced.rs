//! Children that ask not to be traced (`CLONE_UNTRACED`), as some crash reporters make them. They have the filter of
//! their parent, and without a tracer each stop of it would be an error. So the flag is taken away before the call,
//! and what was changed for that is restored in parent and child before they run on.

use crate::filter::{I386_CLONE, X32};
use crate::memory::Remote;
use crate::sys::{self, Entry, Register};

const FLAG: u64 = 0x0080_0000;
/// The byte of the flags that has the flag.
const BYTE: u64 = 2;

/// Where the flags of a clone are.
#[derive(Debug, Clone, Copy)]
pub enum Flags {
    /// They are this first argument, and the flag is set.
    Argument(Register, u64),
    /// They are the first word at this address: clone3.
    Memory(u64),
}

/// The flags of a call that makes a child; none if it makes none, or the flag is not set.
pub fn flags_of(entry: &Entry) -> Option<Flags> {
    let first = *entry.arguments.first()?;
    let clone = if entry.native { libc::SYS_clone } else { I386_CLONE };
    let is = |number| entry.number == number || entry.native && entry.number == X32 + number;
    let register = if entry.native { Register::First } else { Register::NarrowFirst };
    match () {
        () if is(libc::SYS_clone3) => Some(Flags::Memory(first)),
        () if is(clone) && first & FLAG != 0 => Some(Flags::Argument(register, first)),
        () => None,
    }
}

/// What was changed for a call that makes a child.
#[derive(Debug, Clone, Copy)]
pub enum Changed {
    /// This register, which had this value.
    Register(Register, u64),
    /// The byte at this address, which had this value.
    Byte(u64, u8),
    /// Nothing, because the flags cannot be read or written: the child may be without a tracer.
    Nothing,
}

/// Takes the flag out of an argument.
pub fn clear_argument(tid: i32, register: Register, flags: u64) -> Changed {
    match sys::set(tid, register, flags & !FLAG) {
        Ok(()) => Changed::Register(register, flags),
        Err(_) => Changed::Nothing,
    }
}

/// Looks for the flag in memory, which may wait for the program: what to change. None: it is not set.
pub fn find_in_memory(remote: &Remote, address: u64) -> Option<Changed> {
    let at = address.checked_add(BYTE)?;
    match remote.bytes(at, 1).first() {
        None => remote.is_forbidden().then_some(Changed::Nothing),
        Some(byte) => (byte & 0x80 != 0).then_some(Changed::Byte(at, *byte)),
    }
}

/// Takes the flag out of the memory where it was found. Only the tracer's thread may write where the program may not.
pub fn clear_memory(found: Changed, remote: &Remote) -> Changed {
    match found {
        Changed::Byte(at, byte) if !remote.put(at, byte & 0x7f) => Changed::Nothing,
        found => found,
    }
}

impl Changed {
    /// In a stopped thread of the parent or the child. Either may have ended.
    pub fn restore(self, tid: i32, remote: &Remote) {
        match self {
            Changed::Register(register, value) => drop(sys::set(tid, register, value)),
            Changed::Byte(address, byte) => {
                if remote.bytes(address, 1) == [byte & 0x7f] {
                    remote.put(address, byte);
                }
            }
            Changed::Nothing => {}
        }
    }
}
