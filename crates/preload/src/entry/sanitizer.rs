//! A process whose sanitizer's runtime stands behind cutap. AddressSanitizer would end it. So it starts itself again,
//! with the same arguments and with the runtime before cutap. That works for each child, however it is started.
//!
//! The process that was started so restores its environment. Both happen before any code of the program runs.
//!
//! Limit: before glibc 2.34 libpthread's constructor is the first, and the sanitizer's check comes before ours. The
//! front then puts the runtime first for the program that it starts itself.

use crate::loader::map;
use crate::process::environment::before_libc;
use crate::sys;
use cutap_wire::sanitizer::{ENV, is_runtime, parse};

/// Room for the arguments of a process; the kernel allows 6 MiB.
const ARGUMENTS: usize = 8 << 20;
const AT_EXECFN: usize = 31;
const PRELOAD: &[u8] = b"LD_PRELOAD=";

/// At the start of a process under glibc.
pub fn put_first() {
    let environment = before_libc().cast_mut();
    // SAFETY: the environment as the kernel made it, which no code has read yet.
    if environment.is_null() || unsafe { restore(environment) } {
        return;
    }
    map::behind_us(is_runtime, |runtime| {
        // SAFETY: as above.
        unsafe { start_again(runtime, environment) };
    });
}

/// Where a variable stands, by the beginning of its text.
///
/// # Safety
/// The environment: strings, and a null at the end.
unsafe fn find(environment: *mut *const u8, begin: &[u8]) -> Option<*mut *const u8> {
    let mut at = environment;
    // SAFETY: the caller's promise.
    unsafe {
        while !(*at).is_null() {
            if sys::text(*at, begin.len()) == begin {
                return Some(at);
            }
            at = at.add(1);
        }
    }
    None
}

/// Restores the environment of a process that starts with the variable. False: it has none.
///
/// # Safety
/// The environment, whose strings may be changed.
unsafe fn restore(environment: *mut *const u8) -> bool {
    // SAFETY: the caller's promise.
    unsafe {
        let Some(marker) = find(environment, ENV.as_bytes()) else { return false };
        let value = sys::text(*marker, 64).get(ENV.len() + 1..).unwrap_or(&[]);
        let (length, name) = parse(value).unwrap_or((0, &[]));
        if !name.is_empty() {
            sys::set_thread_name(name);
        }
        remove(marker);
        if let Some(list) = find(environment, PRELOAD) {
            let value = (*list).add(PRELOAD.len()).cast_mut();
            let whole = sys::text(value, 1 << 20).len();
            if whole <= length {
                remove(list);
            } else if length > 0 {
                // The colon too. What it leaves at the end is zeros.
                let rest = whole - length - 1;
                core::ptr::copy(value.add(length + 1), value, rest);
                core::ptr::write_bytes(value.add(rest), 0, length + 1);
            }
        }
        true
    }
}

/// Takes a variable out.
///
/// # Safety
/// It is a place in the environment.
unsafe fn remove(mut at: *mut *const u8) {
    // SAFETY: the caller's promise; a null ends it.
    unsafe {
        while !(*at).is_null() {
            *at = *at.add(1);
            at = at.add(1);
        }
    }
}

/// Puts words and strings, one behind the other, into a mapping.
struct Writer {
    at: *mut u8,
    end: *mut u8,
}

impl Writer {
    fn put(&mut self, bytes: &[u8]) {
        if bytes.len() <= self.end as usize - self.at as usize {
            // SAFETY: there is room.
            unsafe {
                core::ptr::copy_nonoverlapping(bytes.as_ptr(), self.at, bytes.len());
                self.at = self.at.add(bytes.len());
            }
        }
    }
    fn word(&mut self, word: usize) {
        self.put(&word.to_le_bytes());
    }
}

/// Starts the program again, with `runtime` first in `LD_PRELOAD`. It returns if that cannot be.
///
/// # Safety
/// The environment as the kernel made it.
unsafe fn start_again(runtime: &[u8], environment: *mut *const u8) {
    // Both separate names in the list.
    if runtime.contains(&b' ') || runtime.contains(&b':') {
        return;
    }
    let arguments = sys::pages(ARGUMENTS);
    if arguments.is_null() {
        return;
    }
    // SAFETY: just mapped; the caller's promise.
    unsafe {
        let room = core::slice::from_raw_parts_mut(arguments, ARGUMENTS);
        let read = read_whole(b"/proc/self/cmdline\0", room);
        if read < ARGUMENTS {
            start_with(runtime, environment, room.get(..read).unwrap_or(&[]));
        }
        sys::unmap(arguments, ARGUMENTS);
    }
}

fn read_whole(path: &[u8], room: &mut [u8]) -> usize {
    let read = sys::with(path, &[sys::Open::Read], |file| {
        let mut len = 0;
        loop {
            match room.get_mut(len..).map_or(0, |rest| file.read(rest)) {
                0 => return len,
                more => len += more,
            }
        }
    });
    read.unwrap_or(0)
}

/// # Safety
/// As `start_again`.
unsafe fn start_with(runtime: &[u8], environment: *mut *const u8, arguments: &[u8]) {
    // SAFETY: the caller's promise.
    unsafe {
        let mut variables = 0;
        while !(*environment.add(variables)).is_null() {
            variables += 1;
        }
        let list = find(environment, PRELOAD);
        let before = list.map_or(&[][..], |at| sys::text((*at).add(PRELOAD.len()), 1 << 20));
        let count = arguments.iter().filter(|byte| **byte == 0).count();
        let bytes = (count + variables + 4) * size_of::<usize>() + before.len() + runtime.len() + 256;
        let memory = sys::pages(bytes);
        if memory.is_null() {
            return;
        }
        let mut text = Writer { at: memory, end: memory.add(bytes) };
        let preload = text.at;
        text.put(PRELOAD);
        text.put(runtime);
        if !before.is_empty() {
            text.put(b":");
            text.put(before);
        }
        text.put(b"\0");
        let marker = text.at;
        text.put(ENV.as_bytes());
        text.put(b"=");
        let mut digits = [0; 4];
        let mut length = runtime.len();
        for digit in digits.iter_mut().rev() {
            *digit = b'0' + (length % 10) as u8;
            length /= 10;
        }
        text.put(&digits);
        text.put(b" ");
        text.put(sys::thread_name(&mut [0; sys::THREAD_NAME + 1]));
        text.put(b"\0");
        let mut words = Writer { at: text.at.add(text.at.align_offset(8)), ..text };
        let argv = words.at;
        for argument in arguments.split_inclusive(|byte| *byte == 0).take(count) {
            words.word(argument.as_ptr() as usize);
        }
        words.word(0);
        let envp = words.at;
        for n in 0..variables {
            let at = environment.add(n);
            words.word(if Some(at) == list { preload as usize } else { *at as usize });
        }
        if list.is_none() {
            words.word(preload as usize);
        }
        words.word(marker as usize);
        words.word(0);
        // The path by which it was started, if that is its file still; a script's is another.
        let own = b"/proc/self/exe\0";
        let started = auxiliary(environment.add(variables + 1), AT_EXECFN) as *const u8;
        let path = core::slice::from_raw_parts(
            started,
            if started.is_null() { 0 } else { sys::text(started, 4096).len() + 1 },
        );
        let same = !started.is_null() && sys::is_same_file(path, own);
        sys::execute(if same { started } else { own.as_ptr() }, argv.cast(), envp.cast());
        sys::unmap(memory, bytes);
    }
}

/// A word of the auxiliary vector, which stands behind the environment; 0: absent.
///
/// # Safety
/// `at` is where it stands.
unsafe fn auxiliary(at: *const *const u8, which: usize) -> usize {
    let mut at = at.cast::<[usize; 2]>();
    // SAFETY: the caller's promise; a pair with a zero ends it.
    unsafe {
        loop {
            let [kind, value] = *at;
            if kind == which || kind == 0 {
                return if kind == which { value } else { 0 };
            }
            at = at.add(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_is_what_it_was() {
        let cases: [(&[&str], &[&str], bool); 4] = [
            (
                &["A=1", "LD_PRELOAD=/l/libasan.so:/c/o.so", "CUTAP_SANITIZER=0013", "B=2"],
                &["A=1", "LD_PRELOAD=/c/o.so", "B=2"],
                true,
            ),
            (&["CUTAP_SANITIZER=3 ", "LD_PRELOAD=abc"], &[], true),
            (&["LD_PRELOAD=a:b", "CUTAP_SANITIZER=x"], &["LD_PRELOAD=a:b"], true),
            (&["LD_PRELOAD=a:b", "C=3"], &["LD_PRELOAD=a:b", "C=3"], false),
        ];
        for (input, wanted, found) in cases {
            let (mut text, mut all) = ([0u8; 256], [core::ptr::null::<u8>(); 8]);
            let mut at = text.as_mut_ptr();
            for (to, from) in all.iter_mut().zip(input) {
                *to = at;
                // SAFETY: the texts are shorter than the room together.
                unsafe {
                    core::ptr::copy_nonoverlapping(from.as_ptr(), at, from.len());
                    at = at.add(from.len() + 1);
                }
            }
            // SAFETY: strings in a local buffer, and a null.
            assert_eq!(unsafe { restore(all.as_mut_ptr()) }, found, "{input:?}");
            // SAFETY: as above.
            let now = all.iter().take_while(|s| !s.is_null()).map(|s| unsafe { sys::text(*s, 4096) });
            assert!(now.eq(wanted.iter().map(|s| s.as_bytes())), "{input:?}");
        }
    }
}
