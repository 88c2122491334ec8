//! What is known of the parameters of a kernel beside their sizes: by its demangled name, and by the head of its PTX.

use crate::decode::state::fast_hash_map::FastHashMap;
use crate::kernels::names::{Kernels, Parameters};
use crate::kernels::ptx::Entry;
use cutap_cubin::ptx;
use std::sync::Arc;

/// Kernels whose parameters are kept in mind.
const MOST_KERNELS: usize = 1 << 12;

/// What a kernel's name says of a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParameterType {
    Pointer,
    Signed,
    Unsigned,
    Bool,
    Float,
    Half,
    BFloat16,
    Unknown,
}

impl ParameterType {
    /// Of a number as long as a pointer PTX does not say whether it is one.
    fn of((size, kind): (u32, ptx::Kind)) -> ParameterType {
        match (kind, size) {
            (ptx::Kind::Pointer, _) => ParameterType::Pointer,
            (ptx::Kind::Signed, _) => ParameterType::Signed,
            (ptx::Kind::Unsigned, 8) => ParameterType::Unknown,
            (ptx::Kind::Unsigned, _) => ParameterType::Unsigned,
            (ptx::Kind::Float, 2) => ParameterType::Half,
            (ptx::Kind::Float, _) => ParameterType::Float,
            (ptx::Kind::BFloat16, _) => ParameterType::BFloat16,
            (ptx::Kind::Other, _) => ParameterType::Unknown,
        }
    }
}

/// What is known of the parameters of a kernel beside their sizes.
#[derive(Debug)]
pub struct KnownParameters {
    /// By the name; none unless the name has all of them.
    kinds: Vec<ParameterType>,
    pub entry: Option<Arc<Entry>>,
}

impl KnownParameters {
    pub fn find(name: &str, table: &Parameters, kernels: &Kernels) -> KnownParameters {
        let mut kinds = kinds(name);
        if kinds.len() != table.len() {
            kinds.clear();
        }
        KnownParameters { kinds, entry: kernels.entry_of(name, table).cloned() }
    }

    /// C++ tells signed numbers from others, PTX that a compiler wrote does not.
    pub fn kind(&self, n: usize) -> ParameterType {
        let by_name = self.kinds.get(n).copied().filter(|kind| *kind != ParameterType::Unknown);
        let by_ptx = || self.entry.as_ref()?.parameters.get(n).map(|p| ParameterType::of(*p));
        by_name.or_else(by_ptx).unwrap_or(ParameterType::Unknown)
    }
}

/// A kernel by its name and the sizes of its parameters, and what is known of it.
type KernelRow = (Arc<str>, Parameters, Arc<KnownParameters>);

/// Kernels whose parameters were looked up.
#[derive(Debug, Default)]
pub struct ParametersByKernel {
    /// By the addresses of name and sizes, which the rows keep in memory.
    rows: FastHashMap<(usize, usize), KernelRow>,
    /// How many heads in PTX were read then.
    entries_read: u64,
}

impl ParametersByKernel {
    pub fn get(
        &mut self,
        name: &Arc<str>,
        table: &Parameters,
        entries_read: u64,
        find: impl FnOnce() -> KnownParameters,
    ) -> Arc<KnownParameters> {
        if self.entries_read != entries_read || self.rows.len() >= MOST_KERNELS {
            self.rows.clear();
            self.entries_read = entries_read;
        }
        let key = (name.as_ptr() as usize, table.as_ptr() as usize);
        let row = self.rows.entry(key).or_insert_with(|| (name.clone(), table.clone(), Arc::new(find())));
        row.2.clone()
    }
}

/// Kinds of the arguments in a demangled name: `void scale<float>(float*, int)`. Empty when it has no
/// list of arguments.
fn kinds(name: &str) -> Vec<ParameterType> {
    let Some(list) = arguments(name) else { return Vec::new() };
    let mut kinds = Vec::new();
    let (mut depth, mut from) = (0i32, 0);
    for (at, c) in list.char_indices() {
        match c {
            '<' | '(' | '[' | '{' => depth += 1,
            '>' | ')' | ']' | '}' => depth -= 1,
            ',' if depth == 0 => {
                kinds.push(kind(&list[from..at]));
                from = at + 1;
            }
            _ => {}
        }
    }
    if !list.trim().is_empty() {
        kinds.push(kind(&list[from..]));
    }
    kinds
}

/// What stands in the last pair of parentheses.
fn arguments(name: &str) -> Option<&str> {
    let end = name.rfind(')')?;
    let mut depth = 0;
    for (at, c) in name[..=end].char_indices().rev() {
        match c {
            ')' => depth += 1,
            '(' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return name.get(at + 1..end);
        }
    }
    None
}

fn kind(ty: &str) -> ParameterType {
    let ty = ty.trim();
    let ty = ty.strip_suffix(" const").unwrap_or(ty);
    if ty.ends_with(['*', '&']) || ty.ends_with("* __restrict__") || ty.ends_with("*restrict") {
        return ParameterType::Pointer;
    }
    match ty {
        "float" | "double" => ParameterType::Float,
        "bool" => ParameterType::Bool,
        "char" | "signed char" | "short" | "int" | "long" | "long long" => ParameterType::Signed,
        "unsigned char" | "unsigned short" | "unsigned int" | "unsigned long" | "unsigned long long" => {
            ParameterType::Unsigned
        }
        "__half" | "half" | "c10::Half" => ParameterType::Half,
        "__nv_bfloat16" | "c10::BFloat16" => ParameterType::BFloat16,
        _ => ParameterType::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn argument_lists() {
        use ParameterType::*;
        for (name, expected) in [
            ("saxpy(int, float, float const*, float*)", vec![Signed, Float, Pointer, Pointer]),
            ("void scale<std::pair<int, float>, (bool)1>(std::pair<int, float>, double)", vec![Unknown, Float]),
            ("none()", vec![]),
            ("plain", vec![]),
            ("void f(void (*)(int), unsigned int)", vec![Unknown, Unsigned]),
            (")(", vec![]),
        ] {
            assert_eq!(kinds(name), expected, "{name}");
        }
    }
}
