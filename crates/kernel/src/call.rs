//! A system call of a program to the kernel driver, and a run. The serde names here are the stable JSON format,
//! version 1 (docs/how-to/kernel-interface.md). A change of their meaning needs version 2.

use crate::hex_fields::{hex_bytes, hex_bytes_option, hex_number};
use serde::{Deserialize, Serialize};

/// The version of the JSON format.
pub const VERSION: u32 = 1;

/// The calls of a run, and its first line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Run {
    /// The facts of the whole run.
    pub head: Head,
    /// The calls, in the order of the input: each is written when it returns.
    pub calls: Vec<KernelCall>,
    /// Work that was submitted through mapped memory; only recordings with the layer `submit` have it.
    pub submitted: Vec<Submitted>,
    /// Lines or records that the reader could not use, with the reason. At most [`Run::MOST_SKIPPED`] are listed.
    pub skipped: Vec<String>,
    /// The number of all skipped lines.
    pub skipped_count: usize,
}

impl Run {
    /// The number of reasons that are kept.
    pub const MOST_SKIPPED: usize = 20;

    /// Counts a line that cannot be used.
    pub fn skip(&mut self, line: usize, reason: &str) {
        self.skipped_count += 1;
        if self.skipped.len() < Self::MOST_SKIPPED {
            self.skipped.push(format!("line {line}: {reason}"));
        }
    }
}

/// Addresses of a GPU that one submission of a process names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Submitted {
    /// The process.
    pub pid: u32,
    /// Pushbuffers: address and bytes.
    pub commands: Vec<(u64, u64)>,
    /// Semaphores that get a value or are waited for.
    pub semaphores: Vec<u64>,
}

/// The first line of the JSON format.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// The format's version.
    #[serde(rename = "cutap_kernel")]
    pub version: u32,
    /// The running driver, such as `580.159.04`, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver: Option<String>,
    /// The program and its arguments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub program: Vec<String>,
    /// How the calls were captured: `preload`, `ptrace`, `strace`, `shim`, `listing`, `transcript`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

/// A system call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelCall {
    /// What was called, with its arguments.
    #[serde(flatten)]
    pub action: Action,
    /// The process; 0 where the source does not have it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub pid: u32,
    /// The thread; 0 where the source does not have it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub tid: u32,
    /// Nanoseconds from the start of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_ns: Option<u64>,
    /// Nanoseconds in the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ns: Option<u64>,
    /// What the system call returned: an error as the negative errno. Absent: it did not return.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<i64>,
    /// The CUDA call on the same thread, inside which this call was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<Parent>,
    /// The caller's stack, innermost frame first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stack: Vec<String>,
}

/// The CUDA call inside which a system call was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parent {
    /// The function, such as `cuInit`.
    pub name: String,
    /// The number of the call in the same run, where it is recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<u64>,
}

/// What was called.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "call", rename_all = "snake_case")]
pub enum Action {
    /// A request to a device node.
    Ioctl(Ioctl),
    /// A file was opened; the result is the descriptor, or 0 for a stream.
    Open {
        /// The path as the program wrote it.
        path: String,
        /// The flags of open; 0 for a stream.
        #[serde(default)]
        flags: u64,
        /// The mode of `fopen`, such as `r`: a stream has no descriptor, so the result of success is 0.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        stream: String,
    },
    /// A descriptor was closed.
    Close {
        /// The descriptor.
        fd: i32,
        /// The file to which it led.
        #[serde(default)]
        path: String,
    },
    /// A descriptor was duplicated; the result is the new one.
    Dup {
        /// The old descriptor.
        fd: i32,
        /// The file to which it leads.
        #[serde(default)]
        path: String,
    },
    /// A file was mapped; the result is the address.
    Mmap {
        /// The descriptor.
        fd: i32,
        /// The file.
        #[serde(default)]
        path: String,
        /// The address that the program wanted, or 0.
        #[serde(with = "hex_number", default)]
        address: u64,
        /// Bytes.
        #[serde(with = "hex_number")]
        length: u64,
        /// `PROT_READ` and so on.
        #[serde(default)]
        protection: u32,
        /// `MAP_SHARED` and so on.
        #[serde(default)]
        flags: u32,
        /// The offset in the file.
        #[serde(with = "hex_number", default)]
        offset: u64,
    },
    /// A range of addresses was unmapped.
    Munmap {
        /// Its begin.
        #[serde(with = "hex_number")]
        address: u64,
        /// Bytes.
        #[serde(with = "hex_number")]
        length: u64,
    },
    /// An environment variable was read.
    Getenv {
        /// The variable.
        name: String,
        /// Its value, where it was set.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        value: Option<String>,
        /// The library that read it.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        reader: String,
    },
}

/// A request to a device node, with its bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ioctl {
    /// The descriptor.
    pub fd: i32,
    /// The file of the descriptor at the time of the call, such as `/dev/nvidiactl`.
    #[serde(default)]
    pub path: String,
    /// The request.
    #[serde(with = "hex_number")]
    pub request: u64,
    /// The address of the argument.
    #[serde(with = "hex_number", default)]
    pub argument: u64,
    /// The argument before the call. Absent: it was not captured.
    #[serde(with = "hex_bytes_option", default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Vec<u8>>,
    /// The argument after the call. Absent: it equals `before` if the call returned.
    #[serde(with = "hex_bytes_option", default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Vec<u8>>,
    /// Memory to which pointers in the argument lead.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub memory: Vec<Piece>,
    /// Whether `before` and `memory` were rebuilt from a listing that does not have all bytes.
    #[serde(default, skip_serializing_if = "is_false")]
    pub partial: bool,
}

/// Memory of the caller.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Piece {
    /// Its address.
    #[serde(with = "hex_number")]
    pub address: u64,
    /// Its bytes before the call.
    #[serde(with = "hex_bytes")]
    pub before: Vec<u8>,
    /// Its bytes after the call. Absent: they equal `before` if the call returned.
    #[serde(with = "hex_bytes_option", default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Vec<u8>>,
}

impl KernelCall {
    /// A call of which only the action is known.
    #[must_use]
    pub fn new(action: Action) -> Self {
        Self { action, pid: 0, tid: 0, time_ns: None, duration_ns: None, result: None, parent: None, stack: Vec::new() }
    }
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde's signature.
fn is_zero(number: &u32) -> bool {
    *number == 0
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde's signature.
fn is_false(value: &bool) -> bool {
    !*value
}
