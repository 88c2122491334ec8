//! What a pointer leads to where nobody has said it: by its type, its direction, and the names beside it.
//! This is what makes thousands of functions readable with no hand work; an overlay corrects the rest.

use super::functions_file;
use super::known::{Count, Dir, Rule, Type, TypeId, Unit};
use super::names;
use super::tables::{Sibling, Tables};

/// A guess; `blind` when nothing told what is there.
pub(crate) struct Guess {
    pub(crate) dir: Dir,
    pub(crate) rule: Rule,
    pub(crate) blind: bool,
}

/// What sibling `n` leads to.
pub(crate) fn guess(tables: &Tables, family: usize, siblings: &[Sibling], n: usize, field: bool) -> Guess {
    let me = &siblings[n];
    let informed = |dir, rule| Guess { dir, rule, blind: false };
    let Type::Pointer(to, constant) = tables.get(me.ty) else {
        let rule = match tables.get(me.ty) {
            Type::Code => Rule::Opaque,
            Type::DevicePointer => match bytes(tables, siblings, n) {
                Count::Unknown => Rule::One,
                count => Rule::Memory(count),
            },
            _ => Rule::One,
        };
        return informed(Dir::In, rule);
    };
    let memory = tables.api.families[family].overlay.float_memory;
    let dir = match (me.dir, constant) {
        (Some(dir), _) => dir,
        (None, true) => Dir::In,
        (None, false) if field || memory => Dir::In,
        (None, false) => Dir::Out,
    };
    let many = names::count_of(tables, siblings, n, !memory);
    // As many elements as the caller says: he has made them, if nothing tells otherwise.
    let dir = match (me.dir, &many, tables.get(to)) {
        (None, Some(Count::Of(_)), _) | (None, _, Type::Void | Type::Code) => Dir::In,
        // The caller says which version of it he has room for.
        (Some(Dir::Out), _, to) if is_versioned(tables, to) => Dir::InOut,
        _ => dir,
    };
    match tables.get(to) {
        Type::Void if names::is_cookie(&me.name) => informed(dir, Rule::Opaque),
        Type::Void if names::is_on_host(&me.name) => informed(dir, Rule::Host(bytes(tables, siblings, n))),
        Type::Void => Guess { dir, rule: Rule::Memory(bytes(tables, siblings, n)), blind: me.incomplete },
        Type::Code => informed(dir, Rule::Opaque),
        Type::Char => match (dir, names::length_of(tables, siblings, n)) {
            (Dir::In, _) if constant => informed(dir, Rule::Text),
            (_, Some(length)) => informed(dir, Rule::TextOf(length)),
            (_, None) => informed(dir, Rule::Text),
        },
        Type::Pointer(inner, _) => pointers(tables, inner, dir, many, memory),
        // Numbers of a math library lie on the device as a rule.
        _ if memory && is_data(tables, to, dir, &me.name) => informed(dir, Rule::Memory(Count::Unknown)),
        _ => match many {
            Some(count) => informed(dir, Rule::Array(count)),
            None => informed(dir, Rule::One),
        },
    }
}

/// Whether a type is a struct that begins with its version.
fn is_versioned(tables: &Tables, ty: Type) -> bool {
    let Type::Struct(n) = ty else { return false };
    let first = tables.structs[tables.row_at(n, u32::MAX)].fields.first();
    first.is_some_and(|f| f.name == "version" && matches!(tables.get(f.ty), Type::Int { .. }))
}

fn pointers(tables: &Tables, inner: TypeId, dir: Dir, many: Option<Count>, memory: bool) -> Guess {
    let guess = |rule| Guess { dir, rule, blind: false };
    match (tables.get(inner), dir, many) {
        (Type::Char, _, Some(count)) => guess(Rule::Texts(count)),
        (Type::Char, Dir::Out, None) => guess(Rule::Texts(Count::Fixed(1))),
        (_, _, Some(count)) => guess(Rule::Array(count)),
        (_, Dir::Out | Dir::InOut, None) => guess(Rule::One),
        // Arrays of pointers to matrices: on the device, in a math library.
        (_, Dir::In, None) if memory => guess(Rule::Memory(Count::Unknown)),
        (_, Dir::In, None) => Guess { dir, rule: Rule::Memory(Count::Unknown), blind: true },
    }
}

/// Whether a math library means data by a pointer to such numbers, and not a single number.
fn is_data(tables: &Tables, to: TypeId, dir: Dir, name: &str) -> bool {
    match tables.get(to) {
        Type::Float(_) | Type::BFloat16 => true,
        Type::Int { bytes, .. } => bytes < 4 || dir != Dir::Out || names::is_on_device(name),
        // cuComplex and its like.
        Type::Struct(n) => {
            let row = &tables.structs[tables.row_at(n, u32::MAX)];
            row.extent.size <= 16 && row.fields.iter().all(|f| matches!(tables.get(f.ty), Type::Float(_)))
        }
        _ => false,
    }
}

/// How many bytes an address means: the one number of bytes among its siblings, or the size beside it.
fn bytes(tables: &Tables, siblings: &[Sibling], n: usize) -> Count {
    let counts = |s: &Sibling| s.unit.as_deref() == Some("bytes") && matches!(tables.get(s.ty), Type::Int { .. });
    let mut sizes = siblings.iter().enumerate().filter(|(_, s)| counts(s)).map(|(k, _)| k as u8);
    if let (Some(size), None) = (sizes.next(), sizes.next())
        && names::is_length(&siblings[usize::from(size)].name)
    {
        return Count::Of(size);
    }
    let pointers =
        siblings.iter().filter(|s| matches!(tables.get(s.ty), Type::Pointer(to, _) if tables.get(to) == Type::Void));
    let one = pointers.count() == 1;
    match names::length_of(tables, siblings, n) {
        Some(Count::Of(k)) if one || usize::from(k) == n + 1 => Count::Of(k),
        _ => Count::Unknown,
    }
}

/// The unit of a number, or of the numbers behind a pointer.
pub(crate) fn unit(tables: &Tables, me: &Sibling, field: bool) -> Unit {
    if let Some(unit) = &me.unit {
        return functions_file::unit(unit);
    }
    let ty = match tables.get(me.ty) {
        Type::Pointer(to, _) => tables.get(to),
        ty => ty,
    };
    let lower = me.name.to_lowercase();
    match ty {
        Type::Int { bytes: 4.., signed: false } if lower.ends_with("flags") || lower.ends_with("mask") => Unit::Hex,
        Type::Int { bytes: 8, .. } if lower.contains("bytes") || (field && lower.ends_with("size")) => Unit::Bytes,
        _ => Unit::None,
    }
}
