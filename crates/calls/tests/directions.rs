//! Directions of parameters, against what their types and functions' names tell: a guess of the importer that nobody put right is
//! found here.

use cutap_calls::generated::known::TABLES;
use cutap_calls::known::{Dir, Function, Param, Rule, Type};

/// A list's room on the way in, its length on the way out.
const COUNTS: [&str; 7] =
    ["count", "numNodes", "numEdges", "numRootNodes", "numDependencies", "numDependentNodes", "nr"];

/// Of these the library says which version of a struct it has written.
const OTHERS: [&str; 3] = ["nvmlDeviceGetVgpuMetadata", "nvmlVgpuInstanceGetMetadata", "nvshmem_team_get_config"];

/// What is wrong with a parameter, as far as that can be told.
fn wrong(function: &Function, param: &Param) -> Option<&'static str> {
    let Type::Pointer(to, constant) = TABLES.types[usize::from(param.ty)] else { return None };
    let to = TABLES.types[usize::from(to)];
    let asks = ["Get", "Create", "Query"].iter().any(|word| function.name.contains(word));
    let number =
        matches!(to, Type::Int { .. } | Type::Float(_) | Type::Handle(_) | Type::DevicePointer | Type::Enum(_));
    let in_and_out = param.dir == Dir::InOut && !COUNTS.contains(&param.name);
    // cuSOLVER's getrf and getrs are no questions, but for their letters.
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
fn directions_are_what_types_and_names_tell() {
    let mut found = Vec::new();
    let mut looked_at = 0;
    // NVML's structs and counts are in and out by their own rules, which its overlay has.
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

/// A caller says which version of a struct he has: what is in it is known where the call fails, too.
#[test]
fn structs_that_say_their_version_are_read() {
    let mut found = Vec::new();
    let mut looked_at = 0;
    for family in TABLES.families {
        for (function, param) in family.functions.iter().flat_map(|f| f.params.iter().map(move |p| (f, p))) {
            let Type::Pointer(to, _) = TABLES.types[usize::from(param.ty)] else { continue };
            let Type::Struct(n) = TABLES.types[usize::from(to)] else { continue };
            if TABLES.structs[usize::from(n)].fields.first().is_some_and(|f| f.name == "version") {
                looked_at += 1;
                if param.dir == Dir::Out && !OTHERS.contains(&function.name) {
                    found.push(format!("{}({})", function.name, param.name));
                }
            }
        }
    }
    assert!(looked_at > 40, "{looked_at}");
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// Structs with room for the answer to what the caller put in.
#[test]
fn structs_that_are_read_and_written() {
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

/// Two that the header's missing const left open.
#[test]
fn structs_that_are_only_read() {
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
