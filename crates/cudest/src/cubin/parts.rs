//! The contents of a cubin by kernel: code, registers, parameters, constants, memory; and its variables.

use std::collections::BTreeMap;

/// A kernel of a cubin.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Entry {
    /// Its name.
    pub name: String,
    /// Registers of a thread.
    pub registers: u32,
    /// Named barriers.
    pub barriers: u32,
    /// Static shared memory, with the system's first KiB.
    pub shared: u32,
    /// Bytes of a thread's stack.
    pub stack: u32,
    /// Where parameters begin in constant bank 0, and how many bytes they have.
    pub parameters_at: usize,
    /// Bytes of all parameters.
    pub parameters_size: usize,
    /// Each parameter.
    pub parameters: Vec<Parameter>,
    /// Most threads of a block; 0: no limit.
    pub max_threads: u32,
    /// Whether it wants clusters of blocks.
    pub cluster: bool,
    /// Whether it reads a texture reference or uses a surface reference. Handles of textures are ordinary parameters.
    pub textures: bool,
    pub(super) code: usize,
    /// Its own constant banks: bank, section.
    pub(super) banks: Vec<(usize, usize)>,
    pub(super) code_size: u64,
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
    pub(super) section: usize,
    pub(super) offset: u64,
}

/// A section that a GPU needs in memory.
#[derive(Debug, Clone)]
pub(super) struct Section {
    pub index: usize,
    pub align: u64,
    pub size: u64,
    /// Empty for memory that begins as zero.
    pub bytes: Vec<u8>,
}

/// A place that takes the address of a symbol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Relocation {
    pub section: usize,
    pub offset: u64,
    pub kind: u32,
    pub target: Target,
    pub addend: i64,
    /// Whether the place holds the addend (REL).
    pub addend_in_place: bool,
}

/// What a symbol leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Target {
    Place {
        section: usize,
        offset: u64,
    },
    /// A function that is not in the module: a number in [`Cubin::missing`].
    Missing(usize),
    Value(u64),
}

/// A parsed cubin.
#[derive(Debug, Clone, Default)]
pub(crate) struct Cubin {
    pub architecture: u32,
    pub kernels: BTreeMap<String, Entry>,
    pub variables: BTreeMap<String, Variable>,
    /// Functions that libcuda would supply.
    pub missing: Vec<String>,
    pub(super) sections: Vec<Section>,
    pub(super) relocations: Vec<Relocation>,
    /// Constant banks of the whole module: bank, section.
    pub(super) banks: Vec<(usize, usize)>,
}
