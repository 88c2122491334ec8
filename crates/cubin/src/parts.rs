//! The parts of a cubin: kernels, with what their launch needs, variables, and sections in the memory of a GPU.

/// A kernel of a cubin.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Kernel {
    /// Its name.
    pub name: String,
    /// Registers of a thread.
    pub registers: u32,
    /// Named barriers.
    pub barriers: u32,
    /// Static shared memory. From sm_90 on it begins with the system's KiB, if there is any.
    pub shared: u32,
    /// Bytes of a thread's stack for the kernel itself.
    pub frame: u32,
    /// Bytes of a thread's stack, with that of the functions that it calls.
    pub stack: u32,
    /// Where parameters begin in constant bank 0. Of a kernel without parameters: how many bytes the bank has.
    pub parameters_at: usize,
    /// Bytes of all parameters.
    pub parameters_size: usize,
    /// Each parameter, in order.
    pub parameters: Vec<Parameter>,
    /// Most threads of a block; 0: no limit.
    pub max_threads: u32,
    /// The sides of its clusters, in blocks, if the cubin says them.
    pub cluster: Option<[u32; 3]>,
    /// Whether it reads a texture reference or uses a surface reference. Handles of textures are ordinary parameters.
    pub textures: bool,
    /// The section of its code.
    pub code: usize,
    /// Its own constant banks: bank, section.
    pub banks: Vec<(usize, usize)>,
}

impl Kernel {
    /// Static shared memory without the system's KiB, which code of sm_90 and later counts.
    pub fn own_shared(&self, architecture: u32) -> u32 {
        const SYSTEM: u32 = 1024;
        if architecture >= 90 { self.shared.saturating_sub(SYSTEM) } else { self.shared }
    }
}

/// A parameter of a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parameter {
    /// Its first byte.
    pub offset: usize,
    /// Its bytes.
    pub size: usize,
}

/// A variable of a module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Its bytes.
    pub size: u64,
    /// Whether it is in managed memory.
    pub managed: bool,
    /// Its section.
    pub section: usize,
    /// The offset of its first byte in the section.
    pub offset: u64,
}

/// A section that a GPU needs in memory.
#[derive(Debug, Clone, Copy)]
pub struct Section<'a> {
    /// Its number.
    pub index: usize,
    /// Its name.
    pub name: &'a str,
    /// Its alignment in bytes, a power of two.
    pub align: u64,
    /// Its bytes in memory.
    pub size: u64,
    /// Empty for memory that begins as zero.
    pub bytes: &'a [u8],
}
