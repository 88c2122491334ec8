//! C names become the numbered types of the tables: each enum, handle, struct and type once, and only
//! those that a function leads to.

use super::api_files::Found;
use super::ctype::CType;
use super::glob::glob;
use super::known::{Type, TypeId};
use super::overlay_file::{Is, TypeText};
use super::tables::{EnumRow, HandleRow, Tables};
use super::types_file::Def;
use crate::error::{Error, Location};

/// A chain of typedefs longer than this leads to itself.
const DEEPEST: u32 = 20;

impl<'w> Tables<'w> {
    /// What a C type of a family is.
    pub(crate) fn resolve(&mut self, family: usize, ty: &CType, location: Location) -> Result<TypeId, Error> {
        self.resolve_at(family, ty, location, 0)
    }

    fn resolve_at(&mut self, family: usize, ty: &CType, location: Location, depth: u32) -> Result<TypeId, Error> {
        let resolved = match ty {
            CType::Code => Type::Code,
            CType::Array(of, count) => Type::Array(self.resolve_at(family, of, location, depth)?, *count),
            CType::Pointer(to) if self.tagged(family, to).is_some() => {
                let name = self.tagged(family, to).unwrap_or_default();
                return self.named(family, &name, location, depth + 1);
            }
            CType::Pointer(to) => Type::Pointer(self.resolve_at(family, to, location, depth)?, to.is_const()),
            CType::Name(name, _) => return self.named(family, name, location, depth),
        };
        Ok(self.id(resolved))
    }

    /// The handle that is a pointer to this struct.
    fn tagged(&self, family: usize, to: &CType) -> Option<String> {
        let (name, families) = (to.name()?, &self.api.families);
        let order = [family].into_iter().chain(0..families.len());
        order.filter_map(|n| families[n].types.tags.get(name)).next().cloned()
    }

    fn named(&mut self, family: usize, name: &str, location: Location, depth: u32) -> Result<TypeId, Error> {
        if depth > DEEPEST {
            return Err(location.error(format!("{name} leads to itself")));
        }
        let definition = self.api.find(family, name);
        if let (Some(ty), None | Some(Found::Def(..))) = (builtin(name), definition) {
            return Ok(self.id(ty));
        }
        match definition {
            Some(Found::Overlay(at, TypeText::Same(ty))) => self.resolve_at(at, ty, location, depth + 1),
            Some(Found::Overlay(at, TypeText::Is(is @ (Is::Flags | Is::Enum)))) => {
                let Some(Def::Enum(n)) = self.api.families[at].types.defs.get(name) else {
                    return Err(location.error(format!("{name} is no enum, and the overlay says that it is one")));
                };
                let (n, _) = self.enumeration(at, *n, Some(*is == Is::Flags));
                let bytes = self.enums[usize::from(n)].bytes;
                Ok(self.id(if *is == Is::Flags { Type::Flags(n, bytes) } else { Type::Enum(n) }))
            }
            Some(Found::Overlay(at, TypeText::Is(is))) => Ok(self.is(at, name, *is)),
            Some(Found::Flags(at)) => {
                let ty = self.defines(at, name)?;
                Ok(self.id(ty))
            }
            Some(Found::Def(at, Def::Enum(n))) => {
                let (n, flags) = self.enumeration(at, *n, None);
                let bytes = self.enums[usize::from(n)].bytes;
                Ok(self.id(if flags { Type::Flags(n, bytes) } else { Type::Enum(n) }))
            }
            Some(Found::Def(at, Def::Handle(name))) => {
                let ty = Type::Handle(self.handle(at, name, 8));
                Ok(self.id(ty))
            }
            Some(Found::Def(at, Def::Struct(n))) => {
                let union = self.api.families[at].types.structs[*n].union;
                let row = self.structure(at, *n)?;
                Ok(self.id(if union { Type::Union(row) } else { Type::Struct(row) }))
            }
            // A typedef of a number that is a handle.
            Some(Found::Def(at, Def::Typedef(ty))) if self.api.families[at].overlay.handles.contains_key(name) => {
                let number = self.resolve_at(at, ty, location, depth + 1)?;
                let bytes = self.extent(number, u32::MAX).size as u8;
                let ty = Type::Handle(self.handle(at, name, bytes));
                Ok(self.id(ty))
            }
            Some(Found::Def(at, Def::Typedef(ty))) => self.resolve_at(at, ty, location, depth + 1),
            None => {
                Err(location.error(format!("unknown type {name}; declare it in types.toml, or in overlay.toml [type]")))
            }
        }
    }

    fn is(&mut self, family: usize, name: &str, is: Is) -> TypeId {
        let ty = match is {
            Is::Uuid => Type::Uuid,
            Is::DevicePointer => Type::DevicePointer,
            Is::Code => Type::Code,
            Is::BFloat16 => Type::BFloat16,
            Is::Half => Type::Float(2),
            Is::Void | Is::Flags | Is::Enum => Type::Void,
            Is::Handle => {
                // Plain numbers of the header.
                let number = self.api.families[family].overlay.handles.get(name).is_some_and(|h| h.number);
                Type::Handle(self.handle(family, name, if number { 4 } else { 8 }))
            }
            Is::Opaque => {
                let void = self.id(Type::Void);
                Type::Pointer(void, false)
            }
        };
        self.id(ty)
    }

    /// An enum, which is a set of flags where people say so, or else the header's values look like it.
    fn enumeration(&mut self, family: usize, n: usize, said: Option<bool>) -> (u16, bool) {
        let def = &self.api.families[family].types.enums[n];
        let flags = said.unwrap_or(def.flags);
        let next = self.enums.len() as u16;
        let row = *self.enum_ids.entry((family, def.name.clone())).or_insert(next);
        if row == next {
            let value = |v: i64| if flags && v < 0 { v & 0xffff_ffff } else { v };
            let preferred = self.api.families[family].overlay.preferred.get(&def.name).map(|(_, names)| names);
            let mut values: Vec<_> = def.values.iter().map(|(name, v)| (value(*v), name.clone())).collect();
            // The first name of a value in the header is the one that is printed, unless people prefer another.
            values.sort_by_key(|(_, name)| !preferred.is_some_and(|names| names.contains(name)));
            let number = self.api.families[family].overlay.numbers.get(&def.name).map_or(0, |(_, bits)| *bits);
            self.enums.push(EnumRow { set: flags, number, ..EnumRow::new(&def.name, def.bytes, values) });
        }
        (row, flags)
    }

    /// The type of exactly one value of an enum or a set of flags, in a number of so many bytes.
    pub(crate) fn one_of(&mut self, n: u16, bytes: u8) -> TypeId {
        let of = &self.enums[usize::from(n)];
        if of.bytes == bytes && !of.set {
            return self.id(Type::Enum(n));
        }
        let next = self.enums.len() as u16;
        // No name of C has a blank.
        let key = (usize::MAX, format!("{n} {bytes}"));
        let row = *self.enum_ids.entry(key).or_insert(next);
        if row == next {
            let of = &self.enums[usize::from(n)];
            let (name, values) = (of.name.clone(), of.values.clone());
            self.enums.push(EnumRow { name, bytes, values, set: false, number: 0, status: false });
        }
        self.id(Type::Enum(row))
    }

    /// An enum made of defines, as the overlay tells.
    fn defines(&mut self, family: usize, name: &str) -> Result<Type, Error> {
        let home = &self.api.families[family];
        let text = &home.overlay.flags[name];
        let next = self.enums.len() as u16;
        let row = *self.enum_ids.entry((family, name.to_owned())).or_insert(next);
        if row == next {
            let mut values = Vec::new();
            for pattern in &text.names {
                let all: Vec<_> =
                    home.types.define_names.iter().filter(|d| glob(pattern.as_bytes(), d.as_bytes())).collect();
                if all.is_empty() {
                    let location = Location { source: &home.overlay_source, at: text.at };
                    return Err(location.error(format!("no define of types.toml is called {pattern}")));
                }
                // The name that is listed first is printed.
                let new = all.into_iter().map(|d| (home.types.defines[d], d.clone()));
                let new: Vec<_> = new.filter(|n| !values.contains(n)).collect();
                values.extend(new);
            }
            let number = home.overlay.numbers.get(name).map_or(0, |(_, bits)| *bits);
            self.enums.push(EnumRow { set: !text.one_of, number, ..EnumRow::new(name, text.bytes, values) });
        }
        Ok(if text.one_of { Type::Enum(row) } else { Type::Flags(row, text.bytes) })
    }

    fn handle(&mut self, family: usize, name: &str, bytes: u8) -> u16 {
        let next = self.handles.len() as u16;
        let row = *self.handle_ids.entry((family, name.to_owned())).or_insert(next);
        if row == next {
            let home = &self.api.families[family];
            let written = home.overlay.handles.get(name);
            self.handles.push(HandleRow {
                name: name.to_owned(),
                short: written.map(|w| w.short.clone()).filter(|s| !s.is_empty()).unwrap_or_else(|| short(name)),
                number: written.is_some_and(|w| w.number),
                bytes,
                special: written.map(|w| w.special.clone()).unwrap_or_default(),
                elsewhere: written.is_some_and(|w| w.elsewhere),
                made_elsewhere: written.is_some_and(|w| w.made_elsewhere),
                of: written.map(|w| w.of.clone()).unwrap_or_default(),
            });
        }
        row
    }

    /// Whether a returned type is a status.
    pub(crate) fn returned(&mut self, id: TypeId) -> TypeId {
        match self.get(id) {
            Type::Enum(n) if self.enums[usize::from(n)].status => self.id(Type::Status(n)),
            _ => id,
        }
    }
}

/// `stream` for CUstream and cudaStream_t, `tensorDescriptor` for cudnnTensorDescriptor_t.
fn short(name: &str) -> String {
    let stem = name.strip_suffix("_t").unwrap_or(name);
    let prefixes = ["cuda", "cublasLt", "cublasXt", "cublas", "cudnn", "cufft", "curand", "cusparseLt", "cusparse"];
    let more =
        ["cusolverDn", "cusolverSp", "cusolverRf", "cusolverMg", "cusolver", "nccl", "nvrtc", "nvJitLink", "nvml"];
    let all = prefixes.iter().chain(&more).chain(&["nvjpeg", "cutensor", "CU", "cu"]);
    let prefix = all.copied().find(|p| stem.starts_with(p)).unwrap_or("");
    let rest = stem.get(prefix.len()..).unwrap_or(stem).trim_start_matches('_');
    let rest = if rest.is_empty() || rest.eq_ignore_ascii_case("handle") { prefix } else { rest };
    let mut letters = rest.chars();
    match letters.next() {
        Some(first) => first.to_lowercase().chain(letters).collect(),
        None => "handle".to_owned(),
    }
}

/// C's own types.
fn builtin(name: &str) -> Option<Type> {
    let int = |bytes, signed| Type::Int { bytes, signed };
    Some(match name {
        "void" | "FILE" | "timespec" => Type::Void,
        "char" => Type::Char,
        "bool" | "_Bool" => Type::Bool(1),
        "signed char" | "int8_t" => int(1, true),
        "unsigned char" | "uint8_t" | "__nv_fp8_e4m3" | "__nv_fp8_e5m2" => int(1, false),
        "short" | "int16_t" => int(2, true),
        "unsigned short" | "uint16_t" => int(2, false),
        "int" | "int32_t" | "wchar_t" | "pid_t" => int(4, true),
        "unsigned int" | "uint32_t" | "cuuint32_t" => int(4, false),
        "long" | "long long" | "int64_t" | "off_t" | "ptrdiff_t" | "ssize_t" | "intptr_t" => int(8, true),
        "unsigned long" | "unsigned long long" | "uint64_t" | "size_t" | "uintptr_t" | "cuuint64_t" => int(8, false),
        "float" => Type::Float(4),
        "double" => Type::Float(8),
        "__half" | "half" => Type::Float(2),
        "__nv_bfloat16" | "nv_bfloat16" => Type::BFloat16,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::short;

    #[test]
    fn one_word_for_driver_and_runtime() {
        for (name, word) in [
            ("CUstream", "stream"),
            ("cudaStream_t", "stream"),
            ("CUgraphExec", "graphExec"),
            ("cudaGraphExec_t", "graphExec"),
            ("cublasHandle_t", "cublas"),
            ("cudnnTensorDescriptor_t", "tensorDescriptor"),
            ("ncclComm_t", "comm"),
        ] {
            assert_eq!(short(name), word, "{name}");
        }
    }
}
