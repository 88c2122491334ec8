//! What C hands us, as types: outputs, buffers for text, text. An NVML function is called by C code that promised to follow
//! the prototype; that promise is used here and in `default.rs`, and nowhere else.

use crate::lifecycle;
use std::ffi::{CStr, c_char};

/// A result other than success, as nvmlReturn_t numbers them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fault(pub u32);

/// What a function says.
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

/// Runs a function that needs nvmlInit.
pub fn answer(rule: impl FnOnce() -> Answer) -> u32 {
    answer_always(|| lifecycle::require_started().and_then(|()| rule()))
}

/// Runs a function that works without it too.
pub fn answer_always(rule: impl FnOnce() -> Answer) -> u32 {
    match rule() {
        Ok(()) => 0,
        Err(Fault(code)) => code,
    }
}

/// A pointer to where the function leaves a result, or to what it changes.
#[repr(transparent)]
pub struct Out<T>(*mut T);

impl<T> Clone for Out<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Out<T> {}

impl<T> Out<T> {
    pub fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// INVALID_ARGUMENT for NULL.
    pub fn put(self, value: T) -> Answer {
        self.put_at(0, value)
    }

    /// Element `index` of an array that the caller said to be long enough.
    pub fn put_at(self, index: usize, value: T) -> Answer {
        if self.0.is_null() {
            return Err(Fault::INVALID_ARGUMENT);
        }
        // SAFETY: not NULL, and by the prototype there is room for so many.
        unsafe { self.0.add(index).write_unaligned(value) };
        Ok(())
    }

    /// Of what is input and output.
    pub fn get_at(self, index: usize) -> Answer<T>
    where
        T: Copy,
    {
        if self.0.is_null() {
            return Err(Fault::INVALID_ARGUMENT);
        }
        // SAFETY: as above.
        Ok(unsafe { self.0.add(index).read_unaligned() })
    }

    pub fn get(self) -> Answer<T>
    where
        T: Copy,
    {
        self.get_at(0)
    }
}

/// A buffer for text, with its size in the next argument: all of it has to fit, with its zero.
pub fn put_text(buffer: Out<u8>, size: u32, text: &[u8]) -> Answer {
    if buffer.is_null() {
        return Err(Fault::INVALID_ARGUMENT);
    }
    if text.len() >= size as usize {
        return Err(Fault::INSUFFICIENT_SIZE);
    }
    text.iter().chain(&[0]).enumerate().try_for_each(|(index, byte)| buffer.put_at(index, *byte))
}

/// An array for a list, with its room in `count`, which gets the list's length. All has to fit; that there is nothing needs no array.
pub fn put_list<T: Copy>(array: Out<T>, count: Out<u32>, list: &[T]) -> Answer {
    let room = count.get()?;
    count.put(list.len() as u32)?;
    if list.len() > room as usize {
        return Err(Fault::INSUFFICIENT_SIZE);
    }
    list.iter().enumerate().try_for_each(|(index, item)| array.put_at(index, *item))
}

/// A zero-terminated string.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub struct Text(*const c_char);

impl Text {
    pub fn get<'a>(self) -> Answer<&'a str> {
        if self.0.is_null() {
            return Err(Fault::INVALID_ARGUMENT);
        }
        // SAFETY: not NULL, and by the prototype a zero-terminated string that lives as long as the call.
        unsafe { CStr::from_ptr(self.0) }.to_str().map_err(|_| Fault::INVALID_ARGUMENT)
    }
}
