//! Graphs: memory, kernels and operands of nodes.

use crate::support::calls::{of, params, word};
use crate::support::fixture::words;
use crate::support::program::{decoded, decoded_json};
use cutap_trace::synthetic::Run;
use cutap_wire::names;
use serde_json::json;

/// Graph memory has its address from the node on. Any kind of free frees it, and the address is reused.
#[test]
fn graph_memory() {
    const AT: u64 = 0x7000_0000_0000;
    let mut node = [0; 120];
    node[104..112].copy_from_slice(&word(4096));
    let given = node;
    node[112..].copy_from_slice(&word(AT));
    let lines = of(|c| {
        c.driver("cuGraphCreate", &[0x10, 0], &[], &[(0x10, &word(0x96a0))]);
        c.driver("cuGraphAddMemAllocNode", &[0x10, 0x96a0, 0, 0, 0x20], &[(0x20, &given)], &[(0x20, &node)]);
        c.driver("cuMemsetD8_v2", &[AT + 16, 0, 16], &[], &[]);
        c.driver("cuGraphInstantiateWithFlags", &[0x10, 0x96a0, 0], &[], &[(0x10, &word(0x96e0))]);
        c.driver("cuMemFree_v2", &[AT], &[], &[]);
        c.driver("cuMemsetD8_v2", &[AT, 0, 16], &[], &[]);
        c.driver("cuGraphLaunch", &[0x96e0, 0], &[], &[]);
        c.driver("cuMemsetD8_v2", &[AT, 0, 16], &[], &[]);
        c.driver("cuGraphAddMemFreeNode", &[0x10, 0x96a0, 0, 0, AT], &[], &[]);
        c.driver("cuGraphLaunch", &[0x96e0, 0], &[], &[]);
        c.driver("cuMemsetD8_v2", &[AT, 0, 16], &[], &[]);
    });
    assert!(lines[1].contains("bytesize=4096, dptr=0x700000000000}"), "{lines:#?}");
    assert_eq!(
        params(&lines, "dstDevice"),
        [
            "0x700000000010 [graph memory, 16 B of 4 KiB, +16 B]",
            "0x700000000000 [freed graph memory, 16 B of 4 KiB]",
            "0x700000000000 [graph memory, 16 B of 4 KiB]",
            "0x700000000000 [freed graph memory, 16 B of 4 KiB]",
        ],
        "{lines:#?}"
    );
}

#[test]
fn node_memory_operands() {
    const AT: u64 = 0x7000_0000_0000;
    let mut node = [0; 256];
    node[0] = 2; // CU_GRAPH_NODE_TYPE_MEMSET
    node[16..24].copy_from_slice(&word(AT));
    (node[36], node[40], node[48]) = (1, 16, 1);
    let lines = of(|c| {
        c.driver("cuMemAlloc_v2", &[0x30, 4096], &[], &[(0x30, &word(AT))]);
        let words = [0x10, 0x96a0, 0, 0, 0, 0x20];
        c.driver("cuGraphAddNode_v2", &words, &[(0x20, &node)], &[(0x10, &word(0x1234)), (0x20, &node)]);
    });
    let of_node = &lines[1];
    assert!(of_node.contains("memset={dst=0x700000000000 [device"), "{lines:#?}");
    assert!(!of_node.contains("dst=0x700000000000,"), "{lines:#?}");
}

#[test]
fn kernel_nodes() {
    let folder = tempfile::tempdir().unwrap();
    let run = Run::new(folder.path());
    let mut process = run.process(100, "/bin/prog");
    process.driver(&[]);
    process.runtime(2, "graph", 12090, 10, &[]);
    process.slot(0, 1, (1, 0, 0), "cuGraphAddKernelNode");
    process.runtime_slot(10, 2, 1, "cudaGraphAddKernelNode");
    process.kernel_parameters(0xf00, &[(0, 4), (8, 24)]);
    process.name(names::kind::KERNEL_HANDLE, 0xf00, 0, 0, "_Z3runi3Box", "");
    let mut thread = process.thread(100, 8);
    let mut packed = vec![0xff; 4];
    packed.extend(words(&[1, u64::MAX, 0]));
    thread.enter_with(10, &[0x100], &[(0x100, &words(&[0x40_0000, 0x7ffd, 0]))]);
    let node = words(&[0xf00, 0x7ffd, 0]);
    thread.call_with(0, &[0x200], &[(0x200, &node), (0x7ffd, &packed)], 0, &[]);
    thread.exit(0);
    let text = decoded(folder.path(), "");
    let list = "{-1, {1, 0xffffffffffffffff, 0}}";
    let lines: Vec<_> = text.lines().take(2).collect();
    assert_eq!(
        lines,
        [
            &format!(
                "[graph, runtime 12.9] cudaGraphAddKernelNode(pNodeParams=&{{func=function#1, kernelParams={list}, extra=NULL}}) {{"
            ),
            &format!(
                "  cuGraphAddKernelNode(nodeParams=&{{func=function#2, kernelParams={list}, extra=NULL}}) = CUDA_SUCCESS <1us>"
            ),
        ]
    );
    let call = decoded_json(folder.path(), "runtime");
    let list =
        &call.iter().find(|l| l["type"] == "call").unwrap()["arguments"][0]["value"]["to"]["fields"]["kernelParams"];
    assert_eq!(
        list,
        &json!({"address": "0x7ffd", "to": {"items": [-1, {"items": [1, u64::MAX, 0], "total": 3}], "total": 2}})
    );
}
