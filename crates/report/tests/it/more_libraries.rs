//! Calls of cuFFT, cuSPARSE, cuSOLVER, NCCL, nvJitLink and cuSPARSELt as the real tables read them; see
//! `libraries.rs`.

use crate::libraries::{bytes, lines};
use cutap_calls::Layer;

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

#[test]
fn nccl() {
    // A struct of an older header is shorter; what lies behind it is not shown.
    let mut config = vec![0xaa; 120];
    config[..8].copy_from_slice(&24u64.to_le_bytes());
    config[16..24].copy_from_slice(&bytes(&[1i32, i32::MIN].map(i32::to_le_bytes)));
    let lines = lines("libnccl.so.2", |l| {
        // The id of 128 bytes is on the stack.
        let mut words = vec![0x40, 2, 1, 0x10];
        words.extend([0x0706_0504_0302_0100; 16]);
        let before: &[(u64, &[u8])] = &[(0x10, &config)];
        l.call_with(4, "ncclCommInitRankConfig", &words, before, &[(0x40, &0xd0u64.to_le_bytes())]);
        l.call("ncclAllReduce", &[0x7000, 0x7000, 1024, 7, 0, 0xd0, 0], &[], &[]);
        l.call("pncclRedOpCreatePreMulSum", &[0x40, 0x18, 7, 1, 0xd0], &[(0x18, &[0; 8])], &[(0x40, &[5, 0, 0, 0])]);
        l.call("ncclCommDestroy", &[0xd0], &[], &[]);
    });
    let id = "0001020304050607".repeat(16);
    assert_eq!(
        lines,
        [
            format!(
                "ncclCommInitRankConfig(comm=&comm#1, nranks=2, commId={{internal={id}}}, rank=1, config=&{{size=24, \
                 magic=0xaaaaaaaa, version=2863311530, blocking=1, cgaClusterSize=NCCL_CONFIG_UNDEF_INT}}) = ncclSuccess"
            ),
            "ncclAllReduce(sendbuff=0x7000 [no memory], recvbuff=0x7000 [no memory], count=1024, datatype=ncclFloat32, op=ncclSum, comm=comm#1, \
             stream=0) = ncclSuccess"
                .to_owned(),
            "pncclRedOpCreatePreMulSum(op=&ncclNumOps, scalar=&0.0, datatype=ncclFloat32, \
             residence=ncclScalarHostImmediate, comm=comm#1) = ncclSuccess"
                .to_owned(),
            "ncclCommDestroy(comm=comm#1) = ncclSuccess".to_owned(),
        ]
    );
}

#[test]
fn nvjitlink() {
    let lines = lines("libnvJitLink.so.12", |l| {
        let pointers = bytes(&[0x100u64, 0x200].map(u64::to_le_bytes));
        let options: &[(u64, &[u8])] = &[(0x10, &pointers), (0x100, b"-arch=sm_90\0"), (0x200, b"-lto\0")];
        // The name that programs of 12.4 call.
        l.call("__nvJitLinkCreate_12_4", &[0x40, 2, 0x10], options, &[(0x40, &0xd0u64.to_le_bytes())]);
        l.call("__nvJitLinkAddData_12_9", &[0xd0, 2, 0x7_0000, 71, 0x30], &[(0x30, b"k.ptx\0")], &[]);
        l.call("__nvJitLinkDestroy_12_9", &[0x40], &[(0x40, &0xd0u64.to_le_bytes())], &[]);
    });
    assert_eq!(
        lines,
        [
            "__nvJitLinkCreate_12_4(handle=&linker#1, numOptions=2, options=[\"-arch=sm_90\", \"-lto\"]) = \
             NVJITLINK_SUCCESS",
            "__nvJitLinkAddData_12_9(handle=linker#1, inputType=NVJITLINK_INPUT_PTX, data=0x70000 [host], size=71, \
             name=\"k.ptx\") = NVJITLINK_SUCCESS",
            "__nvJitLinkDestroy_12_9(handle=&linker#1) = NVJITLINK_SUCCESS",
        ]
    );
}

#[test]
fn handles_that_lie_in_the_program() {
    let lines = lines("libcusparseLt.so.0", |l| {
        l.call("cusparseLtInit", &[0x5000], &[], &[]);
        l.call("cusparseLtMatmulPlanDestroy", &[0x6000], &[], &[]);
        l.call("cusparseLtDestroy", &[0x5000], &[], &[]);
    });
    assert_eq!(
        lines,
        [
            "cusparseLtInit(handle=cusparseLt#1) = CUSPARSE_STATUS_SUCCESS",
            "cusparseLtMatmulPlanDestroy(plan=ltPlan#1) = CUSPARSE_STATUS_SUCCESS",
            "cusparseLtDestroy(handle=cusparseLt#1) = CUSPARSE_STATUS_SUCCESS",
        ]
    );
}

/// The address of an allocation may be the first field of what the call writes.
#[test]
fn memory_in_a_struct() {
    let folder = tempfile::tempdir().unwrap();
    let run = cutap_trace::made::Run::new(folder.path());
    let mut process = run.process(100, "/bin/prog");
    process.library(3, Layer::RUNTIME.number(), "libcudart.so.13", 20, &[]);
    process.slot(20, 3, (1, 0, 3), "cudaMalloc3D");
    process.slot(21, 3, (1, 0, 0), "cudaFree");
    let mut thread = process.thread(100, 8);
    let written: Vec<u8> = [0x7f00_0000u64, 512, 100, 20].iter().flat_map(|w| w.to_le_bytes()).collect();
    thread.call_with(20, &[0x10, 100, 20, 3], &[], 0, &[(0x10, &written)]);
    thread.call_with(21, &[0x7f00_0000], &[], 0, &[]);
    thread.call_with(21, &[0x7f00_0000], &[], 0, &[]);
    let text = crate::libraries::shown(folder.path());
    let frees: Vec<_> = text.lines().filter_map(|l| l.split_once("cudaFree(devPtr=")).map(|(_, l)| l).collect();
    assert_eq!(frees[0], "0x7f000000 [device, 30 KiB]) = cudaSuccess <1us>", "{text}");
    assert_eq!(frees[1], "0x7f000000 [freed device, 30 KiB]) = cudaSuccess <1us>", "{text}");
}
