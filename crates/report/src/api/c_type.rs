//! Writes the types of the tables in the syntax of C.

use cutap_calls::known::{Tables, Type, TypeId};

/// A declaration: `CUdeviceptr *dptr`, `char name[64]`.
pub(super) fn declared(tables: &Tables, ty: TypeId, name: &str) -> String {
    match tables.types.get(usize::from(ty)) {
        Some(Type::Pointer(to, constant)) => {
            let constant = if *constant { "const " } else { "" };
            format!("{constant}{}", declared(tables, *to, &format!("*{name}")))
        }
        Some(Type::Array(of, count)) => declared(tables, *of, &format!("{name}[{count}]")),
        Some(Type::Code) => format!("void (*{name})()"),
        Some(other) => {
            let word = plain(tables, *other);
            if name.is_empty() { word } else { format!("{word} {name}") }
        }
        None => name.to_owned(),
    }
}

fn plain(tables: &Tables, ty: Type) -> String {
    let enumeration = |n: u16| tables.enums.get(usize::from(n)).map_or("int", |e| e.name);
    let structure = |n: u16| tables.structs.get(usize::from(n)).map_or("void", |s| s.name);
    match ty {
        Type::Int { bytes: 4, signed: true } => "int".to_owned(),
        Type::Int { bytes: 4, signed: false } => "unsigned int".to_owned(),
        Type::Int { bytes: 8, signed: false } => "size_t".to_owned(),
        Type::Int { bytes, signed } => format!("{}int{}_t", if signed { "" } else { "u" }, u32::from(bytes) * 8),
        Type::Char => "char".to_owned(),
        Type::Bool(_) => "bool".to_owned(),
        Type::Float(2) => "half".to_owned(),
        Type::Float(4) => "float".to_owned(),
        Type::Float(_) => "double".to_owned(),
        Type::BFloat16 => "bfloat16".to_owned(),
        Type::Enum(n) | Type::Flags(n, _) | Type::Status(n) => enumeration(n).to_owned(),
        Type::Handle(n) => tables.handles.get(usize::from(n)).map_or("void *", |h| h.name).to_owned(),
        Type::DevicePointer => "CUdeviceptr".to_owned(),
        Type::Struct(n) | Type::Union(n) => structure(n).to_owned(),
        Type::Uuid => "CUuuid".to_owned(),
        Type::Void | Type::Pointer(..) | Type::Array(..) | Type::Code => "void".to_owned(),
    }
}
