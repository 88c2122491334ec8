//! The way to the kernel driver: open, ioctl and mmap of the device nodes behind one small trait, so
//! that a model of the driver can take its place. Nothing here knows the meaning of a request.

use crate::base::error::{Error, Result};
use std::ffi::CString;
use std::fmt;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;
use std::ptr::NonNull;
use std::sync::Arc;

/// A device node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Node {
    /// `/dev/nvidiactl`.
    Control,
    /// `/dev/nvidiaN`.
    Gpu(u32),
    /// `/dev/nvidia-uvm`.
    Uvm,
}

impl Node {
    /// Its path.
    #[must_use]
    pub fn path(self) -> PathBuf {
        match self {
            Self::Control => "/dev/nvidiactl".into(),
            Self::Gpu(minor) => format!("/dev/nvidia{minor}").into(),
            Self::Uvm => "/dev/nvidia-uvm".into(),
        }
    }
}

/// The operating system's side of the kernel driver.
///
/// [`Linux`] is the real one. A test may implement it by a model or by a recorded transcript.
pub trait Kernel: Send + Sync {
    /// The version of the loaded driver, such as `580.159.04`.
    ///
    /// # Errors
    /// There is no driver.
    fn version(&self) -> io::Result<String>;

    /// Opens a node for reading and writing.
    ///
    /// # Errors
    /// As `open(2)`.
    fn open(&self, node: Node) -> io::Result<i32>;

    /// Closes a descriptor of [`open`](Kernel::open).
    fn close(&self, fd: i32);

    /// One ioctl. `argument` is the struct; addresses in it may lead to further memory of the caller.
    ///
    /// # Safety
    /// Each address in `argument` leads to memory that the driver may read and write as the request says.
    ///
    /// # Errors
    /// As `ioctl(2)`.
    unsafe fn ioctl(&self, fd: i32, request: u32, argument: &mut [u8]) -> io::Result<()>;

    /// Maps `length` bytes of a descriptor, for reading and writing, shared; at `at` if given.
    ///
    /// # Safety
    /// `at` is the beginning of `length` bytes that the caller reserved and does not use.
    ///
    /// # Errors
    /// As `mmap(2)`.
    unsafe fn map(&self, fd: i32, at: Option<NonNull<u8>>, length: usize) -> io::Result<NonNull<u8>>;

    /// Ends a mapping.
    ///
    /// # Safety
    /// `at` and `length` are those of a mapping, to which no reference is left.
    unsafe fn unmap(&self, at: NonNull<u8>, length: usize);
}

/// The kernel of this machine.
#[derive(Debug, Default, Clone, Copy)]
pub struct Linux;

impl Kernel for Linux {
    fn version(&self) -> io::Result<String> {
        std::fs::read_to_string("/sys/module/nvidia/version").map(|text| text.trim().to_owned()).or_else(|why| {
            // A container may hide /sys. The line is "NVRM version: NVIDIA UNIX ... Kernel Module  580.159.04  ...".
            let text = std::fs::read_to_string("/proc/driver/nvidia/version").map_err(|_| why)?;
            let is_version = |word: &&str| word.contains('.') && word.chars().all(|c| c.is_ascii_digit() || c == '.');
            let version = text.split_whitespace().find(is_version).map(str::to_owned);
            version
                .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "no version in /proc/driver/nvidia/version"))
        })
    }

    fn open(&self, node: Node) -> io::Result<i32> {
        let path = CString::new(node.path().as_os_str().as_bytes())?;
        // SAFETY: the path ends with a zero byte.
        let fd = unsafe { libc::open(path.as_ptr(), libc::O_RDWR | libc::O_CLOEXEC) };
        if fd < 0 { Err(io::Error::last_os_error()) } else { Ok(fd) }
    }

    fn close(&self, fd: i32) {
        // SAFETY: the descriptor is one of `open`, and its owner closes it once.
        unsafe { libc::close(fd) };
    }

    unsafe fn ioctl(&self, fd: i32, request: u32, argument: &mut [u8]) -> io::Result<()> {
        loop {
            // SAFETY: the request's size is that of `argument`; the caller answers for the addresses in it.
            let result = unsafe { libc::ioctl(fd, libc::c_ulong::from(request) as _, argument.as_mut_ptr()) };
            if result >= 0 {
                return Ok(());
            }
            let why = io::Error::last_os_error();
            if why.raw_os_error() != Some(libc::EINTR) {
                return Err(why);
            }
        }
    }

    unsafe fn map(&self, fd: i32, at: Option<NonNull<u8>>, length: usize) -> io::Result<NonNull<u8>> {
        let (address, fixed) = at.map_or((std::ptr::null_mut(), 0), |at| (at.as_ptr(), libc::MAP_FIXED));
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: with MAP_FIXED the caller reserved these addresses; otherwise the kernel chooses unused ones.
        let mapping = unsafe { libc::mmap(address.cast(), length, protection, libc::MAP_SHARED | fixed, fd, 0) };
        if mapping == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        NonNull::new(mapping.cast()).ok_or_else(|| io::Error::other("mapped at address 0"))
    }

    unsafe fn unmap(&self, at: NonNull<u8>, length: usize) {
        // SAFETY: the caller gives up this mapping.
        unsafe { libc::munmap(at.as_ptr().cast(), length) };
    }
}

/// An open node, closed when dropped.
pub(crate) struct Descriptor {
    kernel: Arc<dyn Kernel>,
    pub fd: i32,
}

impl fmt::Debug for Descriptor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Descriptor({})", self.fd)
    }
}

impl Descriptor {
    pub fn open(kernel: &Arc<dyn Kernel>, node: Node) -> Result<Self> {
        let fd = kernel.open(node).map_err(|why| refused(node, why))?;
        Ok(Self { kernel: Arc::clone(kernel), fd })
    }
}

impl Drop for Descriptor {
    fn drop(&mut self) {
        self.kernel.close(self.fd);
    }
}

fn refused(node: Node, why: io::Error) -> Error {
    let path = node.path();
    if matches!(why.raw_os_error(), Some(libc::ENXIO | libc::ENODEV)) {
        return Error::NotLoaded(path);
    }
    match why.kind() {
        io::ErrorKind::NotFound => Error::NoDriver(path),
        io::ErrorKind::PermissionDenied => Error::NoPermission(path),
        _ => Error::Open { path, why: Arc::new(why) },
    }
}
