//! Handles: names, ends, special values.

use crate::support::calls::{Calls, of, word};
use crate::support::library::filtered;
use crate::support::library::{bytes, lines};
use cutap_trace::synthetic::Run;

/// Some handles are structs in the memory of the program.
#[test]
fn handle_in_program_memory() {
    let lines = lines("libcusparseLt.so.0", |l| {
        l.call("cusparseLtInit", &[0x5000], &[], &[]);
        l.call("cusparseLtMatmulPlanDestroy", &[0x6000], &[], &[]);
        l.call("cusparseLtDestroy", &[0x5000], &[], &[]);
    });
    assert_eq!(
        lines,
        [
            "cusparseLtInit(handle=cusparseLt#1) = CUSPARSE_STATUS_SUCCESS",
            "cusparseLtMatmulPlanDestroy(plan=ltPlan#1) = CUSPARSE_STATUS_SUCCESS",
            "cusparseLtDestroy(handle=cusparseLt#1) = CUSPARSE_STATUS_SUCCESS",
        ]
    );
}

/// A destroyed handle keeps its name until the driver hands it out again.
#[test]
fn destroyed_handle() {
    let lines = of(|c| {
        c.driver("cuCtxCreate_v2", &[0x10, 0, 0], &[], &[(0x10, &word(0xc00010))]);
        c.driver("cuCtxDestroy_v2", &[0xc00010], &[], &[]);
        c.driver("cuCtxSetCurrent", &[0xc00010], &[], &[]);
        c.driver("cuCtxCreate_v2", &[0x10, 0, 0], &[], &[(0x10, &word(0xc00010))]);
        c.driver("cuCtxSetCurrent", &[0xc00010], &[], &[]);
        c.driver("cuModuleLoad", &[0x10, 0], &[], &[(0x10, &word(0x300010))]);
        c.driver("cuModuleUnload", &[0x300010], &[], &[]);
        c.driver("cuModuleUnload", &[0x300010], &[], &[]);
        // One that a runtime has loaded, by a table that is not seen.
        c.driver("cuModuleUnload", &[0x300020], &[], &[]);
        c.driver("cuMemCreate", &[0x10, 4096, 0, 0], &[], &[(0x10, &word(0xa00010))]);
        c.driver("cuMemRetainAllocationHandle", &[0x10, 0x7000_0000_0000], &[], &[(0x10, &word(0xa00010))]);
        for _ in 0..3 {
            c.driver("cuMemRelease", &[0xa00010], &[], &[]);
        }
    });
    let names = ["context#", "module#", "allocation#"].map(|short| {
        let of = |l: &String| Some(l[l.find(short)?..].split([')', ',']).next()?.to_owned());
        lines.iter().filter_map(of).collect::<Vec<_>>().join(" ")
    });
    assert_eq!(
        names,
        [
            "context#1 context#1 context#1 [destroyed] context#2 context#2",
            "module#1 module#1 module#1 [destroyed] module#2",
            "allocation#1 allocation#1 allocation#1 allocation#1 allocation#1 [destroyed]",
        ],
        "{lines:#?}"
    );
}

/// Names of handles and facts about memory do not depend on the filter.
#[test]
fn names_under_filter() {
    let folder = tempfile::tempdir().unwrap();
    let run = Run::new(folder.path());
    let mut page = vec![0u8; cutap_wire::PAGE];
    page[..8].copy_from_slice(&cutap_wire::MAGIC.to_le_bytes());
    page[8..12].copy_from_slice(&cutap_wire::VERSION.to_le_bytes());
    std::fs::write(folder.path().join(cutap_wire::control::FILE), &page).unwrap();
    let mut process = run.process(100, "/bin/prog");
    process.driver(&[]);
    process.runtime(2, "prog", 12090, 10, &[]);
    let thread = process.thread(100, 8);
    let mut c = Calls { process, thread, slots: 20 };
    c.driver("cuStreamCreate", &[0x10, 0], &[], &[(0x10, &word(0x500010))]);
    c.runtime("cudaStreamCreate", &[0x10], &[], &[(0x10, &word(0x500020))]);
    c.driver("cuStreamDestroy_v2", &[0x500020], &[], &[]);
    c.runtime("cudaStreamSynchronize", &[0x500020], &[], &[]);
    c.runtime("cudaMemset", &[0x7000_0000_0000, 0, 8], &[], &[]);
    drop(c);
    let all = filtered(folder.path(), "");
    let runtime: Vec<_> = all.into_iter().filter(|l| l.contains("cudaStream") || l.contains("cudaMemset")).collect();
    assert!(runtime[1].contains("(stream=stream#2 [destroyed])"), "{runtime:#?}");
    assert!(runtime[2].contains("[no known allocation]"), "{runtime:#?}");
    let shown = filtered(folder.path(), "!driver");
    assert_eq!(shown[..3], runtime);
}

/// All external semaphores are shown, in calls and in graph nodes.
#[test]
fn external_semaphores() {
    let handles = bytes(&[word(0xe0), word(0xe1)]);
    let mut signals = vec![0; 288];
    signals[0] = 5;
    signals[144] = 6;
    let node: Vec<u8> = bytes(&[word(0x20), word(0x40), word(2)]);
    let mut general = vec![0; 256];
    general[0] = 8; // CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL
    general[16..40].copy_from_slice(&node);
    let lines = of(|c| {
        let memory: &[(u64, &[u8])] = &[(0x20, &handles), (0x40, &signals), (0x60, &node), (0x80, &general)];
        c.driver("cuSignalExternalSemaphoresAsync", &[0x20, 0x40, 2, 0], memory, &[]);
        c.driver("cuWaitExternalSemaphoresAsync", &[0x20, 0x40, 2, 0], memory, &[]);
        c.driver("cuGraphAddExternalSemaphoresSignalNode", &[0x10, 0x96a0, 0, 0, 0x60], memory, &[]);
        c.driver("cuGraphAddExternalSemaphoresWaitNode", &[0x10, 0x96a0, 0, 0, 0x60], memory, &[]);
        c.driver("cuGraphAddNode", &[0x10, 0x96a0, 0, 0, 0x80], memory, memory);
        c.runtime("cudaGraphAddExternalSemaphoresSignalNode", &[0x10, 0x96a0, 0, 0, 0x60], memory, &[]);
        // What was not kept is raw.
        c.driver("cuGraphAddExternalSemaphoresSignalNode", &[0x10, 0x96a0, 0, 0, 0x60], &[(0x60, &node)], &[]);
    });
    for line in &lines[..6] {
        let names = ["externalSemaphore#1", "externalSemaphore#2"];
        assert!(names.iter().all(|name| line.contains(name)), "{line}");
        assert!(line.contains("{fence={value=5}") && line.contains("{fence={value=6}"), "{line}");
    }
    assert!(
        lines.iter().any(|l| l.contains("cuGraphAddExternalSemaphoresSignalNode") && l.contains("plain")),
        "{lines:#?}"
    );
}
