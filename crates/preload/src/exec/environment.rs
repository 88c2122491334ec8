//! Whether the environment of a new program has cutap in it. It reads what a caller of exec passes, which may be
//! anything.

use crate::sys;

const PRELOAD: &[u8] = b"LD_PRELOAD=";
const RUN: &[u8] = b"CUTAP_RUN=";
const PAGE: usize = 4096;
/// The kernel takes no longer string, and no more words.
const LONGEST: usize = 128 << 10;
const MOST: usize = 1 << 18;

/// What an environment does with cutap.
#[derive(Debug, PartialEq, Eq)]
pub enum Environment<'a> {
    /// It has cutap, with this run or with that of a cutap inside.
    Complete,
    /// `LD_PRELOAD` or `CUTAP_RUN` was removed.
    Cleaned,
    /// `LD_PRELOAD` is another list: `value`, in the variable with number `place` of `count`.
    Replaced { place: usize, count: usize, value: &'a [u8] },
}

/// Reads one. None: it cannot be read.
///
/// # Safety
/// No other thread unmaps or changes what can be read.
pub unsafe fn read<'a>(environment: usize, run: &[u8], file: &[u8]) -> Option<Environment<'a>> {
    if environment == 0 {
        return Some(Environment::Cleaned);
    }
    let mut memory = Memory { page: usize::MAX };
    let (mut list, mut run_is, mut count) = (None, None, 0);
    while count < MOST {
        let at = memory.word(environment + count * size_of::<usize>())?;
        if at == 0 {
            break;
        }
        if memory.starts_with(at, PRELOAD)? {
            list = Some((count, at + PRELOAD.len()));
        } else if memory.starts_with(at, RUN)? {
            let value = at + RUN.len();
            run_is = Some(memory.starts_with(value, run)? && memory.byte(value + run.len())? == 0);
        }
        count += 1;
    }
    let (Some((place, at)), Some(is_own)) = (list, run_is) else { return Some(Environment::Cleaned) };
    let length = memory.length(at)?;
    // SAFETY: all of it was read; the caller's promise.
    let value: &[u8] = unsafe { core::slice::from_raw_parts(at as *const u8, length) };
    let mut names = value.split(|byte| b" :".contains(byte)).filter(|path| !path.is_empty()).peekable();
    if names.peek().is_none() {
        return Some(Environment::Cleaned);
    }
    let is_ours = |path: &[u8]| path.rsplit(|byte| *byte == b'/').next() == Some(file);
    Some(match names.any(is_ours) {
        true => Environment::Complete,
        false if is_own => Environment::Replaced { place, count, value },
        false => Environment::Cleaned,
    })
}

/// Memory that may not be there: each page is tested before it is read.
struct Memory {
    /// The page that was tested last.
    page: usize,
}

impl Memory {
    fn byte(&mut self, at: usize) -> Option<u8> {
        let page = at & !(PAGE - 1);
        if page != self.page {
            if !sys::readable(page) {
                return None;
            }
            self.page = page;
        }
        // SAFETY: its page can be read.
        Some(unsafe { (at as *const u8).read() })
    }
    fn word(&mut self, at: usize) -> Option<usize> {
        self.byte(at)?;
        self.byte(at.checked_add(7)?)?;
        // SAFETY: both pages can be read.
        Some(unsafe { (at as *const usize).read_unaligned() })
    }
    fn starts_with(&mut self, at: usize, text: &[u8]) -> Option<bool> {
        for (n, byte) in text.iter().enumerate() {
            if self.byte(at.checked_add(n)?)? != *byte {
                return Some(false);
            }
        }
        Some(true)
    }
    fn length(&mut self, at: usize) -> Option<usize> {
        (0..LONGEST).find_map(|n| match at.checked_add(n).and_then(|at| self.byte(at)) {
            None => Some(None),
            Some(0) => Some(Some(n)),
            Some(_) => None,
        })?
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(variables: &[&[u8]]) -> Option<Environment<'static>> {
        let mut words = [0usize; 8];
        words.iter_mut().zip(variables).for_each(|(to, from)| *to = from.as_ptr() as usize);
        // SAFETY: texts that end in a zero.
        unsafe { read(words.as_ptr() as usize, b"/r", b"o.so") }
    }

    #[test]
    fn what_an_environment_has() {
        let run = b"CUTAP_RUN=/r\0";
        assert_eq!(of(&[b"A=1\0", run, b"LD_PRELOAD=/x.so /c/o.so\0"]), Some(Environment::Complete));
        let replaced = |place, count, value| Some(Environment::Replaced { place, count, value });
        assert_eq!(of(&[b"LD_PRELOAD=/o.so.1\0", run]), replaced(0, 2, &b"/o.so.1"[..]));
        assert_eq!(of(&[b"CUTAP_RUN=/other\0", b"LD_PRELOAD=o.so\0"]), Some(Environment::Complete));
        assert_eq!(of(&[b"CUTAP_RUN=/r2\0", b"LD_PRELOAD=x.so\0"]), Some(Environment::Cleaned));
        // ld.so takes the last one.
        assert_eq!(of(&[b"LD_PRELOAD=o.so\0", run, b"LD_PRELOAD=x\0"]), replaced(2, 3, &b"x"[..]));
        for cleaned in [&[run, &b"LD_PRELOAD= :\0"[..]] as &[&[u8]], &[run], &[b"LD_PRELOAD=x\0"], &[]] {
            assert_eq!(of(cleaned), Some(Environment::Cleaned));
        }
        let wrong = [8usize, 0];
        // SAFETY: an address that cannot be read.
        assert_eq!(unsafe { read(wrong.as_ptr() as usize, b"/r", b"o.so") }, None);
        // SAFETY: as above.
        assert_eq!(unsafe { read(16, b"/r", b"o.so") }, None);
    }
}
