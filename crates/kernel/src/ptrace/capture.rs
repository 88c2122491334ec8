//! From a stopped system call to a kernel call: what is read at its begin, and what at its end. What may wait for the
//! traced program is separate, for an assistant does it.

use super::descriptors::{Descriptors, Opened};
use super::reader::Reader;
use crate::call::{Action, Ioctl, KernelCall};
use crate::decode::device;
use crate::formats::is_of_system;
use crate::system_call::{FileCall, OpenFlags, OpenWords, SystemCall, descriptor};
use cutap_ptrace::memory::Remote;
use cutap_ptrace::sys;
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

/// What is to be done at the begin of a call.
#[derive(Debug)]
pub(super) enum Begin {
    /// It does not concern the driver.
    Pass,
    /// It is complete.
    Known(Action),
    /// Memory must be read, or a file looked at, which may wait for the traced program.
    Read(Wanted),
    /// An ioctl on a file that cannot be looked up, with a request that the driver has.
    Hidden,
}

/// What must be read.
#[derive(Debug)]
pub(super) enum Wanted {
    /// The path of an open: where it is, and the flags.
    Path { address: u64, flags: u64 },
    /// That of openat2: where the path is, and where the flags are.
    PathAndFlags { address: u64, how: u64 },
    /// The file of a descriptor, if it is a node of the driver with another name, then the argument.
    Node { fd: i32, request: u64, argument: u64 },
    /// The argument of an ioctl on this node.
    Argument { fd: i32, path: String, request: u64, argument: u64 },
}

impl Wanted {
    fn open(words: OpenWords, arguments: [u64; 6]) -> Wanted {
        let word = |n: usize| arguments.get(n).copied().unwrap_or(0);
        let address = word(words.path);
        match words.flags {
            OpenFlags::Word(n) => Wanted::Path { address, flags: word(n) },
            OpenFlags::Behind(n) => Wanted::PathAndFlags { address, how: word(n) },
            OpenFlags::None => Wanted::Path { address, flags: 0 },
        }
    }

    /// Whether a file system may be asked.
    pub(super) fn asks_file_system(&self) -> bool {
        matches!(self, Wanted::Node { .. })
    }
}

impl Capture {
    /// The begin of a call. It reads no memory and asks no file system.
    pub(super) fn begin(&self, tid: i32, number: i64, arguments: [u64; 6], descriptors: &Descriptors) -> Begin {
        let [a, b, c, ..] = arguments;
        let fd = descriptor(a);
        let driver = |fd| match descriptors.file(tid, fd) {
            Opened::Driver(path) => Some(path),
            _ => None,
        };
        let file_call = match SystemCall::of_number(number, arguments) {
            Some(SystemCall::Ioctl) => return self.ioctl(tid, fd, b & 0xffff_ffff, c, descriptors),
            Some(SystemCall::Open(words)) => return Begin::Read(Wanted::open(words, arguments)),
            Some(SystemCall::File(file_call)) => Some(file_call),
            None => None,
        };
        let action_of = |call: FileCall| {
            let file = call.descriptor(arguments).map_or(Some(String::new()), driver)?;
            Some(call.action(arguments, file))
        };
        file_call.and_then(action_of).map_or(Begin::Pass, Begin::Known)
    }

    fn ioctl(&self, tid: i32, fd: i32, request: u64, argument: u64, descriptors: &Descriptors) -> Begin {
        match descriptors.file(tid, fd) {
            Opened::Driver(path) => Begin::Read(Wanted::Argument { fd, path, request, argument }),
            Opened::OtherPath => Begin::Read(Wanted::Node { fd, request, argument }),
            Opened::Unknown if self.has_request(request) => Begin::Hidden,
            Opened::NoPath | Opened::Unknown => Begin::Pass,
        }
    }

    /// Whether the driver has such a request. UVM's are small numbers, which nothing else of these days has.
    fn has_request(&self, request: u64) -> bool {
        let of_rm = request >> 8 & 0xff == u64::from(b'F');
        let uvm = |request| self.tables.argument_size(Device::Uvm, request).is_some();
        of_rm || u32::try_from(request).is_ok_and(uvm)
    }

    /// Reads what is wanted; none where the call does not concern the driver.
    pub(super) fn read(self, wanted: &Wanted, tid: i32, remote: &Remote) -> Option<Action> {
        match *wanted {
            Wanted::Path { address, flags } => open(remote.text(address)?, flags),
            Wanted::PathAndFlags { address, how } => {
                let flags = remote.bytes(how, 8).first_chunk().map_or(0, |b| u64::from_le_bytes(*b));
                open(remote.text(address)?, flags)
            }
            Wanted::Node { fd, request, argument } => {
                let path = node_by_number(tid, fd)?;
                Some(self.argument(remote, Ioctl { fd, path, request, argument, ..Ioctl::default() }))
            }
            Wanted::Argument { fd, ref path, request, argument } => {
                Some(self.argument(remote, Ioctl { fd, path: path.clone(), request, argument, ..Ioctl::default() }))
            }
        }
    }

    fn argument(&self, remote: &Remote, mut ioctl: Ioctl) -> Action {
        let number = u32::try_from(ioctl.request).unwrap_or(0);
        let device = device(&ioctl);
        let size = match device {
            Device::Other => cutap_rm::escape_of(number).1,
            device => self.tables.argument_size(device, number).unwrap_or(0),
        };
        let before = remote.bytes(ioctl.argument, size);
        let mut reader = Reader { remote, pieces: Vec::new() };
        let ioctl_request = Request { device, request: number, before: &before, after: None, result: None };
        let _ = self.tables.decode(ioctl_request, &mut reader);
        ioctl.memory = reader.pieces;
        ioctl.before = Some(before);
        Action::Ioctl(ioctl)
    }

    /// A call that begins.
    pub(super) fn pending(&self, pid: i32, tid: i32, started: u64, action: Action) -> Pending {
        let time_ns = Some(started.saturating_sub(self.start));
        let id = |id: i32| u32::try_from(id).unwrap_or(0);
        let call = KernelCall { pid: id(pid), tid: id(tid), time_ns, ..KernelCall::new(action) };
        Pending { call, started }
    }
}

impl Pending {
    /// The result of the call, and how long it took.
    pub(super) fn set_result(&mut self, result: i64) {
        self.call.duration_ns = Some(sys::now().saturating_sub(self.started));
        self.call.result = Some(result);
    }

    /// Whether the pages that are read at the end are present, so that the read does not wait for the program.
    pub(super) fn is_present(&self, remote: &Remote) -> bool {
        let Action::Ioctl(ioctl) = &self.call.action else { return true };
        let before = ioctl.before.as_deref().unwrap_or_default();
        remote.has_pages(ioctl.argument, before.len())
            && ioctl.memory.iter().all(|piece| remote.has_pages(piece.address, piece.before.len()))
    }

    /// The whole call, with the memory behind it.
    pub(super) fn complete(mut self, remote: &Remote) -> KernelCall {
        if let Action::Ioctl(ioctl) = &mut self.call.action {
            let before = ioctl.before.as_deref().unwrap_or_default();
            let after = remote.bytes(ioctl.argument, before.len());
            ioctl.after = (after.len() == before.len() && after != before).then_some(after);
            for piece in &mut ioctl.memory {
                let after = remote.bytes(piece.address, piece.before.len());
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

/// Opens that are kept: the driver's nodes, and what a sandbox must permit besides.
fn open(path: String, flags: u64) -> Option<Action> {
    is_of_system(&path).then_some(Action::Open { path, flags, stream: String::new() })
}

/// The usual name of a node of RM that has another name here, by its device number.
fn node_by_number(tid: i32, fd: i32) -> Option<String> {
    match sys::device_of(tid, fd)? {
        (195, 255) => Some("/dev/nvidiactl".to_owned()),
        (195, 254) => Some("/dev/nvidia-modeset".to_owned()),
        (195, minor) => Some(format!("/dev/nvidia{minor}")),
        _ => None,
    }
}
