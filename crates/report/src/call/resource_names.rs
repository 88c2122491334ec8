//! The handles and addresses in a value, and names of resources for people.

use cutap_calls::known::Memory;
use cutap_trace::decode::Value;

/// The handles in a value: itself, what it points to, or each of an array.
pub(crate) fn handles(value: &Value) -> Vec<(&'static str, u64)> {
    match value {
        // A special value such as CU_STREAM_LEGACY is no resource.
        Value::Handle { value, kind, .. } if kind.special.iter().any(|(v, _)| v == value) => Vec::new(),
        Value::Handle { value, kind, .. } if *value != 0 => vec![(kind.short, *value)],
        Value::Pointee(_, to) => handles(to),
        Value::Array(items) => items.values.iter().flat_map(handles).collect(),
        _ => Vec::new(),
    }
}

/// The address in a value, unless it is NULL.
pub(crate) fn address(value: &Value) -> Option<u64> {
    match value {
        Value::Address(address, _) | Value::Opaque(address) | Value::Hex(address) | Value::Uint(address) => {
            Some(*address).filter(|a| *a != 0)
        }
        Value::Pointee(at, _) => Some(*at),
        _ => None,
    }
}

/// The address that a call wrote to the target of a pointer. In a struct such as cudaPitchedPtr it is the first field.
pub(crate) fn written(value: &Value) -> Option<u64> {
    let Value::Pointee(_, to) = value else { return None };
    match &**to {
        Value::Struct(fields) => fields.values.iter().find(|(n, _)| *n == 0).and_then(|(_, first)| address(first)),
        other => address(other),
    }
}

/// Words for a kind of memory.
pub(crate) fn word(memory: Memory) -> &'static str {
    match memory {
        Memory::Device => "device memory",
        Memory::Host => "host memory",
        Memory::Managed => "managed memory",
        Memory::Reserved => "reserved addresses",
        Memory::External => "external memory",
        Memory::Mapped | Memory::Graph | Memory::Unknown => "memory",
    }
}

/// The word for `count` resources of a kind: `graph execs` for `graphExec`, `pieces of memory`.
pub(crate) fn plural(kind: &str, count: u64) -> String {
    let one = words(kind);
    if one.ends_with("memory") {
        return format!("{} of {one}", if count == 1 { "piece" } else { "pieces" });
    }
    if count == 1 || one.ends_with('s') {
        return one;
    }
    if let Some(start) = one.strip_suffix("ix") {
        return format!("{start}ices");
    }
    match one.strip_suffix('y') {
        Some(start) if !start.ends_with(['a', 'e', 'o']) => format!("{start}ies"),
        _ if one.ends_with("ch") => format!("{one}es"),
        _ => format!("{one}s"),
    }
}

/// The words in a name. The name of a library (`cublasLt`) is one word.
fn words(kind: &str) -> String {
    let small = |c: Option<char>| c.is_some_and(|c| c.is_ascii_lowercase());
    let mut words = String::new();
    let mut rest = kind.chars();
    while let Some(letter) = rest.next() {
        let mut next = rest.clone();
        if letter.is_ascii_uppercase() && small(next.next()) && small(next.next()) {
            words.push(' ');
            words.push(letter.to_ascii_lowercase());
        } else {
            words.push(letter);
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_of_a_kind() {
        for (kind, one, many) in [
            ("array", "array", "arrays"),
            ("mipmappedArray", "mipmapped array", "mipmapped arrays"),
            ("library", "library", "libraries"),
            ("graphExec", "graph exec", "graph execs"),
            ("cudssMatrix", "cudss matrix", "cudss matrices"),
            ("batch", "batch", "batches"),
            ("cublasLt", "cublasLt", "cublasLts"),
            ("device memory", "piece of device memory", "pieces of device memory"),
            ("externalMemory", "piece of external memory", "pieces of external memory"),
            ("reserved addresses", "reserved addresses", "reserved addresses"),
        ] {
            assert_eq!((plural(kind, 1).as_str(), plural(kind, 11).as_str()), (one, many));
        }
    }
}
