//! How the interpreter reads what a pointer leads to, how many there are, and what a call does to what is followed from call to call. Types
//! of generated tables: they decide nothing.

/// How a pointer's target is read. A number of a parameter or field is its index among its siblings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// By its type: one of them.
    One,
    /// Text that ends with a zero byte.
    Text,
    /// So many elements of its type (for `void *`: of bytes).
    Array(Count),
    /// An address that the call writes: so many elements lie there (for `void **`: bytes of the host, not read).
    Behind(Count),
    /// Text in a buffer of this size.
    TextOf(Count),
    /// An address of device, host or managed memory, not read; so many bytes of it are meant, if known.
    Memory(Count),
    /// The same, of the host unless it is known to be of an allocation.
    Host(Count),
    /// The same, of either side: of the host where the call's record says that the processor has memory there, and no call
    /// has allocated it.
    Either(Count),
    /// The same, if the cudaMemcpyKind of a sibling says that it is copied from the host.
    From(Count, u8),
    /// The same, if it says that it is copied to the host.
    To(Count, u8),
    /// An array of addresses of memory, not read; how many bytes of each are meant stands in the array of a sibling.
    Addresses(Count, u8),
    /// An address that is not read: a cookie, user data, code.
    Opaque,
    /// One or more values whose type depends on a tag: (row of `tags`, sibling that holds the tag, count).
    Tagged(u16, u8, Count),
    /// The kernel's parameters of the function in the first of these siblings that is not NULL.
    KernelParams(u8, u8),
    /// A list of CU_LAUNCH_PARAM_*.
    Extra,
    /// Option values (`void *` each, the value itself or an address) of the keys in this sibling.
    OptionValues(u8, Count),
    /// Texts, so many.
    Texts(Count),
    /// A scalar in host or device memory; its type is that of another sibling's tag (row of `tags`). Of a
    /// sibling that is a handle the tag is the number that [`Effect::Remembers`] gave it.
    Scalar(u16, u8),
    /// The same by the first of two siblings that tells.
    ScalarOr(u16, u8, u16, u8),
    /// A struct that lies there, or the word itself (a file descriptor), as a sibling's tag announces (row of `tags`).
    Word(u16, u8),
}

/// In the place of a row of `tags`: there is none.
pub const NO_TAGS: u16 = u16::MAX;

/// How many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Count {
    /// Not known.
    Unknown,
    /// Always so many.
    Fixed(u32),
    /// The value of a sibling.
    Of(u8),
    /// What a sibling points to, after the call.
    At(u8),
    /// The smaller of a sibling's value and what another points to after the call.
    Least(u8, u8),
    /// Product of two siblings.
    Product(u8, u8),
    /// A sibling's value, so many times.
    Times(u8, u8),
    /// A field (by its number) of the struct that a sibling points to.
    FieldAt(u8, u8),
    /// A rectangle, from its first byte to its last: siblings that are the pitch, the width in elements of so many bytes, and the height.
    Rows {
        /// Bytes from one row to the next.
        pitch: u8,
        /// Elements of a row.
        width: u8,
        /// Bytes of an element.
        element: u8,
        /// Rows.
        height: u8,
    },
    /// The same with the bytes of an element in a sibling.
    RowsBy {
        /// Bytes from one row to the next.
        pitch: u8,
        /// Elements of a row.
        width: u8,
        /// Bytes of an element.
        element: u8,
        /// Rows.
        height: u8,
    },
    /// Of a copy that a struct describes, from the address to the last byte: the numbers are found by the names
    /// that all such structs have. 0: of its source, 1: of its target, 2: of what is filled.
    Copied(u8),
    /// What a sibling points to after the call, times another sibling: rows of a pitch.
    AtTimes(u8, u8),
    /// The pitch in a cudaPitchedPtr that a sibling points to after the call, times height and depth of a cudaExtent.
    Volume(u8, u8),
    /// A sibling's value less so many.
    Less(u8, u8),
    /// A sibling's value and one more: where each row begins, and where the last one ends.
    OneMore(u8),
    /// The smaller of a sibling's value and the number that a handle beside it carries
    /// ([`Effect::Remembers`]).
    Carried(u8, u8),
    /// One value, or part of one, in as many bytes as a sibling says, and no more than another one (255: none) points
    /// to after the call.
    Sized(u8, u8),
    /// So many elements of a type that a sibling announces.
    Typed {
        /// Elements; 255: one.
        count: u8,
        /// Row of `tags`.
        tags: u16,
        /// The sibling that holds the tag.
        by: u8,
        /// As often as the number says that this handle carries ([`Effect::Remembers`]); 255: once.
        times: u8,
    },
    /// Rows of a pitch, from the first byte to the last: width, height and pitch are found by their names. The type of a
    /// channel is announced by a sibling (row of `tags`), or a sibling that is a cudaChannelFormatDesc has the bits (`NO_TAGS`).
    Plane(u16, u8),
    /// A tensor, whose dimensions and strides are found by their names; the type of an element is announced by a sibling.
    Tensor(u16, u8),
    /// Up to an element that is zero.
    ZeroEnded,
}

/// What a call does, when it succeeds, to what is followed from call to call. Numbers are parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Memory: `at` points to its address, or is it with `by_value`; its length is `bytes` (by rule).
    Allocates {
        /// Parameter that gives the address.
        at: u8,
        /// The parameter is the address itself, not where it is written.
        by_value: bool,
        /// How long.
        bytes: Count,
        /// What kind.
        memory: Memory,
    },
    /// The struct that the parameter points to has the address of new memory in a field `dptr`, its length in `bytesize`.
    AllocatesInside {
        /// The parameter.
        at: u8,
        /// What kind.
        memory: Memory,
    },
    /// The memory whose address the first gives, or points to where it is written, is that of the second, a handle.
    Belongs(u8, u8),
    /// Memory ends: the parameter is its address.
    Frees(u8),
    /// What was mapped in this range is mapped no more.
    Unmaps {
        /// Parameter that is the address.
        at: u8,
        /// How long.
        bytes: Count,
    },
    /// A new linker, to which the first points, writes its logs where the options in the second, with the values in the third, say.
    KeepsLogs {
        /// Points to its handle.
        of: u8,
        /// Names of the options; their number is the parameter before.
        keys: u8,
        /// Their values.
        values: u8,
    },
    /// This linker may write into its logs.
    TellsLogs(u8),
    /// A handle ends.
    Destroys(u8),
    /// The parameter points to a new handle. (Every handle written by a function is introduced anyhow.)
    Creates(u8),
    /// A handle, or the one that the parameter points to, carries a number from now on: what its
    /// description says of a type.
    Remembers {
        /// The handle.
        of: u8,
        /// The number.
        value: u8,
    },
    /// The same when an attribute is the one that is named.
    RemembersWhen {
        /// The handle.
        of: u8,
        /// The number, or the pointer to it.
        value: u8,
        /// The attribute; 255: always.
        key: u8,
        /// Which one it is to be.
        is: i32,
        /// The number says where scalars are: 0 on the host, another one on a device.
        mode: bool,
    },
}

/// Kinds of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Memory {
    /// On a device.
    Device,
    /// Page-locked on the host.
    Host,
    /// Managed.
    Managed,
    /// A range of addresses.
    Reserved,
    /// An allocation of device memory at addresses that were reserved.
    Mapped,
    /// Of a graph: there from a launch on, until something frees it.
    Graph,
    /// Of another interface of the machine: Vulkan, Direct3D, a file descriptor.
    External,
    /// Of none that was seen. No call is described so.
    Unknown,
}
