//! Which process a number means: numbers come round, and in another name space (a container) another process has the
//! same. What /proc does not tell is 0, and then the number alone counts.

use super::path::Path;
use crate::sys;
use core::sync::atomic::Ordering::*;
use cutap_wire::control::Control;

/// A process, as far as it can be told.
#[derive(Clone, Copy)]
pub struct Identity {
    pid: u32,
    namespace: u32,
    /// Ticks of the kernel, the lower half.
    start_time: u32,
}

impl Identity {
    /// This process, its parent, or what has their number.
    pub fn of(pid: u32) -> Identity {
        let mut link = [0u8; 32];
        sys::read_link(b"/proc/self/ns/pid\0", &mut link);
        let namespace = number(&link) as u32;
        // The numbers in /proc are those of the name space for which it was mounted.
        let mut own = [0u8; 32];
        sys::read_link(b"/proc/self\0", &mut own);
        let mut path = Path::empty();
        match pid == sys::getpid() {
            true => path.push(b"/proc/self/stat"),
            false => path.push(b"/proc/").number(pid.into()).push(b"/stat"),
        };
        let readable = pid == sys::getpid() || number(&own) == u64::from(sys::getpid());
        let start_time = if readable { start_time_of(&path) } else { 0 };
        Identity { pid, namespace, start_time }
    }
    /// Says in a page whose it is.
    pub fn put(self, page: &Control) {
        page.pid_namespace.store(self.namespace, Relaxed);
        page.start_time.store(self.start_time, Relaxed);
        page.first_pid.store(self.pid, Release);
    }
    /// Whether a page is this process's.
    pub fn owns(self, page: &Control) -> bool {
        let (namespace, start_time) = (page.pid_namespace.load(Acquire), page.start_time.load(Acquire));
        page.first_pid.load(Acquire) == self.pid
            && (namespace == self.namespace || namespace == 0 || self.namespace == 0)
            && (start_time == self.start_time || start_time == 0 || self.start_time == 0)
    }
}

/// When a process began: the twentieth word behind its name, which is in brackets and may hold anything.
fn start_time_of(path: &Path) -> u32 {
    let mut text = [0u8; 512];
    let read = sys::with(path.bytes(), &[sys::Open::Read], |file| file.read(&mut text)).unwrap_or(0);
    let text = text.get(..read).unwrap_or(&[]);
    let after_name = text.iter().rposition(|b| *b == b')').map_or(0, |at| at + 2);
    text.get(after_name..).unwrap_or(&[]).split(|b| *b == b' ').nth(19).map_or(0, number) as u32
}

/// The digits in a text.
fn number(text: &[u8]) -> u64 {
    let digits = text.iter().filter(|b| b.is_ascii_digit());
    digits.fold(0, |n: u64, b| n.wrapping_mul(10).wrapping_add(u64::from(b - b'0')))
}
