//! A layer that needs all that is in `slots`, and that nothing there needs: `submit`. The constructor adds it.

use super::frame::Frame;
use super::request::Ioctl;
use crate::loader::objects::Object;
use core::sync::atomic::AtomicPtr;
use core::sync::atomic::Ordering::{Acquire, Release};

/// An interceptor: before returns false to skip the call, having set the frame's result.
pub struct Interceptor {
    /// Runs before the call.
    pub before: fn(&mut Frame) -> bool,
    /// Runs after it.
    pub after: fn(&mut Frame),
}

/// A layer that needs all that is here, and that nothing here needs: `crate::submit`.
pub struct Extension {
    /// Whether the layer was asked for.
    pub is_on: fn() -> bool,
    /// Whether a function of the driver has the interceptor `SUBMIT`.
    pub submits: fn(&[u8]) -> bool,
    /// Whether the layer needs the calls of a function of libc.
    pub follows: fn(&[u8]) -> bool,
    /// A function of this library, the driver, has the interceptor. Only under the loader's lock.
    pub announce: fn(&Object),
    pub interceptor: Interceptor,
    /// Before a call of a function of libc.
    pub before_request: fn(&Frame),
    /// After it; the request, where it is an ioctl.
    pub after_request: fn(&Frame, Option<&Ioctl>),
    /// At start: no table is in use.
    pub close: fn(),
    /// In a forked child.
    pub forked: fn(),
}

static EXTENSION: AtomicPtr<Extension> = AtomicPtr::new(core::ptr::null_mut());

/// The constructor adds it before anything starts.
pub fn extend(with: &'static Extension) {
    EXTENSION.store(core::ptr::from_ref(with).cast_mut(), Release);
}
/// What it answers, if there is one.
pub fn extension<R>(ask: impl FnOnce(&'static Extension) -> R) -> Option<R> {
    // SAFETY: null or a static.
    unsafe { EXTENSION.load(Acquire).as_ref() }.map(ask)
}
/// Whether there is one, and its layer was asked for.
pub fn is_extended() -> bool {
    extension(|of| (of.is_on)()) == Some(true)
}
