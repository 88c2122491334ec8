//! Calls of toolkit libraries as the real tables read them: facts of `api/libraries/*/overlay.toml` that real
//! programs need, and that a mistake there would silently change.

use cutap_calls::Layer;
use cutap_report::{Output, Text};
use cutap_trace::made::{Process, Run, Thread};
use cutap_trace::{EventReader, ReaderOptions};
use std::path::Path;

/// Calls of one library.
pub struct Library {
    thread: Thread,
    process: Process,
    slots: u32,
}

impl Library {
    fn new(run: &Run, soname: &str) -> Library {
        let mut process = run.process(100, "/bin/prog");
        process.driver(&[]);
        process.library(3, Layer::LIBRARY.number(), soname, 20, &[]);
        Library { thread: process.thread(100, 8), process, slots: 20 }
    }

    /// A call with these words in integer registers, the rest on the stack.
    pub fn call(&mut self, name: &str, words: &[u64], before: &[(u64, &[u8])], after: &[(u64, &[u8])]) {
        self.call_with(words.len().min(6), name, words, before, after);
    }

    /// The same with so many of them in integer registers.
    pub fn call_with(
        &mut self,
        registers: usize,
        name: &str,
        words: &[u64],
        before: &[(u64, &[u8])],
        after: &[(u64, &[u8])],
    ) {
        self.process.slot(self.slots.into(), 3, (registers as u8, 0, (words.len() - registers) as u8), name);
        self.thread.call_with(self.slots, words, before, 0, after);
        self.slots += 1;
    }
}

/// What is printed of the calls, without the library's name.
/// Handles appear here from nowhere, and that is said elsewhere.
pub fn lines(soname: &str, calls: impl FnOnce(&mut Library)) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let run = Run::new(folder.path());
    calls(&mut Library::new(&run, soname));
    let text = shown(folder.path());
    let own = text.lines().filter_map(|l| l.strip_prefix(&format!("[{soname}] ")));
    own.map(|l| l.strip_suffix(" <1us>").unwrap_or(l).replace(" [not seen created]", "")).collect()
}

pub fn shown(run: &Path) -> String {
    let mut output = Text::new(Vec::new(), false);
    let mut follow = EventReader::open(run, ReaderOptions::default()).unwrap();
    follow.poll(true, &mut |e| output.event(e).unwrap()).unwrap();
    output.end(&follow.end()).unwrap();
    String::from_utf8(output.get_ref().clone()).unwrap()
}

pub fn bytes<const N: usize>(all: &[[u8; N]]) -> Vec<u8> {
    all.iter().flatten().copied().collect()
}

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

#[test]
fn cudnn() {
    let dims = bytes(&[1u64, 4, 8].map(u64::to_le_bytes));
    let lines = lines("libcudnn_graph.so.9", |l| {
        l.call("cudnnBackendSetAttribute", &[0xb0, 902, 3, 3, 0x10], &[(0x10, &dims)], &[]);
        // Fewer than there was room for.
        let found = bytes(&[0xb8u64, 0xc0, 0, 0].map(u64::to_le_bytes));
        let after: &[(u64, &[u8])] = &[(0x20, &2u64.to_le_bytes()), (0x30, &found)];
        l.call("cudnnBackendGetAttribute", &[0xb0, 202, 15, 4, 0x20, 0x30], &[], after);
        l.call("cudnnSetTensor4dDescriptor", &[0xd0, 0, 1, 1, 2, 3, 4], &[], &[]);
        let words = [0xa0, 0xa8, 0x40, 0xd0, 0, 0x48, 0xd0, 0];
        let scalars: &[(u64, &[u8])] = &[(0x40, &1f64.to_le_bytes()), (0x48, &0f64.to_le_bytes())];
        l.call("cudnnActivationForward", &words, scalars, &[]);
    });
    assert_eq!(
        lines,
        [
            "cudnnBackendSetAttribute(descriptor=descriptor#1, attributeName=CUDNN_ATTR_TENSOR_DIMENSIONS, \
             attributeType=CUDNN_TYPE_INT64, elementCount=3, arrayOfElements=[1, 4, 8]) = CUDNN_STATUS_SUCCESS",
            "cudnnBackendGetAttribute(descriptor=descriptor#1, attributeName=CUDNN_ATTR_ENGINEHEUR_RESULTS, \
             attributeType=CUDNN_TYPE_BACKEND_DESCRIPTOR, requestedElementCount=4, elementCount=&2, \
             arrayOfElements=[descriptor#2, descriptor#3]) = CUDNN_STATUS_SUCCESS",
            "cudnnSetTensor4dDescriptor(tensorDesc=tensorDescriptor#1, format=CUDNN_TENSOR_NCHW, \
             dataType=CUDNN_DATA_DOUBLE, n=1, c=2, h=3, w=4) = CUDNN_STATUS_SUCCESS",
            "cudnnActivationForward(handle=cudnn#1, activationDesc=activationDescriptor#1, alpha=&1.0, \
             xDesc=tensorDescriptor#1, x=NULL, beta=&0.0, yDesc=tensorDescriptor#1, y=NULL) = CUDNN_STATUS_SUCCESS",
        ]
    );
}

#[test]
fn nvrtc_and_nvml() {
    let nvrtc = lines("libnvrtc.so.12", |l| {
        let before: &[(u64, &[u8])] = &[(0x10, &0x100u64.to_le_bytes()), (0x100, b"-DX=1\0")];
        l.call("nvrtcCompileProgram", &[0xa0, 1, 0x10], before, &[]);
        l.call("nvrtcGetCUBIN", &[0xa0, 0x70000], &[], &[]);
        l.call("nvrtcDestroyProgram", &[0x20], &[(0x20, &0xa0u64.to_le_bytes())], &[]);
    });
    assert_eq!(
        nvrtc,
        [
            "nvrtcCompileProgram(prog=program#1, numOptions=1, options=[\"-DX=1\"]) = NVRTC_SUCCESS",
            "nvrtcGetCUBIN(prog=program#1, cubin=0x70000 [host]) = NVRTC_SUCCESS",
            "nvrtcDestroyProgram(prog=&program#1) = NVRTC_SUCCESS",
        ]
    );
    let mut value = vec![0u8; 40];
    value[0] = 91;
    let before = value.clone();
    value[24] = 1;
    value[32] = 18;
    let nvml = lines("libnvidia-ml.so.1", |l| {
        l.call("nvmlDeviceGetFieldValues", &[0xa0, 1, 0x10], &[(0x10, &before)], &[(0x10, &value)]);
    });
    assert_eq!(nvml.len(), 1);
    let field = "{fieldId=NVML_FI_DEV_NVLINK_LINK_COUNT, scopeId=0, timestamp=0, latencyUsec=0, \
        valueType=NVML_VALUE_TYPE_UNSIGNED_INT, nvmlReturn=NVML_SUCCESS, value={uiVal=18}}";
    assert!(nvml[0].contains(field), "{}", nvml[0]);
}
