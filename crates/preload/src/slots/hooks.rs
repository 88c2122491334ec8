//! What other floors ask of hook libraries, which stand above them. The start fills it in.

use crate::loader::objects::Object;
use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering::*};

/// What hooks see of a function: `hook_libraries::functions::Info`.
pub type Info = *mut ();

pub struct Hooks {
    /// Whether hooks want a function.
    pub want: fn(layer: u32, library: &[u8], name: &[u8]) -> bool,
    /// What they see of it, of slot `n`.
    pub info: fn(n: u32, real: usize, owner: &Object, layer: u32, name: &[u8]) -> Option<Info>,
    /// True, once, of a recorded call that succeeded and that a hook told the program to have failed.
    pub succeeded: fn(number: u32) -> bool,
    /// True for what stands at `at` when a hook has called it itself; `frame` is the innermost open call's.
    pub is_hooks_own: fn(frame: Option<usize>, at: usize) -> bool,
}

static HOOKS: AtomicPtr<Hooks> = AtomicPtr::new(core::ptr::null_mut());
/// Layers of which some hook wants something: bits of the contract's.
static LAYERS: AtomicU32 = AtomicU32::new(0);

/// At the start.
pub fn set(hooks: &'static Hooks) {
    HOOKS.store(core::ptr::from_ref(hooks).cast_mut(), Release);
}

fn hooks() -> Option<&'static Hooks> {
    // SAFETY: null or a static.
    unsafe { HOOKS.load(Acquire).as_ref() }
}

/// A library was loaded whose hooks want something of these layers.
pub fn add_layers(layers: u32) {
    LAYERS.fetch_or(layers, Relaxed);
}

/// True when some hook wants something of this layer.
#[inline(always)]
pub fn any(layer: u32) -> bool {
    LAYERS.load(Relaxed) & layer != 0
}

/// See [`Hooks`].
pub fn want(layer: u32, library: &[u8], name: &[u8]) -> bool {
    any(layer) && hooks().is_some_and(|h| (h.want)(layer, library, name))
}

/// See [`Hooks`].
pub fn info(n: u32, real: usize, owner: &Object, layer: u32, name: &[u8]) -> Option<Info> {
    hooks().and_then(|h| (h.info)(n, real, owner, layer, name))
}

/// See [`Hooks`].
#[cold]
pub fn succeeded(number: u32) -> bool {
    LAYERS.load(Relaxed) != 0 && hooks().is_some_and(|h| (h.succeeded)(number))
}

/// See [`Hooks`].
#[inline(always)]
pub fn is_hooks_own(frame: Option<usize>, at: usize) -> bool {
    LAYERS.load(Relaxed) != 0 && hooks().is_some_and(|h| (h.is_hooks_own)(frame, at))
}
