//! Readers of logs: one file a format. They never fail on a bad line: it is skipped, counted and reported.

mod listing;
mod shim;
mod strace;
mod strace_line;
mod transcript;

use crate::call::Run;
use crate::error::{Error, Result, printable_path};
use crate::{input_file, json};
use cutap_rm::{Device, Tables};
use std::path::Path;

/// The most bytes of a log that are read.
const LARGEST: u64 = 1 << 30;
/// The most bytes that are read of a pipe.
const LARGEST_PIPE: u64 = 256 << 20;

/// Reads a file of kernel calls in any known format.
///
/// # Errors
/// The file cannot be read, or has no kernel call.
pub fn read_file(path: &Path) -> Result<Run> {
    let bytes = input_file::read_or_pipe(path, LARGEST, LARGEST_PIPE, "give a file with a part of the log")?;
    read(&String::from_utf8_lossy(&bytes)).map_err(|e| Error::new(format!("{}: {e}", printable_path(path))))
}

/// Reads text in any known format.
///
/// # Errors
/// It has no kernel call.
pub fn read(text: &str) -> Result<Run> {
    if json::is_json(text) {
        return json::read(text);
    }
    type Format = (fn(&str) -> bool, fn(&str) -> Run);
    let readers: [Format; 4] = [
        (shim::is_line, shim::read),
        (listing::is_line, listing::read),
        (transcript::is_line, transcript::read),
        (strace::is_line, strace::read),
    ];
    let reader = text.lines().find_map(|line| readers.iter().find(|(is_line, _)| is_line(line)).map(|(_, read)| read));
    let Some(read) = reader else {
        return Err(Error::new(
            "it has no kernel call; give cutap's JSON, output of strace -e trace=ioctl -X raw, or a log of libcudest's \
             shim",
        ));
    };
    let run = read(text);
    match run.calls.is_empty() {
        true => Err(Error::new(match run.skipped.first() {
            Some(why) => format!("it has no usable kernel call ({why}); check that the file is complete"),
            None => "it has no call to a device of NVIDIA; trace a program that uses the GPU".to_owned(),
        })),
        false => Ok(run),
    }
}

/// The bytes of the argument of a request. UVM requests do not contain it, so it comes from the newest table that
/// has the command.
fn argument_size(path: &str, request: u64) -> Option<usize> {
    let request = u32::try_from(request).ok()?;
    match Device::of_path(path) {
        Some(device @ (Device::Uvm | Device::UvmTools)) => {
            Tables::all().filter_map(|tables| tables.argument_size(device, request)).last()
        }
        Some(device) => Tables::all().last()?.argument_size(device, request),
        None => Some(cutap_rm::escape_of(request).1),
    }
}

/// Whether a path belongs to the driver: a device node, or a file of the driver under /proc or /sys.
#[must_use]
pub fn is_of_driver(path: &str) -> bool {
    path.starts_with("/dev/nvidia")
        || path.starts_with("/proc/driver/nvidia")
        || path.starts_with("/sys/module/nvidia")
        || path.starts_with("/sys/bus/pci/drivers/nvidia")
}

/// Whether a file is offered by the system: a sandbox must offer it too.
#[must_use]
pub fn is_of_system(path: &str) -> bool {
    ["/proc/", "/sys/", "/dev/"].iter().any(|folder| path.starts_with(folder))
}

/// A path that two runs share: `self` for the number of a process, `TID` for that of a thread.
#[must_use]
pub fn without_ids(path: &str) -> String {
    let is_number = |word: &str| !word.is_empty() && word.bytes().all(|b| b.is_ascii_digit());
    let Some(rest) = path.strip_prefix("/proc/") else { return path.to_owned() };
    let mut words: Vec<&str> = rest.split('/').collect();
    if let Some(process) = words.first_mut().filter(|word| is_number(word)) {
        *process = "self";
    }
    if let [_, "task", thread, ..] = words.as_mut_slice()
        && is_number(thread)
    {
        *thread = "TID";
    }
    format!("/proc/{}", words.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_log() {
        assert!(read("hello\n").unwrap_err().0.starts_with("it has no kernel call; give"));
        assert!(read("").is_err());
        assert!(read("close(3) = 0\n").unwrap_err().0.starts_with("it has no call to a device"));
        assert!(read_file(Path::new("/nonexistent")).unwrap_err().0.contains("check the name"));
    }

    #[test]
    fn paths_without_ids() {
        assert_eq!(without_ids("/proc/41/task/42/comm"), "/proc/self/task/TID/comm");
        assert_eq!(without_ids("/proc/self/maps"), "/proc/self/maps");
        assert_eq!(without_ids("/proc/driver/nvidia/gpus/0000:00:06.0"), "/proc/driver/nvidia/gpus/0000:00:06.0");
        assert_eq!(without_ids("/sys/devices/system/node/node0/cpumap"), "/sys/devices/system/node/node0/cpumap");
    }

    #[test]
    fn sizes() {
        assert_eq!(argument_size("/dev/nvidiactl", 0xc020_462a), Some(32));
        assert_eq!(argument_size("/dev/nvidia-uvm", 0x25), Some(40));
        assert_eq!(argument_size("/dev/nvidia-uvm", 0xffff), None);
    }
}
