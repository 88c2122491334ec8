//! Compares the directions of parameters with their types and with the names of their functions.
//!
//! A wrong guess of the importer that no overlay corrects is found here.

use cutap_calls::generated::known::TABLES;
use cutap_calls::known::{Dir, Function, Param, Rule, Type};

/// Counts that are both read and written: the capacity of a list before the call, its length after it.
const COUNTS: [&str; 7] =
    ["count", "numNodes", "numEdges", "numRootNodes", "numDependencies", "numDependentNodes", "nr"];

/// Functions that write the version field of a struct instead of reading it.
const WRITE_VERSION: [&str; 3] =
    ["nvmlDeviceGetVgpuMetadata", "nvmlVgpuInstanceGetMetadata", "nvshmem_team_get_config"];

/// Why the direction of a parameter must be wrong, if its type or the function's name contradicts it.
fn wrong(function: &Function, param: &Param) -> Option<&'static str> {
    let Type::Pointer(to, constant) = TABLES.types[usize::from(param.ty)] else { return None };
    let to = TABLES.types[usize::from(to)];
    let asks = ["Get", "Create", "Query"].iter().any(|word| function.name.contains(word));
    let number =
        matches!(to, Type::Int { .. } | Type::Float(_) | Type::Handle(_) | Type::DevicePointer | Type::Enum(_));
    let in_and_out = param.dir == Dir::InOut && !COUNTS.contains(&param.name);
    // cuSOLVER's getrf and getrs contain "Get" only by chance.
    let asks = asks && !function.name.contains("Getr");
    if constant && param.dir != Dir::In && !matches!(to, Type::Pointer(..)) {
        return Some("is const, so it is read");
    }
    if asks && param.rule == Rule::One && number && in_and_out {
        return Some("of a function that asks or makes, so it is written");
    }
    let pointer_in = param.dir == Dir::In && !constant && param.rule == Rule::One;
    (asks && number && pointer_in).then_some("of a function that asks or makes, and not const, so it is written")
}

#[test]
fn directions_match_types_and_names() {
    let mut found = Vec::new();
    let mut looked_at = 0;
    // NVML has its own conventions for structs and counts; its overlay states them.
    for family in TABLES.families.iter().filter(|f| f.name != "nvml") {
        for function in family.functions {
            for param in function.params {
                looked_at += 1;
                found.extend(wrong(function, param).map(|why| format!("{}({}) {why}", function.name, param.name)));
            }
        }
    }
    assert!(looked_at > 20_000, "{looked_at}");
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// The caller sets the version field of a struct, so the struct is read even by a call that fails.
#[test]
fn versioned_structs_are_read() {
    let mut found = Vec::new();
    let mut looked_at = 0;
    for family in TABLES.families {
        for (function, param) in family.functions.iter().flat_map(|f| f.params.iter().map(move |p| (f, p))) {
            let Type::Pointer(to, _) = TABLES.types[usize::from(param.ty)] else { continue };
            let Type::Struct(n) = TABLES.types[usize::from(to)] else { continue };
            if TABLES.structs[usize::from(n)].fields.first().is_some_and(|f| f.name == "version") {
                looked_at += 1;
                if param.dir == Dir::Out && !WRITE_VERSION.contains(&function.name) {
                    found.push(format!("{}({})", function.name, param.name));
                }
            }
        }
    }
    assert!(looked_at > 40, "{looked_at}");
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// Structs in which the caller sets some fields and the function writes others.
#[test]
fn inout_structs() {
    for (family, name, param) in [
        ("driver", "cuDevSmResourceSplit", "groupParams"),
        ("driver", "cuGraphInstantiateWithParams", "instantiateParams"),
        ("runtime", "cudaDevSmResourceSplit", "groupParams"),
        ("runtime", "cudaGraphInstantiateWithParams", "instantiateParams"),
        ("nvml", "nvmlDeviceGetMemoryInfo_v2", "memory"),
        ("nvml", "nvmlDeviceGetNvlinkNvlePrivateInfo_v1", "privateInfo"),
    ] {
        let family = TABLES.families.iter().find(|f| f.name == family).expect("a family");
        let mut functions = family.functions.iter().filter(|f| f.name == name).peekable();
        assert!(functions.peek().is_some(), "{name}");
        for function in functions {
            let param = function.params.iter().find(|p| p.name == param).expect("a parameter of that name");
            assert_eq!(param.dir, Dir::InOut, "{name}");
        }
    }
}

/// Structs that are read only, although the header omits `const`.
#[test]
fn input_structs_without_const() {
    for (name, param) in
        [("cuCtxCreate_v4", "ctxCreateParams"), ("cuStreamBeginCaptureToCig", "streamCigCaptureParams")]
    {
        let family = TABLES.families.iter().find(|f| f.name == "driver").expect("the driver's family");
        for function in family.functions.iter().filter(|f| f.name == name) {
            let param = function.params.iter().find(|p| p.name == param).expect("a parameter of that name");
            assert_eq!(param.dir, Dir::In, "{name}");
        }
    }
}
