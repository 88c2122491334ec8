//! The registers that a function keeps for its caller, and their numbers in unwind tables.

use cutap_wire::stack::REGISTERS;

/// The registers that a function keeps for its caller, and where it stands. The assembler knows them.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Registers {
    /// rbx, rbp, r12, r13, r14, r15
    pub callee_saved: [u64; 6],
    /// rsp
    pub stack: usize,
    /// Where it continues.
    pub next: usize,
}

impl Registers {
    /// The frame pointer.
    pub fn frame_pointer(&self) -> usize {
        let [_, rbp, ..] = self.callee_saved;
        rbp as usize
    }
    /// In the order of a STACK record: see `cutap_wire::stack::REGISTERS`.
    pub fn in_record(&self) -> [u64; REGISTERS] {
        let [rbx, rbp, r12, r13, r14, r15] = self.callee_saved;
        [self.next as u64, self.stack as u64, rbp, rbx, r12, r13, r14, r15]
    }
}

/// The numbers of registers in unwind tables.
pub mod dwarf {
    /// rbx, rbp, r12 to r15: those of `Registers::callee_saved`.
    pub const CALLEE_SAVED: [u64; 6] = [3, 6, 12, 13, 14, 15];
    /// rsp
    pub const STACK_POINTER: u64 = 7;
    /// rbp
    pub const FRAME_POINTER: u64 = 6;
    /// The column of the return address.
    pub const RETURN_ADDRESS: usize = 16;
}
