//! A budget for memory mappings. The kernel limits the number of mappings of a process (`vm.max_map_count`, 65,530 by
//! default), and each thread of the program takes two for its stack. cutap uses at most a quarter of that limit, so
//! that the program can still start threads. What cutap cannot map is not recorded, and counted by the caller.

use super::file::{Open, with};
use core::sync::atomic::{AtomicU32, Ordering::*};

/// Up to this many mappings the limit is not asked for.
const SMALL: u32 = 1024;
/// The kernel's default, where the limit cannot be read.
const DEFAULT_LIMIT: u32 = 65_530;

static USED: AtomicU32 = AtomicU32::new(0);
/// A quarter of the limit; 0: not read yet.
static MOST: AtomicU32 = AtomicU32::new(0);

/// Counts mappings that are about to be made. False: the budget has no room for them.
pub fn take(mappings: u32) -> bool {
    let used = USED.fetch_add(mappings, Relaxed).saturating_add(mappings);
    let fits = used <= SMALL || used <= most();
    if !fits {
        give_back(mappings);
    }
    fits
}

/// Mappings that were not made after all, or are gone.
pub fn give_back(mappings: u32) {
    USED.fetch_sub(mappings, Relaxed);
}

#[cold]
fn most() -> u32 {
    let cached = MOST.load(Relaxed);
    if cached != 0 {
        return cached;
    }
    let mut text = [0u8; 16];
    let read = with(b"/proc/sys/vm/max_map_count\0", &[Open::Read], |file| file.read(&mut text)).unwrap_or(0);
    let most = limit(text.get(..read).unwrap_or(&[])).unwrap_or(DEFAULT_LIMIT) / 4;
    MOST.store(most.max(SMALL), Relaxed);
    most.max(SMALL)
}

/// The number at the beginning of a text.
fn limit(text: &[u8]) -> Option<u32> {
    let digits = text.split(|c| !c.is_ascii_digit()).next().filter(|digits| !digits.is_empty())?;
    Some(digits.iter().fold(0u32, |n, c| n.saturating_mul(10).saturating_add(u32::from(c - b'0'))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limit_is_read() {
        assert_eq!(limit(b"65530\n"), Some(65_530));
        assert_eq!(limit(b"99999999999\n"), Some(u32::MAX));
        assert_eq!(limit(b""), None);
        assert_eq!(limit(b"none"), None);
    }
}
