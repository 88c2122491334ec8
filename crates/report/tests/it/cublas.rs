//! cuBLAS and cuBLASLt: scalars, types and descriptors.

use crate::support::library::{bytes, lines};
use crate::support::program::decoded;
use cutap_calls::Layer;
use cutap_trace::synthetic::Run;

#[test]
fn cublas() {
    let (half, complex) = (0.5f32.to_le_bytes(), bytes(&[3f32.to_le_bytes(), 4f32.to_le_bytes(), [0; 4], [0; 4]]));
    let lines = lines("libcublas.so.13", |l| {
        let gemm = [0xc0, 1, 0, 2, 3, 4, 0x10, 0x0, 2, 0x0, 3, 0x20, 0x0, 4];
        l.call("cublasSgemm_v2", &gemm, &[(0x10, &half), (0x20, &half)], &[]);
        let ex = |c: u64| [0xc0, 0, 0, 2, 3, 4, 0x10, 0, c, 2, 0, c, 3, 0x20, 0, c, 4, 68, u64::MAX];
        l.call("cublasGemmEx", &ex(0), &[(0x10, &complex), (0x20, &complex)], &[]);
        l.call("cublasGemmEx", &ex(4), &[(0x10, &complex), (0x20, &complex)], &[]);
    });
    let ex = "cublasGemmEx(handle=cublas#1, transa=CUBLAS_OP_N, transb=CUBLAS_OP_N, m=2, n=3, k=4, alpha=";
    let end = "ldc=4, computeType=CUBLAS_COMPUTE_32F, algo=CUBLAS_GEMM_DEFAULT) = CUBLAS_STATUS_SUCCESS";
    assert_eq!(
        lines,
        [
            "cublasSgemm_v2(handle=cublas#1, transa=CUBLAS_OP_T, transb=CUBLAS_OP_N, m=2, n=3, k=4, alpha=&0.5, A=NULL, \
             lda=2, B=NULL, ldb=3, beta=&0.5, C=NULL, ldc=4) = CUBLAS_STATUS_SUCCESS"
                .to_owned(),
            format!("{ex}&3.0, A=NULL, Atype=CUDA_R_32F, lda=2, B=NULL, Btype=CUDA_R_32F, ldb=3, beta=&3.0, C=NULL, Ctype=CUDA_R_32F, {end}"),
            format!("{ex}&{{x=3.0, y=4.0}}, A=NULL, Atype=CUDA_C_32F, lda=2, B=NULL, Btype=CUDA_C_32F, ldb=3, beta=&{{x=3.0, y=4.0}}, C=NULL, Ctype=CUDA_C_32F, {end}"),
        ]
    );
}

#[test]
fn cublas_lt() {
    let alpha = bytes(&[2.5f64.to_le_bytes(), [0; 8]]);
    let lines = lines("libcublasLt.so.13", |l| {
        l.call("cublasLtMatmulDescCreate", &[0x40, 70, 1], &[], &[(0x40, &0xd0u64.to_le_bytes())]);
        let transposed = bytes(&[1u32.to_le_bytes(), [0; 4]]);
        l.call("cublasLtMatmulDescSetAttribute", &[0xd0, 3, 0x50, 4], &[(0x50, &transposed)], &[]);
        let words = [0xa0, 0xd0, 0x10, 0, 0xe0, 0, 0xe8, 0x10, 0, 0xf0, 0, 0xf0, 0, 0, 0, 0];
        l.call("cublasLtMatmul", &words, &[(0x10, &alpha)], &[]);
    });
    assert_eq!(
        lines,
        [
            "cublasLtMatmulDescCreate(matmulDesc=&matmulDesc#1, computeType=CUBLAS_COMPUTE_64F, scaleType=CUDA_R_64F) = \
             CUBLAS_STATUS_SUCCESS",
            "cublasLtMatmulDescSetAttribute(matmulDesc=matmulDesc#1, attr=CUBLASLT_MATMUL_DESC_TRANSA, buf=&CUBLAS_OP_T, \
             sizeInBytes=4) = CUBLAS_STATUS_SUCCESS",
            "cublasLtMatmul(lightHandle=cublasLt#1, computeDesc=matmulDesc#1, alpha=&2.5, A=NULL, Adesc=matrixLayout#1, \
             B=NULL, Bdesc=matrixLayout#2, beta=&2.5, C=NULL, Cdesc=matrixLayout#3, D=NULL, Ddesc=matrixLayout#3, \
             algo=NULL, workspace=NULL, workspaceSizeInBytes=0, stream=0) = CUBLAS_STATUS_SUCCESS",
        ]
    );
}

/// The type of a scalar may be an attribute of the descriptor that the call gets.
#[test]
fn scalar_type_of_descriptor() {
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
