//! What the target knows of requests of the kernel driver: how long an argument is, and where pointers to further
//! memory stand. No names: `crates/rm` has those.

pub use crate::generated::kernel::{CLASS_SIZES, FOLLOW, PLACES, STATUS_AT, UVM_SIZES};
use crate::generated::libc::KERNEL_FUNCTIONS;

/// An embedded pointer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Follow {
    /// What has it.
    pub owner: Owner,
    /// The number of the owner.
    pub number: u32,
    /// Bytes of the struct, for an escape that has several.
    pub size: u32,
    /// Where it stands.
    pub at: u32,
    /// Two numbers whose product counts elements: where each stands, and its bytes; 0 bytes: there is none.
    pub counts: [(u32, u32); 2],
    /// Bytes of an element.
    pub element: u32,
    /// Elements, where no number counts them.
    pub fixed: u32,
    /// What is there.
    pub inner: Inner,
    /// Where the number stands that selects it.
    pub selector: u32,
}

/// What has a pointer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Owner {
    /// An escape, by its number.
    Escape,
    /// The parameters of a control.
    Control,
    /// The allocation parameters of a class.
    Class,
}

/// What a pointer leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Inner {
    /// Elements without pointers.
    Nothing,
    /// The parameters of the control of a number.
    Control,
    /// The allocation parameters of the class of a number.
    Class,
    /// The argument of the escape of a number.
    Escape,
}

impl Inner {
    /// Whose pointers may be inside.
    pub const fn owner(self) -> Option<Owner> {
        match self {
            Self::Nothing => None,
            Self::Control => Some(Owner::Control),
            Self::Class => Some(Owner::Class),
            Self::Escape => Some(Owner::Escape),
        }
    }
}

/// A request of which the target reads fields. Their places are in [`PLACES`], in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tracked {
    /// An object is made: its client, its handle, its class, a pointer to its parameters.
    Alloc,
    /// An object is freed: its client, its handle.
    Free,
    /// Memory is prepared to be mapped: client, handle, offset, length, descriptor.
    MapMemory,
    /// Memory gets an address of a GPU: client, handle, offset, length, address.
    MapDma,
    /// The same by the UVM driver: address, length, offset, client, handle.
    MapExternal,
    /// Parameters of a channel: address and entries of its ring, handle of the memory of USERD, offset in it, engine.
    Channel,
}

/// The place of a field that a struct has not.
pub const NO: u32 = u32::MAX;

/// Where the fields of a request stand, and which one it is. The number is that of an escape, a UVM command or a class.
pub fn places(of: impl Fn(Tracked) -> bool, number: u32, size: usize) -> Option<(Tracked, &'static [u32; 5])> {
    let is =
        |row: &&(Tracked, u32, u32, [u32; 5])| of(row.0) && row.1 == number && (row.2 == 0 || row.2 as usize == size);
    PLACES.iter().find(is).map(|row| (row.0, &row.3))
}

/// The pointers of an owner. Of an escape those of the struct of this size.
pub fn pointers(owner: Owner, number: u32, size: usize) -> impl Iterator<Item = &'static Follow> {
    let from = FOLLOW.partition_point(|f| (f.owner, f.number) < (owner, number));
    let own = FOLLOW.get(from..).unwrap_or(&[]).iter().take_while(move |f| f.owner == owner && f.number == number);
    own.filter(move |f| f.owner != Owner::Escape || f.size as usize == size)
}

/// Bytes of the argument of a UVM command; 0: it is not known.
pub fn uvm_size(request: u32) -> usize {
    size_of(UVM_SIZES, request)
}

/// Bytes of the allocation parameters of a class; 0: it is not known.
pub fn class_size(class: u32) -> usize {
    size_of(CLASS_SIZES, class)
}

/// Where the struct of an escape or a UVM command, which has so many bytes, has its status.
pub fn status_at(request: u32, size: usize) -> Option<usize> {
    let is = |row: &&(u32, u32, u32)| row.0 == request && row.1 as usize == size;
    STATUS_AT.iter().find(is).map(|row| row.2 as usize)
}

fn size_of(sizes: &[(u32, u32)], number: u32) -> usize {
    let index = sizes.binary_search_by_key(&number, |(own, _)| *own).ok();
    index.and_then(|at| sizes.get(at)).map_or(0, |(_, size)| *size as usize)
}

/// Whether a function of this name, of libc, is one of the layer `syscall`.
pub fn is_function(name: &[u8]) -> bool {
    KERNEL_FUNCTIONS.binary_search_by(|known| known.as_bytes().cmp(name)).is_ok()
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;

    #[test]
    fn sizes() {
        assert_eq!((uvm_size(33), uvm_size(0x3000_0001), uvm_size(12345)), (9264, 16, 0));
        assert_eq!((class_size(0xc86f), class_size(0x40), class_size(0xffff)), (368, 128, 0));
    }

    #[test]
    fn pointers_of_a_control_and_of_its_escape() {
        let escape: std::vec::Vec<_> = pointers(Owner::Escape, 0x2a, 32).collect();
        assert_eq!(
            (escape.len(), escape[0].at, escape[0].counts[0], escape[0].inner),
            (1, 16, (24, 4), Inner::Control)
        );
        assert_eq!(escape[0].selector, 8);
        assert_eq!(pointers(Owner::Escape, 0x2a, 48).count(), 0);
        let version: std::vec::Vec<_> = pointers(Owner::Control, 0x101, 40).collect();
        assert_eq!(version.len(), 3);
        assert!(pointers(Owner::Escape, 0x2b, 48).any(|f| f.inner == Inner::Class && f.counts[0] == (32, 4)));
        assert!(pointers(Owner::Escape, 0x2b, 32).any(|f| f.inner == Inner::Class && f.counts[0] == (24, 4)));
    }

    #[test]
    fn statuses() {
        assert_eq!((status_at(0x2a, 32), status_at(0x2b, 48), status_at(0x2b, 32)), (Some(28), Some(40), Some(28)));
        assert_eq!((status_at(33, 9264), status_at(0x4e, 56), status_at(0x2a, 7)), (Some(9260), Some(40), None));
    }

    #[test]
    fn places_of_fields() {
        let of = |wanted: Tracked, number, size| places(|t| t == wanted, number, size).map(|(_, at)| *at);
        assert_eq!(of(Tracked::Alloc, 0x2b, 48), Some([0, 8, 12, 16, NO]));
        assert_eq!(of(Tracked::MapMemory, 0x4e, 56), Some([0, 8, 16, 24, 48]));
        assert_eq!(of(Tracked::MapDma, 0x57, 64), Some([0, 12, 16, 24, 48]));
        assert_eq!(of(Tracked::MapDma, 0x57, 56), Some([0, 12, 16, 24, 40]));
        assert_eq!(of(Tracked::MapExternal, 33, 9264), Some([0, 8, 16, 9252, 9256]));
        assert_eq!(of(Tracked::Channel, 0xc86f, 368), Some([8, 16, 32, 64, 128]));
        assert_eq!((of(Tracked::Channel, 0xcbc0, 0), of(Tracked::Free, 0x29, 16)), (None, Some([0, 8, NO, NO, NO])));
    }

    #[test]
    fn functions() {
        assert!(is_function(b"ioctl") && is_function(b"getenv") && !is_function(b"malloc") && !is_function(b""));
    }
}
