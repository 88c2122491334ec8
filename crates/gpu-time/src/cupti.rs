//! The functions of libcupti that are used.

use core::cell::UnsafeCell;
use core::ffi::{CStr, c_void};
use core::mem::transmute;
use core::sync::atomic::{AtomicBool, Ordering};

/// Outputs: the buffer, its bytes, and the most records that it may have (0: any number).
pub type Request = extern "C" fn(*mut *mut u8, *mut usize, *mut usize);
/// Arguments: context, stream, buffer, its bytes, bytes of the records in it.
pub type Complete = extern "C" fn(*mut c_void, u32, *mut u8, usize, usize);

/// Results are CUptiResult: 0 is success.
pub struct Cupti {
    get_version: unsafe extern "C" fn(*mut u32) -> u32,
    get_timestamp: unsafe extern "C" fn(*mut u64) -> u32,
    register_callbacks: unsafe extern "C" fn(Request, Complete) -> u32,
    enable: unsafe extern "C" fn(u32) -> u32,
    disable: unsafe extern "C" fn(u32) -> u32,
    flush_all: unsafe extern "C" fn(u32) -> u32,
    next_record: unsafe extern "C" fn(*mut u8, usize, *mut *mut u8) -> u32,
    dropped_records: unsafe extern "C" fn(*mut c_void, u32, *mut usize) -> u32,
    /// Since 12.6.
    enable_driver_api: Option<unsafe extern "C" fn(u32, u8) -> u32>,
    set_attribute: Option<unsafe extern "C" fn(u32, *mut usize, *mut c_void) -> u32>,
    get_attribute: Option<unsafe extern "C" fn(u32, *mut usize, *mut c_void) -> u32>,
    set_thread_id_type: Option<unsafe extern "C" fn(u32) -> u32>,
    get_thread_id_type: Option<unsafe extern "C" fn(*mut u32) -> u32>,
    finalize: Option<unsafe extern "C" fn() -> u32>,
}

struct Published {
    cupti: UnsafeCell<Option<Cupti>>,
    is_ready: AtomicBool,
}

// SAFETY: the cell is written once, by `publish`, before `is_ready`. After that it is only read.
unsafe impl Sync for Published {}

static PUBLISHED: Published = Published { cupti: UnsafeCell::new(None), is_ready: AtomicBool::new(false) };

/// Makes the functions known to all threads.
///
/// # Safety
/// Called once in a process.
pub unsafe fn publish(functions: Cupti) {
    // SAFETY: nothing reads the cell before `is_ready`.
    unsafe { *PUBLISHED.cupti.get() = Some(functions) };
    PUBLISHED.is_ready.store(true, Ordering::Release);
}

/// The functions, once they were found.
pub fn published() -> Option<&'static Cupti> {
    if !PUBLISHED.is_ready.load(Ordering::Acquire) {
        return None;
    }
    // SAFETY: it was written before `is_ready`, and is never written again.
    unsafe { (*PUBLISHED.cupti.get()).as_ref() }
}

impl Cupti {
    /// None if a function is missing that is needed.
    ///
    /// # Safety
    /// `library` is a handle of a libcupti that is never closed.
    #[allow(clippy::missing_transmute_annotations, reason = "the fields have the types")]
    pub unsafe fn of(library: *mut c_void) -> Option<Cupti> {
        let find = |name: &CStr| {
            // SAFETY: a handle, as promised, and a C string.
            let address = unsafe { libc::dlsym(library, name.as_ptr()) };
            (!address.is_null()).then_some(address)
        };
        // SAFETY: the functions of these names have these types in all versions (api/gpu-time.toml).
        unsafe {
            Some(Cupti {
                get_version: transmute(find(c"cuptiGetVersion")?),
                get_timestamp: transmute(find(c"cuptiGetTimestamp")?),
                register_callbacks: transmute(find(c"cuptiActivityRegisterCallbacks")?),
                enable: transmute(find(c"cuptiActivityEnable")?),
                disable: transmute(find(c"cuptiActivityDisable")?),
                flush_all: transmute(find(c"cuptiActivityFlushAll")?),
                next_record: transmute(find(c"cuptiActivityGetNextRecord")?),
                dropped_records: transmute(find(c"cuptiActivityGetNumDroppedRecords")?),
                enable_driver_api: find(c"cuptiActivityEnableDriverApi").map(|address| transmute(address)),
                set_attribute: find(c"cuptiActivitySetAttribute").map(|address| transmute(address)),
                get_attribute: find(c"cuptiActivityGetAttribute").map(|address| transmute(address)),
                set_thread_id_type: find(c"cuptiSetThreadIdType").map(|address| transmute(address)),
                get_thread_id_type: find(c"cuptiGetThreadIdType").map(|address| transmute(address)),
                finalize: find(c"cuptiFinalize").map(|address| transmute(address)),
            })
        }
    }

    pub fn version(&self) -> Option<u32> {
        let mut version = 0;
        // SAFETY: there is room for the number.
        (unsafe { (self.get_version)(&mut version) } == 0).then_some(version)
    }

    /// CUPTI's clock.
    pub fn timestamp(&self) -> Option<u64> {
        let mut time = 0;
        // SAFETY: there is room for the time.
        (unsafe { (self.get_timestamp)(&mut time) } == 0).then_some(time)
    }

    pub fn register(&self, request: Request, complete: Complete) -> u32 {
        // SAFETY: functions of the types that CUPTI calls, in a library that is never unloaded.
        unsafe { (self.register_callbacks)(request, complete) }
    }

    pub fn enable(&self, kind: u32) -> u32 {
        // SAFETY: a number.
        unsafe { (self.enable)(kind) }
    }

    pub fn disable(&self, kind: u32) {
        // SAFETY: a number.
        unsafe { (self.disable)(kind) };
    }

    /// Records of calls of one driver function, or none. False if CUPTI refuses.
    pub fn choose_driver_call(&self, function: u32, with_records: bool) -> bool {
        // SAFETY: numbers.
        self.enable_driver_api.is_some_and(|enable| unsafe { enable(function, with_records.into()) } == 0)
    }

    /// Detaches CUPTI from the process. Its next use attaches it again.
    pub fn finalize(&self) {
        if let Some(finalize) = self.finalize {
            // SAFETY: nothing is enabled, and CUPTI has no buffer of this library.
            unsafe { finalize() };
        }
    }

    /// The value of an attribute that is a size.
    pub fn attribute(&self, attribute: u32) -> Option<usize> {
        let (mut value, mut bytes) = (0_usize, size_of::<usize>());
        // SAFETY: there is room for a value of so many bytes.
        (unsafe { (self.get_attribute?)(attribute, &mut bytes, (&raw mut value).cast()) } == 0).then_some(value)
    }

    /// Sets an attribute that is a size.
    pub fn set_attribute(&self, attribute: u32, mut value: usize) {
        let mut bytes = size_of::<usize>();
        if let Some(set) = self.set_attribute {
            // SAFETY: the value has so many bytes. CUPTI copies it.
            unsafe { set(attribute, &mut bytes, (&raw mut value).cast()) };
        }
    }

    /// Which ids of threads records have now.
    pub fn thread_ids(&self) -> Option<u32> {
        let mut of = 0;
        // SAFETY: there is room for the number.
        (unsafe { (self.get_thread_id_type?)(&mut of) } == 0).then_some(of)
    }

    /// Which ids of threads records have.
    pub fn use_thread_ids(&self, of: u32) {
        if let Some(set) = self.set_thread_id_type {
            // SAFETY: a number.
            unsafe { set(of) };
        }
    }

    pub fn flush(&self, flag: u32) {
        // SAFETY: a number.
        unsafe { (self.flush_all)(flag) };
    }

    /// The record behind another one, or the first one; None at the end.
    ///
    /// # Safety
    /// CUPTI delivered `buffer` with `valid` bytes of records, and `record` is NULL or one of them.
    pub unsafe fn next(&self, buffer: *mut u8, valid: usize, record: *mut u8) -> Option<*mut u8> {
        let mut next = record;
        // SAFETY: as promised.
        (unsafe { (self.next_record)(buffer, valid, &mut next) } == 0).then_some(next)
    }

    /// Records that CUPTI dropped since the last call.
    pub fn dropped(&self) -> u64 {
        let mut count = 0;
        // SAFETY: NULL stands for all contexts, and there is room for the number.
        let result = unsafe { (self.dropped_records)(core::ptr::null_mut(), 0, &mut count) };
        if result == 0 { count as u64 } else { 0 }
    }
}
