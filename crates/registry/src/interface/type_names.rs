//! Names for the numbers of types in generated text: `P_CUstream` points to a CUstream, `PC_void` to
//! something that is not written, `A64_char` is 64 characters.

use super::known::Type;
use super::tables::Tables;
use std::collections::HashSet;

/// A name for each type, all different.
pub(crate) fn names(tables: &Tables) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    let mut used_names = HashSet::new();
    // A type stands behind those that it is made of.
    for ty in &tables.types {
        let of = |id: u16| names.get(usize::from(id)).cloned().map_or_else(|| format!("{id}"), |n| n[2..].to_owned());
        let enumeration = |n: u16| clean(&tables.enums[usize::from(n)].name);
        let name = match *ty {
            Type::Void => "void".to_owned(),
            Type::Int { bytes, signed } => format!("{}{}", if signed { 'i' } else { 'u' }, u32::from(bytes) * 8),
            Type::Char => "char".to_owned(),
            Type::Bool(bytes) => format!("bool{bytes}"),
            Type::Float(bytes) => format!("f{}", u32::from(bytes) * 8),
            Type::BFloat16 => "bf16".to_owned(),
            Type::Enum(n) => enumeration(n),
            Type::Flags(n, bytes) => format!("{}_in{bytes}", enumeration(n)),
            Type::Status(n) => format!("{}_status", enumeration(n)),
            Type::Handle(n) => clean(&tables.handles[usize::from(n)].name),
            Type::DevicePointer => "deviceptr".to_owned(),
            Type::Struct(n) | Type::Union(n) => clean(&tables.structs[usize::from(n)].name),
            Type::Pointer(to, true) => format!("PC_{}", of(to)),
            Type::Pointer(to, false) => format!("P_{}", of(to)),
            Type::Array(to, count) => format!("A{count}_{}", of(to)),
            Type::Code => "code".to_owned(),
            Type::Uuid => "uuid".to_owned(),
        };
        // Names of Rust's own numbers and of the tables' words stay free.
        let mut name = format!("t_{name}");
        while !used_names.insert(name.clone()) {
            name.push('_');
        }
        names.push(name);
    }
    names
}

fn clean(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
}

/// A type as Rust writes it.
pub(crate) fn literal(ty: Type, names: &[String]) -> String {
    match ty {
        Type::Pointer(to, constant) => format!("Pointer({}, {constant})", names[usize::from(to)]),
        Type::Array(of, count) => format!("Array({}, {count})", names[usize::from(of)]),
        other => format!("{other:?}"),
    }
}
