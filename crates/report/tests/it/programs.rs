//! Handles, kernels' parameters, structs by version and leaks in calls of the driver and the runtime, as the real
//! tables read them.

use crate::libraries::bytes;
use crate::memory::{Calls, of, of_version, word};
use cutap_report::Output;
use cutap_trace::made::Run;
use cutap_trace::{EventReader, Filter, ReaderOptions};

/// A handle that has ended keeps its name until it is handed out again.
#[test]
fn handles_that_have_ended() {
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

/// Names of handles, and what is known of memory, do not depend on what is shown of a recording.
#[test]
fn names_do_not_depend_on_what_is_shown() {
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

fn filtered(run: &std::path::Path, filter: &str) -> Vec<String> {
    let mut output = cutap_report::Text::new(Vec::new(), false);
    let filter = if filter.is_empty() { Filter::default() } else { Filter::parse(filter).unwrap() };
    let options = ReaderOptions { filter, ..ReaderOptions::default() };
    EventReader::open(run, options).unwrap().poll(true, &mut |e| output.event(e).unwrap()).unwrap();
    String::from_utf8(output.get_ref().clone()).unwrap().lines().map(str::to_owned).collect()
}

/// A parameter that is larger than a record does not hide those behind it.
#[test]
fn kernels_with_large_parameters() {
    let sizes = [(0, 4000), (4000, 8), (4008, 4)];
    let mut kept: Vec<u8> = (1..=32u64).flat_map(word).collect();
    kept.extend(word(0x7000_0000_0000));
    kept.extend(7u32.to_le_bytes());
    let whole = kept[..8].to_vec();
    let lines = of(|c| {
        c.process.kernel_parameters(0x700010, &sizes);
        c.process.kernel_parameters(0x700020, &[(0, 4000)]);
        c.process.kernel_parameters(0x700030, &[(0, 8), (8, 4)]);
        let launch = |f: u64| [f, 1, 1, 1, 1, 1, 1, 0, 0, 0x20, 0];
        c.driver("cuLaunchKernel", &launch(0x700010), &[(0x20, &kept)], &[]);
        // As an older cutap kept it: the beginning, and nothing behind.
        c.driver("cuLaunchKernel", &launch(0x700020), &[(0x20, &whole)], &[]);
        c.driver("cuLaunchKernel", &launch(0x700030), &[(0x20, &kept[256..])], &[]);
    });
    let all: Vec<&str> =
        lines.iter().filter_map(|l| l.split_once("kernelParams=")?.1.split_once(", extra")).map(|l| l.0).collect();
    assert_eq!(
        all,
        [
            "{{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, ...+3872 bytes}, 0x700000000000, 7}",
            "{{1, ...+3992 bytes}}",
            "{0x700000000000, 7}",
        ],
        "{lines:#?}"
    );
}

/// Of external semaphores all are shown, in calls and in nodes.
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

/// A program has the structs of its toolkit: what a newer one has behind them is none of its fields, nor is an
/// array of them wider.
#[test]
fn structs_of_the_programs_own_version() {
    let known: Vec<u8> = bytes(&[word(0), word(0), word(0), word(0xc0)]);
    let mut general = vec![0; 256];
    general[0] = 8; // CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL
    general[16..48].copy_from_slice(&known);
    let text = |version, driver: Option<u32>| {
        let lines = of_version(version, |c| {
            if let Some(driver) = driver {
                c.driver("cuDriverGetVersion", &[0x10], &[], &[(0x10, &driver.to_le_bytes())]);
            }
            c.driver("cuGraphAddNode", &[0x10, 0x96a0, 0, 0, 0x80], &[(0x80, &general)], &[(0x80, &general)]);
        });
        let line = lines.iter().find(|l| l.starts_with("cuGraphAddNode")).cloned().unwrap();
        line.split_once("extSemSignal=").unwrap().1.split('}').next().unwrap().to_owned()
    };
    let (old, new) = ("{extSemArray=NULL, paramsArray=NULL, numExtSems=0", ", ctx=context#1");
    assert_eq!(text(12090, None), old);
    assert_eq!(text(13040, None).replace(" [not seen created]", ""), format!("{old}{new}"));
    // No driver reads what it does not know.
    assert_eq!(text(13040, Some(12090)), old);
    assert_eq!(text(0, Some(12090)), old);
    assert!(text(0, None).starts_with(&format!("{old}{new}")));
}

/// Who writes an address's memory does not change what a filter compares: the address.
#[test]
fn outputs_of_copies() {
    let families = cutap_calls::generated::known::TABLES.families.iter();
    let functions: Vec<_> =
        families.filter(|f| ["driver", "runtime"].contains(&f.name)).flat_map(|f| f.functions).collect();
    for (function, param) in [
        ("cudaMemcpyAsync", "dst"),
        ("cudaMemcpy2D", "dst"),
        ("cudaMemcpyFromSymbol", "dst"),
        ("cudaMemcpyPeer", "dst"),
        ("cudaMemset2DAsync", "devPtr"),
        ("cudaMemPoolExportToShareableHandle", "shareableHandle"),
        ("cuMemcpyDtoHAsync_v2", "dstHost"),
        ("cuMemPoolExportToShareableHandle", "handle_out"),
    ] {
        let forms: Vec<_> = functions.iter().filter(|f| f.name == function).collect();
        let of = |f: &&&cutap_calls::known::Function| f.params.iter().find(|p| p.name == param).map(|p| p.dir);
        assert!(!forms.is_empty(), "{function}");
        assert!(forms.iter().all(|f| of(f) == Some(cutap_calls::known::Dir::Out)), "{function} {param}");
    }
    let folder = tempfile::tempdir().unwrap();
    let run = Run::new(folder.path());
    let mut process = run.process(100, "/bin/prog");
    process.runtime(2, "prog", 12090, 10, &[]);
    let thread = process.thread(100, 8);
    let mut c = Calls { process, thread, slots: 20 };
    for at in [0x7000, 0x8000] {
        c.runtime("cudaMemcpy", &[at << 32, 0, 8, 1], &[], &[]);
    }
    drop(c);
    let shown = filtered(folder.path(), "cudaMemcpy[dst=0x700000000000]");
    assert_eq!(shown.iter().filter(|l| l.contains("cudaMemcpy(")).count(), 1, "{shown:#?}");
}

/// What a context's end ends, and what not.
#[test]
fn leaks_by_context() {
    let left = |end: &dyn Fn(&mut Calls)| {
        let folder = tempfile::tempdir().unwrap();
        let run = Run::new(folder.path());
        let mut process = run.process(100, "/bin/prog");
        process.driver(&[]);
        process.runtime(2, "prog", 12090, 10, &[]);
        let thread = process.thread(100, 8);
        let mut c = Calls { process, thread, slots: 20 };
        c.driver("cuDevicePrimaryCtxRetain", &[0x10, 0], &[], &[(0x10, &word(0xc00010))]);
        c.driver("cuCtxSetCurrent", &[0xc00010], &[], &[]);
        c.driver("cuMemAlloc_v2", &[0x10, 1000], &[], &[(0x10, &word(0x7000_0000_0000))]);
        c.driver("cuCtxCreate_v2", &[0x10, 0, 0], &[], &[(0x10, &word(0xc00020))]);
        c.driver("cuMemAlloc_v2", &[0x10, 2000], &[], &[(0x10, &word(0x7000_1000_0000))]);
        c.driver("cuMemCreate", &[0x10, 4000, 0, 0], &[], &[(0x10, &word(0xa00010))]);
        end(&mut c);
        drop(c);
        let mut leaks = cutap_report::Leaks::default();
        let mut follow = EventReader::open(folder.path(), ReaderOptions::default()).unwrap();
        follow.poll(true, &mut |e| leaks.event(e)).unwrap();
        let mut left: Vec<_> = leaks.groups().iter().map(|g| format!("{} {}", g.kind, g.bytes)).collect();
        left.sort();
        left.join(", ")
    };
    let all = "allocation 0, context 0, device memory 3000";
    assert_eq!(left(&|_| ()), all);
    assert_eq!(left(&|c| c.driver("cuCtxDestroy_v2", &[0xc00020], &[], &[])), "allocation 0, device memory 1000");
    assert_eq!(left(&|c| c.driver("cuCtxDestroy_v2", &[0xc00030], &[], &[])), all);
    let reset = "allocation 0, context 0, device memory 2000";
    assert_eq!(left(&|c| c.driver("cuDevicePrimaryCtxReset_v2", &[0], &[], &[])), reset);
    assert_eq!(left(&|c| c.runtime("cudaDeviceReset", &[], &[], &[])), reset);
}
