//! cuSPARSE.

use crate::support::calls::params;
use crate::support::library::{bytes, lines};

#[test]
fn cusparse() {
    let (alpha, beta) = (1.5f64.to_le_bytes(), bytes(&[0.5f32.to_le_bytes(), [0; 4]]));
    let lines = lines("libcusparse.so.12", |l| {
        l.call("cusparseCreateDnVec", &[0x40, 10, 0x7000, 1], &[], &[(0x40, &0xd0u64.to_le_bytes())]);
        // The vector tells the scalars' type, or the type of the computation.
        l.call("cusparseAxpby", &[0xa0, 0x10, 0xe0, 0x10, 0xd0], &[(0x10, &alpha)], &[]);
        let words = [0xa0, 0, 0x10, 0xb0, 0xd0, 0x18, 0xd0, 0, 0, 0x48];
        let scalars: &[(u64, &[u8])] = &[(0x10, &beta), (0x18, &beta)];
        l.call("cusparseSpMV_bufferSize", &words, scalars, &[(0x48, &8u64.to_le_bytes())]);
        l.call("cusparseSpMatSetAttribute", &[0xb0, 0, 0x50, 4], &[(0x50, &[1, 0, 0, 0])], &[]);
    });
    assert_eq!(
        lines,
        [
            "cusparseCreateDnVec(dnVecDescr=&dnvec#1, size=10, values=0x7000 [no memory], valueType=CUDA_R_64F) = \
             CUSPARSE_STATUS_SUCCESS",
            "cusparseAxpby(handle=cusparse#1, alpha=&1.5, vecX=spvec#1, beta=&1.5, vecY=dnvec#1) = \
             CUSPARSE_STATUS_SUCCESS",
            "cusparseSpMV_bufferSize(handle=cusparse#1, opA=CUSPARSE_OPERATION_NON_TRANSPOSE, alpha=&0.5, matA=spmat#1, \
             vecX=dnvec#1, beta=&0.5, vecY=dnvec#1, computeType=CUDA_R_32F, alg=CUSPARSE_SPMV_ALG_DEFAULT, \
             bufferSize=&8) = CUSPARSE_STATUS_SUCCESS",
            "cusparseSpMatSetAttribute(spMatDescr=spmat#1, attribute=CUSPARSE_SPMAT_FILL_MODE, \
             data=&CUSPARSE_FILL_MODE_UPPER, dataSize=4) = CUSPARSE_STATUS_SUCCESS",
        ]
    );
}

/// Offsets of rows are one more than there are rows.
#[test]
fn row_offsets() {
    let rows = bytes(&[0u32, 2, 3, 5].map(u32::to_le_bytes));
    let lines = lines("libcusolver.so.11", |l| {
        let words = [0xc0, 3, 5, 0xd0, 0, 0x10, 0, 0, 0, 0, 0, 0];
        l.call("cusolverSpScsrlsvluHost", &words, &[(0x10, &rows)], &[]);
        l.call("cusolverSpScsrlsvqrHost", &words, &[(0x10, &rows)], &[]);
        l.call("cusolverSpScsrlsvcholHost", &words, &[(0x10, &rows)], &[]);
        l.call(
            "cusolverRfSetupHost",
            &[3, 5, 0x10, 0, 0, 0, 0x10, 0, 0, 0, 0x10, 0, 0, 0, 0, 0xf0],
            &[(0x10, &rows)],
            &[],
        );
    });
    let all: Vec<String> =
        ["csrRowPtrA", "csrRowPtr", "csrRowPtrL", "csrRowPtrU"].iter().flat_map(|n| params(&lines, n)).collect();
    assert_eq!(all, ["[0, 2, 3, 5]"; 6], "{lines:#?}");
}
