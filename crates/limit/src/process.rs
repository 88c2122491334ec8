//! This process in the accounts: its slot, and which other processes have ended.

use crate::config::{accounts, head, own_memory};
use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use cutap_wire::accounts::Process;

/// This process's slot and one; 0: it has none yet. A forked child finds 0.
static SLOT: AtomicPtr<AtomicU64> = AtomicPtr::new(core::ptr::null_mut());
/// There is no slot for this process.
const NONE: u64 = u64::MAX;

/// Called at the start of each program. What the process had in another program is gone.
pub fn begin() -> bool {
    let Some(at) = own_memory(4096) else { return false };
    SLOT.store(at.cast(), Ordering::Release);
    let (Some(accounts), Some(own)) = (accounts(), own()) else { return true };
    accounts.forget(own);
    true
}

/// The slot, which is taken at the first allocation.
pub fn slot() -> Option<usize> {
    // SAFETY: null, or a word of a page that stays.
    let word = unsafe { SLOT.load(Ordering::Acquire).as_ref()? };
    match word.load(Ordering::Acquire) {
        0 => claim(word),
        NONE => None,
        slot => Some(slot as usize - 1),
    }
}

fn claim(word: &AtomicU64) -> Option<usize> {
    let accounts = accounts()?;
    let mut claimed = own().and_then(|own| Some((accounts.claim(own, &is_dead)?, own)));
    // Another process may have taken the number of the namespace meanwhile.
    while let Some((slot, own)) = claimed.filter(|(_, own)| !accounts.is_namespace(*own, inode())) {
        accounts.return_slot(slot, own);
        claimed = self::own().and_then(|own| Some((accounts.claim(own, &is_dead)?, own)));
    }
    let slot = claimed.map(|(slot, _)| slot);
    let value = slot.map_or(NONE, |slot| slot as u64 + 1);
    // Another thread may do the same.
    if let Err(winner) = word.compare_exchange(0, value, Ordering::AcqRel, Ordering::Acquire) {
        claimed.iter().for_each(|(slot, own)| accounts.return_slot(*slot, *own));
        return (winner != NONE).then(|| winner as usize - 1);
    }
    if slot.is_none() {
        head()?.uncounted.processes.fetch_add(1, Ordering::Relaxed);
    }
    slot
}

/// Frees the slots of processes that have ended.
pub fn reclaim() {
    if let (Some(accounts), Some(own)) = (accounts(), own()) {
        accounts.reclaim_dead(own, &is_dead);
    }
}

/// This process, as its namespace counts.
pub fn own() -> Option<Process> {
    // SAFETY: it only asks.
    let pid = unsafe { libc::getpid() };
    let start = Status::of(pid).map_or(0, |status| status.start);
    Some(Process { pid: pid as u32, namespace: namespace()?, start })
}

/// The number of this process's namespace.
fn namespace() -> Option<usize> {
    accounts()?.namespace(inode())
}

/// This process's namespace of process numbers.
fn inode() -> u64 {
    // SAFETY: a structure of this function's, filled by the kernel.
    unsafe {
        let mut facts: libc::stat = core::mem::zeroed();
        if libc::stat(c"/proc/self/ns/pid".as_ptr(), &mut facts) == 0 { facts.st_ino } else { 1 }
    }
}

/// Whether a process has ended. Of one in another namespace it is not known.
fn is_dead(process: Process) -> bool {
    if Some(process.namespace) != namespace() {
        return false;
    }
    let pid = process.pid as i32;
    match Status::of(pid) {
        Some(status) => status.has_ended || !process.has_start(status.start),
        // SAFETY: no signal is sent.
        None => unsafe { libc::kill(pid, 0) != 0 && *libc::__errno_location() == libc::ESRCH },
    }
}

/// What the kernel says of a process.
struct Status {
    /// Clock ticks since the machine started.
    start: u64,
    /// It waits to be reaped.
    has_ended: bool,
}

impl Status {
    fn of(pid: i32) -> Option<Status> {
        let mut path = [0_u8; 32];
        let mut digits = [0_u8; 10];
        let mut rest = pid.unsigned_abs();
        let mut first = digits.len();
        while first > 0 && (rest > 0 || first == digits.len()) {
            first -= 1;
            *digits.get_mut(first)? = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        let mut end = 0;
        for piece in [&b"/proc/"[..], digits.get(first..)?, b"/stat"] {
            path.get_mut(end..end + piece.len())?.copy_from_slice(piece);
            end += piece.len();
        }
        let mut text = [0_u8; 1024];
        // No functions of libc, at which a thread may be cancelled in the middle of a hook.
        // SAFETY: calls on a descriptor of this function, with room for what is read.
        let length = unsafe {
            let flags = libc::O_RDONLY | libc::O_CLOEXEC;
            let file = libc::syscall(libc::SYS_openat, libc::AT_FDCWD, path.as_ptr(), flags);
            if file < 0 {
                return None;
            }
            let length = libc::syscall(libc::SYS_read, file, text.as_mut_ptr(), text.len());
            libc::syscall(libc::SYS_close, file);
            usize::try_from(length).ok()?
        };
        Status::parse(text.get(..length)?)
    }

    /// From the text of `/proc/PID/stat`. The name of the program may have any characters.
    fn parse(text: &[u8]) -> Option<Status> {
        let name_end = text.iter().rposition(|byte| *byte == b')')?;
        let mut fields = text.get(name_end + 2..)?.split(|byte| *byte == b' ');
        let state = *fields.next()?.first()?;
        // The number of threads is the 20th field, and the start the 22nd; the state is the third.
        let threads = number(fields.nth(16)?);
        let start = number(fields.nth(1)?);
        // Its first thread may have ended before the others.
        Some(Status { start, has_ended: matches!(state, b'Z' | b'X') && threads <= 1 })
    }
}

fn number(text: &[u8]) -> u64 {
    text.iter().fold(0, |number, digit| number * 10 + u64::from(digit.wrapping_sub(b'0') % 10))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn status_of_processes() {
        let text = b"77 (a) b) Z 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 1 0 98765 8192 1 0";
        let status = Status::parse(text).unwrap();
        assert!(status.has_ended);
        assert_eq!(status.start, 98_765);
        // SAFETY: it only asks.
        let own = Status::of(unsafe { libc::getpid() }).unwrap();
        assert!(!own.has_ended && own.start > 0);
        assert!(Status::of(4_000_000).is_none());
    }
}
