//! Which enums are sets of flags, in the real `api/`: all are looked at, and what its values speak against is none. A
//! set that is none prints a sum of names for a number, an enum that is a set prints a number for a sum.

use super::named::tables;
use crate::interface::known::Type;
use crate::interface::tables::EnumRow;
use std::collections::BTreeSet;

/// Sets with a name for a sum: of bits of which some have no name of their own (writing without reading does not
/// exist), or of the first two, which looks like counting.
const SUMS: &[&str] = &["CUmemAccess_flags", "cublasLtEpilogue_t", "cudssPhase_t", "CUmemAllocationHandleType"];

/// Enums whose values are single bits, and of which one is meant.
const ONE_OF: &[&str] = &[
    "CUfileStatus_t",
    "CUkernelNodeAttrID_enum",
    "CUmemDecompressAlgorithm",
    "cudaKernelNodeAttrID",
    "cutensorComputeType_t",
];

fn single(value: i64) -> bool {
    value > 0 && value.count_ones() == 1
}

fn values(row: &EnumRow) -> BTreeSet<i64> {
    let mask = |name: &str| name.ends_with("_MASK");
    row.values
        .iter()
        .filter(|v| !mask(&v.1))
        .map(|v| v.0)
        .filter(|v| v & row.number as i64 == 0 || row.number == 0)
        .collect()
}

/// What speaks against a set of flags.
fn against(row: &EnumRow) -> Option<&'static str> {
    let values = values(row);
    let bits = values.iter().filter(|v| single(**v)).fold(0, |all, v| all | v);
    // Of one that has only a name for nothing no bit can be wrong; all bits are a sum of any set.
    let known = SUMS.contains(&row.name.as_str());
    match () {
        () if !known && [1, 2, 3].iter().all(|n| values.contains(n)) => Some("its values count"),
        () if !known && values.iter().any(|v| *v >= 0 && v & !bits != 0) => Some("a value has bits without a name"),
        () => None,
    }
}

#[test]
fn sets_of_flags_are_sets() {
    let (tables, _) = tables();
    let used: BTreeSet<u16> =
        tables.types.iter().filter_map(|t| if let Type::Flags(n, _) = t { Some(*n) } else { None }).collect();
    let mut wrong = BTreeSet::new();
    for row in used.iter().map(|n| &tables.enums[usize::from(*n)]) {
        // One that is shown so although it is an enum: by the integer that it lies in.
        let why = if row.set { against(row) } else { Some("it is an enum") };
        wrong.extend(why.map(|why| format!("{}: {why}: {:?}", row.name, row.values)));
    }
    assert!(wrong.is_empty(), "say is = \"enum\", [numbers] or one_of in the overlay, or list it here: {wrong:#?}");
    assert!(used.len() > 60, "{}", used.len());
}

#[test]
fn enums_whose_values_are_bits_are_known() {
    let (tables, _) = tables();
    let mut found = BTreeSet::new();
    for row in tables.enums.iter().filter(|row| !row.set) {
        let values = values(row);
        let bits = values.iter().filter(|v| single(**v)).count();
        let sums = values.iter().all(|v| *v <= 0 || single(*v));
        let sets = tables.enums.iter().any(|other| other.name == row.name && other.set);
        if sums && bits >= 3 && !sets && !ONE_OF.contains(&row.name.as_str()) {
            found.insert(row.name.clone());
        }
    }
    assert!(found.is_empty(), "say is = \"flags\" in the overlay, or that one of them is meant, here: {found:#?}");
}

/// Exactly one of a set, a number in a byte, a comparison among flags.
#[test]
fn what_a_scan_has_found() {
    let (tables, all) = tables();
    let field = |of: &str, name: &str| {
        let row = tables.structs.iter().find(|s| s.name == of).unwrap();
        tables.get(row.fields.iter().find(|f| f.name == name).unwrap().ty)
    };
    let param = |of: &str, name: &str| {
        let row = all.iter().flatten().find(|f| f.name == of).unwrap();
        tables.get(row.params.iter().find(|p| p.name == name).unwrap().ty)
    };
    let bytes = |ty: Type| match ty {
        Type::Enum(n) => tables.enums[usize::from(n)].bytes,
        other => panic!("{other:?}"),
    };
    assert_eq!(bytes(field("CUgraphEdgeData", "type")), 1);
    assert_eq!(bytes(field("cudaGraphEdgeData", "type")), 1);
    assert_eq!(bytes(field("CUmemAllocationProp.allocFlags", "compressionType")), 1);
    assert_eq!(bytes(param("cuMemExportToShareableHandle", "handleType")), 4);
    let padding = |s: &&crate::interface::tables::StructRow| s.fields.iter().any(|f| f.name.starts_with("padding"));
    assert_eq!(tables.structs.iter().find(padding).map(|s| &s.name), None, "nobody fills it");
    let Type::Flags(set, _) = param("cublasSetMathMode", "mode") else { panic!("a set") };
    assert_eq!(tables.enums[usize::from(set)].number, 15);
}
