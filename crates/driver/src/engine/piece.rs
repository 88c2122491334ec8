//! Memory and addresses apart: a piece of memory has no address, and a view shows a part of it at reserved addresses.

use crate::abi::Answer;

/// Memory without an address. The engine keeps it as long as it has views.
pub trait Piece: Send + Sync {
    /// Puts a part of it at addresses that are reserved and free. No access is possible yet.
    fn view(&self, offset: u64, size: u64, address: u64) -> Answer<Box<dyn View>>;
    /// A file descriptor by which another process gets it.
    fn export(&self) -> Answer<i32>;
}

/// A part of a piece at addresses. Dropping it ends it: no work may use it any more.
pub trait View: Send + Sync {
    fn allow(&mut self, access: Access) -> Answer;
}

/// What may be done at an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    Nothing,
    Read,
    Write,
}
