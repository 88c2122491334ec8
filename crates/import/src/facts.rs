//! From a parameter's type, name and note: who reads and writes what it points to, and whether it counts
//! bytes. What is uncertain is left out; the overlay is the place for what people know better.

use crate::ctype::{base, pointee};
use crate::layout::builtin;

/// What is said of a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Facts {
    pub(crate) dir: Option<&'static str>,
    pub(crate) bytes: bool,
}

/// `arrays`: numbers behind pointers that are not const are memory that is read and written.
pub(crate) fn of(name: &str, ty: &str, note: &str, arrays: bool) -> Facts {
    Facts { dir: direction(name, ty, note, arrays), bytes: counts_bytes(name, ty, note) }
}

fn direction(name: &str, ty: &str, note: &str, arrays: bool) -> Option<&'static str> {
    let (to, constant) = pointee(ty)?;
    if constant {
        return Some("in");
    }
    if let Some((explicit, _)) = note.strip_prefix('[').and_then(|n| n.split_once(']')) {
        match explicit {
            "in" => return Some("in"),
            "out" => return Some("out"),
            "in,out" | "inout" | "out,in" => return Some("inout"),
            _ => {}
        }
    }
    let said = from_note(note);
    if said.is_some() {
        return said;
    }
    let short = name.to_lowercase();
    if ["kernelparams", "extra", "args", "params", "options", "optionvalues"].contains(&short.as_str()) {
        return Some("in");
    }
    match to.trim_start_matches("const ") {
        "void" => None,
        "float" | "double" | "cuComplex" | "cuDoubleComplex" | "__half" | "__nv_bfloat16" if arrays => Some("inout"),
        _ if arrays && builtin(&base(ty)).is_some() && note.is_empty() && to.contains('*') => None,
        _ => Some("out"),
    }
}

fn from_note(note: &str) -> Option<&'static str> {
    let has = |words: &[&str]| words.iter().any(|w| note.contains(w));
    let begins = |words: &[&str]| words.iter().any(|w| note.starts_with(w));
    if has(&[
        "in/out",
        "input/output",
        "input and output",
        "input or output",
        "on input",
        "and to return",
        "as input and",
    ]) {
        return Some("inout");
    }
    let out = begins(&[
        "returned",
        "returns",
        "output",
        "pointer to returned",
        "pointer to the returned",
        "pointer to where",
    ]) || begins(&[
        "location to return",
        "location in which",
        "reference in which",
        "pointer to location",
        "where to",
    ]) || begins(&[
        "resulting",
        "on return",
        "out:",
        "variable to",
        "address where",
        "[out]",
        "buffer to",
        "storage for",
    ]) || has(&[
        "to be returned",
        "to return ",
        "in which to return",
        "to store ",
        "to be filled",
        "will be returned",
    ]) || has(&[
        "returned handle",
        "receives",
        "to receive",
        "is returned",
        "will contain",
        "will be stored",
        "to write",
    ]) || has(&[" returned in", "where the result", "upon return", "newly created", "be populated"]);
    if out {
        return Some("out");
    }
    let input = begins(&["array of", "list of", "an array of", "a list of", "the list of", "input", "options for"])
        || begins(&[
            "values to",
            "new ",
            "desired",
            "memory copy parameters",
            "parameters ",
            "properties to",
            "the array of",
        ])
        || has(&[
            "to set",
            "requested",
            "configuration",
            "operations",
            "structure specifying",
            "to be set",
            "dependencies",
        ]);
    input.then_some("in")
}

fn counts_bytes(name: &str, ty: &str, note: &str) -> bool {
    let number = match base(ty).as_str() {
        "size_t" | "int" | "unsigned int" | "unsigned long long" | "long long" | "int64_t" | "uint64_t" => true,
        "cuuint64_t" | "uint32_t" | "int32_t" | "CUdeviceptr_v1" => true,
        _ => false,
    };
    if !number || ty.matches('*').count() > 1 {
        return false;
    }
    let short = name.to_lowercase();
    let named = ["bytes", "bytesize", "bytecount", "numbytes", "sharedmem", "workspacesize", "datasize", "lwork_bytes"];
    if short.ends_with("inbytes") || short.ends_with("bytes") || named.contains(&short.as_str()) {
        return true;
    }
    ["in bytes", "number of bytes", "(bytes)", "bytes to ", "byte size", "byte count"].iter().any(|w| note.contains(w))
}

#[cfg(test)]
mod tests {
    use super::of;

    #[test]
    fn directions() {
        let said = |ty: &str, note: &str| of("x", ty, note, false).dir;
        assert_eq!(said("const void *", "returned"), Some("in"));
        assert_eq!(said("void *", ""), None);
        assert_eq!(said("void *", "returned pointer value"), Some("out"));
        assert_eq!(said("int *", ""), Some("out"));
        assert_eq!(said("int *", "[in,out] how many"), Some("inout"));
        assert_eq!(said("thing_t *", "array of things"), Some("in"));
        assert_eq!(said("int", "returned"), None);
        assert_eq!(of("C", "float *", "", true).dir, Some("inout"));
        assert_eq!(of("kernelParams", "void **", "", false).dir, Some("in"));
    }

    #[test]
    fn bytes() {
        assert!(of("ByteCount", "size_t", "", false).bytes);
        assert!(of("count", "size_t", "size in bytes to copy", false).bytes);
        assert!(!of("count", "size_t", "number of elements", false).bytes);
        assert!(!of("bytes", "void *", "", false).bytes);
    }
}
