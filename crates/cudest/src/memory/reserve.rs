//! Reserved addresses of this process. GPU memory is placed inside, so that CPU and GPU use the same
//! address for it, and no other mapping of the process can take these addresses.

use crate::base::error::{Error, Result};
use std::collections::BTreeMap;
use std::ptr::NonNull;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// 2 MiB: the GPU's large page.
pub(crate) const LARGE_PAGE: u64 = 2 << 20;

/// Low addresses are given out in multiples of this.
const STEP: u64 = 64 << 20;

/// Low addresses that were given back, by their size.
static FREE: Mutex<BTreeMap<u64, Vec<u64>>> = Mutex::new(BTreeMap::new());

/// Addresses without memory. Dropping it unmaps everything inside.
#[derive(Debug)]
pub(crate) struct Reservation {
    whole: NonNull<u8>,
    whole_length: usize,
    start: NonNull<u8>,
    /// Below 2^40.
    is_low: bool,
}

// SAFETY: it is a range of addresses; no reference to memory inside it is kept here.
unsafe impl Send for Reservation {}
// SAFETY: as above, and its methods only read.
unsafe impl Sync for Reservation {}

impl Reservation {
    /// Reserves `length` bytes, the first at a multiple of `align`, a power of two.
    pub fn new(length: u64, align: u64) -> Result<Self> {
        let request = || format!("reserving {length} bytes of addresses");
        let too_large = || Error::system(request(), std::io::ErrorKind::OutOfMemory.into());
        let size = usize::try_from(length.checked_add(align).ok_or_else(too_large)?).map_err(|_| too_large())?;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: the kernel chooses unused addresses.
        let mapping = unsafe { libc::mmap(std::ptr::null_mut(), size, libc::PROT_NONE, flags, -1, 0) };
        if mapping == libc::MAP_FAILED {
            return Err(Error::system(request(), std::io::Error::last_os_error()));
        }
        let whole = NonNull::new(mapping.cast::<u8>()).ok_or_else(too_large)?;
        let skip = whole.as_ptr().align_offset(align as usize);
        // SAFETY: `skip` is less than `align`, which was added to the length.
        let start = unsafe { whole.add(skip) };
        Ok(Self { whole, whole_length: size, start, is_low: false })
    }

    /// As [`new`](Self::new), with all addresses below 2^40: the GPU's pointers to rings and methods are short.
    pub fn low(length: u64, align: u64) -> Result<Self> {
        /// Where the next search begins: below are programs without relocation, above is seldom anything.
        static NEXT: AtomicU64 = AtomicU64::new(0x2_0000_0000);
        const END: u64 = 1 << 40;
        let request = || format!("reserving {length} bytes of addresses below 2^40");
        let size = length.next_multiple_of(align);
        loop {
            let whole = size.next_multiple_of(STEP);
            let used_before = FREE.lock().ok().and_then(|mut free| free.get_mut(&whole)?.pop());
            let at = used_before.unwrap_or_else(|| NEXT.fetch_add(whole, Ordering::Relaxed));
            let at = at.next_multiple_of(align);
            let Some(end) = at.checked_add(size).filter(|end| *end <= END) else {
                return Err(Error::system(request(), std::io::ErrorKind::OutOfMemory.into()));
            };
            let length = (end - at) as usize;
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED_NOREPLACE;
            let address = std::ptr::without_provenance_mut(at as usize);
            // SAFETY: the kernel gives these addresses only if nothing is there.
            let mapping = unsafe { libc::mmap(address, length, libc::PROT_NONE, flags, -1, 0) };
            if mapping == libc::MAP_FAILED {
                let why = std::io::Error::last_os_error();
                if why.raw_os_error() == Some(libc::EEXIST) {
                    continue;
                }
                return Err(Error::system(request(), why));
            }
            let start = NonNull::new(mapping.cast::<u8>())
                .ok_or_else(|| Error::system(request(), std::io::ErrorKind::Other.into()))?;
            let mut new = Self { whole: start, whole_length: length, start, is_low: false };
            // A kernel before 4.17 takes the address as a hint.
            if new.address() == at {
                new.is_low = true;
                return Ok(new);
            }
        }
    }

    pub fn start(&self) -> NonNull<u8> {
        self.start
    }

    pub fn address(&self) -> u64 {
        self.start.as_ptr() as u64
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        // SAFETY: the addresses are this reservation's; owners of memory inside are gone before it is dropped.
        unsafe { libc::munmap(self.whole.as_ptr().cast(), self.whole_length) };
        // In the child of a fork another thread's lock stays locked: then these addresses are not used again.
        if self.is_low
            && let Ok(mut free) = FREE.try_lock()
        {
            free.entry((self.whole_length as u64).next_multiple_of(STEP)).or_default().push(self.address());
        }
    }
}

/// The addresses at which a kernel sees its shared and its local memory. They hide all else at these addresses from
/// kernels, so they are reserved in the process.
#[derive(Debug)]
pub(crate) struct Windows {
    /// 4 GiB, aligned to 4 GiB.
    pub shared: u64,
    /// 16 MiB.
    pub local: u64,
    _addresses: Reservation,
}

impl Windows {
    pub fn new() -> Result<Self> {
        const SHARED: u64 = 4 << 30;
        const LOCAL: u64 = 16 << 20;
        let addresses = Reservation::new(SHARED + LOCAL, SHARED)?;
        let shared = addresses.address();
        Ok(Self { shared, local: shared + SHARED, _addresses: addresses })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alignment_and_use() {
        let reservation = Reservation::new(LARGE_PAGE, LARGE_PAGE).unwrap();
        assert_eq!(reservation.address() % LARGE_PAGE, 0);
        let windows = Windows::new().unwrap();
        assert_eq!(windows.shared % (4 << 30), 0);
        assert_eq!(windows.local, windows.shared + (4 << 30));
        assert!(Reservation::new(u64::MAX - 1, 4096).is_err());
        let (first, second) = (Reservation::low(5000, LARGE_PAGE).unwrap(), Reservation::low(1, LARGE_PAGE).unwrap());
        assert!(first.address() + 5000 <= second.address() && second.address() < 1 << 40);
        assert_eq!((first.address() % LARGE_PAGE, second.address() % LARGE_PAGE), (0, 0));
        assert!(Reservation::low(1 << 40, LARGE_PAGE).is_err());
    }

    /// More reservations than there are low addresses, one after the other.
    #[test]
    fn low_addresses_are_used_again() {
        for _ in 0..3 * (1_u64 << 40) / STEP {
            Reservation::low(1, LARGE_PAGE).unwrap();
        }
    }
}
