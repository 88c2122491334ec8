//! What is known of each function, for everybody outside the target: names, types, directions, rules.
//! Shapes only; the facts are the generated tables, made by `xtask codegen` from `api/`. The one reader
//! that gives them meaning is the interpreter in `crates/trace`.
//!
//! Numbers that stand for other rows: `TypeId` is an index into [`Tables::types`]; the numbers inside a
//! [`Type`] are indices into the tables of the same name.

/// Index into [`Tables::types`].
pub type TypeId = u16;

/// Everything that was generated.
#[derive(Debug)]
pub struct Tables {
    /// Families of functions: `driver`, `runtime`, `cublas`, ...
    pub families: &'static [Family],
    /// All types, each once.
    pub types: &'static [Type],
    /// Enums and sets of flags.
    pub enums: &'static [Enum],
    /// Structs and unions; more than one row of a name when versions differ, oldest first and together.
    pub structs: &'static [Struct],
    /// Kinds of handles.
    pub handles: &'static [Handle],
    /// What a value's type is by a tag: rows for [`Rule::Tagged`].
    pub tags: &'static [Tag],
}

/// The functions of one library.
#[derive(Debug)]
pub struct Family {
    /// Name as `cutap api --list` takes it.
    pub name: &'static str,
    /// SONAMEs, with `*`.
    pub sonames: &'static [&'static str],
    /// Sorted by name, then by version.
    pub functions: &'static [Function],
    /// Exported names that no header declares, sorted. Not all of a library's: those that somebody listed.
    pub undeclared: &'static [&'static str],
    /// Which exports headers make of names that programs write, by name.
    pub written: &'static [Written],
}

/// A name that programs write, and the export that a header makes of it (`#define cuMemAlloc cuMemAlloc_v2`).
#[derive(Debug)]
pub struct Written {
    /// What programs write.
    pub name: &'static str,
    /// What they call.
    pub export: &'static str,
    /// First and last version, see [`Function::since`].
    pub span: (u32, u32),
}

/// A function, or one form of it where versions differ.
#[derive(Debug)]
pub struct Function {
    /// The exported name.
    pub name: &'static str,
    /// First and last version with this form, as CUDA writes it: 12090. For driver and runtime the
    /// toolkit's; for a library the number in its SONAME. 0: from the beginning; `u32::MAX`: to now.
    pub since: u32,
    /// See `since`.
    pub until: u32,
    /// What it returns.
    pub returns: TypeId,
    /// Its parameters.
    pub params: &'static [Param],
    /// A sentence of our own on what it does; empty when nobody wrote one.
    pub about: &'static str,
    /// Where the words of its record come from, when a frame recorded it.
    pub shape: Shape,
    /// What it does to allocations and handles.
    pub effects: &'static [Effect],
}

/// Words that a frame records of a call: so many integer registers, vector registers (their low eight
/// bytes), stack words, in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Of rdi, rsi, rdx, rcx, r8, r9.
    pub ints: u8,
    /// Of xmm0 to xmm7.
    pub vectors: u8,
    /// Of the caller's stack.
    pub stack: u8,
}

/// A parameter, or a field of a struct.
#[derive(Debug)]
pub struct Param {
    /// Its name.
    pub name: &'static str,
    /// Its type.
    pub ty: TypeId,
    /// A parameter: index of its first word among the recorded words of a frame; 255: not recorded.
    pub word: u8,
    /// A parameter: where its second word is when it is a struct of two registers; else 255.
    pub second: u8,
    /// A parameter: its byte offset in the block that a runtime's callback gives; a field: in its struct.
    pub offset: u16,
    /// Who reads and writes what it points to.
    pub dir: Dir,
    /// How what it points to is to be read.
    pub rule: Rule,
    /// Unit of a number.
    pub unit: Unit,
    /// Which calls write what it points to.
    pub written: Writes,
}

/// Which calls write an output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Writes {
    /// Those that succeed.
    Done,
    /// All of them: it says why one failed.
    Always,
    /// Those that fail, and no others.
    Failed,
}

/// Direction of a pointer's target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dir {
    /// Read by the function.
    In,
    /// Written by it.
    Out,
    /// Both.
    InOut,
}

/// Unit of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// None.
    None,
    /// Bytes: `4096` is printed as it is in a call, as `4 KiB` beside an allocation.
    Bytes,
    /// An address or a bit mask: hexadecimal.
    Hex,
    /// A CUDA version: 12090 is 12.9.
    Version,
    /// Bits of which none has a meaning yet: it must be 0.
    Zero,
    /// Of a pointer to numbers: they are on a device where a handle beside it says so ([`Effect::RemembersWhen`]).
    ByMode,
}

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
        /// Elements.
        count: u8,
        /// Row of `tags`.
        tags: u16,
        /// The sibling that holds the tag.
        by: u8,
    },
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

/// A type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Type {
    /// Nothing.
    Void,
    /// An integer of so many bytes.
    Int {
        /// 1, 2, 4, 8
        bytes: u8,
        /// Two's complement.
        signed: bool,
    },
    /// A character.
    Char,
    /// A truth value of so many bytes.
    Bool(u8),
    /// IEEE of so many bytes: 2, 4, 8.
    Float(u8),
    /// bfloat16.
    BFloat16,
    /// An enum of the table; always four bytes but where the row says other.
    Enum(u16),
    /// A set of flags of the table of enums, in an integer of so many bytes.
    Flags(u16, u8),
    /// A status of the table of enums: 0 is success.
    Status(u16),
    /// A handle of the table.
    Handle(u16),
    /// CUdeviceptr and its like.
    DevicePointer,
    /// A struct of the table: the first row of its name.
    Struct(u16),
    /// A union of the table: the first row of its name.
    Union(u16),
    /// A pointer to a type; with true: to one that is not written.
    Pointer(TypeId, bool),
    /// An array inside a struct.
    Array(TypeId, u32),
    /// A pointer to a function.
    Code,
    /// 16 bytes of a UUID.
    Uuid,
}

/// An enum or a set of flags.
#[derive(Debug)]
pub struct Enum {
    /// Its name in C.
    pub name: &'static str,
    /// Bytes of a value.
    pub bytes: u8,
    /// Of a set of flags: the bits that are one number among them (a kind of scheduling, a comparison), of
    /// which each value has its own name, also 0; the other bits are flags. 0: there is no such number.
    pub number: u64,
    /// Values of all versions, sorted; the first name of a value is the one printed.
    pub values: &'static [(i64, &'static str)],
}

/// A struct or union of one span of versions.
#[derive(Debug)]
pub struct Struct {
    /// Its name in C.
    pub name: &'static str,
    /// See [`Function::since`].
    pub since: u32,
    /// See [`Function::since`].
    pub until: u32,
    /// Bytes.
    pub size: u32,
    /// Fields in order; reserved ones and padding are left out.
    pub fields: &'static [Param],
    /// A union: which field is meant is told by this sibling of the field that holds it (row of `tags`
    /// whose types are numbers of fields); from [`OWN`] on by a field of its own, so many behind it. A struct: its own field that says how many bytes it has, for
    /// programs of older headers have shorter ones. 255: not known.
    pub tag: u8,
    /// See `tag`.
    pub tags: u16,
}

/// Of a union's tag: its own field.
pub const OWN: u8 = 128;

/// A kind of handle.
#[derive(Debug)]
pub struct Handle {
    /// Its type's name in C: `CUstream`.
    pub name: &'static str,
    /// Short word for people: `stream`. Driver and runtime types of the same thing have the same word.
    pub short: &'static str,
    /// It is a number (CUdevice, nvmlEventSet...), not an address: printed as it is.
    pub number: bool,
    /// Bytes of one: 8, or less for some numbers (CUdevice has 4).
    pub bytes: u8,
    /// Values with a name: (1, "CU_STREAM_LEGACY").
    pub special: &'static [(u64, &'static str)],
    /// Some are handed out, or end, where no recorded call shows it: nothing is said of one that nobody was
    /// seen to make.
    pub elsewhere: bool,
    /// Some are handed out where no recorded call shows it, but none ends so: one that was seen to end has ended.
    pub made_elsewhere: bool,
    /// Kinds, by their short words, with one of which it ends: of that which the call was given that wrote it, or
    /// with `context` of the thread's.
    pub of: &'static [&'static str],
}

/// Types by tag.
#[derive(Debug)]
pub struct Tag {
    /// The enum whose values are the tags.
    pub name: &'static str,
    /// (value, type), sorted; in a union's tag the number of the field.
    pub rows: &'static [(i64, TypeId)],
}
