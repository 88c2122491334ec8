//! The set of interceptors that a slot has: each is a bit. `interceptors::table` declares them. Here are the bits that
//! lower floors name, and how `create` has the set chosen.

use core::sync::atomic::{AtomicPtr, Ordering::*};
use cutap_calls::{Role, has_role};
use cutap_wire::names::route;

/// Recording.
pub const RECORD: u32 = 1 << 0;
/// The rings of the GPU's channels are looked at after the call and all other interceptors, before its end is recorded.
pub const SUBMIT: u32 = 1 << 1;
/// See `RECORD_SELF_INDUCED`.
pub const SELF_INDUCED: u32 = 1 << 4;
/// Bits of a function of which calls may be self-induced.
pub const RECORD_SELF_INDUCED: u32 = RECORD | SELF_INDUCED;
/// A module's image is kept: the second argument.
pub const IMAGE: u32 = 1 << 7;
/// The same: the first argument.
pub const IMAGE_FIRST: u32 = 1 << 8;
/// The caller's stack is kept.
pub const STACK: u32 = 1 << 11;
/// A function of the layer `syscall`.
pub const KERNEL: u32 = 1 << 12;
/// A function of CUPTI by which the program profiles.
pub const PROFILES: u32 = 1 << 16;
/// One of them that CUPTI refuses where its global family was used.
pub const PROFILES_ALONE: u32 = 1 << 17;
/// A function by which the driver asks for its injection.
pub const INJECTION_PATH: u32 = 1 << 18;
/// The Python frames are kept.
pub const PYTHON: u32 = 1 << 21;

/// Gives a node of autograd its number.
pub const NODE_MADE: u32 = 1 << 22;
/// Begins a backward pass.
pub const PASS_BEGINS: u32 = 1 << 23;
/// Runs a node of autograd.
pub const NODE_RUNS: u32 = 1 << 24;

/// Slots that take an image, and the interceptor that finds it among the arguments.
pub const IMAGES: [(usize, u32); 3] = [(1, IMAGE), (6, IMAGE), (8, IMAGE_FIRST)];

/// True when the slot's calls may be self-induced.
pub fn may_be_self_induced(interceptors: u32) -> bool {
    interceptors & SELF_INDUCED != 0
}

/// True for a function that a runtime fetches by cuGetProcAddress and calls only because a launch's
/// flag is on.
pub fn is_self_induced_name(name: &[u8], how: u8) -> bool {
    how == route::GET_PROC_ADDRESS && has_role(name, Role::KernelName)
}

/// A function that may get a slot.
pub struct Candidate<'a> {
    pub layer: u8,
    pub library: &'a [u8],
    pub name: &'a [u8],
    /// The route by which its address is handed out.
    pub route: u8,
    /// Its calls may be recorded.
    pub is_recorded: bool,
    /// They are selected, and not only recorded because annotations of addresses depend on them.
    pub is_selected: bool,
}

impl Candidate<'_> {
    /// A C++ function.
    pub fn is_cxx(&self) -> bool {
        self.name.starts_with(b"_Z")
    }
}

type Choose = fn(&Candidate) -> u32;
static CHOOSE: AtomicPtr<()> = AtomicPtr::new(core::ptr::null_mut());

/// At the start.
pub fn set_chooser(choose: Choose) {
    CHOOSE.store(choose as *mut (), Release);
}

/// The interceptors of a function.
pub fn chosen(of: &Candidate) -> u32 {
    let choose = CHOOSE.load(Acquire);
    if choose.is_null() {
        return 0;
    }
    // SAFETY: only `set_chooser` writes the word.
    unsafe { core::mem::transmute::<*mut (), Choose>(choose)(of) }
}
