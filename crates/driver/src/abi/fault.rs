//! The results of driver functions, under the names of `api/driver/results.toml`.

/// A result other than success.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fault(pub u32);

/// A value, or the result that the caller gets.
pub type Answer<T = ()> = Result<T, Fault>;

impl Fault {
    pub const INVALID_VALUE: Fault = Fault(1);
    pub const OUT_OF_MEMORY: Fault = Fault(2);
    pub const NOT_INITIALIZED: Fault = Fault(3);
    pub const NO_DEVICE: Fault = Fault(100);
    pub const INVALID_DEVICE: Fault = Fault(101);
    pub const INVALID_IMAGE: Fault = Fault(200);
    pub const INVALID_CONTEXT: Fault = Fault(201);
    pub const NO_BINARY_FOR_GPU: Fault = Fault(209);
    pub const MAP_FAILED: Fault = Fault(205);
    pub const PEER_ACCESS_UNSUPPORTED: Fault = Fault(217);
    pub const INVALID_PTX: Fault = Fault(218);
    pub const UNSUPPORTED_PTX_VERSION: Fault = Fault(222);
    pub const ECC_UNCORRECTABLE: Fault = Fault(214);
    pub const JIT_COMPILER_NOT_FOUND: Fault = Fault(221);
    pub const FILE_NOT_FOUND: Fault = Fault(301);
    pub const INVALID_HANDLE: Fault = Fault(400);
    pub const ILLEGAL_STATE: Fault = Fault(401);
    pub const NOT_FOUND: Fault = Fault(500);
    pub const NOT_READY: Fault = Fault(600);
    pub const ILLEGAL_ADDRESS: Fault = Fault(700);
    pub const LAUNCH_OUT_OF_RESOURCES: Fault = Fault(701);
    pub const LAUNCH_TIMEOUT: Fault = Fault(702);
    pub const PEER_ACCESS_ALREADY_ENABLED: Fault = Fault(704);
    pub const PEER_ACCESS_NOT_ENABLED: Fault = Fault(705);
    pub const PRIMARY_CONTEXT_ACTIVE: Fault = Fault(708);
    pub const CONTEXT_IS_DESTROYED: Fault = Fault(709);
    pub const ASSERT: Fault = Fault(710);
    pub const HOST_MEMORY_ALREADY_REGISTERED: Fault = Fault(712);
    pub const HOST_MEMORY_NOT_REGISTERED: Fault = Fault(713);
    pub const HARDWARE_STACK_ERROR: Fault = Fault(714);
    pub const ILLEGAL_INSTRUCTION: Fault = Fault(715);
    pub const MISALIGNED_ADDRESS: Fault = Fault(716);
    pub const INVALID_ADDRESS_SPACE: Fault = Fault(717);
    pub const INVALID_PC: Fault = Fault(718);
    pub const LAUNCH_FAILED: Fault = Fault(719);
    pub const COOPERATIVE_LAUNCH_TOO_LARGE: Fault = Fault(720);
    pub const NOT_PERMITTED: Fault = Fault(800);
    pub const NOT_SUPPORTED: Fault = Fault(801);
    pub const STREAM_CAPTURE_UNSUPPORTED: Fault = Fault(900);
    pub const STREAM_CAPTURE_INVALIDATED: Fault = Fault(901);
    pub const STREAM_CAPTURE_MERGE: Fault = Fault(902);
    pub const STREAM_CAPTURE_UNMATCHED: Fault = Fault(903);
    pub const STREAM_CAPTURE_UNJOINED: Fault = Fault(904);
    pub const STREAM_CAPTURE_ISOLATION: Fault = Fault(905);
    pub const STREAM_CAPTURE_IMPLICIT: Fault = Fault(906);
    pub const CAPTURED_EVENT: Fault = Fault(907);
    pub const STREAM_CAPTURE_WRONG_THREAD: Fault = Fault(908);
    pub const GRAPH_EXEC_UPDATE_FAILURE: Fault = Fault(910);
    pub const INVALID_CLUSTER_SIZE: Fault = Fault(912);
    pub const INVALID_RESOURCE_TYPE: Fault = Fault(914);
    pub const INVALID_RESOURCE_CONFIGURATION: Fault = Fault(915);
    pub const UNKNOWN: Fault = Fault(999);
}
