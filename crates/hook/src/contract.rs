//! The contract as `cutap_hook.h` has it, field by field: what crosses the border between cutap and a
//! hook library. A change of anything here is a new [`VERSION`], and a change of the header.

use core::ffi::{c_char, c_int, c_void};

/// Version of this contract.
pub const VERSION: u32 = 2;
/// Name of the variable by which a hook library says which version it was written for.
pub const VERSION_SYMBOL: &str = "cutap_hook_version";
/// Name of its entry point, an [`Init`].
pub const INIT_SYMBOL: &str = "cutap_hook_init";

/// cuBLAS, cuDNN, ...
pub const LIBRARY: u32 = 1;
/// The runtime API.
pub const RUNTIME: u32 = 2;
/// The driver API.
pub const DRIVER: u32 = 4;
/// The functions in the tables that cuGetExportTable returns: `21318c60[51]`.
pub const HIDDEN: u32 = 8;
/// All layers that have headers.
pub const ALL: u32 = 7;
/// All layers.
pub const EVERY: u32 = ALL | HIDDEN;
/// In front of a name: of the layer [`HIDDEN`], whatever else is asked for.
pub const HIDDEN_NAME: &str = "hidden:";

/// A call may be answered without calling.
pub const CAN_ANSWER: u32 = 1;
/// Arguments may be changed.
pub const CAN_ARGUMENTS: u32 = 2;
/// The result may be changed.
pub const CAN_RESULT: u32 = 4;

/// Done.
pub const OK: c_int = 0;
/// There is no such parameter.
pub const NO_PARAM: c_int = -1;
/// The function does not allow this: [`Function::why`].
pub const NOT_SUPPORTED: c_int = -2;
/// More than there is room for.
pub const TOO_MANY: c_int = -3;
/// Only while the library's entry point runs.
pub const NOT_IN_INIT: c_int = -4;
/// The call is at another point, or this is not the call's own thread.
pub const NOT_NOW: c_int = -5;
/// Of a request: unknown layers, no name, or a name or library that is empty or too long.
pub const BAD_REQUEST: c_int = -6;

/// Kinds of parameters.
pub mod kind {
    /// A struct by value and the like.
    pub const OTHER: u8 = 0;
    /// An unsigned integer.
    pub const UNSIGNED: u8 = 1;
    /// A signed integer.
    pub const SIGNED: u8 = 2;
    /// An address or a handle.
    pub const POINTER: u8 = 3;
    /// A float or double.
    pub const FLOAT: u8 = 4;
}

/// A parameter.
#[repr(C)]
pub struct Parameter {
    /// Its name.
    pub name: *const c_char,
    /// One of [`kind`].
    pub kind: u8,
    /// 0.
    pub reserved: u8,
    /// Its bytes.
    pub bytes: u16,
    /// Where it is found: cutap's.
    pub place: u32,
}

/// A function.
#[repr(C)]
pub struct Function {
    /// Bytes of this struct.
    pub size: u32,
    /// [`LIBRARY`], [`RUNTIME`], [`DRIVER`] or [`HIDDEN`].
    pub layer: u32,
    /// Exported name.
    pub name: *const c_char,
    /// SONAME or file name.
    pub library: *const c_char,
    /// Copy of the runtime, from 1; 0 for functions that were bound.
    pub instance: u32,
    /// 12090, or 0.
    pub runtime_version: u32,
    /// `CAN_*`.
    pub can: u32,
    /// How many parameters are known.
    pub parameters: u32,
    /// They.
    pub parameter: *const Parameter,
    /// Why something cannot be done, or null.
    pub why: *const c_char,
    /// The function past all hooks, or null.
    pub original: *mut c_void,
}

/// A call that is going on: the part that the hook sees.
#[repr(C)]
pub struct Call {
    /// What is called.
    pub function: *const Function,
    /// What the request said.
    pub user: *mut c_void,
    /// The hook's own, for this call.
    pub user_data: u64,
}

/// A function of a hook that is called with each call.
pub type OfACall = unsafe extern "C" fn(*mut Call);

/// Which calls a hook library asks for, and what it does with them.
#[repr(C)]
pub struct Request {
    /// Bytes of this struct.
    pub size: u32,
    /// Layers, 0 for all.
    pub layers: u32,
    /// Pattern for the library, or null.
    pub library: *const c_char,
    /// Pattern for the function's name.
    pub name: *const c_char,
    /// Called before.
    pub before: Option<OfACall>,
    /// Called after.
    pub after: Option<OfACall>,
    /// Called once, before the first call of a function.
    pub on_resolve: Option<unsafe extern "C" fn(*const Function, *mut c_void)>,
    /// Handed to all three.
    pub user: *mut c_void,
}

/// What cutap gives to a hook library.
#[repr(C)]
pub struct Host {
    /// [`VERSION`].
    pub version: u32,
    /// Bytes of this struct.
    pub size: u32,
    /// Adds a request.
    pub add: unsafe extern "C" fn(*const Request) -> c_int,
    /// A variable of the environment.
    pub environment: unsafe extern "C" fn(*const c_char) -> *const c_char,
    /// Number of a parameter.
    pub index: unsafe extern "C" fn(*const Function, *const c_char) -> c_int,
    /// Reads an argument.
    pub read: unsafe extern "C" fn(*const Call, c_int, *mut c_void, usize) -> c_int,
    /// Writes an argument.
    pub write: unsafe extern "C" fn(*mut Call, c_int, *const c_void, usize) -> c_int,
    /// Reads an argument word.
    pub raw_arg: unsafe extern "C" fn(*const Call, c_int, *mut u64) -> c_int,
    /// Answers without calling.
    pub answer: unsafe extern "C" fn(*mut Call, u64) -> c_int,
    /// The same for functions that return a floating-point number.
    pub answer_float: unsafe extern "C" fn(*mut Call, f64) -> c_int,
    /// The result.
    pub result: unsafe extern "C" fn(*const Call) -> u64,
    /// The result of such a function.
    pub result_float: unsafe extern "C" fn(*const Call) -> f64,
    /// Changes the result.
    pub set_result: unsafe extern "C" fn(*mut Call, u64) -> c_int,
    /// A function past all hooks.
    pub original: unsafe extern "C" fn(*const c_char, *const c_char) -> *mut c_void,
    /// A function of the call's own runtime.
    pub instance_function: unsafe extern "C" fn(*const Call, *const c_char) -> *mut c_void,
    /// Name of the kernel that is launched.
    pub kernel: unsafe extern "C" fn(*const Call) -> *const c_char,
    /// Where the call returns to; null if that is not known.
    pub caller: unsafe extern "C" fn(*const Call) -> *const c_void,
    /// 1 when a runtime makes the call that is starting.
    pub starting: unsafe extern "C" fn(*const Call) -> c_int,
    /// Writes what a pointer of the call leads to.
    pub output: unsafe extern "C" fn(*mut Call, c_int, *const c_void, usize) -> c_int,
    /// The hook has read an argument by this name, which is no parameter's, and is so long: it is reported at the end.
    pub unknown: unsafe extern "C" fn(*const Call, *const c_char, usize),
}

/// The entry point.
pub type Init = unsafe extern "C" fn(*const Host) -> c_int;
