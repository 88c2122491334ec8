//! Which device a request goes to, and the number of a request.

/// A device node of the driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Device {
    /// `/dev/nvidiactl`.
    Control,
    /// `/dev/nvidia0` and so on.
    Gpu,
    /// `/dev/nvidia-uvm`.
    Uvm,
    /// `/dev/nvidia-uvm-tools`.
    UvmTools,
    /// `/dev/nvidia-modeset`.
    Modeset,
    /// Another node of the driver, such as a capability's: its requests are not known here.
    Other,
}

impl Device {
    /// The device of a path; none where it is none of NVIDIA's.
    ///
    /// ```
    /// use cutap_rm::Device;
    /// assert_eq!(Device::of_path("/dev/nvidia3"), Some(Device::Gpu));
    /// assert_eq!(Device::of_path("/dev/null"), None);
    /// ```
    #[must_use]
    pub fn of_path(path: &str) -> Option<Self> {
        let name = path.strip_prefix("/dev/nvidia")?;
        Some(match name {
            "ctl" => Self::Control,
            "-uvm" => Self::Uvm,
            "-uvm-tools" => Self::UvmTools,
            "-modeset" => Self::Modeset,
            _ if !name.is_empty() && name.bytes().all(|b| b.is_ascii_digit()) => Self::Gpu,
            _ => Self::Other,
        })
    }

    #[cfg(feature = "alloc")]
    pub(crate) const fn is_uvm(self) -> bool {
        matches!(self, Self::Uvm | Self::UvmTools)
    }
}

/// A request as it was seen.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// Where it went.
    pub device: Device,
    /// The request of the ioctl.
    pub request: u32,
    /// The argument before the call. Of UVM [`Tables::argument_size`](crate::Tables::argument_size) says how much there
    /// is.
    pub before: &'a [u8],
    /// The argument after it, of the same length.
    pub after: Option<&'a [u8]>,
    /// What the ioctl returned; an error as a negative number.
    pub result: Option<i64>,
}

/// The ioctl request of an escape with `size` bytes: `_IOWR('F', number, size)`.
///
/// ```
/// assert_eq!(cutap_rm::escape_request(0x2a, 32), 0xc020_462a);
/// ```
#[must_use]
#[allow(clippy::cast_possible_truncation)] // The mask leaves 14 bits.
pub const fn escape_request(number: u8, size: usize) -> u32 {
    let size = (size & 0x3fff) as u32;
    0xc000_0000 | size << 16 | (b'F' as u32) << 8 | number as u32
}

/// The number and the size that an ioctl request says.
#[must_use]
pub const fn escape_of(request: u32) -> (u32, usize) {
    (request & 0xff, (request >> 16 & 0x3fff) as usize)
}
