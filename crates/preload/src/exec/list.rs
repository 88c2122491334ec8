//! What the list of a new program must have: this library, and the hook libraries, in their order.

use crate::loader::map;
use crate::process::path::Shared;
use core::cell::UnsafeCell;

const ROOM: usize = 8192;
static LIST: Shared<([u8; ROOM], usize)> = Shared(UnsafeCell::new(([0; ROOM], 0)));

/// At start: the path of this library.
pub fn begin() {
    map::own_name(add);
}

/// At start: one more. What does not fit is left out.
pub fn add(path: &[u8]) {
    // SAFETY: only the thread that starts the library writes, and no other thread reads before it is done.
    let (bytes, len) = unsafe { &mut *LIST.0.get() };
    let colon = usize::from(*len > 0);
    let Some(room) = bytes.get_mut(*len..*len + colon + path.len()) else { return };
    let text = b":".iter().take(colon).chain(path);
    room.iter_mut().zip(text).for_each(|(to, from)| *to = *from);
    *len += colon + path.len();
}

/// The list, with colons.
pub fn appended_libraries() -> &'static [u8] {
    // SAFETY: as in `add`.
    let (bytes, len) = unsafe { &*LIST.0.get() };
    bytes.get(..*len).unwrap_or(&[])
}
