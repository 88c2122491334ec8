//! From a stopped system call to a kernel call: what is read at its begin, and what at its end.

use super::memory::{Reader, bytes, text};
use super::sys;
use crate::call::{Action, Ioctl, KernelCall};
use crate::decode::device;
use crate::formats::{is_of_driver, is_of_system};
use cutap_rm::{Device, Request, Tables};

/// A call that has begun.
#[derive(Debug)]
pub(super) struct Pending {
    call: KernelCall,
    started: u64,
}

/// What one stop needs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Capture {
    pub(super) tables: Tables,
    /// The monotonic clock at the start of the run.
    pub(super) start: u64,
}

impl Capture {
    /// The begin of a call; none where it does not concern the driver.
    pub(super) fn entry(&self, pid: i32, tid: i32, number: i64, arguments: [u64; 6]) -> Option<Pending> {
        let [a, b, c, d, e, f] = arguments;
        let fd = descriptor(a);
        let action = match number {
            libc::SYS_ioctl => self.ioctl(tid, fd, b, c)?,
            libc::SYS_open | libc::SYS_creat => open(text(tid, a)?, if number == libc::SYS_open { b } else { 0 })?,
            libc::SYS_openat => open(text(tid, b)?, c)?,
            libc::SYS_openat2 => {
                let flags = bytes(tid, c, 8).first_chunk().map_or(0, |b| u64::from_le_bytes(*b));
                open(text(tid, b)?, flags)?
            }
            libc::SYS_close => Action::Close { fd, path: path_of_driver(tid, fd)? },
            libc::SYS_dup | libc::SYS_dup2 | libc::SYS_dup3 => Action::Dup { fd, path: path_of_driver(tid, fd)? },
            libc::SYS_fcntl => {
                let command = i32::try_from(b).ok()?;
                let duplicates = [libc::F_DUPFD, libc::F_DUPFD_CLOEXEC].contains(&command);
                let path = duplicates.then(|| path_of_driver(tid, fd)).flatten()?;
                Action::Dup { fd, path }
            }
            libc::SYS_mmap if d & u64::from(libc::MAP_ANONYMOUS.cast_unsigned()) == 0 => {
                let fd = descriptor(e);
                let path = path_of_driver(tid, fd)?;
                let small = |n: u64| u32::try_from(n & 0xffff_ffff).unwrap_or(0);
                Action::Mmap { fd, path, address: a, length: b, protection: small(c), flags: small(d), offset: f }
            }
            libc::SYS_munmap => Action::Munmap { address: a, length: b },
            _ => return None,
        };
        let started = sys::now();
        let time_ns = Some(started.saturating_sub(self.start));
        let id = |id: i32| u32::try_from(id).unwrap_or(0);
        let call = KernelCall { pid: id(pid), tid: id(tid), time_ns, ..KernelCall::new(action) };
        Some(Pending { call, started })
    }

    fn ioctl(&self, tid: i32, fd: i32, request: u64, argument: u64) -> Option<Action> {
        let request = request & 0xffff_ffff;
        let path = path_of_driver(tid, fd).or_else(|| node_by_number(tid, fd))?;
        let mut ioctl = Ioctl { fd, path, request, argument, ..Ioctl::default() };
        let (device, number) = (device(&ioctl), u32::try_from(request).ok()?);
        let size = match device {
            Device::Other => cutap_rm::escape_of(number).1,
            device => self.tables.argument_size(device, number).unwrap_or(0),
        };
        let before = bytes(tid, argument, size);
        let mut reader = Reader { tid, pieces: Vec::new() };
        let asked = Request { device, request: number, before: &before, after: None, result: None };
        let _ = self.tables.decode(asked, &mut reader);
        ioctl.memory = reader.pieces;
        ioctl.before = Some(before);
        Some(Action::Ioctl(ioctl))
    }
}

impl Pending {
    /// The end of the call.
    pub(super) fn exit(mut self, tid: i32, result: i64) -> KernelCall {
        self.call.duration_ns = Some(sys::now().saturating_sub(self.started));
        self.call.result = Some(result);
        if let Action::Ioctl(ioctl) = &mut self.call.action {
            let before = ioctl.before.as_deref().unwrap_or_default();
            let after = bytes(tid, ioctl.argument, before.len());
            ioctl.after = (after.len() == before.len() && after != before).then_some(after);
            for piece in &mut ioctl.memory {
                let after = bytes(tid, piece.address, piece.before.len());
                piece.after = (after.len() == piece.before.len() && after != piece.before).then_some(after);
            }
        }
        self.call
    }

    /// The thread ended inside the call.
    pub(super) fn unfinished(self) -> KernelCall {
        self.call
    }

    /// The range that an unmapping removes.
    pub(super) fn unmaps(&self) -> Option<(u64, u64)> {
        match self.call.action {
            Action::Munmap { address, length } => Some((address, length)),
            _ => None,
        }
    }
}

#[allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap)] // The kernel takes the low half too.
fn descriptor(argument: u64) -> i32 {
    argument as i32
}

/// Opens that are kept: the driver's nodes, and what a sandbox must permit besides.
fn open(path: String, flags: u64) -> Option<Action> {
    is_of_system(&path).then_some(Action::Open { path, flags, stream: String::new() })
}

/// The file of a descriptor, if it belongs to the driver. It is looked up at each call, so an inherited descriptor or
/// one that came over a socket has its path too.
fn path_of_driver(tid: i32, fd: i32) -> Option<String> {
    let link = std::fs::read_link(format!("/proc/{tid}/fd/{fd}")).ok()?;
    let path = link.to_str()?;
    let path = path.strip_suffix(" (deleted)").unwrap_or(path);
    is_of_driver(path).then(|| path.to_owned())
}

/// The usual name of a node of RM that has another name here, by its device number.
fn node_by_number(tid: i32, fd: i32) -> Option<String> {
    use std::os::unix::fs::{FileTypeExt, MetadataExt};
    let data = std::fs::metadata(format!("/proc/{tid}/fd/{fd}")).ok()?;
    let device = data.rdev();
    match (data.file_type().is_char_device(), libc::major(device), libc::minor(device)) {
        (true, 195, 255) => Some("/dev/nvidiactl".to_owned()),
        (true, 195, 254) => Some("/dev/nvidia-modeset".to_owned()),
        (true, 195, minor) => Some(format!("/dev/nvidia{minor}")),
        _ => None,
    }
}
