//! cuSOLVER.

use crate::support::library::{bytes, lines};

#[test]
fn cusolver() {
    let (rows, columns) = (bytes(&[0i32, 2, 4].map(i32::to_le_bytes)), bytes(&[0i32, 1, 0, 1].map(i32::to_le_bytes)));
    let found = bytes(&[1i32, 0].map(i32::to_le_bytes));
    let lines = lines("libcusolver.so.11", |l| {
        let gesvd = [0xa0, 65, 78, 8, 8, 0x7000, 8, 0x7000, 0x7000, 8, 0x7000, 8, 0x7000, 64, 0, 0x7000];
        l.call("cusolverDnSgesvd", &gesvd, &[], &[]);
        let before: &[(u64, &[u8])] = &[(0x10, &rows), (0x20, &columns)];
        l.call("cusolverSpXcsrsymrcmHost", &[0xb0, 2, 4, 0xc0, 0x10, 0x20, 0x30], before, &[(0x30, &found)]);
    });
    assert_eq!(
        lines,
        [
            "cusolverDnSgesvd(handle=cusolverDn#1, jobu=\"A\", jobvt=\"N\", m=8, n=8, A=0x7000 [no memory], lda=8, S=0x7000 [no memory], \
             U=0x7000 [no memory], ldu=8, VT=0x7000 [no memory], ldvt=8, work=0x7000 [no memory], lwork=64, rwork=NULL, info=0x7000 [no memory]) = \
             CUSOLVER_STATUS_SUCCESS",
            "cusolverSpXcsrsymrcmHost(handle=cusolverSp#1, n=2, nnzA=4, descrA=matDescr#1, csrRowPtrA=[0, 2, 4], \
             csrColIndA=[0, 1, 0, 1], p=[1, 0]) = CUSOLVER_STATUS_SUCCESS",
        ]
    );
}
