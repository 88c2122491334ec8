//! What cutap wrote for the run, mapped: rules, limits, and the accounts that processes share.

use core::ffi::CStr;
use core::sync::atomic::{AtomicPtr, Ordering};
use cutap_hook::contract::Host;
use cutap_wire::accounts::{self, Accounts, Mapped};
use cutap_wire::limited::{FILE, HEAD, Head, MAGIC, ROW, ROWS, Row};

/// Bytes of the longest path.
const LONGEST: usize = 4096;

static HEAD_AT: AtomicPtr<Head> = AtomicPtr::new(core::ptr::null_mut());
static ACCOUNTS_AT: AtomicPtr<u8> = AtomicPtr::new(core::ptr::null_mut());

/// The rules of the run.
pub struct Config {
    pub head: &'static Head,
    pub rows: &'static [Row],
}

/// The head, once it is mapped.
pub fn head() -> Option<&'static Head> {
    // SAFETY: null, or the head of the mapped file, which stays.
    unsafe { HEAD_AT.load(Ordering::Acquire).as_ref() }
}

/// The number of a row, from 1.
pub fn number(row: &Row) -> u32 {
    let first = HEAD_AT.load(Ordering::Acquire) as usize + HEAD;
    ((core::ptr::from_ref(row) as usize).wrapping_sub(first) / ROW) as u32 + 1
}

/// The accounts, once they are mapped.
pub fn accounts() -> Option<Accounts<Mapped>> {
    let at = ACCOUNTS_AT.load(Ordering::Acquire);
    // SAFETY: the file is mapped whole, at the beginning of a page, and stays.
    (!at.is_null()).then(|| Accounts(unsafe { Mapped::new(at.cast()) }))
}

/// Maps both files. None if one is not there, or is of another version.
pub fn map(host: &Host) -> Option<Config> {
    // SAFETY: the host's function; it returns NULL or a string of the environment.
    let folder = unsafe {
        let value = (host.environment)(c"CUTAP_RUN".as_ptr());
        if value.is_null() {
            return None;
        }
        CStr::from_ptr(value).to_bytes()
    };
    let mut path = [0_u8; LONGEST];
    let mut end = 0;
    for piece in [folder, b"/", FILE.as_bytes()] {
        path.get_mut(end..end + piece.len()).filter(|to| end + to.len() < LONGEST)?.copy_from_slice(piece);
        end += piece.len();
    }
    let (at, bytes) = mapped(&path, HEAD..=HEAD + ROWS * ROW)?;
    // SAFETY: at least a head is mapped there. All of its fields may have any value.
    let head: &'static Head = unsafe { &*at.cast() };
    let rows = head.rows as usize;
    if head.magic != MAGIC || head.version != cutap_wire::VERSION || bytes != HEAD + rows * ROW {
        return None;
    }
    // SAFETY: so many rows are mapped behind the head.
    let rows = unsafe { core::slice::from_raw_parts(at.add(HEAD).cast::<Row>(), rows) };
    let (at, _) = mapped(&head.accounts, accounts::BYTES..=accounts::BYTES)?;
    // SAFETY: as `accounts`.
    if !Accounts(unsafe { Mapped::new(at.cast()) }).is_valid() {
        return None;
    }
    ACCOUNTS_AT.store(at, Ordering::Release);
    HEAD_AT.store(core::ptr::from_ref(head).cast_mut(), Ordering::Release);
    Some(Config { head, rows })
}

/// A file as shared memory, and its size, which is within these bounds. `path` ends at a zero.
fn mapped(path: &[u8], sizes: core::ops::RangeInclusive<usize>) -> Option<(*mut u8, usize)> {
    let path = CStr::from_bytes_until_nul(path).ok()?;
    // SAFETY: calls on a descriptor of this function. The size is looked at before anything is read. The mapping stays.
    unsafe {
        let file = libc::open(path.as_ptr(), libc::O_RDWR | libc::O_CLOEXEC | libc::O_NOFOLLOW);
        if file < 0 {
            return None;
        }
        let mut facts: libc::stat = core::mem::zeroed();
        let is_known = libc::fstat(file, &mut facts) == 0;
        let bytes = usize::try_from(facts.st_size).unwrap_or(0);
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let memory = if is_known && sizes.contains(&bytes) {
            libc::mmap(core::ptr::null_mut(), bytes, access, libc::MAP_SHARED, file, 0)
        } else {
            libc::MAP_FAILED
        };
        libc::close(file);
        (memory != libc::MAP_FAILED).then_some((memory.cast(), bytes))
    }
}

/// Fresh memory that a forked child finds empty: it has nothing of what its parent took of a device.
pub fn own_memory(bytes: usize) -> Option<*mut u8> {
    let access = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: new memory of this library.
    unsafe {
        let at = libc::mmap(core::ptr::null_mut(), bytes, access, flags, -1, 0);
        if at == libc::MAP_FAILED {
            return None;
        }
        libc::madvise(at, bytes, libc::MADV_WIPEONFORK);
        Some(at.cast())
    }
}
