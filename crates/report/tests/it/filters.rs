//! Filters with conditions on arguments.

use crate::support::calls::{Calls, word};
use crate::support::fixture::words;
use crate::support::program::decoded;
use cutap_report::{By, Tables};
use cutap_trace::synthetic::Run;
use cutap_trace::{Aggregator, Event, EventReader, Filter, ReaderOptions};
use cutap_wire::names;
use cutap_wire::record::note;
use std::path::Path;
use tempfile::TempDir;

#[test]
fn on_arguments() {
    let folder = tempfile::tempdir().unwrap();
    let run = Run::new(folder.path());
    let mut process = run.process(100, "/bin/prog");
    process.driver(&[]);
    let functions = ["cuMemAlloc_v2", "cuMemcpyHtoD_v2", "cuStreamCreate", "cuCtxCreate_v2", "cuLaunchKernelEx"];
    for (slot, name) in functions.iter().enumerate() {
        process.slot(slot as u64, 1, (3, 0, 0), name);
    }
    process.name(names::kind::KERNEL_HANDLE, 0xf0, 0, 0, "_Z5saxpyifPKfPf", "");
    let mut thread = process.thread(100, 8);
    let out = |value: u64| words(&[value]);
    thread.enter(3, &[0, 0, 1]);
    thread.call_with(0, &[0x10, 2 << 30, 0], &[], 0, &[(0x10, &out(0x7f00_0000_0000))]);
    thread.call_with(0, &[0x10, 4096, 0], &[], 0, &[(0x10, &out(0x6000_0000))]);
    thread.exit(0);
    thread.call_with(1, &[0x7f00_0000_1000, 0x5555_555e_0000, 4096], &[], 0, &[]);
    thread.call_with(2, &[0x10, 1, 0], &[], 0, &[(0x10, &out(0x5000))]);
    thread.call_with(2, &[0x10, 6, 0], &[], 1, &[]);
    thread.call_with(2, &[0, 0, 0], &[], 1, &[]);
    let mut config = words(&[0x2_0000_0001]);
    config.extend([3, 0, 0, 0]);
    config.extend(words(&[0x900, 9 << 32 | 1]));
    let attributes = words(&[1, 0x2_0000_0002, 2]);
    thread.call_with(4, &[0x100, 0xf0, 0], &[(0x100, &config), (0x900, &attributes)], 0, &[]);
    let names = |filter: &str| {
        let text = decoded(folder.path(), filter);
        let lines = text.lines().filter(|l| !l.starts_with("cutap: ") && !l.starts_with('}'));
        lines.map(|l| l.split(['=', '{']).next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let whole = |filter: &str| decoded(folder.path(), filter).lines().next().unwrap().to_owned();
    assert_eq!(names("cuMemAlloc*[bytesize>1GiB]").len(), 1);
    assert_eq!(names("cuMemAlloc[bytesize>=4KiB]").len(), 2);
    assert_eq!(names("cuMemAlloc[bytesize<4096]"), [""; 0]);
    // Known only when the call has ended: it stands behind nothing, at its own depth.
    assert_eq!(
        whole("cuMemAlloc*[dptr=0x7f0000000000]"),
        "cuMemAlloc_v2(dptr=&0x7f0000000000, bytesize=2147483648) = CUDA_SUCCESS <1us>"
    );
    // What is not shown has been looked at.
    let copy = "cuMemcpyHtoD_v2(dstDevice=0x7f0000001000 [device, 4 KiB of 2 GiB, +4 KiB], srcHost=0x5555555e0000 [host], \
                ByteCount=4096) = CUDA_SUCCESS <1us>";
    assert_eq!(whole("cuMem*[srcHost=0x5555555e0000]"), copy);
    assert_eq!(names("cuStreamCreate[Flags=NON*]").len(), 1);
    assert_eq!(names("cuStreamCreate[Flags=SPIN, phStream=NULL]").len(), 0);
    assert_eq!(names("cuStreamCreate[phStream=NULL]").len(), 1, "nowhere to write to");
    assert_eq!(names("cuStreamCreate[Flags=SPIN],cuMemcpy*").len(), 2);
    assert_eq!(names("cuMem*,!cuMemAlloc*[bytesize=4096]").len(), 2);
    assert_eq!(names("!cuMemAlloc*[bytesize!=0]").len(), 6);
    assert_eq!(names("!cuMemAlloc*[dptr=NULL],error").len(), 2);
    assert_eq!(names("cuLaunch*[kernel=saxpy*]").len(), 1);
    assert_eq!(names("cuLaunch*[kernel=axpy*]").len(), 0);
    assert_eq!(names("cuLaunch*[config.gridDim.z=3]").len(), 1);
    assert_eq!(names("cuLaunch*[config.priority=9, config.nothing=1]").len(), 0);
    assert_eq!(names("cuLaunch*[config.attrs.0.cluster.x=2]").len(), 1);
    // Shown calls stand in their tree; those left out leave no step in it.
    assert_eq!(
        names("driver,!cuCtxCreate*[dev=1],!cuStream*"),
        ["cuMemAlloc_v2(dptr", "cuMemAlloc_v2(dptr", "cuMemcpyHtoD_v2(dstDevice", "cuLaunchKernelEx(config"]
    );
    assert_eq!(names("cuCtxCreate*[dev=1],cuMemAlloc*")[1], "  cuMemAlloc_v2(dptr");
    let told = |filter: &str| decoded(folder.path(), filter).lines().next().unwrap().to_owned();
    assert_eq!(
        told("cuMemAlloc*[bytesize>1TiB]"),
        "cutap: nothing matched the filter cuMemAlloc*[bytesize>1TiB]; 8 calls were seen and left out"
    );
    // Another function has such a parameter; of those that were called none has.
    let without = told("cuMem*[pool=1],!cuMemcpy*");
    assert!(without.ends_with("; there is no parameter pool in cuMemAlloc_v2 (dptr, bytesize)"), "{without}");
    let both = told("cuMemAlloc* & cuMemcpy*");
    assert!(both.contains("must hold") && both.contains("a comma means or, as in -e A,B"), "{both}");
    // The run did not record it, whatever else is shown.
    for (filter, said) in [("hidden", true), ("driver", false)] {
        let line = "the layer hidden was not recorded in this run; cutap record -e hidden records it";
        assert_eq!(decoded(folder.path(), filter).contains(line), said, "{filter}");
    }
}

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
    assert_eq!(end.filtered.unwrap().shown_calls, scanned.len() as u64);
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

/// A negated condition excludes only the calls that fulfil it.
#[test]
fn negated_condition() {
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

/// A call without the parameter is decided when it begins, so it keeps its place in the tree.
#[test]
fn no_such_parameter() {
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

/// NULL matches null pointers. It does not match pointers to the number 0.
#[test]
fn null() {
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

/// The launch of the runtime has the parameters of the nested driver call, whether or not that one is shown.
#[test]
fn kernel_parameters_in_reports() {
    let folder = recorded(|c| {
        c.process.slot(0, 1, (6, 0, 5), "cuLaunchKernel");
        c.process.runtime_slot(10, 2, 8, "cudaLaunchKernel");
        for n in [64u64, 4096] {
            c.thread.enter(10, &[0x40_0000, 16 | 1 << 32, 1 | 256 << 32, 1 | 1 << 32, 0x7ffd, 0, 0, 0]);
            c.thread.write_note(note::KERNEL, 7);
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
