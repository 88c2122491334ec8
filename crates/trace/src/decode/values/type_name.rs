//! Names of types as a C programmer writes them: `CUstream*`, `const float*`, `uint32`.

use cutap_calls::known::{Tables, Type, TypeId};
use std::borrow::Cow;
use std::fmt;

const DEVICE_POINTER: &str = "CUdeviceptr";

/// A type of the tables, to be written.
#[derive(Debug, Clone, Copy)]
pub struct TypeName(pub &'static Tables, pub TypeId);

impl TypeName {
    /// The name. Names of handles and enums are in the tables; names of pointers and arrays are composed.
    pub fn text(self) -> Cow<'static, str> {
        let TypeName(tables, id) = self;
        match tables.types.get(usize::from(id)) {
            Some(Type::Handle(n)) => tables.handles.get(usize::from(*n)).map_or("?", |h| h.name).into(),
            Some(Type::DevicePointer) => DEVICE_POINTER.into(),
            Some(Type::Enum(n) | Type::Flags(n, _)) => tables.enums.get(usize::from(*n)).map_or("?", |e| e.name).into(),
            _ => self.to_string().into(),
        }
    }
}

impl fmt::Display for TypeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write(f, self.0, self.1, 4)
    }
}

fn write(f: &mut fmt::Formatter<'_>, tables: &'static Tables, id: TypeId, levels: u32) -> fmt::Result {
    let Some(ty) = tables.types.get(usize::from(id)).filter(|_| levels > 0) else { return f.write_str("?") };
    let named = |name: Option<&'static str>| name.unwrap_or("?");
    match *ty {
        Type::Void => f.write_str("void"),
        Type::Int { bytes, signed } => write!(f, "{}int{}", if signed { "" } else { "u" }, u32::from(bytes) * 8),
        Type::Char => f.write_str("char"),
        Type::Bool(_) => f.write_str("bool"),
        Type::Float(8) => f.write_str("double"),
        Type::Float(2) => f.write_str("half"),
        Type::Float(_) => f.write_str("float"),
        Type::BFloat16 => f.write_str("bfloat16"),
        Type::Enum(n) | Type::Flags(n, _) | Type::Status(n) => {
            f.write_str(named(tables.enums.get(usize::from(n)).map(|e| e.name)))
        }
        Type::Handle(n) => f.write_str(named(tables.handles.get(usize::from(n)).map(|h| h.name))),
        Type::DevicePointer => f.write_str(DEVICE_POINTER),
        Type::Struct(n) | Type::Union(n) => f.write_str(named(tables.structs.get(usize::from(n)).map(|s| s.name))),
        Type::Pointer(to, constant) => {
            if constant {
                f.write_str("const ")?;
            }
            write(f, tables, to, levels - 1)?;
            f.write_str("*")
        }
        Type::Array(of, n) => {
            write(f, tables, of, levels - 1)?;
            write!(f, "[{n}]")
        }
        Type::Code => f.write_str("function*"),
        Type::Uuid => f.write_str("uuid"),
    }
}
