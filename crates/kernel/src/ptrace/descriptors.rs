//! The file of a descriptor of a traced process. It is looked up at each call, so an inherited descriptor or one that
//! came over a socket has its path too. Of a process that others may not look into, the descriptors that it opened
//! before the tracer's eyes are known.

use crate::call::{Action, KernelCall};
use crate::formats::is_of_driver;
use std::collections::HashMap;
use std::io::ErrorKind;

/// The descriptors of one process that belong to the driver.
#[derive(Debug, Clone, Default)]
pub(super) struct Descriptors(HashMap<i32, String>);

/// What a descriptor has open.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Opened {
    /// A file of the driver.
    Driver(String),
    /// Another file with a path.
    OtherPath,
    /// A pipe, a socket or the like, or nothing.
    NoPath,
    /// It may not be looked up.
    Unknown,
}

impl Descriptors {
    pub(super) fn file(&self, tid: i32, fd: i32) -> Opened {
        match std::fs::read_link(format!("/proc/{tid}/fd/{fd}")) {
            Ok(link) => {
                let path = link.to_str().unwrap_or("/");
                let path = path.strip_suffix(" (deleted)").unwrap_or(path);
                match (is_of_driver(path), path.starts_with('/')) {
                    (true, _) => Opened::Driver(path.to_owned()),
                    (false, true) => Opened::OtherPath,
                    (false, false) => Opened::NoPath,
                }
            }
            Err(error) if error.kind() == ErrorKind::PermissionDenied => {
                self.0.get(&fd).map_or(Opened::Unknown, |path| Opened::Driver(path.clone()))
            }
            Err(_) => Opened::NoPath,
        }
    }

    /// Keeps what a call of the process changed.
    pub(super) fn note_call(&mut self, call: &KernelCall) {
        let new_fd = call.result.and_then(|result| i32::try_from(result).ok()).filter(|fd| *fd >= 0);
        match (&call.action, new_fd) {
            (Action::Open { path, .. } | Action::Dup { path, .. }, Some(fd)) if is_of_driver(path) => {
                self.0.insert(fd, path.clone());
            }
            (Action::Close { fd, .. }, Some(_)) => drop(self.0.remove(fd)),
            _ => {}
        }
    }

    /// Another file takes a number: `dup2`, `dup3`.
    pub(super) fn forget_number(&mut self, fd: i32) {
        self.0.remove(&fd);
    }
}
