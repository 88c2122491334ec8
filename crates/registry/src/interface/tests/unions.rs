//! Unions in the real `api/`: each has a tag that tells what it holds, or there is none; and what newer toolkits add to
//! a union or to the enum of its tag is seen to.

use super::named::tables;
use crate::interface::functions;
use crate::interface::tables::StructRow;
use std::collections::{BTreeMap, BTreeSet};

/// Unions of which nothing tells what they hold: they are shown as words.
const NO_TAG: &[&str] = &[
    // cuDNN 8: the program remembers for which kind of operation it asked.
    "Algorithm",
    // Of a context: the overlay reads it as one, for a green context's handle tells itself what it is.
    "CUDA_*_NODE_PARAMS*._1",
    // Of 11.x: read by the types that the attribute announces.
    "CUkernelNodeAttrValue_union",
    "CUstreamAttrValue_union",
    "cudaKernelNodeAttrValue",
    "cudaStreamAttrValue",
    // Each vendor has keys of his own.
    "ncclConfigExt_t.val",
    // What goes in and what comes out.
    "nvmlPRMTLV_v1_t._1",
];

/// Values of tags that announce no field: there is nothing in the union, or nobody says what.
const NO_FIELD: &[&str] = &[
    "* *_INVALID",
    "* *Invalid",
    "* *_MAX",
    "* *Max",
    "* *_COUNT",
    "* *Count",
    "* *_NONE",
    "* *_IGNORE",
    "* *Ignore",
    // A format that no matrix of the generic interface has any more.
    "cusparseSpMat* CUSPARSE_FORMAT_COO_AOS",
    // Arrays are mapped, not memory in rows.
    "CUarrayMapInfo.resource CU_RESOURCE_TYPE_LINEAR",
    "CUarrayMapInfo.resource CU_RESOURCE_TYPE_PITCH2D",
    // Nodes without parameters, or without ones that are declared.
    "CUgraphNodeParams._1 *_EMPTY",
    "CUgraphNodeParams._1 *_EXTERNAL_ENGINE",
    "CUgraphNodeParams._1 *_RESERVED_16",
    "cudaGraphNodeParams._1 *Empty",
    "cudaGraphNodeParams._1 *ExternalEngine",
    "cudaGraphNodeParams._1 *Reserved16",
    // In the union of another operation.
    "CUstreamMemOp*ValueParams_st._1 CU_STREAM_MEM_OP_*",
    // The header does not say which of the two it has.
    "CUfileDescr_t.handle CU_FILE_HANDLE_TYPE_USERSPACE_FS",
    "nvmlVgpuScheduler*Params_t NVML_VGPU_SCHEDULER_ARR_DEFAULT",
];

/// Fields that no tag announces: the tag itself, or room.
const NO_VALUE: &[&str] = &[
    "CUstreamBatchMemOpParams operation",
    "CUgraphNodeParams._1 asBytes",
    "CUdevResource._2 _oversize",
    "cudaDevResource._2 _oversize",
];

/// Those without a decision.
fn left(all: BTreeSet<String>, decided: &[&str]) -> Vec<String> {
    all.into_iter().filter(|name| !decided.iter().any(|pattern| functions::matches(pattern, name))).collect()
}

/// The newest row of each union that has more than one field.
fn unions() -> (&'static crate::interface::tables::Tables<'static>, Vec<StructRow>) {
    let (tables, _) = tables();
    let all = tables.structs.iter().filter(|row| row.union && row.fields.len() > 1);
    let newest: BTreeMap<String, StructRow> = all.map(|row| (row.name.clone(), row.clone())).collect();
    (tables, newest.into_values().collect())
}

#[test]
fn unions_have_tags() {
    let (_, unions) = unions();
    let without = unions.iter().filter(|u| u.tag.is_none()).map(|u| u.name.clone()).collect();
    let none = Vec::<String>::new();
    assert_eq!(left(without, NO_TAG), none, "give it a tag in the overlay, or say here that there is none");
    assert!(unions.len() > 40, "{}", unions.len());
}

#[test]
fn tags_tell_of_each_value_and_each_field() {
    let (tables, unions) = unions();
    let (mut values, mut fields) = (BTreeSet::new(), BTreeSet::new());
    for union in &unions {
        let Some((_, tags)) = union.tag else { continue };
        let row = &tables.tags[usize::from(tags)];
        for (n, field) in union.fields.iter().enumerate() {
            if !row.rows.iter().any(|(_, to)| usize::from(*to) == n) {
                fields.insert(format!("{} {}", union.name, field.name));
            }
        }
        let of = tables.api.families.iter().find_map(|f| f.overlay.tags.get(&row.name)?.of.clone());
        let of = of.unwrap_or_else(|| row.name.clone());
        for (value, name) in tables.enums.iter().filter(|e| e.name == of).flat_map(|e| &e.values) {
            if !row.rows.iter().any(|(tag, _)| tag == value) {
                values.insert(format!("{} {name}", union.name));
            }
        }
    }
    let none = Vec::<String>::new();
    assert_eq!(left(values, NO_FIELD), none, "values of tags that announce no field");
    assert_eq!(left(fields, NO_VALUE), none, "fields that no tag announces");
}
