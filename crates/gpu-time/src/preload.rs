//! The functions of the preload that take rows and names, and say whether rows are wanted.

use core::ffi::{c_char, c_void};
use core::sync::atomic::{AtomicPtr, Ordering};
use cutap_wire::rows::{Row, RowContent, RowPlace, wanted};

/// Arguments: the kind of row, its words, their number.
type TakeRow = unsafe extern "C" fn(u32, *const u64, u32);
/// Arguments: a name and its bytes. It returns an id.
type TakeName = unsafe extern "C" fn(*const c_char, u32) -> u32;
/// Argument: whether the call that follows is refused where CUPTI's global family was used.
pub type StepAside = unsafe extern "C" fn(u32);
/// Argument: what to call before the program profiles, or NULL. It returns one of `rows::wanted`.
type Wanted = unsafe extern "C" fn(Option<StepAside>) -> u32;

static TAKE_ROW: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());
static TAKE_NAME: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());
static WANTED: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());

/// Looks the functions up. False if one is missing.
pub fn find() -> bool {
    [(&TAKE_ROW, c"cutap_gpu_row"), (&TAKE_NAME, c"cutap_gpu_name"), (&WANTED, c"cutap_gpu_wanted")].into_iter().all(
        |(place, name)| {
            // SAFETY: a look-up of a name in the global scope.
            let function = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
            place.store(function, Ordering::Release);
            !function.is_null()
        },
    )
}

/// Whether rows are wanted now. The preload keeps `step_aside`.
pub fn wanted_state(step_aside: Option<StepAside>) -> u32 {
    let function = WANTED.load(Ordering::Acquire);
    if function.is_null() {
        return wanted::YES;
    }
    // SAFETY: the preload exports this function with this type.
    unsafe { core::mem::transmute::<*mut c_void, Wanted>(function)(step_aside) }
}

/// Hands over a row.
pub fn give(row: &Row) {
    let function = TAKE_ROW.load(Ordering::Acquire);
    if function.is_null() {
        return;
    }
    let packed = row.pack();
    let words = packed.words();
    // SAFETY: the preload exports this function with this type. The words live during the call.
    unsafe {
        let take = core::mem::transmute::<*mut c_void, TakeRow>(function);
        take(packed.sub_kind.into(), words.as_ptr(), words.len() as u32);
    }
}

/// Hands over a row that is no work of the GPU.
pub fn give_own(start: u64, end: u64, content: RowContent) {
    give(&Row { place: RowPlace { start, end, ..RowPlace::default() }, content });
}

/// Hands over a name, and returns its id.
pub fn give_name(name: &[u8]) -> u32 {
    let function = TAKE_NAME.load(Ordering::Acquire);
    if function.is_null() {
        return 0;
    }
    // SAFETY: the preload exports this function with this type. The name lives during the call.
    unsafe {
        let take = core::mem::transmute::<*mut c_void, TakeName>(function);
        take(name.as_ptr().cast(), name.len() as u32)
    }
}
