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

/// A parameter, with all that is known when it is judged.
pub(crate) struct Case<'a> {
    pub(crate) function: &'a str,
    pub(crate) name: &'a str,
    pub(crate) ty: &'a str,
    pub(crate) param_note: &'a str,
    /// Numbers behind pointers that are not const are memory that is read and written.
    pub(crate) arrays: bool,
    /// Another parameter is a list that the function fills.
    pub(crate) fills: bool,
}

/// What can be said.
pub(crate) fn of(case: &Case<'_>) -> Facts {
    Facts { dir: direction(case), bytes: counts_bytes(case.name, case.ty, case.param_note) }
}

fn direction(case: &Case<'_>) -> Option<&'static str> {
    let (to, constant) = pointee(case.ty)?;
    if constant {
        return Some("in");
    }
    if let Some((explicit, _)) = case.param_note.strip_prefix('[').and_then(|n| n.split_once(']')) {
        match explicit {
            "in" => return Some("in"),
            "out" => return Some("out"),
            "in,out" | "inout" | "out,in" => return Some("inout"),
            _ => {}
        }
    }
    let gets = case.function.contains("Get");
    let direction = from_note(case.param_note);
    // "The value to get" reads like an input, but what a getter takes by `void *` is its answer.
    if direction.is_some() && !(gets && to == "void" && direction == Some("in")) {
        return direction;
    }
    from_name(case, to, gets)
}

/// What the names of the function and of the parameter tell.
fn from_name(case: &Case<'_>, to: &str, gets: bool) -> Option<&'static str> {
    let short = case.name.to_lowercase();
    let is = |words: &[&str]| words.contains(&short.as_str());
    let has = |words: &[&str]| words.iter().any(|w| short.contains(w));
    let number = builtin(&base(case.ty)).is_some() && to != "void" && !to.contains('*');
    if is(&["kernelparams", "extra", "args", "params"]) || has(&["option"]) {
        return Some("in");
    }
    let copies = case.function.starts_with("cuMem") || case.function.starts_with("cudaMem");
    if copies && is(&["location", "op", "attr", "attrs"]) {
        return Some("in");
    }
    // "Set" is a noun in "EventSetWait".
    let sets = case.function.contains("Set") && !case.function.contains("SetWait") && !has(&["status"]);
    let counts = short.starts_with("num") || short.ends_with("count");
    match to.trim_start_matches("const ") {
        "void" if gets && is(&["value", "data", "attribute", "pvalue"]) => Some("out"),
        "void" => None,
        "float" | "double" | "cuComplex" | "cuDoubleComplex" | "half" | "nv_bfloat16" if case.arrays => Some("inout"),
        _ if case.arrays && case.param_note.is_empty() && to.contains('*') && builtin(&base(case.ty)).is_some() => None,
        _ if number && counts && case.fills && !short.ends_with("out") => Some("inout"),
        _ if sets && !gets => Some("in"),
        _ if !gets && !number && has(&["params", "desc", "config"]) && to.contains("arams") => Some("inout"),
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
    // In words, so that a list of them stays short enough to read.
    const NUMBERS: &str = " size_t int unsigned_int unsigned_long unsigned_long_long long_long int64_t uint64_t \
                           cuuint64_t uint32_t int32_t ";
    const SIZES: &str = " size psize sizes sizeout buffersize pbuffersize worksize workareasize workspacesize datasize \
                         datasizes logsize paramsize paramoffset granularity alignment length sharedmem dynamicsmemsize ";
    let is = |list: &str, word: &str| list.contains(&format!(" {word} "));
    let number = base(ty);
    if !is(NUMBERS, &number.replace(' ', "_")) || ty.matches('*').count() > 1 {
        return false;
    }
    let short = name.to_lowercase();
    if short.ends_with("bytes") || ["bytesize", "bytecount", "byteoffset"].contains(&short.as_str()) {
        return true;
    }
    if ["in bytes", "number of bytes", "(bytes)", "bytes to ", "byte size", "byte count"]
        .iter()
        .any(|w| note.contains(w))
    {
        return true;
    }
    let sized = is(SIZES, &short) || ["pitch", "offset", "inbytes"].iter().any(|end| short.ends_with(end));
    sized && number == "size_t" && !["elements", "number of", "count of"].iter().any(|w| note.contains(w))
}

#[cfg(test)]
mod tests {
    use super::{Case, of};

    fn case<'a>(function: &'a str, name: &'a str, ty: &'a str, note: &'a str) -> Case<'a> {
        Case { function, name, ty, param_note: note, arrays: false, fills: false }
    }

    #[test]
    fn directions() {
        let said = |ty: &str, note: &str| of(&case("f", "x", ty, note)).dir;
        assert_eq!(said("const void *", "returned"), Some("in"));
        assert_eq!(said("void *", ""), None);
        assert_eq!(said("void *", "returned pointer value"), Some("out"));
        assert_eq!(said("int *", ""), Some("out"));
        assert_eq!(said("int *", "[in,out] how many"), Some("inout"));
        assert_eq!(said("thing_t *", "array of things"), Some("in"));
        assert_eq!(said("int", "returned"), None);
        assert_eq!(of(&Case { arrays: true, ..case("f", "C", "float *", "") }).dir, Some("inout"));
        assert_eq!(of(&case("f", "kernelParams", "void **", "")).dir, Some("in"));
        assert_eq!(of(&case("xSetColor", "color", "int *", "")).dir, Some("in"));
        assert_eq!(of(&case("xGetAttribute", "value", "void *", "attribute to set")).dir, Some("out"));
        assert_eq!(of(&Case { fills: true, ..case("xGetNodes", "numNodes", "size_t *", "") }).dir, Some("inout"));
        assert_eq!(of(&case("xAddNode", "nodeParams", "xParams *", "")).dir, Some("inout"));
    }

    #[test]
    fn bytes() {
        let said = |name: &str, ty: &str, note: &str| of(&case("f", name, ty, note)).bytes;
        assert!(said("ByteCount", "size_t", ""));
        assert!(said("count", "size_t", "size in bytes to copy"));
        assert!(said("size", "size_t *", ""));
        assert!(!said("size", "size_t", "number of elements"));
        assert!(!said("count", "size_t", "number of elements"));
        assert!(!said("bytes", "void *", ""));
    }
}
