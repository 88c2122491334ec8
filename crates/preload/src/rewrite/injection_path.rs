//! libcuda asks `getenv` which injection to load. In runs with GPU times its own binding of that function answers with
//! the path of the injection of cutap, which lies beside this library. The environment stays unchanged: a program that
//! has the variable in it behaves otherwise (kineto#979). All other questions of the driver, and all questions of
//! others, reach libc.

use crate::loader::live;
use crate::loader::objects::{self, Object, Snapshot};
use crate::process::injection;
use crate::slots::create;
use crate::slots::frame::Frame;
use crate::slots::interceptors::INJECTION_PATH;
use crate::sys;
use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering::*};
use cutap_calls::Layer;
use cutap_calls::generated::gpu_time::{INJECTION_VARIABLE, VARIABLE_READERS};
use cutap_wire::rows::INJECTION_FILE;

/// Room for the path, with a zero behind it.
const ROOM: usize = 4096;

/// The path, which ends with a zero; NULL before it is known.
static PATH: AtomicPtr<u8> = AtomicPtr::new(core::ptr::null_mut());

/// Whether an object is the driver, and asks for an injection that cutap answers.
pub fn is_user(o: &Object) -> bool {
    o.layer == Layer::DRIVER.number() && injection::is_answered()
}

/// Whether a function answers such questions.
pub fn is_name(name: &[u8]) -> bool {
    VARIABLE_READERS.iter().any(|reader| reader.as_bytes() == name)
}

/// Whether a recorded function answers such questions, and the answer is known. Only under the loader's lock.
pub fn is_answer_of(name: &[u8]) -> bool {
    is_name(name) && find_path().is_some()
}

/// The slot of libc's function at `address`. Only under the loader's lock.
pub fn slot(address: usize) -> Option<usize> {
    // Each of the two functions has one, and both do the same.
    static SLOTS: [(AtomicUsize, AtomicUsize); 4] = [const { (AtomicUsize::new(0), AtomicUsize::new(0)) }; 4];
    find_path()?;
    for (real, slot) in &SLOTS {
        match real.load(Acquire) {
            0 => {
                let new = create::for_interceptors(address, INJECTION_PATH)?;
                slot.store(new, Release);
                real.store(address, Release);
                return Some(new);
            }
            same if same == address => return Some(slot.load(Acquire)),
            _ => {}
        }
    }
    None
}

/// The slot for a function that `caller` looked up or binds at its first call.
pub fn slot_for(found: usize, name: &[u8], caller: usize) -> Option<usize> {
    if !is_name(name) || live::at(caller, is_user) != Some(true) {
        return None;
    }
    live::at(found, |_| slot(found)).flatten()
}

/// Makes the path known. Only under the loader's lock.
fn find_path() -> Option<*mut u8> {
    let path = PATH.load(Acquire);
    if path.is_null() { objects::with(learn_path).flatten() } else { Some(path) }
}

/// Makes the path known from a list of objects. The first one is not published before its words were looked at, and a
/// driver that the program is linked with is among them. Only under the loader's lock.
pub fn learn_path(list: &Snapshot) -> Option<*mut u8> {
    let path = PATH.load(Acquire);
    if !path.is_null() {
        return Some(path);
    }
    let memory = sys::pages(ROOM);
    if memory.is_null() {
        return None;
    }
    // SAFETY: just mapped, and known to no other thread.
    let room = unsafe { core::slice::from_raw_parts_mut(memory, ROOM) };
    let is_written = list.objects().iter().find(|o| o.ours).and_then(|o| write_path(o, room));
    if is_written.is_none() {
        // SAFETY: mapped above, and not used any more.
        unsafe { sys::unmap(memory, ROOM) };
        return None;
    }
    PATH.store(memory, Release);
    Some(memory)
}

/// The path beside that of this library. The rest of `room` is zeros.
fn write_path(this_library: &Object, room: &mut [u8]) -> Option<()> {
    // SAFETY: the loader's string of this library, which is never unloaded.
    let path = unsafe { sys::text(this_library.path, ROOM) };
    let folder = path.get(..=path.iter().rposition(|byte| *byte == b'/')?).filter(|folder| folder.starts_with(b"/"))?;
    let length = folder.len() + INJECTION_FILE.len();
    room.get(..length + 1)?;
    room.iter_mut().zip(folder.iter().chain(INJECTION_FILE)).for_each(|(to, byte)| *to = *byte);
    Some(())
}

/// Before the driver's question. False: it was answered.
pub fn answer(frame: &mut Frame) -> bool {
    let [name, ..] = frame.args;
    let path = PATH.load(Acquire);
    // SAFETY: an argument of getenv, which is a C string.
    if name == 0 || path.is_null() || unsafe { sys::text(name as *const u8, ROOM) } != INJECTION_VARIABLE.as_bytes() {
        return true;
    }
    frame.result = [path as u64, 0];
    false
}
