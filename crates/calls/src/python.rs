//! Where CPython keeps the frames of a thread, and the names and lines of its code.

use crate::generated::python::{LAYOUTS, NONE, OTHERS};
use crate::{Layer, Role, blocks, glob, has_role, is_chatter, tells_of_memory};

/// A field of a struct of CPython, or where something begins in one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    ThreadFrame,
    CframeFrame,
    FrameCode,
    FramePrevious,
    FrameInstruction,
    FrameIndex,
    FrameOwner,
    FrameEntry,
    CodeFirstLine,
    CodeFile,
    CodeName,
    CodeLines,
    CodeStart,
    TextLength,
    TextHash,
    TextState,
    TextShort,
    TextLong,
    BytesSize,
    BytesData,
    RuntimeFinalizing,
}

/// Fields of a layout.
pub const FIELDS: usize = Field::RuntimeFinalizing as usize + 1;
/// A frame with this owner, or a larger number, is one of C code.
pub const OWNED_BY_C: u8 = 3;
/// Of each object, the address of its type.
pub const OBJECT_TYPE: usize = 8;
/// Of each type, the address of its name.
pub const TYPE_NAME: usize = 24;

/// The structs of one minor version.
#[derive(Debug)]
pub struct Layout {
    /// Of Python 3.
    pub minor: u8,
    /// An export that the versions before have not; empty: the version is exported.
    pub symbol: &'static [u8],
    /// How lines are written: one of `cutap_wire::python::line_table`.
    pub lines: u8,
    /// Bytes of code that a number of an instruction stands for; 0: frames have addresses.
    pub index_bytes: u8,
    /// Offsets in the structs, in the order of [`Field`].
    pub offsets: [u16; FIELDS],
    /// Where the interpreter's own table has such an offset.
    pub debug: [u16; FIELDS],
}

impl Layout {
    /// The offset of a field, if this version has it, or where its table has the offset (`true`).
    pub fn offset(&self, field: usize) -> Option<(usize, bool)> {
        let at = |of: &[u16; FIELDS]| of.get(field).copied().filter(|offset| *offset != NONE).map(usize::from);
        at(&self.offsets).map(|offset| (offset, false)).or_else(|| at(&self.debug).map(|place| (place, true)))
    }
}

/// Functions of PyTorch by which a backward pass is followed.
#[derive(Debug)]
pub struct Autograd {
    /// The SONAME of the library that exports them.
    pub library: &'static [u8],
    /// Gives a new node its number among those of its thread.
    pub numbers_node: &'static [u8],
    /// Answers the number of the thread.
    pub thread: &'static [u8],
    /// Runs a node.
    pub evaluate: &'static [u8],
}

/// Where a node of autograd has its numbers.
#[derive(Debug)]
pub struct NodeLayout {
    /// The function that begins a pass, by whose symbol the layout is known.
    pub execute: &'static [u8],
    /// Where a node has its own address, if it has.
    pub itself: Option<u16>,
    /// The number of the node.
    pub sequence: u16,
    /// The number of the thread that made it.
    pub thread: u16,
}

/// The layout of a minor version of Python 3.
pub fn layout(minor: u8) -> Option<&'static Layout> {
    LAYOUTS.iter().find(|layout| layout.minor == minor)
}

/// Whether a library is one of another implementation of Python.
pub fn is_other_python(object: &[u8]) -> bool {
    OTHERS.iter().any(|pattern| glob(pattern, object))
}

/// Whether the Python frames of a function's calls are kept where no filter chooses. They are if it may start work,
/// allocates, frees or waits.
pub fn is_of_interest(layer: u8, name: &[u8]) -> bool {
    let is_cuda = |layer: u8| {
        [Layer::DRIVER, Layer::RUNTIME, Layer::LIBRARY, Layer::HIDDEN].iter().any(|of| of.number() == layer)
    };
    let Ok(text) = core::str::from_utf8(name) else { return false };
    if !is_cuda(layer) || is_chatter(text) {
        return false;
    }
    let is_idle = || {
        [Role::SetsUp, Role::NeverSubmits, Role::Query, Role::AsksForEnd, Role::NoErrorCode, Role::ReturnsText]
            .iter()
            .any(|role| has_role(name, *role))
    };
    tells_of_memory(text) || blocks(text).is_some() || !is_idle()
}

/// Whether what a function returns says that it has failed, if it is not 0.
pub fn may_fail(name: &[u8]) -> bool {
    ![Role::ReturnsText, Role::ReturnsNumber, Role::ReturnsNothing, Role::NoErrorCode, Role::AsksForEnd]
        .iter()
        .any(|role| has_role(name, *role))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layouts() {
        let of = layout(11).unwrap();
        assert_eq!(of.offset(Field::FrameCode as usize), Some((32, false)));
        assert_eq!(of.offset(Field::FrameOwner as usize), None);
        assert_eq!(layout(13).unwrap().offset(Field::FrameCode as usize), Some((240, true)));
        assert!(layout(7).is_none() && layout(15).is_none());
        assert!(is_other_python(b"libpypy3.10-c.so") && !is_other_python(b"libpython3.10.so.1.0"));
    }

    #[test]
    fn functions() {
        let driver = Layer::DRIVER.number();
        for name in ["cuLaunchKernel", "cuMemAlloc_v2", "cuMemFree_v2", "cuStreamSynchronize", "cuMemcpyHtoD_v2"] {
            assert!(is_of_interest(driver, name.as_bytes()), "{name}");
        }
        for name in ["cuCtxGetCurrent", "cuDeviceGetAttribute", "cuStreamQuery", "cuGetErrorName", "cuEventElapsedTime"]
        {
            assert!(!is_of_interest(driver, name.as_bytes()), "{name}");
        }
        assert!(is_of_interest(Layer::LIBRARY.number(), b"cublasSgemm_v2"));
        assert!(!is_of_interest(Layer::LIBRARY.number(), b"cublasSetStream_v2"));
        assert!(!is_of_interest(Layer::SYSCALL.number(), b"NV_ESC_RM_ALLOC"));
        assert!(may_fail(b"cuLaunchKernel") && !may_fail(b"cudaGetErrorString") && !may_fail(b"cuEventQuery"));
    }
}
