//! What the hook library has to know of NVIDIA's interfaces: names, numbers and places, from the tables of `api/`.

use cutap_calls::generated::behaviour::MEMORY;
use cutap_calls::generated::known::TABLES;
use cutap_calls::known::{Param, Struct, Type};
use cutap_wire::limited::{HELPERS, Helper, Kind, Numbers, Places};

/// The words of `[[memory]]` in `api/behaviour.toml`.
const KINDS: &[(&str, Kind)] = &[
    ("linear", Kind::Linear),
    ("lines", Kind::Lines),
    ("array", Kind::Array),
    ("array3d", Kind::Array3D),
    ("mipmaps", Kind::Mipmaps),
    ("physical", Kind::Physical),
    ("pooled", Kind::Pooled),
    ("from pool", Kind::FromPool),
    ("gives", Kind::Gives),
    ("gives pooled", Kind::GivesPooled),
    ("gives physical", Kind::GivesPhysical),
    ("retains", Kind::Retains),
    ("maps", Kind::Maps),
    ("unmaps", Kind::Unmaps),
    ("shrinks pool", Kind::ShrinksPool),
    ("ends pool", Kind::EndsPool),
    ("waits", Kind::Waits),
    ("adds node", Kind::AddsNode),
    ("adds any node", Kind::AddsAnyNode),
    ("clones", Kind::Clones),
    ("instantiates", Kind::Instantiates),
    ("ends graph", Kind::EndsGraph),
    ("runs graph", Kind::RunsGraph),
    ("trims graphs", Kind::TrimsGraphs),
    ("loads code", Kind::LoadsCode),
    ("unloads code", Kind::UnloadsCode),
    ("ends context", Kind::EndsContext),
    ("ends primary", Kind::EndsPrimary),
    ("tells free", Kind::TellsFree),
    ("tells total", Kind::TellsTotal),
    ("tells properties", Kind::TellsProperties),
    ("tells use", Kind::TellsUse),
    ("tells use 2", Kind::TellsUse2),
    ("tells processes 1", Kind::TellsProcesses1),
    ("tells processes", Kind::TellsProcesses),
];

/// The words of functions that the library calls.
const CALLS: &[(&str, Helper)] = &[
    ("call: current device", Helper::CurrentDevice),
    ("call: current context", Helper::CurrentContext),
    ("call: uuid", Helper::Uuid),
    ("call: pool", Helper::Pool),
    ("call: pool attribute", Helper::PoolAttribute),
    ("call: trim pool", Helper::TrimPool),
    ("call: capture info", Helper::CaptureInfo),
    ("call: primary state", Helper::PrimaryState),
    ("call: retain primary", Helper::RetainPrimary),
    ("call: release primary", Helper::ReleasePrimary),
    ("call: graph memory", Helper::GraphMemory),
    ("call: free memory", Helper::FreeMemory),
    ("call: uuid text", Helper::UuidText),
];

/// Names of functions, and what is done with their calls.
pub fn rules() -> impl Iterator<Item = (&'static str, Kind)> {
    MEMORY.iter().filter_map(|(name, word)| Some((*name, KINDS.iter().find(|(of, _)| of == word)?.1)))
}

/// Names of the functions that the library calls, by their numbers.
pub fn helpers() -> [&'static str; HELPERS] {
    let mut names = [""; HELPERS];
    for (name, word) in MEMORY {
        let helper = CALLS.iter().find(|(of, _)| of == word);
        if let Some((_, helper)) = helper
            && let Some(place) = names.get_mut(*helper as usize)
        {
            *place = name;
        }
    }
    names
}

/// The newest form of a structure.
fn structure(name: &str) -> Option<&'static Struct> {
    TABLES.structs.iter().rfind(|of| of.name == name)
}

fn field(of: &'static Struct, name: &str) -> Option<&'static Param> {
    of.fields.iter().find(|field| field.name == name)
}

/// The place of a field, by the names on the way to it.
fn place(name: &str, way: &[&str]) -> Option<u32> {
    let (mut of, mut offset) = (structure(name)?, 0);
    for (n, part) in way.iter().enumerate() {
        let field = field(of, part)?;
        offset += u32::from(field.offset);
        if n + 1 < way.len() {
            of = match TABLES.types.get(usize::from(field.ty))? {
                Type::Struct(of) | Type::Union(of) => {
                    let name = TABLES.structs.get(usize::from(*of))?.name;
                    structure(name)?
                }
                _ => return None,
            };
        }
    }
    Some(offset)
}

fn places_of<const N: usize>(name: &str, fields: [&str; N]) -> Option<[u32; N]> {
    let mut places = [0; N];
    for (to, field) in places.iter_mut().zip(fields) {
        *to = place(name, &[field])?;
    }
    Some(places)
}

/// Places in structures; none if a table lacks one.
pub fn places() -> Option<Places> {
    let process = |name: &str| {
        let [pid, memory] = places_of(name, ["pid", "usedGpuMemory"])?;
        Some([structure(name)?.size, pid, memory])
    };
    let array = "CUDA_ARRAY3D_DESCRIPTOR";
    let allocation = "CUmemAllocationProp";
    Some(Places {
        array: places_of("CUDA_ARRAY_DESCRIPTOR", ["Width", "Height", "Format", "NumChannels"])?,
        array3d: places_of(array, ["Width", "Height", "Depth", "Format", "NumChannels", "Flags"])?,
        total: place("cudaDeviceProp", &["totalGlobalMem"])?,
        location: [place(allocation, &["location", "type"])?, place(allocation, &["location", "_1"])?],
        node: [
            place("CUDA_MEM_ALLOC_NODE_PARAMS", &["bytesize"])?,
            place("CUgraphNodeParams", &["type"])?,
            place("CUgraphNodeParams", &["_1", "alloc", "bytesize"])?,
        ],
        memory: places_of("nvmlMemory_t", ["total", "free", "used"])?,
        memory2: places_of("nvmlMemory_v2_t", ["total", "reserved", "free", "used"])?,
        process: process("nvmlProcessInfo_v1_t")?,
        process2: process("nvmlProcessInfo_t")?,
    })
}

/// The number of a name in an enum or a set of flags.
fn number(name: &str) -> Option<u32> {
    let values = TABLES.enums.iter().flat_map(|of| of.values);
    values.into_iter().find(|(_, of)| *of == name).map(|(number, _)| *number as u32)
}

/// Numbers; none if a table lacks one.
pub fn numbers() -> Option<Numbers> {
    Some(Numbers {
        out_of_memory: number("CUDA_ERROR_OUT_OF_MEMORY")?,
        insufficient_size: number("NVML_ERROR_INSUFFICIENT_SIZE")?,
        device_location: number("CU_MEM_LOCATION_TYPE_DEVICE")?,
        pool: [number("CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT")?, number("CU_MEMPOOL_ATTR_USED_MEM_CURRENT")?],
        graph: [number("CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT")?, number("CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT")?],
        no_memory: number("CUDA_ARRAY3D_SPARSE")? | number("CUDA_ARRAY3D_DEFERRED_MAPPING")?,
        memory_node: number("CU_GRAPH_NODE_TYPE_MEM_ALLOC")?,
    })
}

/// Bytes of an element by the number of its format; 128: all channels are in it. Names of formats say their size.
pub fn formats() -> [u8; 256] {
    const ALL: u8 = 128;
    let mut sizes = [ALL | 4; 256];
    let of_arrays = TABLES.enums.iter().find(|of| of.name == "CUarray_format");
    for (number, name) in of_arrays.map_or(&[][..], |of| of.values) {
        let size = match name.trim_start_matches("CU_AD_FORMAT_") {
            "HALF" => 2,
            "FLOAT" => 4,
            name => match name.rsplit_once("INT").map(|(_, size)| size) {
                Some("8") => 1,
                Some("16") => 2,
                Some("32") => 4,
                Some("8X1") => ALL | 1,
                Some("8X2" | "16X1") => ALL | 2,
                Some("8X4" | "16X2") => ALL | 4,
                Some("16X4") => ALL | 8,
                // Blocks have at most a byte for an element, and planes at most four.
                _ if name.starts_with("BC") => ALL | 1,
                _ => ALL | 4,
            },
        };
        if let Some(place) = usize::try_from(*number).ok().and_then(|number| sizes.get_mut(number)) {
            *place = size;
        }
    }
    sizes
}

#[cfg(test)]
mod tests {
    use super::*;
    use cutap_wire::limited::{KINDS as COUNT, ROWS};

    #[test]
    fn all_words_have_a_meaning() {
        for (_, word) in MEMORY {
            let is_known = KINDS.iter().any(|(of, _)| of == word) || CALLS.iter().any(|(of, _)| of == word);
            assert!(is_known, "{word}");
        }
        assert_eq!((KINDS.len(), CALLS.len()), (COUNT, HELPERS));
        assert!(rules().count() <= ROWS, "{}", rules().count());
        assert!(helpers().iter().all(|name| !name.is_empty()));
    }

    #[test]
    fn places_and_numbers() {
        let places = places().expect("all structures are known");
        assert_eq!((places.array3d, places.location), ([0, 8, 16, 24, 28, 32], [8, 12]));
        assert_eq!((places.total, places.node), (288, [104, 0, 120]));
        assert_eq!((places.memory, places.memory2), ([0, 8, 16], [8, 16, 24, 32]));
        assert_eq!((places.process, places.process2), ([16, 0, 8], [24, 0, 8]));
        let numbers = numbers().expect("all numbers are known");
        assert_eq!((numbers.out_of_memory, numbers.insufficient_size, numbers.pool), (2, 7, [5, 7]));
        let formats = formats();
        assert_eq!([formats[1], formats[9], formats[16], formats[32], formats[194]], [1, 2, 2, 4, 128 | 4]);
    }
}
