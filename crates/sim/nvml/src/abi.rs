//! Arguments of C functions as types: outputs, buffers for text, text. The callers of an NVML function follow its
//! prototype. Only this file and `default.rs` rely on that: they must reject NULL.

use crate::fault::{Answer, Fault};
use crate::lifecycle;
use std::ffi::{CStr, c_char};

/// Runs a function that needs nvmlInit.
pub fn answer(rule: impl FnOnce() -> Answer) -> u32 {
    answer_always(|| lifecycle::require_started().and_then(|()| rule()))
}

/// Runs a function that works before nvmlInit too.
pub fn answer_always(rule: impl FnOnce() -> Answer) -> u32 {
    match rule() {
        Ok(()) => 0,
        Err(Fault(code)) => code,
    }
}

/// A pointer to an output, or to an argument that is input and output.
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

    /// Writes element `index`. By the prototype the array has that many elements.
    pub fn put_at(self, index: usize, value: T) -> Answer {
        if self.0.is_null() {
            return Err(Fault::INVALID_ARGUMENT);
        }
        // SAFETY: not NULL, and by the prototype there is room for so many.
        unsafe { self.0.add(index).write_unaligned(value) };
        Ok(())
    }

    /// Reads element `index` of an argument that is input and output.
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

/// Writes text with a terminating zero into a buffer. INSUFFICIENT_SIZE unless all of it fits.
pub fn put_text(buffer: Out<u8>, size: u32, text: &[u8]) -> Answer {
    if buffer.is_null() {
        return Err(Fault::INVALID_ARGUMENT);
    }
    if text.len() >= size as usize {
        return Err(Fault::INSUFFICIENT_SIZE);
    }
    text.iter().chain(&[0]).enumerate().try_for_each(|(index, byte)| buffer.put_at(index, *byte))
}

/// Writes a list into an array of `count` elements, and its length into `count`. INSUFFICIENT_SIZE unless all of it
/// fits. For an empty list the array may be NULL.
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
