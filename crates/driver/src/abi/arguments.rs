//! Arguments of C functions as types: pointers to outputs, to inputs and to text. The callers of a driver function
//! follow its prototype. Only this file relies on that: it must reject NULL and lengths that end in unmapped memory.

use super::fault::{Answer, Fault};
use super::program_memory::{TRUSTED, copied, reaches, there};
use std::ffi::{CStr, c_char};

/// A pointer to an output.
#[repr(transparent)]
pub struct Out<T>(*mut T);

impl<T> Clone for Out<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Out<T> {}

impl<T> Out<T> {
    /// For arguments whose type depends on another argument.
    pub fn at(address: u64) -> Self {
        Out(address as *mut T)
    }

    pub fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// INVALID_VALUE for NULL. Call it before the first effect.
    pub fn check(self) -> Answer<Self> {
        if self.0.is_null() { Err(Fault::INVALID_VALUE) } else { Ok(self) }
    }

    pub fn put(self, value: T) -> Answer {
        self.check()?;
        // SAFETY: not NULL, and by the prototype it points to room for one T.
        unsafe { self.0.write_unaligned(value) };
        Ok(())
    }

    /// For optional outputs.
    pub fn put_if_wanted(self, value: T) {
        let _ = self.put(value);
    }

    /// Writes element `index`. By the prototype the array has that many elements.
    pub fn put_at(self, index: usize, value: T) -> Answer {
        self.check()?;
        Self(self.0.wrapping_add(index)).put(value)
    }

    /// INVALID_VALUE for a long array that is not mapped at its end.
    pub fn check_room(self, count: usize) -> Answer {
        In(self.0.cast_const()).check_count(count)
    }

    /// For arguments that are input and output.
    pub fn get(self) -> Answer<T>
    where
        T: Copy,
    {
        In(self.0.cast_const()).get()
    }
}

/// A pointer to an input.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub struct In<T>(*const T);

/// Copies bytes of the program. INVALID_VALUE for NULL.
pub fn bytes_at(address: u64, len: u64) -> Answer<Vec<u8>> {
    if address == 0 && len > 0 {
        return Err(Fault::INVALID_VALUE);
    }
    if len > TRUSTED {
        return copied(address, len);
    }
    let mut bytes = vec![0; len as usize];
    // SAFETY: by the prototype `len` bytes are there, and the vector has as many.
    unsafe { std::ptr::copy_nonoverlapping(address as *const u8, bytes.as_mut_ptr(), len as usize) };
    Ok(bytes)
}

impl<T> In<T> {
    /// INVALID_VALUE for a long array that is not mapped at its end.
    pub fn check_count(self, count: usize) -> Answer {
        let bytes = count.checked_mul(size_of::<T>()).ok_or(Fault::INVALID_VALUE)?;
        reaches(self.0 as u64, bytes as u64)
    }
}

impl<T: Copy> In<T> {
    /// Like `check_count`, but also checks short lists. For lists that few programs pass, because the check is slow.
    pub fn check_list(self, count: usize) -> Answer {
        self.check_count(count)?;
        if count == 0 {
            return Ok(());
        }
        there(self.0 as u64)?;
        there((self.0.wrapping_add(count) as u64).wrapping_sub(1))
    }

    /// For pointers inside other arguments.
    pub fn at(address: u64) -> Self {
        In(address as *const T)
    }

    pub fn is_null(self) -> bool {
        self.0.is_null()
    }

    pub fn address(self) -> u64 {
        self.0 as u64
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

/// Writes text with a terminating zero into a buffer. Longer text is cut.
pub fn put_text(buffer: Out<u8>, size: u32, text: &[u8]) -> Answer {
    buffer.check()?;
    let Some(last) = (size as usize).checked_sub(1) else { return Err(Fault::INVALID_VALUE) };
    let text = &text[..text.len().min(last)];
    for (index, byte) in text.iter().chain(&[0]).enumerate() {
        buffer.put_at(index, *byte)?;
    }
    Ok(())
}
