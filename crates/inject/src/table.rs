//! The rows of the run, mapped from their file.

use core::ffi::CStr;
use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use cutap_hook::contract::Host;
use cutap_wire::injected::{FILE, HEAD, Head, MAGIC, ROW, ROWS, Row};

/// Bytes of the longest path.
const LONGEST: usize = 4096;

static FIRST: AtomicPtr<Row> = AtomicPtr::new(core::ptr::null_mut());
static SEED: AtomicU64 = AtomicU64::new(0);

/// Maps the file. None if it is not there, or of another version.
///
/// # Safety
/// `host` is cutap's.
pub unsafe fn map(host: &Host) -> Option<&'static [Row]> {
    // SAFETY: the host's function; it returns NULL or a string of the environment.
    let folder = unsafe {
        let value = (host.environment)(c"CUTAP_RUN".as_ptr());
        if value.is_null() {
            return None;
        }
        CStr::from_ptr(value).to_bytes()
    };
    let mut path = [0_u8; LONGEST];
    let pieces = [folder, b"/", FILE.as_bytes()];
    let mut end = 0;
    for piece in pieces {
        path.get_mut(end..end + piece.len()).filter(|to| end + to.len() < LONGEST)?.copy_from_slice(piece);
        end += piece.len();
    }
    // SAFETY: calls on a descriptor of this function. The size is looked at before anything is read. The mapping stays.
    unsafe {
        let file = libc::open(path.as_ptr().cast(), libc::O_RDWR | libc::O_CLOEXEC);
        if file < 0 {
            return None;
        }
        let mut facts: libc::stat = core::mem::zeroed();
        let is_known = libc::fstat(file, &mut facts) == 0;
        let bytes = usize::try_from(facts.st_size).unwrap_or(0);
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let memory = if is_known && (HEAD..=HEAD + ROWS * ROW).contains(&bytes) {
            libc::mmap(core::ptr::null_mut(), bytes, access, libc::MAP_SHARED, file, 0)
        } else {
            libc::MAP_FAILED
        };
        libc::close(file);
        if memory == libc::MAP_FAILED {
            return None;
        }
        let head = &*memory.cast::<Head>();
        let rows = head.rows as usize;
        if head.magic != MAGIC || head.version != cutap_wire::VERSION || bytes != HEAD + rows * ROW {
            return None;
        }
        SEED.store(head.seed, Ordering::Release);
        let first = memory.cast::<u8>().add(HEAD).cast::<Row>();
        FIRST.store(first, Ordering::Release);
        Some(core::slice::from_raw_parts(first, rows))
    }
}

/// The first number of the chances.
pub fn seed() -> u64 {
    SEED.load(Ordering::Acquire)
}

/// The row that counts for a row.
pub fn counter(row: &'static Row) -> &'static Row {
    let first = FIRST.load(Ordering::Acquire);
    if first.is_null() || row.counter as usize >= ROWS {
        return row;
    }
    // SAFETY: the number was written by cutap, and is that of a row of the file.
    unsafe { &*first.add(row.counter as usize) }
}
