//! Numbers whose type another call has told: a handle carries what its description said.

use crate::common::*;
use cutap_calls::Layer;
use cutap_trace::made::Run;

/// A scalar's type may be what was said when its descriptor was made.
#[test]
fn numbers_that_handles_carry() {
    let folder = tempfile::tempdir().unwrap();
    let run = Run::new(folder.path());
    let mut process = run.process(100, "/bin/prog");
    process.driver(&[]);
    process.library(3, Layer::LIBRARY.number(), "libcublas.so.12", 20, &[]);
    process.slot(20, 3, (2, 0, 0), "cublasFixtureDescribe");
    process.slot(21, 3, (5, 0, 0), "cublasFixtureProduct");
    process.slot(22, 3, (1, 0, 0), "cublasFixtureForget");
    let mut thread = process.thread(100, 8);
    let seven: &[(u64, &[u8])] = &[(0x5555_5556_0000, &[7, 0, 0, 0]), (0x20, &[8, 0, 0, 0])];
    let product = [0xd0, 0x5555_5556_0000, 0x20, 0x30000, 2];
    thread.call_with(21, &product, seven, 0, &[]);
    thread.call_with(20, &[0x40, 2], &[], 0, &[(0x40, &0xd0u64.to_le_bytes())]);
    thread.call_with(21, &product, seven, 0, &[]);
    thread.call_with(21, &[0xd0, 0x5555_5556_0000, 0x20, 0x30000, 9], seven, 0, &[]);
    thread.call_with(20, &[0x40, 3], &[], 5, &[]);
    thread.call_with(22, &[0xd0], &[], 0, &[]);
    thread.call_with(21, &product, seven, 0, &[]);
    // More was kept than this one has.
    let three: Vec<u8> = (1..=4u32).flat_map(u32::to_le_bytes).collect();
    thread.call_with(21, &[0xd0, 0, 0x20, 0x30000, 1], &[(0x20, &three)], 0, &[]);
    let text = decoded(folder.path(), "");
    let lines: Vec<_> = text.lines().filter_map(|l| l.split_once("Product(desc=")).map(|(_, l)| l).collect();
    let end = ") = CUDA_SUCCESS <1us>";
    assert_eq!(
        lines,
        [
            format!(
                "context#1 [not seen created], alpha=0x555555560000 [host], beta=&8, data=0x30000 [host], type=PRIORITY{end}"
            ),
            format!("context#1, alpha=&7, beta=&8, data=0x30000 [host], type=PRIORITY{end}"),
            format!("context#1, alpha=&7, beta=&8, data=0x30000 [host], type=9{end}"),
            format!(
                "context#1 [destroyed], alpha=0x555555560000 [host], beta=&8, data=0x30000 [host], type=PRIORITY{end}"
            ),
            format!(
                "context#1 [destroyed], alpha=NULL, beta=&{{x=1, y=2, z=3}}, data=0x30000 [host], type=CLUSTER{end}"
            ),
        ]
    );
}
