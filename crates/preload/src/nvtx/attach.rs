//! The first call of a copy of NVTX: its pointers get our functions. Another tool, which was named before cutap, is
//! asked first. So its functions are known, and it sees all.

use super::{functions, looked_up_tool, other_path, tool};
use crate::loader::real;
use crate::process::{fork, names, page, run, switch};
use core::ffi::{CStr, c_char, c_int, c_void};
use core::mem::transmute;
use core::sync::atomic::{AtomicBool, Ordering::*};
use cutap_calls::generated::nvtx::CALLBACKS_TABLE;
use cutap_wire::diagnostic;

/// A copy's function that gives a table.
pub type GetTable = unsafe extern "C" fn(u32) -> *const c_void;
/// A tool's function that fills the pointers of a copy. 0: it will not.
type Attach = unsafe extern "C" fn(GetTable) -> c_int;

/// NvtxExportTableCallbacks.
#[repr(C)]
struct Callbacks {
    bytes: usize,
    /// Arguments: a module; the array of the addresses of function pointers; its length. 0: there is none.
    module: unsafe extern "C" fn(u32, *mut *mut *mut usize, *mut u32) -> c_int,
}

/// What a copy of an extension looks for. A tool need not have it.
pub const EXTENSION: &CStr = c"InitializeInjectionNvtxExtension";
/// What any other copy looks for, but those in libnvToolsExt.
pub const INITIALIZER: &CStr = c"InitializeInjectionNvtx2";

/// The pointer of a function in a copy.
fn pointer(callbacks: &Callbacks, module: u32, number: u32) -> Option<*mut usize> {
    let (mut array, mut length) = (core::ptr::null_mut::<*mut usize>(), 0);
    // SAFETY: the copy's function, and places for what it gives.
    let has_module = unsafe { (callbacks.module)(module, &mut array, &mut length) };
    if has_module == 0 || array.is_null() || number >= length {
        return None;
    }
    // SAFETY: the array has so many entries.
    let pointer = unsafe { *array.add(number as usize) };
    (!pointer.is_null()).then_some(pointer)
}

/// The function of the tool that was named before cutap.
fn other_tool(initializer: &CStr) -> Option<usize> {
    const LAZY: c_int = 1;
    if let Some(function) = looked_up_tool::initializer(initializer) {
        return Some(function);
    }
    let path = other_path::find()?;
    // Behind a library that was opened late there is none, and the loader's is asked.
    let next = real::next_dlsym();
    let dlsym = if next == 0 { real::loaders_own().0 } else { next };
    if dlsym == 0 {
        return None;
    }
    // SAFETY: functions of libc of these names. The path ends with a zero, as `other_path` says. The
    // copy of NVTX that waits for the answer is about to do the same.
    unsafe {
        let dlsym = transmute::<usize, extern "C" fn(usize, *const c_char) -> usize>(dlsym);
        let dlopen = dlsym(0, c"dlopen".as_ptr());
        if dlopen == 0 {
            return None;
        }
        let library = transmute::<usize, extern "C" fn(*const u8, c_int) -> usize>(dlopen)(path.as_ptr(), LAZY);
        let function = if library == 0 { 0 } else { dlsym(library, initializer.as_ptr()) };
        if function == 0 && initializer != EXTENSION {
            say_absent(path);
        }
        Some(function).filter(|function| *function != 0)
    }
}

/// The other tool's file cannot be used. It is said once in a process.
fn say_absent(path: &[u8]) {
    static IS_SAID: AtomicBool = AtomicBool::new(false);
    let end = path.iter().position(|byte| *byte == 0).unwrap_or(path.len());
    if run::is_running() && !switch::has_left() && !IS_SAID.swap(true, Relaxed) {
        names::gap_named(diagnostic::RANGE_TOOL_ABSENT, path.get(..end).unwrap_or(path));
    }
}

/// Asks the other tool alone: nothing is recorded in this process, or cutap has no functions for this. `argument` is
/// what the copy of NVTX gives. 0: there is no tool, or it will not.
///
/// # Safety
/// A copy of NVTX looks for the function `initializer` now.
pub unsafe fn pass_on(argument: *const c_void, initializer: &CStr) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { answer_of_tool(argument, initializer) }.unwrap_or(0)
}

/// The same for an extension. A tool that does not know extensions leaves all slots empty, which is no refusal.
///
/// # Safety
/// A copy of NVTX looks for the function `EXTENSION` now.
pub unsafe fn pass_on_extension(argument: *const c_void) -> c_int {
    // SAFETY: the caller's promise.
    let answer = unsafe { answer_of_tool(argument, EXTENSION) };
    answer.unwrap_or_else(|| c_int::from(other_tool(INITIALIZER).is_some()))
}

/// What the other tool answers; none: it has no such function.
///
/// # Safety
/// As `pass_on`.
pub unsafe fn answer_of_tool(argument: *const c_void, initializer: &CStr) -> Option<c_int> {
    type Initialize = unsafe extern "C" fn(*const c_void) -> c_int;
    // SAFETY: a tool's function of this name takes one pointer.
    let pass = |function| looked_up_tool::calling(|| unsafe { transmute::<usize, Initialize>(function)(argument) });
    other_tool(initializer).map(pass)
}

/// Fills the pointers of a copy. 1: they are in use.
///
/// # Safety
/// `get` is the function of a copy of NVTX that looks for an injection now, and `initializer` the name of the function
/// that it looks for.
pub unsafe fn attach(get: GetTable, initializer: &CStr) -> c_int {
    fork::check();
    // SAFETY: the caller's promise; the table lives as long as the copy.
    let callbacks = unsafe { get(CALLBACKS_TABLE).cast::<Callbacks>().as_ref() };
    let Some(callbacks) = callbacks.filter(|table| table.bytes >= size_of::<Callbacks>()) else { return 0 };
    let all = functions::all();
    // SAFETY: pointers of the copy.
    let read = |(module, number, _)| pointer(callbacks, module, number).map(|at| unsafe { at.read() });
    let mut before = [None; functions::MOST];
    before.iter_mut().zip(all.clone()).for_each(|(before, row)| *before = read(row));
    // SAFETY: a tool's function of this name has this type.
    let call = |attach| looked_up_tool::calling(|| unsafe { transmute::<usize, Attach>(attach)(get) });
    let has_tool = other_tool(initializer).is_some_and(|attach| call(attach) != 0);
    if has_tool {
        tool::attach();
    }
    for ((module, number, ours), before) in all.zip(before) {
        let Some(at) = pointer(callbacks, module, number) else { continue };
        // SAFETY: a pointer of the copy.
        let tools = unsafe { at.read() };
        let is_tools = has_tool && Some(tools) != before && tools != 0;
        if is_tools && !tool::keep(module, number, tools) {
            page::count(diagnostic::RANGE_OF_OTHER_TOOL, 1);
            continue;
        }
        // SAFETY: as above; the copy calls it with the arguments that the function takes.
        unsafe { at.write(ours) };
    }
    1
}
