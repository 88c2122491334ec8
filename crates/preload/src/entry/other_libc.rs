//! A process whose C library is not glibc (musl): it is left alone. Nothing is diverted and nothing recorded, the
//! names that we export lead to the functions of the process's own C library, and the run's control page counts it.
//!
//! Must never use what a constructor is passed: musl passes nothing, so the registers hold anything. Must never call
//! that C library.

use crate::exec::vfork;
use crate::process::environment;
use crate::process::run::{keep_alive, mapped_page, run_named, wants_us};
use crate::sys;
use core::sync::atomic::Ordering::*;
use cutap_wire::PAGE;
use cutap_wire::control::{Control, LEFT_NAMES_BYTES};

/// A longer file name is cut off.
const LONGEST: usize = 63;

/// Leaves this process alone, and says so in the run directory if there is one.
pub fn stand_aside() {
    vfork::pass_on();
    if !run_named(environment::before_libc()) {
        return;
    }
    let Some(page) = mapped_page(|file| Some(file.map(0, PAGE).cast::<Control>())) else { return };
    // SAFETY: null or just mapped, and unmapped when it is used no more.
    unsafe {
        if wants_us(page) {
            // The run continues while this process lives: what it starts may be traced.
            keep_alive();
            count_process(&*page);
        }
        if !page.is_null() {
            sys::unmap(page.cast(), PAGE);
        }
    }
}

/// Counts this process, and names its program if that is not named yet.
fn count_process(page: &Control) {
    page.left_alone.fetch_add(1, AcqRel);
    let mut path = [0; 512];
    let length = sys::read_link(b"/proc/self/exe\0", &mut path);
    let path = path.get(..length).unwrap_or(&[]);
    name(page, path.rsplit(|b| *b == b'/').next().unwrap_or(path));
}

fn name(page: &Control, name: &[u8]) {
    let name = name.get(..LONGEST).unwrap_or(name);
    let mut names = [0; LEFT_NAMES_BYTES];
    for (to, from) in names.iter_mut().zip(&page.left_names) {
        *to = from.load(Relaxed);
    }
    let full = page.left_names_len.load(Relaxed) as usize >= LEFT_NAMES_BYTES;
    if full || name.is_empty() || names.split(|b| *b == 0).any(|known| known == name) {
        return;
    }
    let at = page.left_names_len.fetch_add(name.len() as u32 + 1, AcqRel) as usize;
    // With the zero that is behind it already.
    let room = page.left_names.get(at..at + name.len() + 1).unwrap_or(&[]);
    for (to, from) in room.iter().zip(name) {
        to.store(*from, Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_program_is_named_once_and_the_rest_stays_as_it_is() {
        // SAFETY: a page of zeros is one.
        let page: Control = unsafe { core::mem::zeroed() };
        let names = || page.left_names.each_ref().map(|b| b.load(Relaxed));
        name(&page, b"make");
        name(&page, b"cc");
        name(&page, b"make");
        name(&page, b"");
        assert!(names().starts_with(b"make\0cc\0\0"));
        for n in 0..100u8 {
            name(&page, &[b'A' + n % 26; 90]);
        }
        let names = names();
        let lengths = names.split(|b| *b == 0).filter(|name| !name.is_empty()).map(<[u8]>::len);
        // 63 bytes and a zero, as often as they fit whole.
        assert!(lengths.eq([4, 2, 63, 63, 63]));
        assert_eq!(page.printed.each_ref().map(|p| p.load(Relaxed)), [0, 0, 0]);
    }
}
