//! Program headers of an object, as the loader reports them.

/// Program header.
#[repr(C)]
pub struct Phdr {
    /// `PT_*`
    pub kind: u32,
    /// `PF_*`
    pub flags: u32,
    /// Offset in the file.
    pub offset: u64,
    /// Address before relocation.
    pub vaddr: u64,
    /// Unused.
    pub paddr: u64,
    /// Bytes in the file.
    pub filesz: u64,
    /// Bytes in memory.
    pub memsz: u64,
    /// Alignment.
    pub align: u64,
}
/// Loaded segment.
pub const PT_LOAD: u32 = 1;
/// Dynamic section.
pub const PT_DYNAMIC: u32 = 2;
/// Read-only after relocation.
pub const PT_GNU_RELRO: u32 = 0x6474_e552;
/// Executable.
pub const PF_X: u32 = 1;
/// Writable.
pub const PF_W: u32 = 2;
