//! cuDNN.

use crate::support::library::{bytes, lines};

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
