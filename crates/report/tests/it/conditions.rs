//! Conditions on arguments: of what a call does not have nothing holds, and all ways of asking give the same calls.

use crate::memory::{Calls, word};
use crate::values::words;
use cutap_report::{By, Tables};
use cutap_trace::made::Run;
use cutap_trace::{Aggregator, Event, EventReader, Filter, ReaderOptions};
use cutap_wire::{names, record::note};
use std::path::Path;
use tempfile::TempDir;

/// What these calls left.
fn recorded(calls: impl FnOnce(&mut Calls)) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let run = Run::new(folder.path());
    let mut process = run.process(100, "/bin/prog");
    process.driver(&[]);
    process.runtime(2, "prog", 12090, 10, &[]);
    process.name(names::kind::KERNEL_NAME, 7, 0, 0, "saxpy", "");
    process.name(names::kind::KERNEL_HANDLE, 0xf00, 0, 0, "saxpy", "");
    process.kernel_parameters(0xf00, &[(0, 4)]);
    let thread = process.thread(100, 8);
    let mut all = Calls { process, thread, slots: 20 };
    calls(&mut all);
    drop(all);
    folder
}

/// Names of the functions whose calls a filter takes: as a trace, as a summary and as a report ask.
fn taken(run: &Path, filter: &str) -> String {
    let filter = Filter::parse(filter).unwrap();
    let mut tables = Tables::new(By::Function);
    let end = Aggregator::open(run, &filter).unwrap().run(&mut tables);
    let rows = tables.rows();
    let mut scanned: Vec<String> =
        rows.iter().flat_map(|row| std::iter::repeat_n(row.name.clone(), row.sums.calls as usize)).collect();
    scanned.sort();
    assert_eq!(end.filtered.unwrap().shown, scanned.len() as u64);
    for decode in [true, false] {
        let options = ReaderOptions { filter: filter.clone(), decode, ..ReaderOptions::default() };
        let mut follow = EventReader::open(run, options).unwrap();
        let mut followed = Vec::new();
        follow
            .poll(true, &mut |event| {
                if let Event::Exit(exit) = event {
                    followed.push(exit.call.function.name.to_string());
                }
            })
            .unwrap();
        let end = follow.end();
        followed.extend(end.unfinished.iter().map(|exit| exit.call.function.name.to_string()));
        followed.sort();
        assert_eq!(followed, scanned, "{} {decode}", filter.text());
    }
    scanned.join(" ")
}

#[test]
fn a_negative_condition_leaves_out_only_what_fulfils_it() {
    let folder = recorded(|c| {
        c.driver("cuMemcpyHtoD_v2", &[0x7000_0000_0000, 0x10, 16], &[], &[]);
        c.driver("cuMemcpyHtoD_v2", &[0x7000_0000_0000, 0x10, 4096], &[], &[]);
        c.driver("cuMemcpy2D_v2", &[0x10], &[], &[]);
        c.driver("cuNobodyKnows", &[1], &[], &[]);
        // The launch of no function, and one of a kernel.
        c.driver("cuLaunchKernel", &[0, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0], &[], &[]);
        c.driver("cuLaunchKernel", &[0xf00, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0], &[], &[]);
    });
    let (all, taken) =
        ("cuLaunchKernel cuLaunchKernel cuMemcpy2D_v2 cuMemcpyHtoD_v2 cuMemcpyHtoD_v2 cuNobodyKnows", |f: &str| {
            taken(folder.path(), f)
        });
    let without = |name: &str| all.replacen(&format!("{name} "), "", 1);
    assert_eq!(taken("!cuMemcpy*[ByteCount<1KiB]"), without("cuMemcpyHtoD_v2"));
    assert_eq!(taken("!driver[ByteCount<1KiB]"), without("cuMemcpyHtoD_v2"));
    assert_eq!(taken("!driver[ByteCount!=5]"), without("cuMemcpyHtoD_v2").replacen("cuMemcpyHtoD_v2 ", "", 1));
    assert_eq!(taken("!cuLaunchKernel[kernel=*saxpy*]"), without("cuLaunchKernel"));
    assert_eq!(taken("!driver[kernel=*]"), without("cuLaunchKernel"));
    assert_eq!(taken("!driver[kernel=other]"), all);
    // Of the 2D copy's struct nothing was kept.
    assert_eq!(taken("!cuMemcpy2D[pCopy.WidthInBytes=64]"), all);
    assert_eq!(taken("driver[ByteCount!=5]"), "cuMemcpyHtoD_v2 cuMemcpyHtoD_v2");
    assert_eq!(taken("driver[kernel!=other]"), "cuLaunchKernel");
    assert_eq!(taken("driver[ByteCount<1KiB],!cuMemcpy*[dstDevice=1]"), "cuMemcpyHtoD_v2");
    assert_eq!(taken("cuMemcpy2D[pCopy.WidthInBytes!=64]"), "");
}

/// What a call without the parameter is stands in its tree: nothing of it is waited for.
#[test]
fn what_has_no_such_parameter_is_decided_at_once() {
    let folder = recorded(|c| {
        c.process.runtime_slot(10, 2, 2, "cudaMalloc");
        c.thread.enter(10, &[0x10, 64]);
        c.driver("cuMemAlloc_v2", &[0x10, 64], &[], &[(0x10, &word(0x7000_0000_0000))]);
        c.driver("cuDeviceGet", &[0x20, 0], &[], &[(0x20, &word(0))]);
        c.thread.exit(0);
    });
    for filter in ["!driver[kernel=x]", "!cuDeviceGet[device=NULL]", "!driver[bytesize>64]"] {
        let mut follow = EventReader::open(
            folder.path(),
            ReaderOptions { filter: Filter::parse(filter).unwrap(), ..ReaderOptions::default() },
        )
        .unwrap();
        let mut depths = Vec::new();
        follow
            .poll(true, &mut |e| {
                if let Event::Enter(call) = e {
                    depths.push(call.depth)
                }
            })
            .unwrap();
        assert_eq!(depths, [0, 1, 1], "{filter}");
    }
}

#[test]
fn null_takes_null_pointers_and_no_pointers_to_the_number_0() {
    let folder = recorded(|c| {
        c.driver("cuDeviceGet", &[0x20, 0], &[], &[(0x20, &word(0))]);
        c.driver("cuDeviceGet", &[0, 0], &[], &[]);
        c.driver("cuCtxGetCurrent", &[0x20], &[], &[(0x20, &word(0))]);
        c.driver("cuStreamSynchronize", &[0], &[], &[]);
        c.driver("cuStreamQuery", &[0x5000], &[], &[]);
        c.driver("cuCtxGetDevice", &[0x20], &[], &[]);
        c.driver("cuDeviceTotalMem_v2", &[0, 0], &[], &[]);
        c.driver("cuModuleGetFunction", &[0x20, 0x30, 0x40], &[(0x40, b"NULL\0")], &[]);
    });
    let taken = |f: &str| taken(folder.path(), f);
    assert_eq!(taken("driver[device=NULL]"), "cuDeviceGet");
    assert_eq!(taken("cuDeviceGet[device!=NULL],cuCtxGetDevice[device!=NULL]"), "cuCtxGetDevice cuDeviceGet");
    assert_eq!(taken("!cuDeviceGet[device=NULL],!cuCtx*,!cuStream*,!cuModule*"), "cuDeviceGet cuDeviceTotalMem_v2");
    assert_eq!(taken("driver[pctx=NULL]"), "");
    assert_eq!(taken("driver[pctx=0]"), "cuCtxGetCurrent");
    assert_eq!(taken("driver[hStream=NULL]"), "cuStreamSynchronize");
    assert_eq!(taken("driver[hStream!=NULL]"), "cuStreamQuery");
    assert_eq!(taken("driver[dev=NULL]"), "");
    assert_eq!(taken("driver[name=NULL]"), "");
    assert_eq!(taken("driver[name=\"NULL\"]"), "cuModuleGetFunction");
}

/// The runtime's launch has the parameters that the driver's call in it has, whatever is shown of that.
#[test]
fn reports_and_summaries_take_kernel_parameters() {
    let folder = recorded(|c| {
        c.process.slot(0, 1, (6, 0, 5), "cuLaunchKernel");
        c.process.runtime_slot(10, 2, 8, "cudaLaunchKernel");
        for n in [64u64, 4096] {
            c.thread.enter(10, &[0x40_0000, 16 | 1 << 32, 1 | 256 << 32, 1 | 1 << 32, 0x7ffd, 0, 0, 0]);
            c.thread.note(note::KERNEL, 7);
            let packed = &words(&[n])[..4];
            c.thread.call_with(0, &[0xf00, 16, 1, 1, 256, 1, 1, 0, 0, 0x7ffd, 0], &[(0x7ffd, packed)], 0, &[]);
            c.thread.exit(0);
        }
        // One that never comes back tells as much.
        c.thread.enter(10, &[0x40_0000, 16 | 1 << 32, 1 | 256 << 32, 1 | 1 << 32, 0x7ffd, 0, 0, 0]);
    });
    let taken = |f: &str| taken(folder.path(), f);
    assert_eq!(taken("cuLaunch*[kernelParams.0=64]"), "cuLaunchKernel");
    assert_eq!(taken("cudaLaunchKernel[args.0=4096]"), "cudaLaunchKernel");
    assert_eq!(taken("cudaLaunchKernel[args.0>1]"), "cudaLaunchKernel cudaLaunchKernel");
    assert_eq!(taken("!cudaLaunchKernel[args.0>1],runtime"), "cudaLaunchKernel");
    assert_eq!(taken("cudaLaunchKernel[kernel=saxpy]"), "cudaLaunchKernel cudaLaunchKernel");
    assert_eq!(taken("!cudaLaunchKernel[kernel=saxpy],runtime"), "cudaLaunchKernel");
}
