//! What is known of each function, for everybody outside the target: names, types, directions, rules.
//! Shapes only; the facts are the generated tables, made by `xtask codegen` from `api/`. The one reader
//! that gives them meaning is the interpreter in `crates/trace`.
//!
//! Numbers that stand for other rows: `TypeId` is an index into [`Tables::types`]; the numbers inside a
//! [`Type`] are indices into the tables of the same name.

// The registry's crate includes this file too, from its own folder.
#[path = "known/rules.rs"]
mod rules;

pub use rules::{Count, Effect, Memory, NO_TAGS, Rule};

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
    /// A library's: 23203 is 2.32.3, and below 10000 2804 is 2.8.4.
    Release,
    /// The same of a library that writes 12500 for 12.5.0, and 131000 for 13.10.0.
    LongRelease,
    /// Bits of which none has a meaning yet: it must be 0.
    Zero,
    /// Of a pointer to numbers: they are on a device where a handle beside it says so ([`Effect::RemembersWhen`]).
    ByMode,
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
