//! NCCL.

use crate::support::library::{bytes, lines};

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
