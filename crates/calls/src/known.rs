//! Row types of the generated tables of functions and types, which are read outside the target only.
//!
//! `xtask codegen` writes the rows from `api/`; the interpreter in `crates/trace/src/decode` applies them. Rows refer
//! to each other by index: a [`TypeId`] is an index into [`Tables::types`], and the numbers inside a [`Type`] are
//! indices into the table of that kind.

// The registry crate includes this file by path, so the path of the submodule must be explicit.
#[path = "known/rules.rs"]
mod rules;

pub use rules::{Count, Effect, Memory, NO_TAGS, Rule};

/// Index into [`Tables::types`].
pub type TypeId = u16;

/// All generated tables.
#[derive(Debug)]
pub struct Tables {
    /// `driver`, `runtime`, then the libraries by name.
    pub families: &'static [Family],
    /// Each type once.
    pub types: &'static [Type],
    /// Enums and sets of flags.
    pub enums: &'static [Enum],
    /// Structs and unions. Layouts of different versions are adjacent rows of one name, oldest first.
    pub structs: &'static [Struct],
    pub handles: &'static [Handle],
    /// Types of values by tag, for [`Rule::Tagged`] and similar rules.
    pub tags: &'static [Tag],
}

/// The functions of one library.
#[derive(Debug)]
pub struct Family {
    /// Name as in `cutap api --list`.
    pub name: &'static str,
    /// Patterns of SONAMEs, where `*` matches any characters.
    pub sonames: &'static [&'static str],
    /// Sorted by name, then by version.
    pub functions: &'static [Function],
    /// Exported names that no header declares, sorted. Only those listed in `api/`; a library may export more.
    pub undeclared: &'static [&'static str],
    /// Names that headers redefine, sorted.
    pub written: &'static [Written],
}

/// A name in source code that a header redefines to an export (`#define cuMemAlloc cuMemAlloc_v2`).
#[derive(Debug)]
pub struct Written {
    /// The name in source code.
    pub name: &'static str,
    /// The exported function that is called.
    pub export: &'static str,
    /// First and last version, see [`Function::since`].
    pub span: (u32, u32),
}

/// A function, or one form of it where versions differ. Forms of one name are adjacent.
#[derive(Debug)]
pub struct Function {
    /// The exported name.
    pub name: &'static str,
    /// First version with this form. Driver and runtime: the CUDA version (12090 is 12.9). A library: the number in
    /// its SONAME. 0: no lower bound.
    pub since: u32,
    /// Last version with this form, like `since`. `u32::MAX`: the newest version still has it.
    pub until: u32,
    pub returns: TypeId,
    pub params: &'static [Param],
    /// One sentence on what the function does, from `api/`; may be empty.
    pub about: &'static str,
    /// Words that a frame records. A record from a runtime's callback has a parameter block instead.
    pub shape: Shape,
    /// Changes to allocations and handles.
    pub effects: &'static [Effect],
}

/// The words that a frame records of a call: integer registers, then vector registers, then stack words.
///
/// A word is eight bytes; of a vector register only the low eight bytes are recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// How many of rdi, rsi, rdx, rcx, r8, r9.
    pub ints: u8,
    /// How many of xmm0 to xmm7.
    pub vectors: u8,
    /// How many words of the caller's stack.
    pub stack: u8,
}

/// A parameter of a function, or a field of a struct.
#[derive(Debug)]
pub struct Param {
    pub name: &'static str,
    pub ty: TypeId,
    /// Parameter: index of its first word in the words of [`Shape`]; 255: not recorded.
    pub word: u8,
    /// Parameter: index of its second word if it is a struct in two registers; else 255.
    pub second: u8,
    /// Byte offset: of a parameter in the block that a runtime passes to its callback, of a field in its struct.
    pub offset: u16,
    /// Whether the function reads or writes the pointer's target.
    pub dir: Dir,
    /// How the pointer's target is decoded.
    pub rule: Rule,
    pub unit: Unit,
    /// Which calls write the pointer's target.
    pub written: Writes,
}

/// Which calls write an output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Writes {
    /// Calls that succeed.
    Done,
    /// All calls. A failed call writes the cause of the error, for instance.
    Always,
    /// Only calls that fail.
    Failed,
}

/// Direction of a pointer's target, from the function's point of view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dir {
    In,
    Out,
    InOut,
}

/// Unit of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    None,
    /// Bytes. Printed as `4096` in a call and as `4 KiB` for an allocation.
    Bytes,
    /// An address or a bit mask, printed in hexadecimal.
    Hex,
    /// A CUDA version: 12090 is 12.9.
    Version,
    /// A library's version: 23203 is 2.32.3. Below 10000 the minor version has one digit: 2804 is 2.8.4.
    Release,
    /// A library's version with two digits for minor and patch: 12500 is 12.5.0 and 131000 is 13.10.0.
    LongRelease,
    /// Reserved bits, which must be 0.
    Zero,
    /// For a pointer to scalars: whether they are on the host or on a device depends on the mode of a handle that is
    /// passed too ([`Effect::RemembersWhen`]).
    ByMode,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Type {
    Void,
    Int {
        /// 1, 2, 4 or 8.
        bytes: u8,
        signed: bool,
    },
    Char,
    /// A boolean of this many bytes.
    Bool(u8),
    /// An IEEE number of 2, 4 or 8 bytes.
    Float(u8),
    BFloat16,
    /// Index into [`Tables::enums`].
    Enum(u16),
    /// Index into [`Tables::enums`], and the bytes of the integer that holds the flags.
    Flags(u16, u8),
    /// Index into [`Tables::enums`]. A result code: 0 is success.
    Status(u16),
    /// Index into [`Tables::handles`].
    Handle(u16),
    /// CUdeviceptr and similar types: an integer that holds an address.
    DevicePointer,
    /// Index into [`Tables::structs`]: the first row of the name.
    Struct(u16),
    /// Index into [`Tables::structs`]: the first row of the name.
    Union(u16),
    /// A pointer to a type, and whether the target is const.
    Pointer(TypeId, bool),
    /// An array inside a struct: element type and number of elements.
    Array(TypeId, u32),
    /// A pointer to a function.
    Code,
    /// 16 bytes.
    Uuid,
}

/// An enum or a set of flags.
#[derive(Debug)]
pub struct Enum {
    /// Name in C.
    pub name: &'static str,
    /// Bytes of a value, usually 4.
    pub bytes: u8,
    /// Flags only: mask of the bits that form a number (a kind of scheduling, a comparison). Each value of this number
    /// has a name, even 0; all other bits are flags. 0: the set has no such number.
    pub number: u64,
    /// Values of all versions, sorted. Of several names for one value the first is printed.
    pub values: &'static [(i64, &'static str)],
}

/// A struct or union of one span of versions.
#[derive(Debug)]
pub struct Struct {
    /// Name in C.
    pub name: &'static str,
    /// See [`Function::since`].
    pub since: u32,
    /// See [`Function::until`].
    pub until: u32,
    /// Bytes.
    pub size: u32,
    /// In the order of the header, without reserved fields and padding.
    pub fields: &'static [Param],
    /// Index of the field that selects the member of a union, or that holds the size of a struct. 255: none.
    ///
    /// Union: below [`OWN`] an index among the siblings of the field that holds the union; from `OWN` on the tag is in
    /// the union itself, at index `tag - OWN`. Struct: an index among its fields. That field holds the struct's size in
    /// bytes, which is smaller in programs compiled with older headers.
    pub tag: u8,
    /// Union: index into [`Tables::tags`], whose rows map tag values to field indices.
    pub tags: u16,
}

/// Lowest [`Struct::tag`] of a union that contains its own tag.
pub const OWN: u8 = 128;

/// A kind of handle.
#[derive(Debug)]
pub struct Handle {
    /// Name of the type in C: `CUstream`.
    pub name: &'static str,
    /// Short name for output: `stream`. The driver's and the runtime's type of one object share it.
    pub short: &'static str,
    /// The handle is a number (CUdevice, for instance) and not an address, and is printed unchanged.
    pub number: bool,
    /// Size: 8, or less for some numbers (CUdevice has 4).
    pub bytes: u8,
    /// Values with a name, such as `(1, "CU_STREAM_LEGACY")`.
    pub special: &'static [(u64, &'static str)],
    /// Some of these handles are created or destroyed without a recorded call. So an unknown handle is not reported as
    /// invalid.
    pub elsewhere: bool,
    /// Some are created without a recorded call, but all are destroyed by one. So a handle that was destroyed by a
    /// recorded call is known to be invalid.
    pub made_elsewhere: bool,
    /// Short names of the possible owners; the handle becomes invalid with its owner. The owner is the handle of such a
    /// kind among the arguments of the creating call; for `context`, else the current context of the thread.
    pub of: &'static [&'static str],
}

/// Maps the values of a tag to types.
#[derive(Debug)]
pub struct Tag {
    /// The enum whose values are the tags.
    pub name: &'static str,
    /// Value and type, sorted by value. For a union's tag the second number is a field index instead.
    pub rows: &'static [(i64, TypeId)],
}
