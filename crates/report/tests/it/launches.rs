//! Filters on the parameters of a kernel: of the driver's launch, and of the runtime's launch around it.

use crate::common::*;
use crate::values::words;
use cutap_trace::made::Run;
use cutap_wire::names;

#[test]
fn filters_take_kernel_parameters() {
    let folder = tempfile::tempdir().unwrap();
    let run = Run::new(folder.path());
    let mut process = run.process(100, "/bin/prog");
    process.driver(&[]);
    process.runtime(2, "saxpy", 12090, 10, &[]);
    process.slot(0, 1, (6, 0, 5), "cuLaunchKernel");
    process.runtime_slot(10, 2, 8, "cudaLaunchKernel");
    process.kernel_parameters(0xf00, &[(0, 4), (4, 4)]);
    process.name(names::kind::KERNEL_HANDLE, 0xf00, 0, 0, "saxpy", "");
    process.name(names::kind::PTX_ENTRY, 0, 0, 0, ".entry saxpy(.param .u32 n, .param .f32 a)", "");
    let mut thread = process.thread(100, 8);
    for n in [64u64, 4096] {
        thread.enter(10, &[0x40_0000, 16 | 1 << 32, 1 | 256 << 32, 1 | 1 << 32, 0x7ffd, 0, 0, 0]);
        let packed = words(&[n | u64::from(2f32.to_bits()) << 32]);
        thread.call_with(0, &[0xf00, 16, 1, 1, 256, 1, 1, 0, 0, 0x7ffd, 0], &[(0x7ffd, &packed)], 0, &[]);
        thread.exit(0);
    }
    let shown = |filter: &str| -> Vec<String> {
        let text = decoded(folder.path(), filter);
        let parameters = text.lines().filter_map(|l| l.split_once("={n=").map(|(_, l)| l.split_once('}').unwrap().0));
        parameters.map(str::to_owned).collect()
    };
    assert_eq!(shown("driver"), ["64, a=2.0", "4096, a=2.0"]);
    assert_eq!(shown("cuLaunch*[kernelParams.n>100]"), ["4096, a=2.0"]);
    assert_eq!(shown("cuLaunch*[kernelParams.0=64, kernelParams.a=2]"), ["64, a=2.0"]);
    assert_eq!(shown("cuLaunch*[kernelParams.m=64]"), [""; 0]);
    assert_eq!(shown("cudaLaunchKernel[args.n=4096]"), ["4096, a=2.0"]);
    assert_eq!(shown("!cuLaunch*[kernelParams.n=64],driver"), ["4096, a=2.0"]);
}

/// Whoever writes may be behind whoever reads: what becomes known of a call while it is open is in the lines from there
/// on and in none before.
#[test]
fn lines_that_are_written_later_are_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let run = Run::new(folder.path());
    let mut process = run.process(100, "/bin/prog");
    process.driver(&[]);
    process.runtime(2, "saxpy", 12090, 10, &[]);
    process.slot(0, 1, (6, 0, 5), "cuLaunchKernel");
    process.slot(1, 1, (1, 0, 0), "cuCtxSynchronize");
    process.runtime_slot(10, 2, 8, "cudaLaunchKernel");
    process.kernel_parameters(0xf00, &[(0, 4), (4, 4)]);
    process.name(names::kind::KERNEL_HANDLE, 0xf00, 0, 0, "saxpy", "");
    let mut thread = process.thread(100, 8);
    thread.enter(10, &[0x40_0000, 16 | 1 << 32, 1 | 256 << 32, 1 | 1 << 32, 0x7ffd, 0, 0, 0]);
    thread.call(1, &[], 5, 0);
    let packed = words(&[64 | u64::from(2f32.to_bits()) << 32]);
    thread.call_with(0, &[0xf00, 16, 1, 1, 256, 1, 1, 0, 0, 0x7ffd, 0], &[(0x7ffd, &packed)], 0, &[]);
    thread.exit(0);
    let at_once = decoded(folder.path(), "");
    let opening = at_once.lines().find(|l| l.contains("cudaLaunchKernel(")).unwrap();
    assert!(opening.ends_with('{') && opening.contains("args=0x7ffd"), "{at_once}");
    assert_eq!(at_once, decoded_later(folder.path()));
}
