//! The call that a rule is about: its arguments, its answer, what it wrote.

use core::ffi::CStr;
use core::sync::atomic::{AtomicPtr, Ordering};
use cutap_hook::contract::{Call, Host, OK};

static HOST: AtomicPtr<Host> = AtomicPtr::new(core::ptr::null_mut());

/// Keeps what cutap gives.
pub fn set_host(host: &Host) {
    HOST.store(core::ptr::from_ref(host).cast_mut(), Ordering::Release);
}

/// What cutap gave.
pub fn host() -> Option<&'static Host> {
    // SAFETY: null, or cutap's host, which stays.
    unsafe { HOST.load(Ordering::Acquire).as_ref() }
}

/// A call before or after it is made.
pub struct Hooked {
    call: *mut Call,
    host: &'static Host,
}

impl Hooked {
    /// # Safety
    /// A call that cutap hands to a hook, as long as the hook runs.
    pub unsafe fn new(call: *mut Call) -> Option<Hooked> {
        Some(Hooked { call, host: host()? })
    }

    /// An argument.
    pub fn argument(&self, index: usize) -> u64 {
        let mut word = 0_u64;
        // SAFETY: the host's function with its own call, and room for eight bytes.
        let status = unsafe { (self.host.read)(self.call, index as i32, (&raw mut word).cast(), size_of::<u64>()) };
        if status == OK { word } else { 0 }
    }

    /// The number of a parameter.
    pub fn index(&self, name: &CStr) -> Option<usize> {
        // SAFETY: the host's function with its own call and a string that ends at a zero.
        let index = unsafe { (self.host.index)((*self.call).function, name.as_ptr()) };
        usize::try_from(index).ok()
    }

    /// The result.
    pub fn result(&self) -> u32 {
        // SAFETY: the host's function with its own call.
        unsafe { (self.host.result)(self.call) as u32 }
    }

    /// What was kept for after the call.
    pub fn mark(&self) -> u64 {
        // SAFETY: the hook's own word.
        unsafe { (*self.call).user_data }
    }

    /// Keeps a word for after the call.
    pub fn set_mark(&self, mark: u64) {
        // SAFETY: as above.
        unsafe { (*self.call).user_data = mark }
    }

    /// Answers without calling.
    pub fn answer(&self, result: u32) -> bool {
        // SAFETY: the host's function with its own call.
        unsafe { (self.host.answer)(self.call, u64::from(result)) == OK }
    }

    /// Changes the result.
    pub fn set_result(&self, result: u32) {
        // SAFETY: as above.
        unsafe { (self.host.set_result)(self.call, u64::from(result)) };
    }

    /// Writes a word to where an argument leads, so many bytes behind it.
    pub fn output<T>(&self, index: usize, offset: usize, value: T) {
        if offset == 0 {
            // SAFETY: the host's function with its own call. A NULL is refused there.
            unsafe { (self.host.output)(self.call, index as i32, (&raw const value).cast(), size_of::<T>()) };
        } else {
            self.write(index, offset, value);
        }
    }

    /// Writes to where an argument leads, so many bytes behind it.
    pub fn write<T>(&self, index: usize, offset: usize, value: T) {
        if let Some(at) = self.place::<T>(index, offset) {
            // SAFETY: the program has room there for as many structures as it said.
            unsafe { at.write_unaligned(value) };
        }
    }

    /// What an argument leads to, so many bytes behind it; none for NULL.
    pub fn read<T: Copy>(&self, index: usize, offset: usize) -> Option<T> {
        // SAFETY: the function reads or wrote a structure there that has this field.
        self.place::<T>(index, offset).map(|at| unsafe { at.read_unaligned() })
    }

    fn place<T>(&self, index: usize, offset: usize) -> Option<*mut T> {
        let address = self.argument(index) as usize;
        (address != 0).then(|| core::ptr::with_exposed_provenance_mut(address + offset))
    }
}
