//! The results of NVML functions.

/// A result other than success (nvmlReturn_t).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fault(pub u32);

/// A value, or the result that the caller gets.
pub type Answer<T = ()> = Result<T, Fault>;

impl Fault {
    pub const UNINITIALIZED: Fault = Fault(1);
    pub const INVALID_ARGUMENT: Fault = Fault(2);
    pub const NOT_SUPPORTED: Fault = Fault(3);
    pub const NOT_FOUND: Fault = Fault(6);
    pub const INSUFFICIENT_SIZE: Fault = Fault(7);
    pub const TIMEOUT: Fault = Fault(10);
    pub const ARGUMENT_VERSION_MISMATCH: Fault = Fault(25);
}
