//! `report --leaks`.

use crate::support::calls::{Calls, run, word};
use crate::support::library::bytes;
use cutap_report::EventSink;
use cutap_trace::synthetic::Run;
use cutap_trace::{EventReader, ReaderOptions};

/// The resources that end with a context, and those that do not.
#[test]
fn context_end() {
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
        let (pieces, size) = leaks.ended_with_context();
        let mut left: Vec<_> = leaks.groups().iter().map(|g| format!("{} {}", g.kind, g.bytes)).collect();
        left.sort();
        format!("{}; with a context {pieces} of {size}", left.join(", "))
    };
    let all = "allocation 0, context 0, device memory 3000; with a context 0 of 0";
    assert_eq!(left(&|_| ()), all);
    let destroyed = "allocation 0, device memory 1000; with a context 1 of 2000";
    assert_eq!(left(&|c| c.driver("cuCtxDestroy_v2", &[0xc00020], &[], &[])), destroyed);
    assert_eq!(left(&|c| c.driver("cuCtxDestroy_v2", &[0xc00030], &[], &[])), all);
    let reset = "allocation 0, context 0, device memory 2000; with a context 1 of 1000";
    assert_eq!(left(&|c| c.driver("cuDevicePrimaryCtxReset_v2", &[0], &[], &[])), reset);
    assert_eq!(left(&|c| c.runtime("cudaDeviceReset", &[], &[], &[])), reset);
}

const AT: u64 = 0x7000_0000_0000;

const GRAPH: u64 = 0x96a0_0000;

const STREAM: u64 = 0x50_0010;

/// What these calls left, each with its kind, its bytes and the calls that made it.
fn left(calls: impl FnOnce(&mut Calls)) -> Vec<String> {
    left_of(12090, calls)
}

/// The same with a runtime of this version.
fn left_of(version: u64, calls: impl FnOnce(&mut Calls)) -> Vec<String> {
    let folder = run(version, calls);
    let mut leaks = cutap_report::Leaks::default();
    let mut follow = EventReader::open(folder.path(), ReaderOptions::default()).unwrap();
    follow.poll(true, &mut |e| leaks.event(e)).unwrap();
    let plain = |call: &String| call.split(' ').next().unwrap_or_default().to_owned();
    let name = |way: &[String]| way.iter().map(plain).collect::<Vec<_>>().join(" > ");
    let mut left: Vec<_> =
        leaks.groups().iter().map(|g| format!("{} {} {} {}", g.count, g.kind, g.bytes, name(&g.way))).collect();
    left.sort();
    left
}

fn wrote(value: u64) -> [(u64, [u8; 8]); 1] {
    [(0x10, word(value))]
}

impl Calls {
    /// A call of the driver that writes this word at 0x10.
    fn writes(&mut self, name: &str, words: &[u64], value: u64) {
        let [(at, word)] = wrote(value);
        self.driver(name, words, &[], &[(at, &word)]);
    }

    /// A call of the runtime around one of the driver. Both write this memory.
    pub fn around(&mut self, runtime: (&str, &[u64]), driver: (&str, &[u64]), wrote: [&[(u64, &[u8])]; 2]) {
        self.process.runtime_slot(self.slots.into(), 2, runtime.1.len() as u64, runtime.0);
        self.thread.enter_with(self.slots, runtime.1, &[]);
        self.slots += 1;
        self.driver(driver.0, driver.1, &[], wrote[1]);
        self.thread.exit_with(0, wrote[0]);
    }
}

/// A context is a leak of the call that created it.
#[test]
fn created_context() {
    let made = |next: &dyn Fn(&mut Calls)| {
        left(|c| {
            c.writes("cuCtxCreate_v2", &[0x10, 0, 0], 0xc00010);
            next(c);
        })
    };
    assert_eq!(made(&|c| c.writes("cuCtxPopCurrent_v2", &[0x10], 0xc00010)), ["1 context 0 cuCtxCreate_v2"]);
    assert_eq!(made(&|c| c.writes("cuCtxAttach", &[0x10, 0], 0xc00010)), ["1 context 0 cuCtxCreate_v2"]);
    // The primary context, which no call made.
    let popped = left(|c| {
        c.writes("cuDevicePrimaryCtxRetain", &[0x10, 0], 0xc00010);
        c.driver("cuCtxPushCurrent_v2", &[0xc00010], &[], &[]);
        c.writes("cuCtxPopCurrent_v2", &[0x10], 0xc00010);
    });
    assert!(popped.is_empty(), "{popped:?}");
}

#[test]
fn green_context() {
    let green = |ends: bool| {
        left(|c| {
            c.writes("cuGreenCtxCreate", &[0x10, 0, 0, 1], 0x6c0010);
            c.writes("cuCtxFromGreenCtx", &[0x10, 0x6c0010], 0xc00010);
            if ends {
                c.driver("cuGreenCtxDestroy", &[0x6c0010], &[], &[]);
            }
        })
    };
    assert!(green(true).is_empty(), "{:?}", green(true));
    assert_eq!(green(false), ["1 greenContext 0 cuGreenCtxCreate"]);
    let runtime = |ends: bool| {
        left_of(13050, |c| {
            c.runtime("cudaGreenCtxCreate", &[0x10, 0, 0, 0], &[], &[(0x10, &word(0x6c0010))]);
            if ends {
                c.runtime("cudaExecutionCtxDestroy", &[0x6c0010], &[], &[]);
            }
        })
    };
    assert!(runtime(true).is_empty(), "{:?}", runtime(true));
    assert_eq!(runtime(false), ["1 greenContext 0 cudaGreenCtxCreate"]);
}

/// A capture into an existing graph returns that graph, which is no new resource.
#[test]
fn capture_into_existing_graph() {
    let captures = |c: &mut Calls, begin: &str, words: &[u64]| {
        c.driver(begin, words, &[], &[]);
        c.writes("cuStreamEndCapture", &[STREAM, 0x10], GRAPH);
    };
    let own = ("cuStreamBeginCaptureToGraph", [STREAM, GRAPH, 0, 0, 0, 0]);
    let graph = |destroyed: bool| {
        left(|c| {
            c.writes("cuGraphCreate", &[0x10, 0], GRAPH);
            captures(c, own.0, &own.1);
            if destroyed {
                c.driver("cuGraphDestroy", &[GRAPH], &[], &[]);
            }
        })
    };
    assert!(graph(true).is_empty(), "{:?}", graph(true));
    assert_eq!(graph(false), ["1 graph 0 cuGraphCreate"]);
    // One that belongs to a conditional node; then a new one, to which the driver gives the same bits.
    let body = left(|c| captures(c, own.0, &own.1));
    assert!(body.is_empty(), "{body:?}");
    let new = left(|c| {
        captures(c, own.0, &own.1);
        captures(c, "cuStreamBeginCapture_v2", &[STREAM, 0]);
    });
    assert_eq!(new, ["1 graph 0 cuStreamEndCapture"]);
    // The runtime's calls around the driver's.
    let both = left(|c| {
        c.around(("cudaStreamBeginCaptureToGraph", &own.1), (own.0, &own.1), [&[], &[]]);
        let end: &[(u64, &[u8])] = &[(0x10, &word(GRAPH))];
        c.around(("cudaStreamEndCapture", &[STREAM, 0x10]), ("cuStreamEndCapture", &[STREAM, 0x10]), [end, end]);
    });
    assert!(both.is_empty(), "{both:?}");
}

/// A call that returns an existing stream, or a node in an error report, makes no resource.
#[test]
fn returned_handles() {
    let stream = left(|c| {
        c.writes("cuStreamCreate", &[0x10, 0], STREAM);
        c.runtime("__cudaPopCallConfiguration", &[0x20, 0x30, 0x40, 0x10], &[], &[(0x10, &word(STREAM))]);
    });
    assert_eq!(stream, ["1 stream 0 cuStreamCreate"]);
    let graph = left(|c| {
        let wrote: &[(u64, &[u8])] = &[(0x10, &word(0x96e0_0000)), (0x20, &word(0x1234_5678))];
        c.driver("cuGraphInstantiate_v2", &[0x10, GRAPH, 0x20, 0, 0], &[(0x20, &word(0x1234_5678))], wrote);
    });
    assert_eq!(graph, ["1 graphExec 0 cuGraphInstantiate_v2"]);
}

/// Despite `Get` in its name, the function makes memory that must be freed.
#[test]
fn mapped_external_memory() {
    let mut desc = [0; 88];
    desc[8..16].copy_from_slice(&word(4096));
    let mapped = |freed: bool| {
        left(|c| {
            let words = [0x10, 0xe0_0000, 0x20];
            c.driver("cuExternalMemoryGetMappedBuffer", &words, &[(0x20, &desc)], &[(0x10, &word(AT))]);
            c.writes("cuExternalMemoryGetMappedMipmappedArray", &[0x10, 0xe0_0000, 0], 0xa0_0000);
            c.writes("cuMipmappedArrayGetLevel", &[0x10, 0xa0_0000, 1], 0xb0_0000);
            if freed {
                c.driver("cuMemFree_v2", &[AT], &[], &[]);
                c.driver("cuMipmappedArrayDestroy", &[0xa0_0000], &[], &[]);
            }
        })
    };
    assert!(mapped(true).is_empty(), "{:?}", mapped(true));
    assert_eq!(
        mapped(false),
        [
            "1 external memory 4096 cuExternalMemoryGetMappedBuffer",
            "1 mipmappedArray 0 cuExternalMemoryGetMappedMipmappedArray"
        ]
    );
}

#[test]
fn references() {
    let retained = |released: usize| {
        left(|c| {
            c.writes("cuMemCreate", &[0x10, 4096, 0, 0], 0xa00010);
            c.writes("cuMemRetainAllocationHandle", &[0x10, AT], 0xa00010);
            c.writes("cuMemImportFromShareableHandle", &[0x10, 7, 1], 0xa00010);
            for _ in 0..released {
                c.driver("cuMemRelease", &[0xa00010], &[], &[]);
            }
        })
    };
    for released in [0, 1, 2] {
        assert_eq!(retained(released), ["1 allocation 0 cuMemCreate"], "released {released} times");
    }
    assert!(retained(3).is_empty(), "{:?}", retained(3));
    let imported = left(|c| c.writes("cuMemImportFromShareableHandle", &[0x10, 7, 1], 0xa00010));
    assert_eq!(imported, ["1 allocation 0 cuMemImportFromShareableHandle"]);
    // Mapped memory keeps an allocation without references.
    let again = |released: bool| {
        left(|c| {
            c.writes("cuMemCreate", &[0x10, 4096, 0, 0], 0xa00010);
            c.driver("cuMemRelease", &[0xa00010], &[], &[]);
            c.writes("cuMemRetainAllocationHandle", &[0x10, AT], 0xa00010);
            if released {
                c.driver("cuMemRelease", &[0xa00010], &[], &[]);
            }
        })
    };
    assert_eq!(again(false), ["1 allocation 0 cuMemRetainAllocationHandle"]);
    assert!(again(true).is_empty(), "{:?}", again(true));
}

/// The address is the first field of the struct. The nested call of the driver has made the memory.
#[test]
fn plane_memory() {
    let pitched = bytes(&[word(AT), word(512), word(100), word(3)]);
    let planes = |inside: bool, freed: bool| {
        left(|c| {
            let told: &[(u64, &[u8])] = &[(0x10, &pitched)];
            let words = [0x10, 100, 3, 2];
            match inside {
                true => {
                    let made: &[(u64, &[u8])] = &[(0x50, &word(AT)), (0x60, &word(512))];
                    let driver = ("cuMemAllocPitch_v2", &[0x50, 0x60, 100, 6, 4][..]);
                    c.around(("cudaMalloc3D", &words), driver, [told, made]);
                }
                false => c.runtime("cudaMalloc3D", &words, &[], told),
            }
            if freed {
                c.runtime("cudaFree", &[AT], &[], &[]);
            }
        })
    };
    assert_eq!(planes(true, false), ["1 device memory 3072 cudaMalloc3D > cuMemAllocPitch_v2"]);
    assert_eq!(planes(false, false), ["1 device memory 3072 cudaMalloc3D"]);
    assert!(planes(true, true).is_empty() && planes(false, true).is_empty());
}

/// An allocation of 0 bytes succeeds with NULL.
#[test]
fn empty_allocation() {
    let left = left(|c| {
        c.writes("cuMemAllocAsync", &[0x10, 0, 0], 0);
        c.writes("cuMemAllocHost_v2", &[0x10, 0], 0);
        let null: &[(u64, &[u8])] = &[(0x10, &word(0))];
        for name in ["cudaMalloc", "cudaMallocHost"] {
            c.runtime(name, &[0x10, 0], &[], null);
        }
        for name in ["cudaHostAlloc", "cudaMallocManaged", "cudaMallocAsync"] {
            c.runtime(name, &[0x10, 0, 0], &[], null);
        }
        let pitched: &[(u64, &[u8])] = &[(0x10, &[0; 32])];
        c.runtime("cudaMalloc3D", &[0x10, 0, 3, 2], &[], pitched);
        // Where it was not recorded what was written, nothing is known of it.
        c.runtime("cudaMalloc", &[0x10, 4096], &[], &[]);
    });
    assert!(left.is_empty(), "{left:?}");
}

/// The end of a context does not end resources without a context.
#[test]
fn green_context_outlives() {
    let left = left(|c| {
        c.writes("cuCtxCreate_v2", &[0x10, 0, 0], 0xc00020);
        c.writes("cuGreenCtxCreate", &[0x10, 0, 0, 1], 0x6c0010);
        c.driver("cuCtxDestroy_v2", &[0xc00020], &[], &[]);
    });
    assert_eq!(left, ["1 greenContext 0 cuGreenCtxCreate"]);
}
