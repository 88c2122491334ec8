//! The tables while codegen fills them: rows of types, enums, handles, structs and tags, with owned names.
//!
//! The other files of this folder add to them (`types`, `structs`, `tags`) or read them. Rows are only appended, so an
//! index that was handed out stays valid.

use super::api_files::ApiFiles;
use super::known::{Dir, Rule, Type, TypeId, Unit, Writes};
use super::overlay_file::MemberText;
use super::version::Span;
use std::collections::HashMap;

/// A parameter or field before it has a rule.
#[derive(Debug, Clone)]
pub(crate) struct Sibling {
    pub(crate) name: String,
    pub(crate) ty: TypeId,
    pub(crate) dir: Option<Dir>,
    pub(crate) unit: Option<String>,
    /// A pointer to a struct of which only the name is known.
    pub(crate) incomplete: bool,
    /// A field: its place.
    pub(crate) offset: u32,
    pub(crate) overlay: Option<MemberText>,
}

/// A parameter or field of the tables: `known::Param` with an owned name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Member {
    pub(crate) name: String,
    pub(crate) ty: TypeId,
    pub(crate) word: u8,
    pub(crate) second: u8,
    pub(crate) offset: u16,
    pub(crate) dir: Dir,
    pub(crate) rule: Rule,
    pub(crate) unit: Unit,
    pub(crate) written: Writes,
    /// A pointer of which neither a person nor its type and name tell what it leads to.
    pub(crate) guessed: bool,
    /// A person has said how it is to be read.
    pub(crate) is_specified: bool,
}

/// Class of eight bytes of a value (System V ABI for x86-64, 3.2.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    Integer,
    Vector,
}

/// Bytes of a type, and how it is passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Extent {
    pub(crate) size: u32,
    pub(crate) align: u32,
    /// Classes of its first sixteen bytes; of no use when it is larger.
    pub(crate) classes: [Option<Class>; 2],
}

/// A row of the table of structs.
#[derive(Debug, Clone)]
pub(crate) struct StructRow {
    pub(crate) name: String,
    /// The first row of its versions.
    pub(crate) first: u16,
    pub(crate) union: bool,
    pub(crate) span: Span,
    pub(crate) extent: Extent,
    pub(crate) fields: Vec<Member>,
    /// A union: sibling and row of tags.
    pub(crate) tag: Option<(u8, u16)>,
}

/// An enum or set of flags in the tables.
pub(crate) struct EnumRow {
    pub(crate) name: String,
    pub(crate) bytes: u8,
    /// It is a set of flags.
    pub(crate) set: bool,
    /// Of a set: the bits that are one number.
    pub(crate) number: u64,
    pub(crate) values: Vec<(i64, String)>,
    /// Has a value 0 and the name of a status.
    pub(super) status: bool,
}

/// A kind of handle in the tables.
pub(crate) struct HandleRow {
    pub(crate) name: String,
    pub(crate) short: String,
    pub(crate) number: bool,
    pub(crate) bytes: u8,
    pub(crate) special: Vec<(u64, String)>,
    pub(crate) elsewhere: bool,
    pub(crate) made_elsewhere: bool,
    pub(crate) of: Vec<String>,
}

/// Types by tag in the tables.
pub(crate) struct TagRow {
    pub(crate) name: String,
    pub(crate) rows: Vec<(i64, u16)>,
}

/// The tables of types while they grow.
pub(crate) struct Tables<'w> {
    pub(crate) api: &'w ApiFiles,
    pub(crate) types: Vec<Type>,
    pub(super) ids: HashMap<String, TypeId>,
    pub(crate) enums: Vec<EnumRow>,
    pub(super) enum_ids: HashMap<(usize, String), u16>,
    pub(crate) handles: Vec<HandleRow>,
    pub(super) handle_ids: HashMap<(usize, String), u16>,
    pub(crate) structs: Vec<StructRow>,
    pub(crate) struct_ids: HashMap<(usize, usize), u16>,
    pub(crate) tags: Vec<TagRow>,
    pub(crate) tag_ids: HashMap<(usize, String, bool), u16>,
}

impl<'w> Tables<'w> {
    pub(crate) fn new(api: &'w ApiFiles) -> Self {
        Tables {
            api,
            types: Vec::new(),
            ids: HashMap::new(),
            enums: Vec::new(),
            enum_ids: HashMap::new(),
            handles: Vec::new(),
            handle_ids: HashMap::new(),
            structs: Vec::new(),
            struct_ids: HashMap::new(),
            tags: Vec::new(),
            tag_ids: HashMap::new(),
        }
    }

    /// The number of a type.
    pub(crate) fn id(&mut self, ty: Type) -> TypeId {
        let next = self.types.len() as TypeId;
        let id = *self.ids.entry(format!("{ty:?}")).or_insert(next);
        if id == next {
            self.types.push(ty);
        }
        id
    }

    pub(crate) fn get(&self, id: TypeId) -> Type {
        self.types.get(usize::from(id)).copied().unwrap_or(Type::Void)
    }

    /// All rows of a struct whose first row this is.
    pub(crate) fn rows_of(&self, first: u16) -> std::ops::Range<usize> {
        let from = usize::from(first);
        from..from + self.structs[from..].iter().take_while(|s| s.first == first).count()
    }

    /// The row of a struct that a version has; the newest when it has none.
    pub(crate) fn row_at(&self, first: u16, version: u32) -> usize {
        let rows = self.rows_of(first);
        let last = rows.end - 1;
        rows.clone().find(|n| self.structs[*n].span.contains(version)).unwrap_or(last)
    }

    /// Size and classes of a type, of this version where they differ.
    pub(crate) fn extent(&self, id: TypeId, version: u32) -> Extent {
        let plain = |size: u32, class| Extent { size, align: size, classes: [Some(class), None] };
        match self.get(id) {
            Type::Void => Extent { size: 0, align: 1, classes: [None; 2] },
            Type::Int { bytes, .. } | Type::Bool(bytes) | Type::Flags(_, bytes) => plain(bytes.into(), Class::Integer),
            Type::Char => plain(1, Class::Integer),
            // __half and __nv_bfloat16 are structs of a short.
            Type::Float(2) | Type::BFloat16 => plain(2, Class::Integer),
            Type::Float(bytes) => plain(bytes.into(), Class::Vector),
            Type::Enum(n) | Type::Status(n) => plain(self.enums[usize::from(n)].bytes.into(), Class::Integer),
            Type::Handle(n) => plain(self.handles[usize::from(n)].bytes.into(), Class::Integer),
            Type::DevicePointer | Type::Pointer(..) | Type::Code => plain(8, Class::Integer),
            Type::Uuid => Extent { size: 16, align: 1, classes: [Some(Class::Integer); 2] },
            Type::Struct(n) | Type::Union(n) => self.structs[self.row_at(n, version)].extent,
            Type::Array(of, count) => {
                let one = self.extent(of, version);
                let size = one.size.saturating_mul(count);
                let mut extent = Extent { size, align: one.align, classes: [None; 2] };
                for k in 0..count.min(16) {
                    extent.put(k * one.size, one);
                }
                extent
            }
        }
    }
}

impl Extent {
    /// A field's classes: eight bytes that hold any integer go into an integer register.
    pub(super) fn put(&mut self, offset: u32, inner: Extent) {
        for (k, class) in inner.classes.iter().enumerate() {
            let at = (offset as usize + k * 8) / 8;
            if let (Some(class), Some(slot)) = (class, self.classes.get_mut(at)) {
                *slot = Some(if *slot == Some(Class::Integer) { Class::Integer } else { *class });
            }
        }
    }
}

impl EnumRow {
    pub(super) fn new(name: &str, bytes: u8, mut values: Vec<(i64, String)>) -> EnumRow {
        values.sort_by_key(|(value, _)| *value);
        values.dedup();
        let lower = name.to_lowercase();
        let named = ["status", "result", "error", "return"].iter().any(|w| lower.contains(w));
        let status = named && values.iter().any(|v| v.0 == 0);
        EnumRow { name: name.to_owned(), bytes, set: false, number: 0, status, values }
    }
}

impl Member {
    /// A value of which nothing more is said.
    pub(crate) fn plain(sibling: &Sibling) -> Member {
        let (name, ty) = (sibling.name.clone(), sibling.ty);
        let (word, second) = (255, 255);
        Member {
            name,
            ty,
            word,
            second,
            offset: 0,
            dir: Dir::In,
            rule: Rule::One,
            unit: Unit::None,
            written: Writes::Done,
            guessed: false,
            is_specified: false,
        }
    }
}
