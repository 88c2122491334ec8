//! Types of the generated tables that say how pointers are decoded, how many elements there are, and which
//! allocations and handles a call changes. Data only: `crates/trace/src/decode` interprets them.
//!
//! A `u8` that refers to a parameter or field is its index among its siblings: the other parameters of the function,
//! or the other fields of the struct.

/// How a pointer's target is decoded. `Memory` and the rules like it show an address; the memory is not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// One value of the pointer's type.
    One,
    /// Text that ends with a zero byte.
    Text,
    /// An array of the pointer's type; bytes for `void *`.
    Array(Count),
    /// The call writes the address of an array, which is decoded too. For `void **`: host memory, not read.
    Behind(Count),
    /// Text in a buffer of this size.
    TextOf(Count),
    /// An address of device, host or managed memory; the count is in bytes.
    Memory(Count),
    /// Like `Memory`; host memory unless a known allocation contains the address.
    Host(Count),
    /// Like `Memory`; host memory if no known allocation contains the address and the record shows that the host has
    /// memory there (`kind::PRESENT` of the capture plan).
    Either(Count),
    /// Like `Memory`; host memory if the cudaMemcpyKind in this sibling says that the host is the source.
    From(Count, u8),
    /// Like `Memory`; host memory if the cudaMemcpyKind in this sibling says that the host is the destination.
    To(Count, u8),
    /// An array of addresses of memory. The array in this sibling holds the number of bytes at each address.
    Addresses(Count, u8),
    /// An address that is not read: a cookie, user data, code.
    Opaque,
    /// Values whose type depends on a tag: index into [`Tables::tags`](super::Tables::tags), sibling that holds the
    /// tag, number of values.
    Tagged(u16, u8, Count),
    /// The parameters of a kernel. The first of the two siblings that is not NULL holds the function handle.
    KernelParams(u8, u8),
    /// A list of CU_LAUNCH_PARAM_*.
    Extra,
    /// Values for the option keys in this sibling. Each is a `void *` that holds the value itself or its address.
    OptionValues(u8, Count),
    /// An array of pointers to texts.
    Texts(Count),
    /// A scalar in host or device memory, whose type depends on a tag: index into `tags`, sibling that holds the tag.
    ///
    /// If the sibling is a handle, the tag is the number that [`Effect::Remembers`] stored for it.
    Scalar(u16, u8),
    /// Like `Scalar`, with a second tag for calls where the first one is unknown.
    ScalarOr(u16, u8, u16, u8),
    /// Either the address of a struct, or a number in place of an address (a file descriptor). A tag selects which:
    /// index into `tags`, sibling that holds the tag.
    Word(u16, u8),
}

/// Marks an absent index into `tags`.
pub const NO_TAGS: u16 = u16::MAX;

/// A number of elements, or of bytes for [`Rule::Memory`] and similar rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Count {
    Unknown,
    Fixed(u32),
    /// The value of a sibling.
    Of(u8),
    /// The number that a sibling points to, after the call.
    At(u8),
    /// The minimum of the first sibling and the number that the second points to after the call.
    Least(u8, u8),
    /// The product of two siblings.
    Product(u8, u8),
    /// A sibling times a constant.
    Times(u8, u8),
    /// A field (by index) of the struct that a sibling points to.
    FieldAt(u8, u8),
    /// The bytes of a rectangle in memory, from its first byte to its last: `pitch * (height - 1) + width * element`.
    Rows {
        /// Sibling: bytes from one row to the next.
        pitch: u8,
        /// Sibling: elements in a row.
        width: u8,
        /// Constant: bytes of an element.
        element: u8,
        /// Sibling: number of rows.
        height: u8,
    },
    /// Like `Rows`, but a sibling holds the size of an element.
    RowsBy {
        /// Bytes from one row to the next.
        pitch: u8,
        /// Elements in a row.
        width: u8,
        /// Bytes of an element.
        element: u8,
        /// Number of rows.
        height: u8,
    },
    /// The bytes that a copy descriptor covers, from the address to the last byte. 0: source, 1: destination,
    /// 2: filled memory. The fields are found by name: all these structs use the same names.
    Copied(u8),
    /// The number that the first sibling points to after the call, times the second: pitch and number of rows.
    AtTimes(u8, u8),
    /// The pitch in the cudaPitchedPtr that the first sibling points to after the call, times height and depth in the
    /// second, a cudaExtent.
    Volume(u8, u8),
    /// A sibling minus a constant.
    Less(u8, u8),
    /// A sibling plus one: row offsets of a sparse matrix, which include the end of the last row.
    OneMore(u8),
    /// The minimum of the first sibling and the number stored for the second, a handle ([`Effect::Remembers`]).
    Carried(u8, u8),
    /// One value, possibly truncated. The first sibling is its size in bytes; the second points to the number of bytes
    /// that the call wrote (255: none).
    Sized(u8, u8),
    /// The bytes of elements whose type depends on a tag.
    Typed {
        /// Sibling: number of elements; 255: one.
        count: u8,
        /// Index into `tags`.
        tags: u16,
        /// Sibling that holds the tag.
        by: u8,
        /// Handle whose stored number ([`Effect::Remembers`]) multiplies the count; 255: none.
        times: u8,
    },
    /// The bytes of a pitched 2D resource; width, height and pitch are found by name among the siblings.
    ///
    /// The sibling holds a tag for the type of a channel (index into `tags`). With [`NO_TAGS`] the sibling is a
    /// cudaChannelFormatDesc, which has the number of bits.
    Plane(u16, u8),
    /// The bytes of a tensor; dimensions and strides are found by name. A tag gives the type of an element: index into
    /// `tags`, sibling.
    Tensor(u16, u8),
    /// The list ends with a zero element.
    ZeroEnded,
}

/// A change that a successful call makes to allocations, handles and logs, which are tracked from call to call.
///
/// Every `u8` is the index of a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Creates an allocation.
    Allocates {
        /// Points to the address; with `by_value` it is the address itself.
        at: u8,
        by_value: bool,
        bytes: Count,
        memory: Memory,
    },
    /// Creates an allocation whose address and length are in the fields `dptr` and `bytesize` of the struct at `at`.
    AllocatesInside { at: u8, memory: Memory },
    /// The memory at the first parameter (or at the address that it points to) belongs to the handle in the second.
    Belongs(u8, u8),
    /// Frees the allocation at the address in this parameter.
    Frees(u8),
    /// Removes all mappings in an address range.
    Unmaps { at: u8, bytes: Count },
    /// Creates a linker. Its options give the log buffers that later calls write to.
    KeepsLogs {
        /// Points to the new handle.
        of: u8,
        /// Array of option names; the parameter before it is their number.
        keys: u8,
        /// Array of option values.
        values: u8,
    },
    /// Reports a block of an allocator's pool. It is handed out, or given back if its bytes are negative. The block is
    /// a part of memory that the allocator has of CUDA.
    Pool {
        /// Whose pool.
        of: &'static str,
        /// The address; none: no such block could be had.
        at: Option<u8>,
        /// Its bytes, with a sign.
        bytes: u8,
        /// Bytes of all blocks that are handed out on this device, and those of the pool.
        live: u8,
        reserved: u8,
        device: u8,
    },
    /// May append to the logs of the linker in this parameter.
    TellsLogs(u8),
    /// Destroys a handle.
    Destroys(u8),
    /// The parameter points to a new handle. Not needed for plain output parameters: every handle that a call writes
    /// becomes known.
    Creates(u8),
    /// Stores a number for a handle: the type in a descriptor, for instance, which later calls need as a tag.
    Remembers {
        /// The handle, or a pointer to it.
        of: u8,
        /// The number.
        value: u8,
    },
    /// Stores a number for a handle if the call sets a certain attribute.
    RemembersWhen {
        /// The handle, or a pointer to it.
        of: u8,
        /// The number, or a pointer to it.
        value: u8,
        /// The attribute; 255: no condition.
        key: u8,
        /// The value that the attribute must have.
        is: i32,
        /// The number is a pointer mode: scalars are on the host if it is 0, else on a device.
        mode: bool,
    },
}

/// Kinds of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Memory {
    Device,
    /// Page-locked host memory.
    Host,
    Managed,
    /// A range of reserved addresses, without memory.
    Reserved,
    /// Device memory mapped at reserved addresses.
    Mapped,
    /// Memory of a graph, which exists from a launch until it is freed.
    Graph,
    /// Memory of another interface: Vulkan, Direct3D, a file descriptor.
    External,
    /// Memory of an allocation that was not recorded. No row of the tables has this kind.
    Unknown,
}
