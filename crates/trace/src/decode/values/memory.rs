//! Memory of the program that a record holds. The interpreter follows pointers only into these bytes.

use cutap_wire::record::{Fragment, Fragments};

/// Memory as it was before a call, or after it.
#[derive(Debug, Clone, Copy)]
pub struct Memory<'a>(Fragments<'a>);

impl<'a> Memory<'a> {
    /// All pieces.
    pub fn pieces(self) -> Fragments<'a> {
        self.0
    }

    /// The memory that these bytes of a record hold.
    pub fn new(bytes: &'a [u8]) -> Memory<'a> {
        Memory(Fragments::new(bytes))
    }

    /// The piece that begins at this address; the longest, should there be several. Pieces that merely
    /// hold the address are not looked at: a kernel's parameters are kept as if they lay together.
    pub fn at(self, address: u64) -> Option<Fragment<'a>> {
        self.0.filter(|f| f.address == address).max_by_key(|f| f.bytes.len())
    }
}
