//! A call as an author sees it: arguments by name or number, the answer, the result.

use crate::{Handler, Refused, contract, host, to_result};
use core::ffi::{CStr, c_char, c_int, c_void};

pub(crate) unsafe extern "C" fn before(call: *mut contract::Call) {
    // SAFETY: cutap's call, whose user word is the handler that was given.
    unsafe {
        let handler = &*(*call).user.cast::<Handler>();
        handler.before.into_iter().for_each(|f| f(&mut Call(&mut *call)));
    }
}

pub(crate) unsafe extern "C" fn after(call: *mut contract::Call) {
    // SAFETY: as above.
    unsafe {
        let handler = &*(*call).user.cast::<Handler>();
        handler.after.into_iter().for_each(|f| f(&mut Call(&mut *call)));
    }
}

pub(crate) unsafe extern "C" fn on_resolve(function: *const contract::Function, user: *mut c_void) {
    // SAFETY: as above.
    unsafe { (*user.cast::<Handler>()).on_resolve.into_iter().for_each(|f| f(&Function(&*function))) }
}

/// A function.
#[derive(Clone, Copy)]
pub struct Function<'a>(&'a contract::Function);

impl<'a> Function<'a> {
    /// Its exported name.
    pub fn name(self) -> &'a CStr {
        text(self.0.name).unwrap_or_default()
    }
    /// SONAME of its library, or the file name of the program that a runtime is linked into.
    pub fn library(self) -> &'a CStr {
        text(self.0.library).unwrap_or_default()
    }
    /// `LIBRARY`, `RUNTIME` or `DRIVER`.
    pub fn layer(self) -> u32 {
        self.0.layer
    }
    /// Number of the copy of the runtime, from 1; 0 for a function that was bound.
    pub fn instance(self) -> u32 {
        self.0.instance
    }
    /// 12090; 0 if it is not known.
    pub fn runtime_version(self) -> u32 {
        self.0.runtime_version
    }
    /// `CAN_*`.
    pub fn can(self) -> u32 {
        self.0.can
    }
    /// Why something cannot be done.
    pub fn why(self) -> Option<&'a CStr> {
        text(self.0.why)
    }
    /// The function itself, past all hooks and unrecorded; null if it is not known.
    pub fn original(self) -> *mut c_void {
        self.0.original
    }
    /// Number of a parameter by its name.
    pub fn index(self, name: &str) -> Option<usize> {
        self.parameters().iter().position(|p| text(p.name).is_some_and(|n| n.to_bytes() == name.as_bytes()))
    }
    /// Its parameters, as far as they are known.
    pub fn parameters(self) -> &'a [contract::Parameter] {
        if self.0.parameter.is_null() {
            return &[];
        }
        // SAFETY: as many as it says.
        unsafe { core::slice::from_raw_parts(self.0.parameter, self.0.parameters as usize) }
    }
}

fn text<'a>(p: *const c_char) -> Option<&'a CStr> {
    // SAFETY: null, or a string of cutap's, which stays.
    (!p.is_null()).then(|| unsafe { CStr::from_ptr(p) })
}

/// A call that is going on.
pub struct Call<'a>(&'a mut contract::Call);

impl Call<'_> {
    /// What is called.
    pub fn function(&self) -> Function<'_> {
        // SAFETY: cutap's, which stays.
        Function(unsafe { &*self.0.function })
    }
    /// The hook's own number for this call: 0 before, kept until after.
    pub fn user_data(&mut self) -> &mut u64 {
        &mut self.0.user_data
    }
    /// Number of a parameter that is read. cutap reports a name that the function does not have, once, at the end;
    /// [`Function::index`] asks without that.
    fn read_index(&self, name: &str) -> Option<usize> {
        let index = self.function().index(name);
        // An older cutap has a shorter host.
        let covers = |h: &&contract::Host| h.size as usize >= size_of::<contract::Host>();
        if let Some(host) = host().filter(covers).filter(|_| index.is_none()) {
            // SAFETY: the host's function, with its own call and a text of this length.
            unsafe { (host.unknown)(self.0, name.as_ptr().cast(), name.len()) };
        }
        index
    }
    /// An integer, handle or address by the parameter's name; 0 if there is no such parameter.
    pub fn unsigned(&self, name: &str) -> u64 {
        self.read_index(name).map_or(0, |n| self.unsigned_at(n))
    }
    /// The same by number.
    pub fn unsigned_at(&self, n: usize) -> u64 {
        let mut value = [0; 8];
        // What is not there is 0.
        let _ = self.read_at(n, &mut value);
        u64::from_ne_bytes(value)
    }
    /// An integer with its sign.
    pub fn signed(&self, name: &str) -> i64 {
        self.read_index(name).map_or(0, |n| self.signed_at(n))
    }
    /// The same by number.
    pub fn signed_at(&self, n: usize) -> i64 {
        let bits = self.function().parameters().get(n).map_or(64, |p| u32::from(p.bytes) * 8);
        let unused = 64 - bits.clamp(1, 64);
        ((self.unsigned_at(n) << unused) as i64) >> unused
    }
    /// A pointer. What it leads to is the program's: reading or writing there is for the caller to prove.
    pub fn pointer<T>(&self, name: &str) -> *mut T {
        core::ptr::with_exposed_provenance_mut(self.unsigned(name) as usize)
    }
    /// The same by number.
    pub fn pointer_at<T>(&self, n: usize) -> *mut T {
        core::ptr::with_exposed_provenance_mut(self.unsigned_at(n) as usize)
    }
    /// A float or a double.
    pub fn float(&self, name: &str) -> f64 {
        self.read_index(name).map_or(0.0, |n| self.float_at(n))
    }
    /// The same by number.
    pub fn float_at(&self, n: usize) -> f64 {
        let bits = self.unsigned_at(n);
        match self.function().parameters().get(n).map(|p| p.bytes) {
            Some(4) => f64::from(f32::from_bits(bits as u32)),
            _ => f64::from_bits(bits),
        }
    }
    /// Argument word `n`, where nothing is known of the parameters.
    pub fn raw_arg(&self, n: usize) -> u64 {
        let mut value = 0;
        // SAFETY: the host's function, with its own call and a word of ours.
        host().map(|h| unsafe { (h.raw_arg)(self.0, n as c_int, &mut value) });
        value
    }
    /// Changes an integer, handle or address, before the call.
    pub fn set(&mut self, name: &str, value: u64) -> Result<(), Refused> {
        let n = self.function().index(name).ok_or(Refused::NoParam)?;
        self.set_at(n, value)
    }
    /// The same by number.
    pub fn set_at(&mut self, n: usize, value: u64) -> Result<(), Refused> {
        self.write_at(n, &value.to_ne_bytes())
    }
    /// Changes a float or a double, before the call.
    pub fn set_float(&mut self, name: &str, value: f64) -> Result<(), Refused> {
        let n = self.function().index(name).ok_or(Refused::NoParam)?;
        self.set_float_at(n, value)
    }
    /// The same by number.
    pub fn set_float_at(&mut self, n: usize, value: f64) -> Result<(), Refused> {
        match self.function().parameters().get(n).map(|p| p.bytes) {
            Some(4) => self.write_at(n, &(value as f32).to_ne_bytes()),
            _ => self.write_at(n, &value.to_ne_bytes()),
        }
    }
    /// The bytes of an argument, such as a struct by value; those behind its end stay unchanged.
    pub fn read(&self, name: &str, to: &mut [u8]) -> Result<(), Refused> {
        let n = self.function().index(name).ok_or(Refused::NoParam)?;
        self.read_at(n, to)
    }
    /// The same by number.
    pub fn read_at(&self, n: usize, to: &mut [u8]) -> Result<(), Refused> {
        let (at, bytes) = (to.as_mut_ptr().cast(), to.len());
        // SAFETY: the host's function, with its own call and as many bytes as there are.
        host().map_or(Err(Refused::NotSupported), |h| to_result(unsafe { (h.read)(self.0, n as c_int, at, bytes) }))
    }
    /// Changes them, before the call.
    pub fn write(&mut self, name: &str, from: &[u8]) -> Result<(), Refused> {
        let n = self.function().index(name).ok_or(Refused::NoParam)?;
        self.write_at(n, from)
    }
    /// The same by number.
    pub fn write_at(&mut self, n: usize, from: &[u8]) -> Result<(), Refused> {
        let (at, bytes) = (from.as_ptr().cast(), from.len());
        // SAFETY: as above.
        host().map_or(Err(Refused::NotSupported), |h| to_result(unsafe { (h.write)(self.0, n as c_int, at, bytes) }))
    }
    /// Writes an output of the call through the pointer that it was given, before (of a call that is answered) or after
    /// it; the trace tells that this hook wrote it. [`Refused::NotSupported`]: the pointer is null, or the argument is
    /// surely no output: an input, a handle, code, an address on a device (`CUdeviceptr`).
    ///
    /// # Safety
    /// The pointer leads to room for a `T` in memory of the host, or is null.
    pub unsafe fn output<T: Copy>(&mut self, name: &str, value: T) -> Result<(), Refused> {
        let n = self.function().index(name).ok_or(Refused::NoParam)?;
        // SAFETY: the caller's promise.
        unsafe { self.output_at(n, value) }
    }
    /// The same by number.
    ///
    /// # Safety
    /// As of [`Call::output`].
    pub unsafe fn output_at<T: Copy>(&mut self, n: usize, value: T) -> Result<(), Refused> {
        let covers = |h: &&contract::Host| h.size as usize >= core::mem::offset_of!(contract::Host, unknown);
        let host = host().filter(covers).ok_or(Refused::NotSupported)?;
        // SAFETY: the host's function, with its own call; the rest is the caller's promise.
        to_result(unsafe { (host.output)(self.0, n as c_int, (&raw const value).cast(), size_of::<T>()) })
    }
    /// Answers without calling: the program gets this result.
    pub fn return_value(&mut self, result: u64) -> Result<(), Refused> {
        // SAFETY: the host's function, with its own call.
        host().map_or(Err(Refused::NotSupported), |h| to_result(unsafe { (h.answer)(self.0, result) }))
    }
    /// The result, after the call.
    pub fn result(&self) -> u64 {
        // SAFETY: as above.
        host().map_or(0, |h| unsafe { (h.result)(self.0) })
    }
    /// Changes the result, after the call.
    pub fn set_result(&mut self, result: u64) -> Result<(), Refused> {
        // SAFETY: as above.
        host().map_or(Err(Refused::NotSupported), |h| to_result(unsafe { (h.set_result)(self.0, result) }))
    }
    /// Answers a function that returns a double (`cublasDdot`). Such a result, and a float, cannot be changed after the
    /// call.
    pub fn return_double(&mut self, result: f64) -> Result<(), Refused> {
        // SAFETY: as above.
        host().map_or(Err(Refused::NotSupported), |h| to_result(unsafe { (h.answer_float)(self.0, result) }))
    }
    /// The result of one, after the call.
    pub fn result_double(&self) -> f64 {
        // SAFETY: as above.
        host().map_or(0.0, |h| unsafe { (h.result_float)(self.0) })
    }
    /// Answers a function that returns a float (`cublasSdot`).
    pub fn return_float(&mut self, result: f32) -> Result<(), Refused> {
        // The lower half of the register is what the program reads.
        self.return_double(f64::from_bits(result.to_bits().into()))
    }
    /// The result of one, after the call.
    pub fn result_float(&self) -> f32 {
        f32::from_bits(self.result_double().to_bits() as u32)
    }
    /// A function of the copy of the runtime that this call belongs to, if its address is known. Of a shared runtime
    /// its own call is in no trace, of a linked-in one it is; the driver's calls that it makes are in both.
    pub fn instance_function(&self, name: &CStr) -> Option<*mut c_void> {
        // SAFETY: as above.
        let address = unsafe { (host()?.instance_function)(self.0, name.as_ptr()) };
        (!address.is_null()).then_some(address)
    }
    /// Mangled name of the kernel that a launch launches, if it is known: of what is no kernel it is not, nor of the
    /// first launch of a linked-in runtime of 12.9 that has made no call before.
    pub fn kernel(&self) -> Option<&CStr> {
        // SAFETY: as above.
        text(unsafe { (host()?.kernel)(self.0) })
    }

    /// Where the call returns to; null if that is not known.
    pub fn caller(&self) -> *const c_void {
        // SAFETY: as above.
        host().map_or(core::ptr::null(), |h| unsafe { (h.caller)(self.0) })
    }
    /// A driver function is called by a runtime that is starting: what it learns of versions and devices must be
    /// the driver's own, or all its later calls fail with error 103.
    pub fn starting(&self) -> bool {
        // SAFETY: as above.
        host().is_some_and(|h| unsafe { (h.starting)(self.0) } != 0)
    }
}
