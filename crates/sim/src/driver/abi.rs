//! What C hands us, as types: pointers to outputs, to inputs, to text. A driver function is called by C code that
//! promised to follow the prototype; that promise is used here, in a few lines, and nowhere else.

use super::fault::{Answer, Fault};
use super::lifecycle;
use std::ffi::{CStr, c_char};

/// Runs a driver function: nothing works before cuInit, or in a child that was forked after it.
pub fn answer(rule: impl FnOnce() -> Answer) -> u32 {
    answer_always(|| lifecycle::require_started().and_then(|()| rule()))
}

/// Runs a driver function that works before cuInit too.
pub fn answer_always(rule: impl FnOnce() -> Answer) -> u32 {
    match rule() {
        Ok(()) => 0,
        Err(Fault(code)) => code,
    }
}

/// A pointer to where the function leaves a result.
#[repr(transparent)]
pub struct Out<T>(*mut T);

impl<T> Clone for Out<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Out<T> {}

impl<T> Out<T> {
    /// For arguments whose type another argument says.
    pub fn at(address: u64) -> Self {
        Out(address as *mut T)
    }

    pub fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// INVALID_VALUE for NULL; to be asked before anything is done.
    pub fn check(self) -> Answer<Self> {
        if self.0.is_null() { Err(Fault::INVALID_VALUE) } else { Ok(self) }
    }

    pub fn put(self, value: T) -> Answer {
        self.check()?;
        // SAFETY: not NULL, and by the prototype it points to room for one T.
        unsafe { self.0.write_unaligned(value) };
        Ok(())
    }

    /// For outputs that may be left out.
    pub fn put_if_wanted(self, value: T) {
        let _ = self.put(value);
    }

    /// Element `index` of an array that the caller said to be long enough.
    pub fn put_at(self, index: usize, value: T) -> Answer {
        self.check()?;
        Self(self.0.wrapping_add(index)).put(value)
    }

    /// For arguments that are input and output.
    pub fn get(self) -> Answer<T>
    where
        T: Copy,
    {
        In(self.0.cast_const()).get()
    }
}

/// A pointer to something that the function reads.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub struct In<T>(*const T);

/// So many bytes of the program; INVALID_VALUE for NULL.
pub fn bytes_at(address: u64, len: u64) -> Answer<Vec<u8>> {
    if address == 0 && len > 0 {
        return Err(Fault::INVALID_VALUE);
    }
    let mut bytes = vec![0; len as usize];
    // SAFETY: by the prototype so many bytes are there; the vector has as many.
    unsafe { std::ptr::copy_nonoverlapping(address as *const u8, bytes.as_mut_ptr(), len as usize) };
    Ok(bytes)
}

impl<T: Copy> In<T> {
    /// For what is found inside of other arguments.
    pub fn at(address: u64) -> Self {
        In(address as *const T)
    }

    pub fn is_null(self) -> bool {
        self.0.is_null()
    }

    pub fn get(self) -> Answer<T> {
        if self.0.is_null() {
            return Err(Fault::INVALID_VALUE);
        }
        // SAFETY: not NULL, and by the prototype it points to a T.
        Ok(unsafe { self.0.read_unaligned() })
    }

    pub fn get_at(self, index: usize) -> Answer<T> {
        if self.0.is_null() {
            return Err(Fault::INVALID_VALUE);
        }
        In(self.0.wrapping_add(index)).get()
    }
}

/// A zero-terminated string.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub struct Text(*const c_char);

impl Text {
    pub fn get<'a>(self) -> Answer<&'a CStr> {
        if self.0.is_null() {
            return Err(Fault::INVALID_VALUE);
        }
        // SAFETY: not NULL, and by the prototype a zero-terminated string that lives as long as the call.
        Ok(unsafe { CStr::from_ptr(self.0) })
    }

    pub fn str<'a>(self) -> Answer<&'a str> {
        self.get()?.to_str().map_err(|_| Fault::INVALID_VALUE)
    }
}

/// A buffer for text: pointer and size as two arguments.
pub fn put_text(buffer: Out<u8>, size: u32, text: &[u8]) -> Answer {
    buffer.check()?;
    let Some(last) = (size as usize).checked_sub(1) else { return Err(Fault::INVALID_VALUE) };
    let text = &text[..text.len().min(last)];
    for (index, byte) in text.iter().chain(&[0]).enumerate() {
        buffer.put_at(index, *byte)?;
    }
    Ok(())
}
