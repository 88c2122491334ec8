//! cuFFT.

use crate::support::library::{bytes, lines};

#[test]
fn cufft() {
    let sizes = bytes(&[32i32, 64].map(i32::to_le_bytes));
    let lines = lines("libcufft.so.12", |l| {
        let words = [0x40, 2, 0x10, 0, 1, 0, 0x10, 1, 0, 42, 3];
        l.call("cufftPlanMany", &words, &[(0x10, &sizes)], &[(0x40, &[1, 0, 0, 0])]);
        l.call("cufftExecC2C", &[1, 0x7000, 0x7000, u64::MAX], &[], &[]);
        l.call("cufftXtMalloc", &[1, 0x40, 0], &[], &[(0x40, &0xd0u64.to_le_bytes())]);
        l.call("cufftXtFree", &[0xd0], &[], &[]);
    });
    assert_eq!(
        lines,
        [
            "cufftPlanMany(plan=&1, rank=2, n=[32, 64], inembed=NULL, istride=1, idist=0, onembed=[32, 64], ostride=1, \
             odist=0, type=CUFFT_R2C, batch=3) = CUFFT_SUCCESS",
            "cufftExecC2C(plan=1, idata=0x7000 [no memory], odata=0x7000 [no memory], direction=CUFFT_FORWARD) = CUFFT_SUCCESS",
            "cufftXtMalloc(plan=1, descriptor=&xtDesc#1, format=CUFFT_XT_FORMAT_INPUT) = CUFFT_SUCCESS",
            "cufftXtFree(descriptor=xtDesc#1) = CUFFT_SUCCESS",
        ]
    );
}
